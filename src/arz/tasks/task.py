"""What every task offers to those who evaluate, search and test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from arz.tasks.status import Status

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Evaluation:
    """How policies did in episodes: one row per policy, one column per episode."""

    returns: NDArray[np.float64]
    """The sum of rewards."""
    lengths: NDArray[np.int32]
    """How many steps the episode lasted."""
    statuses: NDArray[np.uint8]
    """How it ended: the number of a `Status`; 0 if it was stopped, because its program was worth nothing."""
    sums: NDArray[np.float64]
    """Of networks: what they saw, added up [network, part, number] (native/policies/network.hpp); a step that episodes
    share counts once."""
    distances: NDArray[np.float64] | None = None
    """How far forward it went (m), where that means something."""

    @classmethod
    def joined(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """The policies of all parts, one after the other; they played as many episodes."""
        distances = [part.distances for part in parts if part.distances is not None]
        return cls(
            np.concatenate([part.returns for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.statuses for part in parts]),
            np.concatenate([part.sums for part in parts]),
            np.concatenate(distances) if len(distances) == len(parts) else None,
        )

    def take(self, indices: NDArray[np.int64]) -> Evaluation:
        """The policies at these positions."""
        distances = None if self.distances is None else self.distances[indices]
        return Evaluation(
            self.returns[indices], self.lengths[indices], self.statuses[indices], self.sums[indices], distances
        )

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean return of each program; 0 if there are no episodes."""
        return _mean(self.returns)

    @property
    def mean_length(self) -> NDArray[np.float64]:
        """The mean length of the episodes of each program."""
        return _mean(self.lengths)

    @property
    def mean_distance(self) -> NDArray[np.float64]:
        """The mean distance of each program; NaN where there is none."""
        return np.full(len(self.returns), np.nan) if self.distances is None else _mean(self.distances)

    def share(self, status: Status) -> NDArray[np.float64]:
        """The share of episodes that ended in this way, for each program."""
        return _mean(self.statuses == status.number)


def _mean(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(values.sum(axis=1) / max(values.shape[1], 1), np.float64)


class Task(Protocol):
    """A variant of a task: a frozen record."""

    @property
    def observations(self) -> int:
        """How many numbers a policy sees."""
        ...

    @property
    def actions(self) -> int:
        """How many it gives."""
        ...

    @property
    def most_action(self) -> float:
        """Actions beyond this, in either direction, act like it."""
        ...

    @property
    def name(self) -> str:
        """For people: which variant."""
        ...

    @property
    def variant(self) -> dict[str, Any]:
        """What the tests of a suite share."""
        ...

    @property
    def rollout(self) -> Callable[..., Evaluation]:
        """Runs every program (a `core.Batch`) through every episode, on so many threads; each task has options."""
        ...

    def spread(self, episodes: Keys) -> Keys:
        """As many episodes, made from these, that show the task evenly."""
        ...

    def objectives(self, names: tuple[str, ...], found: Evaluation, episodes: Keys) -> NDArray[np.float64]:
        """The objectives of these names [program, objective]; higher is better."""
        ...

    @property
    def case_names(self) -> tuple[str, ...]:
        """Kinds of episodes in which a policy may do well or not."""
        ...

    def cases(self, episodes: Keys) -> NDArray[np.int64]:
        """The case of each episode: a position among the names."""
        ...

    def happens(self, episodes: Keys) -> NDArray[np.int64]:
        """The step before which that happens in each episode which its case is about.

        Raises:
            ValueError: there is no such step.
        """
        ...

    def easier(self) -> Self:
        """The task for beginners."""
        ...

    def shorter(self, steps: int, is_early: bool = False) -> Self:
        """The task with fewer steps, in which as much happens, or early on, where that saves time."""
        ...

    def eased(self, eases: Sequence[float]) -> Self:
        """The task where what happens in each case happens only in part: 0 for all of it, 1 for nothing.

        Raises:
            ValueError: it cannot.
        """
        ...

    def varied(self, key: int, amount: float) -> Self:
        """The task in a world that differs from the usual one, by an amount up to 1; the key says how.

        Raises:
            ValueError: there is only one world.
        """
        ...

    @property
    def scoring(self) -> dict[str, Any]:
        """Options of `rollout` that leave the objectives as they are and save time."""
        ...

    def test_suite(self) -> Mapping[tuple[str, str], Self]:
        """What `arz test` runs, by (group, name)."""
        ...

    def test_score(self, means: Mapping[tuple[str, str], float]) -> float | None:
        """One number for the tests of a suite that were made: what the task itself is about."""
        ...

    @property
    def lasting(self) -> str:
        """What it means that an episode has as many steps as it can, in few words."""
        ...

    @property
    def success(self) -> float | None:
        """The mean return, in each test, of a policy that can do the task; None if nobody knows."""
        ...

    def sentence(self, status: Status) -> str:
        """How an episode ended."""
        ...
