"""What is reproduced: the plan is whole, the smallest scale works, rules say what they should, and pages follow."""

import inspect
import json
import math
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import arz
from arz.cli import main
from arz.policy import load_policy
from arz.reproduce import episodes, printed, scores, searches, table
from arz.reproduce.kinds import ITEM_KINDS, WITHOUT_RUNS, judge
from arz.reproduce.pages import ABOUT, DATA, FIGURE, PAGE, Kept, all_kept, keep
from arz.reproduce.plan import SCALES, experiments, find_item, item_names
from arz.reproduce.summary import summary
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, NOT_TESTABLE, PARTLY
from arz.reproduce.work import StoppedError, Work, fingerprint
from arz.runs.run import Run
from arz.runs.sweep import make_run
from arz.tasks.quadruped import LEGS

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "reproduction"


# ---- the plan ----


@pytest.mark.parametrize("name", item_names())
def test_every_claim_has_a_rule_that_takes_its_options(name: str) -> None:
    item = find_item(name)
    rules = ITEM_KINDS[item.kind].rules
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
    assert {rule for kind in ITEM_KINDS.values() for rule in kind.rules} >= WITHOUT_RUNS


@pytest.mark.parametrize("name", list(experiments()))
def test_the_command_of_a_run_makes_that_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command on the page and the run that was made have one configuration, at every scale."""
    made: list[tuple[Any, int, Any]] = []

    def create(config: Any, *, seed: int, start: Any = None, **_: Any) -> Any:
        made.append((config, seed, start))
        raise ValueError("enough")

    monkeypatch.setattr(Run, "create", create)
    monkeypatch.chdir(ROOT)
    experiment = experiments()[name]
    for scale in SCALES:
        assert main(shlex.split(experiment.command(scale, 3))[1:]) == 2
        assert made[-1][:2] == (experiment.config(scale), 3)
        assert (made[-1][2] is not None) == bool(experiment.start)


# ---- the smallest scale ----


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for items, which share runs."""
    return tmp_path_factory.mktemp("items")


@pytest.mark.parametrize("name", item_names())
def test_every_item_works_at_the_smallest_scale(name: str, items: Path) -> None:
    assert main(["reproduce", name, "--output", str(items), "--quiet"]) == 0
    place = items / "smoke" / name
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
            load_policy(items / "smoke" / run["champion"])
    for claim in kept.item.claims:  # what it would say at a larger scale
        assert ITEM_KINDS[kept.item.kind].rules[claim.check](kept.rows, **claim.options).why


def test_all_are_all_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def make(item: Any, folder: Path, *_: Any) -> Any:
        assert folder == tmp_path
        return SimpleNamespace(item=item, scale="smoke", place=folder, findings={})

    monkeypatch.setattr("arz.commands.reproduce._make", make)
    assert main(["reproduce", "all", "--output", str(tmp_path), "--json"]) == 0
    assert [each["item"] for each in json.loads(capsys.readouterr().out)] == item_names()


def test_items_share_their_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def noted(config: Any, seed: int, folder: Path, *rest: Any, **more: Any) -> Any:
        made.append(folder)
        return make_run(config, seed, folder, *rest, **more)

    monkeypatch.setattr("arz.reproduce.work.make_run", noted)
    one, other = (find_item(name) for name in ("quadruped-actions", "quadruped-states"))
    for item in (one, other):
        Work(item, "smoke", tmp_path).make()
    runs = {(experiment.name, seed) for item in (one, other) for experiment, seed in item.runs("smoke")}
    assert len(made) == len(set(made)) == len(runs) < len(one.runs("smoke")) + len(other.runs("smoke"))


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reproduced")
    assert main(["reproduce", "linear-analysis", "--output", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def made(once: Path, tmp_path: Path) -> Path:
    """An item with few runs."""
    shutil.copytree(once / "smoke", tmp_path / "smoke")
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
    at_once = Work(item, "smoke", tmp_path / "at once", 2)
    at_once.make()
    for tries in range(100):
        work = Work(item, "smoke", tmp_path / "in parts", 2, should_stop=_patience(5 + 40 * tries))
        try:
            work.make()
            break
        except StoppedError:
            assert not work.place.exists()
    assert tries > 1
    with pytest.raises(StoppedError):  # while it measures
        keep(replace(work, should_stop=_patience(3)))
    assert not work.place.exists()
    kept = keep(replace(work, should_stop=lambda: False))
    assert _timeless(kept.place / DATA) == _timeless(keep(at_once).place / DATA)


def test_a_run_that_fails_stops_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(config: Any, seed: int, folder: Path, preset: str, should_stop: Callable[[], bool], **_: Any) -> None:
        if seed == 2:
            raise ValueError("broken")
        deadline = time.monotonic() + 60
        while not should_stop():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    monkeypatch.setattr("arz.reproduce.work.make_run", run)
    with pytest.raises(ValueError, match="broken"):
        Work(find_item("linear-analysis"), "smoke", tmp_path, 2).make()


def _patience(times: int) -> Callable[[], bool]:
    """Wants to stop after it was asked so often."""
    left = threading.Semaphore(times)
    return lambda: not left.acquire(blocking=False)


def _timeless(path: Path) -> list[dict[str, Any]]:
    return [{**row, "seconds": None} for row in table.from_csv(path.read_text())]


def test_progress_goes_up_to_the_end(tmp_path: Path) -> None:
    shares: list[float] = []
    Work(find_item("linear-analysis"), "smoke", tmp_path, show=lambda share, text: shares.append(share)).make()
    assert shares == sorted(shares)
    assert math.isclose(shares[-1], 1.0)


def test_a_run_with_other_settings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(find_item("linear-analysis"), "smoke", tmp_path)
    folder = work.run_folder(work.item.experiments[0], 1)
    Run.create(arz.preset("cartpole-regularized", budget="1k"), seed=1, folder=folder).close()
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
        (["cartpole-sudden", "--summary", "page.md"], "without items"),
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
    assert text.count("<!--") == 1
    assert main(words) == 0
    assert page.read_text() == text
    mine = "mine, with `arz reproduce --summary`"
    page.write_text(mine)
    assert main(words) == 2
    assert page.read_text() == mine


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (ABOUT, b"{"),
        (ABOUT, b"[]"),
        (ABOUT, b'{"item": "other", "scale": "smoke"}'),
        (ABOUT, b'{"item": "linear-analysis", "scale": "smoke", "runs": [], "plan": "another", "machine": ""}'),
        (DATA, b"what,name,ours\nscore,x"),
        (DATA, b"\xff\xfe"),
        (DATA, b"what\nscore,x,y,z"),
        (DATA, None),
    ],
)
def test_damage_is_a_sentence(
    file: str, content: bytes | None, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is None:
        (made / file).unlink()
    else:
        (made / file).write_bytes(content)
    assert main(["reproduce", "linear-analysis", "--output", str(tmp_path), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "linear-analysis" in said
    assert "anew" in said


def test_a_smaller_scale_is_not_made_again_beside_a_larger(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hour" / "linear-analysis").mkdir(parents=True)
    (tmp_path / "hour" / "linear-analysis" / ABOUT).write_text("{}")
    monkeypatch.setattr("arz.reproduce.work.make_run", None)
    assert main(["reproduce", "linear-analysis", "--output", str(tmp_path), "--quiet"]) == 0


ALWAYS = {"change-schedules", "linear-analysis", "complexity"}
"""Items that have something to show without any run."""


@pytest.mark.parametrize("name", [name for name in item_names() if name not in ALWAYS])
def test_an_item_without_champions_has_a_page(name: str, tmp_path: Path) -> None:
    item = find_item(name)
    place = tmp_path / "hour" / name
    place.mkdir(parents=True)
    about = {"item": name, "scale": "hour", "plan": fingerprint(item, "hour"), "runs": [], "machine": "", "arz": ""}
    (place / ABOUT).write_text(json.dumps({**about, "python": "", "episodes": 1}))
    (place / DATA).write_text("")
    kept = Kept(item, "hour", place)
    kept.write_derived()
    assert {finding.verdict for finding in kept.findings.values()} == {NOT_TESTABLE}


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
    able = {"test": "a", "least": 950}
    assert scores.stays_below(rows, "m", 800, tests=["b"], provided=able).verdict == NOT_TESTABLE
    assert scores.stays_below(rows, "m", 800, tests=["b"], provided={**able, "least": 850}).verdict == CONFIRMED


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
    assert scores.is_only(rows, "some", [], 800, survives=0.85).verdict == CONFIRMED
    assert scores.is_only(rows, "some", [], 800, survives=0.95).verdict == NOT_CONFIRMED
    late = _rows(many=[[100, 100], [100, 100], [900, 900]], few=[[1, 1], [2, 2]])
    assert scores.is_only(late, "many", ["few"], 800).verdict == NOT_CONFIRMED  # of equally many runs


def test_the_best_run_is_chosen_by_search_fitness() -> None:
    rows = _rows(one=[[500, 500], [400, 400]], other=[[450, 450]])
    assert scores.has_best_run(rows, "one", ["other"], ["a", "b"]).verdict == CONFIRMED
    swapped = [{**row, "fitness": -row["fitness"]} for row in rows]
    assert scores.has_best_run(swapped, "one", ["other"], ["a", "b"]).verdict == NOT_CONFIRMED


def test_tests_are_never_mixed() -> None:
    rows = [{**row, "group": group} for row in _rows(m=[[900, 900]]) for group in ("sudden", "continuous")]
    with pytest.raises(AssertionError):
        scores.reaches(rows, "m", 800)
    assert scores.reaches(rows, "m", 800, group="sudden").verdict == CONFIRMED


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
    close = _curves(one=[100.0, 1.0], other=[99.0, 98.0])
    assert searches.has_best(close, "one", "other").verdict == PARTLY


def test_rules_for_fronts_and_the_constraint() -> None:
    def front(points: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
        return [{"method": "m", "return": a, "second": "length", "value": b} for a, b in points]

    assert searches.is_varied(front([(100 * k, 900 - 100 * k) for k in range(5)]), "m", 5).verdict == CONFIRMED
    assert searches.is_varied(front([(400 + k / 10, 900 - k / 10) for k in range(5)]), "m", 5).verdict == PARTLY
    assert searches.is_varied(front([(1, 1)]), "m", 5).verdict == NOT_CONFIRMED

    def shares(**idle: Sequence[float]) -> list[dict[str, Any]]:
        return [
            {"method": m, "seed": s, "what": "share", "idle": share, "best": 100 * share, "evaluations": 1}
            for m, each in idle.items()
            for s, share in enumerate(each)
        ]

    assert searches.eliminates(shares(w=[0.5, 0.2], c=[0.0, 0.0]), "w", "c").verdict == CONFIRMED
    assert searches.eliminates(shares(w=[0.5, 0.0], c=[0.0, 0.0]), "w", "c").verdict == PARTLY
    assert searches.eliminates(shares(w=[0.5, 0.2], c=[0.1, 0.0]), "w", "c").verdict == NOT_CONFIRMED
    low, high = [0.1, 0.11, 0.12, 0.13, 0.14], [0.5, 0.51, 0.52, 0.53, 0.54]
    assert searches.is_no_loss(shares(w=low, c=high), "w", "c").verdict == CONFIRMED
    assert searches.is_no_loss(shares(w=high, c=low), "w", "c").verdict == NOT_CONFIRMED
    assert searches.is_no_loss(shares(w=high[:2], c=low[:2]), "w", "c").verdict == PARTLY


def _episode(leg: str, steps: int, **columns: Callable[[int], float]) -> list[dict[str, Any]]:
    return [{"leg": leg, "step": k, **{name: of(k) for name, of in columns.items()}} for k in range(steps)]


def test_rules_for_states() -> None:
    def made(after: Callable[[int], float], steps: int = 1000) -> list[dict[str, Any]]:
        rows = _episode("none", 1000, state=lambda k: k % 5 % 4)
        for n, leg in enumerate(LEGS):
            rows += _episode(leg, steps, state=lambda k, n=n: after(k + n) if k >= 500 else k % 5 % 4)  # type: ignore[misc]
        return rows

    assert episodes.has_rhythm(made(lambda k: 0)).verdict == CONFIRMED
    assert episodes.is_disrupted(made(lambda k: k % 7 % 4)).verdict == CONFIRMED
    assert episodes.are_different(made(lambda k: k % 7 % 4)).verdict == CONFIRMED
    assert episodes.are_different(made(lambda k: 3)).verdict == NOT_CONFIRMED
    assert episodes.is_disrupted(made(lambda k: 0, steps=510)).verdict == NOT_CONFIRMED  # too soon to tell
    assert episodes.is_disrupted([{**row, "state": 0} for row in made(lambda k: 0)]).verdict == NOT_TESTABLE


def test_rules_for_registers_and_actions() -> None:
    def made(rhythm: float, shake: float, steps: int = 1000) -> list[dict[str, Any]]:
        rows = []
        for leg in ("none", *LEGS):
            for name in ("s1", "s2"):
                size = shake if leg != "none" else 0.0
                found = _episode(
                    leg,
                    steps if leg != "none" else 1000,
                    value=lambda k, size=size: math.sin(k / (rhythm if k >= 500 and size else 2.0)) + size * (k >= 500),  # type: ignore[misc]
                )
                rows += [{**row, "register": name} for row in found]
        return rows

    assert episodes.keeps_rhythm(made(2.0, 1.0), ["s1", "s2"]).verdict == CONFIRMED
    assert episodes.keeps_rhythm(made(3.0, 1.0), ["s1"]).verdict == NOT_CONFIRMED
    assert episodes.keeps_rhythm(made(2.0, 1.0, steps=520), ["s1"]).verdict == NOT_TESTABLE
    assert episodes.is_shaken(made(2.0, 1.0), "s1").verdict == CONFIRMED
    assert episodes.is_shaken(made(2.0, 1e-3), "s1").verdict == NOT_CONFIRMED

    def acting(delay: int, size: float) -> list[dict[str, Any]]:
        rows = []
        for leg in ("none", *LEGS):
            for step in range(400, 600):
                moved = size if leg != "none" and step >= 500 + delay else 0.0
                rows.append({"leg": leg, "step": step, "action[0]": 0.1 + moved, "call 1: x": int(moved > 0)})
        return rows

    assert episodes.acts_at_once(acting(3, 0.3)).verdict == CONFIRMED
    assert episodes.acts_at_once(acting(50, 0.3)).verdict == NOT_CONFIRMED
    assert episodes.acts_at_once(acting(3, 0.001)).verdict == NOT_CONFIRMED  # hardly anything
    assert episodes.calls_change(acting(3, 0.3)).verdict == CONFIRMED
    assert episodes.calls_change([{"leg": "none", "step": 1, "action[0]": 0.0}]).verdict == NOT_TESTABLE


def test_actions_are_named_by_leg_and_joint() -> None:
    (kept,) = (each for each in all_kept(RESULTS) if each.item.name == "quadruped-actions")
    figure = episodes.draw_actions(kept.item, kept.rows)
    shown = table.matching(kept.rows, leg=kept.item.options["shown"])
    names = [f"{leg} {joint}" for leg in LEGS for joint in ("abduction", "hip", "knee")]
    drawn: dict[Any, Any] = {line.get_gid(): line.get_ydata() for panel in figure.axes for line in panel.get_lines()}
    for k, name in enumerate(names):
        assert [row[f"action[{k}]"] for row in shown] == list(drawn[name])
    assert [panel.get_ylabel().split("\n")[0] for panel in figure.axes[:4]] == [episodes.NAMES[leg] for leg in LEGS]
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["abduction", "hip", "knee"]


def test_bars_look_as_in_the_legend() -> None:
    (kept,) = (each for each in all_kept(RESULTS) if each.item.name == "quadruped-legs")
    figure = scores.draw(kept.item, kept.rows)
    shown = [patch.get_facecolor() for patch in figure.legends[0].get_patches()]
    assert len(shown) == len(set(shown)) == len(table.values(kept.rows, "method"))
    assert {bar.get_facecolor() for panel in figure.axes for bar in panel.patches} == set(shown)


def test_a_policy_that_falls_by_itself_shows_nothing() -> None:
    def made(**steps: int) -> list[dict[str, Any]]:
        return [
            {
                "method": "m",
                "leg": leg,
                "step": k - 1,
                "forward": 1.0,
                "ending": "It lasted." if k == 1000 else "It fell.",
            }
            for leg, k in steps.items()
        ]

    assert episodes.falls(made(none=1000, FR=600, FL=600), "m", ["FR", "FL"]).verdict == CONFIRMED
    assert episodes.falls(made(none=1000, FR=600, FL=1000), "m", ["FR", "FL"]).verdict == PARTLY
    assert episodes.falls(made(none=40, FR=40, FL=40), "m", ["FR", "FL"]).verdict == NOT_TESTABLE
    assert episodes.stays_up(made(none=1000, FR=600), "m", ["none", "FR"]).verdict == PARTLY


def test_what_cannot_be_refuted_is_not_called_refuted() -> None:
    item = find_item("quadruped-states")
    rows = [{"leg": leg, "step": k, "state": 0} for leg in ("none", *LEGS) for k in range(1000)]
    assert judge(item, item.claims[0], "hour", rows).verdict == NOT_TESTABLE
    assert judge(item, replace(item.claims[0], refutable=True), "hour", rows).verdict == NOT_CONFIRMED


def test_costs_of_programs_that_can_do_the_task() -> None:
    networks = [
        {"task": "cartpole", "policy": name, "parameters": p, "flops": f}
        for name, p, f in (("MLP", 1184, 2368), ("LSTM", 4640, 9280))
    ]
    own = {"task": "cartpole", "policy": "evolved here", "lines": 8}
    good = {**own, "parameters": 10, "flops": 24, "score": 900}
    large = {**own, "parameters": 100, "flops": 24, "score": 900}
    weak = {**own, "parameters": 1, "flops": 1, "score": 10}
    assert printed.have_factors([*networks, good, weak, weak], "cartpole", 800).verdict == CONFIRMED
    assert printed.have_factors([*networks, large, weak, weak], "cartpole", 800).verdict == PARTLY
    assert printed.have_factors([*networks, weak], "cartpole", 800).verdict == NOT_TESTABLE
    assert printed.are_short([good], "cartpole", 800, 40).verdict == CONFIRMED
    assert printed.are_short([good], "cartpole", 800, 5).verdict == NOT_CONFIRMED


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


@pytest.mark.parametrize("name", ["cartpole-sudden", "cartpole-continuous"])
def test_kept_champions_score_what_the_data_say(name: str) -> None:
    (kept,) = (each for each in all_kept(RESULTS) if each.item.name == name)
    run = next(run for run in kept.about["runs"] if run["seed"] == 2)
    (row,) = table.matching(kept.rows, experiment=run["experiment"], seed=2, budget="full", test="all")
    champion = load_policy(RESULTS / kept.scale / run["champion"])
    task = arz.Cartpole(change=row["group"])
    assert arz.evaluate(champion, task, arz.fresh_episodes(1000)).mean[0] == pytest.approx(row["mean"], abs=0.006)
