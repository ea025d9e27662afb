"""What a search asks of the problem it searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from arz.typing import Keys

UNTRIED = -1e300
"""The objectives of genomes that a problem refuses to try: below every score, and none itself."""
SMALL_EFFECT = 0.2
"""What a number does less of, usually counts as this."""


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

    def prepared(self, genomes: G, /) -> G:
        """Genomes that are scored as these are, without what does not matter: looked for once, for all that follows."""
        ...

    def fingerprints(self, genomes: G, /) -> NDArray[np.uint64]:
        """Two numbers for each genome; genomes that share them are taken to have the same scores."""
        ...

    def stratified(self, episodes: Keys, /) -> Keys:
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


class ParameterProblem(Problem[G], Protocol):
    """One whose genomes consist of a structure and numbers."""

    @property
    def tuned_by(self) -> int:
        """The number of the mutation that changes numbers."""
        ...

    def parameters(self, genomes: G, /) -> NDArray[np.float64]:
        """The numbers of each genome [genome, number]."""
        ...

    def with_parameters(self, genomes: G, parameters: NDArray[np.float64], /) -> G:
        """The structures of genomes, or of one, each with a row of numbers."""
        ...


class Adaptable(Protocol):
    """What a search may ask of what it shall solve, before it begins: that it can be made easier, or differ."""

    @property
    def case_names(self) -> tuple[str, ...]:
        """Kinds of episodes in which one may do well or not."""
        ...

    def eased(self, eases: Sequence[float], /) -> object:
        """The same where what happens in each case happens only in part.

        Raises:
            ValueError: it cannot.
        """
        ...

    def varied(self, key: int, amount: float, /) -> object:
        """The same in another world.

        Raises:
            ValueError: there is only one.
        """
        ...

    def happens(self, episodes: Keys, /) -> object:
        """The step before which that happens in each episode which its case is about.

        Raises:
            ValueError: there is no such step.
        """
        ...


@dataclass(frozen=True)
class Units:
    """How far the numbers of a genome move for its behaviour to change by 1."""

    sizes: NDArray[np.float64]
    """0 for those that change nothing."""
    steps: int
    """How many it took to measure them."""


class TunableProblem(ParameterProblem[G], Protocol):
    """One that knows how much its numbers do."""

    def units(self, genome: G, tuned: tuple[str, ...] = (), small: float = SMALL_EFFECT) -> Units:
        """How far the numbers of one genome move; with a list of names, only these.

        What does less than `small` counts as if it did so much.

        Raises:
            ValueError: there is no such name.
        """
        ...


@dataclass(frozen=True)
class Trial:
    """How genomes did."""

    worth: NDArray[np.float64]
    """By case [genome, case]."""
    objectives: NDArray[np.float64]
    lasted: NDArray[np.float64]
    """The share of episodes that lasted to the end, by case [genome, case]."""
    steps: NDArray[np.float64]
    """How many each took."""


@dataclass(frozen=True)
class Conditions:
    """Under which genomes are tried."""

    survival: float = 0.0
    """What a step is worth beside its reward."""
    is_easy: bool = False
    """In an easier problem."""
    steps: int = 0
    """Of an episode, in which as much happens, early on; 0 for as many as it has."""
    variety: float = 0.0
    """How much the world may differ from the usual one..."""
    world: int = 0
    """...and the key of what it is like."""


@dataclass(frozen=True)
class Reflex(Generic[G]):
    """A genome that acts as its parent does until something has happened, and the numbers that matter from then on."""

    genome: G | None
    """None if there is no room, or nothing tells the case."""
    units: NDArray[np.float64]
    """How far these numbers move for its behaviour to change by 1; 0 for all others."""
    steps: int
    """How many it took to make it."""


class GrowingProblem(TunableProblem[G], Protocol):
    """One whose structures grow by terms, and which knows its cases."""

    @property
    def case_names(self) -> tuple[str, ...]:
        """What each case is called: kinds of episodes, in which one may do well or not."""
        ...

    @property
    def transplanted_by(self) -> int:
        """The number that marks children with a term of another."""
        ...

    def grown(self, keys: Keys, most: int, /) -> G:
        """One small structure for each key, with so many terms at most, and at least half of them."""
        ...

    def richness(self, genomes: G, /) -> NDArray[np.float64]:
        """How much the structure of each can do, whatever its numbers are: what is tried first has more of it."""
        ...

    def freedom(self, genomes: G, /) -> NDArray[np.float64]:
        """In how many independent ways the numbers of each change what it does: another measure of the same."""
        ...

    def transplant(
        self, genomes: G, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys, /
    ) -> tuple[G, NDArray[np.bool_]]:
        """For each pair and key, the first with a term of the second, and whether there was one, and room."""
        ...

    @property
    def reflex_by(self) -> int:
        """The number that marks children with a reflex."""
        ...

    def reflex(
        self, genome: G, case: int, key: int, terms: int, eases: NDArray[np.float64] | None, small: float, /
    ) -> Reflex[G]:
        """One genome with a reflex for a case, of so many terms.

        Args:
            genome: which.
            case: a position among the names.
            key: names what is drawn.
            terms: how many.
            eases: as in `try_cases`, of recordings on which it is fitted when the reflex acts; None to draw that.
            small: as in `units`.
        """
        ...

    def only(self, episodes: Keys, case: int, /) -> Keys:
        """As many episodes of one case, made from these."""
        ...

    def lengths(self, genomes: G, /) -> NDArray[np.int64]:
        """How long each is."""
        ...

    def try_cases(self, genomes: G, episodes: Keys, conditions: Conditions, eases: NDArray[np.float64], /) -> Trial:
        """Tries genomes in these episodes, under some conditions.

        Args:
            genomes: whom.
            episodes: in which.
            conditions: how.
            eases: how much of what happens in a case is spared each genome [genome, case]: 0 for nothing, 1 for all.
        """
        ...


class SeeingProblem(ParameterProblem[G], Protocol):
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
