"""What results/ says follows from the data beside it, and the champions score what the data says."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import arz
from arz.cli import main
from arz.episode import run_episode
from arz.explain.linear import read
from arz.explain.summary import is_on_path, is_telling
from arz.reproduce.groups import pages
from arz.reproduce.groups.group import FILE, Group
from arz.reproduce.groups.making import begun
from arz.reproduce.groups.reading import load
from arz.reproduce.groups.tables import legs, middle, over_legs, worst
from arz.runs.config import RENAMED
from arz.runs.run import Run
from arz.simplify import with_own_names
from arz.tasks.gymnasium import AnyEnvironment

ROOT = Path(__file__).parent.parent


def analyses() -> ModuleType:
    """What makes the pages in docs/analysis/."""
    spec = importlib.util.spec_from_file_location("docs_analysis", ROOT / "docs" / "analysis" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


GROUPS = sorted(str(path.parent.relative_to(ROOT / "results")) for path in (ROOT / "results").rglob(FILE))
COMPARED = [name for name in GROUPS if name.startswith("baselines/")]


def group(name: str) -> Group:
    return load(ROOT / "results" / name)


def test_there_are_groups() -> None:
    compared = ["cartpole", "cartpole-few-steps", "quadruped", "quadruped-few-steps"]
    assert [f"baselines/{name}" for name in compared] == COMPARED
    assert set(GROUPS) - set(COMPARED) == {"cartpole", "environments", "grow", "quadruped", "tuning"}


@pytest.mark.parametrize("name", GROUPS)
def test_the_tables_follow_from_the_data(name: str) -> None:
    """Those of the group's own page, and those between marks in others."""
    found = group(name)
    pages.check(found)
    assert found.notes()
    own = found.folder / "tables.md"
    assert pages.page(found) == (own.read_text() if own.exists() else "")
    for file, texts in pages.marked(found).items():
        for mark, text in texts.items():
            assert pages.with_text(file.read_text(), mark, text) == file.read_text()


def test_where_tables_stand() -> None:
    found = {name: {file.name: set(texts) for file, texts in pages.marked(group(name)).items()} for name in GROUPS}
    assert found == {
        **{name: {} for name in COMPARED},
        "cartpole": {"README.md": {"adaptive-runs", "gap"}},
        "environments": {"environments.md": {"environments"}},
        "grow": {"README.md": {"grow"}, "search.md": {"against", "parts", "legs"}},
        "quadruped": {"README.md": {"quadruped"}},
        "tuning": {"search.md": {"tuning", "tuning-before"}},
    }


@pytest.mark.parametrize("name", GROUPS)
def test_the_commands_that_are_kept_are_those_of_the_experiments(name: str) -> None:
    """Word by word, by the present names of options; what is kept of cartpole has no quotes."""
    found = group(name)
    series = {found.called(each): each for each in found.series.values()}
    for note in found.notes():
        if "command" in note:
            ours = found.command(series[note[found.named]], note["seed"])
            kept = note["command"].split() if name == "cartpole" else shlex.split(note["command"])
            assert " ".join(ours) == " ".join(as_now(word) for word in kept)


def as_now(word: str) -> str:
    """A word of a command as it was kept, with the present name of an option that was renamed."""
    name = word.removeprefix("--").replace("-", "_")
    return f"--{RENAMED[name].replace('_', '-')}" if word.startswith("--") and name in RENAMED else word


@pytest.mark.parametrize("name", GROUPS)
def test_the_command_of_an_experiment_makes_its_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command and the run that is made have one configuration."""
    made: list[tuple[Any, int]] = []

    def create(config: Any, *, seed: int, **_: Any) -> Any:
        made.append((config, seed))
        raise ValueError("enough")

    monkeypatch.setattr(Run, "create", create)
    monkeypatch.chdir(ROOT)
    found = group(name)
    for series in found.series.values():
        if not series.goes_on and not series.start.startswith("runs/"):
            assert main(found.command(series, 1)[1:]) == 2
            assert made[-1] == (begun(found, series, 1)[0], 1)


def test_all_seeds_are_reported() -> None:
    """From the first on."""
    for name in ("cartpole", "quadruped", "cartpole-300m-0"):
        seeds = sorted(note["seed"] for note in group("grow").notes(name))
        assert seeds == list(range(1, len(seeds) + 1))


def test_the_results_that_readme_shows_follow_from_the_data() -> None:
    readme = (ROOT / "README.md").read_text()
    (table,) = re.findall(r"^\| task \|.*\n\|---.*\n((?:\|.*\n)+)", readme, flags=re.M)
    quadruped, paper, networks, cartpole, regularized, equal, environments, claims = table.splitlines()
    grow = group("grow")

    def is_held(row: dict[str, Any]) -> bool:
        return bool(over_legs(row) > 570 and legs(row) == 4)

    rows = grow.notes("quadruped")
    shares = [over_legs(row, "mujoco") / over_legs(row) for row in rows]
    assert f"{len(rows)} seeds" in quadruped
    assert f"| {middle([over_legs(row) for row in rows])} |" in quadruped
    assert f"{sum(map(is_held, rows))} of 10 are above 570" in quadruped
    assert sorted(4 - legs(row) for row in rows)[-3:] == [0, 1, 2]  # legs that were not learned
    assert f"{100 * min(shares):.0f} to {max(shares):.0%}".replace("%", " %") in quadruped

    about = ROOT / "results" / "reproduction" / "hour" / "quadruped-progress" / "about.json"
    best: dict[str, float] = {}
    for run in json.loads(about.read_text())["runs"]:
        best[run["experiment"]] = max(best.get(run["experiment"], 0), run["fitness"])
    settings = f"{best['quadruped-arz']:.0f} with our settings, {best['quadruped-paper']:.0f} with the paper's"
    assert settings in paper

    against = pages.marked(grow)[ROOT / "docs" / "search.md"]["against"].splitlines()
    (lstm,) = [row for row in against if row.startswith("| 200M | LSTM")]
    (ours,) = [row for row in against if row.startswith("| 200M | programs, `quadruped` |")]
    assert lstm.split(" | ")[-1].strip(" |") in networks
    assert ours.split(" | ")[-1].strip(" |") in networks

    rows = grow.notes("cartpole")
    sizes = [row["lines"] for row in rows]
    assert f"| {middle([worst(row) for row in rows])} |" in cartpole
    assert f"{min(sizes)} to {max(sizes)} lines" in cartpole
    assert f"| {middle([row['own'] for row in group('cartpole').notes('continuous')])} |" in regularized

    page = (ROOT / "results" / "baselines" / "cartpole" / "tables.md").read_text()
    for place, change in enumerate(("sudden", "continuous")):  # the first tables have these changes
        pair = []
        for method in (f"ARZ [All, {change}]", f"ARS+LSTM [All, {change}]"):
            tables = [row for row in page.splitlines() if row.startswith(f"| {method} |")]
            pair.append(tables[place].split(" | ")[5].split()[0])  # where all parameters change
        assert f"{change} {pair[0]} against {pair[1]}" in equal

    for name in ("pendulum", "acrobot", "mountain-car"):
        scores = [mean for row in grow.notes(name) for mean, _ in row["tests"].values()]
        assert f"{min(scores):.1f} to {max(scores):.1f}" in environments

    (counts,) = re.findall(r"^61 claims: .*$", (ROOT / "docs" / "reproduction.md").read_text(), flags=re.M)
    found = re.findall(r"\d+", counts)
    assert "{} claims".format(*found) in claims
    assert "{} confirmed, {} in part, {} not, {} not testable".format(*found[1:]) in claims


@pytest.mark.parametrize("seed", [1, 2])
def test_champions_that_grew_score_what_the_data_says(seed: int) -> None:
    (row,) = [row for row in group("grow").notes("cartpole") if row["seed"] == seed]
    program = arz.Program.load(ROOT / "results" / "grow" / "champions" / f"cartpole-{seed}.arz")
    for found in arz.assess(program, arz.Cartpole(), episodes=1000, change="sudden"):
        assert found.mean == pytest.approx(row["tests"][f"sudden {found.task}"][0], abs=0.1)


def test_champions_of_the_quadruped_score_what_the_data_says() -> None:
    for row in group("quadruped").notes():
        name = f"{row['experiment']}-{row['seed']}"
        program = arz.Program.load(ROOT / "results" / "quadruped" / "champions" / f"{name}.arz")
        task = arz.Quadruped(leg="FR", contact_iterations=row["contact_iterations"])
        score = arz.evaluate(program, task, arz.fresh_episodes(100)).mean[0]
        assert score == pytest.approx(row["tests"]["batched"]["FR"]["return"], abs=0.1)


@pytest.mark.parametrize("name", COMPARED)
def test_the_tables_of_the_baselines_are_those_of_compare(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "results" / name).glob("*.jsonl"))
    assert main(["compare", *sources, "--markdown"]) == 0
    assert pages.page(group(name)).endswith(capsys.readouterr().out)


def test_the_tables_of_methods_are_printed_by_compare() -> None:
    printed = "".join((ROOT / "results" / name / "tables.md").read_text() for name in COMPARED)
    tables = re.findall(r"^\| method \|.*\n(?:\|.*\n)+", (ROOT / "results" / "README.md").read_text(), flags=re.M)
    assert len(tables) >= 4
    for table in tables:
        assert table in printed


@pytest.mark.parametrize("experiment", ["continuous", "sudden"])
def test_champions_score_what_the_data_says(experiment: str) -> None:
    rows = group("cartpole").notes(experiment)
    assert len(rows) == 10
    for row in rows[:3]:
        program = arz.Program.load(ROOT / "results" / "cartpole" / "champions" / f"{experiment}-{row['seed']}.arz")
        score = arz.evaluate(program, arz.Cartpole(change=experiment), arz.fresh_episodes(1000)).mean[0]
        assert score == pytest.approx(row["own"], abs=2)


@pytest.mark.parametrize("name", ["paper_cartpole", "cartpole", "quadruped", "walker"])
def test_analyses_are_what_the_commands_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    kept = ROOT / "docs" / "analysis" / name
    commands = analyses().commands(name)
    assert main([*commands["explain"], "--output", str(tmp_path / "made")]) == 0
    assert (kept / "README.md").read_text().startswith((tmp_path / "made" / "explain.md").read_text())
    assert (kept / "flow.svg").read_text() == (tmp_path / "made" / "flow.svg").read_text()
    assert str(arz.Program.load(kept / "smallest.arz"))


def test_how_linear_the_champions_are() -> None:
    """As docs/understanding.md has it."""
    found: dict[str, list[int]] = {"exact": [], "on path": [], "like": [], "not": []}
    for seed in range(1, 11):
        file = ROOT / "results" / "cartpole" / "champions" / f"continuous-{seed}.arz"
        program = with_own_names(arz.Program.load(file))
        seen = run_episode(program, arz.Cartpole(), int(arz.fresh_episodes(1)[0])).trace_of(program)
        reading = read(program, seen)
        kinds = {"exact": reading.is_exact, "on path": is_on_path(reading), "like": is_telling(reading), "not": True}
        found[next(kind for kind, is_so in kinds.items() if is_so)].append(seed)
    assert found == {"exact": [7], "on path": [], "like": [1, 4, 6, 8, 9], "not": [2, 3, 5, 10]}


def test_a_champion_of_an_environment_scores_what_the_data_says() -> None:
    row = group("environments").notes("MountainCarContinuous-v0")[0]
    program = arz.Program.load(ROOT / "results" / "environments" / "champions" / f"{row['env']}-{row['seed']}.arz")
    task = AnyEnvironment(row["env"]).settled()
    assert arz.evaluate(program, task, arz.fresh_episodes(10), threads=1).mean[0] == pytest.approx(row["return"], abs=3)
