"""Senses that are fitted on recordings: they fire when something has happened, soon, and not before."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from arz.runs.senses import fitted

EPISODES, STEPS, ENTRIES = 40, 120, 5


def recordings(seed: int, shift: float, length: int = STEPS) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Noise; in every other episode the sum of two entries is shifted from some step on."""
    draws = np.random.default_rng(seed)
    seen = draws.normal(size=(EPISODES, STEPS, ENTRIES))
    seen[:, :, 4] = 7.0  # tells nothing
    starts = np.where(np.arange(EPISODES) % 2 == 0, draws.integers(20, 80, EPISODES), STEPS)
    happened = np.arange(STEPS) >= starts[:, None]
    seen[happened, 0] += shift
    seen[happened, 1] -= shift
    seen[:, length:] = np.nan
    return seen, happened


def test_a_sense_fires_soon_after_and_hardly_ever_before() -> None:
    found = fitted(*recordings(1, shift=4.0))
    assert found is not None
    weights, threshold = found
    assert np.abs(weights).max() == 1.0
    assert weights[0] > 0.5
    assert weights[1] < -0.5
    assert np.abs(weights[2:]).max() < 0.3
    seen, happened = recordings(2, shift=4.0)
    fires = seen @ weights + threshold > 0
    assert (fires & ~happened).any(axis=1).sum() <= 2
    for episode in np.flatnonzero(happened.any(axis=1)):
        assert np.flatnonzero(fires[episode] & happened[episode])[0] - np.argmax(happened[episode]) < 10


def test_what_cannot_be_told_gets_no_sense() -> None:
    seen, happened = recordings(1, shift=0.0)
    assert fitted(seen, happened) is None
    assert fitted(seen[:, :60], happened[:, :60]) is None
    assert fitted(seen, np.zeros_like(happened)) is None
    assert fitted(seen, np.ones_like(happened)) is None
    nothing, _ = recordings(1, shift=4.0, length=0)
    assert fitted(nothing, happened) is None


def test_observations_beyond_all_bounds_are_unknown() -> None:
    seen, happened = recordings(1, shift=4.0)
    seen[0, 100], seen[1, 110, 2], seen[2, 110, 3] = np.inf, -1e308, 1e200
    assert fitted(seen, happened) is not None


@pytest.mark.parametrize("loud", [1e-8, 1e8])
def test_units_do_not_matter(loud: float) -> None:
    seen, happened = recordings(3, shift=4.0)
    plain, scaled = fitted(seen, happened), fitted(seen * loud, happened)
    assert plain is not None
    assert scaled is not None
    fires = [np.nan_to_num(rows) @ one[0] + one[1] > 0 for rows, one in ((seen, plain), (seen * loud, scaled))]
    assert np.mean(fires[0] == fires[1]) > 0.999


def test_who_is_falling_already_may_be_taken_for_another() -> None:
    """The last steps of episodes that end early do not count as false alarms."""
    seen, happened = recordings(4, shift=4.0)
    others = np.flatnonzero(~happened.any(axis=1))
    for episode in others[:8]:
        seen[episode, 60:90, :2] += [9.0, -9.0]
        seen[episode, 90:] = np.nan
    found = fitted(seen, happened)
    assert found is not None
    fires = np.nan_to_num(seen) @ found[0] + found[1] > 0
    assert fires[happened & ~np.isnan(seen[:, :, 0])].mean() > 0.5
