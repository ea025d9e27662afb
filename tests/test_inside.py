"""Figures from inside show what the task applies, and what a filter keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import arz
from arz.analysis import trace_figures
from arz.episode import run_episode
from arz.explain.linear import Closed, read
from arz.explain.traces import Inside, look_inside
from arz.program import Program
from arz.simplify import with_own_names
from arz.tasks.gymnasium import AnyEnvironment
from arz.tasks.quadruped import LEGS
from arz.tasks.quadruped import film as walk
from tests.test_figures import PAPER, assert_readable, line, y_of

HEAD = "memory(observations={}, actions={}, scalars=6, vectors=6, matrices=0, indices=2)\n"
WILD = "def GetAction(obs, action):\n    s1 = sum(obs)\n    s2 = s1 / s5\n    {}\n"
"""A program that divides by nothing: its numbers are infinite."""
CHAMPIONS = Path(__file__).parent.parent / "results" / "cartpole" / "champions"


def seen(program: str, task: object) -> Inside:
    return look_inside(run_episode(Program.parse(program), task, int(arz.fresh_episodes(1)[0])))  # type: ignore[arg-type]


def test_infinite_actions_are_drawn_as_they_are_applied() -> None:
    episode = seen(HEAD.format(3, 1) + WILD.format("action = s2 + s1"), AnyEnvironment("Pendulum-v1").settled())
    given = episode.episode.actions
    assert np.all(np.isinf(given))
    figure = trace_figures.actions_figure(episode, "Wild")
    drawn = y_of(figure.axes[0], "action 0")
    np.testing.assert_array_equal(drawn, np.clip(given[:, 0], -2, 2))
    assert np.all(np.isfinite(drawn))
    low, high = figure.axes[0].get_ylim()
    assert low < -2 < 2 < high < 3
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["the program asks for more in 200 of 200 steps: clipped"]
    assert_readable(figure)


def test_bounds_of_their_own_are_applied_to_each_entry() -> None:
    task = AnyEnvironment("tests.gymnasium_support:Follow-v0", steps=30).settled()  # takes -0.5 to 0.25
    episode = seen(HEAD.format(2, 1) + WILD.format("action = s2 * s1"), task)
    drawn = y_of(trace_figures.actions_figure(episode, "").axes[0], "action 0")
    given = episode.episode.actions[:, 0]
    np.testing.assert_array_equal(drawn, np.where(np.isnan(given), -0.125, np.clip(given, -0.5, 0.25)))


def test_a_choice_is_drawn_as_what_is_done_and_what_it_is_worth() -> None:
    program = HEAD.format(4, 2) + "def GetAction(obs, action):\n    action = obs / v5\n"
    episode = seen(program, AnyEnvironment("CartPole-v1").settled())
    worth = episode.episode.actions
    assert np.all(np.isinf(worth))
    figure = trace_figures.actions_figure(episode, "")
    done, values = figure.axes
    np.testing.assert_array_equal(y_of(done, "the action\nthat is done 0"), np.argmax(worth, axis=1))
    label = "worth of each action:\nthe largest is done"
    shown = np.stack([y_of(values, f"{label} {k}") for k in range(2)], axis=1)
    np.testing.assert_array_equal(np.sign(shown), np.sign(worth))
    assert list(done.get_yticks()) == [0, 1]
    assert_readable(figure)


@pytest.mark.parametrize("lines", ["v2 = bcast(s1)\n    action = v2", "action = obs / v5"], ids=["large", "infinite"])
def test_actions_of_a_robot_are_drawn_as_its_motors_take_them(lines: str) -> None:
    program = f"def StartEpisode():\n    s1 = 7.0\n\ndef GetAction(obs, action):\n    {lines}\n"
    episode = seen(HEAD.format(37, 12) + program, arz.Quadruped(steps=20, leg="none"))
    given = episode.episode.actions
    most = arz.Quadruped.most_action
    expected = np.clip(np.where(np.isfinite(given), given, 0.0), -most, most)
    assert np.any(expected != given)
    figure = trace_figures.actions_figure(episode, "")
    drawn = np.stack(
        [y_of(figure.axes[leg], f"{name}: action (rad) {k}") for leg, name in enumerate(LEGS) for k in range(3)],
        axis=1,
    )
    np.testing.assert_array_equal(drawn, expected)
    rows = dict(episode.episode.rows)
    told = walk.walk_figure(rows, "").axes[3].get_images()[0].get_array()
    assert told is not None
    np.testing.assert_allclose(np.asarray(told), expected.T, atol=1e-12)


def summing(weight: float) -> Closed:
    """A controller with a proportional part of 100 and an integral part of this weight."""
    return Closed(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[weight, 0.0], [100.0, 1.0]]), 1)


def test_what_a_kernel_tends_to() -> None:
    def limit(carried: object, taken: object) -> NDArray[np.float64] | None:
        return Closed(np.array(carried, float), np.array(taken, float), 1).limit

    found = summing(0.04).limit
    assert found is not None
    np.testing.assert_allclose(found, [[0.04, 0.0]])
    np.testing.assert_array_equal(limit([[0.97]], [[5.0]]), [[0.0]])
    assert limit([[1.01]], [[1.0]]) is None  # grows
    assert limit([[-1.0]], [[1.0]]) is None  # changes its sign for ever
    assert limit([[1.0, 0.0], [1.0, 1.0]], [[1.0], [0.0]]) is None  # a sum of sums
    assert limit([[np.nan]], [[1.0]]) is None


def test_a_kernel_that_stays_is_seen_to_stay() -> None:
    figure = trace_figures.kernel_figure(summing(0.04), ["x", "theta"], "A sum")
    whole, near = figure.axes
    assert y_of(near, "x")[0] == 100
    np.testing.assert_allclose(y_of(near, "x")[1:], 0.04)
    low, high = near.get_ylim()
    assert low < 0 < 0.04 < high < 0.1  # where 0.04 can be told from nothing
    assert whole.get_ylim()[1] > 90
    np.testing.assert_allclose(y_of(near, "x stays"), 0.04)
    legend = near.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["x: 0.04 stays", "theta"]
    assert_readable(figure)


@pytest.mark.parametrize(("name", "stays"), [("continuous-1", 4), ("continuous-7", 2)])
def test_the_memory_of_champions_is_visible(name: str, stays: int) -> None:
    program = with_own_names(Program.load(CHAMPIONS / f"{name}.arz"))
    reading = read(program, run_episode(program, arz.Cartpole(), int(arz.fresh_episodes(1)[0])).trace_of(program))
    figure = trace_figures.kernel_figure(reading.closed, ["x", "theta", "x_dot", "theta_dot"], name)
    dashed = [each for each in figure.axes[1].get_lines() if str(each.get_gid()).endswith("stays")]
    assert len(dashed) == stays
    low, high = figure.axes[1].get_ylim()
    for each in dashed:
        assert low < y_of(figure.axes[1], str(each.get_gid()))[0] < high
    assert max(abs(y_of(figure.axes[1], str(each.get_gid()))[0]) for each in dashed) > 0.1 * (high - low)


def test_equal_kernels_do_not_hide_each_other() -> None:
    closed = Closed(np.array([[0.5]]), np.array([[1.0, 1.0, 1.0]]), 1)
    near = trace_figures.kernel_figure(closed, ["a", "b", "c"], "").axes[1]
    widths = [line(near, name).get_linewidth() for name in "abc"]
    assert widths[0] > widths[1] + 0.5 > widths[2] + 1.0


def test_the_kernel_of_the_papers_program_fades() -> None:
    closed = read(with_own_names(Program.load(PAPER))).closed
    assert closed.limit is not None
    assert not np.any(closed.limit)
