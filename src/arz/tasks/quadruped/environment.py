"""Laikago leg-breaking as Gymnasium environments."""

from __future__ import annotations

from typing import Any

from arz.tasks.environment import SingleEnvironment, VectorEnvironment, task_of
from arz.tasks.quadruped.task import RANDOM, STEP, Quadruped

FRAMES_PER_SECOND = round(1 / STEP)


class LaikagoLegBreak(SingleEnvironment):
    """A quadruped that shall walk at 1 m/s, and go on when one of its legs loses all its torque.

    The observation has 37 numbers: quaternion (x, y, z, w), position, joint angles, angular velocity (in the trunk's
    axes), velocity (in the world's), joint velocities. The action has 12, the wanted joint angles relative to the
    nominal pose, in [-0.4, 0.4]; beyond, they are clipped. An episode is `terminated` when the robot falls or goes
    more than 3 m aside, or an action is not a finite number, and `truncated` when its time is over. `info` tells what a
    policy must not see: which `leg` breaks, at which `break_step`, whether it `is_broken`, the `time` in steps, the
    `episode_key` that names the episode and, at its end, a sentence as `status`.

    Args:
        engine: "batched" (our simulator), "double" (the same in double precision) or "mujoco".
        leg: "random", "none", "FR", "FL", "RR" or "RL".
        break_step: the step at which it breaks, or None for a random one.
        render_mode: None, "rgb_array" or "human"; both need MuJoCo.
        variant: the other fields of `Quadruped`: contact_iterations, steps, friction, sensor_noise and so on.

    Raises:
        ValueError: a field has a value that the task does not know, or MuJoCo is needed and not installed.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        *,
        engine: str = "batched",
        leg: str = "random",
        break_step: int | None = None,
        render_mode: str | None = None,
        **variant: Any,
    ) -> None:
        super().__init__(_task(engine, leg, break_step, variant), render_mode)


class LaikagoLegBreakVector(VectorEnvironment):
    """Many episodes of Laikago leg-breaking side by side, each as in `LaikagoLegBreak`.

    An episode that has ended starts anew in the next step, which ignores its action and gives it the reward 0
    (Gymnasium's `AutoresetMode.NEXT_STEP`). Seeded with `seed`, episode i goes as in a single environment seeded
    with `seed + i`.

    Args:
        num_envs: how many episodes.
        engine: as in `LaikagoLegBreak`, and so are leg and break_step.
        leg: which leg breaks.
        break_step: when.
        render_mode: None or "rgb_array".
        variant: the other fields of `Quadruped`.
    """

    metadata: dict[str, Any] = {**VectorEnvironment.metadata, "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        engine: str = "batched",
        leg: str = "random",
        break_step: int | None = None,
        render_mode: str | None = None,
        **variant: Any,
    ) -> None:
        super().__init__(_task(engine, leg, break_step, variant), num_envs, render_mode)


def _task(engine: str, leg: str, break_step: int | None, variant: dict[str, Any]) -> Quadruped:
    step = RANDOM if break_step is None else break_step
    return task_of(Quadruped, {"engine": engine, "leg": leg, "break_step": step, **variant})
