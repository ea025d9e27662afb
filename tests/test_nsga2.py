"""NSGA-II on a toy problem: it knows nothing of programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arz.search import pareto
from arz.search.base import NO_PARENT, Births, Metrics
from arz.search.nsga2 import Nsga2, Nsga2Settings
from arz.streams import Stream

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Genomes that are pairs of numbers."""

    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(np.concatenate([self.values, other.values]))

    def take(self, indices: NDArray[np.int64]) -> Pairs:
        return Pairs(self.values[indices])


@dataclass
class TradeOff:
    """Be near to (0, 0) and near to (4, 0): the best are on the line between. Steps of 1/4."""

    asked: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    easier: list[int] = field(default_factory=list)
    objectives: int = 2

    def stratified(self, episodes: Keys) -> Keys:
        return episodes

    def random(self, keys: Keys) -> Pairs:
        streams = [Stream(int(key)) for key in keys]
        return Pairs(np.array([[s.below(80) / 4 - 10, s.below(80) / 4 - 10] for s in streams]).reshape(-1, 2))

    def cross(self, genomes: Pairs, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys) -> Pairs:
        take = np.array([Stream(int(key)).below(2) for key in keys], bool)[:, None]
        return Pairs(np.where(take, genomes.values[first], genomes.values[second]))

    def vary(self, genomes: Pairs, parents: NDArray[np.int64], keys: Keys) -> tuple[Pairs, NDArray[np.uint8]]:
        values = genomes.values[parents].copy()
        moves = np.array([Stream(int(key)).below(4) for key in keys])
        values[np.arange(len(values)), moves // 2] += np.where(moves % 2, 0.25, -0.25)
        return Pairs(values), moves.astype(np.uint8)

    def prepared(self, genomes: Pairs) -> Pairs:
        return genomes

    def fingerprints(self, genomes: Pairs) -> Keys:
        return genomes.values.copy().view(np.uint64)

    def score(self, genomes: Pairs, episodes: Keys) -> tuple[Floats, Floats]:
        self.asked.append((len(genomes), tuple(episodes.tolist())))
        x, y = genomes.values.T
        objectives = np.stack([-np.hypot(x, y), -np.hypot(x - 4, y)], axis=1)
        return objectives, np.full(len(genomes), float(len(episodes)))

    def score_easier(self, genomes: Pairs, episodes: Keys) -> tuple[Floats, Floats]:
        """Only the second objective counts, and it is near to (4, 4)."""
        self.easier.append(len(genomes))
        x, y = genomes.values.T
        near = -np.hypot(x - 4, y - 4)
        return np.stack([near, near], axis=1), np.ones(len(genomes))


SMALL: dict[str, Any] = {"population": 20, "offspring": 40, "initial": 60, "episodes": 2, "validation_episodes": 3}
SMALL |= {"validate_every": 40}


def search(seed: int = 1, **changes: Any) -> tuple[Nsga2[Pairs], TradeOff]:
    problem = TradeOff()
    return Nsga2(problem, Nsga2Settings(**{**SMALL, **changes}), seed), problem


def run(generations: int, seed: int = 1, **changes: Any) -> tuple[Nsga2[Pairs], list[Births], list[Metrics]]:
    made, _ = search(seed, **changes)
    births, metrics = [], []
    for _ in range(generations):
        born, found = made.advance()
        births.append(born)
        if found is not None:
            metrics.append(found)
    return made, births, metrics


def test_it_finds_the_trade_off() -> None:
    made, _, metrics = run(60, unique=True)
    (front,) = made.fronts()
    assert len(front.numbers) >= 15
    assert pareto.hypervolume(front.objectives, np.array([-6.0, -6.0])) > 27.0  # 28 for the whole line
    assert made.population is not None
    assert np.abs(made.population.values[:, 1]).max() <= 0.5
    assert metrics[-1].champion_score == 0.0  # the champion is best in the first objective
    assert made.counters.champion_score == 0.0


def test_the_living_are_the_best_of_parents_and_children() -> None:
    made, _ = search()
    made.advance()
    for _ in range(10):
        before = made.objectives.copy()
        births, _ = made.advance()
        assert len(births.parents) == 40
        assert len(made.numbers) == 20
        # Nobody who left dominates anybody who stayed.
        gone = [row for row in before.tolist() if row not in made.objectives.tolist()]
        for row in gone:
            assert not np.any(np.all(np.array(row) >= made.objectives, axis=1) & np.any(row > made.objectives, axis=1))


def test_ranks_decide_and_then_room() -> None:
    made, _ = search()
    made.advance()
    order = pareto.best_first(made.objectives, len(made.objectives))
    assert np.array_equal(pareto.ranks(made.objectives)[order], np.sort(pareto.ranks(made.objectives)))
    assert np.all(np.diff(pareto.ranks(made.objectives)) >= 0)  # the living are in order


def test_same_seed_same_search_and_another_seed_another() -> None:
    one, other, third = run(10)[0], run(10)[0], run(10, seed=2)[0]
    assert np.array_equal(one.objectives, other.objectives)
    assert np.array_equal(one.numbers, other.numbers)
    assert not np.array_equal(one.objectives, third.objectives)


def test_the_cache_changes_nothing_but_the_work() -> None:
    kept, forgetful = run(20, cache=1000)[0], run(20, cache=0)[0]
    assert np.array_equal(kept.objectives, forgetful.objectives)
    assert kept.counters.hits > 0
    assert kept.counters.steps < forgetful.counters.steps


def test_new_episodes_put_the_living_in_order_again() -> None:
    class Moving(TradeOff):
        def score(self, genomes: Pairs, episodes: Keys) -> tuple[Floats, Floats]:
            objectives, steps = super().score(genomes, episodes)
            return objectives * [1.0, float(episodes[0] % np.uint64(3)) - 1.0], steps

    made: Nsga2[Pairs] = Nsga2(
        Moving(), Nsga2Settings(**{**SMALL, "islands": 2, "resample_every": 80, "rescore": True}), 1
    )
    for _ in range(12):
        made.advance()
        for island in range(2):
            ranks = pareto.ranks(made.objectives[20 * island : 20 * island + 20])
            assert np.all(np.diff(ranks) >= 0)


def test_islands_do_not_mix() -> None:
    _, births, _ = run(15, islands=3)
    island = {}
    for born in births:
        lives = born.lives.tolist()
        for number, (parent, life) in enumerate(zip(born.parents.tolist(), lives, strict=True), born.first):
            island[number] = life
            assert parent == NO_PARENT or island[parent] == life
    assert set(island.values()) == {0, 1, 2}


def test_a_stuck_island_begins_a_new_life() -> None:
    made, births, _ = run(40, islands=2, restart_after=200, restart_improvement=0.5)
    assert made.counters.restarts > 0
    assert max(born.lives.max() for born in births) == made.counters.restarts + 1
    random = [np.sum(born.parents == NO_PARENT) for born in births]
    assert set(random) >= {0, 60}
    assert len(made.numbers) == 40


def test_a_life_begins_with_a_warm_up_if_wanted() -> None:
    made, problem = search(islands=2, warm_up=0.2, unique=True)  # which cannot be reached
    for _ in range(5):
        made.advance()
    assert problem.easier
    assert not any(life.is_warm for life in made.lives)
    assert all(len(episodes) == 3 for _, episodes in problem.asked)  # only selections asked for the real problem
    made, _ = search(islands=2, warm_up=0.2, restart_after=80)
    for _ in range(20):
        made.advance()
        assert not any(front.is_warm for front in made.fronts())
    assert made.counters.restarts > 2

    class Shifted(TradeOff):
        def score_easier(self, genomes: Pairs, episodes: Keys) -> tuple[Floats, Floats]:
            objectives, steps = super().score_easier(genomes, episodes)
            return objectives + 20.0, steps

    made = Nsga2(Shifted(), Nsga2Settings(**{**SMALL, "islands": 2, "warm_up": 19.0, "unique": True}), 1)
    for _ in range(25):
        made.advance()
        for island, life in enumerate(made.lives):
            here = slice(20 * island, 20 * island + 20)
            assert made.population is not None
            score = made.problem.score if life.is_warm else made.problem.score_easier
            expected = score(made.population.take(np.arange(40)[here]), np.zeros(2, np.uint64))[0]
            assert np.array_equal(made.objectives[here], expected)
            assert np.all(np.diff(pareto.ranks(made.objectives[here])) >= 0)
    assert all(life.is_warm for life in made.lives)


def test_unique_keeps_one_of_equal_scores() -> None:
    made, _, _ = run(5, unique=True)
    assert len(np.unique(made.objectives, axis=0)) == len(made.objectives)


def test_all_equal_still_fills_the_island() -> None:
    class Flat(TradeOff):
        def score(self, genomes: Pairs, episodes: Keys) -> tuple[Floats, Floats]:
            return np.zeros((len(genomes), 2)), np.ones(len(genomes))

    made: Nsga2[Pairs] = Nsga2(Flat(), Nsga2Settings(**{**SMALL, "unique": True}), 1)
    for _ in range(3):
        made.advance()
    assert made.objectives.shape == (20, 2)
    assert len(made.fronts()[0].numbers) == 1


@pytest.mark.parametrize(
    "changes",
    [{"offspring": 0}, {"initial": 10}, {"islands": 0}, {"population": 1}, {"cache": -1}, {"warm_up": float("nan")}],
)
def test_settings_out_of_range_are_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        Nsga2Settings(**{**SMALL, **changes})
