"""Statistics for comparing methods of which there are a few runs each.

A *score table* has one row per run and one column per task. What is said about the mean of a method is its
interquartile mean with a bootstrap interval, as Agarwal et al. (2021) advise; rates get exact binomial intervals; two
methods are compared by the Mann-Whitney test, Holm's correction and the probability of superiority (A12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from arz.typing import Floats

LEVEL = 0.95
RESAMPLES = 10_000
EXACT_LIMIT = 20
"""Up to so many runs each, without ties, the Mann-Whitney test is exact."""


@dataclass(frozen=True)
class Interval:
    """A number and where it may lie."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.0f} ({self.low:.0f} to {self.high:.0f})"


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Floats:
    """The mean without the lowest and the highest quarter (of each, the whole part of it)."""
    ordered = np.sort(np.asarray(values, np.float64), axis=axis)
    count = ordered.shape[axis]
    cut = count // 4
    return np.asarray(np.take(ordered, range(cut, count - cut), axis=axis).mean(axis=axis))


def bootstrap(scores: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Interval:
    """The interquartile mean of a score table, or of scores of one task, with its stratified bootstrap interval.

    Runs are drawn anew for each task by itself; the interval has the percentiles of what comes out.
    """
    table = np.asarray(scores, np.float64)
    table = table[:, None] if table.ndim == 1 else table
    runs, tasks = table.shape
    value = float(interquartile_mean(table.ravel()))
    if runs < 2:
        return Interval(value, math.nan, math.nan)
    draws = np.random.default_rng(seed).integers(runs, size=(resamples, runs, tasks))
    drawn = np.take_along_axis(table[None], draws, axis=1).reshape(resamples, -1)
    tail = (1 - level) / 2
    low, high = np.quantile(interquartile_mean(drawn), [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def share(hits: int, trials: int, level: float = LEVEL) -> Interval:
    """A rate with its exact (Clopper-Pearson) interval.

    Raises:
        ValueError: there are more hits than trials, or no trials.
    """
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"expected 0 to {trials} hits in at least one trial, got {hits}")

    def at_least(rate: float, least: int) -> float:
        return math.fsum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(least, trials + 1))

    def solved(least: int, tail: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if at_least(middle, least) < tail else (low, middle)
        return low

    tail = (1 - level) / 2
    low = solved(hits, tail) if hits else 0.0
    high = solved(hits + 1, 1 - tail) if hits < trials else 1.0
    return Interval(hits / trials, low, high)


def superiority(first: ArrayLike, second: ArrayLike) -> float:
    """The probability that a run of the first is better than one of the second; ties count half (A12)."""
    return _wins(first, second) / (np.size(first) * np.size(second))


def _wins(first: ArrayLike, second: ArrayLike) -> float:
    """In how many pairs the first is better; ties count half."""
    a, b = np.asarray(first, np.float64)[:, None], np.asarray(second, np.float64)[None, :]
    return float((a > b).sum() + (a == b).sum() / 2)


def mann_whitney(first: ArrayLike, second: ArrayLike) -> float:
    """The two-sided p-value that both come from the same distribution.

    Exact where there are few and no ties; else the normal approximation, with corrections for ties and continuity.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    statistic = _wins(a, b)
    everyone = np.concatenate([a, b])
    _, ties = np.unique(everyone, return_counts=True)
    larger = max(statistic, len(a) * len(b) - statistic)
    if len(ties) == len(everyone) and max(len(a), len(b)) <= EXACT_LIMIT:
        ways = _ways(len(a), len(b))
        return min(1.0, 2 * sum(ways[math.ceil(larger) :]) / sum(ways))
    count = len(everyone)
    spread = len(a) * len(b) / 12 * (count + 1 - float((ties**3 - ties).sum()) / (count * (count - 1)))
    if spread <= 0:
        return 1.0
    z = (larger - len(a) * len(b) / 2 - 0.5) / math.sqrt(spread)
    return min(1.0, math.erfc(z / math.sqrt(2)))


@cache
def _ways(first: int, second: int) -> list[int]:
    """In how many ways runs of two methods can be ordered, by the number of pairs that the first wins."""
    if first == 0 or second == 0:
        return [1]
    found = [0] * (first * second + 1)
    for wins, ways in enumerate(_ways(first - 1, second)):
        found[wins + second] += ways
    for wins, ways in enumerate(_ways(first, second - 1)):
        found[wins] += ways
    return found


def holm(values: Sequence[float]) -> list[float]:
    """p-values of several tests, corrected so that all of them hold together."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    corrected, largest = [0.0] * len(values), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[k]))
        corrected[k] = largest
    return corrected


def profile(scores: ArrayLike, thresholds: ArrayLike) -> Floats:
    """A performance profile: the share of runs, over all tasks, with at least each of these scores."""
    table = np.asarray(scores, np.float64).ravel()
    return np.asarray((table[None, :] >= np.asarray(thresholds, np.float64)[:, None]).mean(axis=1))
