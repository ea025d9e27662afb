"""What results/ says follows from the data beside it, and the champions score what the data says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import arz
from arz.cli import main
from arz.explain.linear import read
from arz.explain.words import is_on_path, is_telling
from arz.simplify import with_own_names
from arz.tasks.any_environment import AnyEnvironment
from arz.watch import watch

ROOT = Path(__file__).parent.parent


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"results_{name}", ROOT / "results" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_the_tables_follow_from_the_data() -> None:
    module = script("cartpole")
    assert (ROOT / "results" / "cartpole" / "tables.md").read_text() == "".join(module.tables())
    page = (ROOT / "results" / "README.md").read_text()
    assert module.summary() in page
    assert module.gap() in page


def test_the_tables_of_the_quadruped_follow_from_the_data() -> None:
    module = script("quadruped")
    assert module.rows()
    assert (ROOT / "results" / "quadruped" / "tables.md").read_text() == module.page()
    assert module.summary() in (ROOT / "results" / "README.md").read_text()


def test_the_tables_of_grow_and_tune_follow_from_the_data() -> None:
    module = script("grow")
    assert (ROOT / "results" / "grow" / "tables.md").read_text() == module.page()
    assert module.summary() in (ROOT / "results" / "README.md").read_text()
    search = (ROOT / "docs" / "search.md").read_text()
    assert module.parts() in search
    assert module.leg_parts() in search
    assert module.against() in search
    for name in ("cartpole", "quadruped", "cartpole-300m-0"):
        seeds = sorted(row["seed"] for row in module.rows(name))
        assert seeds == list(range(1, len(seeds) + 1))  # all of them, from the first on


@pytest.mark.parametrize("seed", [1, 2])
def test_champions_that_grew_score_what_the_data_says(seed: int) -> None:
    (row,) = [row for row in script("grow").rows("cartpole") if row["seed"] == seed]
    program = arz.Program.load(ROOT / "results" / "grow" / "champions" / f"cartpole-{seed}.arz")
    for found in arz.assess(program, arz.Cartpole(), episodes=1000, change="sudden"):
        assert found.mean == pytest.approx(row["tests"][f"sudden {found.task}"][0], abs=0.1)


def test_champions_of_the_quadruped_score_what_the_data_says() -> None:
    module = script("quadruped")
    for row in module.rows():
        name = f"{row['experiment']}-{row['seed']}"
        program = arz.Program.load(ROOT / "results" / "quadruped" / "champions" / f"{name}.arz")
        task = arz.Quadruped(leg="FR", contact_iterations=row["contact_iterations"])
        score = arz.evaluate(program, task, arz.fresh_episodes(100)).mean[0]
        assert score == pytest.approx(row["tests"]["batched"]["FR"]["return"], abs=0.1)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("group", ["cartpole", "quadruped"])
def test_the_tables_of_the_baselines_follow_from_the_data(group: str, few: bool) -> None:
    module = script("baselines")
    folder = module.folder_of(group, few)
    assert (folder / "tables.md").read_text() == module.page(group, few)


def test_the_tables_of_methods_are_printed_by_compare() -> None:
    module = script("baselines")
    printed = "".join(
        (module.folder_of(group, few) / "tables.md").read_text() for group in module.GROUPS for few in (0, 1)
    )
    tables = re.findall(r"^\| method \|.*\n(?:\|.*\n)+", (ROOT / "results" / "README.md").read_text(), flags=re.M)
    assert len(tables) >= 4
    for table in tables:
        assert table in printed


def test_the_table_of_settings_follows_from_the_data() -> None:
    page = (ROOT / "docs" / "search.md").read_text()
    tuning = script("tuning")
    for mark, file in (("tuning", tuning.FILE), ("tuning-before", tuning.BEFORE)):
        found = re.search(f"<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->", page, flags=re.S)
        assert found is not None
        assert found.group(1).strip() == tuning.table(file)


@pytest.mark.parametrize("experiment", ["continuous", "sudden"])
def test_champions_score_what_the_data_says(experiment: str) -> None:
    rows = script("cartpole").rows(experiment)
    assert len(rows) == 10
    for row in rows[:3]:
        program = arz.Program.load(ROOT / "results" / "cartpole" / "champions" / f"{experiment}-{row['seed']}.arz")
        score = arz.evaluate(program, arz.Cartpole(change=experiment), arz.fresh_episodes(1000)).mean[0]
        assert score == pytest.approx(row["own"], abs=2)


@pytest.mark.parametrize("name", ["paper_cartpole", "cartpole", "quadruped", "walker"])
def test_analyses_are_what_the_commands_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    kept = ROOT / "docs" / "analysis" / name
    commands = script("analysis").commands(name)
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
        seen = watch(program, arz.Cartpole(), int(arz.fresh_episodes(1)[0])).trace
        reading = read(program, seen)
        kinds = {"exact": reading.is_exact, "on path": is_on_path(reading), "like": is_telling(reading), "not": True}
        found[next(kind for kind, is_so in kinds.items() if is_so)].append(seed)
    assert found == {"exact": [7], "on path": [], "like": [1, 4, 6, 8, 9], "not": [2, 3, 5, 10]}


def test_the_table_of_environments_follows_from_the_data() -> None:
    page, module = (ROOT / "docs" / "environments.md").read_text(), script("environments")
    assert f"<!-- environments -->\n{module.table()}<!-- /environments -->" in page
    row = next(row for row in module.rows() if row["env"] == "MountainCarContinuous-v0")
    program = arz.Program.load(ROOT / "results" / "environments" / "champions" / f"{row['env']}-{row['seed']}.arz")
    task = AnyEnvironment(row["env"]).settled()
    assert arz.evaluate(program, task, arz.fresh_episodes(10), threads=1).mean[0] == pytest.approx(row["return"], abs=3)
