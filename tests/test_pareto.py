"""Fronts, crowding and hypervolume, against an independent library and against the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from arz.search import pareto
from tests.support import Draw, examples

Floats = NDArray[np.float64]


def fronts(seed: int, infinite: bool = True) -> Floats:
    """Random points with many ties and duplicates, and sometimes infinities."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 8, size=(rng.integers(1, 80), rng.integers(1, 5))).astype(float)
    if infinite and seed % 3 == 0:
        points[rng.random(points.shape) < 0.08] = np.inf
        points[rng.random(points.shape) < 0.08] = -np.inf
    return points


def finite(points: Floats) -> Floats:
    """The same order without infinities, which the oracle cannot take."""
    return np.clip(points, -1e6, 1e6)


@pytest.mark.parametrize("seed", range(200))
def test_ranks_are_those_of_moocore(seed: int) -> None:
    moocore = pytest.importorskip("moocore")
    points = fronts(seed)
    if points.shape[1] > 1:
        assert pareto.ranks(points).tolist() == moocore.pareto_rank(-finite(points)).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_ranks_are_as_defined(seed: int) -> None:
    points = fronts(seed)
    ranks = pareto.ranks(points)
    for one in range(len(points)):
        better = [
            other
            for other in range(len(points))
            if np.all(points[other] >= points[one]) and np.any(points[other] > points[one])
        ]
        assert ranks[one] == (1 + max(ranks[better]) if better else 0)


@examples(100)
def test_the_fast_way_for_two_objectives_is_right(draw: Draw) -> None:
    points = draw.numbers(draw.integer(0, 40), 2)
    points = points[~np.isnan(points).any(axis=1)]
    assert pareto.ranks(points).tolist() == pareto._ranks_of_many(points).tolist()


def crowding_by_hand(points: Floats) -> list[float]:
    """The assignment of crowding distances of Deb et al. (2002), line by line, for one front of finite points."""
    distance = [0.0] * len(points)
    for m in range(points.shape[1]):
        order = sorted(range(len(points)), key=lambda i: (points[i, m], i))
        distance[order[0]] = distance[order[-1]] = np.inf
        span = points[order[-1], m] - points[order[0], m]
        for i in range(1, len(points) - 1):
            if span > 0:
                distance[order[i]] += (points[order[i + 1], m] - points[order[i - 1], m]) / span
    return distance


@pytest.mark.parametrize("seed", range(100))
def test_crowding_is_as_published(seed: int) -> None:
    points = fronts(seed, infinite=False)
    ranks = pareto.ranks(points)
    found = pareto.crowding(points, ranks)
    for front in range(ranks.max() + 1):
        members = np.flatnonzero(ranks == front)
        assert found[members] == pytest.approx(crowding_by_hand(points[members]))


def test_crowding_takes_infinities() -> None:
    points = np.array([[0.0, 5.0], [1.0, 4.0], [np.inf, -np.inf], [2.0, 3.0], [-np.inf, np.inf]])
    found = pareto.crowding(points, np.zeros(5, np.int64))
    assert not np.isnan(found).any()
    assert np.isinf(found[[2, 4]]).all()
    assert found[1] == pytest.approx(2.0)  # 2 / 2 in each objective


@pytest.mark.parametrize("seed", range(60))
def test_hypervolume_is_moocores(seed: int) -> None:
    moocore = pytest.importorskip("moocore")
    points = fronts(seed, infinite=False)
    if points.shape[1] < 2:
        return
    reference = np.full(points.shape[1], 1.5)
    expected = moocore.hypervolume(-points, ref=-reference)
    assert pareto.hypervolume(points, reference) == pytest.approx(expected)


def test_hypervolume_of_one_objective_and_of_nothing() -> None:
    assert pareto.hypervolume(np.array([[1.0], [3.0]]), np.array([0.5])) == 2.5
    assert pareto.hypervolume(np.zeros((0, 2)), np.zeros(2)) == 0.0
    assert pareto.hypervolume(np.array([[1.0, np.inf]]), np.zeros(2)) == np.inf


def test_best_first_goes_by_front_then_by_room_then_by_age() -> None:
    points = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [1.0, 3.9], [2.0, 2.0], [2.0, 2.0]])
    order = pareto.best_first(points, 6).tolist()
    assert set(order[:2]) == {1, 2}  # the ends of the front
    assert order[-1] == 0
    assert pareto.best_first(np.zeros((4, 2)), 4).tolist() == [0, 3, 1, 2]  # the ends first; of equals, the earlier one


@pytest.mark.parametrize("seed", range(100))
def test_the_best_few_are_the_first_of_all(seed: int) -> None:
    points = fronts(seed, infinite=True)
    everyone = pareto.best_first(points, len(points))
    assert np.array_equal(everyone, np.lexsort((-pareto.crowding(points, pareto.ranks(points)), pareto.ranks(points))))
    for count in range(len(points) + 2):
        assert np.array_equal(pareto.best_first(points, count), everyone[:count])
