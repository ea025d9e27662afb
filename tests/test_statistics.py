"""The statistics agree with SciPy and statsmodels on the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from arz.analysis import statistics
from tests.support import examples

tied = st.lists(st.integers(0, 5).map(float), min_size=2, max_size=30)


@examples(60)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_interquartile_mean_is_a_trimmed_mean(values: list[float]) -> None:
    assert np.isclose(statistics.interquartile_mean(values), stats.trim_mean(values, 0.25), rtol=1e-9, atol=1e-9)


def test_the_bootstrap_interval_is_scipys() -> None:
    values = np.random.default_rng(1).normal(700, 100, size=20)
    ours = statistics.bootstrap(values, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), lambda x, axis: stats.trim_mean(x, 0.25, axis=axis), method="percentile", n_resamples=20_000
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=3)
    assert ours.high == pytest.approx(theirs.high, abs=3)
    assert ours == statistics.bootstrap(values, resamples=20_000)


def test_the_bootstrap_draws_each_task_by_itself() -> None:
    """Tasks that differ in level and not within do not widen the interval."""
    table = np.array([[0.0, 500.0, 1000.0, 200.0]] * 6)
    found = statistics.bootstrap(table)
    assert found.low == found.value == found.high
    assert np.isnan(statistics.bootstrap([3.0]).low)


@examples(60)
@given(hits=st.integers(0, 30), more=st.integers(0, 30))
def test_the_interval_of_a_share_is_scipys(hits: int, more: int) -> None:
    trials = max(1, hits + more)
    found = statistics.share(hits, trials)
    theirs = stats.binomtest(hits, trials).proportion_ci(0.95)
    assert found.low == pytest.approx(theirs.low, abs=1e-9)
    assert found.high == pytest.approx(theirs.high, abs=1e-9)


@examples(80)
@given(values=st.lists(st.integers(-1000, 1000), min_size=4, max_size=20, unique=True), draw=st.data())
def test_the_exact_test_is_scipys(values: list[int], draw: st.DataObject) -> None:
    cut = draw.draw(st.integers(2, len(values) - 2))
    first, second = values[:cut], values[cut:]
    theirs = stats.mannwhitneyu(first, second, method="exact").pvalue
    assert statistics.mann_whitney(first, second) == pytest.approx(theirs, rel=1e-9)


@examples(80)
@given(first=tied, second=tied)
def test_the_test_with_ties_is_scipys(first: list[float], second: list[float]) -> None:
    if len(set(first + second)) == len(first + second):
        return
    theirs = stats.mannwhitneyu(first, second, method="asymptotic").pvalue
    expected = 1.0 if np.isnan(theirs) else theirs
    assert statistics.mann_whitney(first, second) == pytest.approx(expected, rel=1e-9)


@examples(60)
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(values: list[float]) -> None:
    assert np.allclose(statistics.holm(values), multipletests(values, method="holm")[1])


def test_superiority_counts_ties_half() -> None:
    assert statistics.superiority([3, 4], [1, 2]) == 1.0
    assert statistics.superiority([1, 2], [2, 3]) == pytest.approx(0.125)
    assert statistics.superiority([1, 1], [1]) == 0.5


def test_a_profile_falls() -> None:
    assert statistics.profile([[1, 2], [3, 4]], [0, 2, 3.5, 9]).tolist() == [1.0, 0.75, 0.25, 0.0]


def test_odd_shares_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="expected 0 to 3 hits"):
        statistics.share(4, 3)
