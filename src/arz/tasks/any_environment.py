"""Any Gymnasium environment as a task: Box observations, Box or Discrete actions.

Episodes run in Python, all of a program side by side, on a pool of processes. An action beyond the bounds is clipped;
what is not a number counts as the middle of the bounds. With Discrete actions, the program has a number for each, and
the largest is chosen. An episode is named by a key, from which the seed of its reset follows.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.files import safe_path
from arz.native import core
from arz.tasks.change_check import Tried, check_changes
from arz.tasks.environment import RUNNING, WAITING, Episodes
from arz.tasks.foreign import (
    MOST_NUMBERS,
    About,
    about_environment,
    allow_files,
    check_imported,
    closed,
    first_line,
    import_module,
    make,
    named_files,
    named_modules,
    reward_threshold,
    started,
    stepped,
)
from arz.tasks.schedule import ScheduledChange, get_attribute, parse_changes, set_attribute
from arz.tasks.status import Status
from arz.tasks.task import Evaluation, Keys

Floats = NDArray[np.float64]
OBJECTIVES = ("return", "length")
AT_ONCE = 32
"""So many episodes run side by side in a process: programs share what a step costs beside the environment."""
AS_IT_IS, CHANGING = "as it is", "changing"
"""The names of tests."""
NO_NETWORKS = "networks are for cartpole and quadruped: in other environments, evolve programs"
WORST = -1e6
"""What a reward that is not a finite number counts: it ends the episode, and should be dearer than any way on."""
SENTENCES = {
    Status.COMPLETED: "The episode lasted to its end.",
    Status.FELL: "The environment ended the episode.",
    Status.ACTION_NOT_FINITE: "The environment gave a reward that is not a finite number.",
}


@dataclass(frozen=True)
class AnyEnvironment:
    """A Gymnasium environment.

    Raises:
        ValueError: a value does not fit.
    """

    env: str = "Pendulum-v1"
    """The name of a Gymnasium environment, such as Pendulum-v1 or mypackage:MyEnv-v0."""
    env_options: dict[str, Any] = field(default_factory=dict)
    """What the environment is made with."""
    change: str = ""
    """Any environment: what changes in it, such as "unwrapped.g: 10 -> 5 @ 200..800" (docs/environments.md)."""
    steps: int = 0
    """Any environment: steps of an episode; 0 for the environment's own limit."""
    env_observations: int = 0
    """How many numbers the environment shows; 0 as long as nobody has asked it."""
    env_actions: int = 0
    """How many a policy gives it; 0 as long as nobody has asked it."""

    def __post_init__(self) -> None:
        if not self.env or not self.env.isprintable():
            raise ValueError("env must be the name of a Gymnasium environment, such as Pendulum-v1")
        if not 0 <= self.steps <= 10**9:
            raise ValueError(f"steps must be 0 to 1000000000, not {self.steps}")
        for name in ("env_observations", "env_actions"):
            if not 0 <= getattr(self, name) <= MOST_NUMBERS:
                raise ValueError(f"{name} must be 0 to {MOST_NUMBERS}, not {getattr(self, name)}")
        try:
            json.dumps(self.env_options)
            if not isinstance(self.env_options, dict):
                raise TypeError
        except (TypeError, ValueError):
            said = f"a table of numbers and texts, such as {{g = 9.81}}, not {self.env_options!r}"
            raise ValueError(f"env_options must be {said}") from None
        if "render_mode" in self.env_options:
            raise ValueError("env_options cannot have render_mode: arz draws when it is asked to (arz replay)")
        _ = self.changes

    @cached_property
    def changes(self) -> tuple[ScheduledChange, ...]:
        """What changes."""
        return parse_changes(self.change)

    @property
    def about(self) -> About:
        """What the environment says of itself."""
        return about_environment(self.env, json.dumps(self.env_options))

    def check_imported(self) -> None:
        """Makes sure that making the environment imports nothing that it names.

        Raises:
            ValueError: it would.
        """
        check_imported(self.env, self.env_options)

    def import_modules(self) -> None:
        """Imports what the environment needs, for a process that was told to by one where it was imported."""
        allow_files(named_files(self.env_options))
        for name in named_modules(self.env, self.env_options):
            import_module(name)

    def settled(self) -> AnyEnvironment:
        """The same with all that only the environment knows; it is made and tried here.

        Raises:
            ValueError: the environment cannot be made, or is of a kind that is not supported; or a change in it
                changes nothing.
        """
        about = self.about
        if not (self.steps or about.steps):
            raise ValueError(f"{self.env} has no limit of its own: say how long an episode is (--steps)")
        check_changes(Tried(self.env, self.env_options, self.limit), self.changes)
        return replace(self, env_observations=about.observations, env_actions=about.actions)

    @property
    def observations(self) -> int:
        """How many numbers a policy sees; 0 as long as nobody has asked the environment (`settled`)."""
        return self.env_observations

    @property
    def actions(self) -> int:
        """How many it gives: one for each entry of a Box, or for each of the Discrete actions; 0 likewise."""
        return self.env_actions

    @property
    def most_action(self) -> float:
        """The largest bound of the actions."""
        return (
            float(max(np.max(np.abs(self.about.low)), np.max(np.abs(self.about.high)))) if self.about.is_box else 1e300
        )

    @property
    def limit(self) -> int:
        """How many steps an episode has at most."""
        return self.steps or self.about.steps

    @property
    def name(self) -> str:
        """For people."""
        return self.env + (f", {self.change}" if self.change else "")

    @property
    def variant(self) -> dict[str, Any]:
        """All but what changes."""
        return {name: value for name, value in asdict(self).items() if name != "change"}

    def test_suite(self) -> dict[tuple[str, str], AnyEnvironment]:
        """As it is, and, if something changes, also without that."""
        if not self.change:
            return {(self.env, AS_IT_IS): self}
        return {(self.env, CHANGING): self, (self.env, "unchanged"): replace(self, change="")}

    def test_score(self, means: Mapping[tuple[str, str], float]) -> float | None:
        """The mean return."""
        return means.get((self.env, CHANGING if self.change else AS_IT_IS))

    def rollout(self, programs: core.Batch | core.NetworkBatch, episodes: Keys, threads: int) -> Evaluation:
        """Runs every program through every episode, on so many processes; with one, in this one.

        Raises:
            ValueError: the policies are networks, or do not fit; or a process has died.
        """
        if not isinstance(programs, core.Batch):
            raise ValueError(NO_NETWORKS)
        self.check_imported()
        arrays = programs.arrays()
        shape = programs.memory_sizes()
        if shape[:2] != (self.observations, self.actions):
            raise ValueError(
                f"the programs see {shape[0]} numbers and give {shape[1]}; "
                f"{self.env} shows {self.observations} and takes {self.actions}"
            )
        count = len(programs)
        if threads <= 1 or count <= 1:
            parts = [_roll(self, shape, arrays, np.arange(count), episodes)]
        else:
            together = max(1, AT_ONCE // max(1, len(episodes)))
            rounds = min(4, -(-count // (together * threads)))  # several, so that nobody waits long for another
            jobs = np.array_split(np.arange(count), min(count, rounds * threads))
            parts = _in_pool(self, shape, arrays, jobs, episodes, threads)
        returns, lengths, statuses = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Evaluation(returns, lengths, statuses, np.zeros((count, 1, 1)))

    def record(self, program: core.Batch | core.NetworkBatch, episodes: Keys) -> dict[str, Floats]:
        """What happened: observation, action, reward and what changes [episode, step], NaN after the end."""
        if not isinstance(program, core.Batch):
            raise ValueError(NO_NETWORKS)
        names = [
            *(f"obs[{k}]" for k in range(self.observations)),
            *(f"action[{k}]" for k in range(self.actions)),
            "reward",
        ]
        names += [change.path for change in self.changes]
        rows = np.full((len(episodes), self.limit, len(names)), np.nan)
        stepper, running = core.Stepper(program, 0, len(episodes)), _episodes(self, len(episodes))
        stepper.reset(np.ascontiguousarray(episodes))
        for lane, key in enumerate(episodes.tolist()):
            running.start(lane, key)
        while np.any(running.statuses == RUNNING):
            alive, at = np.flatnonzero(running.statuses == RUNNING), running.times.copy()
            seen = running.observations()
            actions = stepper.act(seen)
            rewards = running.step(actions)
            truth = [values[:, None] for values in running.truth().values()]
            found = np.hstack([seen, actions, rewards[:, None], *truth])
            rows[alive, at[alive]] = found[alive]
        return {name: rows[:, :, column] for column, name in enumerate(names)}

    def spread(self, episodes: Keys) -> Keys:
        """These episodes themselves."""
        return episodes

    def objectives(self, names: tuple[str, ...], found: Evaluation, episodes: Keys) -> Floats:
        """The objectives of these names."""
        columns = {"return": found.mean, "length": found.mean_length}
        return np.stack([columns[name] for name in names], axis=1)

    @property
    def case_names(self) -> tuple[str, ...]:
        """There is one."""
        return (AS_IT_IS,)

    def cases(self, episodes: Keys) -> NDArray[np.int64]:
        """All are alike."""
        return np.zeros(len(episodes), np.int64)

    def happens(self, episodes: Keys) -> NDArray[np.int64]:
        """There is no such step.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "fits_senses must be false for environments of Gymnasium: what changes there is not a case among others"
        )

    def easier(self) -> AnyEnvironment:
        """Nothing changes."""
        return replace(self, change="")

    def shorter(self, steps: int, is_early: bool = False) -> AnyEnvironment:
        """With fewer steps: what would change later does not."""
        return replace(self, steps=min(steps, self.limit))

    def eased(self, eases: Sequence[float]) -> AnyEnvironment:
        """Itself where nothing is spared.

        Raises:
            ValueError: something is.
        """
        if any(eases):
            raise ValueError(
                "ease_rate must be 0 for environments of Gymnasium: what changes there, changes as a whole"
            )
        return self

    def varied(self, key: int, amount: float) -> AnyEnvironment:
        """Itself: there is only one world.

        Raises:
            ValueError: it shall differ.
        """
        if amount:
            raise ValueError("variety must be 0 for environments of Gymnasium: only the quadruped's world can differ")
        return self

    @property
    def scoring(self) -> dict[str, Any]:
        """None."""
        return {}

    @property
    def lasting(self) -> str:
        """What it means that an episode has as many steps as it can: an environment may end when all is done."""
        return "reached the step limit"

    @property
    def success(self) -> float | None:
        """The return from which on the environment counts as solved, if it says so."""
        return reward_threshold(self.env)

    def sentence(self, status: Status) -> str:
        """How an episode ended."""
        return SENTENCES.get(status, status.name)


# ---- episodes ----


class AnyEpisodes(Episodes):
    """Episodes of any environment, side by side."""

    task: AnyEnvironment

    def __init__(self, task: Any, count: int, render_mode: str | None = None) -> None:
        super().__init__(task, count)
        more: dict[str, Any] = {"render_mode": render_mode} if render_mode else {}
        if self.task.steps:
            more["max_episode_steps"] = self.task.steps
        self.environments = [make(self.task.env, self.task.env_options, **more) for _ in range(count)]
        self._about, self._limit = self.task.about, self.task.limit
        self._seen = np.zeros((count, self._about.observations))
        self._windows: list[list[tuple[int, int]]] = [[] for _ in range(count)]

    def begin(self, which: int, key: int) -> None:
        """Starts one of them."""
        self._windows[which] = [change.when(key) for change in self.task.changes]
        self._move(which, 0)
        self._seen[which] = started(self.environments[which], self.task.env, int(key) >> 33)
        self._move(which, 0)

    def advance(self, actions: Floats) -> tuple[Floats, NDArray[np.uint8]]:
        """Rewards and statuses after one step; those that have ended stay as they are."""
        rewards, statuses = np.zeros(len(self.environments)), self.statuses.copy()
        chosen, limit = self._about.actions_of(actions), self._limit
        for which in np.flatnonzero(self.statuses == RUNNING).tolist():
            if self.task.changes:
                self._move(which, int(self.times[which]) - 1)
            environment = self.environments[which]
            self._seen[which], reward, terminated, truncated = stepped(environment, self.task.env, chosen[which])
            rewards[which] = reward
            if not math.isfinite(reward):
                rewards[which], statuses[which] = WORST, Status.ACTION_NOT_FINITE.number
            elif terminated:
                statuses[which] = Status.FELL.number
            elif truncated or self.times[which] >= limit:
                statuses[which] = Status.COMPLETED.number
        return rewards, statuses

    def _move(self, which: int, step: int) -> None:
        for change, window in zip(self.task.changes, self._windows[which], strict=True):
            set_attribute(self.environments[which], change.path, change.value(step, window))

    def observations(self) -> Floats:
        """What policies see."""
        return self._seen.copy()

    def truth(self) -> dict[str, NDArray[Any]]:
        """The attributes that change."""
        return {
            change.path: np.array([get_attribute(each, change.path) for each in self.environments])
            for change in self.task.changes
        }

    def draw(self, which: int) -> Any:
        """A picture."""
        try:
            return self.environments[which].render()
        except Exception as error:
            raise ValueError(f"{self.task.env} cannot be drawn: {first_line(error)}") from error

    def close(self) -> None:
        """Closes the environments."""
        for environment in self.environments:
            closed(environment)


_OPEN: dict[str, AnyEpisodes] = {}
"""Environments that were made in this process, to be used again: by task and number of episodes."""


def _episodes(task: AnyEnvironment, count: int) -> AnyEpisodes:
    name = json.dumps([asdict(task), count])
    if name not in _OPEN:
        while len(_OPEN) >= 8:
            _OPEN.pop(next(iter(_OPEN))).close()
        _OPEN[name] = AnyEpisodes(task, count)
    return _OPEN[name]


Arrays = tuple[Any, ...]
Sizes = tuple[int, int, int, int, int, int, bool]


def _roll(
    task: AnyEnvironment, sizes: Sizes, arrays: Arrays, which: NDArray[np.int64], episodes: Keys
) -> tuple[Floats, NDArray[np.int32], NDArray[np.uint8]]:
    """Runs some programs, given packed, through all episodes."""
    batch = core.batch(core.memory_shape(*sizes), *arrays)
    lanes = len(episodes)
    returns, lengths = np.zeros((len(which), lanes)), np.zeros((len(which), lanes), np.int32)
    statuses = np.zeros((len(which), lanes), np.uint8)
    if not lanes:
        return returns, lengths, statuses
    together = max(1, AT_ONCE // lanes)
    running = _episodes(task, together * lanes)
    actions = np.zeros((together * lanes, task.actions))
    for first in range(0, len(which), together):
        rows = range(first, min(first + together, len(which)))
        places = [slice(k * lanes, (k + 1) * lanes) for k in range(len(rows))]
        steppers = [core.Stepper(batch, int(which[row]), lanes) for row in rows]
        running.statuses[:] = WAITING
        used = slice(0, len(rows) * lanes)
        for place, stepper in zip(places, steppers, strict=True):
            stepper.reset(np.ascontiguousarray(episodes))
            for lane, key in enumerate(episodes.tolist(), place.start):
                running.start(lane, key)
        while np.any(running.statuses[used] == RUNNING):
            seen = running.observations()
            for place, stepper in zip(places, steppers, strict=True):
                actions[place] = stepper.act(seen[place])
            returns[rows.start : rows.stop] += running.step(actions)[used].reshape(-1, lanes)
        lengths[rows.start : rows.stop] = running.times[used].reshape(-1, lanes)
        statuses[rows.start : rows.stop] = running.statuses[used].reshape(-1, lanes)
    return returns, lengths, statuses


_POOLS: dict[int, ProcessPoolExecutor] = {}


def _in_pool(
    task: AnyEnvironment, sizes: Sizes, arrays: Arrays, jobs: list[Any], episodes: Keys, workers: int
) -> list[Any]:
    with safe_path():  # processes start here, one of Python's own among them
        if workers not in _POOLS:
            context = multiprocessing.get_context("spawn")
            _POOLS[workers] = ProcessPoolExecutor(workers, mp_context=context, initializer=_serve)
        pool = _POOLS[workers]
    try:
        with safe_path():
            waiting = [pool.submit(_roll_there, task, sizes, arrays, job, episodes) for job in jobs]
        return [done.result() for done in waiting]
    except KeyboardInterrupt:
        _end_pool(_POOLS.pop(workers))
        raise
    except BrokenProcessPool:
        _POOLS.pop(workers).shutdown(wait=False)
        raise ValueError(
            f"a process that ran {task.env} has died; a script that evolves needs `if __name__ == '__main__':` "
            "around it, or threads=1"
        ) from None


def _end_pool(pool: ProcessPoolExecutor) -> None:
    """Ends the processes of a pool at once: Python would wait for what they are at."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def _roll_there(task: AnyEnvironment, *rest: Any) -> Any:
    """The same in a process of the pool, for one that was allowed to make the environment."""
    task.import_modules()
    return _roll(task, *rest)


def _serve() -> None:
    """Ctrl-C is for the process that waits; when that is gone, however it ended, so is this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
