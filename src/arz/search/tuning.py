"""Tuning: the numbers of an individual change, its structure stays.

Each island has a *centre*. A generation is the centre and samples around it (`cma.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.search.base import NO_PARENT, Births, Search, SearchSettings
from arz.search.cma import HUGE, SamplingDistribution, check_spreads
from arz.search.draws import normal_rows
from arz.search.problem import G, TunableProblem
from arz.streams import keys
from arz.typing import Floats


@dataclass(frozen=True)
class TuningSettings(SearchSettings):
    """How to tune.

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 1
    population: int = 48
    episodes: int = 8
    resample_every: int = 48
    restart_after: int = 0
    validate_every: int = 1000
    validation_episodes: int = 48
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

    LEAST: ClassVar[dict[str, int]] = {**SearchSettings.LEAST, "population": 5}
    CANNOT: ClassVar[dict[str, str]] = {"networks": "tuning is for programs; networks are trained by ars"}
    NEEDS_CODE: ClassVar[bool] = True

    @property
    def named_registers(self) -> tuple[str, ...]:
        """Those that are tuned."""
        return self.tuned

    def __post_init__(self) -> None:
        super().__post_init__()
        check_spreads(self.least_spread, self.sample_spread, self.most_spread)
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
class Tuning(Search[G]):
    """Tunes the start; without one, the best of a first generation of random individuals.

    `advance` does one generation; the living are the last generation: the centre of each island, then its samples.
    """

    problem: TunableProblem[G]
    settings: TuningSettings
    distributions: list[SamplingDistribution | None] = field(default_factory=list)
    """Of each island; None where the first generation is still to come."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.distributions = [None] * self.settings.islands

    def _breed(self) -> Births:
        size, count = self.settings.population, self.counters
        for island in self._begin_lives():
            self.distributions[island] = None if self.start is None else self._distribution(self.start)
        islands = np.repeat(np.arange(self.settings.islands), size)
        numbers = count.evaluations + np.arange(len(islands))
        parents, draws = np.full(len(numbers), NO_PARENT), []
        genomes: G | None = None
        for island, distribution in enumerate(self.distributions):
            here = slice(island * size, (island + 1) * size)
            if distribution is None:
                group, drawn = self.problem.random(keys(self.seed, "random", numbers[here])), np.zeros((size, 0))
            else:
                drawn = normal_rows(self.seed, "sample", numbers[here], len(distribution.centre))
                drawn[0] = 0.0  # the centre itself
                group = self.problem.with_parameters(self._structure(island), distribution.places(drawn))
                if self.start is None or distribution.generation:
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

    def _distribution(self, genome: G) -> SamplingDistribution:
        units = self.problem.units(genome, self.settings.tuned)
        self.counters.steps += units.steps
        return SamplingDistribution.around(self.problem.parameters(genome)[0], units.sizes, self.settings.sample_spread)

    def _follow(self, island: int, objectives: Floats, genomes: G, draws: list[Floats]) -> NDArray[np.int64]:
        """The distribution of an island learns from the samples; returns the order in which they live on."""
        settings, distribution = self.settings, self.distributions[island]
        here = island * settings.population + np.arange(settings.population)
        weights = (*settings.importance, *[0.0] * objectives.shape[1])[: objectives.shape[1]]
        value = np.add.reduce([weight * objectives[here, k] for k, weight in enumerate(weights)], axis=0)
        if distribution is None:  # random ones: the best is the first centre
            order = here[np.argsort(-value, kind="stable")]
            self.distributions[island] = self._distribution(genomes.take(order[:1]))
            return order
        best = 1 + np.argsort(-value[1:], kind="stable")[: (settings.population - 1) // 2]
        distribution.move(draws[island][best], settings.least_spread, settings.most_spread)
        return here

    def _candidates(self) -> NDArray[np.int64]:
        """The centres, and the best."""
        centres = np.arange(self.settings.islands)[:, None] * self.settings.population
        return np.concatenate([centres, super()._candidates()], axis=1)

    def extras(self) -> dict[str, Floats]:
        """The distributions, for a checkpoint."""
        return {
            f"cloud_{k}": distribution.rows()
            for k, distribution in enumerate(self.distributions)
            if distribution is not None
        }

    def restore_extras(self, arrays: dict[str, Floats]) -> None:
        """Makes the distributions equal to those of a checkpoint.

        Raises:
            ValueError: they cannot be.
        """
        islands = range(self.settings.islands)
        if self.population is None and arrays:
            raise ValueError("there are distributions without individuals")
        if not arrays.keys() <= {f"cloud_{k}" for k in islands}:
            raise ValueError("there are distributions of unknown islands")
        self.distributions = [
            SamplingDistribution.of_rows(arrays[f"cloud_{k}"]) if f"cloud_{k}" in arrays else None for k in islands
        ]
        for island, (life, distribution) in enumerate(zip(self.lives, self.distributions, strict=True)):
            if life.is_begun and distribution is None:
                raise ValueError("a distribution is missing")
            if distribution is not None:
                expected = self.problem.parameters(self._structure(island)).shape[1]
                if len(distribution.centre) != expected:
                    raise ValueError("a distribution has another number of dimensions")
