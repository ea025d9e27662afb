"""Tasks whose episodes the native core runs in lock step, one in each lane (`native/tasks/rollout.hpp`).

Such a task is a class in C++ that `bind_lane_task` makes known, and here a record of its variant: `settings` is what
the core wants to know of it, `make_settings`, `stepper` and `truth` are what its binding exports. The rest follows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.tasks.base import Evaluation, Policies, Task
from arz.tasks.episodes import Episodes
from arz.typing import Floats, Keys, Picture

OF_THE_STEP = ("action", "reward")
"""What the caller of `step` knows, so that `info` does not tell it."""


class LaneTask(Task):
    """A task over lanes."""

    truth: ClassVar[tuple[str, ...]]
    """What there is to know about an episode at each step: the columns of the core."""
    stepper: ClassVar[Any]
    """What steps its episodes in the core."""

    make_settings: ClassVar[Callable[..., Any]]
    """What makes its settings in the core: a static method."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What the core wants to know of the variant: the arguments of `make_settings`."""

    @cached_property
    def native(self) -> Any:
        """The variant, as the native core knows it."""
        return self.make_settings(**self.settings)

    def rollout(
        self,
        policies: Policies,
        episodes: Keys,
        threads: int,
        *,
        only_effective: bool = True,
        compact: bool = True,
    ) -> Evaluation:
        """Runs every policy through every episode.

        Args:
            policies: what to evaluate.
            episodes: their keys.
            threads: how many to use.
            only_effective: leave out code that cannot influence an action; changes nothing but the time.
            compact: move running episodes together as others end; changes nothing but the time.
        """
        found = core.rollout(
            policies, self.native, episodes, threads=threads, only_effective=only_effective, compact=compact
        )
        return Evaluation(*found)

    def record(self, policy: Policies, episodes: Keys) -> dict[str, Floats]:
        """The columns of the core."""
        rows = core.recorded_rollout(policy, index=0, settings=self.native, episodes=episodes)
        return {name: rows[:, :, column] for column, name in enumerate(self.truth)}

    def stepped(self, count: int) -> Episodes:
        """So many episodes side by side."""
        return LaneEpisodes(self, count)


class LaneEpisodes(Episodes):
    """Episodes of such a task, stepped from outside."""

    task: LaneTask

    def __init__(self, task: Task, count: int) -> None:
        super().__init__(task, count)
        self._core = self.task.stepper(self.task.native, count)

    def begin(self, which: int, key: int) -> None:
        """Starts one of them in the native core."""
        self._core.start(which, key)

    def advance(self, actions: Floats) -> tuple[Floats, NDArray[np.uint8]]:
        """Rewards and statuses after one step."""
        rewards, statuses = self._core.step(actions)
        return rewards, statuses

    def observations(self) -> Floats:
        """What policies see."""
        seen: Floats = self._core.observations()
        return seen

    def truth(self) -> dict[str, NDArray[Any]]:
        """The state and the parameters."""
        truth = self._core.truth()
        return {name: truth[:, at].copy() for at, name in enumerate(self.task.truth) if name not in OF_THE_STEP}

    def draw(self, which: int) -> Picture:
        """A picture.

        Raises:
            ValueError: there are none of this task.
        """
        raise ValueError(f"there are no pictures of {self.task.title}")
