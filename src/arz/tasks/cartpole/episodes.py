"""Episodes of Cataclysmic Cartpole, stepped from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.tasks.base import Task
from arz.tasks.cartpole.task import TRUTH, Cartpole
from arz.tasks.episodes import Episodes
from arz.typing import Floats, Picture

TOLD = {name: column for column, name in enumerate(TRUTH) if name not in ("action", "reward")}
"""What `info` tells of the truth, and where it stands: all but what the caller of `step` knows."""


class CartpoleEpisodes(Episodes):
    """Episodes of Cataclysmic Cartpole."""

    task: Cartpole

    def __init__(self, task: Task, count: int) -> None:
        super().__init__(task, count)
        self._core = core.CartpoleStepper(self.task.native, count)

    def begin(self, which: int, key: int) -> None:
        """Starts one of them in the native core."""
        self._core.start(which, key)

    def advance(self, actions: Floats) -> tuple[Floats, NDArray[np.uint8]]:
        """Rewards and statuses after one step."""
        return self._core.step(actions.reshape(-1))

    def observations(self) -> Floats:
        """What policies see."""
        return self._core.observations()

    def truth(self) -> dict[str, NDArray[Any]]:
        """The state and the parameters."""
        truth = self._core.truth()
        return {name: truth[:, at].copy() for name, at in TOLD.items()}

    def draw(self, which: int) -> Picture:
        """A picture."""
        from arz.tasks.cartpole.drawing import scene

        truth = dict(zip(TRUTH, self._core.truth()[which].tolist(), strict=True))
        return scene(truth, self.task, int(self.times[which]), note=self.ending(int(self.statuses[which])))
