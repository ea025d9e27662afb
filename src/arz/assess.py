"""How good a finished program is: the paper's five tasks, changing suddenly and continuously, on fresh episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import TEST_SEED, Status, evaluate, fresh_episodes
from arz.program import Program
from arz.tasks.cartpole import Cartpole


@dataclass(frozen=True)
class Assessment:
    """How a program did in one test."""

    change: str
    task: str
    mean: float
    """Of the returns."""
    completed: float
    """The share of episodes that lasted to their end."""
    returns: NDArray[np.float64]


def assess(
    program: Program, task: Cartpole, *, episodes: int = 100, seed: int = TEST_SEED, threads: int | None = None
) -> list[Assessment]:
    """How a program does on the five tasks, changing suddenly and continuously, in this variant otherwise.

    The episodes are the same for every program, and no search ever sees them.
    """
    keys = fresh_episodes(episodes, seed)
    results = []
    for (change, name), variant in task.test_suite().items():
        found = evaluate(program, variant, keys, threads=threads)
        completed = float(found.share(Status.COMPLETED)[0])
        results.append(Assessment(change, name, float(found.mean[0]), completed, found.returns[0]))
    return results
