"""Films of episodes of any environment, in the pictures that it draws itself."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.plotting.film import kind_of, write_film
from arz.tasks.gymnasium.episodes import AnyEpisodes
from arz.tasks.gymnasium.task import AnyEnvironment
from arz.tasks.screen import ADVICE, can_draw, draw_without_screen

MOST_FRAMES = 2000
USUAL_RATE = 30.0
"""Steps per second, where the environment does not say."""


def film(task: AnyEnvironment, key: int, actions: NDArray[np.float64], path: Path, *, every: int) -> None:
    """Films the episode of a key, with these actions.

    Raises:
        ValueError: the environment draws no pictures, or cannot draw here.
    """
    kind_of(path, ("gif", "mp4"), "film")
    draw_without_screen()
    episodes = AnyEpisodes(task, 1, render_mode="rgb_array")
    try:
        episodes.start(0, key)
        first = _first_picture(episodes)
        if not isinstance(first, np.ndarray) or first.ndim != 3:
            raise ValueError(f"{task.env} draws no pictures")
        shown = [np.asarray(first, np.uint8)]
        for step, action in enumerate(actions):
            episodes.step(action[None])
            if (step + 1) % every == 0 or step + 1 == len(actions):
                shown.append(np.asarray(episodes.draw(0), np.uint8))
            if len(shown) > MOST_FRAMES:
                raise ValueError(f"a film has at most {MOST_FRAMES} pictures: draw fewer (--every)")
        rate = float(episodes.environments[0].metadata.get("render_fps", USUAL_RATE))
    finally:
        episodes.close()
    steps = list(range(len(shown)))
    write_film(path, steps, lambda step: shown[step], steps[:: max(1, len(steps) // 8)], rate / every)


def _first_picture(episodes: AnyEpisodes) -> Any:
    """What an environment draws at the start of its episode."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries that look for a screen
            return episodes.draw(0)
    except ValueError:
        if "mujoco" in sys.modules and not can_draw():
            raise ValueError(f"{episodes.task.env} cannot be drawn: {ADVICE}") from None
        raise
