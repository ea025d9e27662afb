"""Policies, tasks and results as plain arrays and numbers: what travels between a driver and its workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from arz.network import NetworkBatch
from arz.policy import PolicyBatch
from arz.program import Batch
from arz.tasks import TASKS, Task
from arz.tasks.base import Evaluation

BATCHES: dict[str, type[PolicyBatch]] = {kind.__name__: kind for kind in (Batch, NetworkBatch)}
PARTS = ("returns", "lengths", "statuses", "sums", "distances")
"""What an evaluation consists of."""

Packed = dict[str, Any]


def pack_task(task: Task) -> Packed:
    """A task as plain values."""
    if TASKS.get(task.kind) is not task.__class__:  # who derives from ours is another
        raise ValueError(f"workers elsewhere know the tasks {', '.join(TASKS)}, not {task.__class__.__name__}")
    task.check_imported()
    return {"kind": task.kind, "fields": asdict(task)}


def unpack_task(packed: Packed) -> Task:
    """The task. What its driver has imported for it is imported here."""
    task = TASKS[packed["kind"]](**packed["fields"])
    task.import_modules()
    return task


def pack_policies(policies: PolicyBatch, first: int, last: int) -> Packed:
    """Some of these policies, from the first up to before the last: of programs only what can influence an action."""
    return {"batch": type(policies).__name__, **policies.encoded(first, last)}


def unpack_policies(packed: Packed) -> PolicyBatch:
    """The policies."""
    return BATCHES[packed["batch"]].decoded(packed)


def pack_result(found: Evaluation) -> list[Any]:
    """The parts of an evaluation."""
    return [getattr(found, name) for name in PARTS]


def join_results(parts: Sequence[Sequence[Any]]) -> Evaluation:
    """One evaluation from those of parts of the policies, in their order."""
    columns: list[Any] = [
        None if any(part is None for part in column) else np.concatenate(column) for column in zip(*parts, strict=True)
    ]
    return Evaluation(*columns)
