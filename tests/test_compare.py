"""Methods side by side: what is said follows from the runs, and what cannot be compared gets a sentence."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.lines import Line2D

import arz
from arz.analysis import comparison, statistics
from arz.analysis.comparison import Comparison
from arz.analysis.comparison_tables import usual_success
from arz.cli import main
from arz.runs.entries import Entry, entry_of, from_lines, to_lines
from tests.runs_support import small

TESTS = ("sudden all", "continuous all")


def entry(method: str = "a", seed: int = 1, scores: tuple[float, float] = (700.0, 800.0), **changes: Any) -> Entry:
    curve = {name: [1.0, 2.0] for name in ("evaluations", "steps", "seconds", "score")}
    made = Entry(
        method, seed, "all", "{}", 10, 1000, 1.0, sum(scores), 5, dict(zip(TESTS, scores, strict=True)), 3, 4, curve
    )
    return replace(made, **changes)


def many() -> list[Entry]:
    draws = np.random.default_rng(1)
    return [
        entry(method, seed, tuple(draws.normal(mean, 50, 2).round(2)))
        for method, mean in (("a", 700), ("b", 900), ("c", 910))
        for seed in range(8)
    ]


def test_numbers_are_those_of_the_statistics() -> None:
    made = Comparison.of(many(), 850.0)
    tables = {method.name: method.table for method in made.methods}
    assert list(tables) == ["a", "b", "c"]
    assert made.methods[0].overall == statistics.bootstrap(tables["a"])
    assert made.methods[1].score(TESTS[1]) == statistics.bootstrap(tables["b"][:, 1])
    hits = int((tables["b"].min(axis=1) >= 850).sum())
    assert made.methods[1].success(850.0) == statistics.share(hits, 8)
    pair = made.pairs[0]
    means = [tables[name].mean(axis=1) for name in "ab"]
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.p == statistics.mann_whitney(*means)
    assert [p.corrected for p in made.pairs] == statistics.holm([p.p for p in made.pairs])
    assert pair.superiority < 0.1


def test_both_protocols_stand_side_by_side() -> None:
    made = Comparison.of(many(), 850.0)
    every, best = made.protocols().values()
    assert [len(method.entries) for method in every] == [8, 8, 8]
    assert [len(method.entries) for method in best] == [5, 5, 5]
    dropped = {e.fitness for e in every[0].entries if e not in best[0].entries}
    assert max(dropped) <= min(e.fitness for e in best[0].entries)
    assert best[0].overall.value >= every[0].overall.value
    few = Comparison.of([entry(seed=seed, scores=(seed, seed)) for seed in range(3)], 0.0)
    assert list(few.protocols()) == ["all repeats"]


def test_bars_look_as_in_the_legend() -> None:
    figure = comparison.figure(Comparison.of([entry(f"method {k}", k) for k in range(9)], 900.0), "Nine")
    (legend,) = figure.legends
    shown = [patch for patch in legend.get_patches() if patch.get_width() > 0]  # type: ignore[attr-defined]
    bars = figure.axes[0].patches[:: len(TESTS)]
    assert len(shown) == len(bars) == 9
    for bar, mark in zip(bars, shown, strict=True):
        assert bar.get_facecolor() == mark.get_facecolor()
        assert bar.get_edgecolor() == mark.get_edgecolor()
        assert bar.get_hatch() == mark.get_hatch()
    lines = [mark for mark in legend.findobj(Line2D) if isinstance(mark, Line2D)]
    assert [line.get_color() for line in lines] == [line.get_color() for line in figure.axes[1].get_lines()]


@pytest.mark.parametrize(("scores", "limits"), [((-900.0, -120.0), (-1000, 0)), ((12.0, 48.0), (0, 50))])
def test_axes_follow_from_the_scores(scores: tuple[float, float], limits: tuple[float, float]) -> None:
    curve = {name: [1.0, 2.0, 3.0] for name in ("evaluations", "steps", "seconds")} | {"score": [-1e6, *scores]}
    figure = comparison.figure(Comparison.of([entry(scores=scores, curve=curve)], 900.0), "One")
    profile = figure.axes[1].get_lines()[0]
    assert (np.min(profile.get_xdata()), np.max(profile.get_xdata())) == limits
    assert all(panel.get_ylim() == limits for panel in figure.axes[2:])


def test_entries_are_lines(tmp_path: Path) -> None:
    assert from_lines(to_lines(many()), "x") == many()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not an entry"),
        ("[]", "not an entry"),
        (json.dumps({**vars(entry()), "more": 1}), "not an entry"),
        (json.dumps({**vars(entry()), "scores": {}}), "there are no scores"),
        (json.dumps({**vars(entry()), "seed": "1"}), "a number is of another kind"),
        (json.dumps({**vars(entry()), "curve": {"steps": [1]}}), "curve is not what it should be"),
        (json.dumps({**vars(entry()), "steps": 10**400}), "too large"),
        (json.dumps({**vars(entry()), "scores": {"a": float("nan")}}), "too large, or none"),
        (json.dumps({**vars(entry()), "method": 3}), "a field is of another kind"),
        ("[" * 100_000, "not an entry"),
    ],
)
def test_odd_lines_get_a_sentence(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_lines(line, "file")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "nothing to compare"),
        ([entry(), entry("b", tested_on="other")], "different tests cannot be compared"),
        ([entry(), entry("b", episodes=6)], "different tests cannot be compared"),
        ([entry(), entry()], "has a run twice"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(entries: list[Entry], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Comparison.of(entries, 900.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    for seed in (1, 2):
        arz.evolve(small("1200"), seed=seed, folder=made / f"program-{seed}").close()
        ars = arz.preset("ars-cartpole", population=7, top=2, episodes=4, validate_every=14, steps=300, budget="42")
        arz.evolve(ars, seed=seed, folder=made / f"lstm-{seed}").close()
    arz.evolve(small("10"), folder=made / "empty").close()
    quadruped = arz.preset("ars-quadruped", population=5, top=2, episodes=4, validate_every=5, steps=50, budget="10")
    arz.evolve(quadruped, folder=made / "quadruped").close()
    return made


def test_the_command_compares_runs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [f"ARZ={folder}/program-*", f"{folder}/lstm-*"]
    files = ["--save", f"{tmp_path}/kept.jsonl", "--csv", f"{tmp_path}/table.csv", "--figure", f"{tmp_path}/x.png"]
    assert main(["compare", *sources, "--episodes", "8", *files]) == 0
    said, noted = capsys.readouterr()
    assert noted.endswith(f"Runs: {tmp_path}/kept.jsonl\nTable: {tmp_path}/table.csv\nFigure: {tmp_path}/x.png\n")
    assert "ARS+LSTM [all, continuous]" in said
    assert "4640" in said
    assert "Budgets differ" in said
    assert (tmp_path / "x.png").stat().st_size > 10_000
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["ARZ", "ARS+LSTM [all, continuous]"]
    with arz.Run.open(folder / "program-1") as run:
        expected = entry_of(run, method="ARZ", episodes=8)
        tests = {f"{t.change} {t.task}": round(t.mean, 2) for t in arz.assess(run.program, run.config.task, episodes=8)}
    assert expected.scores == tests
    kept = from_lines((tmp_path / "kept.jsonl").read_text(), "kept")
    assert kept[0] == expected
    assert main(["compare", f"{tmp_path}/kept.jsonl", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["methods"][0]["overall"] == pytest.approx(float(rows[0]["overall"]))
    assert main(["compare", f"{tmp_path}/kept.jsonl", "--markdown"]) == 0
    tables = capsys.readouterr().out
    score = Comparison.of(kept, 900.0).methods[0].score("sudden stationary")
    assert "| method | stationary | force | damping | track_angle | all |\n| --- | ---: |" in tables
    assert f"\n| ARZ | {score} |" in tables
    assert main(["compare", f"{tmp_path}/kept.jsonl", "--steps", "5"]) == 2
    assert "--steps needs runs" in capsys.readouterr().err
    assert main(["compare", f"{tmp_path}/kept.jsonl", "--csv", f"{tmp_path}/table.csv"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_runs_can_be_looked_at_as_they_stood(folder: Path) -> None:
    with arz.Run.open(folder / "program-1") as run:
        whole, steps = entry_of(run, episodes=4), run.metrics["steps"]
        half = entry_of(run, episodes=4, steps=int(steps[len(steps) // 2]))
        reached = run.metrics["champion_score"][len(steps) // 2]
        assert entry_of(run, episodes=4, steps=int(steps[0])).fitness == pytest.approx(
            run.metrics["champion_score"][0], abs=0.01
        )
    assert half.fitness == pytest.approx(reached, abs=0.01)
    assert half.steps == steps[len(steps) // 2] < whole.steps
    assert half.fitness <= whole.fitness
    assert half.curve["steps"][-1] == half.steps


def test_one_run_has_no_interval(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", f"{folder}/program-1", "--episodes", "4"]) == 0
    said = capsys.readouterr().out
    assert "There is no interval for a method with one run" in said
    assert "nan" not in said


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["program-1", "quadruped"], "different tests cannot be compared"),
        (["empty"], "has no champion yet"),
        (["nowhere-*"], "there is nothing at"),
        (["."], "is neither a run nor a file"),
        (["program-1", "--episodes", "0"], "--episodes must be"),
        (["program-1", "--steps", "1"], "has no champion after 1 steps"),
        (["program-1", "program-1"], "has a run twice"),
    ],
)
def test_mistakes_are_one_sentence(
    folder: Path, sources: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = [source if source[:1] in "-0123456789" else f"{folder}/{source}" for source in sources]
    assert main(["compare", *named, *([] if "--episodes" in sources else ["--episodes", "4"])]) == 2
    said = capsys.readouterr().err
    assert message in said.splitlines()[-1]


def test_success_is_what_the_task_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runs = {name: tmp_path / name for name in ("Pendulum-v1", "MountainCarContinuous-v0")}
    for env, folder in runs.items():
        few = [
            "--validate-every",
            "50",
            "--population",
            "20",
            "--lag",
            "20",
            "--validation-episodes",
            "2",
            "--steps",
            "20",
        ]
        arguments = ["evolve", "--env", env, *few, "--budget", "200", "--threads", "1", "--quiet", "--no-test"]
        assert main([*arguments, "--output", str(folder)]) == 0
    capsys.readouterr()
    assert main(["compare", str(runs["Pendulum-v1"]), "--episodes", "2"]) == 0
    assert "in every test" not in capsys.readouterr().out
    assert main(["compare", str(runs["MountainCarContinuous-v0"]), "--episodes", "2"]) == 0
    assert "90 in every test" in capsys.readouterr().out
    assert main(["compare", str(runs["Pendulum-v1"]), "--episodes", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["success"] is None
    assert "success" not in told["methods"][0]


@pytest.mark.parametrize(
    ("variant", "success"),
    [
        (arz.Cartpole().variant, 900.0),
        (arz.Quadruped(steps=500).variant, 400.0),
        ({"contact_iterations": 5, "steps": 1000}, 400.0),
        ({}, None),
        ({"steps": 500}, None),
        ({"env": 7}, None),
        ({"env": "CartPole-v1", "change": 7}, None),
        ({"env": "os:CartPole-v1", "steps": "a"}, None),
        ({"x_limit": [], "steps": 1000}, None),
        ([1], None),
    ],
    ids=repr,
)
def test_success_is_what_the_task_says_whatever_a_file_holds(variant: object, success: float | None) -> None:
    assert usual_success([entry(tested_on=json.dumps(variant))]) == success
