"""Ray workers against threads: `python -m bench cluster`; as many workers as threads, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.interpreter import available_threads
from arz.program import Memory, Program
from arz.streams import keys
from arz.tasks.cartpole import Cartpole
from arz.tasks.task import Task
from arz.vary import random_programs

Row = Callable[..., None]
BestTimes = Callable[..., list[float]]
ROUNDS = 2
WALKER = Path(__file__).parent.parent / "results" / "reproduction" / "hour" / "champions" / "quadruped-published-1.arz"


def cluster(row: Row, best_times: BestTimes) -> None:
    """Searches with both, what a share costs, and from which cost of an evaluation on Ray pays."""
    try:
        workers = arz.RayWorkers()
    except ValueError as error:
        row("Ray", str(error))
        return
    with workers:
        while workers.count < available_threads():
            time.sleep(0.1)
        row(f"{workers.count} Ray workers, {available_threads()} threads", "")
        searches(row, workers)
        shares(row, workers)
        pays(row, best_times, workers)


def searches(row: Row, workers: arz.RayWorkers) -> None:
    """The same search with both: evaluations per second."""
    for preset, budget, start, goal in (
        ("quadruped", "30000", None, "goal 0.90x"),  # the cheapest: most programs fall at once
        ("quadruped", "100000", None, "goal 0.90x"),
        ("quadruped", "10000", Program.load(WALKER), "goal 0.90x"),
        ("cartpole", "200000", None, ""),
    ):
        config = arz.preset(preset, budget=budget, **({} if start is None else {"warm_up": 0.0}))
        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, hired in (("threads", None), ("Ray", workers)):
                began = time.perf_counter()
                with arz.evolve(config, workers=hired, start=start) as run:
                    rate = run.counters.evaluations / (time.perf_counter() - began)
                best[name] = max(best.get(name, 0.0), rate)
        name = f"{preset}, the first {int(budget):,}{'' if start is None else ' of a program that walks'}"
        row(f"{name}: threads", f"{best['threads']:.0f} evaluations/s")
        row(f"{name}: Ray", f"{best['Ray']:.0f} evaluations/s", best["Ray"] / best["threads"], goal)


def shares(row: Row, workers: arz.RayWorkers) -> None:
    """What it costs to have one policy evaluated that takes no time, one after the other."""
    task = Cartpole(steps=1)
    for count in (1, 200):
        policies = some(task, count)
        took = []
        for _ in range(200):
            began = time.perf_counter()
            evaluate(policies, task, fresh_episodes(1), workers=workers)
            took.append(time.perf_counter() - began)
        row(f"a share of {count} policies that take no time", f"{1e3 * float(np.median(took)):.2f} ms")


def pays(row: Row, best_times: BestTimes, workers: arz.RayWorkers) -> None:
    """Batches of 200 policies, from cheap to dear: where workers do as much as threads."""
    task, policies = Cartpole(), some(Cartpole(), 200)
    for episodes in map(fresh_episodes, (4, 16, 64, 256, 1024)):
        threads, ray = best_times(
            partial(evaluate, policies, task, episodes),
            partial(evaluate, policies, task, episodes, workers=workers),
            rounds=2 * ROUNDS,
        )
        row(f"a batch of 200 that takes {1e3 * threads:.1f} ms on threads", f"{1e3 * ray:.1f} ms on Ray", threads / ray)


def some(task: Task, count: int) -> arz.Batch:
    """Random programs."""
    return random_programs(Memory(task.observations, task.actions), keys(1, "bench", np.arange(count)))
