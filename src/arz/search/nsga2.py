"""NSGA-II: of parents and children the least dominated stay, and of those the least crowded (Deb et al. 2002).

The paper's search for the quadruped (section "Multi-Objective Search"): 100 parents, 1000 children, crossover then
mutation. A generation is scored at once, so the result does not depend on the number of workers. Islands live side by
side and never mix; each begins with random individuals, more of them than will live.

Beyond the paper, a life can begin with a warm-up: until its best reaches a certain fitness, it is scored by an easier
and cheaper problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.search import pareto
from arz.search.base import MOST, NO_PARENT, Births, Search, SearchSettings
from arz.search.pareto import Front
from arz.search.problem import CrossingProblem, G
from arz.streams import keys

EASIER = 0x656173696572
"""What marks scores by the easier problem in the cache."""


@dataclass(frozen=True)
class Nsga2Settings(SearchSettings):
    """How to search.

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 1
    population: int = 100
    episodes: int = 32
    resample_every: int = 0
    restart_after: int = 0
    offspring: int = 1000
    """Children of an island in each generation."""
    initial: int = 1000
    """Random individuals with which a life begins."""
    warm_up: float = 0.0
    """Until its best has this fitness there, an island is scored by an easier problem (no leg breaks, and episodes are
    shorter); 0 for no warm-up."""
    unique: bool = False
    """Of individuals with equal scores only one may stay."""

    LEAST: ClassVar[dict[str, int]] = {**SearchSettings.LEAST, "offspring": 1, "initial": 2}
    MOST: ClassVar[dict[str, tuple[int, str]]] = {
        **SearchSettings.MOST,
        "offspring": (MOST, "more do not fit into memory"),
        "initial": (MOST, "more do not fit into memory"),
    }
    SIZES: ClassVar[tuple[str, ...]] = ("population", "offspring", "initial")

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.isnan(self.warm_up):
            raise ValueError(f"warm_up must be a number, not {self.warm_up}")
        if self.initial < self.population:
            raise ValueError(f"initial must be at least the population of {self.population}, not {self.initial}")


@dataclass
class Nsga2(Search[G]):
    """An NSGA-II. `advance` does one generation; the living are in the order in which they are preferred, best first.

    (With `unique` an island may hold fewer than `population` individuals that differ; the rest are copies.)
    """

    problem: CrossingProblem[G]
    settings: Nsga2Settings

    def fronts(self) -> list[Front]:
        """The present front of each island."""
        size, found = self.settings.population, []
        for island in range(len(self.numbers) // size):
            here = slice(island * size, (island + 1) * size)
            is_first = pareto.ranks(self.objectives[here]) == 0
            _, once = np.unique(self.objectives[here][is_first], axis=0, return_index=True)
            numbers, objectives = self.numbers[here][is_first][once], self.objectives[here][is_first][once]
            is_warm = self.lives[island].is_warm
            found.append(Front(self.counters.evaluations, island, is_warm, numbers, objectives))
        return found

    def _breed(self) -> Births:
        """A generation: random individuals where a life begins (numbered first), children elsewhere."""
        settings, count = self.settings, self.counters
        new = self._begin_lives()
        old = tuple(k for k in range(settings.islands) if k not in new)
        islands = np.repeat([*new, *old], [settings.initial] * len(new) + [settings.offspring] * len(old))
        numbers = count.evaluations + np.arange(len(islands))
        first_bred = len(new) * settings.initial
        genomes = self._newcomers(numbers[:first_bred], len(new)) if new else None
        parents, mutations = np.full(len(numbers), NO_PARENT), np.zeros(len(numbers), np.uint8)
        if old:
            assert self.population is not None
            children, winners, mutations[first_bred:] = self._children(numbers[first_bred:], islands[first_bred:])
            parents[first_bred:] = self.numbers[winners]
            genomes = children if genomes is None else genomes + children
        assert genomes is not None
        episode_set = self._episode_set
        objectives, hits = self._score(genomes, islands)
        count.hits += hits
        count.evaluations += len(genomes)
        self._enter(genomes, objectives, numbers, islands, new)
        self._renew_episodes(episode_set)
        self._end_warm_up()
        return Births(int(numbers[0]), parents, mutations, objectives[:, 0], self._life_numbers(islands))

    # ---- warm-up ----

    def _begin_lives(self) -> tuple[int, ...]:
        new = super()._begin_lives()
        for k in new:
            self.lives[k].is_warm = self.settings.warm_up <= 0
        return new

    def _score(self, genomes: G, islands: NDArray[np.int64]) -> tuple[NDArray[np.float64], int]:
        is_warm = np.array([life.is_warm for life in self.lives])[islands]
        if is_warm.all():
            return super()._score(genomes, islands)
        objectives, hits = np.zeros((len(genomes), self.problem.objectives)), 0
        for chosen, compute, mark in ((is_warm, self._compute, 0), (~is_warm, self._compute_easier, EASIER)):
            where = np.flatnonzero(chosen)
            if len(where):
                objectives[where], found = self._remembered(genomes.take(where), compute, mark)
                hits += found
        return objectives, hits

    def _compute_easier(
        self, genomes: G, episodes: NDArray[np.uint64], positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.problem.score_easier(genomes.take(positions), episodes)

    def _end_warm_up(self) -> None:
        """Islands that have become good enough are scored by the problem itself from now on."""
        size = self.settings.population
        for island, life in enumerate(self.lives):
            here = slice(island * size, (island + 1) * size)
            if life.is_warm or self.fitness[here].max() < self.settings.warm_up:
                continue
            assert self.population is not None
            life.is_warm = True
            places = np.arange(len(self.numbers))[here]
            self.objectives[here], _ = self._score(self.population.take(places), np.full(size, island))
            self._sort()

    def _renew_episodes(self, before: int) -> None:
        super()._renew_episodes(before)
        if self._episode_set != before and self.settings.rescore:
            self._sort()

    def _sort(self) -> None:
        """Puts the living of each island in order again, after they were scored anew."""
        assert self.population is not None
        size = self.settings.population
        places = np.concatenate(
            [
                island * size + self._best(self.objectives[island * size : (island + 1) * size], size)
                for island in range(self.settings.islands)
            ]
        )
        self.population = self.population.take(places)
        self.objectives, self.numbers = self.objectives[places], self.numbers[places]

    # ---- generations ----

    def _children(
        self, numbers: NDArray[np.int64], islands: NDArray[np.int64]
    ) -> tuple[G, NDArray[np.int64], NDArray[np.uint8]]:
        """Crossover of two winners of tournaments of two, then mutation; and who the first parents are."""
        assert self.population is not None
        place = -np.arange(len(self.numbers), dtype=np.float64)  # the living are in order: the earlier, the better
        size = self.settings.population
        first, second = (
            core.tournaments(keys(self.seed, f"{which} parent", numbers), islands, place, size=size, entrants=2)
            for which in ("first", "second")
        )
        crossed = self.problem.cross(self.population, first, second, keys(self.seed, "crossover", numbers))
        children, mutations = self.problem.vary(crossed, np.arange(len(numbers)), keys(self.seed, "child", numbers))
        return children, first, mutations

    def _enter(
        self,
        genomes: G,
        objectives: NDArray[np.float64],
        numbers: NDArray[np.int64],
        islands: NDArray[np.int64],
        new: tuple[int, ...],
    ) -> None:
        """Of the living and the newcomers of each island the best stay; of an old life, none."""
        size = self.settings.population
        living = np.repeat(np.arange(len(self.numbers) // size), size)
        living[np.isin(living, new)] = -1
        everyone = genomes if self.population is None else self.population + genomes
        scores, all_numbers = np.concatenate([self.objectives, objectives]), np.concatenate([self.numbers, numbers])
        homes = np.concatenate([living, islands])
        stay = []
        for island in range(self.settings.islands):
            members = np.flatnonzero(homes == island)
            best = members[self._best(scores[members], size)]
            stay.append(best)
        survivors = np.concatenate(stay)
        self.population = everyone.take(survivors)
        self.objectives, self.numbers = scores[survivors], all_numbers[survivors]

    def _best(self, objectives: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        if not self.settings.unique:
            return pareto.best_first(objectives, count)
        _, once = np.unique(objectives, axis=0, return_index=True)
        once.sort()
        chosen = once[pareto.best_first(objectives[once], count)]
        return np.resize(chosen, count)
