"""The whole story in seconds: programs are made, run, varied, selected, simplified, counted, saved and read back."""

from pathlib import Path

import numpy as np

from arz import Memory, Program, Variation, complexity, execute, execute_batch, mutate, random_programs, readable
from arz.streams import key, keys


def test_a_toy_search_finds_a_running_sum(tmp_path: Path) -> None:
    """Evolves a program whose action is the sum of all it has seen so far: that needs memory."""
    memory = Memory(observations=1, actions=1, scalars=4, vectors=2, matrices=0, indices=2)
    variation = Variation(length=(4, 8), max_cadfs=0)
    seen = np.random.default_rng(0).uniform(-1, 1, size=(8, 16, 1))
    wanted = np.cumsum(seen, axis=0)

    batch = random_programs(memory, keys(1, "start", range(400)), variation)
    for generation in range(60):
        with np.errstate(all="ignore"):
            errors = np.abs(execute_batch(batch, seen) - wanted).mean(axis=(1, 2, 3))
        errors[~np.isfinite(errors)] = np.inf
        order = np.argsort(errors, kind="stable")
        if errors[order[0]] < 1e-9:
            break
        parents = np.tile(order[:80], 4)
        children, _ = mutate(batch, parents, keys(key(1, "generation", generation), "child", range(320)), variation)
        batch = batch.take(order[:80]) + children
    champion = batch[int(order[0])]

    assert np.allclose(execute(champion, seen), wanted, atol=1e-9)
    small = readable(champion)
    assert np.array_equal(execute(small.program, seen), execute(champion, seen))
    assert complexity(champion).flops <= 12
    small.program.save(tmp_path / "champion.arz")
    assert Program.load(tmp_path / "champion.arz") == small.program
