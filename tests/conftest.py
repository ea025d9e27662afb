"""For all tests."""

import os

import pytest

from arz.tasks import screen
from arz.tasks.quadruped.rendering import Camera
from tests import gymnasium_support  # noqa: F401  the module of an environment is imported by who wants it

screen.draw_without_screen()


@pytest.fixture
def needs_drawing() -> None:
    """Skips a test where MuJoCo cannot draw (no MuJoCo, no EGL); in CI, where it must, the test fails."""
    try:
        Camera().close()
    except ValueError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
