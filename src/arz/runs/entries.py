"""What is known of a run, for a comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.analysis.comparison import ACROSS, Entry
from arz.assess import assess
from arz.complexity import complexity
from arz.network import Network
from arz.policy import parse_policy
from arz.program import Program
from arz.runs.config import Mlp, Programs, kind_of
from arz.runs.database import RunError
from arz.runs.run import Run
from arz.tasks.quadruped import Quadruped

POINTS = 40
"""Of a curve that is kept."""


def method_of(run: Run) -> str:
    """What to call the method of a run: what searched what, trained on which variant."""
    policy = run.config.policy
    if isinstance(policy, Programs):
        name = "ARZ" if run.config.memory.stateful else "ARZ stateless"
        name += "" if run.preset.startswith(("cartpole", "quadruped")) and "-" not in run.preset else f" {run.preset}"
    else:
        name = f"{kind_of(run.config, 'search').upper()}+{'MLP' if isinstance(policy, Mlp) else 'LSTM'}"
    return f"{name} [{run.config.task.name}]"


class NoChampionError(RunError):
    """A run that has not gone on for long enough."""


@dataclass(frozen=True)
class Standing:
    """A run as it stood at some moment."""

    champion: Program | Network
    score: float
    """Of the champion, on the selection episodes."""
    metrics: dict[str, NDArray[np.float64]]
    reports: NDArray[np.int64]
    """Which rows of the metrics had been written by then."""


def standing(run: Run, steps: int | None = None) -> Standing:
    """A run as it stood after so many steps of the task; at its end by default.

    Raises:
        NoChampionError: it had no champion by then.
    """
    metrics, champions = run.metrics, run.champions
    until = np.inf if steps is None else float(steps)
    known = metrics["steps"] <= until if metrics else np.zeros(0, bool)
    reached = [row for row in champions if known.any() and row["evaluations"] <= metrics["evaluations"][known].max()]
    if not reached:
        when = "yet" if steps is None else f"after {steps} steps"
        raise NoChampionError(f"{run.folder} has no champion {when}: evolve it for longer")
    champion = parse_policy(str(reached[-1]["program"]), f"champion of {run.folder}")
    return Standing(champion, float(reached[-1]["score"]), metrics, np.flatnonzero(known))


def entry_of(
    run: Run, *, method: str = "", episodes: int = 100, steps: int | None = None, threads: int | None = None
) -> Entry:
    """Tests the champion of a run, and says how the run went.

    Args:
        run: which.
        method: what to call its method; see `method_of`.
        episodes: how many in each test.
        steps: look at the run as it stood after so many steps of the task; at its end by default.
        threads: how many to use, all by default.

    Raises:
        RunError: it had no champion by then.
    """
    stood = standing(run, steps)
    metrics, kept, champion = stood.metrics, stood.reports, stood.champion
    task = run.config.task
    change = task.engine if isinstance(task, Quadruped) else None  # not with other numbers of sweeps
    tests = assess(champion, task, episodes=episodes, threads=threads, change=change)
    cost = complexity(champion)
    points = kept[np.unique(np.linspace(0, len(kept) - 1, POINTS).astype(int))]
    curve: dict[str, Any] = {name: _rounded(metrics[name][points]) for name in ACROSS}
    last = kept[-1]
    return Entry(
        method=method or method_of(run),
        seed=run.seed,
        trained_on=task.name,
        tested_on=json.dumps(task.variant),
        evaluations=int(metrics["evaluations"][last]),
        steps=int(metrics["steps"][last]),
        seconds=round(float(metrics["seconds"][last]), 1),
        fitness=round(stood.score, 2),
        episodes=episodes,
        scores={f"{test.change} {test.task}": round(test.mean, 2) for test in tests},
        parameters=cost.parameters,
        flops=cost.flops,
        curve=curve | {"score": _rounded(metrics["champion_score"][points])},
    )


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 1) for value in values]
