"""Tasks as Gymnasium environments, one episode at a time or many side by side: what all of them share.

Their episodes are those of `Task.stepped`, so a policy scores the same here as in `arz.evaluate`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from arz.names import did_you_mean
from arz.streams import as_keys
from arz.tasks.base import Task
from arz.tasks.episodes import RUNNING, WAITING
from arz.tasks.window import Window
from arz.typing import Floats, Picture

NOTHING_TO_SHOW = 'There is nothing to show: make the environment with render_mode="rgb_array".'

T = TypeVar("T")


class SingleEnvironment(gymnasium.Env[Floats, NDArray[np.floating[Any]]]):
    """One episode at a time of a task, which subclasses say."""

    def __init__(self, task: Task, render_mode: str | None) -> None:
        self.render_mode = checked_mode(render_mode, self.metadata["render_modes"])
        self.task = task
        self.observation_space, self.action_space = spaces(task)
        self._episodes = task.stepped(1)
        self._window: Window | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Starts an episode and returns its first observation and info.

        Args:
            seed: where the random keys of this episode and of those after it start from.
            options: {"episode": key} starts the episode of this name instead of a random one.
        """
        asked = asked_episodes(options, 1)
        super().reset(seed=seed)
        self._episodes.start(0, drawn(self.np_random) if asked is None else asked[0])
        self._show()
        return self._episodes.observations()[0], self._info()

    def step(self, action: ArrayLike) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Does one step; returns observation, reward, terminated, truncated and info.

        Raises:
            ResetNeeded: the episode has ended, or none has started.
        """
        if self._episodes.statuses[0] != RUNNING:
            raise ResetNeeded("The episode has ended or not yet started: call reset() before step().")
        given = np.asarray(action, np.float64)
        if given.size != self.task.actions:
            raise ValueError(f"expected an action of shape ({self.task.actions},), got one of shape {given.shape}")
        reward = float(self._episodes.step(given.reshape(1, -1))[0])
        terminated, truncated = self._episodes.ends()
        self._show()
        return self._episodes.observations()[0], reward, bool(terminated[0]), bool(truncated[0]), self._info()

    def render(self) -> Picture | None:
        """A picture [height, width, 3] in the mode "rgb_array"; in the mode "human" it appears in the window."""
        if self.render_mode == "rgb_array":
            return self._episodes.picture(0)
        if self.render_mode is None:
            gymnasium.logger.warn(NOTHING_TO_SHOW)
        self._show()
        return None

    def close(self) -> None:
        """Closes the window, if there is one."""
        self._episodes.close()
        if self._window is not None:
            self._window.close()

    def _show(self) -> None:
        if self.render_mode == "human":
            self._window = self._window or Window(self.metadata["render_fps"])
            self._window.show(self._episodes.picture(0))

    def _info(self) -> dict[str, Any]:
        return {name: column.item() for name, column in self._episodes.told().items()}


class VectorEnvironment(VectorEnv[Floats, NDArray[np.floating[Any]], NDArray[Any]]):
    """Many episodes side by side, each as in the single environment.

    An episode that has ended starts anew in the next step, which ignores its action and gives it the reward 0
    (Gymnasium's `AutoresetMode.NEXT_STEP`). Seeded with `seed`, episode i goes as in a single environment seeded
    with `seed + i`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, task: Task, num_envs: int, render_mode: str | None) -> None:
        self.render_mode = checked_mode(render_mode, self.metadata["render_modes"])
        self.task = task
        self.num_envs = num_envs
        self._episodes = task.stepped(num_envs)
        self.single_observation_space, self.single_action_space = spaces(task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        sources = [np_random() for _ in range(num_envs)]
        self._generators, self._seeds = [one for one, _ in sources], [seed for _, seed in sources]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Starts all episodes and returns their first observations and info.

        Args:
            seed: a number, of which episode i gets `seed + i`, or one for each episode.
            options: {"episode": keys} starts the episodes of these names, one for each, instead of random ones.
        """
        asked = asked_episodes(options, self.num_envs)
        self._seed(seed)
        for i in range(self.num_envs):
            self._episodes.start(i, drawn(self._generators[i]) if asked is None else asked[i])
        return self._episodes.observations(), self._info()

    def step(self, actions: ArrayLike) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Does one step in all episodes, or starts those anew that ended in the step before."""
        if self._episodes.statuses[0] == WAITING:
            raise ResetNeeded("No episode has started yet: call reset() before step().")
        given = np.asarray(actions, np.float64)
        shape = (self.num_envs, self.task.actions)
        if given.shape != shape and (self.task.actions != 1 or given.shape != shape[:1]):
            raise ValueError(f"expected actions of shape {shape}, got an array of shape {given.shape}")
        over = np.flatnonzero(self._episodes.statuses != RUNNING)
        rewards = self._episodes.step(given.reshape(shape))
        for i in over.tolist():
            self._episodes.start(i, drawn(self._generators[i]))
        return self._episodes.observations(), rewards, *self._episodes.ends(), self._info()

    def render(self) -> tuple[Picture, ...] | None:
        """A picture [height, width, 3] of each episode."""
        if self.render_mode is None:
            gymnasium.logger.warn(NOTHING_TO_SHOW)
            return None
        return tuple(self._episodes.picture(i) for i in range(self.num_envs))

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Where each episode's key comes from."""
        return tuple(self._generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """What each of them started from."""
        return tuple(self._seeds)

    def _seed(self, seed: int | Sequence[int | None] | None) -> None:
        if seed is None:
            return
        seeds = [int(seed) + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"expected one seed for each of the {self.num_envs} environments, got {len(seeds)}")
        for i, one in enumerate(seeds):
            if one is not None:
                self._generators[i], self._seeds[i] = np_random(one)

    def _info(self) -> dict[str, Any]:
        """Columns, and for each a mask `_name` of the episodes to which it applies."""
        columns = self._episodes.told()
        masks: dict[str, NDArray[np.bool_]] = {f"_{name}": np.ones(self.num_envs, bool) for name in columns}
        if "status" in columns:
            masks["_status"] = self._episodes.statuses != RUNNING
        return columns | masks


def task_of(kind: type[T], variant: dict[str, Any]) -> T:
    """A task with some fields given by keywords."""
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in variant:
        if name not in known:
            raise TypeError(f"expected keywords among {', '.join(known)}, got {name!r}.{did_you_mean(name, known)}")
    return kind(**variant)


def checked_mode(mode: str | None, known: Sequence[str]) -> str | None:
    """The render mode, if it is one."""
    if mode is not None and mode not in known:
        raise ValueError(f"render_mode must be None or {' or '.join(known)}, not {mode!r}.{did_you_mean(mode, known)}")
    return mode


def spaces(task: Task) -> tuple[Box[np.float64], Box[np.floating[Any]]]:
    """Of observations and of actions."""
    # Observations are float64, so that a program acts here exactly as in the native rollout. Actions are float32 as
    # learners expect, but a float64 action is taken as it is. Speeds have no bound.
    observation = Box(-np.inf, np.inf, (task.observations,), np.float64)
    return observation, Box(-task.most_action, task.most_action, (task.actions,), np.float32)


def asked_episodes(options: dict[str, Any] | None, count: int) -> list[int] | None:
    """The keys in the options of `reset`, or None for random ones."""
    if not options:
        return None
    if set(options) != {"episode"}:
        raise ValueError(f"the only option of reset is 'episode', got {', '.join(map(repr, options))}")
    asked = options["episode"]
    keys = [int(as_keys([key])[0]) for key in ([asked] if np.ndim(asked) == 0 else asked)]
    if len(keys) != count:
        raise ValueError(f"expected {count} episode key{'s' * (count != 1)} in options, got {len(keys)}")
    return keys


def drawn(generator: np.random.Generator) -> int:
    """The key of a random episode."""
    return int(generator.integers(2**63))
