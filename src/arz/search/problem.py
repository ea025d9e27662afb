"""What a search asks of the problem it searches."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


class Genomes(Protocol):
    """A row of genomes."""

    def __len__(self) -> int: ...
    def __add__(self, other: Self, /) -> Self: ...
    def take(self, indices: NDArray[np.int64], /) -> Self:
        """Those at these positions."""
        ...


G = TypeVar("G", bound=Genomes)


class Problem(Protocol[G]):
    """Draws, varies and scores genomes. The same arguments must always give the same result."""

    def random(self, keys: Keys, /) -> G:
        """One new genome for each key."""
        ...

    def vary(self, genomes: G, parents: NDArray[np.int64], keys: Keys, /) -> tuple[G, NDArray[np.uint8]]:
        """One child for each parent and key, and the number of the mutation that made it."""
        ...

    def fingerprints(self, genomes: G, /) -> NDArray[np.uint64]:
        """Two numbers for each genome; genomes that share them are taken to have the same scores."""
        ...

    def score(self, genomes: G, episodes: Keys, /) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each genome the fitness (higher is better, never NaN), and how many steps it took to find out."""
        ...
