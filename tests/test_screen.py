"""Where there is no screen, films are drawn all the same, quietly, and what the user chose stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import arz
from arz.tasks import screen
from arz.tasks.gymnasium import AnyEnvironment
from tests.runs_support import ARZ

CHOSEN = ("MUJOCO_GL", "SDL_VIDEODRIVER", "SDL_AUDIODRIVER", "PYGAME_HIDE_SUPPORT_PROMPT")
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
PLAIN = {name: value for name, value in os.environ.items() if name not in (*CHOSEN, *SCREENS, "XDG_RUNTIME_DIR")}
"""A machine without a screen, on which nobody has chosen anything."""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in (*CHOSEN, *SCREENS):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards, whatever is done to it
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "platform", "linux")
    return monkeypatch


@pytest.mark.parametrize(
    ("libraries", "way"), [({"EGL", "OSMesa"}, "egl"), ({"EGL"}, "egl"), ({"OSMesa"}, "osmesa"), (set(), None)]
)
def test_mujoco_is_told_of_what_is_there(libraries: set[str], way: str | None, bare: pytest.MonkeyPatch) -> None:
    bare.setattr("ctypes.util.find_library", lambda name: name if name in libraries else None)
    screen.draw_without_screen()
    assert os.environ.get("MUJOCO_GL") == way
    assert screen.can_draw() == (way is not None)
    assert (os.environ["SDL_VIDEODRIVER"], os.environ["PYGAME_HIDE_SUPPORT_PROMPT"]) == ("dummy", "1")


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_used_if_there_is_one(name: str, bare: pytest.MonkeyPatch) -> None:
    bare.setenv(name, ":0")
    screen.draw_without_screen()
    assert not {"MUJOCO_GL", "SDL_VIDEODRIVER", "SDL_AUDIODRIVER"} & os.environ.keys()
    assert screen.can_draw()


def test_what_the_user_chose_stays(bare: pytest.MonkeyPatch) -> None:
    chosen = {"MUJOCO_GL": "osmesa", "SDL_VIDEODRIVER": "offscreen", "PYGAME_HIDE_SUPPORT_PROMPT": ""}
    for name, value in chosen.items():
        bare.setenv(name, value)
    screen.draw_without_screen()
    assert {name: os.environ[name] for name in chosen} == chosen


def replayed(env: str, folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Films an episode of a program that does nothing, in a process of its own."""
    task = AnyEnvironment(env).settled()
    sizes = (
        f"memory(observations={task.observations}, actions={task.actions}, scalars=4, vectors=5, matrices=0, indices=1)"
    )
    (folder / "p.arz").write_text(f"{sizes}\n\ndef GetAction(obs, action):\n    s0 = sum(obs)\n")
    words = ["replay", str(folder / "p.arz"), "--env", env, "--every", "20", "--output", str(folder / "a.gif")]
    code = "; ".join([*before, "import sys", "from arz.cli import main", f"sys.exit(main({words!r}))"])
    command = [sys.executable, "-c", code] if before else [ARZ, *words]
    return subprocess.run(command, env=PLAIN, capture_output=True, text=True, timeout=300)


@pytest.mark.usefixtures("needs_drawing")
def test_robots_of_gymnasium_are_filmed_without_a_screen(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    done = replayed("InvertedPendulum-v5", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF8")


def test_films_of_pygame_make_no_noise(tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    done = replayed("CartPole-v1", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Return ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is a screen")
def test_a_machine_that_cannot_draw_says_what_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("imageio")
    pytest.importorskip("mujoco")
    nothing = "import ctypes.util; ctypes.util.find_library = lambda name: None"
    done = replayed("InvertedPendulum-v5", tmp_path, nothing)
    assert done.returncode == 2
    assert done.stderr == f"arz: InvertedPendulum-v5 cannot be drawn: {screen.ADVICE}\n"
    quadruped = str(Path(arz.__file__).parent.parent.parent / "examples" / "paper_quadruped.arz")
    words = ["replay", quadruped, "--output", str(tmp_path / "b.gif")]
    code = f"{nothing}; import sys; from arz.cli import main; sys.exit(main({words!r}))"
    failed = subprocess.run([sys.executable, "-c", code], env=PLAIN, capture_output=True, text=True, timeout=300)
    assert (failed.returncode, failed.stderr) == (2, f"arz: MuJoCo cannot draw here: {screen.ADVICE}\n")
