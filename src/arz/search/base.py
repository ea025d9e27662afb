"""What the searches share: islands and their lives, three sets of episodes, the cache, champions and restarts.

Several populations (`islands`) evolve side by side. Each lives until it is stuck, then begins a new life. Their
children are scored together, so that there is work for every worker.

Three disjoint sets of episodes: the *fitness* episodes, on which children are scored and which can be drawn anew now
and then; the *validation* episodes, on which the best of each island are compared to find the champion; and the test
episodes, which the search never sees. A score may consist of several objectives; the first one is the *fitness*, by
which champions are chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from arz.search.cache import ScoreCache
from arz.search.pareto import Front
from arz.search.problem import UNTRIED, Adaptable, G, Problem
from arz.streams import keys

NO_PARENT = -1
MOST = 1_000_000
"""Individuals on an island, or episodes of one of them: one batch of more takes days, or no memory holds it."""
MOST_LIVING = 10_000_000
"""On all islands."""


@dataclass(frozen=True)
class SearchSettings:
    """How to search: what all searches have.

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 4
    """Populations that evolve side by side."""
    population: int = 200
    """Individuals that are alive at a time on each island."""
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
    validate_every: int = 1000
    """After this many children of each island the best of each are tried as champions."""
    validate_top: int = 2
    """How many of the best are tried."""
    validation_episodes: int = 100
    """Episodes that decide who is champion."""
    cache: int = 100_000
    """Scores to remember; 0 scores everything."""
    functional_cache: bool = False
    """Take genomes that act alike on fixed observations for equal: more hits, and some of them false."""

    LEAST: ClassVar[dict[str, int]] = {
        "islands": 1,
        "population": 2,
        "episodes": 1,
        "validate_every": 1,
        "validate_top": 1,
        "validation_episodes": 1,
    }
    """The least of each whole number; 0 of those not named."""
    MOST: ClassVar[dict[str, tuple[int, str]]] = {
        "islands": (10_000, "each of them takes part in every batch"),
        "population": (MOST, "more do not fit into memory"),
        "episodes": (MOST, "more take days"),
        "validation_episodes": (MOST, "more take days"),
        "validate_top": (MOST, "the most that live on an island"),
        "cache": (100_000_000, "more do not fit into memory"),
    }
    """The most of each, and why; those not named count children, and 2**31 - 1 is more than any run has."""
    SIZES: ClassVar[tuple[str, ...]] = ("population",)
    """How many individuals an island may have to hold."""
    CANNOT: ClassVar[dict[str, str]] = {}
    """What it cannot do, and the sentence that says so: search programs, networks; use workers, a start; resume a run
    that was interrupted; several jobs at a time in one process."""
    NEEDS_CODE: ClassVar[bool] = False
    """It only finds numbers, so that it makes no sense without the code of a program."""
    NETWORKS: ClassVar[dict[str, dict[str, Any]]] = {}
    """The fields of each kind of network that have other values than usual, where this trains it."""

    def __post_init__(self) -> None:
        for item in fields(self):
            self._check(item.name, getattr(self, item.name), type(item.default))
        for name in self.SIZES:
            if self.islands * getattr(self, name) > MOST_LIVING:
                most = f"{MOST_LIVING // self.islands} on each of {self.islands} islands: more do not fit into memory"
                raise ValueError(f"{name} must be at most {most}, not {getattr(self, name)}")
        if not self.restart_improvement >= 0:
            raise ValueError(f"restart_improvement must be 0 or more, not {self.restart_improvement}")

    @property
    def needs_sums(self) -> bool:
        """Whether objectives must be sums over episodes."""
        return False

    @property
    def survival_worth(self) -> float:
        """What each step that an episode lasts is worth beside its return."""
        return 0.0

    @property
    def named_registers(self) -> tuple[str, ...]:
        """The registers that it names, which must exist."""
        return ()

    def check(self, what: str) -> None:
        """Refuses what this search cannot do; see `CANNOT`.

        Raises:
            ValueError: it cannot.
        """
        if what in self.CANNOT:
            raise ValueError(self.CANNOT[what])

    def check_problem(self, problem: Adaptable, is_stateful: bool) -> None:
        """Refuses what the problem cannot do that these settings ask for.

        Raises:
            ValueError: there is something.
        """

    def check_installed(self) -> None:
        """Makes sure that everything is installed that it needs.

        Raises:
            ValueError: an extra is missing.
        """

    def _check(self, name: str, value: Any, kind: type) -> None:
        """Refuses what is not of the kind of a field, or out of its range."""
        if kind is bool and not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false, not {value!r}")
        if kind is float and (not isinstance(value, int | float) or isinstance(value, bool)):
            raise ValueError(f"{name} must be a number, not {value!r}")
        if kind is not int:
            return
        least, (most, why) = self.LEAST.get(name, 0), self.MOST.get(name, (2**31 - 1, "no run has so many children"))
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, not {value}")
        if value > most:
            raise ValueError(f"{name} must be at most {most}, not {value}: {why}")


@dataclass
class Counters:
    """Where a search stands: all that it remembers beside the populations, their lives, the champion and the cache."""

    evaluations: int = 0
    """Genomes that got a fitness."""
    steps: int = 0
    """Steps of the episodes that were played (a step that episodes share counts for each)."""
    hits: int = 0
    """Genomes whose fitness was known from the cache."""
    restarts: int = 0
    """Each begins a new life on its island."""
    selected_at: int = 0
    """The last selection, in children of each island."""
    champion: int = -1
    """The number of the champion; -1 before there is one."""
    champion_score: float = -np.inf
    """Its score on the validation episodes."""
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
    """The best validation score."""
    improved_to: float = -np.inf
    """The score that last counted as an improvement..."""
    improved_at: int = 0
    """...and when that was, in children of each island."""
    is_warm: bool = True
    """Whether it is scored by the problem itself, not by an easier one."""


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
    """Of all who live and were tried; -inf if nobody was."""
    mean_fitness: float
    life_score: float
    """The best validation score of the present lives."""
    champion_score: float
    """The best validation score so far."""
    champion: int


@dataclass
class Search(ABC, Generic[G]):
    """A search. `advance` does one batch.

    Args:
        problem: what is searched.
        settings: how.
        seed: what all random numbers come from.
        start: a genome with which to begin.
    """

    problem: Problem[G]
    settings: SearchSettings
    seed: int
    counters: Counters = field(default_factory=Counters)
    population: G | None = None
    """The living, island by island; None before the first batch."""
    objectives: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 1)))
    """Their scores [living, objectives]."""
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """The number of each of the living: how many were scored before it."""
    champion: G | None = None
    start: G | None = None
    """The one genome with whose variations lives begin; None to begin with random ones."""

    def __post_init__(self) -> None:
        self.lives = [Life(number) for number in range(self.settings.islands)]
        self.cache = ScoreCache(self.settings.cache, self.problem.objectives)  # on the current fitness episodes
        self.objectives = np.zeros((0, self.problem.objectives))
        self._episodes = (-1, np.zeros(0, np.uint64))
        indices = np.arange(self.settings.validation_episodes)
        self._validation_episodes = self.problem.stratified(keys(self.seed, "selection episodes", indices))

    @property
    def fitness(self) -> NDArray[np.float64]:
        """The first objective of the living."""
        return self.objectives[:, 0]

    # ---- one batch ----

    def advance(self) -> tuple[Births, Metrics | None]:
        """Scores one batch of new individuals; the metrics when a selection was due."""
        births = self._breed()
        metrics = None
        if self._clock - self.counters.selected_at >= self.settings.validate_every:
            metrics = self._select()
            self._end_lives()
        return births, metrics

    @abstractmethod
    def _breed(self) -> Births:
        """One batch of new individuals enters the populations, and others leave."""

    def fronts(self) -> list[Front]:
        """The fronts of the islands that were bred last, where there are fronts."""
        return []

    @property
    def _clock(self) -> int:
        """How many children each island had, about: a new life begins with more of them."""
        return self.counters.evaluations // self.settings.islands

    def _begin_lives(self) -> tuple[int, ...]:
        """The islands where a life begins with this batch."""
        new = tuple(k for k, life in enumerate(self.lives) if not life.is_begun)
        for k in new:
            self.lives[k].is_begun, self.lives[k].improved_at = True, self._clock
        return new

    def _newcomers(self, numbers: NDArray[np.int64], lives: int) -> G:
        """Those with which so many lives begin: random ones, or the start and variations of it."""
        drawn = keys(self.seed, "random", numbers)
        if self.start is None:
            return self.problem.random(drawn)
        varied, _ = self.problem.vary(self.start, np.zeros(len(numbers), np.int64), drawn)
        order = 1 + np.arange(len(numbers))
        order[:: len(numbers) // lives] = 0
        return (self.start + varied).take(order)

    def _life_numbers(self, islands: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([life.number for life in self.lives])[islands]

    # ---- scores ----

    @property
    def _episode_set(self) -> int:
        """The number of the current set of fitness episodes."""
        every = self.settings.resample_every
        return self._clock // every if every else 0

    def _fitness_episodes(self, number: int) -> NDArray[np.uint64]:
        if self._episodes[0] != number:
            self._episodes = (number, self._drawn_episodes(number * self.settings.episodes, self.settings.episodes))
        return self._episodes[1]

    def _drawn_episodes(self, first: int, count: int) -> NDArray[np.uint64]:
        """Some of the fitness episodes, by their numbers."""
        return self.problem.stratified(keys(self.seed, "fitness episodes", first + np.arange(count)))

    def _compute(
        self, genomes: G, episodes: NDArray[np.uint64], positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores those at these positions."""
        chosen = genomes if len(positions) == len(genomes) else genomes.take(positions)
        return self.problem.score(chosen, episodes)

    def _score(self, genomes: G, islands: NDArray[np.int64]) -> tuple[NDArray[np.float64], int]:
        """The objectives of genomes of these islands, and how many were known from the cache."""
        return self._remembered(genomes, self._compute)

    def _remembered(
        self,
        genomes: G,
        compute: Callable[[G, NDArray[np.uint64], NDArray[np.int64]], tuple[NDArray[np.float64], NDArray[np.float64]]],
        mark: int = 0,
    ) -> tuple[NDArray[np.float64], int]:
        """The objectives of genomes, from the cache or computed now; marked scores are kept apart from others."""
        episodes = self._fitness_episodes(self._episode_set)
        genomes = self.problem.prepared(genomes)
        if self.settings.cache:
            fingerprints = self.problem.fingerprints(genomes) ^ np.uint64(mark)
            objectives, steps, hits = self.cache.score(fingerprints, lambda where: compute(genomes, episodes, where))
        else:
            objectives, spent = compute(genomes, episodes, np.arange(len(genomes)))
            steps, hits = float(spent.sum()), 0
        self.counters.steps += int(steps)
        return objectives, hits

    def _renew_episodes(self, before: int) -> None:
        """Forgets scores on the episodes of the set `before`, if another one is current."""
        if self._episode_set != before:
            self.cache.clear()
            if self.settings.rescore:
                assert self.population is not None
                homes = np.repeat(np.arange(self.settings.islands), self.settings.population)
                self.objectives, _ = self._score(self.population, homes)

    # ---- champions and restarts ----

    def _select(self) -> Metrics:
        """Tries the best of each island as champions."""
        assert self.population is not None
        count, islands = self.counters, self.settings.islands
        count.selected_at = self._clock
        best = self._candidates().ravel()
        objectives, steps = self.problem.score(self.population.take(best), self._validation_episodes)
        scores = np.where(_is_score(objectives[:, 0]), objectives[:, 0], -np.inf)
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
        scored = self.fitness[_is_score(self.fitness)]
        return Metrics(
            evaluations=count.evaluations,
            steps=count.steps,
            hits=count.hits,
            restarts=count.restarts,
            best_fitness=float(scored.max()) if len(scored) else -np.inf,
            mean_fitness=float(scored.mean()) if len(scored) else -np.inf,
            life_score=max(life.best for life in self.lives),
            champion_score=count.champion_score,
            champion=count.champion,
        )

    def _candidates(self) -> NDArray[np.int64]:
        """Who is tried as champion: positions of the best [island, candidate]."""
        islands = self.settings.islands
        top = np.argsort(-self.fitness.reshape(islands, -1), axis=1, kind="stable")[:, : self.settings.validate_top]
        return np.asarray(top + np.arange(islands)[:, None] * self.settings.population)

    def standing(self) -> str:
        """What the search is doing, in parts with two spaces between them; nothing where the numbers tell it."""
        return ""

    # ---- checkpoints ----

    def extras(self) -> dict[str, NDArray[np.float64]]:
        """What this search remembers beside what all have: tables of numbers, by name."""
        return {}

    def restore_extras(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """The opposite, after everything else was restored.

        Raises:
            ValueError: they are not what they should be.
        """
        if arrays:
            raise ValueError(f"there is an odd {min(arrays)}")

    def _end_lives(self) -> None:
        """Where an island is stuck, a new life begins with the next batch."""
        patience = self.settings.restart_after
        for k, life in enumerate(self.lives):
            if patience and self._clock - life.improved_at >= patience:
                self._end_life(k)

    def _end_life(self, island: int) -> None:
        """A new life begins on an island with the next batch."""
        number = self.settings.islands + self.counters.restarts
        self.lives[island] = Life(number, is_warm=self.lives[island].is_warm)
        self.counters.restarts += 1


def _is_score(objectives: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where there are scores, and not what stands for genomes that were not tried, or a mean with such."""
    return np.asarray(objectives > UNTRIED / 1e6)
