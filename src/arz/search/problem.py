"""What a search asks of the problem it searches."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

UNTRIED = -1e300
"""The objectives of genomes that a problem refuses to try: below every score, and none itself."""


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

    @property
    def objectives(self) -> int:
        """How many numbers a score has."""
        ...

    def random(self, keys: Keys, /) -> G:
        """One new genome for each key."""
        ...

    def vary(self, genomes: G, parents: NDArray[np.int64], keys: Keys, /) -> tuple[G, NDArray[np.uint8]]:
        """One child for each parent and key, and the number of the mutation that made it."""
        ...

    def fingerprints(self, genomes: G, /) -> NDArray[np.uint64]:
        """Two numbers for each genome; genomes that share them are taken to have the same scores."""
        ...

    def spread(self, episodes: Keys, /) -> Keys:
        """As many episodes, made from these, that show the problem evenly; these themselves will do."""
        ...

    def score(self, genomes: G, episodes: Keys, /) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The objectives [genome, objective] (higher is better, never NaN), and how many steps each genome took.

        Those that are not worth a try have `UNTRIED`.
        """
        ...


class CrossingProblem(Problem[G], Protocol):
    """One whose genomes have two parents."""

    def cross(self, genomes: G, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys, /) -> G:
        """One child for each pair of parents and key."""
        ...

    def score_easier(self, genomes: G, episodes: Keys, /) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As `score`, but for an easier and cheaper problem: for the beginning of a search."""
        ...


class NumberedProblem(Problem[G], Protocol):
    """One whose genomes consist of a structure and numbers."""

    @property
    def tuned_by(self) -> int:
        """The number of the mutation that changes numbers."""
        ...

    def numbers(self, genomes: G, /) -> NDArray[np.float64]:
        """The numbers of each genome [genome, number]."""
        ...

    def with_numbers(self, genome: G, numbers: NDArray[np.float64], /) -> G:
        """The structure of one genome with each of these rows of numbers."""
        ...


class TunableProblem(NumberedProblem[G], Protocol):
    """One that knows how much its numbers do."""

    def units(self, genome: G, tuned: tuple[str, ...], /) -> NDArray[np.float64]:
        """How far the numbers of one genome move for its behaviour to change by 1.

        0 for those that change nothing; with a list of names, for all others too.

        Raises:
            ValueError: there is no such name.
        """
        ...


class SeeingProblem(NumberedProblem[G], Protocol):
    """One whose genomes all have one structure and look at the world through a shift and a scale.

    Their numbers begin with what they subtract from each entry of what they see, and what they then multiply it by.
    """

    @property
    def seen(self) -> int:
        """How many entries they see."""
        ...

    @property
    def structure(self) -> G:
        """One genome."""
        ...

    def watch(
        self, genomes: G, episodes: Keys, /
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """As `score`; and what each saw, added up in parts [genome, part, number].

        A part has, for each entry, the sum of its differences from what is subtracted and the sum of their squares, and
        how often it was seen.
        """
        ...
