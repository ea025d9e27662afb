"""Programs x task x episodes -> how they did.

The native core runs all episodes of a program side by side, on several threads and without the GIL. The result does
not depend on the number of threads, nor on which episodes run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arz.interpreter import available_threads
from arz.policy import AnyPolicy, PolicyBatch
from arz.streams import as_keys, keys
from arz.tasks.base import Evaluation, Task
from arz.tasks.status import STATUS, Status

__all__ = ["STATUS", "TEST_SEED", "Evaluation", "Status", "Workers", "evaluate", "fresh_episodes", "record"]

TEST_SEED = 0

Policies = AnyPolicy | PolicyBatch | Sequence[AnyPolicy]
"""A policy, or several of one shape."""


class Pending(Protocol):
    """What workers are asked to evaluate."""

    def result(self) -> Evaluation:
        """Waits for it."""
        ...


class Workers(Protocol):
    """Those who evaluate policies elsewhere than on threads of this process."""

    def submit(
        self,
        policies: PolicyBatch,
        task: Task,
        episodes: NDArray[np.uint64],
        options: dict[str, Any],
        /,
    ) -> Pending:
        """What `task.rollout` gives, bit for bit, later. Several threads may ask at once."""
        ...


def evaluate(
    policies: Policies,
    task: Task,
    episodes: Sequence[int] | NDArray[np.uint64],
    *,
    threads: int | None = None,
    workers: Workers | None = None,
    **options: Any,
) -> Evaluation:
    """Runs every policy through every episode.

    Args:
        policies: what to evaluate.
        task: what to do.
        episodes: the keys that name the episodes; see `fresh_episodes`.
        threads: how many to use, all by default.
        workers: who does it, in place of threads.
        **options: of the task's `rollout`.

    Raises:
        ValueError: observation or action of the policies do not fit the task.
    """
    if workers is not None:
        return submit(policies, task, episodes, workers, **options).result()
    used = available_threads() if threads is None else threads
    return task.rollout(_batch(policies).core, as_keys(episodes), used, **options)


def submit(
    policies: Policies, task: Task, episodes: Sequence[int] | NDArray[np.uint64], workers: Workers, **options: Any
) -> Pending:
    """As `evaluate` by workers, without waiting for it: so that they can be asked for several things at once."""
    return workers.submit(_batch(policies), task, as_keys(episodes), options)


def record(
    policy: AnyPolicy, task: Task, episodes: Sequence[int] | NDArray[np.uint64]
) -> dict[str, NDArray[np.float64]]:
    """Everything that happened in episodes: name -> [episode, step], NaN after the end of an episode.

    State and parameters are those at the start of a step, as the policy met them; action, what the motors got of it
    and reward are those of the step.
    """
    return task.record(policy.batch.core, as_keys(episodes))


def fresh_episodes(count: int = 100, seed: int = TEST_SEED, first: int = 0) -> NDArray[np.uint64]:
    """The episodes on which finished policies are tested: the same for all, and never used to select anything."""
    return keys(seed, "test episodes", np.arange(first, first + count))


def _batch(policies: Policies) -> PolicyBatch:
    if not isinstance(policies, Sequence):
        return policies.batch
    if not policies:
        raise ValueError("expected at least one policy")
    return policies[0].pack(policies)
