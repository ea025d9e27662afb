"""Pictures of the Laikago, drawn by MuJoCo, with the broken leg in red and words below."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.plain import first_line
from arz.tasks.quadruped.mujoco_model import LEGS, load_model, load_mujoco
from arz.tasks.screen import ADVICE, can_draw, has_screen

SIZE = (640, 400)
BAND = 34
"""Height of the line of words."""
RED = (0.85, 0.2, 0.1, 1.0)
PARTS = ("motor", "thigh", "shank", "toe")


class Camera:
    """Walks beside the robot and takes pictures.

    Args:
        size: width and height of a picture.

    Raises:
        ValueError: MuJoCo is not installed, or cannot draw here.
    """

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self._mujoco = load_mujoco()
        self._size = size
        self._model = load_model()
        self._data = self._mujoco.MjData(self._model)
        self._usual = self._model.geom_rgba.copy()
        width, height = size
        if not can_draw():
            raise ValueError(f"MuJoCo cannot draw here: {ADVICE}")
        try:
            self._renderer: Any = self._mujoco.Renderer(self._model, height - BAND, width)
        except Exception as error:
            raise ValueError(f"MuJoCo cannot draw here ({first_line(error)}): {ADVICE}") from None

    def picture(self, state: NDArray[np.float64], broken: str = "", words: str = "") -> NDArray[np.uint8]:
        """The robot in this state (37 numbers), seen from its right, as [height, width, 3]."""
        set_pose(self._data, state)
        self._model.geom_rgba[:] = self._usual
        if broken in LEGS:
            for part in PARTS:
                self._model.geom(f"{broken}_{part}").rgba = RED
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_comPos(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, camera="side")
        drawn = self._renderer.render()
        self._model.geom_rgba[:] = self._usual
        return np.concatenate([drawn, _band(self._size[0], words)])

    def close(self) -> None:
        """Lets go of the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def play(states: NDArray[np.float64], broken: str, since: int, seconds_per_step: float) -> None:
    """Plays the states of an episode [step, 37] in MuJoCo's interactive viewer, in a loop until it is closed.

    Args:
        states: of the robot.
        broken: the leg that breaks, shown in red...
        since: ...from this step on.
        seconds_per_step: how long a step is.

    Raises:
        ValueError: MuJoCo is not installed, or there is no screen.
    """
    if not has_screen():
        raise ValueError("MuJoCo cannot open its viewer here: there is no screen; leave --viewer out to get a film")
    mujoco = load_mujoco()
    from mujoco import viewer

    model = load_model()
    data = mujoco.MjData(model)
    usual = model.geom_rgba.copy()
    try:
        window = viewer.launch_passive(model, data)
    except Exception as error:
        raise ValueError(f"MuJoCo cannot open its viewer here: {error}") from None
    with window:
        step = 0
        while window.is_running():
            began = time.monotonic()
            with window.lock():
                set_pose(data, states[step])
                model.geom_rgba[:] = usual
                if broken in LEGS and step >= since:
                    for part in PARTS:
                        model.geom(f"{broken}_{part}").rgba = RED
                mujoco.mj_forward(model, data)
            window.sync()
            step = (step + 1) % len(states)
            time.sleep(max(0.0, seconds_per_step - (time.monotonic() - began)))


def set_pose(data: Any, state: NDArray[np.float64]) -> None:
    """Puts the robot of MuJoCo into a state of 37 numbers."""
    data.qpos[:3], data.qpos[3], data.qpos[4:7], data.qpos[7:] = state[4:7], state[3], state[:3], state[7:19]
    data.qvel[:3], data.qvel[3:6], data.qvel[6:] = state[22:25], state[19:22], state[25:]


def _band(width: int, words: str) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw, ImageFont

    band = Image.new("RGB", (width, BAND), "white")
    font = ImageFont.load_default(0.5 * BAND)
    ImageDraw.Draw(band).text((12, BAND / 2), words, fill="black", font=font, anchor="lm")
    return np.asarray(band, np.uint8)
