"""Programs x task x episodes -> how they did.

The native core runs all episodes of a program side by side, on several threads and without the GIL. The result does
not depend on the number of threads, nor on which episodes run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arz.interpreter import available_threads
from arz.native import core
from arz.program import Batch, Program
from arz.streams import as_keys, keys
from arz.tasks.cartpole import TRUTH, Cartpole
from arz.tasks.status import STATUS, Status

__all__ = ["STATUS", "TEST_SEED", "Evaluation", "Status", "evaluate", "fresh_episodes", "record"]

TEST_SEED = 0


@dataclass(frozen=True)
class Evaluation:
    """How programs did in episodes: one row per program, one column per episode."""

    returns: NDArray[np.float64]
    """The sum of rewards."""
    lengths: NDArray[np.int32]
    """How many steps the episode lasted."""
    statuses: NDArray[np.uint8]
    """How it ended: the number of a `Status`."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean return of each program; 0 if there are no episodes."""
        return np.asarray(self.returns.sum(axis=1) / max(self.returns.shape[1], 1), np.float64)

    def share(self, status: Status) -> NDArray[np.float64]:
        """The share of episodes that ended in this way, for each program."""
        return np.asarray((self.statuses == status.number).sum(axis=1) / max(self.statuses.shape[1], 1), np.float64)


def evaluate(
    programs: Batch | Sequence[Program] | Program,
    task: Cartpole,
    episodes: Sequence[int] | NDArray[np.uint64],
    *,
    threads: int | None = None,
    only_effective: bool = True,
    compact: bool = True,
) -> Evaluation:
    """Runs every program through every episode.

    Args:
        programs: what to evaluate.
        task: what to do.
        episodes: the keys that name the episodes; see `fresh_episodes`.
        threads: how many to use, all by default.
        only_effective: leave out code that cannot influence an action; changes nothing but the time.
        compact: move running episodes together as others end; changes nothing but the time.

    Raises:
        ValueError: observation or action of the programs do not fit the task.
    """
    used = available_threads() if threads is None else threads
    return Evaluation(*core.rollout(_packed(programs), task.native, as_keys(episodes), used, only_effective, compact))


def record(
    program: Program, task: Cartpole, episodes: Sequence[int] | NDArray[np.uint64]
) -> dict[str, NDArray[np.float64]]:
    """Everything that happened in episodes: name -> [episode, step], NaN after the end of an episode.

    State and parameters are those at the start of a step, as the policy met them; action, what the motor got of it
    (`applied`) and reward are those of the step.
    """
    rows = core.recorded_rollout(program.packed, 0, task.native, as_keys(episodes))
    return {name: rows[:, :, column] for column, name in enumerate(TRUTH)}


def fresh_episodes(count: int = 100, seed: int = TEST_SEED, first: int = 0) -> NDArray[np.uint64]:
    """The episodes on which finished policies are tested: the same for all, and never used to select anything."""
    return keys(seed, "test episodes", np.arange(first, first + count))


def _packed(programs: Batch | Sequence[Program] | Program) -> core.Batch:
    if isinstance(programs, Program):
        return programs.packed
    return (programs if isinstance(programs, Batch) else Batch.pack(programs)).core
