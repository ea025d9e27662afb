"""Programs x task x episodes -> how they did.

The native core runs all episodes of a program side by side, on several threads and without the GIL. The result does
not depend on the number of threads, nor on which episodes run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from arz.interpreter import available_threads
from arz.native import core
from arz.network import Network, NetworkBatch
from arz.program import Batch, Program
from arz.streams import as_keys, keys
from arz.tasks.any_environment import AnyEnvironment
from arz.tasks.cartpole import TRUTH, Cartpole
from arz.tasks.quadruped import LEGS, NUMBERS, STATE, Quadruped
from arz.tasks.status import STATUS, Status
from arz.tasks.task import Evaluation, Task

__all__ = ["STATUS", "TEST_SEED", "Evaluation", "Status", "Workers", "evaluate", "fresh_episodes", "record"]

TEST_SEED = 0

Policies = Batch | NetworkBatch | Sequence[Program] | Sequence[Network] | Program | Network
"""Programs, or networks of one architecture."""


class Pending(Protocol):
    """What workers are asked to evaluate."""

    def result(self) -> Evaluation:
        """Waits for it."""
        ...


class Workers(Protocol):
    """Those who evaluate policies elsewhere than on threads of this process."""

    def submit(
        self,
        policies: Batch | NetworkBatch,
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
        policies: what to evaluate: programs or networks.
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
    policy: Program | Network, task: Task, episodes: Sequence[int] | NDArray[np.uint64]
) -> dict[str, NDArray[np.float64]]:
    """Everything that happened in episodes: name -> [episode, step], NaN after the end of an episode.

    State and parameters are those at the start of a step, as the policy met them; action, what the motors got of it
    and reward are those of the step.

    Raises:
        ValueError: it is none of our tasks.
    """
    if isinstance(task, AnyEnvironment):
        return task.record(policy.packed, as_keys(episodes))
    if isinstance(task, Quadruped):
        return _record_quadruped(policy, task, as_keys(episodes))
    if not isinstance(task, Cartpole):
        raise ValueError(f"record knows Cartpole, Quadruped and AnyEnvironment, not {type(task).__name__}")
    rows = core.recorded_rollout(policy.packed, 0, task.native, as_keys(episodes))
    return {name: rows[:, :, column] for column, name in enumerate(TRUTH)}


def _record_quadruped(
    policy: Program | Network, task: Quadruped, episodes: NDArray[np.uint64]
) -> dict[str, NDArray[np.float64]]:
    """The state, the action of each joint, the reward, and whether each leg still works."""
    names = [*STATE, *(f"{leg} {joint} action" for leg in LEGS for joint in NUMBERS["joint_names"]), "reward"]
    names += [f"{leg} works" for leg in LEGS]
    rows = core.recorded_quadruped(policy.packed, 0, task.native, task.native_engine(), episodes)
    return {name: rows[:, :, column] for column, name in enumerate(names)}


def fresh_episodes(count: int = 100, seed: int = TEST_SEED, first: int = 0) -> NDArray[np.uint64]:
    """The episodes on which finished policies are tested: the same for all, and never used to select anything."""
    return keys(seed, "test episodes", np.arange(first, first + count))


def _batch(policies: Policies) -> Batch | NetworkBatch:
    if isinstance(policies, Program):
        return Batch(policies.memory, policies.packed)
    if isinstance(policies, Network):
        return NetworkBatch.pack([policies])
    if isinstance(policies, Batch | NetworkBatch):
        return policies
    if policies and isinstance(policies[0], Network):
        return NetworkBatch.pack(cast(Sequence[Network], policies))
    return Batch.pack(cast(Sequence[Program], policies))
