"""A window for environments whose `render_mode` is "human"."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arz.names import install


class Window:
    """A window that shows pictures, at most `frames_per_second` of them.

    Raises:
        DependencyNotInstalled: pygame is missing.
    """

    def __init__(self, frames_per_second: int) -> None:
        try:
            import pygame
        except ImportError as missing:
            from gymnasium.error import DependencyNotInstalled

            raise DependencyNotInstalled(f"A window needs pygame: {install('human')}") from missing
        self._pygame = pygame
        self._screen: pygame.Surface | None = None
        self._clock = pygame.time.Clock()
        self._pace = frames_per_second

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Shows a picture [height, width, 3] and waits for its time."""
        pygame = self._pygame
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption("ARZ")
            self._screen = pygame.display.set_mode((picture.shape[1], picture.shape[0]))
        pygame.surfarray.blit_array(self._screen, picture.swapaxes(0, 1))  # it wants [x, y]
        pygame.event.pump()  # else the desktop takes the window for one that hangs
        pygame.display.flip()
        self._clock.tick(self._pace)

    def close(self) -> None:
        """Closes the window; the next picture opens it again."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
