"""Drawing where there is no screen: what MuJoCo and pygame need for that, set before they are asked to draw.

Both look at the environment variables of the process. What the user has set stays as it is.
"""

from __future__ import annotations

import os
import sys

LIBRARIES = {"egl": "EGL", "osmesa": "OSMesa"}
"""Ways of MuJoCo to draw without a screen, the better one first, and the library that each needs."""
ADVICE = (
    "on a machine without a screen MuJoCo needs EGL (apt install libegl1) or OSMesa (apt install libosmesa6), "
    "and uses the one that the environment variable MUJOCO_GL names (egl or osmesa)"
)


def has_screen() -> bool:
    """Whether there is a screen to draw on, as far as can be known."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def can_draw() -> bool:
    """Whether MuJoCo has a screen, or a way to do without; to be asked after `draw_without_screen`."""
    return has_screen() or bool(os.environ.get("MUJOCO_GL"))


def draw_without_screen() -> None:
    """Tells MuJoCo and pygame, where there is no screen, to do without, and pygame to keep its greeting to itself.

    MuJoCo is told only of what is there: it cannot even be imported where the way that it is told does not work.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    if has_screen():
        return
    from ctypes.util import find_library  # which imports much

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
    found = next((way for way, library in LIBRARIES.items() if find_library(library)), None)
    if found is not None:
        os.environ.setdefault("MUJOCO_GL", found)
