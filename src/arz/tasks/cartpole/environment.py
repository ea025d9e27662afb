"""Cataclysmic Cartpole as Gymnasium environments."""

from __future__ import annotations

from typing import Any

from arz.tasks.cartpole.drawing import FRAMES_PER_SECOND
from arz.tasks.cartpole.task import Cartpole
from arz.tasks.environment import SingleEnvironment, VectorEnvironment, task_of


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

    def __init__(self, num_envs: int = 1, *, render_mode: str | None = None, **variant: Any) -> None:
        super().__init__(task_of(Cartpole, variant), num_envs, render_mode)
