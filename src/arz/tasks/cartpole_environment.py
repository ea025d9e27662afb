"""Cataclysmic Cartpole as Gymnasium environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.native import core
from arz.tasks.cartpole import TRUTH, Cartpole
from arz.tasks.drawing import FRAMES_PER_SECOND, scene
from arz.tasks.environment import Episodes, Floats, Frame, SingleEnvironment, VectorEnvironment, task_of
from arz.tasks.task import Task

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

    def draw(self, which: int) -> Frame:
        """A picture."""
        truth = dict(zip(TRUTH, self._core.truth()[which].tolist(), strict=True))
        return scene(truth, self.task, int(self.times[which]), note=self.ending(int(self.statuses[which])))


class CataclysmicCartpole(SingleEnvironment):
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
    episodes_class = CartpoleEpisodes
    most_action = Cartpole.most_action

    def __init__(self, *, render_mode: str | None = None, **variant: Any) -> None:
        super().__init__(task_of(Cartpole, variant), render_mode)


class CataclysmicCartpoleVector(VectorEnvironment):
    """Many episodes of Cataclysmic Cartpole side by side, each as in `CataclysmicCartpole`.

    An episode that has ended starts anew in the next step, which ignores its action and gives it the reward 0
    (Gymnasium's `AutoresetMode.NEXT_STEP`). Seeded with `seed`, episode i goes as in a single environment seeded
    with `seed + i`.

    Args:
        num_envs: how many episodes.
        render_mode: None or "rgb_array".
        variant: the fields of `Cartpole`, as in `CataclysmicCartpole`.
    """

    metadata: dict[str, Any] = {**VectorEnvironment.metadata, "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012
    episodes_class = CartpoleEpisodes
    most_action = Cartpole.most_action

    def __init__(self, num_envs: int = 1, *, render_mode: str | None = None, **variant: Any) -> None:
        super().__init__(task_of(Cartpole, variant), num_envs, render_mode)
