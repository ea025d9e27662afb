"""Experiments of one's own: a tiny group from end to end, interrupted and resumed; and what is wrong gets a sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arz
from arz.cli import main
from arz.reproduce.groups.group import Note
from arz.reproduce.groups.making import Making
from arz.reproduce.groups.reading import load
from arz.reproduce.groups.tables import entries_of
from arz.reproduce.work import StoppedError
from arz.runs.run import Run

TINY = """
kind = "growth"
runs = "runs/tiny-{name}-{seed}"

[experiments.plain]
title = "A tiny search"
preset = "cartpole-regularized"
seeds = 2
episodes = 10
[experiments.plain.changes]
budget = "6000"
population = 40
lag = 20
islands = 2
episodes = 8
validate_every = 200
validation_episodes = 16
steps = 300

[experiments.early]
title = "The same, as it stood"
goes_on = "plain"
at = 300_000
seeds = 2
episodes = 10

[experiments.longer]
title = "The same, gone on"
goes_on = "plain"
changes = { budget = "9000" }
episodes = 10

[experiments.again]
title = "From its champions"
preset = "cartpole-regularized"
start = "results/tiny/champions/plain-{seed}.arz"
changes = { budget = "800", population = 40, lag = 20, islands = 2, episodes = 8, validate_every = 200, steps = 300 }
episodes = 10

[variations.part]
title = "Tiny: {part}"
preset = "cartpole-regularized"
changes = { budget = "800", population = 40, lag = 20, islands = 2, episodes = 8, validate_every = 200, steps = 300 }
each = [
    ["as it is", "plain"],
    ["stateless", { stateful = false }],
    ["nothing known", { cache = 0 }, { seeds = 2 }],
]

[[tables]]
kind = "every_run"

[[tables]]
kind = "parts"
title = "Parts"
pages = ["tables.md", "../README.md#parts"]
of = "part"
least = 900
"""
README = "Before.\n\n<!-- parts -->\nold\n<!-- /parts -->\n\nAfter.\n"
ALL = {"plain": 2, "early": 2, "longer": 1, "again": 1, "part-1": 1, "part-2": 2}


def tiny(root: Path, text: str = TINY) -> Path:
    folder = root / "results" / "tiny"
    folder.mkdir(parents=True)
    (folder / "experiments.toml").write_text(text)
    (root / "results" / "README.md").write_text(README)
    return folder


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tiny(tmp_path)


def timeless(notes: list[Note]) -> list[Note]:
    return [{**note, "seconds": None} for note in notes]


def patience(times: int) -> Callable[[], bool]:
    """Wants to stop after it was asked so often."""
    left = threading.Semaphore(times)
    return lambda: not left.acquire(blocking=False)


def test_a_group_from_end_to_end(
    at: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "results/tiny", "--quiet", "--jobs", "2"]) == 0
    notes = load(at).notes()
    assert {name: len(load(at).notes(name)) for name in ALL} == ALL
    for note in notes:
        champion = arz.Program.load(at / "champions" / f"{note['experiment']}-{note['seed']}.arz")
        assert arz.complexity(champion).lines <= note["lines"]
    by_name = {note["experiment"]: note for note in notes if note["seed"] == 1}
    assert by_name["early"]["evaluations"] < by_name["plain"]["evaluations"] <= 6000
    assert 6000 < by_name["longer"]["evaluations"] <= 9000
    assert by_name["early"]["command"] == by_name["plain"]["command"]
    assert by_name["longer"]["command"] == "arz resume runs/tiny-plain-1 --budget 9000"
    with Run.open("runs/tiny-again-1") as run:
        assert run.start is not None
    made = {path: path.read_bytes() for path in [*at.rglob("*"), tmp_path / "results" / "README.md"] if path.is_file()}
    readme = (tmp_path / "results" / "README.md").read_text()
    assert readme.startswith("Before.\n\n<!-- parts -->\n| changed |")
    assert readme.endswith("|\n<!-- /parts -->\n\nAfter.\n")
    for options in (["--tables"], ["--tables"], [], ["--only", "plain"]):  # nothing is made twice
        monkeypatch.setattr("arz.reproduce.groups.making.make_run", None)
        assert main(["reproduce", "results/tiny", "--quiet", *options]) == 0
        assert {path: path.read_bytes() for path in made} == made
    (tmp_path / "results" / "README.md").write_text("no marks")
    capsys.readouterr()
    assert main(["reproduce", "results/tiny", "--tables"]) == 2
    assert "results/README.md: expected <!-- parts --> and <!-- /parts -->" in capsys.readouterr().err
    assert main(["reproduce", "results/tiny", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {row["experiment"]: (row["noted"], row["seeds"]) for row in listed} == {
        name: (count, count) for name, count in ALL.items()
    }


def test_interrupted_runs_go_on_and_are_noted_the_same(at: Path, tmp_path: Path) -> None:
    only = ("plain", "longer")
    at_once = Making(load(at), only, 2).make()
    (at / "runs.jsonl").unlink()
    (tmp_path / "runs").rename(tmp_path / "before")
    for tries in range(100):
        try:
            Making(load(at), only, 2, should_stop=patience(5 + 40 * tries)).make()
            break
        except StoppedError:
            pass
    assert tries > 1
    assert timeless(load(at).notes()) == timeless(at_once)


NETWORKS = """
kind = "entry"
runs = "runs/net-{name}-{seed}"
words = "{preset} {changes} --seed {seed} {budget} {best} --output {folder}"
data = "{name}.jsonl"
named = "method"
at = 400_000

[sweeps.mlp]
preset = "ars-cartpole"
policy = "mlp"
budget = "60k steps"
grid = { noise = [0.1, 0.5], validate_every = [64] }

[experiments.mlp]
title = "A network"
preset = "ars-cartpole"
policy = "mlp"
changes = { budget = "400k steps" }
sweep = "mlp"
seeds = 2
episodes = 5

[[tables]]
kind = "comparison"
shown = "results/tiny"
"""
LIKE = 'like = "../tiny"\nat = 200_000\n'


def test_networks_with_the_best_settings_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder, early = tiny(tmp_path, NETWORKS), tmp_path / "results" / "early"
    early.mkdir()
    (early / "experiments.toml").write_text(LIKE)
    assert main(["reproduce", "results/tiny", "results/early", "--quiet", "--jobs", "2"]) == 0
    kept = json.loads((folder / "sweep-mlp.json").read_text())
    assert (
        kept["command"]
        == "arz sweep ars-cartpole --policy mlp --budget '60k steps' --grid noise=0.1,0.5 --grid validate_every=64"
    )
    assert kept["best"] in [{"noise": noise, "validate_every": 64} for noise in (0.1, 0.5)]
    words = "arz train ars --policy mlp --seed 1 --budget '400k steps'"
    told = f"    {words} --noise {kept['best']['noise']} --validate-every 64 --output runs/net-mlp-1\n"
    assert told in (folder / "tables.md").read_text()
    with Run.open("runs/net-mlp-2") as run:
        assert run.config == load(folder).config(load(folder).find("mlp"))
    steps = [[note["steps"] for note in load(each).notes()] for each in (early, folder)]
    assert all(a < b <= 500_000 for a, b in zip(*steps, strict=True))
    assert len(entries_of(load(folder))) == 2


def test_a_folder_with_another_run_is_refused(at: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "results/tiny", "--only", "part-1", "--quiet"]) == 0
    (at / "runs.jsonl").unlink()
    text = (at / "experiments.toml").read_text()
    (at / "experiments.toml").write_text(text.replace('"stateless", { stateful = false }', '"stateful", {}'))
    assert main(["reproduce", "results/tiny", "--only", "part-1", "--quiet"]) == 2
    assert "is a run with other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "growth"', "kind = ", "Invalid value"),
        ('kind = "growth"', 'kind = "grwth"', "Did you mean 'growth'?"),
        ('kind = "growth"', "", "kind is missing"),
        ('kind = "every_run"', 'kind = "every_ru"', "Did you mean 'every_run'?"),
        ("least = 900", "most = 900", "missing a required argument: 'least'"),
        ("seeds = 2", "seed = 2", "there is no field 'seed' in plain. Did you mean"),
        ("seeds = 2", "seeds = 0", "seeds of plain must be a whole number"),
        ("seeds = 2", 'seeds = "two"', "seeds of plain must be a whole number"),
        ("episodes = 10\n[exp", 'episodes = "ten"\n[exp', "episodes must be a whole number, not 'ten'"),
        ('preset = "cartpole-regularized"\nseeds', "seeds", "plain needs a preset, or goes_on"),
        ('preset = "cartpole-regularized"\nseeds', 'preset = "cartpol"\nseeds', "Did you mean 'cartpole'"),
        ("lag = 20\nislands", "lga = 20\nislands", "there is no field 'lga'"),
        ("seeds = 2\nepisodes", 'sweep = "grid"\nepisodes', "there is no sweep 'grid'"),
        ('goes_on = "plain"\nat', 'goes_on = "plian"\nat', "Did you mean 'plain'?"),
        ('goes_on = "plain"\nat', 'goes_on = "longer"\nat', "'longer', which is not there before it"),
        ('goes_on = "plain"\nat', 'preset = "cartpole"\nat', "at is for runs that goes_on names"),
        ('preset = "cartpole-regularized"\nseeds', 'preset = "gymnasium"\nseeds', "plain needs an environment"),
        ('pages = ["tables.md", "../README.md#parts"]', 'pages = "tables.md"', "pages must be a list, not 'tables.md'"),
        ('pages = ["tables.md", "../README.md#parts"]', "pages = [1]", "pages must be a list of files"),
        ('kind = "growth"', 'kind = "growth"\ntests = [1]', "tests must be a list of tables"),
        ('kind = "growth"', 'kind = "growth"\nlike = "../nothing"', "nothing"),
        ('kind = "growth"', 'kind = "growth"\nsweeps = 1', "sweeps must be tables"),
        ('["as it is", "plain"]', '["as it is"]', "must be pairs of words and a table"),
        ('["as it is", "plain"]', '["as it is", "plian"]', "Did you mean 'plain'?"),
        ("[experiments.again]", "[experiments.'../again']", "is no name for a file"),
        ("runs/tiny-{name}-{seed}", "/tmp/{name}", "leads elsewhere"),
        ("runs/tiny-{name}-{seed}", "runs/{nme}", "may have {name} and {seed} in braces"),
        ('kind = "growth"', 'kind = "growth"\ndata = "../../x.jsonl"', "leads elsewhere"),
        ("results/tiny/champions/plain-{seed}.arz", "../x.arz", "leads elsewhere"),
    ],
)
def test_what_is_wrong_gets_one_sentence(
    at: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    assert old in TINY
    (at / "experiments.toml").write_text(TINY.replace(old, new))
    (at / "runs.jsonl").write_text('{"experiment": "plain", "seed": 1}\n')
    assert main(["reproduce", "results/tiny", "--tables"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["results/tiny", "--only", "plian"], "Did you mean 'plain'?"),
        (["results/tiny", "--tables", "--only", "plain"], "leave out --only"),
        (["results/tiny", "--tables"], "nothing is kept in results/tiny yet"),
        (["results/tiny", "complexity"], "not both at once"),
        (["results/tiny", "--summary", "x.md"], "--summary is for items of the paper"),
        (["complexity", "--tables"], "--tables is for folders"),
        (["results/tinny"], "there is no experiments.toml in results/tinny"),
        (["results"], "there is no experiments.toml in results"),
        (["results/tiny", "--only", "again"], "starts with results/tiny/champions/plain-1.arz, which is not there"),
    ],
)
def test_what_cannot_be_asked_gets_one_sentence(
    at: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["reproduce", *words, "--quiet"]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert len(printed.strip().splitlines()) == 1
    assert not (at / "runs.jsonl").exists()


@pytest.mark.parametrize("line", ["{", "[]", '{"experiment": "plain"}', '{"experiment": "plain", "seed": 1}'])
def test_damaged_notes_get_one_sentence(at: Path, capsys: pytest.CaptureFixture[str], line: Any) -> None:
    (at / "runs.jsonl").write_text(line + "\n")
    assert main(["reproduce", "results/tiny", "--tables"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
