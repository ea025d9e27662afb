"""What a person holds can be copied and pickled, and is equal afterwards; nothing is ever read by pickle."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arz
from arz import Batch, Cartpole, Memory, Program, Quadruped, Variation
from arz.network import Architecture, Network, NetworkBatch
from arz.tasks.gymnasium import AnyEnvironment
from tests.support import random_batch

MEMORY = Memory(observations=4, actions=1, matrices=2)
BATCH = random_batch(MEMORY, 5)
LSTM = Architecture("lstm", 4, 1, (3,))
NETWORK = Network(LSTM, np.linspace(-1, 1, LSTM.size))

THINGS: dict[str, Any] = {
    "memory": MEMORY,
    "instruction": BATCH[0].lines()[0],
    "program": BATCH[0],
    "batch": BATCH,
    "empty batch": BATCH.take([]),
    "architecture": LSTM,
    "network": NETWORK,
    "networks": NetworkBatch.pack([NETWORK, NETWORK]),
    "variation": Variation(op_weights={"scalar_sin": 2.0}),
    "cartpole": Cartpole("sudden", ("force",)),
    "quadruped": Quadruped(leg="FR"),
    "environment": AnyEnvironment("CartPole-v1", change="unwrapped.gravity: 9.8 -> 5 @ 10"),
    **{f"preset {name}": arz.preset(name) for name in ("cartpole", "quadruped", "ars-quadruped")},
}
HOLDING_TABLES = {"variation", "environment"}
"""These have no hash."""
WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "an old pickle": lambda thing: pickle.loads(pickle.dumps(thing, 2)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", THINGS)
def test_copies_are_equal(name: str, way: str) -> None:
    thing = THINGS[name]
    made = WAYS[way](thing)
    assert type(made) is type(thing)
    assert made is not thing
    assert made == thing
    if name not in HOLDING_TABLES and not name.startswith("preset"):
        assert hash(made) == hash(thing)


@pytest.mark.parametrize("way", WAYS)
def test_a_copied_policy_acts_alike(way: str) -> None:
    for program in (BATCH[0], NETWORK):
        policy = arz.Policy(program, seed=3)
        made = WAYS[way](policy)
        assert made.seed == 3
        observation = np.ones(4)
        assert np.array_equal(policy.predict(observation)[0], made.predict(observation)[0], equal_nan=True)


def test_what_the_native_core_holds_does_not_travel() -> None:
    program = BATCH[0]
    assert program.packed is not None
    assert (
        len(pickle.dumps(program)) < 2 * (program.image.nbytes + sum(code.nbytes for code in program.functions)) + 2000
    )


def test_unequal_batches_differ() -> None:
    other = random_batch(MEMORY, 5, seed=1)
    assert other != BATCH
    assert BATCH.take([0, 1]) != BATCH.take([1, 0])
    assert BATCH.take([0]) != BATCH
    assert BATCH != "batch"
    networks = NetworkBatch.pack([NETWORK])
    assert networks != NetworkBatch(LSTM, networks.numbers + 1.0)
    assert networks != NetworkBatch.pack([NETWORK, NETWORK])
    assert networks != "networks"


def test_a_pickled_program_is_checked_as_any_other() -> None:
    program = Program.build(MEMORY, [])
    kind, (memory, functions, image) = program.__reduce__()
    with pytest.raises(ValueError, match="not finite"):
        kind(memory, functions, image * np.nan)
    kind, (memory, *arrays) = Batch.pack([program]).__reduce__()
    with pytest.raises(ValueError, match="not finite"):
        kind(memory, *arrays[:3], arrays[3] * np.nan)


def test_the_package_reads_nothing_by_pickle() -> None:
    """An unpickled file runs what it says."""
    source = Path(arz.__file__).parent
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"} & set(names), path
            assert not (
                isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
            ), path
