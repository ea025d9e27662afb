"""Seeds keep their champions: the first steps of each kind of search are what they were, bit for bit.

A change that moves a random draw, a sum or a choice shows here, wherever it is. If one is wanted, the presets, README and
results are others too: say so in the changelog, and put the new digests here.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

import arz

BEGINNINGS: dict[str, tuple[dict[str, Any], str]] = {
    "cartpole": ({"budget": "3M steps"}, "51792e15753fec6f"),
    "cartpole-regularized": ({"budget": "6000"}, "e0500c11ae64075b"),
    "ars-cartpole": ({"budget": "1400"}, "7c2069731945bc8c"),
    "quadruped": (
        {"budget": "2000", "validate_every": 300, "validation_episodes": 4, "screen": 40},
        "6d2386cf015bb3ac",
    ),
    "quadruped-nsga2": (
        {"budget": "1500", "initial": 500, "population": 50, "offspring": 200}
        | {"validate_every": 400, "validation_episodes": 4},
        "b2e240c1b855e926",
    ),
}
"""By preset: what is smaller than usual, and the digest of counters and champion."""


@pytest.mark.parametrize("preset", BEGINNINGS)
def test_a_seed_keeps_its_champion(preset: str) -> None:
    smaller, expected = BEGINNINGS[preset]
    with arz.evolve(arz.preset(preset, **smaller), seed=1) as run:
        count = run.counters
        scores = f"{count.champion_score!r} {count.champion_fitness!r}"
        text = f"{count.evaluations} {count.steps} {count.champion} {scores} {run.champion}"
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == expected
