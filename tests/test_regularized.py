"""Regularized evolution on a toy problem: it knows nothing of programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arz.native import core
from arz.search.base import NO_PARENT, Births, Metrics
from arz.search.cache import ScoreCache
from arz.search.regularized import Regularized, RegularizedSettings
from arz.streams import Stream, keys


@dataclass(frozen=True)
class Numbers:
    """Genomes that are single numbers."""

    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Numbers) -> Numbers:
        return Numbers(np.concatenate([self.values, other.values]))

    def take(self, indices: NDArray[np.int64]) -> Numbers:
        return Numbers(self.values[indices])


@dataclass
class Near:
    """Find a number near 10, in steps of 0.5, where each episode shifts the goal a little."""

    asked: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    objectives: int = 1

    def stratified(self, episodes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return episodes

    def random(self, keys: NDArray[np.uint64]) -> Numbers:
        return Numbers(np.array([round(2 * Stream(int(key)).uniform(-5, 5)) / 2 for key in keys]))

    def vary(
        self, genomes: Numbers, parents: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> tuple[Numbers, NDArray[np.uint8]]:
        moves = np.array([Stream(int(key)).below(2) for key in keys])
        return Numbers(genomes.values[parents] + np.where(moves == 1, 0.5, -0.5)), moves.astype(np.uint8)

    def prepared(self, genomes: Numbers) -> Numbers:
        return genomes

    def fingerprints(self, genomes: Numbers) -> NDArray[np.uint64]:
        bits = genomes.values.view(np.uint64)
        return np.stack([bits, ~bits], axis=1)

    def score(self, genomes: Numbers, episodes: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self.asked.append((len(genomes), tuple(episodes.tolist())))
        shifts = np.array([Stream(int(key)).uniform(-0.1, 0.1) for key in episodes])
        fitness = -np.abs(genomes.values[:, None] - 10 - shifts).mean(axis=1)
        return fitness[:, None], np.full(len(genomes), float(len(episodes)))


SMALL: dict[str, Any] = {
    "islands": 1,
    "population": 20,
    "tournament": 3,
    "lag": 5,
    "episodes": 4,
    "validate_every": 50,
    "validation_episodes": 8,
    "cache": 1000,
    "restart_after": 0,
    "restart_improvement": 0.0,
    "resample_every": 0,
}


def search(seed: int = 1, **changes: Any) -> tuple[Regularized[Numbers], Near]:
    problem = Near()
    return Regularized(problem, RegularizedSettings(**{**SMALL, **changes}), seed), problem


def run(batches: int, seed: int = 1, **changes: Any) -> tuple[Regularized[Numbers], list[Births], list[Metrics]]:
    made, _ = search(seed, **changes)
    births, metrics = [], []
    for _ in range(batches):
        born, measured = made.advance()
        births.append(born)
        metrics += [measured] if measured else []
    return made, births, metrics


def test_it_finds_the_goal() -> None:
    made, _, metrics = run(300)
    assert made.champion is not None
    assert abs(made.champion.values[0] - 10) <= 0.5
    scores = [m.champion_score for m in metrics]
    assert scores == sorted(scores)


def test_children_choose_from_the_population_before_their_batch_and_enter_in_order() -> None:
    made, births, _ = run(100)
    alive = set(range(20))
    number = 20
    assert np.all(births[0].parents == NO_PARENT)
    for born in births[1:]:
        assert born.first == number
        assert set(born.parents.tolist()) <= alive
        newcomers = range(number, number + 5)
        alive = set(sorted(alive)[5:]) | set(newcomers)
        number += 5
    assert made.numbers.tolist() == sorted(alive)


def test_the_oldest_die_and_the_living_keep_their_fitness() -> None:
    made, births, _ = run(30)
    assert len(made.fitness) == len(made.numbers) == 20
    known = {born.first + i: f for born in births for i, f in enumerate(born.fitness.tolist())}
    assert [known[n] for n in made.numbers.tolist()] == made.fitness.tolist()


def test_parents_are_winners_of_tournaments() -> None:
    _, births, _ = run(200, tournament=15)
    _, others, _ = run(200, tournament=1)

    def rank(made: list[Births]) -> float:
        fitness = np.concatenate([born.fitness for born in made])
        ranks = []
        for born in made[1:40]:
            living = fitness[born.first - 20 : born.first]
            ranks += [np.mean(living <= fitness[parent]) for parent in born.parents]
        return float(np.mean(ranks))

    assert rank(births) > 0.9
    assert 0.4 < rank(others) < 0.75  # a tournament of one is a draw


def test_the_same_seed_gives_the_same_search() -> None:
    one, births, metrics = run(100)
    two, again, measured = run(100)
    assert metrics == measured
    assert all(np.array_equal(a.parents, b.parents) for a, b in zip(births, again, strict=True))
    assert run(100, seed=2)[0].population.values.tolist() != one.population.values.tolist()  # type: ignore[union-attr]
    assert one.population.values.tolist() == two.population.values.tolist()  # type: ignore[union-attr]


def test_the_exact_cache_changes_nothing_but_the_work() -> None:
    with_cache, births, metrics = run(200)
    without, others, measured = run(200, cache=0)
    assert [b.fitness.tolist() for b in births] == [b.fitness.tolist() for b in others]
    assert [m.champion_score for m in metrics] == [m.champion_score for m in measured]
    assert with_cache.counters.hits > 500
    assert without.counters.hits == 0
    assert with_cache.counters.steps < without.counters.steps / 2


def test_scores_are_forgotten_with_the_episodes_that_gave_them() -> None:
    made, _, _ = run(3, resample_every=100, cache=1000)  # 20 + 5 + 5 individuals
    assert 1 < len(made.cache) <= 30
    while made.counters.evaluations < 95:
        made.advance()
    assert len(made.cache) > 1
    made.advance()
    assert len(made.cache) == 0
    made.advance()
    assert 0 < len(made.cache) <= 5


def test_each_genome_is_scored_once_even_within_a_batch() -> None:
    made, problem = search()
    for _ in range(50):
        made.advance()
    scored = sum(count for count, episodes in problem.asked if len(episodes) == 4)
    assert scored == made.counters.evaluations - made.counters.hits


def test_fitness_and_selection_episodes_are_disjoint_and_selection_ones_stay() -> None:
    made, problem = search(resample_every=50)
    for _ in range(100):
        made.advance()
    fitness = [set(episodes) for _, episodes in problem.asked if len(episodes) == 4]
    selection = [set(episodes) for _, episodes in problem.asked if len(episodes) == 8]
    assert len({frozenset(episodes) for episodes in selection}) == 1
    assert set.union(*fitness).isdisjoint(selection[0])
    assert len({frozenset(episodes) for episodes in fitness}) == 520 // 50 + 1


def test_resampling_draws_new_episodes_after_so_many_children_and_scores_the_living_again() -> None:
    made, problem = search(resample_every=50, rescore=True, cache=0)
    sets = []
    for _ in range(30):
        made.advance()
        sets.append([episodes for _, episodes in problem.asked if len(episodes) == 4][-1])
        current = made.problem.score(made.population, np.array(sets[-1], np.uint64))[0]  # type: ignore[arg-type]
        problem.asked.pop()
        assert np.array_equal(current, made.objectives)
    assert len(set(sets)) == (made.counters.evaluations // 50) + 1
    kept, problem = search(resample_every=50, rescore=False, cache=0)
    for _ in range(30):
        kept.advance()
    assert all(count in (5, 20, 2) for count, _ in problem.asked)
    assert sum(count == 20 for count, _ in problem.asked) == 1


def test_it_starts_anew_when_stuck_and_keeps_the_best() -> None:
    made, births, metrics = run(2000, restart_after=500)
    assert made.counters.restarts >= 2
    lives = [int(born.lives[0]) for born in births]
    assert lives == sorted(lives)
    assert lives[-1] == made.counters.restarts
    for (before, _), (after, born) in pairwise(zip(lives, births, strict=True)):
        assert np.all((born.parents == NO_PARENT) == (after > before))
    assert metrics[-1].champion_score == max(m.champion_score for m in metrics)
    assert run(2000)[0].counters.restarts == 0


def test_islands_never_mix_and_start_anew_on_their_own() -> None:
    made, births, _ = run(2000, islands=3, restart_after=400)
    life_of = np.concatenate([born.lives for born in births])
    parents = np.concatenate([born.parents for born in births])
    assert np.array_equal(
        np.concatenate([born.first + np.arange(len(born.parents)) for born in births]), np.arange(len(life_of))
    )
    children = np.flatnonzero(parents != NO_PARENT)
    assert np.array_equal(life_of[children], life_of[parents[children]])
    assert np.array_equal(np.unique(life_of), np.arange(3 + made.counters.restarts))
    assert all((parents[life_of == life] == NO_PARENT).sum() == 20 for life in np.unique(life_of))
    present = [life.number for life in made.lives if life.is_begun]
    assert [life_of[number] for number in made.numbers[::20]] == present
    assert np.array_equal(life_of[made.numbers], np.repeat(present, 20))
    assert all(np.all(np.diff(island) > 0) for island in made.numbers.reshape(3, 20))  # the oldest first
    assert made.counters.restarts >= 6
    assert any(len(born.parents) == 20 + 2 * 5 for born in births)  # one began anew while two went on


def test_the_best_of_each_island_are_tried() -> None:
    made, problem = search(islands=3, validate_top=2)
    tried: list[list[float]] = []
    plain = problem.score

    def score(genomes: Numbers, episodes: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if len(episodes) == 8:
            tried.append(genomes.values.tolist())
        return plain(genomes, episodes)

    problem.score = score  # type: ignore[method-assign]
    for _ in range(60):
        before = len(tried)
        made.advance()
        if len(tried) > before:
            assert made.population is not None
            islands = zip(made.population.values.reshape(3, 20), made.fitness.reshape(3, 20), strict=True)
            best = [values[np.argsort(-fitness, kind="stable")[:2]].tolist() for values, fitness in islands]
            assert tried[-1] == [value for island in best for value in island]
    assert len(tried) >= 5
    assert made.counters.champion_score >= max(life.best for life in made.lives) > -np.inf


def test_a_hurdle_is_that_of_the_island() -> None:
    hurdle: dict[str, Any] = {"hurdle_episodes": 2, "hurdle_quantile": 0.5, "episodes": 8, "cache": 0}
    made, problem = search(islands=2, lag=20, validate_every=10**6, **hurdle)
    made.advance()
    made.population = Numbers(np.repeat([9.5, -50.0], 20))  # one island near the goal, one far from it
    made.objectives = np.repeat([-0.5, -60.0], 20)[:, None]
    problem.asked.clear()
    made.advance()
    better = (made.population.values.reshape(2, 20) > [[9.5], [-50.0]]).sum(axis=1)
    assert 0 < better[0] < 20
    assert better[1] > 0
    # By the quantile of both, all of the first and none of the second would pass.
    assert [count for count, episodes in problem.asked if len(episodes) == 6] == [better.sum()]
    assert better.sum() != 20


def test_a_hurdle_saves_work() -> None:
    plain, _, _ = run(300, cache=0, episodes=8)
    hurdled, births, _ = run(300, cache=0, episodes=8, hurdle_episodes=2, hurdle_quantile=0.75)
    assert hurdled.counters.steps < 0.8 * plain.counters.steps
    assert np.isfinite(np.concatenate([b.fitness for b in births])).all()


@pytest.mark.parametrize(
    "changes",
    [{"islands": 0}, {"islands": 10_001}, {"population": 1}, {"tournament": 0}, {"lag": 0}, {"lag": 21}, {"episodes": 0}, {"cache": -1}, {"hurdle_episodes": 4},
     {"hurdle_quantile": 1.5}, {"restart_improvement": -1.0}, {"validate_every": 0}],
)  # fmt: skip
def test_settings_out_of_range_are_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        RegularizedSettings(**{**SMALL, **changes})


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = ScoreCache(3)
    asked: list[int] = []

    def score(*marks: int) -> list[float]:
        keys = np.array([[mark, mark] for mark in marks], np.uint64)

        def compute(positions: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            chosen = [marks[i] for i in positions]
            asked.extend(chosen)
            return np.array(chosen, float)[:, None], np.ones(len(chosen))

        return [float(value) for value in cache.score(keys, compute)[0][:, 0]]

    assert score(1, 2, 3) == [1, 2, 3]
    assert score(1, 1) == [1, 1]
    assert score(4, 4) == [4, 4]  # forgets 2, the oldest in use
    assert asked == [1, 2, 3, 4]
    assert score(2, 1) == [2, 1]  # forgets 3
    assert asked == [1, 2, 3, 4, 2]
    contents = cache.contents()
    other = ScoreCache(3)
    other.restore(contents["keys"], contents["values"])
    assert np.array_equal(other.contents()["keys"], contents["keys"])
    assert contents["keys"][:, 0].tolist() == [4, 2, 1]
    assert score(1, 2, 3, 4) == [1, 2, 3, 4]  # more than it can hold: all computed
    assert asked[-4:] == [1, 2, 3, 4]


def test_the_cache_is_a_dictionary_in_order_of_use() -> None:
    """So full that keys get into each other's way."""
    rng = np.random.default_rng(0)
    cache, known = core.Cache(500, 2), dict[int, list[float]]()
    for _ in range(1000):
        numbers = rng.integers(0, 1200, 20).tolist()
        marks = np.array([[n, 2**32 * n] for n in numbers], np.uint64)
        missing = [i for i, n in enumerate(numbers) if n not in known and n not in numbers[:i]]
        assert cache.unknown(marks).tolist() == missing
        for n in numbers:
            if n in known:
                known[n] = known.pop(n)  # used
        values = rng.normal(size=(len(missing), 2))
        cache.insert(marks[missing], values)
        for i, row in zip(missing, values.tolist(), strict=True):
            if len(known) == 500:
                del known[next(iter(known))]
            known[numbers[i]] = row
        assert cache.values(marks).tolist() == [known[n] for n in numbers]
        for n in numbers:
            known[n] = known.pop(n)
    found, values = cache.contents()
    assert found[:, 0].tolist() == list(known)
    assert values.tolist() == list(known.values())
    with pytest.raises(ValueError, match="key 0 is not in the cache"):
        cache.values(np.array([[5000, 0]], np.uint64))


def test_a_tournament_is_held_within_its_group() -> None:
    rng = np.random.default_rng(0)
    draws, groups, fitness = keys(1, "t", range(300)), rng.integers(0, 4, 300), rng.integers(0, 9, 40).astype(float)
    expected = []
    for draw, group in zip(draws.tolist(), groups.tolist(), strict=True):
        stream = Stream(draw)
        entrants = [10 * group + stream.below(10) for _ in range(3)]
        expected.append(max(entrants, key=lambda entrant: fitness[entrant]))  # the first among equals
    assert core.tournaments(draws, groups, fitness, 10, 3).tolist() == expected
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match=f"group {wrong} is not among 4"):
            core.tournaments(draws[:1], np.array([wrong]), fitness, 10, 3)
