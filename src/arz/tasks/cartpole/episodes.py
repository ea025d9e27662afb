"""Episodes of Cataclysmic Cartpole, stepped from outside, with pictures."""

from __future__ import annotations

from arz.tasks.cartpole.task import TRUTH, Cartpole
from arz.tasks.lanes import LaneEpisodes
from arz.typing import Picture


class CartpoleEpisodes(LaneEpisodes):
    """Episodes of Cataclysmic Cartpole."""

    task: Cartpole

    def draw(self, which: int) -> Picture:
        """A picture."""
        from arz.tasks.cartpole.drawing import scene

        truth = dict(zip(TRUTH, self._core.truth()[which].tolist(), strict=True))
        return scene(truth, self.task, int(self.times[which]), note=self.ending(int(self.statuses[which])))
