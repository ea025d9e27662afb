"""Who descends from whom, within bounds.

Every individual that enters a population is noted with its parent and mutation. Kept are the newest ones, up to a
limit, and of the older ones the ancestors of everyone who lives and of every champion. What is kept is a function of
the search alone: it does not depend on when the notes are written to disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arz.search.base import Births

COLUMNS = np.dtype(
    [("number", np.int64), ("parent", np.int64), ("mutation", np.uint8), ("life", np.int64), ("fitness", np.float64)]
)
"""One individual."""


@dataclass(frozen=True)
class Difference:
    """What changed since the last time: rows to write and numbers to forget."""

    new: NDArray[np.void]
    gone: NDArray[np.int64]


class Lineage:
    """The notes.

    Args:
        limit: how many of the newest to keep; 0 notes nothing.
        stored: what was kept before, in the order of numbers.
    """

    def __init__(self, limit: int, stored: NDArray[np.void] | None = None) -> None:
        self.limit = limit
        self._kept = np.zeros(0, COLUMNS) if stored is None else stored
        self._written = self._kept["number"].copy()
        self._waiting: list[NDArray[np.void]] = []
        self._count = 0

    def add(self, births: Births) -> None:
        """Notes the individuals of a batch."""
        if self.limit == 0:
            return
        rows = np.zeros(len(births.parents), COLUMNS)
        rows["number"] = births.first + np.arange(len(rows))
        rows["parent"] = births.parents
        rows["mutation"] = births.mutations
        rows["life"] = births.lives
        rows["fitness"] = births.fitness
        self._waiting.append(rows)
        self._count += len(rows)

    @property
    def is_crowded(self) -> bool:
        """Whether so many wait that it is time to prune."""
        return self._count > max(4 * self.limit, 100_000)

    def prune(self, roots: Sequence[int] | NDArray[np.int64]) -> None:
        """Forgets who is neither among the newest nor an ancestor of these."""
        rows = np.concatenate([self._kept, *self._waiting])
        self._waiting, self._count = [], 0
        marked = np.zeros(len(rows), bool)
        marked[max(0, len(rows) - self.limit) :] = True
        numbers = rows["number"]
        parents = _places(numbers, rows["parent"]).tolist()
        reached = [False] * len(rows)
        for place in _places(numbers, np.asarray(roots, np.int64)).tolist():
            while place >= 0 and not reached[place]:
                reached[place] = True
                place = parents[place]
        self._kept = rows[marked | np.array(reached, bool)]

    def difference(self, roots: Sequence[int] | NDArray[np.int64]) -> Difference:
        """Prunes, and says what changed since the last time."""
        self.prune(roots)
        numbers = self._kept["number"]
        change = Difference(
            new=self._kept[~np.isin(numbers, self._written)], gone=self._written[~np.isin(self._written, numbers)]
        )
        self._written = numbers.copy()
        return change


def _places(numbers: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where these are among the numbers, which ascend; -1 for those that are not there."""
    if len(numbers) == 0:
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return np.where(numbers[places] == wanted, places, -1)


def as_rows(values: Iterable[tuple[int, int, int, int, float]]) -> NDArray[np.void]:
    """Individuals from plain numbers."""
    return np.array(list(values), COLUMNS)
