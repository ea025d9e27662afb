"""Regularized evolution: a tournament chooses a parent, its child enters, the oldest dies.

The paper's search for cartpole (section "Single-Objective Search"; Real et al. 2019, 2020). There it is asynchronous;
here it is parallel *and* deterministic: the children of a batch (their number is the `lag`) choose their parents from
the population as it stood before the batch, and enter in the order of their numbers. So the result does not depend on
how many workers score them, nor on who is first.

Several populations (`islands`) evolve side by side and never mix. Each lives until it is stuck, then begins a new life.
Their batches are scored together, so that there is work for every worker.

Three disjoint sets of episodes: the *fitness* episodes, on which children are scored and which can be drawn anew now
and then; the *selection* episodes, on which the best of each island are compared to find the champion; and the test
episodes, which the search never sees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.search.cache import ScoreCache
from arz.search.problem import G, Problem
from arz.streams import keys

NO_PARENT = -1
MAX_CACHE = 100_000_000
MAX_ISLANDS = 10_000


@dataclass(frozen=True)
class Settings:
    """How to search. The defaults were chosen by experiment (docs/search.md).

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 4
    """Populations that evolve side by side."""
    population: int = 200
    """Individuals that are alive at a time on each island."""
    tournament: int = 10
    """How many are drawn, with replacement, to find a parent: the best of them."""
    lag: int = 100
    """Children of an island that choose their parents from the same population; they are scored in parallel."""
    episodes: int = 8
    """Episodes that give a child its fitness."""
    resample_every: int = 1000
    """Draw new fitness episodes after this many children of each island; 0 keeps the first ones."""
    rescore: bool = False
    """Score the population again on new fitness episodes."""
    restart_after: int = 50_000
    """Start an island anew when its best has not improved for this many of its children; 0 never does."""
    restart_improvement: float = 1.0
    """What counts as an improvement."""
    select_every: int = 1000
    """After this many children of each island the best of each are tried as champions."""
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
    """Children that are worse on these than this quantile of their island are not scored further: that is their
    fitness."""

    def __post_init__(self) -> None:
        least = {
            "islands": 1,
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
        if self.islands > MAX_ISLANDS:
            raise ValueError(f"islands must be at most {MAX_ISLANDS}, not {self.islands}")
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
    """Where a search stands: all that it remembers beside the populations, their lives, the champion and the cache."""

    evaluations: int = 0
    """Genomes that got a fitness."""
    steps: int = 0
    """Steps of the task that were simulated."""
    hits: int = 0
    """Genomes whose fitness was known from the cache."""
    restarts: int = 0
    """Each begins a new life on its island."""
    selected_at: int = 0
    """The last selection, in children of each island."""
    champion: int = -1
    """The number of the champion; -1 before there is one."""
    champion_score: float = -np.inf
    """Its score on the selection episodes."""
    champion_fitness: float = -np.inf
    """Its fitness when it was chosen."""


@dataclass
class Life:
    """What is remembered of an island beside its population."""

    number: int
    """How many lives began before, on all islands."""
    is_begun: bool = False
    """If not, it begins with the next batch."""
    best: float = -np.inf
    """The best selection score."""
    improved_to: float = -np.inf
    """The score that last counted as an improvement..."""
    improved_at: int = 0
    """...and when that was, in children of each island."""


@dataclass(frozen=True)
class Births:
    """The individuals of one batch, in the order of their numbers."""

    first: int
    """The number of the first; the others follow."""
    parents: NDArray[np.int64]
    """The numbers of their parents; `NO_PARENT` for random ones."""
    mutations: NDArray[np.uint8]
    fitness: NDArray[np.float64]
    lives: NDArray[np.int64]
    """The number of the life into which each was born."""


@dataclass(frozen=True)
class Metrics:
    """How the search stands after a selection."""

    evaluations: int
    steps: int
    hits: int
    restarts: int
    best_fitness: float
    """Of all who live."""
    mean_fitness: float
    life_score: float
    """The best selection score of the present lives."""
    champion_score: float
    """The best selection score so far."""
    champion: int


@lru_cache(2)
def _places(
    islands: int, size: int, lag: int, new: tuple[int, ...], living: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the newcomers of a batch belong, and who survives it.

    Args:
        islands: how many there are.
        size: how many live on each.
        lag: how many children each gets...
        new: ...but these, where a life begins.
        living: how many live before the batch: none or all.

    Returns:
        The island of each newcomer, those of new lives first. The positions of the `size` youngest of each island,
        among the living and then the newcomers, island by island, oldest first.
    """
    old = sorted(set(range(islands)) - set(new))
    newcomers = np.repeat([*new, *old], [size] * len(new) + [lag] * len(old))
    everyone = np.concatenate([np.repeat(np.arange(islands), size)[:living], newcomers])
    ends = np.cumsum(np.bincount(everyone, minlength=islands))[:, None]
    survivors = np.argsort(everyone, kind="stable")[ends - size + np.arange(size)].ravel()
    newcomers.flags.writeable = survivors.flags.writeable = False
    return newcomers, survivors


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
    """The living, island by island, oldest first; None before the first batch."""
    fitness: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The number of each of the living: how many were scored before it."""
    champion: G | None = None

    def __post_init__(self) -> None:
        self.lives = [Life(number) for number in range(self.settings.islands)]
        self.cache = ScoreCache(self.settings.cache)  # on the current fitness episodes
        self._episodes = (-1, np.zeros(0, np.uint64))
        self._selection_episodes = keys(self.seed, "selection episodes", np.arange(self.settings.selection_episodes))

    # ---- one batch ----

    def advance(self) -> tuple[Births, Metrics | None]:
        """Scores one batch of new individuals; the metrics when a selection was due."""
        births = self._breed()
        metrics = None
        if self._clock - self.counters.selected_at >= self.settings.select_every:
            metrics = self._select()
            self._end_lives()
        return births, metrics

    @property
    def _clock(self) -> int:
        """How many children each island had, about: a new life begins with more of them than `lag`."""
        return self.counters.evaluations // self.settings.islands

    def _breed(self) -> Births:
        """Children on the islands that live, random individuals on those where a life begins (numbered first)."""
        settings, count = self.settings, self.counters
        new = tuple(k for k, life in enumerate(self.lives) if not life.is_begun)
        islands, survivors = _places(settings.islands, settings.population, settings.lag, new, len(self.fitness))
        numbers = count.evaluations + np.arange(len(islands))
        random, bred = numbers[: len(new) * settings.population], numbers[len(new) * settings.population :]
        for k in new:
            self.lives[k].is_begun, self.lives[k].improved_at = True, self._clock
        genomes = self.problem.random(keys(self.seed, "random", random)) if new else None
        parents, mutations = np.full(len(numbers), NO_PARENT), np.zeros(len(numbers), np.uint8)
        if len(bred):
            assert self.population is not None
            draws = keys(self.seed, "tournament", bred)
            winners = core.tournaments(
                draws, islands[len(random) :], self.fitness, settings.population, settings.tournament
            )
            children, mutations[len(random) :] = self.problem.vary(
                self.population, winners, keys(self.seed, "child", bred)
            )
            parents[len(random) :] = self.numbers[winners]
            genomes = children if genomes is None else genomes + children
        assert genomes is not None
        episode_set = self._episode_set
        fitness, hits = self._score(genomes, self._hurdles(islands, len(random)))
        count.hits += hits
        count.evaluations += len(genomes)
        self._enter(genomes, fitness, numbers, survivors)
        if self._episode_set != episode_set:
            self.cache.clear()
            if settings.rescore:
                assert self.population is not None
                self.fitness, _ = self._score(self.population)
        lives = np.array([life.number for life in self.lives])[islands]
        return Births(int(numbers[0]), parents, mutations, fitness, lives)

    def _enter(
        self, genomes: G, fitness: NDArray[np.float64], numbers: NDArray[np.int64], survivors: NDArray[np.int64]
    ) -> None:
        """The newcomers enter; of all only the survivors stay."""
        everyone = genomes if self.population is None else self.population + genomes
        self.population = everyone.take(survivors)
        self.fitness = np.concatenate([self.fitness, fitness])[survivors]
        self.numbers = np.concatenate([self.numbers, numbers])[survivors]

    def _hurdles(self, islands: NDArray[np.int64], random: int) -> NDArray[np.float64] | None:
        """What newcomers of these islands must reach on their first episodes; the random ones, nothing."""
        settings = self.settings
        if not settings.hurdle_episodes:
            return None
        hurdles = np.full(len(islands), -np.inf)
        if len(islands) > random:
            by_island = self.fitness.reshape(-1, settings.population)
            hurdles[random:] = np.quantile(by_island, settings.hurdle_quantile, axis=1)[islands[random:]]
        return hurdles

    # ---- scores ----

    @property
    def _episode_set(self) -> int:
        """The number of the current set of fitness episodes."""
        every = self.settings.resample_every
        return self._clock // every if every else 0

    def _fitness_episodes(self, number: int) -> NDArray[np.uint64]:
        if self._episodes[0] != number:
            indices = number * self.settings.episodes + np.arange(self.settings.episodes)
            self._episodes = (number, keys(self.seed, "fitness episodes", indices))
        return self._episodes[1]

    def _score(self, genomes: G, hurdles: NDArray[np.float64] | None = None) -> tuple[NDArray[np.float64], int]:
        """Fitness, and how many were known from the cache."""
        episodes = self._fitness_episodes(self._episode_set)

        def compute(positions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            chosen = genomes if len(positions) == len(genomes) else genomes.take(positions)
            if hurdles is not None:
                return self._score_with_hurdle(chosen, episodes, hurdles[positions])
            return self.problem.score(chosen, episodes)

        if self.settings.cache:
            fitness, steps, hits = self.cache.score(self.problem.fingerprints(genomes), compute)
        else:
            fitness, spent = compute(np.arange(len(genomes)))
            steps, hits = float(spent.sum()), 0
        self.counters.steps += int(steps)
        return fitness, hits

    def _score_with_hurdle(
        self, genomes: G, episodes: NDArray[np.uint64], hurdles: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first = self.settings.hurdle_episodes
        share = first / len(episodes)
        fitness, steps = self.problem.score(genomes, episodes[:first])
        passed = np.flatnonzero(fitness >= hurdles)
        if len(passed):
            rest, more = self.problem.score(genomes.take(passed), episodes[first:])
            fitness[passed] = share * fitness[passed] + (1 - share) * rest
            steps[passed] += more
        return fitness, steps

    # ---- champions and restarts ----

    def _select(self) -> Metrics:
        """Tries the best of each island as champions."""
        assert self.population is not None
        count, islands = self.counters, self.settings.islands
        count.selected_at = self._clock
        top = np.argsort(-self.fitness.reshape(islands, -1), axis=1, kind="stable")[:, : self.settings.select_top]
        best = (top + np.arange(islands)[:, None] * self.settings.population).ravel()
        scores, steps = self.problem.score(self.population.take(best), self._selection_episodes)
        count.steps += int(steps.sum())
        for life, score in zip(self.lives, scores.reshape(islands, -1).max(axis=1).tolist(), strict=True):
            life.best = max(life.best, score)
            if score > life.improved_to + self.settings.restart_improvement:
                life.improved_at, life.improved_to = self._clock, score
        winner = int(np.argmax(scores))
        if scores[winner] > count.champion_score:
            count.champion_score = float(scores[winner])
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
            life_score=max(life.best for life in self.lives),
            champion_score=count.champion_score,
            champion=count.champion,
        )

    def _end_lives(self) -> None:
        """Where an island is stuck, a new life begins with the next batch."""
        patience = self.settings.restart_after
        for k, life in enumerate(self.lives):
            if patience and self._clock - life.improved_at >= patience:
                self.lives[k] = Life(self.settings.islands + self.counters.restarts)
                self.counters.restarts += 1
