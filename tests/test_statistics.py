"""The statistics agree with SciPy and statsmodels on the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from arz.analysis import statistics
from tests.support import Draw, examples


@examples(60)
def test_the_interquartile_mean_is_a_trimmed_mean(draw: Draw) -> None:
    values = draw.some(lambda: draw.real(-1e6, 1e6), 1, 40)
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
def test_the_interval_of_a_share_is_scipys(draw: Draw) -> None:
    hits = draw.integer(0, 30)
    trials = max(1, hits + draw.integer(0, 30))
    found = statistics.share(hits, trials)
    theirs = stats.binomtest(hits, trials).proportion_ci(0.95)
    assert found.low == pytest.approx(theirs.low, abs=1e-9)
    assert found.high == pytest.approx(theirs.high, abs=1e-9)


@examples(80)
def test_the_exact_test_is_scipys(draw: Draw) -> None:
    values = list(dict.fromkeys(draw.some(lambda: draw.integer(-1000, 1000), 4, 20)))
    if len(values) < 4:
        return
    cut = draw.integer(2, len(values) - 2)
    first, second = values[:cut], values[cut:]
    theirs = stats.mannwhitneyu(first, second, method="exact").pvalue
    assert statistics.mann_whitney(first, second) == pytest.approx(theirs, rel=1e-9)


@examples(80)
def test_the_test_with_ties_is_scipys(draw: Draw) -> None:
    first, second = (draw.some(lambda: float(draw.integer(0, 5)), 2, 30) for _ in range(2))
    if len(set(first + second)) == len(first + second):
        return
    theirs = stats.mannwhitneyu(first, second, method="asymptotic").pvalue
    expected = 1.0 if np.isnan(theirs) else theirs
    assert statistics.mann_whitney(first, second) == pytest.approx(expected, rel=1e-9)


@examples(60)
def test_holm_is_statsmodels(draw: Draw) -> None:
    values = draw.some(lambda: draw.real(0, 1), 1, 12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda: 0)  # it would at every call, which takes longer than all else
        theirs = multipletests(values, method="holm")[1]
    assert np.allclose(statistics.holm(values), theirs)


def test_superiority_counts_ties_half() -> None:
    assert statistics.superiority([3, 4], [1, 2]) == 1.0
    assert statistics.superiority([1, 2], [2, 3]) == pytest.approx(0.125)
    assert statistics.superiority([1, 1], [1]) == 0.5


def test_a_profile_falls() -> None:
    assert statistics.profile([[1, 2], [3, 4]], [0, 2, 3.5, 9]).tolist() == [1.0, 0.75, 0.25, 0.0]


def test_odd_shares_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="expected 0 to 3 hits"):
        statistics.share(4, 3)
