"""Episodes of any environment, side by side, in Python; and rollouts of programs through them, on many processes."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.files import safe_path
from arz.native import core
from arz.plain import first_line
from arz.tasks.base import Evaluation
from arz.tasks.episodes import RUNNING, WAITING, Episodes
from arz.tasks.gymnasium.adapter import closed, make, started, stepped
from arz.tasks.gymnasium.schedule import get_attribute, set_attribute
from arz.tasks.gymnasium.task import AnyEnvironment
from arz.tasks.status import Status
from arz.typing import Floats, Keys

AT_ONCE = 32
"""So many episodes run side by side in a process: programs share what a step costs beside the environment."""
WORST = -1e6
"""What a reward that is not a finite number counts: it ends the episode, and should be dearer than any way on."""


class AnyEpisodes(Episodes):
    """Episodes of any environment, side by side."""

    task: AnyEnvironment

    def __init__(self, task: Any, count: int, render_mode: str | None = None) -> None:
        super().__init__(task, count)
        more: dict[str, Any] = {"render_mode": render_mode} if render_mode else {}
        if self.task.steps:
            more["max_episode_steps"] = self.task.steps
        self.environments = [make(self.task.env, self.task.env_options, **more) for _ in range(count)]
        self._about, self._limit = self.task.about, self.task.most_steps
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


class _Open(threading.local):
    """Environments that this thread made, to be used again: by task and number of episodes."""

    def __init__(self) -> None:
        self.episodes: dict[str, AnyEpisodes] = {}


_OPEN = _Open()


def kept_episodes(task: AnyEnvironment, count: int) -> AnyEpisodes:
    """So many episodes; their environments are kept, for who asks for the same again."""
    name = json.dumps([asdict(task), count])
    known = _OPEN.episodes
    if name not in known:
        while len(known) >= 8:
            known.pop(next(iter(known))).close()
        known[name] = AnyEpisodes(task, count)
    return known[name]


def rollout(task: AnyEnvironment, programs: core.Batch, episodes: Keys, threads: int) -> Evaluation:
    """Runs every program through every episode; with several threads, on as many processes.

    Raises:
        ValueError: the programs do not fit, or a process has died.
    """
    arrays = programs.arrays()
    shape = programs.memory_sizes()
    if shape[:2] != (task.observations, task.actions):
        raise ValueError(
            f"the programs see {shape[0]} numbers and give {shape[1]}; "
            f"{task.env} shows {task.observations} and takes {task.actions}"
        )
    count = len(programs)
    if threads <= 1 or count <= 1:
        parts = [_roll(task, shape, arrays, np.arange(count), episodes)]
    else:
        together = max(1, AT_ONCE // max(1, len(episodes)))
        rounds = min(4, -(-count // (together * threads)))  # several, so that nobody waits long for another
        jobs = np.array_split(np.arange(count), min(count, rounds * threads))
        parts = _in_pool(task, shape, arrays, jobs, episodes, threads)
    returns, lengths, statuses = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Evaluation(returns, lengths, statuses, np.zeros((count, 1, 1)))


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
    running = kept_episodes(task, together * lanes)
    actions = np.zeros((together * lanes, task.actions))
    for first in range(0, len(which), together):
        rows = range(first, min(first + together, len(which)))
        places = [slice(k * lanes, (k + 1) * lanes) for k in range(len(rows))]
        steppers = [core.Stepper(batch, index=int(which[row]), lanes=lanes) for row in rows]
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
