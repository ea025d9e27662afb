"""For all tests."""

import gc
import importlib
import os
import signal
import threading
from typing import Any

import pytest

from arz.tasks import screen
from arz.tasks.quadruped.rendering import Camera
from tests import gymnasium_support  # noqa: F401  the module of an environment is imported by who wants it

screen.draw_without_screen()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    # As in a shell that is detached: what tests start would ignore Ctrl-C too, and some of it is to be ended by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What needs a Ray cluster is for one worker, which begins with it: a cluster takes long to begin, and waits much.

    pytest-xdist 3.8 does not see its own mark `xdist_group` under pytest 9.2.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    scheduler: Any = importlib.import_module("xdist.scheduler").LoadScopeScheduling(config, log)
    scheduler._split_scope = lambda nodeid: "ray" if "test_ray.py" in nodeid else nodeid
    return scheduler


def pytest_collection_finish() -> None:
    """What is there now stays: looking for garbage need not go through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def needs_drawing() -> None:
    """Skips a test where MuJoCo cannot draw (no MuJoCo, no EGL); in CI, where it must, the test fails."""
    try:
        Camera().close()
    except ValueError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
