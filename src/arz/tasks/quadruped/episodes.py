"""Episodes of Laikago leg-breaking, stepped from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.tasks.base import Task
from arz.tasks.episodes import Episodes
from arz.tasks.quadruped.task import LEGS, STEP, Quadruped
from arz.typing import Floats, Picture

if TYPE_CHECKING:
    from arz.tasks.quadruped.rendering import Camera


class QuadrupedEpisodes(Episodes):
    """Episodes of Laikago leg-breaking."""

    task: Quadruped

    def __init__(self, task: Task, count: int) -> None:
        super().__init__(task, count)
        self._core = core.QuadrupedStepper(self.task.native, self.task.native_engine(), count)
        self._camera: Camera | None = None

    def begin(self, which: int, key: int) -> None:
        """Starts one of them in the native core."""
        self._core.start(which, key)

    def advance(self, actions: Floats) -> tuple[Floats, NDArray[np.uint8]]:
        """Rewards and statuses after one step."""
        return self._core.step(actions)

    def observations(self) -> Floats:
        """What policies see: the whole state of the robot, as its sensors tell it."""
        return self._core.observations()

    def truth(self) -> dict[str, NDArray[Any]]:
        """Which leg breaks (a name, or "none"), at which step, and whether it has."""
        legs = np.array([LEGS[leg] if leg >= 0 else "none" for leg, _ in self._core.breaks()], object)
        steps = np.array([step for _, step in self._core.breaks()], np.int64)
        return {"leg": legs, "break_step": steps, "is_broken": (legs != "none") & (self.times > steps)}

    def draw(self, which: int) -> Picture:
        """A picture, by MuJoCo; the broken leg is red."""
        from arz.tasks.quadruped.rendering import Camera

        self._camera = self._camera or Camera()
        told = self.truth()
        broken = str(told["leg"][which]) if told["is_broken"][which] else ""
        words = f"{self.times[which] * STEP:5.2f} s   " + (f"{broken} is broken   " if broken else "")
        state = self._core.states()[which]
        return self._camera.picture(state, broken, words + self.ending(int(self.statuses[which])))

    def close(self) -> None:
        """Lets go of the renderer."""
        if self._camera is not None:
            self._camera.close()
