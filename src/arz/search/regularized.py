"""Regularized evolution: a tournament chooses a parent, its child enters, the oldest dies.

The paper's search for cartpole (section "Single-Objective Search"; Real et al. 2019, 2020). There it is asynchronous;
here it is parallel *and* deterministic: the children of a batch (their number is the `lag`) choose their parents from
the population as it stood before the batch, and enter in the order of their numbers. So the result does not depend on
how many workers score them, nor on who is first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.search.base import NO_PARENT, Births, Search, SearchSettings
from arz.search.problem import G
from arz.streams import keys


@dataclass(frozen=True)
class RegularizedSettings(SearchSettings):
    """How to search. The defaults were chosen by experiment (docs/search.md).

    Raises:
        ValueError: a number is out of range.
    """

    tournament: int = 10
    """How many are drawn, with replacement, to find a parent: the best of them."""
    lag: int = 100
    """Children of an island that choose their parents from the same population; they are scored in parallel."""
    hurdle_episodes: int = 0
    """Score children on this many of their episodes first; 0 for no hurdle."""
    hurdle_quantile: float = 0.25
    """Children that are worse on these than this quantile of their island are not scored further: that is their
    fitness."""

    LEAST: ClassVar[dict[str, int]] = {**SearchSettings.LEAST, "tournament": 1, "lag": 1}
    MOST: ClassVar[dict[str, tuple[int, str]]] = {
        **SearchSettings.MOST,
        "tournament": (core.MOST_ENTRANTS, "the most that live on an island"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lag > self.population:
            raise ValueError(f"lag must be at most the population of {self.population}, not {self.lag}")
        if not 0 <= self.hurdle_quantile <= 1:
            raise ValueError(f"hurdle_quantile must lie in 0 to 1, not {self.hurdle_quantile}")
        if self.hurdle_episodes >= self.episodes:
            raise ValueError(f"hurdle_episodes must be below the {self.episodes} episodes, not {self.hurdle_episodes}")

    @property
    def needs_sums(self) -> bool:
        """Where there is a hurdle, some episodes must tell of the rest."""
        return self.hurdle_episodes > 0


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
class Regularized(Search[G]):
    """A regularized evolution. `advance` does one batch; the living are in the order of their age, oldest first."""

    settings: RegularizedSettings

    def __post_init__(self) -> None:
        super().__post_init__()
        # What each of the newcomers must reach on its first episodes, while they are scored.
        self._hurdles: NDArray[np.float64] | None = None

    def _breed(self) -> Births:
        """Children on the islands that live, random individuals on those where a life begins (numbered first)."""
        settings, count = self.settings, self.counters
        new = self._begin_lives()
        islands, survivors = _places(settings.islands, settings.population, settings.lag, new, len(self.fitness))
        numbers = count.evaluations + np.arange(len(islands))
        random, bred = numbers[: len(new) * settings.population], numbers[len(new) * settings.population :]
        genomes = self._newcomers(random, len(new)) if new else None
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
        self._hurdles = self._find_hurdles(islands, len(random))
        objectives, hits = self._score(genomes, islands)
        self._hurdles = None
        count.hits += hits
        count.evaluations += len(genomes)
        self._enter(genomes, objectives, numbers, survivors)
        self._renew_episodes(episode_set)
        return Births(int(numbers[0]), parents, mutations, objectives[:, 0], self._life_numbers(islands))

    def _enter(
        self, genomes: G, objectives: NDArray[np.float64], numbers: NDArray[np.int64], survivors: NDArray[np.int64]
    ) -> None:
        """The newcomers enter; of all only the survivors stay."""
        everyone = genomes if self.population is None else self.population + genomes
        self.population = everyone.take(survivors)
        self.objectives = np.concatenate([self.objectives, objectives])[survivors]
        self.numbers = np.concatenate([self.numbers, numbers])[survivors]

    # ---- hurdles ----

    def _find_hurdles(self, islands: NDArray[np.int64], random: int) -> NDArray[np.float64] | None:
        """What newcomers of these islands must reach on their first episodes; the random ones, nothing."""
        settings = self.settings
        if not settings.hurdle_episodes:
            return None
        hurdles = np.full(len(islands), -np.inf)
        if len(islands) > random:
            by_island = self.fitness.reshape(-1, settings.population)
            hurdles[random:] = np.quantile(by_island, settings.hurdle_quantile, axis=1)[islands[random:]]
        return hurdles

    def _compute(
        self, genomes: G, episodes: NDArray[np.uint64], positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._hurdles is None:
            return super()._compute(genomes, episodes, positions)
        first = self.settings.hurdle_episodes
        share = first / len(episodes)
        objectives, steps = super()._compute(genomes, episodes[:first], positions)
        passed = np.flatnonzero(objectives[:, 0] >= self._hurdles[positions])
        if len(passed):
            rest, more = super()._compute(genomes, episodes[first:], positions[passed])
            objectives[passed] = share * objectives[passed] + (1 - share) * rest
            steps[passed] += more
        return objectives, steps
