"""Tuning on a toy problem: it knows nothing of programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arz.search.base import NO_PARENT
from arz.search.cma import SamplingDistribution
from arz.search.draws import normal_rows
from arz.search.problem import Units
from arz.search.tuning import Tuning, TuningSettings
from arz.streams import Stream

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
WIDTHS = np.array([1.0, 100.0, 0.01, 1.0, 1.0, 1.0])
BEST = np.array([3.0, -200.0, 0.02, 0.5, -1.0, 0.0])


@dataclass(frozen=True)
class Rows:
    """Genomes that are a shape and six numbers."""

    shapes: NDArray[np.int64]
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Rows) -> Rows:
        return Rows(np.concatenate([self.shapes, other.shapes]), np.concatenate([self.values, other.values]))

    def take(self, indices: NDArray[np.int64]) -> Rows:
        return Rows(self.shapes[indices], self.values[indices])


@dataclass
class Valley:
    """Be near to `BEST`, where each number has a width of its own and the last does not matter. Shape 1 is better."""

    objectives: int = 2
    tuned_by: int = 4
    asked: list[tuple[int, ...]] = field(default_factory=list)

    def stratified(self, episodes: Keys) -> Keys:
        return episodes

    def random(self, keys: Keys) -> Rows:
        streams = [Stream(int(key)) for key in keys]
        return Rows(
            np.array([s.below(2) for s in streams]), np.array([[s.below(100) / 100 for _ in BEST] for s in streams])
        )

    def vary(self, genomes: Rows, parents: NDArray[np.int64], keys: Keys) -> tuple[Rows, NDArray[np.uint8]]:
        raise AssertionError("tuning does not mutate")

    def prepared(self, genomes: Rows) -> Rows:
        return genomes

    def fingerprints(self, genomes: Rows) -> Keys:
        raise AssertionError("tuning has no cache")

    def score(self, genomes: Rows, episodes: Keys) -> tuple[Floats, Floats]:
        self.asked.append(tuple(episodes.tolist()))
        off = ((genomes.values - BEST) / WIDTHS)[:, :5]
        value = -np.sqrt(np.add.reduce(off**2, axis=1)) + 10.0 * genomes.shapes
        return np.stack([value, -genomes.values[:, 3]], axis=1), np.ones(len(genomes))

    def parameters(self, genomes: Rows) -> Floats:
        return genomes.values.copy()

    def with_parameters(self, genome: Rows, parameters: Floats) -> Rows:
        return Rows(np.repeat(genome.shapes, len(parameters)), parameters)

    def units(self, genome: Rows, tuned: tuple[str, ...] = (), small: float = 0.2) -> Units:
        return Units(np.append(WIDTHS[:5], 0.0), 0)


START = Rows(np.array([0]), np.zeros((1, 6)))


def tuning(seed: int = 1, start: Rows | None = START, **changes: Any) -> Tuning[Rows]:
    settings = {"population": 21, "validate_every": 21, "resample_every": 21, "least_spread": 1e-6, "most_spread": 10.0}
    return Tuning(Valley(), TuningSettings(**{**settings, **changes}), seed, start=start)


def test_it_finds_numbers_of_all_sizes_and_leaves_alone_what_does_not_matter() -> None:
    made = tuning()
    for _ in range(120):
        made.advance()
    assert made.champion is not None
    assert np.abs((made.champion.values[0] - BEST) / WIDTHS)[:5].max() < 1e-3
    assert made.champion.values[0, 5] == 0.0
    distribution = made.distributions[0]
    assert distribution is not None
    assert distribution.spread < 0.01


def test_the_first_of_a_generation_is_the_centre() -> None:
    made = tuning()
    made.advance()
    assert made.population is not None
    assert np.array_equal(made.population.values[0], START.values[0])
    births, _ = made.advance()
    distribution = made.distributions[0]
    assert distribution is not None
    assert (births.parents == 0).all()
    assert (births.mutations == 4).all()
    before = made.population.values[0]
    assert not np.array_equal(before, START.values[0])
    assert not np.array_equal(before, distribution.centre)  # it has moved on


def test_without_a_start_it_tunes_the_best_of_random_ones() -> None:
    made = tuning(start=None)
    births, _ = made.advance()
    assert (births.parents == NO_PARENT).all()
    assert made.population is not None
    assert made.population.shapes[0] == 1
    first = int(made.numbers[0])
    births, _ = made.advance()
    assert (births.parents == first).all()
    assert (made.population.shapes == 1).all()


def test_a_second_objective_counts_as_much_as_it_is_said_to() -> None:
    made = tuning(importance=(1.0, 50.0))
    for _ in range(60):
        made.advance()
    distribution = made.distributions[0]
    assert distribution is not None
    assert distribution.centre[3] < -2.0


def test_it_goes_on_from_a_checkpoint_bit_for_bit() -> None:
    whole, first, second = tuning(islands=2), tuning(islands=2), tuning(islands=2)
    for _ in range(12):
        whole.advance()
    for _ in range(5):
        first.advance()
    second.counters, second.lives = first.counters, first.lives
    second.population, second.objectives, second.numbers = first.population, first.objectives, first.numbers
    second.champion = first.champion
    second.restore_extras(first.extras())
    for _ in range(7):
        second.advance()
    assert whole.population is not None
    assert second.population is not None
    assert np.array_equal(whole.population.values, second.population.values)
    assert [rows.tolist() for rows in whole.extras().values()] == [rows.tolist() for rows in second.extras().values()]


def test_new_episodes_in_each_generation() -> None:
    made = tuning(validate_every=10**6)
    for _ in range(4):
        made.advance()
    assert isinstance(made.problem, Valley)
    assert len(set(made.problem.asked)) == 4


def test_draws_are_standard_and_differ() -> None:
    drawn = normal_rows(1, "sample", np.arange(500), 200)
    assert abs(drawn.mean()) < 0.02
    assert abs(drawn.std() - 1) < 0.01
    assert len(np.unique(drawn[:, 0])) > 490
    assert not np.array_equal(drawn, normal_rows(2, "sample", np.arange(500), 200))


def test_the_spread_stays_between_its_bounds() -> None:
    made = tuning(sample_spread=0.2, least_spread=0.1, most_spread=0.25)
    for _ in range(100):
        made.advance()
        distribution = made.distributions[0]
        assert distribution is not None
        assert 0.1 <= distribution.spread <= 0.25


def test_nothing_to_tune_is_no_mishap() -> None:
    distribution = SamplingDistribution.around(np.arange(3.0), np.zeros(3), 0.1)
    distribution.move(np.ones((4, 3)), 0.05, 0.3)
    assert distribution.centre.tolist() == [0.0, 1.0, 2.0]
    assert distribution.places(np.ones((2, 3))).tolist() == [[0.0, 1.0, 2.0]] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population": 4}, "population must be a whole number of at least 5"),
        ({"sample_spread": 0.01}, "least_spread <= sample_spread"),
        ({"most_spread": float("nan")}, "the spreads must be"),
        ({"importance": ()}, "importance must be a list of numbers"),
        ({"importance": ("a",)}, "importance must be a list of numbers"),
        ({"importance": (10**400,)}, "importance must be a list of numbers"),
    ],
)
def test_odd_settings_get_a_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TuningSettings(**changes)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((5, 4)), np.zeros((6, 1)), *(np.full((6, 4), value) for value in (0.0, np.nan, -1.0, 1e308, 0.5))],
)
def test_odd_clouds_are_refused(rows: Floats) -> None:
    with pytest.raises(ValueError, match="a distribution"):
        SamplingDistribution.of_rows(rows)


def test_a_cloud_of_another_size_is_refused() -> None:
    made = tuning()
    made.advance()
    with pytest.raises(ValueError, match="dimensions"):
        made.restore_extras({"cloud_0": SamplingDistribution.around(np.zeros(4), np.ones(4), 0.1).rows()})
    with pytest.raises(ValueError, match="unknown islands"):
        made.restore_extras({"cloud_7": SamplingDistribution.around(np.zeros(6), np.ones(6), 0.1).rows()})


def test_missing_clouds_are_refused() -> None:
    made = tuning(islands=2)
    made.advance()
    extras = made.extras()
    del extras["cloud_1"]
    with pytest.raises(ValueError, match="a distribution is missing"):
        made.restore_extras(extras)
    made.population = None
    with pytest.raises(ValueError, match="without individuals"):
        made.restore_extras(extras)


def test_the_spread_along_a_number_follows_the_samples_that_were_good() -> None:
    distribution = SamplingDistribution.around(np.zeros(6), np.ones(6), 0.1)
    good = np.full((10, 6), 0.1) * np.resize([1, -1], (10, 1))
    good[:, 0] *= 30
    for generation in range(20):
        distribution.move(good if generation % 2 else -good, 0.01, 1.0)  # to and fro: the centre stays
    assert distribution.variance[0] > 2
    assert (distribution.variance[1:] < 0.5).all()


def test_a_step_that_leaves_the_worst_too_goes_further_up() -> None:
    """Among many numbers, of which one matters: as long a step in all, but more of it along that one."""
    followed: list[tuple[float, float]] = []
    left: list[tuple[float, float]] = []
    for seed in range(20):
        draws = normal_rows(seed, "sample", np.arange(46), 300)
        draws = draws[np.argsort(-draws[:, 0])]
        for found, worst in ((followed, None), (left, draws[:22:-1])):
            distribution = SamplingDistribution.around(np.zeros(300), np.ones(300), 0.1)
            distribution.move(draws[:23], 0.1, 0.1, worst)
            found.append((distribution.centre[0], float(np.linalg.norm(distribution.centre[1:]))))
    (up, aside), (further, as_far) = np.mean(followed, axis=0), np.mean(left, axis=0)
    assert 1.3 < further / up < 1.5
    assert 0.95 < as_far / aside < 1.05


def test_scores_on_old_episodes_are_forgotten() -> None:
    @dataclass
    class Alike(Valley):
        def fingerprints(self, genomes: Rows) -> Keys:
            return np.ones((len(genomes), 2), np.uint64)

    problem = Alike()
    settings = TuningSettings(population=21, validate_every=10**6, resample_every=21, cache=100)
    made = Tuning(problem, settings, 1, start=START)
    for _ in range(4):
        made.advance()
    assert len(set(problem.asked)) == 4
