"""Tuning: the numbers of an individual change, its structure stays (separable CMA-ES; Ros and Hansen 2008).

Each island has a *centre*. A generation is the centre and samples around it. The better half of the samples, the best
weighing most (linearly), moves the centre; how far samples are spread, along each number and as a whole, follows from
the moves that paid (Hansen's recommended rates). Numbers differ in what they do, so each is measured in a *unit* of its
own: what changes the behaviour by as much as any other. Numbers that change nothing stay as they are.

All arithmetic is elementwise or exactly rounded, so that the result is the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.search.draws import normal_rows
from arz.search.evolution import NO_PARENT, Births, Evolution, SharedSettings
from arz.search.problem import G, TunableProblem
from arz.streams import keys

Floats = NDArray[np.float64]

HUGE = 1e100
"""Numbers beyond this are odd."""
MOST_GROWTH = 0.5
"""The spread as a whole changes by at most this factor's exponent in a generation."""


@dataclass(frozen=True)
class TuningSettings(SharedSettings):
    """How to tune.

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 1
    population: int = 48
    episodes: int = 8
    resample_every: int = 48
    restart_after: int = 0
    select_every: int = 1000
    selection_episodes: int = 48
    cache: int = 0
    sample_spread: float = 0.1
    """By how much samples change what a program does at first: root mean square of the change of its actions."""
    least_spread: float = 0.02
    """As a whole it never becomes less..."""
    most_spread: float = 0.3
    """...nor more than this; along each number it may."""
    importance: tuple[float, ...] = (1.0,)
    """How much each objective counts, in their order; those without a number do not."""
    tuned: tuple[str, ...] = ()
    """Only these registers, or rows of them, change: a list such as s1, m0[0:12]. Without one, all that matter."""

    LEAST: ClassVar[dict[str, int]] = {**SharedSettings.LEAST, "population": 5}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.least_spread <= self.sample_spread <= self.most_spread < math.inf:
            raise ValueError(
                "the spreads must be 0 < least_spread <= sample_spread <= most_spread, "
                f"not {self.least_spread}, {self.sample_spread}, {self.most_spread}"
            )
        given = self.importance
        if not isinstance(given, tuple) or not given or not all(_is_number(value) for value in given):
            raise ValueError(f"importance must be a list of numbers, not {given!r}")
        if isinstance(self.tuned, str):  # s1,m0 on a command line
            object.__setattr__(self, "tuned", tuple(name.strip() for name in self.tuned.split(",")))
        if not isinstance(self.tuned, tuple) or not all(isinstance(name, str) for name in self.tuned):
            raise ValueError(f"tuned must be a list of registers, not {self.tuned!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < HUGE


@dataclass
class Cloud:
    """Where the samples of an island come from."""

    centre: Floats
    units: Floats
    """How far a spread of 1 changes each number; 0 for those that stay."""
    variance: Floats
    """Of each number, in its unit, beside the spread as a whole."""
    path: Floats
    """The way of the centre, in units: consistent moves widen the samples along it."""
    drift: Floats
    """The way of the centre as if all numbers were alike: its length tells whether the spread shall grow."""
    spread: float
    generation: int = 0

    def __post_init__(self) -> None:
        self._changes = np.flatnonzero(self.units)

    @classmethod
    def around(cls, centre: Floats, units: Floats, spread: float) -> Cloud:
        """A round one."""
        return cls(centre, units, np.ones(len(centre)), np.zeros(len(centre)), np.zeros(len(centre)), spread)

    def places(self, draws: Floats) -> Floats:
        """Where samples are, given standard normal draws [sample, number]."""
        return self.centre + self.spread * np.sqrt(self.variance) * self.units * draws

    def move(self, draws: Floats, least: float, most: float) -> None:
        """Follows the better half of the samples.

        Args:
            draws: what they were made of, the best first.
            least: the least spread.
            most: the most.
        """
        self.generation += 1
        if not len(self._changes):
            return
        where, dim = self._changes, len(self._changes)
        weights = len(draws) + 0.5 - np.arange(1, len(draws) + 1)
        weights /= math.fsum(weights)
        power = 1 / math.fsum(weights**2)
        good = draws[:, where]
        step = np.add.reduce(weights[:, None] * good, axis=0)
        squares = np.add.reduce(weights[:, None] * good**2, axis=0)

        deviation = np.sqrt(self.variance[where])
        self.centre[where] += self.spread * deviation * self.units[where] * step

        rate = (power + 2) / (dim + power + 5)
        drift = (1 - rate) * self.drift[where] + math.sqrt(rate * (2 - rate) * power) * step
        length = math.sqrt(math.fsum(drift**2))
        usual = math.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))
        settled = math.sqrt(1 - math.prod([(1 - rate) * (1 - rate)] * min(self.generation, 10_000)))
        is_steady = length / settled < (1.4 + 2 / (dim + 1)) * usual

        pace = (4 + power / dim) / (dim + 4 + 2 * power / dim)
        path = (1 - pace) * self.path[where] + is_steady * math.sqrt(pace * (2 - pace) * power) * deviation * step
        faster = (dim + 2) / 3  # one number per dimension is learned faster than a matrix
        along = min(1.0, faster * 2 / ((dim + 1.3) * (dim + 1.3) + power))
        among = min(1 - along, faster * 2 * (power - 2 + 1 / power) / ((dim + 2) ** 2 + power))
        lost = 0.0 if is_steady else pace * (2 - pace)
        old = self.variance[where]
        self.variance[where] = (1 - along - among) * old + along * (path**2 + lost * old) + among * old * squares

        damping = 1 + 2 * max(0.0, math.sqrt((power - 1) / (dim + 1)) - 1) + rate
        growth = max(-MOST_GROWTH, min(MOST_GROWTH, rate / damping * (length / usual - 1)))
        # The exponential, by as many terms as matter: the same bits everywhere.
        factor = 1 + growth * (1 + growth / 2 * (1 + growth / 3 * (1 + growth / 4 * (1 + growth / 5))))
        self.spread = max(least, min(most, self.spread * factor))
        self.path[where], self.drift[where] = path, drift

    def rows(self) -> Floats:
        """Everything, as rows of equal length."""
        rest = np.zeros(len(self.centre))
        rest[:2] = self.spread, self.generation
        return np.stack([self.centre, self.units, self.variance, self.path, self.drift, rest])

    @classmethod
    def of_rows(cls, rows: Floats) -> Cloud:
        """The one whose rows these are.

        Raises:
            ValueError: they cannot be.
        """
        if rows.shape[0] != 6 or rows.shape[1] < 2:
            raise ValueError("a cloud has other rows")
        centre, units, variance, path, drift, rest = rows.copy()
        spread, generation = rest[:2].tolist()
        is_odd = not (np.abs(rows) < HUGE).all() or np.any(rows[1:3] < 0)
        if is_odd or spread <= 0 or not 0 <= generation < 2**53 or generation % 1:
            raise ValueError("a cloud is odd")
        return cls(centre, units, variance, path, drift, spread, int(generation))


@dataclass
class Tuning(Evolution[G]):
    """Tunes the start; without one, the best of a first generation of random individuals.

    `advance` does one generation; the living are the last generation: the centre of each island, then its samples.
    """

    problem: TunableProblem[G]
    settings: TuningSettings
    clouds: list[Cloud | None] = field(default_factory=list)
    """Of each island; None where the first generation is still to come."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.clouds = [None] * self.settings.islands

    def _breed(self) -> Births:
        size, count = self.settings.population, self.counters
        for island in self._begin_lives():
            self.clouds[island] = None if self.start is None else self._cloud(self.start)
        islands = np.repeat(np.arange(self.settings.islands), size)
        numbers = count.evaluations + np.arange(len(islands))
        parents, draws = np.full(len(numbers), NO_PARENT), []
        genomes: G | None = None
        for island, cloud in enumerate(self.clouds):
            here = slice(island * size, (island + 1) * size)
            if cloud is None:
                group, drawn = self.problem.random(keys(self.seed, "random", numbers[here])), np.zeros((size, 0))
            else:
                drawn = normal_rows(self.seed, "sample", numbers[here], len(cloud.centre))
                drawn[0] = 0.0  # the centre itself
                group = self.problem.with_numbers(self._structure(island), cloud.places(drawn))
                if self.start is None or cloud.generation:
                    parents[here] = self.numbers[here][0]
            draws.append(drawn)
            genomes = group if genomes is None else genomes + group
        assert genomes is not None
        episode_set = self._episode_set
        objectives, hits = self._score(genomes, islands)
        count.hits += hits
        count.evaluations += len(genomes)
        order = np.concatenate([self._follow(island, objectives, genomes, draws) for island in range(len(draws))])
        self.population, self.objectives, self.numbers = genomes.take(order), objectives[order], numbers[order]
        self._renew_episodes(episode_set)
        mutations = np.full(len(numbers), self.problem.tuned_by, np.uint8)
        return Births(int(numbers[0]), parents, mutations, objectives[:, 0], self._life_numbers(islands))

    def _structure(self, island: int) -> G:
        """One individual with the structure that is tuned on an island."""
        if self.start is not None:
            return self.start
        assert self.population is not None
        return self.population.take(np.array([island * self.settings.population]))

    def _cloud(self, genome: G) -> Cloud:
        units = self.problem.units(genome, self.settings.tuned)
        return Cloud.around(self.problem.numbers(genome)[0], units, self.settings.sample_spread)

    def _follow(self, island: int, objectives: Floats, genomes: G, draws: list[Floats]) -> NDArray[np.int64]:
        """The cloud of an island learns from the samples; returns the order in which they live on."""
        settings, cloud = self.settings, self.clouds[island]
        here = island * settings.population + np.arange(settings.population)
        weights = (*settings.importance, *[0.0] * objectives.shape[1])[: objectives.shape[1]]
        value = np.add.reduce([weight * objectives[here, k] for k, weight in enumerate(weights)], axis=0)
        if cloud is None:  # random ones: the best is the first centre
            order = here[np.argsort(-value, kind="stable")]
            self.clouds[island] = self._cloud(genomes.take(order[:1]))
            return order
        best = 1 + np.argsort(-value[1:], kind="stable")[: (settings.population - 1) // 2]
        cloud.move(draws[island][best], settings.least_spread, settings.most_spread)
        return here

    def _candidates(self) -> NDArray[np.int64]:
        """The centres, and the best."""
        centres = np.arange(self.settings.islands)[:, None] * self.settings.population
        return np.concatenate([centres, super()._candidates()], axis=1)

    def extras(self) -> dict[str, Floats]:
        """The clouds, for a checkpoint."""
        return {f"cloud_{k}": cloud.rows() for k, cloud in enumerate(self.clouds) if cloud is not None}

    def restore_extras(self, arrays: dict[str, Floats]) -> None:
        """Makes the clouds equal to those of a checkpoint.

        Raises:
            ValueError: they cannot be.
        """
        islands = range(self.settings.islands)
        if self.population is None and arrays:
            raise ValueError("there are clouds without individuals")
        if not arrays.keys() <= {f"cloud_{k}" for k in islands}:
            raise ValueError("there are clouds of unknown islands")
        self.clouds = [Cloud.of_rows(arrays[f"cloud_{k}"]) if f"cloud_{k}" in arrays else None for k in islands]
        for island, (life, cloud) in enumerate(zip(self.lives, self.clouds, strict=True)):
            if life.is_begun and cloud is None:
                raise ValueError("a cloud is missing")
            if cloud is not None:
                expected = self.problem.numbers(self._structure(island)).shape[1]
                if len(cloud.centre) != expected:
                    raise ValueError("a cloud has another number of dimensions")
