"""For all tests."""

import os
import signal
import threading

import pytest

from arz.tasks import screen
from arz.tasks.rendering import Camera
from tests import gymnasium_support  # noqa: F401  the module of an environment is imported by who wants it

screen.draw_without_screen()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # As in a shell that is detached: what tests start would ignore Ctrl-C too, and some of it is to be ended by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def needs_drawing() -> None:
    """Skips a test where MuJoCo cannot draw (no MuJoCo, no EGL); in CI, where it must, the test fails."""
    try:
        Camera().close()
    except ValueError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
