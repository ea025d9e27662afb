"""One episode: what a policy saw and did in every step, and what went on around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import record
from arz.interpreter import Trace, trace
from arz.policy import AnyPolicy
from arz.program import Program
from arz.tasks.base import Task
from arz.tasks.episodes import RUNNING
from arz.tasks.status import STATUS


@dataclass(frozen=True)
class Episode:
    """What happened in an episode."""

    policy: AnyPolicy
    task: Task
    key: int
    """Names the episode."""
    observations: NDArray[np.float64]
    """As the policy saw them [step, entry]."""
    actions: NDArray[np.float64]
    """As it gave them [step, entry], before the motors clip them."""
    rewards: NDArray[np.float64]
    ending: str
    """How it ended, in a sentence."""

    @property
    def total_reward(self) -> float:
        """Added up from step to step, as rollouts do it."""
        return float(np.cumsum(self.rewards)[-1]) if len(self.rewards) else 0.0

    @cached_property
    def recorded(self) -> dict[str, NDArray[np.float64]]:
        """The truth: state, parameters, rewards, by name, over the steps of the task; NaN after the end."""
        found = record(self.policy, self.task, np.array([self.key], np.uint64))
        return {name: values[0] for name, values in found.items()}

    @cached_property
    def rows(self) -> dict[str, NDArray[np.float64]]:
        """The same over the steps of the episode."""
        return {name: values[: len(self.actions)] for name, values in self.recorded.items()}

    def trace_of(self, program: Program) -> Trace:
        """Every write and every call of a program that sees this."""
        return trace(program, self.observations[:, None, :], keys=[self.key])


def run_episode(policy: AnyPolicy, task: Task, key: int) -> Episode:
    """Runs a policy through the episode of this key.

    Raises:
        ValueError: the policy does not fit the task.
    """
    if (policy.observations, policy.actions) != (task.observations, task.actions):
        raise ValueError(
            f"the task has {task.observations} observations and {task.actions} actions, "
            f"the policy {policy.observations} and {policy.actions}"
        )
    episodes = task.stepped(1)
    runner = policy.interpreter()
    runner.reset_lane(0, key)
    episodes.start(0, key)
    observations, actions, rewards = [], [], []
    while episodes.statuses[0] == RUNNING:
        observations.append(episodes.observations()[0])
        actions.append(runner.act(observations[-1][None])[0])
        rewards.append(float(episodes.step(actions[-1][None])[0]))
    episodes.close()
    ending = task.sentence(STATUS[int(episodes.statuses[0])])
    return Episode(policy, task, key, np.array(observations), np.array(actions), np.array(rewards), ending)
