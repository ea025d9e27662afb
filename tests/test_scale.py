"""How cost grows: the page follows from what was measured, and the programs that are measured are what they should be."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bench import scale, scale_pages

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.program import Program
from arz.reproduce.groups.pages import with_text


def test_the_tables_follow_from_the_data() -> None:
    page = scale_pages.PAGE.read_text()
    assert with_text(page, "scale", scale_pages.tables(json.loads(scale_pages.MEASURED.read_text()))) == page


def test_exponents() -> None:
    sizes = [1, 2, 4, 8, 16, 32]
    costs = np.array([8.0, 8, 8, 8, 16, 32])
    assert scale_pages.slope(sizes, costs) == pytest.approx(1)
    assert scale_pages.flat_until(sizes, [costs, 2 * costs]) == 8
    assert scale_pages.exponent(sizes, [costs, np.full(6, 40.0)]) == "1.00 (0.00 to 1.00)"


def test_bounds() -> None:
    assert scale_pages.amdahl(0.0, 64) == 64
    assert scale_pages.amdahl(0.5, 64) == pytest.approx(1 / (0.5 + 0.5 / 64))


def test_growth_of_both_halves() -> None:
    samples = [{"seconds": second, "disk": min(10 * second, 50)} for second in range(11)]
    assert np.allclose(scale_pages.growths(samples, "disk", "seconds"), (10, 0))


@pytest.mark.parametrize("lines", [5, 40])
def test_every_random_line_matters(lines: int) -> None:
    program = scale.random_program(4, lines, 1)
    assert len(program.lines()) == lines == len(arz.effective(program).program.lines())


@pytest.mark.parametrize("name", scale.CONTROLLERS)
def test_longer_programs_act_alike(name: str) -> None:
    program = Program.load(scale.CONTROLLERS[name])
    made, episodes = scale.longer(program, 40, 1), fresh_episodes(2)
    lean = [arz.effective(each).program.lines() for each in (program, made)]
    assert len(lean[1]) >= len(lean[0]) + 40
    short, long = (evaluate(each, scale.task_of(name), episodes, threads=1) for each in (program, made))
    assert np.array_equal(short.returns, long.returns)


def test_a_clock_leaves_nothing_out() -> None:
    clock = scale.searched(arz.preset("cartpole-regularized", islands=1, population=50, lag=50, budget="500"), 1)
    assert clock.evaluations == 450
    assert 0 < clock.seconds["rollouts"] < clock.whole
    assert 0 < sum(clock.seconds.values()) - clock.seconds["checkpoint"] <= clock.whole
    assert clock.seconds["checkpoint"] > 0
