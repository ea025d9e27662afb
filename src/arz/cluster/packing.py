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
    if not isinstance(task, Cartpole | Quadruped | AnyEnvironment):
        raise ValueError(f"workers elsewhere know the tasks {', '.join(TASKS)}, not {type(task).__name__}")
    if isinstance(task, AnyEnvironment):
        task.check_imported()
    return {"kind": type(task).__name__, "fields": asdict(task)}


def unpack_task(packed: Packed) -> Task:
    """The task. What its driver has imported for it is imported here."""
    task = TASKS[packed["kind"]](**packed["fields"])
    if isinstance(task, AnyEnvironment):
        task.import_modules()
    return task


def pack_policies(policies: Batch | NetworkBatch, first: int, last: int) -> Packed:
    """Some of these policies, from the first up to before the last: of programs only what can influence an action."""
    if isinstance(policies, NetworkBatch):
        return {"architecture": asdict(policies.architecture), "numbers": policies.numbers[first:last]}
    return {"memory": asdict(policies.memory), "programs": policies.core.encoded(first, last)}


def unpack_policies(packed: Packed) -> Batch | NetworkBatch:
    """The policies."""
    if "architecture" in packed:
        return NetworkBatch(Architecture(**packed["architecture"]), packed["numbers"])
    memory = Memory(**packed["memory"])
    return Batch(memory, core.decoded(memory.native, packed["programs"]))


def pack_result(found: Evaluation) -> list[Any]:
    """The parts of an evaluation."""
    return [getattr(found, name) for name in PARTS]


def join_results(parts: Sequence[Sequence[Any]]) -> Evaluation:
    """One evaluation from those of parts of the policies, in their order."""
    columns: list[Any] = [
        None if any(part is None for part in column) else np.concatenate(column) for column in zip(*parts, strict=True)
    ]
    return Evaluation(*columns)
