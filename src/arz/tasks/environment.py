"""Cataclysmic Cartpole as Gymnasium environments, one episode at a time or many side by side.

They step the same physics code that `arz.evaluate` runs, so a policy scores the same here as there, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from arz.names import did_you_mean
from arz.native import core
from arz.streams import as_keys
from arz.tasks.cartpole import TRUTH, Cartpole
from arz.tasks.drawing import FRAMES_PER_SECOND, Window, scene
from arz.tasks.status import STATUS, Status

TOLD = {name: column for column, name in enumerate(TRUTH) if name not in ("action", "reward")}
"""What `info` tells of the truth, and where it stands: all but what the caller of `step` knows."""
RUNNING, WAITING = 0, 255  # besides the numbers of `Status`; an episode waits for its first start
NOTHING_TO_SHOW = 'There is nothing to show: make the environment with render_mode="rgb_array".'

Floats = NDArray[np.float64]
Frame = NDArray[np.uint8]


class CataclysmicCartpole(gymnasium.Env[Floats, NDArray[np.floating[Any]]]):
    """A pole on a cart, whose track tilts, motor weakens and joints wear out as it runs.

    The observation is [x, theta, x_dot, theta_dot], the action one number in [-1, 1]; beyond, it is clipped. An
    episode is `terminated` when the pole falls, the cart leaves the track or the action is not a finite number, and
    `truncated` when its time is over. `info` tells what a policy must not see: the true state, the parameters, what
    the motor got of the last action (`applied`), the `time` in steps, the `episode_key` that names the episode and,
    at its end, a sentence as `status`.

    Args:
        render_mode: None, "rgb_array" or "human".
        variant: the fields of `Cartpole`: change, parameters, x_limit, partial_observability, actuator_noise,
            noise_sigma, steps.

    Raises:
        ValueError: a field has a value that the task does not know.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(self, *, render_mode: str | None = None, **variant: Any) -> None:
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        self.task = _task(variant)
        self.observation_space, self.action_space = _spaces()
        self._episodes = _Episodes(self.task, 1)
        self._window: Window | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Starts an episode and returns its first observation and info.

        Args:
            seed: where the random keys of this episode and of those after it start from.
            options: {"episode": key} starts the episode of this name instead of a random one.
        """
        asked = _asked_episodes(options, 1)
        super().reset(seed=seed)
        self._episodes.start(0, _drawn(self.np_random) if asked is None else asked[0])
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
        if given.size != 1:
            raise ValueError(f"expected an action of shape (1,), got one of shape {given.shape}")
        reward = float(self._episodes.step(given.reshape(1))[0])
        terminated, truncated = self._episodes.ends()
        self._show()
        return self._episodes.observations()[0], reward, bool(terminated[0]), bool(truncated[0]), self._info()

    def render(self) -> Frame | None:
        """A picture [height, width, 3] in the mode "rgb_array"; in the mode "human" it appears in the window."""
        if self.render_mode == "rgb_array":
            return self._episodes.picture(0)
        if self.render_mode is None:
            gymnasium.logger.warn(NOTHING_TO_SHOW)
        self._show()
        return None

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            self._window.close()

    def _show(self) -> None:
        if self.render_mode == "human":
            self._window = self._window or Window(FRAMES_PER_SECOND)
            self._window.show(self._episodes.picture(0))

    def _info(self) -> dict[str, Any]:
        return {name: column.item() for name, column in self._episodes.told().items()}


class CataclysmicCartpoleVector(VectorEnv[Floats, NDArray[np.floating[Any]], NDArray[Any]]):
    """Many episodes of Cataclysmic Cartpole side by side, each as in `CataclysmicCartpole`.

    An episode that has ended starts anew in the next step, which ignores its action and gives it the reward 0
    (Gymnasium's `AutoresetMode.NEXT_STEP`). Seeded with `seed`, episode i goes as in a single environment seeded
    with `seed + i`.

    Args:
        num_envs: how many episodes.
        render_mode: None or "rgb_array".
        variant: the fields of `Cartpole`, as in `CataclysmicCartpole`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, *, render_mode: str | None = None, **variant: Any) -> None:
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        self.task = _task(variant)
        self.num_envs = num_envs
        self._episodes = _Episodes(self.task, num_envs)
        self.single_observation_space, self.single_action_space = _spaces()
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
        asked = _asked_episodes(options, self.num_envs)
        self._seed(seed)
        for i in range(self.num_envs):
            self._episodes.start(i, _drawn(self._generators[i]) if asked is None else asked[i])
        return self._episodes.observations(), self._info()

    def step(self, actions: ArrayLike) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Does one step in all episodes, or starts those anew that ended in the step before."""
        if self._episodes.statuses[0] == WAITING:
            raise ResetNeeded("No episode has started yet: call reset() before step().")
        given = np.asarray(actions, np.float64)
        if given.shape not in ((self.num_envs, 1), (self.num_envs,)):
            raise ValueError(f"expected actions of shape ({self.num_envs}, 1), got an array of shape {given.shape}")
        over = np.flatnonzero(self._episodes.statuses != RUNNING)
        rewards = self._episodes.step(given.reshape(self.num_envs))
        for i in over.tolist():
            self._episodes.start(i, _drawn(self._generators[i]))
        return self._episodes.observations(), rewards, *self._episodes.ends(), self._info()

    def render(self) -> tuple[Frame, ...] | None:
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


class _Episodes:
    """Episodes side by side, and all that there is to tell of them. What it returns is the caller's to keep."""

    def __init__(self, task: Cartpole, count: int) -> None:
        self.task = task
        self.statuses = np.full(count, WAITING, np.uint8)
        self.keys = np.zeros(count, np.uint64)
        self.times = np.zeros(count, np.int64)
        self._core = core.CartpoleStepper(task.native, count)

    def start(self, which: int, key: int) -> None:
        self._core.start(which, key)
        self.statuses[which], self.keys[which], self.times[which] = RUNNING, key, 0

    def step(self, actions: Floats) -> Floats:
        """Rewards. Episodes that have ended stay as they are, with the reward 0."""
        self.times += self.statuses == RUNNING
        rewards, self.statuses = self._core.step(np.ascontiguousarray(actions))
        return rewards

    def observations(self) -> Floats:
        return self._core.observations()

    def ends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which have terminated, and which were cut short by the time limit."""
        truncated = self.statuses == Status.COMPLETED.number
        return (self.statuses != RUNNING) & ~truncated, truncated

    def told(self) -> dict[str, NDArray[Any]]:
        """The columns of `info`; how episodes ended only if some have."""
        truth = self._core.truth()
        columns: dict[str, NDArray[Any]] = {name: truth[:, at].copy() for name, at in TOLD.items()}
        # Not "episode": there Gymnasium's RecordEpisodeStatistics and Stable-Baselines3 put returns and lengths.
        columns |= {"time": self.times.copy(), "episode_key": self.keys.copy()}
        if np.any(self.statuses != RUNNING):
            texts = [None if number == RUNNING else STATUS[number].text for number in self.statuses.tolist()]
            columns["status"] = np.array(texts, object)
        return columns

    def picture(self, which: int) -> Frame:
        if self.statuses[which] == WAITING:
            raise ResetNeeded("There is no episode to show yet: call reset() before render().")
        truth = dict(zip(TRUTH, self._core.truth()[which].tolist(), strict=True))
        ended = STATUS.get(int(self.statuses[which]))
        return scene(truth, self.task, int(self.times[which]), note=ended.text if ended else "")


def _task(variant: dict[str, Any]) -> Cartpole:
    known = [field.name for field in fields(Cartpole)]
    for name in variant:
        if name not in known:
            raise TypeError(f"expected keywords among {', '.join(known)}, got {name!r}.{did_you_mean(name, known)}")
    return Cartpole(**variant)


def _checked_mode(mode: str | None, known: Sequence[str]) -> str | None:
    if mode is not None and mode not in known:
        raise ValueError(f"render_mode must be None or {' or '.join(known)}, not {mode!r}.{did_you_mean(mode, known)}")
    return mode


def _spaces() -> tuple[Box[np.float64], Box[np.floating[Any]]]:
    # Observations are float64, so that a program acts here exactly as in the native rollout. Actions are float32 as
    # learners expect, but a float64 action is taken as it is. Speeds have no bound.
    return Box(-np.inf, np.inf, (Cartpole.observations,), np.float64), Box(-1.0, 1.0, (Cartpole.actions,), np.float32)


def _asked_episodes(options: dict[str, Any] | None, count: int) -> list[int] | None:
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


def _drawn(generator: np.random.Generator) -> int:
    return int(generator.integers(2**63))
