"""Episodes of a task that are stepped from outside, side by side: what watching, films and environments need.

They step the same physics code that `Task.rollout` runs, so a policy scores the same here as there, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.tasks.base import Task
from arz.tasks.status import STATUS, Status
from arz.typing import Floats, Picture

RUNNING, WAITING = 0, 255  # besides the numbers of `Status`; an episode waits for its first start


class Episodes(ABC):
    """Episodes side by side, and all that there is to tell of them. What it returns is the caller's to keep."""

    def __init__(self, task: Task, count: int) -> None:
        self.task = task
        self.statuses = np.full(count, WAITING, np.uint8)
        self.keys = np.zeros(count, np.uint64)
        self.times = np.zeros(count, np.int64)

    def start(self, which: int, key: int) -> None:
        """Starts one of them."""
        self.begin(which, key)
        self.statuses[which], self.keys[which], self.times[which] = RUNNING, key, 0

    def step(self, actions: Floats) -> Floats:
        """Rewards. Episodes that have ended get the reward 0."""
        self.times += self.statuses == RUNNING
        rewards, self.statuses = self.advance(np.ascontiguousarray(actions))
        return rewards

    def ends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which have terminated, and which were cut short by the time limit."""
        truncated = self.statuses == Status.COMPLETED.number
        return (self.statuses != RUNNING) & ~truncated, truncated

    def told(self) -> dict[str, NDArray[Any]]:
        """The columns of `info`; how episodes ended only if some have."""
        # Not "episode": there Gymnasium's RecordEpisodeStatistics and Stable-Baselines3 put returns and lengths.
        columns = {**self.truth(), "time": self.times.copy(), "episode_key": self.keys.copy()}
        if np.any(self.statuses != RUNNING):
            texts = [None if number == RUNNING else self.ending(number) for number in self.statuses.tolist()]
            columns["status"] = np.array(texts, object)
        return columns

    def ending(self, number: int) -> str:
        """How an episode with this status ended; nothing if it runs."""
        return self.task.sentence(STATUS[number]) if number in STATUS else ""

    def picture(self, which: int) -> Picture:
        """One of them as it stands."""
        if self.statuses[which] == WAITING:
            from gymnasium.error import ResetNeeded

            raise ResetNeeded("There is no episode to show yet: call reset() before render().")
        return self.draw(which)

    @abstractmethod
    def begin(self, which: int, key: int) -> None:
        """Starts one of them in the native core."""

    @abstractmethod
    def advance(self, actions: Floats) -> tuple[Floats, NDArray[np.uint8]]:
        """Rewards and statuses after one step by actions [episode, action]."""

    @abstractmethod
    def observations(self) -> Floats:
        """What policies see [episode, observation]."""

    @abstractmethod
    def truth(self) -> dict[str, NDArray[Any]]:
        """What policies must not see."""

    @abstractmethod
    def draw(self, which: int) -> Picture:
        """A picture [height, width, 3]."""

    def close(self) -> None:  # noqa: B027
        """Lets go of what drawing needed."""
