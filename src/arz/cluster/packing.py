"""Policies, tasks and results as plain arrays and numbers: what travels between a driver and its workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from arz.native import core
from arz.network import Architecture, NetworkBatch
from arz.program import Batch, Memory
from arz.tasks.any_environment import AnyEnvironment
from arz.tasks.cartpole import Cartpole
from arz.tasks.quadruped import Quadruped
from arz.tasks.task import Evaluation, Task

TASKS: dict[str, type[Cartpole] | type[Quadruped] | type[AnyEnvironment]] = {
    kind.__name__: kind for kind in (Cartpole, Quadruped, AnyEnvironment)
}
PARTS = ("returns", "lengths", "statuses", "sums", "distances")
"""What an evaluation consists of."""

Packed = dict[str, Any]


def pack_task(task: Task) -> Packed:
    """A task as plain values."""
    assert isinstance(task, Cartpole | Quadruped | AnyEnvironment)
    return {"kind": type(task).__name__, "fields": asdict(task)}


def unpack_task(packed: Packed) -> Task:
    """The task."""
    return TASKS[packed["kind"]](**packed["fields"])


def pack_policies(policies: Batch | NetworkBatch, first: int, last: int) -> Packed:
    """Some of these policies, from the first up to before the last, as plain arrays."""
    if isinstance(policies, NetworkBatch):
        return {"architecture": asdict(policies.architecture), "arrays": [policies.numbers[first:last]]}
    chosen = policies.take(np.arange(first, last)).core.arrays()
    bits = chosen[3].view(np.uint64).ravel()
    where = np.flatnonzero(bits)  # few: registers begin with zero, unless mutations gave them something else
    arrays = [*chosen[:3], where, bits[where]]
    return {"memory": asdict(policies.memory), "arrays": arrays, "images": chosen[3].shape}


def unpack_policies(packed: Packed) -> Batch | NetworkBatch:
    """The policies."""
    arrays = [np.array(array) for array in packed["arrays"]]  # what arrives cannot be written to
    if "architecture" in packed:
        return NetworkBatch(Architecture(**packed["architecture"]), arrays[0])
    instructions, lengths, cadfs, where, values = arrays
    bits = np.zeros(packed["images"], np.uint64)
    bits.ravel()[where] = values
    memory = Memory(**packed["memory"])
    return Batch(memory, core.batch(memory.native, instructions, lengths, cadfs, bits.view(np.float64)))


def pack_result(found: Evaluation) -> list[Any]:
    """The parts of an evaluation."""
    return [getattr(found, name) for name in PARTS]


def join_results(parts: Sequence[Sequence[Any]]) -> Evaluation:
    """One evaluation from those of parts of the policies, in their order."""
    columns: list[Any] = [
        None if any(part is None for part in column) else np.concatenate(column) for column in zip(*parts, strict=True)
    ]
    return Evaluation(*columns)
