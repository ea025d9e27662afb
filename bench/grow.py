"""Grow and tune: where the time of a search goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import arz
from arz.evaluate import evaluate
from arz.runs import problem

Row = Callable[..., None]
BUDGETS = {"cartpole": "60000", "quadruped": "20M steps"}
"""Long enough that what a run begins with, screening and units, weighs as little as in a whole one."""


def grow(row: Row, _: object) -> None:
    """The share of rollouts in the wall time of a search, and what the rest costs per sample."""
    for preset, budget in BUDGETS.items():
        spent = [0.0]

        def timed(*arguments: Any, spent: list[float] = spent, **options: Any) -> Any:
            began = time.perf_counter()
            found = evaluate(*arguments, **options)
            spent[0] += time.perf_counter() - began
            return found

        before, problem.evaluate = problem.evaluate, timed  # type: ignore[attr-defined]
        try:
            began = time.perf_counter()
            run = arz.evolve(arz.preset(preset, budget=budget), threads=1)
            whole = time.perf_counter() - began
        finally:
            problem.evaluate = before  # type: ignore[attr-defined]
        samples = run.counters.evaluations
        goal = "goal 85 %" if preset == "quadruped" else ""
        row(f"grow and tune, {preset}: wall time in rollouts", f"{spent[0] / whole:.0%}", None, goal)
        row(f"  the rest: tuning, growing, Python, {preset}", f"{(whole - spent[0]) / samples * 1e6:.0f} us/sample")
