"""What is reproduced: the plan is whole, the smallest scale works, rules say what they should, and pages follow."""

import inspect
import json
import math
import shlex
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import arz
from arz.cli import main
from arz.policy import load_policy
from arz.reproduce import scores, searches, table
from arz.reproduce.kinds import KINDS, WITHOUT_RUNS
from arz.reproduce.pages import ABOUT, DATA, FIGURE, PAGE, Kept, all_kept, keep, summary
from arz.reproduce.plan import SCALES, experiments, find_item, item_names
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, NOT_TESTABLE, PARTLY
from arz.reproduce.work import Work
from arz.runs.run import Run

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "reproduction"


# ---- the plan ----


@pytest.mark.parametrize("name", item_names())
def test_every_claim_has_a_rule_that_takes_its_options(name: str) -> None:
    item = find_item(name)
    rules = KINDS[item.kind].rules
    assert item.claims
    for claim in item.claims:
        inspect.signature(rules[claim.check]).bind([], **claim.options)
        labels = {experiment.label for experiment in item.experiments}
        named = [claim.options.get(key) for key in ("method", "first", "second", "without", "with_it")]
        assert {each for each in [*named, *claim.options.get("others", ())] if each} <= labels


def test_claims_have_names_of_their_own_and_every_experiment_is_used() -> None:
    items = [find_item(name) for name in item_names()]
    names = [claim.name for item in items for claim in item.claims]
    assert len(names) == len(set(names))
    assert {experiment.name for item in items for experiment in item.experiments} == set(experiments())
    assert {rule for kind in KINDS.values() for rule in kind.rules} >= WITHOUT_RUNS


@pytest.mark.parametrize("name", list(experiments()))
def test_the_command_of_a_run_makes_that_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command on the page and the run that was made have one configuration, at every scale."""
    made: list[tuple[Any, int, Any]] = []

    def create(config: Any, *, seed: int, start: Any = None, **_: Any) -> Any:
        made.append((config, seed, start))
        raise ValueError("enough")

    monkeypatch.setattr(Run, "create", create)
    monkeypatch.chdir(ROOT / "src" / "arz" / "reproduce" / "programs")
    experiment = experiments()[name]
    for scale in SCALES:
        assert main(shlex.split(experiment.command(scale, 3))[1:]) == 2
        assert made[-1][:2] == (experiment.config(scale, 3), 3)
        assert (made[-1][2] is not None) == bool(experiment.start)


def test_in_the_papers_grid_every_run_has_other_settings() -> None:
    experiment = experiments()["cartpole-lstm-continuous"]
    searches_ = {str(experiment.config("paper", seed).search) for seed in range(1, 37)}
    assert len(searches_) == 36
    assert experiment.config("hour", 1) == experiment.config("hour", 2)


# ---- the smallest scale ----


def test_every_item_works_at_the_smallest_scale(tmp_path: Path) -> None:
    assert main(["reproduce", "all", "--output", str(tmp_path), "--quiet"]) == 0
    for name in item_names():
        place = tmp_path / "smoke" / name
        assert {path.name for path in place.iterdir()} == {ABOUT, DATA, FIGURE, PAGE}
        assert (place / FIGURE).read_bytes().startswith(b"\x89PNG")
        kept = Kept(find_item(name), "smoke", place)
        page = (place / PAGE).read_text()
        for claim in kept.item.claims:
            assert claim.text in page
            is_judged = kept.findings[claim.name].verdict != NOT_TESTABLE
            assert is_judged == (claim.check in WITHOUT_RUNS)
        assert len(kept.about["runs"]) == len(kept.item.runs("smoke"))
        for run in kept.about["runs"]:
            if run["champion"]:
                load_policy(tmp_path / "smoke" / run["champion"])
        for claim in kept.item.claims:  # what it would say at a larger scale
            assert KINDS[kept.item.kind].rules[claim.check](kept.rows, **claim.options).why


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """An item with few runs."""
    assert main(["reproduce", "linear-analysis", "--output", str(tmp_path), "--quiet"]) == 0
    return tmp_path / "smoke" / "linear-analysis"


def test_what_is_done_is_not_done_again(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("arz.reproduce.work.make_run", refuse)
    before = {path.name: path.read_bytes() for path in made.iterdir()}
    (made / PAGE).unlink()
    (made / FIGURE).unlink()
    assert main(["reproduce", "linear-analysis", "--output", str(tmp_path), "--quiet"]) == 0
    assert {path.name: path.read_bytes() for path in made.iterdir()} == before


def test_interrupted_work_goes_on_and_comes_out_the_same(tmp_path: Path) -> None:
    item = find_item("cartpole-sudden")
    at_once, work = Work(item, "smoke", tmp_path / "at once"), Work(item, "smoke", tmp_path / "in parts")
    assert at_once.make(2, lambda share, text: None)
    tries = 0
    while not work.make(2, lambda share, text: None, _patience(5 + 40 * tries)):
        assert not work.place.exists()
        tries += 1
    assert tries > 1
    assert _timeless(keep(work).place / DATA) == _timeless(keep(at_once).place / DATA)


def _patience(times: int) -> Callable[[], bool]:
    """Wants to stop after it was asked so often."""
    left = threading.Semaphore(times)
    return lambda: not left.acquire(blocking=False)


def _timeless(path: Path) -> list[dict[str, Any]]:
    return [{**row, "seconds": None} for row in table.from_csv(path.read_text())]


def test_progress_goes_up_to_the_end(tmp_path: Path) -> None:
    shares: list[float] = []
    work = Work(find_item("linear-analysis"), "smoke", tmp_path)
    assert work.make(1, lambda share, text: shares.append(share))
    assert shares == sorted(shares)
    assert math.isclose(shares[-1], 1.0)


def test_a_run_with_other_settings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(find_item("linear-analysis"), "smoke", tmp_path)
    folder = work.run_folder(work.item.experiments[0], 1)
    Run.create(arz.preset("cartpole", budget="1k"), seed=1, folder=folder).close()
    assert main(["reproduce", "linear-analysis", "--output", str(tmp_path), "--quiet"]) == 2
    assert "a run with other settings" in capsys.readouterr().err


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["item"] for each in listed] == item_names()
    assert main(["reproduce", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in item_names())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["cartpole-suden"], "Did you mean 'cartpole-sudden'?"),
        ([], "name what to reproduce"),
        (["cartpole-sudden", "--jobs", "0"], "expected 1 to 1024"),
        (["--summary", "page.md"], "nothing in reproduction to sum up"),
    ],
)
def test_mistakes_are_sentences(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_summary_overwrites_only_a_summary(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    words = ["reproduce", "--summary", str(page), "--output", str(tmp_path)]
    assert main(words) == 0
    text = page.read_text()
    assert "<!--" not in text
    assert main(words) == 0
    assert page.read_text() == text
    page.write_text("mine")
    assert main(words) == 2
    assert page.read_text() == "mine"


def test_a_damaged_record_is_a_sentence(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("{", "[]", '{"item": "other", "scale": "smoke"}'):
        (made / ABOUT).write_text(text)
        assert main(["reproduce", "linear-analysis", "--output", str(tmp_path), "--quiet"]) == 2
        assert "about" in capsys.readouterr().err


# ---- rules ----


def _rows(**means: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """Methods with one list of two tests for each run."""
    return [
        {"method": m, "seed": s, "budget": "full", "fitness": sum(run), "test": t, "mean": v, "completed": v / 1000}
        for m, runs in means.items()
        for s, run in enumerate(runs, 1)
        for t, v in zip(("a", "b"), run, strict=True)
    ]


def test_reaches_and_stays_below() -> None:
    rows = _rows(m=[[900, 700], [910, 720], [890, 990], [905, 710]])
    assert scores.reaches(rows, "m", 650).verdict == CONFIRMED
    found = scores.reaches(rows, "m", 800, budget="equal")
    assert found.verdict == PARTLY
    assert "1 of 4 runs" in found.why
    assert "not: b" in found.why
    assert scores.reaches(rows, "m", 950).verdict == NOT_CONFIRMED
    assert scores.stays_below(rows, "m", 800, tests=["b"]).verdict == CONFIRMED
    assert scores.stays_below(rows, "m", 800).verdict == PARTLY
    assert scores.stays_below(rows, "m", 0.1, column="completed").verdict == NOT_CONFIRMED
    assert scores.reaches(rows, "other", 1).verdict == NOT_TESTABLE


def test_is_better_needs_more_than_luck() -> None:
    high = [[900 + k, 900 + k] for k in range(5)]
    low = [[800 + k, 800 + k] for k in range(5)]
    rows = _rows(high=high, low=low, few=[[950, 950], [960, 960]], mixed=[[990, 810], *high[1:]])
    assert scores.is_better(rows, "high", "low").verdict == CONFIRMED
    assert scores.is_better(rows, "low", "high").verdict == NOT_CONFIRMED
    assert scores.is_better(rows, "few", "high").verdict == PARTLY  # p cannot be small with two runs
    assert scores.is_better(_rows(one=[[1, 2]], two=low), "one", "two").verdict == NOT_TESTABLE


def test_is_only() -> None:
    rows = _rows(some=[[900, 900], [100, 900]], none=[[900, 100], [100, 900]], all=[[950, 950], [960, 960]])
    assert scores.is_only(rows, "some", ["none"], 800).verdict == CONFIRMED
    assert scores.is_only(rows, "some", ["none", "all"], 800).verdict == PARTLY
    assert scores.is_only(rows, "some", ["all"], 800).verdict == NOT_CONFIRMED
    assert scores.is_only(rows, "none", ["some"], 800).verdict == NOT_CONFIRMED


def test_methods_are_compared_at_equal_budgets() -> None:
    early = [{**row, "budget": "equal", "mean": row["mean"] - 500} for row in _rows(m=[[900, 900]] * 3)]
    rows = [*_rows(m=[[900, 900]] * 3), *early]
    assert scores.reaches(rows, "m", 800, budget="full").verdict == CONFIRMED
    assert scores.reaches(rows, "m", 800, budget="equal").verdict == NOT_CONFIRMED


def _curves(**ends: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {"method": m, "seed": s, "evaluations": 100 * k, "score": end * k / 10}
        for m, finals in ends.items()
        for s, end in enumerate(finals, 1)
        for k in range(1, 11)
    ]


def test_rules_for_progress() -> None:
    rows = _curves(fast=[100, 110, 120, 130, 140], slow=[50, 51, 52, 53, 300], slower=[10, 11, 12, 13, 14])
    assert searches.is_faster(rows, "fast", "slower").verdict == CONFIRMED
    assert searches.is_faster(rows, "slower", "fast").verdict == NOT_CONFIRMED
    assert searches.is_faster(rows, "fast", "slow").verdict == PARTLY
    assert searches.has_best(rows, "slow", "fast").verdict == CONFIRMED
    assert searches.has_best(rows, "fast", "slow").verdict == NOT_CONFIRMED
    assert searches.exceeds(rows, "slow", 250).verdict == CONFIRMED
    assert searches.exceeds(rows, "fast", 250).verdict == NOT_CONFIRMED
    assert searches.exceeds([], "fast", 250).verdict == NOT_TESTABLE


def test_tables_round_trip() -> None:
    rows = [{"a": 1, "b": 'x, "y"', "c": None}, {"a": 0.1, "b": "", "d": -3e-7}]
    found = table.from_csv(table.to_csv(rows))
    assert found == [{"a": 1, "b": 'x, "y"', "c": None, "d": None}, {"a": 0.1, "b": None, "c": None, "d": -3e-7}]


# ---- what is kept ----


def test_the_summary_follows_from_what_is_kept() -> None:
    assert (ROOT / "docs" / "reproduction.md").read_text() == summary(RESULTS, ROOT / "docs")


@pytest.mark.parametrize("kept", all_kept(RESULTS), ids=lambda kept: kept.item.name)
def test_the_page_of_an_item_follows_from_its_data(kept: Kept) -> None:
    assert (kept.place / PAGE).read_text() == kept.page()
    planned = {(experiment.name, seed) for experiment, seed in kept.item.runs(kept.scale)}
    assert {(run["experiment"], run["seed"]) for run in kept.about["runs"]} == planned
    for run in kept.about["runs"]:
        assert run["command"] == experiments()[run["experiment"]].command(kept.scale, run["seed"])
