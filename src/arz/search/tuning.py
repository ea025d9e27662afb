"""Tuning: the numbers of an individual change, its structure stays.

Each island has a *centre*. A generation is the centre and samples around it (`cloud.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.search.base import NO_PARENT, Births, Search, SearchSettings
from arz.search.cloud import HUGE, Cloud, check_spreads
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
        self.counters.steps += units.steps
        return Cloud.around(self.problem.numbers(genome)[0], units.sizes, self.settings.sample_spread)

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
