"""Proximal Policy Optimization by Stable-Baselines3 (perceptrons) and sb3-contrib (LSTMs).

An extra (`baselines`). What is trained here becomes a `Network` like any other, so that it is tested,
replayed and compared in the same way. The policy is the mean of what PPO would draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import RecurrentPPO
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from arz.baselines.settings import PpoSettings
from arz.network import Architecture, Network
from arz.tasks import Task
from arz.tasks.environment import drawn, spaces

ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}
NO_LIMIT = 1e9
"""Normalised observations are not clipped: a `Network` does not either."""


class Trainer:
    """A network that learns.

    Args:
        task: what to learn.
        architecture: of the network.
        settings: how.
        seed: what all random numbers come from. (Torch does not promise the same result on every machine.)
    """

    def __init__(self, task: Task, architecture: Architecture, settings: PpoSettings, seed: int) -> None:
        torch.set_num_threads(1)
        self.architecture = architecture
        self.iteration_steps = settings.sequence * settings.environments
        self.environment = VecNormalize(TaskEnvironment(task, settings.environments, seed), clip_obs=NO_LIMIT)
        is_lstm = architecture.kind == "lstm"
        layers = [] if is_lstm else list(architecture.hidden)
        shape: dict[str, Any] = {
            "net_arch": {"pi": layers, "vf": layers},
            "activation_fn": ACTIVATIONS[architecture.activation],
        }
        if is_lstm:
            shape["lstm_hidden_size"] = architecture.hidden[0]
        kind, name = (RecurrentPPO, "MlpLstmPolicy") if is_lstm else (PPO, "MlpPolicy")
        self.model = kind(
            name,
            self.environment,
            n_steps=settings.sequence,
            learning_rate=settings.learning_rate,
            ent_coef=settings.entropy,
            batch_size=min(self.iteration_steps, settings.batch),
            n_epochs=settings.epochs,
            policy_kwargs=shape,
            seed=seed % 2**32,
            device="cpu",
        )

    def advance(self) -> None:
        """Collects experience and learns from it, once."""
        self.model.learn(self.iteration_steps, reset_num_timesteps=False)

    def network(self) -> Network:
        """What was learned so far."""
        weights = {name: value.double().numpy() for name, value in self.model.policy.state_dict().items()}
        seen: Any = self.environment.obs_rms
        parts: dict[str, NDArray[np.float64]] = {
            "shift": seen.mean,
            "scale": 1 / np.sqrt(seen.var + self.environment.epsilon),
            "output": weights["action_net.weight"],
            "output_bias": weights["action_net.bias"],
        }
        if self.architecture.kind == "lstm":
            parts["input"], parts["recurrent"] = (weights[f"lstm_actor.weight_{k}_l0"] for k in ("ih", "hh"))
            parts["gate_bias"] = weights["lstm_actor.bias_ih_l0"] + weights["lstm_actor.bias_hh_l0"]
        for layer in range(len(self.architecture.hidden) if self.architecture.kind == "mlp" else 0):
            parts[f"weights{layer + 1}"] = weights[f"mlp_extractor.policy_net.{2 * layer}.weight"]
            parts[f"bias{layer + 1}"] = weights[f"mlp_extractor.policy_net.{2 * layer}.bias"]
        numbers = [np.asarray(parts[name], np.float64).ravel() for name in self.architecture.parts]
        return Network(self.architecture, np.concatenate(numbers))


class TaskEnvironment(VecEnv):
    """Episodes of a task as Stable-Baselines3 wants them: one that ends starts anew in the same step."""

    def __init__(self, task: Task, count: int, seed: int) -> None:
        self._episodes = task.stepped(count)
        self._random = np.random.default_rng(seed)
        self._actions = np.zeros((count, task.actions))
        self.render_mode = None
        super().__init__(count, *spaces(task))

    def reset(self) -> NDArray[np.float64]:
        """Starts all episodes."""
        for which in range(self.num_envs):
            self._episodes.start(which, drawn(self._random))
        return self._episodes.observations()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Remembers what to do."""
        self._actions = np.asarray(actions, np.float64)

    def step_wait(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], list[dict[str, Any]]]:
        """Does it."""
        rewards = self._episodes.step(self._actions)
        terminated, truncated = self._episodes.ends()
        last = self._episodes.observations()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for which in np.flatnonzero(terminated | truncated).tolist():
            infos[which] = {"terminal_observation": last[which], "TimeLimit.truncated": bool(truncated[which])}
            self._episodes.start(which, drawn(self._random))
        return self._episodes.observations(), rewards, terminated | truncated, infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Episodes have no attributes of their own."""
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not possible."""
        raise AttributeError(f"episodes have no attribute {attr_name}")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Not possible."""
        raise AttributeError(f"episodes have no method {method_name}")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """They are not."""
        return [False] * self.num_envs

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Episodes follow from it."""
        if seed is not None:
            self._random = np.random.default_rng(seed)
        return [seed] * self.num_envs
