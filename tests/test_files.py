"""Files are whole or not there, errors name what was asked for, and nothing inside a run leads out of it."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import arz
from arz.cli import main
from arz.files import folder_inside, whole_file, write_whole
from arz.tasks.cartpole import film as replay
from tests.runs_support import small
from tests.test_figures import PAPER, made_up


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files") / "run"
    arz.evolve(small("3000", steps=60), folder=folder).close()
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A run of a stranger, beside a folder that is none of its business."""
    shutil.copytree(made, tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    for name in ("kernel.png", "registers.png", "states.png", "calls.png", "units.png"):
        (tmp_path / "elsewhere" / name).write_text("mine")
    return tmp_path / "run"


COMMANDS = {
    "explain": ["explain"],
    "trace": ["trace"],
    "ablate": ["ablate", "--episodes", "2"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_linked_folder_of_a_run_is_not_followed(name: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = run.parent / "elsewhere"
    before = {path.name: path.read_text() for path in elsewhere.iterdir()}
    (run / name).symlink_to(elsewhere)
    assert main([COMMANDS[name][0], str(run), *COMMANDS[name][1:]]) == 2
    assert f"{run / name} is a link" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == before
    (run / name).unlink()
    (run / name).symlink_to(run.parent / "not there")
    assert main([COMMANDS[name][0], str(run), *COMMANDS[name][1:]]) == 2
    assert not (run.parent / "not there").exists()
    (run / name).unlink()
    (run / name).write_text("a file")
    assert main([COMMANDS[name][0], str(run), *COMMANDS[name][1:]]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["explain"], ["explain/flow.svg", "explain/explain.md", "explain/kernel.png"]),
        (["trace"], ["trace/actions.png", "trace/trace.csv", "trace/program.arz", "trace/units.png"]),
        (["ablate", "--episodes", "2"], ["ablate/ablation.png", "ablate/smallest.arz"]),
        (["plot"], ["progress.png"]),
        (["test"], ["test.png"]),
        (["replay", "--every", "50"], ["replay.gif", "replay.png"]),
    ],
)
def test_linked_files_of_a_run_are_replaced_and_not_followed(words: list[str], names: list[str], run: Path) -> None:
    mine = run.parent / "elsewhere" / "kernel.png"
    for name in names:
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(mine)
    assert main([words[0], str(run), *words[1:]]) == 0
    assert mine.read_text() == "mine"
    assert not any((run / name).is_symlink() for name in names)


def test_the_folder_of_a_run_may_itself_be_reached_by_a_link(run: Path) -> None:
    (run.parent / "latest").symlink_to(run)
    assert main(["trace", str(run.parent / "latest")]) == 0
    assert (run / "trace" / "actions.png").exists()
    assert folder_inside(run, "new") == run / "new"
    assert not (run / "new").exists()


def test_errors_name_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as full, whole_file(tmp_path / "a.png"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "a.png")
    with pytest.raises(OSError, match="Denied") as denied, whole_file(tmp_path / "a.png") as beside:
        raise PermissionError(errno.EACCES, "Denied", str(beside))
    assert isinstance(denied.value, PermissionError)
    assert denied.value.filename == str(tmp_path / "a.png")
    with pytest.raises(OSError, match="Denied") as other, whole_file(tmp_path / "a.png"):
        raise PermissionError(errno.EACCES, "Denied", "another.txt")
    assert other.value.filename == "another.txt"
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsADirectoryError) as folder:
        write_whole(tmp_path / "folder.png", "text")
    assert (folder.value.filename, folder.value.filename2) == (str(tmp_path / "folder.png"), None)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files, even from root")
@pytest.mark.parametrize(
    "words",
    [
        ["replay", "--every", "100", "--output", "/proc/a.gif"],
        ["replay", "--every", "100", "--output", "/proc/a.mp4"],
        ["test", "--episodes", "1", "--figure", "/proc/a.png"],
    ],
)
def test_a_folder_that_takes_nothing_gets_one_line(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([words[0], str(PAPER), *words[1:]]) == 2
    assert capfd.readouterr().err == f"arz: {words[-1]}: No such file or directory\n"


def test_what_ffmpeg_cannot_write_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: str, *_: object, **__: object) -> Iterator[None]:
        yield
        raise OSError(f"[Errno 32] Broken pipe\n\nFFMPEG COMMAND:\nffmpeg -y {path}\n")

    monkeypatch.setattr("imageio_ffmpeg.write_frames", failing)
    with pytest.raises(ValueError, match="ffmpeg could not write the film") as failed:
        replay.film(made_up(), tmp_path / "a.mp4", x_limit=0.4)
    assert "\n" not in str(failed.value)
    assert list(tmp_path.iterdir()) == []
