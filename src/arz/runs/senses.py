"""Fits a sense: which weights of the observation tell best that something has happened, and from where on.

By a smooth hinge, minimised by Newton's method: the loss of a margin m is sqrt(1 + m^2) - m. Sums are made in one
order, row by row, so that the result is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arz.typing import Floats

Flags = NDArray[np.bool_]

EARLY = slice(3, 40)
"""What is fitted are the steps from the first to the second after it happened: later ones matter less..."""
EVERY = 3
"""...and every so many steps in which it has not."""
ROUNDS = 20
HUGE = 1e100
"""Observations beyond this count as unknown."""
STIFFNESS = 1e-4
"""What large weights cost."""
LEAST_CHANGE = 1e-9
"""Entries of the observation that change less than this tell nothing."""
CAUGHT, FALSE, MARGIN = 0.05, 0.02, 0.1
"""All but the first share of the episodes in which it happens are to be caught, and hardly more than the second of the
others; in between, the threshold is nearer to these."""


def fitted(seen: Floats, has_happened: Flags) -> tuple[Floats, float] | None:
    """Weights w and a number t, so that dot(w, observation) + t > 0 soon after it happened, and hardly ever before.

    Args:
        seen: observations [episode, step, entry], NaN after the end of an episode.
        has_happened: in which steps.

    Returns:
        w and t; None if no episode shows it, or none but those that do are known, or they cannot be told apart.
    """
    is_known = np.asarray((np.abs(seen) < HUGE).all(axis=2))
    since = np.cumsum(has_happened, axis=1) - 1
    is_after = is_known & has_happened
    lasted = np.add.reduce(is_known, axis=1, keepdims=True)
    is_end = (lasted < seen.shape[1]) & (np.arange(seen.shape[1]) >= lasted - EARLY.stop)
    is_before = is_known & ~has_happened & ~is_end  # who is falling already loses nothing by a false alarm
    is_early = is_after & (since >= EARLY.start) & (since < EARLY.stop)
    is_used = is_before & (np.arange(seen.shape[1]) % EVERY == 0)
    if not is_early.any() or not is_used.any():
        return None
    after, before = seen[is_early], seen[is_used]
    rows = np.concatenate([after, before])
    share = np.concatenate([np.full(len(after), 0.5 / len(after)), np.full(len(before), 0.5 / len(before))])
    signs = np.concatenate([np.ones(len(after)), -np.ones(len(before))])
    middle = np.add.reduce(rows, axis=0) / len(rows)
    spread = np.sqrt(np.add.reduce((rows - middle) ** 2, axis=0) / len(rows))
    scale = np.where(spread > LEAST_CHANGE, 1 / np.maximum(spread, LEAST_CHANGE), 0.0)
    columns = np.concatenate([(rows - middle) * scale, np.ones((len(rows), 1))], axis=1) * signs[:, None]
    weights = _least_hinge(columns, share)[:-1] * scale

    told = _products(np.where(is_known[..., None], seen, 0.0), weights)
    alarms, shown = (
        np.sort(np.where(where, told, -np.inf).max(axis=1)[where.any(axis=1)]) for where in (is_before, is_after)
    )
    alarm, caught = float(alarms[-1 - int(FALSE * len(alarms))]), float(shown[int(CAUGHT * len(shown))])
    if not caught > alarm:
        return None
    threshold = alarm + MARGIN * (caught - alarm)
    size = float(np.abs(weights).max())
    return weights / size, -threshold / size


def _least_hinge(columns: Floats, share: Floats) -> Floats:
    """The numbers for which the loss of the margins is least, the last of them free of charge."""
    count = columns.shape[1]
    costs = np.where(np.arange(count) < count - 1, STIFFNESS, 1e-9)
    numbers = np.zeros(count)
    for _ in range(ROUNDS):
        margins = _products(columns, numbers)
        roots = np.sqrt(1 + margins * margins)
        slope = np.add.reduce(columns * (share * (margins / roots - 1))[:, None], axis=0) + costs * numbers
        bends = share / (roots * roots * roots)
        matrix = np.stack([np.add.reduce(columns * (bends * columns[:, k])[:, None], axis=0) for k in range(count)])
        numbers = numbers - _solved(matrix + np.diag(costs), slope)
    return numbers


def _products(rows: Floats, numbers: Floats) -> Floats:
    """The dot product of the last axis with so many numbers, summed in their order."""
    total = np.zeros(rows.shape[:-1])
    for place, number in enumerate(numbers.tolist()):
        total = total + rows[..., place] * number
    return total


def _solved(matrix: Floats, right: Floats) -> Floats:
    """X of matrix x = right, for a symmetric matrix whose pivots are above 0."""
    left = np.concatenate([matrix, right[:, None]], axis=1)
    for k in range(len(left)):
        left[k] = left[k] / left[k, k]
        others = np.arange(len(left)) != k
        left[others] = left[others] - left[others, k : k + 1] * left[k]
    return left[:, -1].copy()
