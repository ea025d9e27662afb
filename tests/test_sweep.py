"""Sweeps: every point once, the best repeated, and nothing done twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import optuna
import pytest

import arz
from arz.cli import main
from arz.runs.config import Config
from arz.runs.sweep import PAPER, Sweep, make_run

GRID = {"step_size": (0.01, 0.1), "noise": (0.05, 0.2, 0.5)}
FIELDS: dict[str, Any] = {
    "population": 7,
    "top": 2,
    "episodes": 2,
    "validate_every": 7,
    "steps": 40,
    "validation_episodes": 2,
}


def small() -> Config:
    return arz.preset("ars-cartpole", **FIELDS, budget="14")


def options(folder: Path) -> list[str]:
    fields = [word for name, value in FIELDS.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    grid = [word for name, values in GRID.items() for word in ("--grid", f"{name}={','.join(map(str, values))}")]
    return ["sweep", "ars-cartpole", "--output", str(folder), "--budget", "14", *fields, *grid]


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_point_is_tried_once(tmp_path: Path, jobs: int) -> None:
    made = Sweep(small(), GRID, tmp_path / "sweep")
    done: list[Any] = []
    found = made.run(jobs=jobs, on_done=done.append)
    assert [tried.settings for tried in found] == made.points
    assert len(done) == len(made.points) == 6
    for tried in found:
        with arz.Run.open(tried.folder) as run:
            assert run.champions[-1]["score"] == tried.score
            assert {name: getattr(run.config.search, name) for name in GRID} == tried.settings
    study = optuna.load_study(study_name="sweep", storage=f"sqlite:///{tmp_path}/sweep/sweep.sqlite")
    assert study.best_value == max(tried.score for tried in found)
    done.clear()
    assert made.run(jobs=jobs, on_done=done.append) == found
    assert done == []


def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    made = Sweep(small(), GRID, tmp_path / "sweep")
    asked = iter([False] * 7)
    assert 0 < len(made.run(should_stop=lambda: next(asked, True))) < 6
    whole = made.run()
    other = Sweep(small(), GRID, tmp_path / "other").run(jobs=2)
    assert [(tried.settings, tried.score) for tried in whole] == [(tried.settings, tried.score) for tried in other]


def test_the_command_tries_repeats_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sweep"
    assert main([*options(folder), "--policy", "mlp", "--repeats", "2", "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    assert "Best: step_size" in said
    assert (folder / "sweep.png").stat().st_size > 10_000
    assert main([*options(folder), "--policy", "mlp", "--repeats", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["tried"]) == 6
    assert [row["seed"] for row in found["repeats"]] == [2, 3, 4]
    best = max(found["tried"], key=lambda row: row["score"])
    assert found["best"] == best["settings"]
    with arz.Run.open(folder / "best-003") as run:
        assert run.seed == 3
        assert {name: getattr(run.config.search, name) for name in GRID} == best["settings"]


def test_the_papers_grid_is_the_usual_one() -> None:
    sizes = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5]
    assert {name: list(values) for name, values in PAPER["ars"].items()} == {"step_size": sizes, "noise": sizes}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--grid", "nois=1"], "there is no field 'nois'"),
        (["--grid", "top=40"], "top must be at most"),
        (["--grid", "noise"], "--grid takes NAME=VALUE"),
        (["--jobs", "0"], "--jobs must be"),
        (["--seed", "-1", "--grid", "noise=0.1"], "a seed is a whole number"),
        (
            ["--grid", "noise=" + ",".join(["0.1"] * 200), "--grid", "step_size=" + ",".join(["0.1"] * 200)],
            "at most 10000",
        ),
        (["--repeats", "-1"], "--repeats must be"),
    ],
)
def test_mistakes_are_one_sentence(
    changes: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "ars-cartpole", "--output", str(tmp_path / "x"), *changes]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_grid_is_needed_where_there_is_no_usual_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "cartpole-regularized", "--output", str(tmp_path / "x")]) == 2
    assert "a sweep needs a grid" in capsys.readouterr().err


def test_another_sweep_in_the_folder_is_refused(tmp_path: Path) -> None:
    Sweep(small(), {"noise": (0.1,)}, tmp_path / "sweep").run()
    with pytest.raises(ValueError, match="a sweep with other settings"):
        Sweep(small(), {"noise": (0.2,)}, tmp_path / "sweep").run()
    folder = tmp_path / "sweep" / "point-000"
    with arz.Run.open(folder) as run:
        config = run.config
    assert make_run(config, 1, folder, "x", lambda: False) is not None
    for other, seed in ((config, 7), (small(), 1)):
        with pytest.raises(ValueError, match="a run with other settings"):
            make_run(other, seed, folder, "x", lambda: False)


def test_without_optuna_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ValueError, match=r"pip install '.\[sweep\]'"):
        Sweep(small(), GRID, tmp_path / "sweep").run()


def test_fields_that_are_lists_and_budgets_can_be_swept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = [word for name, value in FIELDS.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = ["sweep", "ars-cartpole", "--policy", "mlp", "--output", str(tmp_path / "sweep"), *fields]
    for _ in range(2):
        assert main([*command, "--grid", "layers=[4, 2],[8]", "--grid", "budget=7,14", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [row["settings"]["layers"] for row in found["tried"]] == [[4, 2], [4, 2], [8], [8]]
        assert [row["settings"]["budget"] for row in found["tried"]] == ["7", "14", "7", "14"]


def test_without_champions_there_is_no_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*options(tmp_path / "sweep"), "--validate-every", "1000", "--repeats", "1"]
    assert main(command) == 0
    assert "No run has a champion" in capsys.readouterr().out


def test_a_damaged_study_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(ValueError, match="cannot be used"):
        Sweep(small(), GRID, tmp_path / "sweep").run()
