"""Grow and tune on a toy problem, and as a run: races, rungs, rounds, stages, cases, checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import arz
import arz.runs.config as configs
from arz.program import Batch, Program
from arz.runs.problem import ProgramProblem
from arz.search.base import NO_PARENT
from arz.search.cma import SamplingDistribution
from arz.search.draws import normal_rows
from arz.search.grow import ALL, EASY, REFLEX, SHORT, WHOLE, Grow, GrowSettings, Racer
from arz.search.problem import Conditions, Reflex, Trial, Units
from tests.runs_support import content
from tests.test_tuning import Floats, Keys, Rows

SIZE = 6
UNIT_STEPS = 1000
GROWN, MOVED, REFLEXED = 7, 254, 253


@dataclass
class Steps:
    """A genome of shape k can use its first k numbers only; each should be 1. A case is one half of the numbers."""

    objectives: int = 1
    tuned_by: int = 4
    transplanted_by: int = MOVED
    case_names: tuple[str, ...] = ("left", "right")
    asked: list[tuple[int, ...]] = field(default_factory=list)
    stages: list[tuple[bool, int, float]] = field(default_factory=list)
    eases: list[list[float]] = field(default_factory=list)
    worlds: list[tuple[int, float]] = field(default_factory=list)
    tried: list[Floats] = field(default_factory=list)
    lasting: float | tuple[float, float] = 1.0
    reflex_by: int = REFLEXED
    reflexes: list[tuple[int, int, list[float] | None]] = field(default_factory=list)
    has_room: bool = True

    def stratified(self, episodes: Keys) -> Keys:
        return episodes

    def grown(self, keys: Keys, most: int) -> Rows:
        shapes = (keys % np.uint64(most)).astype(np.int64) + 1
        return Rows(shapes, np.zeros((len(keys), SIZE)))

    def vary(self, genomes: Rows, parents: NDArray[np.int64], keys: Keys) -> tuple[Rows, NDArray[np.uint8]]:
        chosen = genomes.take(parents)
        shapes = np.minimum(SIZE, chosen.shapes + (keys % np.uint64(2)).astype(np.int64))
        return Rows(shapes, chosen.values), np.full(len(keys), GROWN, np.uint8)

    def transplant(
        self, genomes: Rows, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys
    ) -> tuple[Rows, NDArray[np.bool_]]:
        one, other = genomes.take(first), genomes.take(second)
        return Rows(np.maximum(one.shapes, other.shapes), one.values), other.shapes > one.shapes

    def reflex(self, genome: Rows, case: int, key: int, terms: int, eases: Floats | None, small: float) -> Reflex[Rows]:
        """One that can use so many numbers more."""
        self.reflexes.append((case, terms, None if eases is None else eases.tolist()))
        shapes = np.minimum(SIZE, genome.shapes + terms)
        is_new = (np.arange(SIZE) >= genome.shapes[0]) & (np.arange(SIZE) < shapes[0])
        return Reflex(Rows(shapes, genome.values) if self.has_room else None, np.where(is_new, 0.5, 0.0), 1000)

    def only(self, episodes: Keys, case: int) -> Keys:
        return episodes % np.uint64(1000) + np.uint64(1000 * (case + 1))

    def richness(self, genomes: Rows) -> Floats:
        return genomes.shapes.astype(np.float64)

    def freedom(self, genomes: Rows) -> Floats:
        return -genomes.shapes.astype(np.float64)

    def lengths(self, genomes: Rows) -> NDArray[np.int64]:
        return genomes.shapes

    def parameters(self, genomes: Rows) -> Floats:
        return genomes.values.copy()

    def with_parameters(self, genomes: Rows, parameters: Floats) -> Rows:
        return Rows(genomes.shapes, parameters)

    def random(self, keys: Keys) -> Rows:
        raise AssertionError("structures are grown")

    def prepared(self, genomes: Rows) -> Rows:
        return genomes

    def fingerprints(self, genomes: Rows) -> Keys:
        raise AssertionError("there is no cache")

    def units(self, genome: Rows, tuned: tuple[str, ...] = (), small: float = 0.2) -> Units:
        return Units(np.where(np.arange(SIZE) < genome.shapes[0], 0.5, 0.0), UNIT_STEPS)

    def _off(self, genomes: Rows) -> Floats:
        used = np.where(np.arange(SIZE) < genomes.shapes[:, None], genomes.values, 0.0)
        return -np.abs(used - 1.0)

    def score(self, genomes: Rows, episodes: Keys) -> tuple[Floats, Floats]:
        return self._off(genomes).sum(axis=1, keepdims=True), np.ones(len(genomes))

    def try_cases(self, genomes: Rows, episodes: Keys, conditions: Conditions, eases: Floats) -> Trial:
        self.asked.append(tuple(episodes.tolist()))
        self.stages.append((conditions.is_easy, conditions.steps, conditions.survival))
        self.worlds.append((conditions.world, conditions.variety))
        self.eases.append(eases[0].tolist())
        off = self._off(genomes)
        self.tried.append(off.sum(axis=1))
        worth = np.stack([off[:, : SIZE // 2].sum(axis=1), off[:, SIZE // 2 :].sum(axis=1)], axis=1)
        lasted = np.zeros((len(genomes), 2)) + self.lasting
        return Trial(worth, off.sum(axis=1, keepdims=True), lasted, np.ones(len(genomes)))


def growing(seed: int = 1, problem: Steps | None = None, **changes: Any) -> Grow[Rows]:
    usual: dict[str, Any] = {"population": 8, "samples": 9, "rung": 4, "first_terms": 2, "survivors": 2, "offspring": 4}
    usual |= {"validate_every": 72, "validation_episodes": 4, "least_spread": 1e-4, "sample_spread": 0.2}
    return Grow(problem or Steps(), GrowSettings(**{**usual, **changes}), seed)


def advance(made: Grow[Rows], generations: int) -> Grow[Rows]:
    for _ in range(generations):
        made.advance()
    return made


def stages(made: Grow[Rows]) -> set[int]:
    return {racer.stage for racer in made.racers if racer is not None}


def racing(made: Grow[Rows]) -> int:
    return sum(racer is not None for racer in made.racers)


def test_structures_grow_and_their_numbers_are_tuned() -> None:
    made = advance(growing(), 150)
    assert made.champion is not None
    assert made.champion.shapes[0] == SIZE  # none of the random ones has more than two
    assert made.counters.champion_score > -0.6
    assert made.structures > 20


def test_half_drop_out_after_each_rung_and_children_join_the_survivors() -> None:
    made = growing()
    seen = []
    for _ in range(16):
        made.advance()
        seen.append(racing(made))
    # 4 generations of 8, 4 of 4: then 2 are left, and 4 children join them; 4 generations later 3 stay, and then 2.
    assert seen == [8] * 3 + [4] * 4 + [6] * 4 + [3] * 4 + [6]
    assert made.races[0].rounds == 2
    assert made.structures == 8 + 4 + 4


def test_children_inherit_the_cloud_number_by_number() -> None:
    made = advance(growing(transplants=0.0), 7)
    before = {place: racer for place, racer in enumerate(made.racers) if racer is not None}
    made.advance()
    born = [racer for place, racer in enumerate(made.racers) if racer is not None and place not in before]
    assert born  # some took places that were just freed
    for racer in born:
        (parent,) = [
            old for old in before.values() if np.array_equal(old.distribution.centre, racer.distribution.centre)
        ]
        old = parent.distribution.units > 0
        assert np.array_equal(racer.distribution.variance[old], parent.distribution.variance[old])
        assert np.array_equal(racer.distribution.path[old], parent.distribution.path[old])
        new = (racer.distribution.units > 0) & ~old
        spread = racer.distribution.spread * np.sqrt(racer.distribution.variance[new])
        assert np.all(spread >= made.settings.sample_spread * 0.999)  # what is new is tried widely
        assert racer.distribution.spread == parent.distribution.spread


def test_the_lineage_has_the_change_that_made_a_structure_and_then_tuning() -> None:
    made = growing(transplants=0.0)
    births, _ = made.advance()
    assert (births.parents == NO_PARENT).all()
    births, _ = made.advance()
    assert (births.mutations == 4).all()
    assert set(births.parents.tolist()) == set(range(0, 72, 9))  # the centres
    advance(made, 6)
    births, _ = made.advance()
    assert sorted(set(births.mutations.tolist())) == [4, GROWN]
    assert np.sum(births.mutations == GROWN) == 4 * 9
    assert (births.parents >= 0).all()


def test_terms_move_between_survivors() -> None:
    made = growing(transplants=1.0, rung=2, seed=3)
    found = []
    for _ in range(60):
        births, _ = made.advance()
        found += births.mutations.tolist()
    assert MOVED in found


def test_stages_end_when_they_are_mastered() -> None:
    problem = Steps(lasting=0.0)
    made = growing(problem=problem, walks_at=-5.5, short_steps=50, survives_at=0.5, first_survival=7.0, survival=2.0)
    made.advance()
    assert set(problem.stages) == {(True, 0, 7.0)}
    while stages(made) == {EASY}:
        made.advance()
    advance(made, 30)
    assert stages(made) == {SHORT}  # who does not get there drops out; nobody survives
    assert problem.stages[-1] == (False, 50, 3.0)
    problem.lasting = 1.0
    advance(made, 20)
    assert stages(made) == {WHOLE}
    assert problem.stages[-1] == (False, 0, 2.0)
    assert stages(advance(growing(), 1)) == {WHOLE}


def test_who_does_not_survive_goes_on_when_patience_ends() -> None:
    settings: dict[str, Any] = {"short_steps": 50, "population": 2, "offspring": 0}
    problem = Steps(lasting=0.0)
    assert stages(advance(growing(problem=problem, **settings, patience=12), 11)) == {SHORT}
    assert stages(advance(growing(problem=problem, **settings, patience=12), 12)) == {WHOLE}
    assert stages(advance(growing(problem=problem, **settings), 40)) == {SHORT}


def test_who_is_further_stays() -> None:
    made = advance(growing(), 1)
    for place, racer in enumerate(made.racers):
        assert racer is not None
        racer.worth, racer.counted, racer.stage = np.full(2, float(-place)), 1, EASY if place < 6 else SHORT
    assert made._best(0, np.arange(8), 3).tolist() == [6, 7, 0]


def test_survivors_are_tuned_alone_before_children_join_them() -> None:
    made = growing(alone=5)
    seen = []
    for _ in range(22):
        made.advance()
        seen.append(racing(made))
    assert seen == [8] * 3 + [4] * 4 + [2] * 5 + [6] * 4 + [3] * 4 + [2] * 2


def test_of_many_random_structures_the_richest_race() -> None:
    plain, screened = advance(growing(first_terms=6), 1), advance(growing(first_terms=6, screen=20), 1)
    assert plain.population is not None
    assert screened.population is not None
    assert set(screened.population.shapes.tolist()) == {6}
    assert min(plain.population.shapes) < 6
    assert screened.structures == 8 * 20
    freest = advance(growing(first_terms=6, screen=20, screens_freedom=True), 1)
    assert freest.population is not None
    assert set(freest.population.shapes.tolist()) == {1}  # which this problem takes for the freest


def test_of_structures_that_are_tried_the_best_race_from_their_best_samples() -> None:
    problem = Steps()
    made = advance(growing(problem=problem, population=2, offspring=0, first_terms=6, tries=30, screen=2), 1)
    assert made.population is not None
    assert made.structures == 2 * 30 * 2
    assert len(problem.asked) == 2
    tried = np.sort(problem.tried[0].reshape(-1, 9).max(axis=1))  # of each structure the best sample
    centres = problem._off(made.population).sum(axis=1)
    assert sorted(centres.tolist()) == tried[-2:].tolist()
    # who was tried, and who races, in one generation; and what it took to measure their numbers
    assert made.counters.steps == (2 * 30 + 2) * (9 + UNIT_STEPS)
    assert made.counters.evaluations == 2 * 9


def test_who_is_tried_is_not_tried_again_but_in_a_new_life() -> None:
    problem = Steps()
    made = advance(growing(problem=problem, tries=3, most_episodes=64, episodes=16), 20)
    sizes = [len(tried) for tried in problem.tried]
    assert sizes[:2] == [3 * 8 * 9, 8 * 9]
    assert max(sizes[1:]) == 8 * 9
    assert [len(episodes) for episodes in problem.asked[:5]] == [16, 16, 16, 16, 16]  # no fewer where more are tried
    made._end_life(0)
    advance(made, 1)
    assert 3 * 8 * 9 in [len(tried) for tried in problem.tried[-2:]]


def test_who_is_left_plays_more_episodes() -> None:
    problem = Steps()
    advance(growing(problem=problem, episodes=2, most_episodes=7), 12)
    assert [len(episodes) for episodes in problem.asked] == [2] * 4 + [4] * 4 + [2] * 4  # two survivors, four children
    everything = [episode for episodes in problem.asked for episode in episodes]
    assert len(set(everything)) == len(everything)
    alone = Steps()
    advance(growing(problem=alone, episodes=2, most_episodes=7, alone=5), 10)
    assert len(alone.asked[-1]) == 7


def test_who_survives_is_spared_less_and_who_does_not_is_spared_more() -> None:
    problem = Steps(lasting=(1.0, 0.0))
    made = advance(growing(problem=problem, short_steps=50, ease_rate=0.1, population=2, offspring=0), 1)
    assert problem.eases == [[1.0, 1.0]]  # nothing happens at first
    advance(made, 60)
    survived, failed = problem.eases[-1]
    assert survived < 0.1
    assert failed == 1.0
    assert stages(made) == {SHORT}
    assert made.standing().endswith("short episodes  left 100% right 0%")
    problem.lasting = 1.0
    advance(made, 80)
    assert problem.eases[-1] == [0.0, 0.0]  # all of it happens
    assert stages(made) == {WHOLE}
    problem.lasting = (0.0, 1.0)
    advance(made, 20)
    assert 0.0 < problem.eases[-1][0] < 0.1
    assert problem.eases[-1][1] == 0.0


def test_what_is_mastered_in_part_counts_in_part() -> None:
    made = advance(growing(ease_rate=0.1), 1)
    racer = made.racers[0]
    assert racer is not None
    racer.eases, racer.worth, racer.counted = np.array([1.0, 0.0]), np.zeros(2), 0
    made.races[0].generation = 3
    made._follow(racer, np.full((9, 2), 8.0), np.zeros((9, SIZE)), made.races[0])
    assert racer.mean.tolist() == [4.0, 8.0]


def test_children_are_spared_what_their_parents_are() -> None:
    made = advance(growing(ease_rate=0.1, rung=2, transplants=0.0), 3)
    before = {place for place, racer in enumerate(made.racers) if racer is not None}
    made.advance()
    born = [racer for place, racer in enumerate(made.racers) if racer is not None and place not in before]
    assert born
    assert all(np.all(racer.eases < 1.0) for racer in born)


def test_each_generation_has_a_world_of_its_own() -> None:
    problem = Steps()
    advance(growing(problem=problem, variety=0.5), 4)
    assert len({world for world, _ in problem.worlds}) == 4
    assert {variety for _, variety in problem.worlds} == {0.5}


def test_who_still_learns_is_spared_other_worlds() -> None:
    problem = Steps(lasting=0.0)
    advance(growing(problem=problem, variety=0.5, short_steps=50), 4)
    assert {variety for _, variety in problem.worlds} == {0.0}


def test_the_worst_are_left_where_asked() -> None:
    """From the same draws: the best alone lead elsewhere than the best and the worst."""
    for leaves in (False, True):
        made = advance(growing(population=2, survivors=1, offspring=1, leaves_worst=leaves), 1)
        racer = made.racers[0]
        assert racer is not None
        assert made.population is not None
        shape = made.population.take(np.zeros(8, np.int64))
        distribution = SamplingDistribution.around(np.zeros(SIZE), made.problem.units(shape).sizes, 0.2)
        draws = normal_rows(1, "sample", np.arange(9), SIZE)[1:]
        values = made.problem.try_cases(
            made.problem.with_parameters(shape, distribution.places(draws)),
            *(np.zeros(1, np.uint64), Conditions(0.0, False, 0, 0.0, 0), np.zeros((8, 2))),
        ).worth.sum(axis=1)
        order = np.argsort(-values, kind="stable")
        distribution.move(draws[order[:4]], 1e-4, 0.3, draws[order[:-5:-1]] if leaves else None)
        assert racer.distribution.centre.tolist() == distribution.centre.tolist()


def test_the_mean_of_the_latest_centres_counts_where_asked() -> None:
    """As a share of 1 they count alike, all of them; as a smaller one the latest count most. The search is the same."""
    one = growing(population=2, survivors=1, offspring=1, rung=1000)
    for share in (1.0, 0.25):
        other = growing(population=2, survivors=1, offspring=1, rung=1000, averages=share)
        if share == 1:
            centres = []
            for _ in range(6):
                racer = advance(one, 1).racers[0]
                assert racer is not None
                centres.append(racer.distribution.centre.copy())
        advance(other, 6)
        racer = other.racers[0]
        assert racer is not None
        assert racer.average is not None
        assert racer.distribution.centre.tolist() == centres[-1].tolist()
        if share == 1:
            assert np.allclose(racer.average, np.mean(centres, axis=0), rtol=1e-12)
        else:
            expected = centres[0]
            for before, centre in enumerate(centres[1:], 1):
                expected = expected + (centre - expected) / (1 + 0.25 * before)
            assert racer.average.tolist() == expected.tolist()
        average = racer.average.copy()
        other.advance()
        assert other.population is not None
        assert other.population.values[0].tolist() == average.tolist()  # so it races, and is tried as champion


def test_children_inherit_the_mean_of_the_latest_centres() -> None:
    made = advance(growing(transplants=0.0, averages=0.5), 7)
    before = [racer for racer in made.racers if racer is not None]
    made.advance()
    born = [racer for racer in made.racers if racer is not None and all(racer is not old for old in before)]
    means = [racer.average.tolist() for racer in before if racer.average is not None]
    assert born
    for racer in born:
        assert racer.average is None
        assert racer.distribution.centre.tolist() in means


def test_who_is_best_in_a_case_stays_beside_the_best() -> None:
    made = advance(growing(), 1)
    places = np.arange(8)
    worth = np.array([[5.0, 5.0], [9.0, -9.0], [-9.0, 9.0], [4.0, 4.0], [4.5, 4.5], [0, 0], [0, 0], [0, 0]])
    for place in places.tolist():
        racer = made.racers[place]
        assert racer is not None
        racer.worth, racer.counted = worth[place], 1
    kept = made._best(0, places, 3).tolist()
    assert kept[0] == 0
    assert {1, 2} & set(kept)


def test_of_equals_the_shorter_stays() -> None:
    made = advance(growing(parsimony=0.1, population=4, offspring=2), 1)
    assert made.population is not None
    made.population = Rows(np.array([5, 2, 1, 4]), made.population.values)
    for place, worth in enumerate((10.0, 9.8, 5.0, 9.9)):
        racer = made.racers[place]
        assert racer is not None
        racer.worth, racer.counted = np.full(2, worth), 1
    assert made._best(0, np.arange(4), 1).tolist() == [1]


def test_new_episodes_in_each_generation() -> None:
    problem = Steps()
    advance(growing(problem=problem), 5)
    assert len(set(problem.asked)) == 5
    problem = Steps()
    advance(growing(problem=problem, resample_every=0), 5)
    assert len(set(problem.asked)) == 1


def test_those_that_dropped_out_do_not_count_any_more() -> None:
    made = growing()
    metrics = None
    for _ in range(6):
        _, found = made.advance()
        metrics = found or metrics
    assert metrics is not None
    living = [made.fitness[place] for place, racer in enumerate(made.racers) if racer is not None]
    assert metrics.best_fitness == max(living)
    assert metrics.mean_fitness == pytest.approx(np.mean(living))


def test_a_stuck_island_begins_anew() -> None:
    made = advance(growing(restart_after=300, islands=2, restart_improvement=100.0), 60)
    assert made.counters.restarts > 1
    assert made.counters.champion_score > -5.0


def test_a_life_that_does_not_get_beyond_its_first_stages_ends() -> None:
    made = advance(growing(walks_at=0.5, patience=10), 25)
    assert made.counters.restarts == 2
    assert stages(made) == {EASY}
    assert advance(growing(walks_at=0.5), 25).counters.restarts == 0


REFLEXES: dict[str, Any] = {
    "population": 4,
    "survivors": 1,
    "offspring": 1,
    "rung": 2,
    "reflex_terms": 3,
    "reflex_generations": 5,
    "least_spread": 0.1,
}


def until_reflex(made: Grow[Rows]) -> tuple[Racer, int, int]:
    """Goes on until a reflex is tuned; who that is, its place and that of its parent."""
    for _ in range(100):
        made.advance()
        for place, racer in enumerate(made.racers):
            if racer is not None and racer.case != ALL:
                return racer, place, next(k for k, other in enumerate(made.racers) if other and k != place)
    raise AssertionError("there is none")


@pytest.mark.parametrize("fits", [False, True])
def test_a_case_that_is_not_survived_gets_a_reflex_which_is_tuned_alone(fits: bool) -> None:
    problem = Steps(lasting=(1.0, 0.2))
    made = growing(problem=problem, **REFLEXES, fits_senses=fits, transplants=0.0)
    racer, place, parent = until_reflex(made)
    assert problem.reflexes == [(1, 3, [0.0, 0.0] if fits else None)]
    assert racer.made_by == REFLEXED
    assert racer.later is not None
    assert "reflex for right" in made.standing()
    begun, rests, tried = racer.distribution.centre.copy(), made.numbers[parent], made.counters.evaluations
    asked = len(problem.asked)
    advance(made, 4)
    moved = racer.distribution.centre != begun
    assert np.array_equal(moved, racer.distribution.units > 0)
    assert moved.any()
    assert not moved.all()
    assert made.numbers[parent] == rests  # nobody of it was scored
    assert made.counters.evaluations == tried + 4 * 9
    assert {int(key) // 1000 for episodes in problem.asked[asked:] for key in episodes} == {2}
    learned = racer.distribution
    advance(made, 1)
    assert racer.case == ALL
    assert racer.later is None
    assert racing(made) == 3  # parent, reflex and a child
    assert np.array_equal(racer.distribution.centre, learned.centre)
    assert np.sum(racer.distribution.units > 0) > np.sum(learned.units > 0)
    before = racer.distribution.centre.copy()
    advance(made, 1)
    assert np.array_equal(
        racer.distribution.centre != before, racer.distribution.units > 0
    )  # all numbers are tuned now
    assert made.racers[place] is racer


def test_who_survives_everything_gets_no_reflex() -> None:
    problem = Steps(lasting=1.0)
    advance(growing(problem=problem, **REFLEXES), 60)
    assert problem.reflexes == []
    problem = Steps(lasting=0.2)
    advance(growing(problem=problem, **{**REFLEXES, "reflex_terms": 0}), 60)
    assert problem.reflexes == []


def test_without_room_for_a_reflex_the_next_round_begins() -> None:
    problem = Steps(lasting=0.2, has_room=False)
    made = advance(growing(problem=problem, **REFLEXES), 60)
    assert {case for case, *_ in problem.reflexes} == {0, 1}  # another one is tried each time
    assert made.races[0].rounds > 3
    assert made.races[0].phase != REFLEX


def test_a_reflex_learns_in_short_episodes_first_and_is_spared_what_its_parent_is() -> None:
    problem = Steps(lasting=(1.0, 0.2))
    made = growing(problem=problem, **REFLEXES, short_steps=50, ease_rate=0.1, patience=3)
    racer, *_ = until_reflex(made)
    assert racer.stage == SHORT
    eases, mine = racer.eases.copy(), racer.case
    advance(made, 1)
    assert racer.eases[1 - mine] == eases[1 - mine]  # only its own case is asked for
    assert racer.eases[mine] != eases[mine] or eases[mine] == 1.0
    assert problem.stages[-1][1] == 50


def test_another_seed_another_search() -> None:
    one, other = advance(growing(1), 3), advance(growing(2), 3)
    assert one.population is not None
    assert other.population is not None
    assert not np.array_equal(one.population.values, other.population.values)


@pytest.mark.parametrize("until", [1, 3, 4, 11, 12, 13, 20])
def test_it_goes_on_from_a_checkpoint_bit_for_bit(until: int) -> None:
    stages: dict[str, Any] = {
        "walks_at": -5.8,
        "short_steps": 9,
        "ease_rate": 0.2,
        "variety": 0.3,
        "alone": 3,
        "screen": 2,
        "most_episodes": 40,
        "tries": 3,
    }
    check_it_goes_on([growing(islands=2, **stages) for _ in range(3)], until)


@pytest.mark.parametrize("until", [1, 4, 8, 12])
def test_averages_go_on_from_a_checkpoint_bit_for_bit(until: int) -> None:
    check_it_goes_on([growing(islands=2, averages=0.3) for _ in range(3)], until)


@pytest.mark.parametrize("until", [3, 7, 9, 10, 14, 15])
def test_a_reflex_goes_on_from_a_checkpoint_bit_for_bit(until: int) -> None:
    check_it_goes_on([growing(problem=Steps(lasting=(1.0, 0.2)), **REFLEXES) for _ in range(3)], until)


def check_it_goes_on(searches: list[Grow[Rows]], until: int) -> None:
    """Of three that are alike the last goes on where the second stands after so many generations, as the first does."""
    whole, first, second = searches
    advance(whole, 24)
    advance(first, until)
    second.counters, second.lives = first.counters, first.lives
    second.population, second.objectives, second.numbers = first.population, first.objectives, first.numbers
    second.champion = first.champion
    second.restore_extras(first.extras())
    advance(second, 24 - until)
    assert whole.population is not None
    assert second.population is not None
    assert np.array_equal(whole.population.values, second.population.values)
    one, other = whole.extras(), second.extras()
    assert {name: rows.tolist() for name, rows in one.items()} == {name: rows.tolist() for name, rows in other.items()}
    assert whole.counters == second.counters


def test_odd_reflexes_are_refused() -> None:
    made = growing(problem=Steps(lasting=(1.0, 0.2)), **REFLEXES)
    until_reflex(made)
    extras = made.extras()
    for name, place, value in (
        ("reflexes", (0, 0), 99.0),
        ("reflexes", (0, 1), 2.0),
        ("reflexes", (0, 1), -1.0),
        ("reflexes", (0, 1), np.nan),
        ("later", (0, 0), np.nan),
        ("races", (0, 4), 0.0),
        ("races", (0, 4), 3.0),
    ):
        with pytest.raises(ValueError, match=r"odd"):
            made.restore_extras(spoilt(extras, name, place, value))
    with pytest.raises(ValueError, match="another size"):
        made.restore_extras({**extras, "later": extras["later"][:5]})
    with pytest.raises(ValueError, match="odd"):
        made.restore_extras({**extras, "later": extras["later"][:, :2]})
    with pytest.raises(ValueError, match="missing"):
        made.restore_extras({name: array for name, array in extras.items() if name != "later"})
    everyone = {**extras, "reflexes": np.array([[0.0, 0.0], [1.0, 0.0]]), "later": np.tile(extras["later"], (2, 1))}
    with pytest.raises(ValueError, match="odd"):  # nobody is at rest
        made.restore_extras(everyone)
    made.restore_extras(extras)


def test_a_life_can_end_while_a_reflex_is_tuned() -> None:
    made = growing(problem=Steps(lasting=(1.0, 0.2)), **REFLEXES)
    until_reflex(made)
    made._end_life(0)
    made._end_lives()
    made.restore_extras(made.extras())
    advance(made, 3)
    assert made.races[0].phase != REFLEX


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reflex_generations": 0}, "reflex_generations must be a whole number of at least 1"),
        ({"reflex_terms": 1001}, "reflex_terms must be at most 1000"),
        ({"fits_senses": 1}, "fits_senses must be true or false"),
        ({"reflex_terms": 1, "population": 2, "offspring": 0}, "survivors must be below the population of 2"),
        ({"reflex_spread": 0.01}, "reflex_spread must lie in least_spread to 1000.0, not 0.01"),
        ({"reflex_spread": float("nan")}, "reflex_spread must lie in least_spread to 1000.0, not nan"),
        ({"samples": 4}, "samples must be a whole number of at least 5"),
        ({"offspring": 63}, "survivors and offspring must be at most the population of 64 together, not 2 \\+ 63"),
        ({"most_episodes": 15}, "most_episodes must be 0, or at least the 16 episodes, not 15"),
        ({"transplants": 1.5}, "transplants must lie in 0 to 1"),
        ({"parsimony": -1.0}, "parsimony must lie in 0 to 1"),
        ({"survival": float("nan")}, "survival must be a number"),
        ({"least_spread": 0.5}, "the spreads must be"),
        ({"ease_rate": 1.0}, "ease_rate must be at least 0 and below 1"),
        ({"variety": 1.5}, "variety must lie in 0 to 1"),
        ({"small_effect": 0.0}, "small_effect must be a number above 0, not 0.0"),
        ({"averages": 1.5}, "averages must lie in 0 to 1, not 1.5"),
        ({"averages": float("nan")}, "averages must lie in 0 to 1, not nan"),
        ({"tries": 1001}, "tries must be at most 1000, not 1001: each of them plays"),
        ({"try_spread": 0.0}, "try_spread must be above 0 and at most 1000.0, not 0.0"),
        ({"try_spread": float("nan")}, "try_spread must be above 0 and at most 1000.0, not nan"),
        ({"rung": 1}, "rung must be a whole number of at least 2"),
    ],
)
def test_odd_settings_get_a_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GrowSettings(**changes)


def spoilt(extras: dict[str, Floats], name: str, place: tuple[int, int], value: float) -> dict[str, Floats]:
    changed = {key: array.copy() for key, array in extras.items()}
    changed[name][place] = value
    return changed


def test_odd_checkpoints_are_refused() -> None:
    made = advance(growing(), 2)
    extras = made.extras()
    for name, place, value in (
        ("racers", (0, 0), 1.0),
        ("racers", (0, 0), 99.0),
        ("racers", (0, 4), 256.0),
        ("racers", (0, 2), 0.5),
        ("racers", (0, 1), 3.0),
        ("races", (0, 3), 0.5),
        ("racers", (0, 9), 1.5),
        ("races", (0, 4), np.nan),
        ("races", (0, 4), 2.0),
        ("racers", (0, 5), 2.0),
        ("racers", (0, 6), np.nan),
        ("structures", (0, 0), -1.0),
        ("clouds", (0, 0), np.nan),
    ):
        with pytest.raises(ValueError, match=r"odd|distribution"):
            made.restore_extras(spoilt(extras, name, place, value))
    with pytest.raises(ValueError, match="missing"):
        made.restore_extras({name: array for name, array in extras.items() if name != "races"})
    with pytest.raises(ValueError, match="another size"):
        made.restore_extras({**extras, "races": np.zeros((2, 5))})
    with pytest.raises(ValueError, match="another size"):
        made.restore_extras({**extras, "clouds": extras["clouds"][:6]})
    empty = {**extras, "racers": extras["racers"][:0], "clouds": extras["clouds"][:0]}
    with pytest.raises(ValueError, match="no racers"):
        made.restore_extras(empty)
    made.restore_extras(extras)


def test_odd_averages_are_refused() -> None:
    made = advance(growing(averages=0.3), 2)
    extras = made.extras()
    for column, value in ((0, -1.0), (0, 0.5), (0, 2.0**53), (1, np.nan), (1, 1e101)):
        with pytest.raises(ValueError, match="the averages are odd"):
            made.restore_extras(spoilt(extras, "averages", (0, column), value))
    with pytest.raises(ValueError, match="another size"):
        made.restore_extras({**extras, "averages": extras["averages"][:, :-1]})
    with pytest.raises(ValueError, match="missing"):
        made.restore_extras({name: array for name, array in extras.items() if name != "averages"})
    with pytest.raises(ValueError, match="none are wanted"):
        advance(growing(), 2).restore_extras(extras)
    made.restore_extras(extras)


# ---- as a run ----

SMALL: dict[str, Any] = {
    "population": 6,
    "samples": 6,
    "rung": 2,
    "offspring": 3,
    "episodes": 4,
    "validate_every": 36,
    "validation_episodes": 6,
    "steps": 60,
}
RUNS = {
    "cartpole": arz.preset("cartpole", **SMALL, islands=2, budget="700"),
    "tries": arz.preset("cartpole", **SMALL, tries=4, restart_after=200, budget="700"),
    "averages": arz.preset("cartpole", **SMALL, averages=0.3, budget="500"),
    "quadruped": arz.preset(
        "quadruped",
        **SMALL,
        short_steps=30,
        walks_at=-50.0,
        survives_at=0.1,
        budget="500",
        alone=2,
        screen=3,
        variety=0.5,
    ),
    "reflexes": arz.preset(
        "quadruped",
        **{**SMALL, "population": 3, "offspring": 1},
        scalars=40,
        vectors=40,
        walks_at=-1000.0,
        short_steps=0,
        survives_at=1.1,
        ease_rate=0.0,
        alone=2,
        reflex_terms=3,
        reflex_generations=3,
        fits_senses=True,
        budget="600",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_same_run_on_any_number_of_threads_and_after_any_interruption(name: str, tmp_path: Path) -> None:
    arz.evolve(RUNS[name], folder=tmp_path / "one", threads=1).close()
    arz.evolve(RUNS[name], folder=tmp_path / "three", threads=3).close()
    with arz.Run.create(RUNS[name], folder=tmp_path / "broken") as run:
        while run.evolve(threads=2, on_progress=lambda _: True) == "stopped":
            pass
    found = content(tmp_path / "one")
    assert content(tmp_path / "three") == found
    del found["metrics"]
    broken = content(tmp_path / "broken")
    del broken["metrics"]
    assert {key: broken[key] for key in ("champions", "checkpoint", "individuals")} == {
        key: found[key] for key in ("champions", "checkpoint", "individuals")
    }


def test_training_meets_the_world_of_the_task() -> None:
    """What is trained on is what champions are chosen on."""
    config = arz.preset("quadruped")
    program = Batch.pack([Program.parse(HAND.format(lines=CLOCK.format(wave="sin", w=2)))])
    numbers = normal_rows(1, "numbers", np.arange(1), program.memory.image_size)
    for world in (
        {},
        {"latency": 9},
        {"sensor_noise": 5.0, "world": 3},
        {"start_pose": 0.3},
        {"torque_left": (1.0,) * 4},
    ):
        task = replace(config.task, steps=80, **world)  # type: ignore[call-arg]
        problem = ProgramProblem(config.registers, config.variation, task, threads=1)
        moving = problem.with_parameters(program, numbers)
        episodes = task.stratified(arz.fresh_episodes(4))
        tried = problem.try_cases(moving, episodes, Conditions(), np.zeros((1, 4)))
        assert tried.objectives.tolist() == problem.score(moving, episodes)[0].tolist()


def test_tasks_refuse_what_they_cannot_do_before_anything_is_made() -> None:
    for wrong in ({"ease_rate": 0.1}, {"variety": 0.5}, {"fits_senses": True}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be (0|false) for cartpole"):
            arz.preset("cartpole", **wrong)
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be (0|false) for environments"):
            arz.preset("gymnasium-grow", env="Pendulum-v1", **wrong)


def test_the_lineage_names_growth(tmp_path: Path) -> None:
    with arz.evolve(RUNS["cartpole"], folder=tmp_path / "run", threads=1) as run:
        names = {row["mutation"] for row in run.individuals}
    assert {"grow_term", "randomize_constants"} <= names
    config = configs.override(RUNS["reflexes"], {"survivors": 2, "transplants": 1.0})
    with arz.evolve(config, folder=tmp_path / "other", threads=1) as run:
        names = {row["mutation"] for row in run.individuals}
    assert {"reflex", "transplant"} <= names


HAND = """memory(observations=37, actions=12, scalars=16, vectors=16, matrices=0, indices=16, stateful=True)

def GetAction(obs, action):
    action = v5
{lines}    return action
"""
SENSE = "    s4 = dot(obs, v{u})\n    v0 = s4 * v{w}\n    action = action + v0\n"
CLOCK = "    s0 = s0 + s1\n    s2 = {wave}(s0)\n    v0 = s2 * v{w}\n    action = action + v0\n"


def richness(lines: str) -> float:
    config = arz.preset("quadruped")
    problem = ProgramProblem(config.registers, config.variation, config.task, threads=2)
    return float(problem.richness(Batch.pack([Program.parse(HAND.format(lines=lines))]))[0])


def test_richness_counts_what_actions_follow_and_how_they_move_by_themselves() -> None:
    one, two = SENSE.format(u=6, w=7), SENSE.format(u=6, w=7) + SENSE.format(u=8, w=9)
    clock = CLOCK.format(wave="sin", w=2)
    assert richness("") == 0
    assert richness(one) == pytest.approx(1, abs=0.1)
    assert richness(two) == pytest.approx(2, abs=0.2)
    assert richness(clock) == pytest.approx(1, abs=0.1)
    assert richness(clock + CLOCK.format(wave="cos", w=3) + one) == pytest.approx(3, abs=0.3)
    assert richness(SENSE.format(u=6, w=7) * 3) == pytest.approx(1, abs=0.1)  # the same way three times
    assert richness("    s0 = s0 + s1\n    v0 = s0 * v2\n    action = action + v0\n") == 0  # it only drifts
    assert richness("    v0 = obs * v2\n    action = action + v0\n") < 0.2  # each joint follows one number


def freedom(lines: str) -> float:
    config = arz.preset("cartpole")
    problem = ProgramProblem(config.registers, config.variation, config.task, threads=1)
    text = HAND.replace("observations=37, actions=12", "observations=4, actions=1").replace("action = v5", "action = 0")
    text = text.replace(
        "scalars=16, vectors=16", f"scalars={config.registers.scalars}, vectors={config.registers.vectors}"
    )
    text = text.replace("indices=16", f"indices={config.registers.indices}")
    return float(problem.freedom(Batch.pack([Program.parse(text.format(lines=lines))]))[0])


def test_freedom_counts_the_ways_in_which_numbers_change_actions() -> None:
    sense, other = "    s4 = dot(obs, v2)\n", "    s5 = dot(obs, v0)\n"
    assert freedom("") == 0
    assert freedom("    action = s4 + s6\n") == 1
    assert freedom(sense + "    action = action + s4\n") == 4
    assert freedom(sense + "    s4 = s4 * s6\n    action = action + s4\n") == 4  # a gain adds no way
    assert freedom(sense + other + "    s4 = s4 + s5\n    action = action + s4\n") == 4
    assert freedom(sense + other + "    s4 = s4 * s5\n    action = action + s4\n") == 7  # but for their scales
    assert freedom("    s4 = dot(obs, obs)\n    action = s4 * s6\n") == 1  # it looks at everything in one way
    assert freedom("    s4 = 1 / s7\n    s4 = s4 - s4\n    s4 = s4 / s4\n    action = s4 + s6\n") == 0  # not a number
