"""Regularized evolution: a tournament chooses a parent, its child enters, the oldest dies.

The paper's search for cartpole (section "Single-Objective Search"; Real et al. 2019, 2020). There it is asynchronous;
here it is parallel *and* deterministic: the children of a batch (their number is the `lag`) choose their parents from
the population as it stood before the batch, and enter in the order of their numbers. So the result does not depend on
how many workers score them, nor on who is first.

Three disjoint sets of episodes: the *fitness* episodes, on which children are scored and which can be drawn anew now
and then; the *selection* episodes, on which the best of the population are compared to find the champion; and the test
episodes, which the search never sees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.search.cache import ScoreCache
from arz.search.problem import G, Problem
from arz.streams import keys, mix

NO_PARENT = -1
MAX_CACHE = 100_000_000


@dataclass(frozen=True)
class Settings:
    """How to search. The defaults were chosen by experiment (docs/search.md).

    Raises:
        ValueError: a number is out of range.
    """

    population: int = 200
    """Individuals that are alive at a time."""
    tournament: int = 10
    """How many are drawn, with replacement, to find a parent: the best of them."""
    lag: int = 100
    """Children that choose their parents from the same population; they are scored in parallel."""
    episodes: int = 16
    """Episodes that give a child its fitness."""
    resample_every: int = 1000
    """Draw new fitness episodes after this many children; 0 keeps the first ones."""
    rescore: bool = False
    """Score the population again on new fitness episodes."""
    restart_after: int = 50_000
    """Start anew when the best has not improved for this many children; 0 never does."""
    restart_improvement: float = 1.0
    """What counts as an improvement."""
    select_every: int = 1000
    """After this many children the best of the population are tried as champions."""
    select_top: int = 2
    """How many of the best are tried."""
    selection_episodes: int = 100
    """Episodes that decide who is champion."""
    cache: int = 100_000
    """Scores to remember; 0 scores everything."""
    functional_cache: bool = False
    """Take genomes that act alike on fixed observations for equal: more hits, and some of them false."""
    hurdle_episodes: int = 0
    """Score children on this many of their episodes first; 0 for no hurdle."""
    hurdle_quantile: float = 0.25
    """Children that are worse on these than this quantile of the population are not scored further: that is their
    fitness."""

    def __post_init__(self) -> None:
        least = {
            "population": 2,
            "tournament": 1,
            "lag": 1,
            "episodes": 1,
            "select_every": 1,
            "select_top": 1,
            "selection_episodes": 1,
        }
        for name, value in vars(self).items():
            if isinstance(value, int) and not isinstance(value, bool) and not least.get(name, 0) <= value < 2**31:
                raise ValueError(f"{name} must be a whole number of at least {least.get(name, 0)}, not {value}")
        if self.cache > MAX_CACHE:
            raise ValueError(f"cache must be at most {MAX_CACHE}, not {self.cache}")
        if self.lag > self.population:
            raise ValueError(f"lag must be at most the population of {self.population}, not {self.lag}")
        if not 0 <= self.hurdle_quantile <= 1:
            raise ValueError(f"hurdle_quantile must lie in 0 to 1, not {self.hurdle_quantile}")
        if self.hurdle_episodes >= self.episodes:
            raise ValueError(f"hurdle_episodes must be below the {self.episodes} episodes, not {self.hurdle_episodes}")
        if not self.restart_improvement >= 0:
            raise ValueError(f"restart_improvement must be 0 or more, not {self.restart_improvement}")


@dataclass
class Counters:
    """Where a search stands: all that it remembers beside the population, the champion and the cache."""

    evaluations: int = 0
    """Genomes that got a fitness."""
    steps: int = 0
    """Steps of the task that were simulated."""
    hits: int = 0
    """Genomes whose fitness was known from the cache."""
    restarts: int = 0
    """Each begins a new life."""
    life_best: float = -np.inf
    """The best selection score of this life."""
    improved_to: float = -np.inf
    """The score that last counted as an improvement..."""
    improved_at: int = 0
    """...and the evaluation at which that was."""
    selected_at: int = 0
    """The evaluation of the last selection."""
    champion: int = -1
    """The number of the champion; -1 before there is one."""
    champion_score: float = -np.inf
    """Its score on the selection episodes."""
    champion_fitness: float = -np.inf
    """Its fitness when it was chosen."""


@dataclass(frozen=True)
class Births:
    """The individuals of one batch, in the order of their numbers."""

    first: int
    """The number of the first; the others follow."""
    parents: NDArray[np.int64]
    """The numbers of their parents; `NO_PARENT` for random ones."""
    mutations: NDArray[np.uint8]
    fitness: NDArray[np.float64]
    life: int


@dataclass(frozen=True)
class Metrics:
    """How the search stands after a selection."""

    evaluations: int
    steps: int
    hits: int
    restarts: int
    best_fitness: float
    """Of the population."""
    mean_fitness: float
    life_score: float
    """The best selection score of this life."""
    champion_score: float
    """The best selection score so far."""
    champion: int


@dataclass
class Regularized(Generic[G]):
    """A regularized evolution. `advance` does one batch.

    Args:
        problem: what is searched.
        settings: how.
        seed: what all random numbers come from.
    """

    problem: Problem[G]
    settings: Settings
    seed: int
    counters: Counters = field(default_factory=Counters)
    population: G | None = None
    """The living, oldest first; None before the first batch of a life."""
    fitness: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The number of each of the living: how many were scored before it."""
    champion: G | None = None

    def __post_init__(self) -> None:
        self.cache = ScoreCache(self.settings.cache)
        self._episodes = (-1, np.zeros(0, np.uint64))
        self._selection_episodes = keys(self.seed, "selection episodes", np.arange(self.settings.selection_episodes))

    # ---- one batch ----

    def advance(self) -> tuple[Births, Metrics | None]:
        """Scores one batch of new individuals; the metrics when a selection was due."""
        births = self._begin() if self.population is None else self._breed()
        metrics = None
        count = self.counters
        if count.evaluations - count.selected_at >= self.settings.select_every:
            metrics = self._select()
            if self._is_stuck():
                self._end_life()
        return births, metrics

    def _begin(self) -> Births:
        count = self.counters
        count.improved_at = count.evaluations
        numbers = count.evaluations + np.arange(self.settings.population)
        self.population = self.problem.random(keys(self.seed, "random", numbers))
        self.fitness = self._score(self.population)
        self.numbers = numbers
        parents = np.full(len(numbers), NO_PARENT)
        return Births(int(numbers[0]), parents, np.zeros(len(numbers), np.uint8), self.fitness, count.restarts)

    def _breed(self) -> Births:
        assert self.population is not None
        count, settings = self.counters, self.settings
        numbers = count.evaluations + np.arange(settings.lag)
        winners = core.tournament(keys(self.seed, "tournament", numbers), self.fitness, settings.tournament)
        children, mutations = self.problem.vary(self.population, winners, keys(self.seed, "child", numbers))
        before = self._episode_set
        fitness = self._score(children)
        births = Births(int(numbers[0]), self.numbers[winners], mutations, fitness, count.restarts)
        staying = np.arange(len(numbers), settings.population)
        self.population = self.population.take(staying) + children
        self.fitness = np.concatenate([self.fitness[staying], fitness])
        self.numbers = np.concatenate([self.numbers[staying], numbers])
        if settings.rescore and self._episode_set != before:
            self.fitness = self._score(self.population, again=True)
        return births

    # ---- scores ----

    @property
    def _episode_set(self) -> int:
        """The number of the current set of fitness episodes."""
        every = self.settings.resample_every
        return self.counters.evaluations // every if every else 0

    def _fitness_episodes(self, number: int) -> NDArray[np.uint64]:
        if self._episodes[0] != number:
            indices = number * self.settings.episodes + np.arange(self.settings.episodes)
            self._episodes = (number, keys(self.seed, "fitness episodes", indices))
        return self._episodes[1]

    def _score(self, genomes: G, again: bool = False) -> NDArray[np.float64]:
        count, settings = self.counters, self.settings
        number = self._episode_set
        episodes = self._fitness_episodes(number)

        def compute(positions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            chosen = genomes if len(positions) == len(genomes) else genomes.take(positions)
            if settings.hurdle_episodes and len(self.fitness) and not again:
                return self._score_with_hurdle(chosen, episodes)
            return self.problem.score(chosen, episodes)

        if settings.cache:
            marks = self.problem.fingerprints(genomes) ^ np.uint64(mix(number))
            fitness, steps, hits = self.cache.score(marks, compute)
        else:
            fitness, spent = compute(np.arange(len(genomes)))
            steps, hits = float(spent.sum()), 0
        count.steps += int(steps)
        if not again:
            count.hits += hits
            count.evaluations += len(genomes)
        return fitness

    def _score_with_hurdle(
        self, genomes: G, episodes: NDArray[np.uint64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first = self.settings.hurdle_episodes
        share = first / len(episodes)
        fitness, steps = self.problem.score(genomes, episodes[:first])
        passed = np.flatnonzero(fitness >= np.quantile(self.fitness, self.settings.hurdle_quantile))
        if len(passed):
            rest, more = self.problem.score(genomes.take(passed), episodes[first:])
            fitness[passed] = share * fitness[passed] + (1 - share) * rest
            steps[passed] += more
        return fitness, steps

    # ---- champions and restarts ----

    def _select(self) -> Metrics:
        """Tries the best of the population as champions."""
        assert self.population is not None
        count = self.counters
        count.selected_at = count.evaluations
        best = np.argsort(-self.fitness, kind="stable")[: self.settings.select_top]
        scores, steps = self.problem.score(self.population.take(best), self._selection_episodes)
        count.steps += int(steps.sum())
        winner = int(np.argmax(scores))
        score = float(scores[winner])
        count.life_best = max(count.life_best, score)
        if score > count.improved_to + self.settings.restart_improvement:
            count.improved_at = count.evaluations
            count.improved_to = score
        if score > count.champion_score:
            count.champion_score = score
            count.champion = int(self.numbers[best[winner]])
            count.champion_fitness = float(self.fitness[best[winner]])
            self.champion = self.population.take(best[winner : winner + 1])
        return Metrics(
            evaluations=count.evaluations,
            steps=count.steps,
            hits=count.hits,
            restarts=count.restarts,
            best_fitness=float(self.fitness.max()),
            mean_fitness=float(self.fitness.mean()),
            life_score=count.life_best,
            champion_score=count.champion_score,
            champion=count.champion,
        )

    def _is_stuck(self) -> bool:
        count, patience = self.counters, self.settings.restart_after
        return patience > 0 and count.evaluations - count.improved_at >= patience

    def _end_life(self) -> None:
        self.population = None
        self.fitness = np.zeros(0)
        self.numbers = np.zeros(0, np.int64)
        self.counters.restarts += 1
        self.counters.life_best = self.counters.improved_to = -np.inf
