"""The cache of scores: what was scored before is not scored again.

Genomes are known by their fingerprints. With exact fingerprints (the code that matters) the cache never changes a
result; with functional ones (actions on fixed observations) it hits more often and sometimes falsely. (With a hurdle a
score depends on the island and its time, and the cache keeps the first one.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.native import core

Scores = tuple[NDArray[np.float64], NDArray[np.float64]]


class ScoreCache:
    """The scores of the genomes seen last; the least recently used goes first.

    Args:
        capacity: how many to keep; 0 keeps none.
        objectives: how many numbers a score has.
    """

    def __init__(self, capacity: int, objectives: int = 1) -> None:
        self.capacity = capacity
        self._core = core.Cache(capacity=max(capacity, 1), columns=objectives)

    def __len__(self) -> int:
        return len(self._core)

    def score(
        self, fingerprints: NDArray[np.uint64], compute: Callable[[NDArray[np.int64]], Scores]
    ) -> tuple[NDArray[np.float64], float, int]:
        """The objectives of each, the steps that were spent now, and how many were known already.

        `compute` gets the positions of those that are not known, each fingerprint once.
        """
        count = len(fingerprints)
        if self.capacity < count:
            objectives, steps = compute(np.arange(count))
            return objectives, float(steps.sum()), 0
        missing = self._core.unknown(fingerprints)
        spent = np.zeros(0)
        if len(missing):
            objectives, spent = compute(missing)
            self._core.insert(fingerprints[missing], objectives)
        return self._core.values(fingerprints), float(spent.sum()), count - len(missing)

    def clear(self) -> None:
        """Forgets everything."""
        self._core.clear()

    def contents(self) -> dict[str, NDArray[Any]]:
        """Everything, the least recently used first."""
        keys, values = self._core.contents()
        return {"keys": keys, "values": values}

    def restore(self, keys: NDArray[np.uint64], values: NDArray[np.float64]) -> None:
        """Makes the cache equal to the one whose contents these are."""
        self._core.clear()
        self._core.insert(keys, values)
