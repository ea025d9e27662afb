"""Evolving for the quadruped: the same promises as for cartpole, and what the commands show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arz
from arz.analysis import figures
from arz.cli import main
from arz.evaluate import fresh_episodes, record
from arz.runs import config as configs
from arz.runs.config import Config
from arz.search import pareto
from arz.search.nsga2 import Nsga2Settings
from arz.tasks.quadruped import LEGS, Quadruped
from arz.tasks.quadruped import film as walk
from tests.runs_support import ARZ, content

SMALL: dict[str, Any] = {
    "islands": 2,
    "population": 20,
    "offspring": 60,
    "initial": 100,
    "episodes": 4,
    "validate_every": 60,
    "validation_episodes": 4,
    "restart_after": 300,
    "steps": 120,
    "lineage": 200,
    "cache": 500,
    "warm_up": 20.0,
}


def small(budget: str = "1400", **changes: Any) -> Config:
    return arz.preset("quadruped-nsga2", **{**SMALL, "budget": budget, **changes})


def small_options(budget: str = "1400") -> list[str]:
    fields = {**SMALL, "budget": budget}
    return [word for name, value in fields.items() for word in (f"--{name.replace('_', '-')}", str(value))]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quadruped") / "run"
    arz.evolve(small(), folder=folder, threads=1).close()
    return folder


def test_the_small_run_has_everything_in_it(finished: Path) -> None:
    with arz.Run.open(finished) as run:
        assert run.counters.restarts > 0
        assert run.counters.hits > 0
        assert any(row["life"] > 1 for row in run.individuals)
        assert len(run.champions) >= 1
        assert run.program.memory.observations == 37


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_run_at_any_number_of_threads(finished: Path, tmp_path: Path, threads: int) -> None:
    arz.evolve(small(), folder=tmp_path / "run", threads=threads).close()
    assert content(tmp_path / "run") == content(finished)


def test_interrupted_at_every_generation_it_is_the_same_run(finished: Path, tmp_path: Path) -> None:
    run = arz.Run.create(small(), folder=tmp_path / "run", preset="custom")
    while run.evolve(should_stop=_every_second_time()) == "stopped":
        run.close()
        run = arz.Run.open(tmp_path / "run")
    run.close()
    assert content(tmp_path / "run") == content(finished)


def _every_second_time() -> Any:
    asked = iter(range(10**9))
    return lambda: next(asked) >= 1


def test_killed_and_resumed_it_is_the_same_run(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [ARZ, "evolve", "quadruped-nsga2", *small_options(), "--output", str(folder), "--quiet", "--no-test"]
    again = [ARZ, "resume", str(folder), "--quiet", "--no-test"]
    done = 0
    for words in (command, again, again):
        process = subprocess.Popen([*words, "--save-every", "0"], stdout=subprocess.DEVNULL)
        while process.poll() is None and _evaluations(folder) <= done:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = _evaluations(folder)
    assert 0 < done < 1400
    assert subprocess.run([*again, "--save-every", "0"], stdout=subprocess.DEVNULL).returncode == 0
    ours, expected = content(folder), content(finished)
    for facts in (ours["facts"], expected["facts"]):
        facts[:] = [row for row in facts if row["name"] != "preset"]
    assert ours == expected


def _evaluations(folder: Path) -> int:
    """How many are in the last checkpoint; 0 before there is one."""
    try:
        with arz.Run.open(folder) as run:
            return run.counters.evaluations
    except ValueError:
        return 0


def test_fronts_are_stored_and_are_fronts(finished: Path) -> None:
    with arz.Run.open(finished) as run:
        fronts, evaluations = run.fronts, run.counters.evaluations
        known = {row["number"] for row in run.individuals}
    assert {front.island for front in fronts} == {0, 1}
    assert fronts[-1].evaluations == evaluations
    for front in fronts:
        assert np.all(pareto.ranks(front.objectives) == 0)
        assert len(np.unique(front.objectives, axis=0)) == len(front.numbers) > 0
    assert set(fronts[-1].numbers.tolist()) <= known


def test_presets_of_the_quadruped() -> None:
    paper = arz.preset("quadruped-paper")
    assert isinstance(paper.search, Nsga2Settings)
    assert (paper.search.population, paper.search.offspring, paper.search.episodes) == (100, 1000, 32)
    assert (paper.search.islands, paper.search.restart_after, paper.search.unique) == (1, 0, False)
    assert paper.fitness.objectives == ("return", "length")
    assert (paper.memory.scalars, paper.memory.vectors, paper.memory.matrices) == (16, 16, 0)
    assert paper.variation.max_cadfs == 6
    assert paper.task == Quadruped()
    for name in ("quadruped-nsga2", "quadruped-paper"):
        preset = arz.preset(name)
        assert configs.parse(configs.render(preset)) == preset
        assert arz.preset(name, max_cadfs=0).variation.max_cadfs == 0


def test_a_run_is_shown_tested_and_plotted(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco")
    assert main(["show", str(finished)]) == 0
    assert "Laikago, a random leg breaks" in capsys.readouterr().out
    assert main(["test", str(finished), "--episodes", "6", "--json"]) == 0
    tests = json.loads(capsys.readouterr().out)["tests"]
    groups = ["batched", "20 sweeps"]  # trained with 5
    assert [(row["change"], row["task"]) for row in tests] == [(one, leg) for one in groups for leg in ("none", *LEGS)]
    assert all(row["distance"] is not None for row in tests)
    assert main(["test", str(finished), "--episodes", "2", "--engine", "mujoco"]) == 0
    printed = capsys.readouterr().out
    for word in ("mujoco", "none", *LEGS, "lasted to the end", "distance (m)"):
        assert word in printed
    assert main(["plot", str(finished), "--output", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").stat().st_size > 10_000
    assert (tmp_path / "p-front.png").stat().st_size > 10_000


@pytest.mark.usefixtures("needs_drawing")
def test_a_film_shows_the_broken_leg_in_red(finished: Path, tmp_path: Path) -> None:
    film = tmp_path / "f.gif"
    options = ["--leg", "FR", "--break-step", "10", "--every", "10", "--output", str(film)]
    assert main(["replay", str(finished), *options]) == 0
    assert film.stat().st_size > 5_000
    from PIL import Image

    with Image.open(film) as pictures:
        pictures.seek(pictures.n_frames - 1)  # type: ignore[attr-defined]
        last = np.asarray(pictures.convert("RGB"), int)
    assert np.sum((last[..., 0] > 150) & (last[..., 1] < 90) & (last[..., 2] < 80)) > 300  # the broken leg is red
    assert film.with_suffix(".png").stat().st_size > 10_000


@pytest.mark.usefixtures("needs_drawing")
def test_a_film_shows_each_leg_in_turn(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    film = tmp_path / "f.gif"
    options = ["--leg", "each", "--break-step", "10", "--every", "30", "--output", str(film)]
    assert main(["replay", str(finished), *options]) == 0
    printed = capsys.readouterr().out
    assert all(f"{leg} breaks. Return" in printed for leg in LEGS)
    from PIL import Image

    with Image.open(film) as pictures:
        pictures.seek(pictures.n_frames - 1)  # type: ignore[attr-defined]
        last = np.asarray(pictures.convert("RGB"), int)
    is_red = (last[..., 0] > 150) & (last[..., 1] < 90) & (last[..., 2] < 80)
    height, width = is_red.shape
    for rows in (slice(0, height // 2), slice(height // 2, height)):
        for columns in (slice(0, width // 2), slice(width // 2, width)):
            assert np.sum(is_red[rows, columns]) > 20  # in each of four pictures


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["replay", "RUN", "--leg", "each", "--viewer"], "--viewer shows one episode at a time"),
        (["evolve", "quadruped-nsga2", "--tournament", "3"], "tournament belongs to another kind of search than nsga2"),
        (["evolve", "quadruped-nsga2", "--cadfs", "7"], "max_cadfs must be 0 to 6"),
        (["evolve", "quadruped-nsga2", "--leg", "LF"], "leg must be one of"),
        (["evolve", "quadruped-nsga2", "--objectives", '["return", "hight"]'], "objectives must be among"),
        (["evolve", "quadruped-nsga2", "--objectives", '[["return"]]'], "objectives must be a list of different names"),
        (["evolve", "quadruped-nsga2", "--vectors", "3"], "vectors must be 5 to 64"),
        (["test", "RUN", "--x-limit", "1"], "--x-limit is not for this task"),
        (["replay", "RUN", "--change", "sudden"], "--change and --task are for cartpole"),
        (["replay", "RUN", "--viewer"], "MuJoCo cannot open its viewer here"),
        (["replay", "RUN", "--break-step", "120"], "break_step must be a step from 0 to 119"),
    ],
)
def test_mistakes_are_one_sentence(
    finished: Path,
    tmp_path: Path,
    command: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    before = sorted(os.listdir(finished))
    words = [str(finished) if word == "RUN" else word for word in command]
    extra = ["--output", str(tmp_path / "out")] if command[0] == "evolve" else []
    assert main([*words, *extra]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.err.count("\n") == 1
    assert sorted(os.listdir(finished)) == before
    assert not (tmp_path / "out").exists()


def test_a_walk_is_drawn_with_its_break(finished: Path) -> None:
    with arz.Run.open(finished) as run:
        program = run.champion
    task = Quadruped(leg="RL", break_step=15, steps=60)
    rows = {name: values[0] for name, values in record(program, task, fresh_episodes(1)).items()}
    assert walk.length(rows) > 15
    assert walk.broken(rows) == ("RL", 15)
    figure = walk.walk_figure(rows, "A walk", ending="It fell.")
    words = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert any("RL breaks" in word for word in words)
    whole = {name: values[0] for name, values in record(program, Quadruped(leg="none"), fresh_episodes(1)).items()}
    assert walk.broken(whole) is None
    with pytest.raises(ValueError, match="two objectives"):
        figures.front_figure([], ("return",), "")
