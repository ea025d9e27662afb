"""Figures and films show what they are given, and their files are whole or not there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray
from PIL import Image

from arz.analysis import figures
from arz.evaluate import Status, evaluate, record
from arz.evaluate import fresh_episodes as episodes_of_test
from arz.parser import load
from arz.plotting import style
from arz.program import Program
from arz.tasks.cartpole import SENTENCES, Cartpole
from arz.tasks.cartpole import film as replay
from arz.tasks.cartpole.strip import strip_figure
from arz.tasks.gymnasium import AnyEnvironment

PAPER = Path(__file__).parent.parent / "examples" / "paper_cartpole.arz"
Rows = dict[str, NDArray[np.float64]]


@pytest.fixture(scope="module")
def program() -> Program:
    return load(PAPER)


def episode(program: Program, task: Cartpole, number: int = 1) -> Rows:
    return {name: values[number] for name, values in record(program, task, episodes_of_test(3)).items()}


def steps_of_change(before: float, after: float, first: int, last: int, steps: int) -> NDArray[np.float64]:
    """The task's schedule: old up to `first`, new from `last`, a straight line in between."""
    now = np.arange(steps)
    share = np.where(now >= last, 1.0, np.clip((now - first) / max(last - first, 1), 0.0, 1.0))
    return before + (after - before) * share


def made_up(steps: int = 60, ended: int | None = None, **columns: NDArray[np.float64]) -> Rows:
    """A short episode in which nothing changes but what is given."""
    time = np.arange(steps) / 60
    rows = {name: np.zeros(steps) for name in ("damping", "track_angle", "noise", "x_dot", "theta_dot")}
    rows |= {"force": np.ones(steps), "reward": np.ones(steps), "x": 0.2 * np.sin(time), "theta": 0.05 * np.cos(time)}
    rows |= {"theta_vertical": rows["theta"], "action": np.sin(9 * time), "applied": np.sin(9 * time)} | columns
    return {name: np.where(np.arange(steps) < (ended or steps), values, np.nan) for name, values in rows.items()}


def metrics(count: int = 50, restarts: int = 2) -> Rows:
    evaluations = np.linspace(1000, 5e6, count)
    life = 900 * (1 - np.exp(-np.arange(count) / 20))
    columns = {"evaluations": evaluations, "steps": 3e3 * evaluations, "seconds": evaluations / 1e4}
    columns |= {"best_fitness": life + 30, "mean_fitness": life / 2, "life_score": life, "hits": evaluations / 9}
    lives = np.floor(np.linspace(0, restarts, count))
    return columns | {"restarts": lives, "champion_score": np.maximum.accumulate(life)}


def line(panel: Axes, gid: str) -> Line2D:
    return next(each for each in panel.get_lines() if each.get_gid() == gid)


def y_of(panel: Axes, gid: str) -> NDArray[np.float64]:
    return np.asarray(line(panel, gid).get_ydata(), np.float64)


def words_of(figure: Figure) -> str:
    return "\n".join(text.get_text() for panel in figure.axes for text in panel.texts)


@pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG\r\n"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_figure_is_written_as_its_suffix_says(tmp_path: Path, suffix: str, begins: bytes) -> None:
    path = tmp_path / f"progress.{suffix}"
    style.save(figures.progress_figure(metrics(), "A run"), path)
    assert path.read_bytes().startswith(begins)
    assert list(tmp_path.iterdir()) == [path]
    if suffix == "png":
        with Image.open(path) as image:
            image.load()
            assert image.width <= 1600
            assert image.height <= 900


def test_an_unknown_suffix_or_folder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    figure = figures.progress_figure(metrics(), "A run")
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg or \.pdf, not '\.bmp'"):
        style.save(figure, tmp_path / "a.bmp")
    with pytest.raises(ValueError, match="there is no folder"):
        style.save(figure, tmp_path / "missing" / "a.png")
    with pytest.raises(ValueError, match=r"must end in \.gif or \.mp4, not ''"):
        replay.film(made_up(), tmp_path / "film", x_limit=0.4)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_text("old")

    class Failing(Figure):
        def savefig(self, fname: Path, **_: object) -> None:  # type: ignore[override]
            fname.write_text("half")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        style.save(Failing(), path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_an_interrupted_film_leaves_nothing_behind(tmp_path: Path, suffix: str) -> None:
    def interrupt(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay.film(made_up(), tmp_path / f"a.{suffix}", x_limit=0.4, advance=interrupt)
    assert list(tmp_path.iterdir()) == []


def texts_of(figure: Figure) -> list[tuple[str, Bbox]]:
    """What can be read in a figure, and where it stands."""
    figure.draw_without_rendering()
    found = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_visible()]
    shown = [(text.get_text(), text.get_window_extent()) for text in found if text.get_text().strip()]
    scales = [each for panel in figure.axes for each in panel.child_axes]
    ticks = {
        id(label) for each in (*figure.axes, *scales) for axis in (each.xaxis, each.yaxis) for label in hidden(axis)
    }
    return [
        each
        for each, text in zip(shown, (x for x in found if x.get_text().strip()), strict=True)
        if id(text) not in ticks
    ]


def hidden(axis: Axis) -> list[Text]:
    """The labels of ticks that lie beyond the ends of an axis, and are not drawn."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    major = axis.get_major_ticks()
    return [
        each
        for tick in major
        for each in (tick.label1, tick.label2)
        if not low - slack <= tick.get_loc() <= high + slack
    ]


GAP = 15
"""So many pixels, about a letter, lie between texts on one line: else 1500 and 0 are read as 15000."""


def assert_readable(figure: Figure) -> None:
    """No text covers another, and none leaves the figure."""
    shown, (width, height) = texts_of(figure), figure.canvas.get_width_height()
    for text, box in shown:
        assert -1 <= box.x0 <= box.x1 <= width + 1, f"{text} leaves the figure"
        assert -1 <= box.y0 <= box.y1 <= height + 1, f"{text} leaves the figure"
    for (one, first), (other, second) in combinations(shown, 2):
        gap = GAP if max(first.height, second.height) < 2 * GAP else 0  # not for what is turned, or has several lines
        beside = first.x1 + gap <= second.x0 or second.x1 + gap <= first.x0
        assert beside or first.y1 <= second.y0 or second.y1 <= first.y0, f"{one} and {other} run into each other"


SELECTION, FITNESS = ("champion_score", "life_score"), ("best_fitness", "mean_fitness")


def test_progress_shows_the_metrics_once_with_evaluations_steps_and_time_below() -> None:
    given = metrics(restarts=2)
    figure = figures.progress_figure(given, "A run")
    for panel, names in zip(figure.axes, (SELECTION, FITNESS), strict=True):
        assert [each.get_gid() for each in panel.get_lines() if each.get_gid()] == list(names)
        for name in names:
            np.testing.assert_allclose(np.asarray(line(panel, name).get_xdata(), float), given["evaluations"] / 1e6)
            np.testing.assert_array_equal(y_of(panel, name), given[name])
        assert panel.get_ylim() == (0, 1000)
        (marks,) = (each for each in panel.collections if isinstance(each, LineCollection))
        places = [1 + int(place) for place in np.flatnonzero(np.diff(given["restarts"]))]
        assert len(places) == 2
        expected = given["evaluations"][places] / 1e6
        np.testing.assert_allclose([segment[0][0] for segment in marks.get_segments()], expected)
    labels = ["evaluations (millions)", "environment steps (billions)", "time (min)"]
    assert [text.get_text() for text in figure.axes[1].texts] == labels
    scales = {each.get_gid(): each for each in figure.axes[1].child_axes}
    for name, size in {"evaluations": 1e6, "steps": 1e9, "seconds": 60.0}.items():
        told = [float(label.get_text()) for label in scales[name].get_xticklabels()]
        assert len(told) > 4
        places_ = np.interp(np.array(told) * size, [0, *given[name]], [0, *given["evaluations"]]) / 1e6
        np.testing.assert_allclose(scales[name].get_xticks(), places_)


def test_no_curve_of_progress_hides_another() -> None:
    given = metrics()
    assert np.array_equal(given["champion_score"], given["life_score"])  # as in a run without restarts
    panel = figures.progress_figure(given, "A run").axes[0]
    below, above = (line(panel, name) for name in SELECTION)
    assert panel.get_lines().index(below) < panel.get_lines().index(above)
    assert below.get_linewidth() > 3 * above.get_linewidth()
    assert below.get_color() != above.get_color()


@pytest.mark.parametrize("bend", [0.25, 1.0, 4.0])
def test_progress_is_readable_however_time_goes_by(bend: float) -> None:
    given = metrics()
    for most, scale in ((5e6, 1.0), (1.5e6, 97.0), (1.5e6, 3.1e4)):
        own = {name: given[name] * most / 5e6 for name in ("evaluations", "steps")}
        own["seconds"] = given["seconds"] ** bend * scale
        assert_readable(figures.progress_figure(given | own, "A run"))


def test_many_restarts_are_counted_not_drawn() -> None:
    figure = figures.progress_figure(metrics(200, restarts=61), "A run")
    assert not any(panel.collections for panel in figure.axes)
    legend = figure.axes[1].get_legend()
    assert legend is not None
    assert "61 restarts, not drawn" in [text.get_text() for text in legend.get_texts()]
    drawn = figures.progress_figure(metrics(200, restarts=60), "A run")
    assert all(panel.collections for panel in drawn.axes)


def test_the_range_of_returns_follows_the_data_of_other_tasks() -> None:
    given = metrics()
    for name in (*SELECTION, *FITNESS):
        given[name] = given[name] * 3 - 100
    low, high = figures.progress_figure(given, "A run").axes[0].get_ylim()
    assert low < -100
    assert high >= given["best_fitness"].max()
    assert figures.progress_figure(metrics(), "A run", highest=2000).axes[0].get_ylim() == (0, 2000)
    small = {name: given[name] / 1e4 for name in (*SELECTION, *FITNESS)}
    assert figures.progress_figure(given | small, "A run").axes[0].get_ylim()[1] < 0.5
    far = {name: -9000 + given[name] / 10 for name in (*SELECTION, *FITNESS)}
    low, high = figures.progress_figure(given | far, "A run").axes[0].get_ylim()
    assert (-9200 < low < -8900, -8800 < high < -8500) == (True, True)


@pytest.mark.parametrize("rows", [slice(7, 8), slice(0, 50)], ids=["one", "all"])
def test_outliers_do_not_flatten_progress_and_are_told(rows: slice) -> None:
    given = metrics()
    given["mean_fitness"][rows] = -1e6
    figure = figures.progress_figure(given, "A run")
    low, high = figure.axes[1].get_ylim()
    assert -1000 <= low <= 0 < 800 < high <= 1000
    assert "▼ down to -1e+06" in [text.get_text() for text in figure.axes[1].texts]
    given = metrics()
    given["life_score"][3] = 5e7
    figure = figures.progress_figure(given, "A run")
    assert figure.axes[0].get_ylim() == (0, 1000)
    assert "▲ up to 5e+07" in [text.get_text() for text in figure.axes[0].texts]


def test_rows_that_are_no_numbers_are_left_out_of_progress(tmp_path: Path) -> None:
    given = metrics()
    given["mean_fitness"][5:20] = np.nan
    figure = figures.progress_figure(given, "A run")
    assert figure.axes[1].get_ylim() == (0, 1000)
    np.testing.assert_array_equal(y_of(figure.axes[1], "mean_fitness"), given["mean_fitness"])
    nothing = {name: np.full(50, np.nan) for name in (*SELECTION, *FITNESS)}
    style.save(figures.progress_figure(given | nothing, "A run"), tmp_path / "a.png")


def test_progress_can_be_shown_from_the_first_report_on(tmp_path: Path) -> None:
    for count in (0, 1):
        given = {name: values[:count] for name, values in metrics().items()}
        style.save(
            figures.progress_figure(given | {"champion_score": np.full(count, -np.inf)}, "A run"), tmp_path / "a.png"
        )


def test_metrics_that_do_not_fit_together_are_refused() -> None:
    given = metrics()
    with pytest.raises(ValueError, match="need life_score"):
        figures.progress_figure({name: values for name, values in given.items() if name != "life_score"}, "A run")
    with pytest.raises(ValueError, match="restarts 3,"):
        figures.progress_figure(given | {"restarts": np.zeros(3)}, "A run")


def test_a_test_figure_shows_means_and_single_episodes() -> None:
    pairs = list(product(("sudden", "continuous"), ("stationary", "force", "damping", "track_angle", "all")))
    results = {pair: np.geomspace(50 * place + 10, 990, 20) for place, pair in enumerate(pairs)}
    figure = figures.test_figure(results, "A policy")
    for panel, change in zip(figure.axes, ("sudden", "continuous"), strict=True):
        assert change in panel.get_title()
        assert panel.get_ylim() == (0, 1000)
        expected = [results[pair] for pair in pairs if pair[0] == change]
        means = [values.mean() for values in expected]
        np.testing.assert_allclose([bar.get_height() for bar in panel.patches], means)  # type: ignore[attr-defined]
        assert [text.get_text() for text in panel.texts] == [f"{mean:.0f}" for mean in means]
        for place, (dots, values) in enumerate(zip(panel.collections, expected, strict=True)):
            x, y = np.asarray(dots.get_offsets()).T
            np.testing.assert_array_equal(y, values)
            assert np.all(np.abs(x - place) < 0.5)
            assert len(set(x)) == len(x)


@pytest.mark.parametrize(
    ("returns", "highest", "limits"),
    [
        (np.linspace(-1800, -130, 30), None, (-2000, 0)),
        (np.linspace(20, 48, 30), None, (0, 50)),
        (np.linspace(20, 48, 30), 1000.0, (0, 1000)),
        (np.linspace(-40, 230, 30), 300.0, (-100, 300)),
        (np.linspace(8000, 9350, 30), None, (0, 10000)),
        (np.full(3, 0.0), None, (0, 1)),
    ],
)
def test_the_axis_of_a_test_comes_from_its_returns_or_from_the_task(
    returns: NDArray[np.float64], highest: float | None, limits: tuple[float, float]
) -> None:
    figure = figures.test_figure({("Pendulum-v1", "as it is"): returns}, "A policy", highest=highest)
    assert figure.axes[0].get_ylim() == pytest.approx(limits)
    assert_readable(figure)


def test_the_highest_return_is_that_of_the_task() -> None:
    assert Cartpole(steps=300).highest_return == 300.0
    assert AnyEnvironment("Pendulum-v1").highest_return is None


def test_titles_are_names_and_not_paths() -> None:
    assert style.title_of("/a/long/way/runs/cartpole-001", "all", "seed 1") == "cartpole-001: all, seed 1"
    assert style.title_of("examples/p.arz", "all") == "p.arz: all"
    assert style.title_of(".", "all") == f"{Path.cwd().name}: all"
    assert style.title_of("-", "all") == "standard input: all"
    long = style.title_of(f"runs/begin{'n' * 200}end", "all")
    assert long.startswith("beginnnn")
    assert long.endswith("nnnend: all")
    assert len(long) < 60
    assert "…" in long
    assert style.title_of("a\nb\x1b[1m", "all") == "a b [1m: all"


@pytest.mark.parametrize("title", ["word " * 100, "x" * 900, "y" * 120 + "\n" + "z" * 300, "short"])
def test_a_title_has_two_lines_at_the_most(title: str) -> None:
    figure = style.new_figure(3.0, title)
    text = figure.get_suptitle()
    lines = text.split("\n")
    assert len(lines) <= 2
    assert max(map(len, lines)) <= style.TITLE_WIDTH
    assert text[:5] == title[:5]
    assert ("…" in text) == (title != "short")
    assert_readable(figure)


def test_a_test_figure_needs_episodes() -> None:
    with pytest.raises(ValueError, match="at least one episode"):
        figures.test_figure({("sudden", "all"): np.array([])}, "A policy")


@pytest.mark.parametrize("change", ["sudden", "continuous"])
def test_changing_finds_the_schedule_of_the_task(program: Program, change: str) -> None:
    rows = episode(program, Cartpole(change=change, actuator_noise=True), 1)
    found = replay.changing(rows)
    assert list(found) == ["force", "damping", "track_angle", "noise"]
    for name, (first, last) in found.items():
        values = rows[name]
        is_ramp = change == "continuous" or name == "noise"
        assert (first < last) == is_ramp
        begin = first - 1 if is_ramp else first  # a straight line has its old value still at its first step
        np.testing.assert_allclose(values, steps_of_change(values[0], values[-1], begin, last, len(values)), atol=1e-12)
        assert values[first - 1] == values[0] != values[first]
        assert values[last - 1] != values[last] == values[-1]


def test_changing_finds_exactly_the_steps_and_nothing_else() -> None:
    force, track = steps_of_change(1.0, 0.5, 20, 40, 60), steps_of_change(0.0, 0.2, 30, 30, 60)
    assert replay.changing(made_up(force=force, track_angle=track)) == {"force": (21, 40), "track_angle": (30, 30)}
    assert replay.changing(made_up(ended=35, force=force, track_angle=track)) == {
        "force": (21, 34),
        "track_angle": (30, 30),
    }
    assert replay.changing(made_up(ended=30, track_angle=track)) == {}


def test_a_strip_shows_the_episode(program: Program) -> None:
    rows = episode(program, Cartpole())
    figure = strip_figure(rows, "An episode", x_limit=0.4)
    _, position, angle, action, force, damping, track = figure.axes
    np.testing.assert_array_equal(y_of(position, "x"), rows["x"])
    np.testing.assert_allclose(y_of(angle, "theta"), np.degrees(rows["theta"]))
    np.testing.assert_allclose(y_of(angle, "theta_vertical"), np.degrees(rows["theta_vertical"]))
    np.testing.assert_array_equal(y_of(action, "action"), rows["action"])
    np.testing.assert_array_equal(y_of(action, "applied"), rows["applied"])
    np.testing.assert_allclose(y_of(force, "force"), 100 * rows["force"])
    np.testing.assert_array_equal(y_of(damping, "damping"), rows["damping"])
    np.testing.assert_allclose(y_of(track, "track_angle"), np.degrees(rows["track_angle"]))
    np.testing.assert_allclose(np.asarray(line(position, "x").get_xdata(), float), np.arange(1000) / 60)
    assert {0.4, -0.4} <= {float(np.ravel(each.get_ydata())[0]) for each in position.get_lines()}
    assert {12.0, -12.0} <= {float(np.ravel(each.get_ydata())[0]) for each in angle.get_lines()}
    assert track.get_xlim() == (0, 1000 / 60)


def test_changes_are_shaded_in_all_panels_and_named() -> None:
    noise = steps_of_change(0.0, 1.5, 10, 30, 60)
    figure = strip_figure(made_up(noise=noise, track_angle=steps_of_change(0.0, 0.2, 40, 40, 60)), "An episode")
    header, *panels = figure.axes
    assert len(panels) == 7  # with one for the noise
    for panel in panels:
        spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in panel.patches]  # type: ignore[attr-defined]
        np.testing.assert_allclose(spans, [(40 / 60, 41 / 60), (11 / 60, 30 / 60)])
    assert words_of(figure) == "track angle 0.0° → 11.5°\nnoise mean +0.00 → +1.50"
    assert [patch.get_gid() for patch in header.patches] == ["track_angle", "noise"]


def test_an_early_end_is_marked_with_its_reason(program: Program) -> None:
    task = Cartpole(change="sudden", x_limit=0.1)
    rows = episode(program, task)
    outcome = evaluate(program, task, episodes_of_test(3))
    steps = int(outcome.lengths[0, 1])
    assert outcome.statuses[0, 1] == Status.LEFT_TRACK.number
    assert replay.length(rows) == steps < 1000
    figure = strip_figure(rows, "An episode", x_limit=0.1, ending=SENTENCES[Status.LEFT_TRACK])
    assert SENTENCES[Status.LEFT_TRACK] in words_of(figure)
    assert float(np.ravel(line(figure.axes[0], "end").get_xdata())[0]) == pytest.approx(steps / 60)
    assert f"ended after {steps / 60:.1f} s" in words_of(strip_figure(rows, "An episode"))
    assert SENTENCES[Status.COMPLETED] not in words_of(strip_figure(made_up(), "", ending=SENTENCES[Status.COMPLETED]))


def test_wild_actions_are_cut_and_that_is_said(tmp_path: Path) -> None:
    actions = np.linspace(-2, 2, 60)
    actions[20], actions[49] = -5e6, np.nan
    figure = strip_figure(made_up(ended=50, action=actions, applied=np.clip(actions, -1, 1)), "Wild")
    panel = figure.axes[3]
    shown = y_of(panel, "action")
    assert shown[20] == -3
    np.testing.assert_array_equal(shown[:20], actions[:20])
    legend = panel.get_legend()
    assert legend is not None
    assert "chosen, cut at ±3\n(largest 5e+06)" in [text.get_text() for text in legend.get_texts()]
    style.save(figure, tmp_path / "a.png")


@pytest.mark.parametrize("use", [replay.changing, lambda rows: strip_figure(rows, "")])
def test_many_episodes_or_columns_that_miss_are_refused(use: Callable[[Rows], object]) -> None:
    rows = made_up()
    with pytest.raises(ValueError, match="take one episode out of the record"):
        use({name: values[None] for name, values in rows.items()})
    with pytest.raises(ValueError, match="needs theta;"):
        use({name: values for name, values in rows.items() if name != "theta"})
    with pytest.raises(ValueError, match="has no step"):
        use({name: np.full(60, np.nan) for name in rows})


def test_captions_say_time_return_and_changes() -> None:
    force = steps_of_change(1.0, 0.5, 20, 40, 200)
    rows = made_up(200, force=force, track_angle=steps_of_change(0.0, 0.2, 50, 50, 200))
    assert replay.caption(rows, 20) == (" 0.3 s   return 20", False)
    assert replay.caption(rows, 30) == (" 0.5 s   return 30   motor weakens", True)
    assert replay.caption(rows, 40) == (" 0.7 s   return 40   force 50%", False)
    assert replay.caption(rows, 50) == (" 0.8 s   return 50   force 50%   track tilts", True)
    assert replay.caption(rows, 109)[1]
    assert replay.caption(rows, 110) == (" 1.8 s   return 110   force 50%   track angle 11.5°", False)
    assert replay.caption(rows, 199, "The end.") == (" 3.3 s   return 200   The end.", False)


def test_a_gif_is_small_and_runs_in_real_time(program: Program, tmp_path: Path) -> None:
    rows = {name: values[:300] for name, values in episode(program, Cartpole()).items()}
    told: list[tuple[int, int]] = []
    replay.film(rows, tmp_path / "a.gif", x_limit=0.4, title="A policy", advance=lambda *both: told.append(both))
    assert told == [(done, 101) for done in range(1, 102)]
    assert (tmp_path / "a.gif").stat().st_size < 3_000_000 * 0.3
    with Image.open(tmp_path / "a.gif") as image:
        assert (image.format, image.size) == ("GIF", (480, 300))
        times = []
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            times.append(int(image.info["duration"]))
    assert sum(times) == 100 * 50 + 2000
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


def test_the_pictures_of_a_film_are_those_of_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arz.tasks.cartpole import drawing

    drawn, frame = [], drawing.frame

    def watched(x: float, theta: float, track_angle: float, x_limit: float, **more: object) -> NDArray[np.uint8]:
        drawn.append((x, theta, track_angle, x_limit, more["force"], more["changed"]))
        return frame(x, theta, track_angle, x_limit, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(drawing, "frame", watched)
    rows = made_up(ended=31, force=np.full(60, 0.5), track_angle=steps_of_change(0.0, 0.2, 10, 20, 60))
    replay.film(rows, tmp_path / "a.gif", x_limit=0.4, every=7)
    steps = [0, 7, 14, 21, 28, 30]  # the last step too, though it is no seventh
    names = ("x", "theta", "track_angle")
    expected = [(*(rows[name][at] for name in names), 0.4, 0.5 * rows["applied"][at], 10 < at < 20) for at in steps]
    assert drawn[-6:] == expected


def test_an_mp4_is_a_film(tmp_path: Path) -> None:
    from imageio_ffmpeg import count_frames_and_secs

    replay.film(made_up(), tmp_path / "a.mp4", x_limit=0.4)
    frames, seconds = count_frames_and_secs(str(tmp_path / "a.mp4"))
    assert frames == 21 + 40
    assert seconds == pytest.approx(frames / 20, abs=0.1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_a_missing_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ValueError, match=r"pip install '.\[video\]'"):
        replay.film(made_up(), tmp_path / "a.mp4", x_limit=0.4)
    assert list(tmp_path.iterdir()) == []
