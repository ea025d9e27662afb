"""How good a finished program is: the tests of its task, on fresh episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import TEST_SEED, Status, Workers, evaluate, fresh_episodes, submit
from arz.policy import AnyPolicy
from arz.tasks.base import Task


@dataclass(frozen=True)
class Assessment:
    """How a program did in one test."""

    change: str
    """For cartpole, how parameters change: sudden or continuous; for the quadruped, who simulates."""
    task: str
    """For cartpole, which parameters change; for the quadruped, which leg breaks."""
    mean: float
    """Of the returns."""
    completed: float
    """The share of episodes that lasted to their end."""
    distance: float | None
    """How far forward it went, on average (m), where that means something."""
    returns: NDArray[np.float64]


def assess(
    policy: AnyPolicy,
    task: Task,
    *,
    episodes: int = 100,
    seed: int = TEST_SEED,
    threads: int | None = None,
    workers: Workers | None = None,
    change: str | None = None,
) -> list[Assessment]:
    """How a policy does in the tests of its task, in this variant otherwise.

    For cartpole these are the paper's five tasks, changing suddenly and continuously; for the quadruped, no leg or one
    of the four breaks. The episodes are the same for every program, and no search ever sees them. With `change`, only
    the tests with that kind of change or that simulator.
    """
    keys = fresh_episodes(episodes, seed)
    suite = {test: variant for test, variant in task.test_suite().items() if change in (None, test[0])}
    if workers is None:
        evaluations = [evaluate(policy, variant, keys, threads=threads) for variant in suite.values()]
    else:
        asked = [submit(policy, variant, keys, workers) for variant in suite.values()]
        evaluations = [each.result() for each in asked]
    results = []
    for (kind, name), found in zip(suite, evaluations, strict=True):
        completed = float(found.share(Status.COMPLETED)[0])
        distance = None if found.distances is None else float(found.mean_distance[0])
        results.append(Assessment(kind, name, float(found.mean[0]), completed, distance, found.returns[0]))
    return results
