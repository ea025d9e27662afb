"""One episode, watched: what a policy saw and did in every step, and what went on around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import record
from arz.interpreter import Interpreter, Trace, trace
from arz.network import Network, NetworkInterpreter
from arz.program import Program
from arz.tasks.any_environment import AnyEnvironment, AnyEpisodes
from arz.tasks.cartpole import Cartpole
from arz.tasks.cartpole_environment import CartpoleEpisodes
from arz.tasks.environment import RUNNING, Episodes
from arz.tasks.quadruped import Quadruped
from arz.tasks.quadruped_environment import QuadrupedEpisodes
from arz.tasks.status import STATUS

EPISODES: dict[type[Any], type[Episodes]] = {
    Cartpole: CartpoleEpisodes,
    Quadruped: QuadrupedEpisodes,
    AnyEnvironment: AnyEpisodes,
}


@dataclass(frozen=True)
class Watched:
    """What happened in an episode."""

    policy: Program | Network
    task: Cartpole | Quadruped | AnyEnvironment
    key: int
    """Names the episode."""
    observations: NDArray[np.float64]
    """As the policy saw them [step, entry]."""
    actions: NDArray[np.float64]
    """As it gave them [step, entry], before the motors clip them."""
    rewards: NDArray[np.float64]
    ending: str
    """How it ended, in a sentence."""

    @cached_property
    def rows(self) -> dict[str, NDArray[np.float64]]:
        """The truth: state, parameters, rewards, by name, over the steps of the episode (`arz.record`)."""
        found = record(self.policy, self.task, np.array([self.key], np.uint64))
        return {name: values[0, : len(self.actions)] for name, values in found.items()}

    @cached_property
    def trace(self) -> Trace:
        """Every write and every call of the program.

        Raises:
            ValueError: the policy is a network, which has no registers.
        """
        if isinstance(self.policy, Network):
            raise ValueError("a network has no registers to trace: only programs have")
        return trace(self.policy, self.observations[:, None, :], keys=[self.key])


def watch(policy: Program | Network, task: Cartpole | Quadruped | AnyEnvironment, key: int) -> Watched:
    """Runs a policy through the episode of this key.

    Raises:
        ValueError: the policy does not fit the task.
    """
    shape = policy.architecture if isinstance(policy, Network) else policy.memory
    if (shape.observations, shape.actions) != (task.observations, task.actions):
        raise ValueError(
            f"the task has {task.observations} observations and {task.actions} actions, "
            f"the policy {shape.observations} and {shape.actions}"
        )
    episodes = EPISODES[type(task)](task, 1)
    runner = NetworkInterpreter(policy, 1) if isinstance(policy, Network) else Interpreter(policy, 1)
    runner.reset_lane(0, key)
    episodes.start(0, key)
    observations, actions, rewards = [], [], []
    while episodes.statuses[0] == RUNNING:
        observations.append(episodes.observations()[0])
        actions.append(runner.act(observations[-1][None])[0])
        rewards.append(float(episodes.step(actions[-1][None])[0]))
    episodes.close()
    ending = task.sentence(STATUS[int(episodes.statuses[0])])
    return Watched(policy, task, key, np.array(observations), np.array(actions), np.array(rewards), ending)
