"""What is said about a program is true: sources, slopes, linear forms, worth of parts, periods."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import arz
from arz import Batch, Memory, Program, Variation, machine
from arz.cli import main
from arz.episode import run_episode
from arz.explain.ablation import BLOCK, ablate, smallest
from arz.explain.diagram import diagram
from arz.explain.flow import LAST_ACTION, OBSERVATION, Flow, FlowLine, flow, reached_bits
from arz.explain.linear import _Reader, read
from arz.explain.summary import sentences
from arz.explain.traces import look_inside, period_of
from arz.network import Architecture, Network
from arz.plotting.style import new_figure
from tests.support import long_programs, random_batch, same_bits, tame_observations, with_blanks

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "examples" / "paper_cartpole.arz"
ALL = ("force", "damping", "track_angle")
KEY = int(arz.fresh_episodes(1)[0])
HEAD = "memory(observations=2, actions=1, scalars=8, vectors=5, matrices=1, indices=3)\n"


def parsed(body: str, start: str = "", cadfs: str = "") -> Program:
    begin = f"def StartEpisode():\n{start}" if start else ""
    return Program.parse(f"{HEAD}{begin}{cadfs}def GetAction(obs, action):\n{body}")


# ---- where numbers come from ----


def test_what_each_line_depends_on() -> None:
    found = flow(
        parsed(
            "    s0 = sum(obs)\n    s1 = s1 + s0\n    s2 = s4 * s5\n    s6 = action + s2\n    action = s1 + s6\n",
            start="    s4 = 2.0\n",
        )
    )
    remarks = [found.remark(line) for line in found.lines]
    assert remarks == [
        OBSERVATION,
        "observation + memory (s1)",
        "constant",
        LAST_ACTION,
        "observation + last action + memory (s1)",
    ]
    assert found.remembered == ("s1",)
    assert found.by_place[0, 1].carries == {(0, 1)}
    assert found.depends(OBSERVATION, over_time=False)


def test_a_condition_counts_as_a_source() -> None:
    cadf = "def f0(s0, s1, s2, s3, v0, v1, i0, i1):\n    s4 = 0.5\n    return s4, v0, i0\n"
    call = "    if s0 < s1: s2, _, _ = f0(s0, s1, _, _, _, _, _, _)\n"
    found = flow(parsed(f"    s0 = sum(obs)\n{call}    action = s2 + s5\n", cadfs=cadf))
    assert OBSERVATION in found.within[1, 0]
    assert OBSERVATION in found.within[0, 2]
    assert found.remembered == ("s2",)  # what is not written when the condition fails


@pytest.mark.parametrize("seed", range(6))
def test_lines_that_do_not_depend_on_the_observation_write_the_same_whatever_is_seen(seed: int) -> None:
    memory = Memory(3, 2 if seed % 2 else 1, scalars=6, vectors=5, matrices=1, indices=3, stateful=seed != 5)
    one, other = (tame_observations(memory, steps=6, lanes=1, seed=k) for k in (1, 2))
    blind = 0
    for program in random_batch(memory, 40, seed).unpack():
        found = flow(program)
        traces = [arz.trace(program, seen, keys=[3]) for seen in (one, other)]
        for line in found.lines:
            keeps = program.lines(line.function)[line.number].op.writes_part  # then only a part is the line's
            if keeps or OBSERVATION in found.over_time[line.function, line.number]:
                continue
            events = [
                np.flatnonzero((t.function == line.function) & (t.line == line.number) & (t.kind != "f"))
                for t in traces
            ]
            assert len(events[0]) == len(events[1])
            for a, b in zip(*events, strict=True):
                blind += 1
                assert same_bits(traces[0].value(int(a)), traces[1].value(int(b))), line.text
        if not found.depends(OBSERVATION):
            assert same_bits(traces[0].actions, traces[1].actions)
    assert blind > 50


def naive_closure(found: Flow, over_time: bool) -> dict[tuple[int, int], frozenset[str]]:
    """All that lines depend on, by asking again until nothing changes."""
    sources = {place: line.sources for place, line in found.by_place.items()}
    before = {place: line.uses | line.conditions for place, line in found.by_place.items()}
    if over_time:
        before = {place: used | found.by_place[place].carries for place, used in before.items()}
    while True:
        after = {place: own.union(*(sources[used] for used in before[place])) for place, own in sources.items()}
        if after == sources:
            return sources
        sources = after


def naive_condition_sources(found: Flow, call: FlowLine) -> frozenset[str]:
    """By looking back from a call."""
    code = found.program.lines()
    compared = {("s", int(value)) for value in code[call.number].inputs[1:3]}
    sources: frozenset[str] = frozenset()
    for register in compared if len(compared) > 1 else ():
        for number in reversed(range(call.number)):
            if register in code[number].outputs:
                sources |= found.within[0, number]
                if not code[number].op.is_call:
                    break
    return sources


@pytest.mark.parametrize("seed", range(8))
def test_what_lines_depend_on_is_what_asking_again_and_again_finds(seed: int) -> None:
    memory = Memory(2, 1 + seed % 3, scalars=5, vectors=5, matrices=1, indices=2, stateful=seed % 4 != 3)
    weights = {"call": 20.0, "vector_set_element": 5.0, "vector_set_at": 5.0}
    for number, program in enumerate(random_batch(memory, 40, seed, Variation(op_weights=weights)).unpack()):
        found = flow(with_blanks(program, number) if number % 2 else program)
        assert found.within == naive_closure(found, over_time=False)
        assert found.over_time == naive_closure(found, over_time=True)
        assert [found.condition_sources(call) for call in found.calls] == [
            naive_condition_sources(found, call) for call in found.calls
        ]
        count = sum(len(line.uses) + len(line.carries) + len(line.conditions) for line in found.lines)
        assert count <= found.most_uses


@pytest.mark.parametrize("kind", long_programs(0))
def test_the_flow_of_a_long_program_is_a_graph_as_long(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(edges: list[list[int]], own: list[int]) -> list[int]:
        sizes.append(sum(map(len, edges)) + len(edges))
        return reached_bits(edges, own)

    monkeypatch.setattr("arz.explain.flow.reached_bits", counted)
    for size in (200, 1600):
        sizes.clear()
        found = flow(Program.parse(long_programs(size)[kind]))
        assert len(found.listing()) > size
        assert len(found.over_time) == len(found.lines)
        assert all(isinstance(found.condition_sources(call), frozenset) for call in found.calls)
        assert len(sizes) == 2
        assert sum(sizes) < 60 * size


def test_arcs_and_uses_that_are_too_many_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = long_programs(3000)["functions"]
    found = flow(Program.parse(text))
    assert found.most_uses > 2_000_000
    picture = diagram(found, "many")
    assert "the arcs between lines are left out" in picture
    assert "<path d=" not in picture.split("</defs>")[1]
    (tmp_path / "p.arz").write_text(text)
    assert main(["explain", str(tmp_path / "p.arz"), "--json"]) == 2
    assert "without --json they are left out" in capsys.readouterr().err


def test_the_diagram_is_an_svg_with_every_line() -> None:
    program = arz.readable(Program.load(ROOT / "examples" / "paper_quadruped.arz")).program
    found = flow(program)
    text = diagram(found, "<a> & 'b'")
    texts = "\n".join(part.strip() for part in ElementTree.fromstring(text).itertext())
    assert "<a> & 'b'" in texts
    for line in found.lines:
        assert line.text[:70] in texts


# ---- the linear form ----


def test_the_published_matrices_come_out() -> None:
    a, b, c = -0.549, -0.673, 0.082
    v, w = np.array([-1.960, -0.7422, 0.7373, -5.284]), np.array([0.0, 0.365, 2.878, 2.799])
    found = read(Program.load(PAPER))
    assert found.is_exact
    assert found.state == ("s0", "s1", "s2")
    assert found.inputs == ("obs[0]", "obs[1]", "obs[2]", "obs[3]", "last action")
    assert np.allclose(found.U, [[0, 0, a], [0, 1, a], [0, c, a * (1 + c)]], atol=1e-12)
    assert np.allclose(found.A, [[1, 0, 0]])
    assert np.allclose(found.W, [[*w, 0]])
    assert np.allclose(found.P[1], [*v, b + 1])
    assert np.allclose(found.P[2], [*(c * v), 1 + b * c + c])  # the paper prints a + bc + c
    assert abs(found.P[2, 4] - (a + b * c + c)) > 1
    assert np.allclose(found.eigenvalues, [0.971239, -0.565257, 0], atol=1e-6)  # the paper prints 1, -0.594 and 0
    episode = run_episode(Program.load(PAPER), arz.Cartpole(change="sudden", parameters=ALL), KEY)
    assert np.allclose(found.predict(episode.observations), episode.actions, atol=1e-12)


AFFINE = {"scalar_add": 9.0, "scalar_subtract": 9.0, "vector_dot": 3.0, "scalar_scale": 9.0, "vector_sum": 9.0}


def test_programs_that_are_said_to_be_affine_are() -> None:
    memory = Memory(3, 2, scalars=5, vectors=5, matrices=0, indices=2)
    weights = arz.Variation(length=(3, 14), cadf_length=(0, 2), initial_constants=1.0, op_weights=AFFINE)
    seen = np.random.default_rng(1).normal(size=(12, 1, 3))
    exact = 0
    for program in random_batch(memory, 300, 5, weights).unpack():
        try:
            found = read(program)
        except ValueError:
            continue
        expected = machine.execute(program, seen)[:, 0]
        if not np.all(np.isfinite(expected)) or np.max(np.abs(expected)) > 1e6:
            continue
        exact += 1
        assert np.allclose(found.predict(seen[:, 0]), expected, rtol=1e-6, atol=1e-9)
        impulse = np.zeros((8, 3, 3))
        impulse[0] = np.eye(3)  # a lane for each entry
        nothing = machine.execute(program, np.zeros((8, 1, 3)))
        response = machine.execute(program, impulse) - nothing
        assert np.allclose(found.closed.kernel(8), response.swapaxes(1, 2), rtol=1e-6, atol=1e-6)
    assert exact > 45


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_the_reference(seed: int) -> None:
    """The derivative of the first action by the observation, against differences of the reference interpreter."""
    memory = Memory(3, 2 if seed % 2 else 1, scalars=6, vectors=6, matrices=2, indices=3)
    seen = np.random.default_rng(seed).normal(size=3) * 0.5
    compared = 0
    for program in random_batch(memory, 60, seed).unpack():
        if any(line.op.draws for k in range(len(program.functions)) for line in program.lines(k)):
            continue
        reader = _Reader(program)
        found = reader.read(reader.start_values(), seen)
        slopes = (found.A @ found.P + found.W)[:, :3]
        value = found.A @ (found.U @ found.start + found.P @ [*seen, *found.first_action] + found.z)
        value += found.W @ [*seen, *found.first_action] + found.c
        expected = machine.execute(program, seen[None, None])[0, 0]
        known = [expected, slopes, found.z, found.U, found.P]
        if not all(np.all(np.isfinite(values)) for values in known) or np.max(np.abs(slopes)) > 1e4:
            continue
        assert np.allclose(value, expected, rtol=1e-6, atol=1e-6)
        h = 1e-6
        ahead, behind = (
            np.stack(
                [machine.execute(program, (seen + sign * h * np.eye(3)[k])[None, None])[0, 0] for k in range(3)], 1
            )
            for sign in (1, -1)
        )
        if np.max(np.abs(ahead - behind)) > 0.1:  # a jump is near
            continue
        compared += 1
        assert np.allclose(slopes, (ahead - behind) / (2 * h), rtol=2e-3, atol=2e-3), str(program)
    assert compared > 25


def test_a_bent_program_is_read_near_its_path_with_its_error() -> None:
    program = parsed("    s0 = sum(obs)\n    s1 = s1 + s0\n    action = sin(s1)\n")
    with pytest.raises(ValueError, match="not affine"):
        read(program)
    small = np.random.default_rng(1).normal(size=(40, 1, 2)) * 1e-4
    found = read(program, arz.trace(program, small))
    assert not found.is_exact
    assert not found.is_on_path
    assert found.state == ("s1",)
    assert np.allclose(found.U, [[1]])
    assert found.errors is not None
    assert np.max(np.abs(found.errors)) < 1e-7
    large = read(program, arz.trace(program, small * 1e4))
    assert large.errors is not None
    assert np.max(np.abs(large.errors)) > 0.1
    said = " ".join(sentences(flow(program), large))
    assert "It is not linear: 1 line of it bends" in said


def test_what_settles_counts_as_constant_on_the_path() -> None:
    program = parsed(
        "    s0 = sum(obs)\n    s1 = abs(s1)\n    s2 = s2 + s0\n    action = s1 * s2\n", start="    s1 = -0.5\n"
    )
    seen = np.random.default_rng(2).normal(size=(30, 1, 2))
    found = read(program, arz.trace(program, seen))
    assert found.settled == ("s1",)
    assert found.state == ("s2",)
    assert found.is_on_path
    assert found.errors is not None
    assert np.max(np.abs(found.errors)) < 1e-12
    assert "every step of it is that of a linear filter with 1 number of state" in " ".join(
        sentences(flow(program), found)
    )


def test_a_state_that_the_action_shows_a_step_later_counts() -> None:
    """One step ahead the action is right, whatever the filter thinks of the state: it must be checked too."""
    seen = np.random.default_rng(2).normal(size=(60, 1, 2))
    for bend in ("abs", "sin"):
        program = parsed(f"    action = s5 + s6\n    s6 = sum(obs)\n    s5 = {bend}(s6)\n")
        found = read(program, arz.trace(program, seen))
        said = " ".join(sentences(flow(program), found))
        assert found.errors is not None
        assert np.max(np.abs(found.errors)) < 1e-12
        assert found.state_error > 0.1
        assert "every step of it" not in said
        assert "It is not linear" in said
        assert "Nor is a linear filter" in said


def test_a_number_that_is_shown_now_and_later_counts_once() -> None:
    """A finite difference: what is seen adds to the action now, and is taken away a step later."""
    program = parsed("    action = s0 * -1.0\n    s0 = sum(obs)\n    action = action + s0\n")
    found = read(program)
    assert found.is_exact
    assert found.closed.kernel(4)[:, 0, 0].tolist() == [1, -1, 0, 0]
    seen = np.random.default_rng(1).normal(size=(9, 1, 2))
    assert np.allclose(found.predict(seen[:, 0]), machine.execute(program, seen)[:, 0])


def test_the_last_action_is_part_of_the_closed_form() -> None:
    program = Program.load(PAPER)
    found = read(program).closed
    response = found.kernel(60)
    seen = np.zeros((60, 4, 4))
    seen[0] = np.eye(4)  # one lane for each entry that is seen once
    assert np.allclose(machine.execute(program, seen)[:, :, 0], response[:, 0], atol=1e-12)
    stays = machine.execute(program, np.ones((2000, 1, 1)) * np.eye(4))
    assert found.total is not None
    assert np.allclose(stays[-1, :, 0], found.total[0], rtol=1e-6)
    said = " ".join(sentences(flow(program), read(program)))
    assert "a linear filter with 3 numbers of state of the observation and its last action" in said
    assert "0.974: fades to half in" in said
    only = parsed("    action = sum(obs)\n")
    assert "exactly a linear function of the observation." in " ".join(sentences(flow(only), read(only)))


def test_stateless_programs_have_no_state() -> None:
    program = Program.parse(str(Program.load(PAPER)).replace("stateful=True", "stateful=False"))
    found = read(program)
    assert found.state == ()
    seen = np.random.default_rng(3).normal(size=(5, 1, 4))
    assert np.allclose(found.predict(seen[:, 0]), machine.execute(program, seen)[:, 0])
    assert "It remembers nothing" in " ".join(sentences(flow(program), found))


def test_an_index_that_moves_on_is_not_linear() -> None:
    program = parsed("    action = obs[i0]\n    i0 = len(obs) - 1\n")
    with pytest.raises(ValueError, match="not affine"):
        read(program)
    found = read(program, arz.trace(program, np.random.default_rng(1).normal(size=(20, 1, 2))))
    assert not found.is_exact
    assert np.allclose(found.W, [[0, 1, 0]])


def test_slopes_that_are_not_finite_are_not_exact() -> None:
    program = parsed("    s0 = sum(obs)\n    s1 = s1 + s0\n    s1 = s1 / s2\n    action = s1 + s0\n")
    with pytest.raises(ValueError, match="not affine"):
        read(program)
    with pytest.raises(ValueError, match="finite"):
        read(program, arz.trace(program, np.ones((9, 1, 2))))


CALLED = "def f0(s0, s1, s2, s3, v0, v1, i0, i1):\n"


@pytest.mark.parametrize("seed", range(3))
def test_programs_with_calls_that_are_said_to_be_affine_are(seed: int) -> None:
    """Conditions that are constant, arguments that stay from call to call."""
    memory = Memory(2, 1, scalars=6, vectors=4, matrices=0, indices=2)
    ops = {"call": 40.0, "scalar_add": 9.0, "vector_sum": 9.0, "vector_add": 5.0, "scalar_scale": 5.0}
    weights = arz.Variation(length=(3, 10), cadf_length=(0, 3), initial_constants=1.0, op_weights=ops)
    seen = np.random.default_rng(seed).normal(size=(6, 1, 2))
    exact = 0
    for n, program in enumerate(random_batch(memory, 300, seed, weights).unpack()):
        program = with_blanks(program, n)
        try:
            found = read(program)
        except ValueError:
            continue
        expected = machine.execute(program, seen)[:, 0]
        if np.all(np.isfinite(expected)) and np.max(np.abs(expected)) < 1e6:
            exact += 1
            assert np.allclose(found.predict(seen[:, 0]), expected, rtol=1e-6, atol=1e-9), str(program)
    assert exact > 20


def test_what_a_call_left_behind_is_followed() -> None:
    start = "    s6 = 1.0\n"
    passed = "    if s5 < s6: _, _, _ = f0(s5, s6, _, _, obs, _, _, _)\n"
    taken = "    if s5 < s6: _, v2, _ = f0(s5, s6, _, _, _, _, _, _)\n    action = sum(v2)\n"
    empty = flow(parsed(passed + taken, start, f"{CALLED}    return s0, v0, i0\n"))
    assert empty.depends(OBSERVATION, over_time=False)
    later = flow(
        parsed(
            "    if s5 < s6: action, _, _ = f0(s5, s6, _, _, _, _, _, _)\n    s0 = sum(obs)\n"
            "    if s5 < s6: _, _, _ = f0(s5, s6, s0, _, _, _, _, _)\n",
            start,
            f"{CALLED}    s4 = s2 + s2\n    return s4, v0, i0\n",
        )
    )
    assert "f0.s2" in later.remembered
    kept = flow(
        parsed(
            "    s0 = sum(obs)\n    if s0 < s6: action, _, _ = f0(s0, s6, s0, _, _, _, _, _)\n",
            start,
            f"{CALLED}    s4 = s2 + s2\n    return s4, v0, i0\n",
        )
    )
    assert kept.may_repeat
    assert kept.depends(LAST_ACTION)


# ---- what parts are worth ----


def test_parts_are_scored_without_themselves() -> None:
    program = Program.load(PAPER)
    task = arz.Cartpole()
    found = ablate(program, task, episodes=20)
    assert found.score == pytest.approx(arz.evaluate(program, task, arz.fresh_episodes(20)).mean[0])
    by_name = {(part.kind, part.name): part for part in found.parts}
    names = [line.text for line in flow(found.program).lines]
    assert [part.name for part in found.parts if part.kind == "line"] == names
    without = Program.build(found.program.memory, found.program.lines()[1:], [], found.program.image)
    expected = arz.evaluate(without, task, arz.fresh_episodes(20)).mean[0]
    assert by_name["line", names[0]].score == pytest.approx(expected)
    assert {name for kind, name in by_name if kind == "register"} == {"s1", "s2", LAST_ACTION}
    assert by_name["register", "s2"].score < 0.6 * found.score
    assert by_name["line", "s7 = s5 * action + s7"].score > 0.95 * found.score  # the paper's b is not needed


def parsed_cartpole(body: str, start: str = "", cadfs: str = "") -> Program:
    head = "memory(observations=4, actions=1, scalars=10, vectors=5, matrices=0, indices=2)\n"
    begin = f"def StartEpisode():\n    v2 = [0.1, 6.0, 0.4, 1.0]\n{start}"
    return Program.parse(f"{head}{begin}{cadfs}def GetAction(obs, action):\n{body}")


def worth_by_name(body: str, start: str = "", cadfs: str = "") -> dict[str, float]:
    found = ablate(parsed_cartpole(body, start, cadfs), arz.Cartpole(), episodes=5)
    return {part.name: found.worth(part) for part in found.parts}


def test_what_is_only_used_within_a_step_is_not_memory() -> None:
    found = worth_by_name(
        "    s0 = s0 * 0.0001\n    s1 = s0 + s4\n    s0 = dot(obs, v2)\n    action = s0 + s1\n", start="    s4 = 0.01\n"
    )
    assert found["s0 = dot(obs, v2)"] > 300
    assert abs(found["s0"]) < 20  # it remembers a ten thousandth of what it was


def test_what_one_call_leaves_for_another_is_memory() -> None:
    cadf = "def f0(s0, s1, s2, s3, v0, v1, i0, i1):\n    s4 = s2 + s5\n    return s4, v0, i0\n"
    found = worth_by_name(
        "    s6 = dot(obs, v2)\n    if s7 < s8: _, _, _ = f0(s7, s8, s6, _, _, _, _, _)\n"
        "    if s7 < s8: action, _, _ = f0(s7, s8, _, _, _, _, _, _)\n",
        start="    s8 = 1.0\n",
        cadfs=cadf,
    )
    assert found["f0.s2"] == pytest.approx(found["f0"])  # all that it does comes through what the other call left
    assert found["f0.s2"] > 300


def test_a_remembering_vector_forgets() -> None:
    """What forgets begins each step as the episode began, also where that is not zero."""
    start = "    v3 = [0.0, 0.02, 0.0, -0.1]\n"
    program = parsed_cartpole("    action = dot(v3, v2)\n    v3 = obs + v4\n", start)
    found = ablate(program, arz.Cartpole(), episodes=5)
    always = parsed_cartpole("    action = dot(v3, v2)\n", start)
    expected = arz.evaluate(always, arz.Cartpole(), arz.fresh_episodes(5)).mean[0]
    assert next(part.score for part in found.parts if part.name == "v3") == pytest.approx(expected)
    assert found.score > 2 * expected


def test_a_function_that_is_never_called_and_a_register_that_forgets() -> None:
    cadf = "def f0(s0, s1, s2, s3, v0, v1, i0, i1):\n    s4 = s4 + s2\n    return s4, v0, i0\n"
    program = Program.parse(
        "memory(observations=4, actions=1, scalars=8, vectors=3, matrices=0, indices=2)\n"
        "def StartEpisode():\n    s5 = 1.0\n"
        f"{cadf}def GetAction(obs, action):\n    s0 = sum(obs)\n"
        "    if s4 < s5: action, _, _ = f0(s4, s5, s0, _, _, _, _, _)\n"
    )
    found = ablate(program, arz.Cartpole(), episodes=5)
    kinds = {(part.kind, part.name) for part in found.parts}
    assert ("function", "f0") in kinds
    assert ("register", "f0.s4") in kinds
    idle = Program.build(program.memory, [])
    expected = arz.evaluate(idle, arz.Cartpole(), arz.fresh_episodes(5)).mean[0]
    assert next(p.score for p in found.parts if p.kind == "function") == pytest.approx(expected)
    plain = parsed_cartpole("    action = sum(obs)\n")  # what is left of a sum that forgets
    expected = arz.evaluate(plain, arz.Cartpole(), arz.fresh_episodes(5)).mean[0]
    assert next(p.score for p in found.parts if p.name == "f0.s4") == pytest.approx(expected)


def test_the_smallest_program_is_nearly_as_good() -> None:
    program = Program.load(PAPER)
    found = smallest(program, arz.Cartpole(), tolerance=0.02, episodes=40)
    assert found.removed >= 1
    assert found.score > 0.95 * found.whole_score
    assert found.score == pytest.approx(arz.evaluate(found.program, arz.Cartpole(), arz.fresh_episodes(40)).mean[0])
    assert smallest(program, arz.Cartpole(), tolerance=1.0, episodes=5).program.lines() == []


def test_the_search_for_the_smallest_ends_though_a_line_left_out_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a CADF returns is written in it, if only by a copy to itself: so this line cannot go."""
    program = parsed_cartpole(
        "    s0 = dot(obs, v2)\n    if s7 < s8: action, _, _ = f0(s7, s8, s0, _, _, _, _, _)\n",
        start="    s8 = 1.0\n",
        cadfs="def f0(s0, s1, s2, s3, v0, v1, i0, i1):\n    s2 = s2 * 1.0\n    return s2, v0, i0\n",
    )
    asked: list[int] = []

    def counted(*words: Any, **options: Any) -> Any:
        asked.append(len(asked))
        assert len(asked) < 20, "it goes on for ever"
        return arz.evaluate(*words, **options)

    monkeypatch.setattr("arz.explain.ablation.evaluate", counted)
    told: list[tuple[float, str]] = []
    found = smallest(program, arz.Cartpole(), episodes=5, show=lambda share, text: told.append((share, text)))
    assert found.removed == 0
    assert found.program.lines(1)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0
    assert told[0][1].startswith("3 lines left: ")


# ---- an episode from inside ----


def test_periods() -> None:
    steps = np.arange(400)
    for length in (7.3, 25.0, 60.0):
        found = period_of(np.sin(2 * np.pi * steps / length) + 0.01 * np.cos(steps))
        assert found is not None
        assert found.steps == pytest.approx(length, rel=0.01)
        assert found.likeness > 0.9
    assert period_of(np.full(400, 3.0)) is None
    assert period_of(steps.astype(float)) is None
    assert period_of(np.random.default_rng(1).normal(size=400)) is None
    assert period_of(np.full(400, np.nan)) is None
    swing = np.sin(2 * np.pi * steps / 40)
    assert period_of(swing, usual=50.0) is not None
    assert period_of(swing, usual=500.0) is None
    assert period_of(np.float32(0.1 * steps).astype(float)) is None  # rounding is no rhythm
    for length in (2.5, 3.2, 10.4):
        assert period_of(np.sin(2 * np.pi * steps / length)).steps == pytest.approx(length, rel=0.01)  # type: ignore[union-attr]
    drifting = np.where(steps < 3, np.nan, swing + 0.02 * steps)
    assert period_of(drifting).steps == pytest.approx(40, rel=0.02)  # type: ignore[union-attr]
    both = np.stack([swing, np.cos(2 * np.pi * steps / 40)] * 2, axis=1).reshape(400, 2, 2)
    assert period_of(both).steps == pytest.approx(40, rel=0.01)  # type: ignore[union-attr]
    noise = [np.random.default_rng(seed).normal(size=60) for seed in range(100)]
    assert not any(period_of(values) for values in noise)
    square = np.where(steps % 32 < 16, 1.0, 0.0)
    assert period_of(square).steps == pytest.approx(32, rel=0.02)  # type: ignore[union-attr]


def test_changes_and_registers_are_those_of_the_episode() -> None:
    task = arz.Cartpole(change="sudden", parameters=ALL)
    episode = run_episode(Program.load(PAPER), task, KEY)
    seen = look_inside(episode)
    assert [change.name for change in seen.changes] == ["force", "damping", "track angle"]
    for change in seen.changes:
        values = episode.rows[change.name.replace(" ", "_")]
        assert change.first == change.last
        assert values[change.first] != values[change.first - 1]
        assert len(np.unique(values)) == 2
    table = list(csv.DictReader(seen.csv().splitlines()))
    assert len(table) == len(episode.actions)
    assert [float(row["action"]) for row in table] == episode.actions[:, 0].tolist()
    assert [float(row["obs[1] seen"]) for row in table] == episode.observations[:, 1].tolist()
    assert seen.states.max() == 0


def test_a_broken_leg_is_the_change_and_conditions_make_states() -> None:
    program = arz.readable(Program.load(ROOT / "examples" / "paper_quadruped.arz")).program
    seen = look_inside(run_episode(program, arz.Quadruped(leg="RL", break_step=5, steps=60), KEY))
    assert [(change.name, change.first) for change in seen.changes] == [("RL breaks", 5)]
    assert seen.calls
    assert seen.observing
    bits = np.stack([seen.calls[name] for name in seen.observing], axis=1)
    for state in range(int(seen.states.max()) + 1):
        rows = bits[seen.states == state]
        assert len(np.unique(rows, axis=0)) == 1
    combinations = [seen.combination(k) for k in range(int(seen.states.max()) + 1)]
    assert len(set(combinations)) == len(combinations) == len(np.unique(bits, axis=0))


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_networks_show_their_units(kind: str) -> None:
    task = arz.Cartpole(change="sudden", parameters=ALL, x_limit=100.0)
    shape = Architecture(kind, 4, 1, (5,) if kind == "lstm" else (5, 3))
    network = Network(shape, np.random.default_rng(3).normal(size=shape.size, scale=0.2))
    episode = run_episode(network, task, KEY)
    seen = look_inside(episode)
    units = {"cell": 5, "hidden": 5} if kind == "lstm" else {"layer1": 5, "layer2": 3}
    assert {name: values.shape for name, values in seen.registers.items()} == {
        **{name: (seen.steps, count) for name, count in units.items()},
        "action": (seen.steps,),
    }
    last = seen.registers["hidden" if kind == "lstm" else "layer2"]
    part = shape.split(network.numbers)
    assert np.allclose(last @ part["output"].T + part["output_bias"], episode.actions, rtol=0, atol=1e-12)
    assert seen.remembered == (("cell", "hidden") if kind == "lstm" else ())
    assert not seen.calls
    row = next(csv.DictReader(seen.csv().splitlines()))
    assert float(row["action"]) == episode.actions[0, 0]
    assert f"{next(iter(units))}[4]" in row


# ---- commands ----


def test_what_fails_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--env", "tests.gymnasium_support:Follow-v0", "--env-options", '{kind = "fails"}']
    (tmp_path / "p.arz").write_text(HEAD + "def GetAction(obs, action):\n    s0 = sin(s0)\n    action = sum(obs)\n")
    for command in ("trace", "ablate"):
        assert main([command, str(tmp_path / "p.arz"), *where, "--output", str(tmp_path / command)]) == 2
        assert "failed in a step: out of order" in capsys.readouterr().err
        assert not (tmp_path / command).exists()
    assert main(["explain", str(PAPER), "--env", "Pendulum-v1", "--output", str(tmp_path / "e")]) == 2
    assert "shows 3 numbers and takes 1" in capsys.readouterr().err
    assert not (tmp_path / "e").exists()


def test_registers_that_are_matrices_are_traced(tmp_path: Path) -> None:
    head = "memory(observations=4, actions=1, scalars=5, vectors=4, matrices=2, indices=0)\n"
    (tmp_path / "m.arz").write_text(
        f"{head}def GetAction(obs, action):\n    m1 = outer(obs, obs)\n    m0 = m0 + m1\n    action = norm(m0)\n"
    )
    assert main(["trace", str(tmp_path / "m.arz"), "--output", str(tmp_path / "t")]) == 0
    assert "m0[3, 3]" in (tmp_path / "t" / "trace.csv").read_text().splitlines()[0]


def test_a_full_memory_is_ablated_without_what_takes_one_more() -> None:
    head = "memory(observations=4, actions=1, scalars=64, vectors=5, matrices=0, indices=2)\n"
    body = "    s0 = sum(obs)\n    s1 = s1 + s0\n    v3 = v3 + obs\n    s2 = sum(v3)\n    action = s1 + s2\n"
    found = ablate(Program.parse(f"{head}def GetAction(obs, action):\n{body}"), arz.Cartpole(), episodes=2)
    assert [part.name for part in found.parts if part.kind == "register"] == ["v3"]


def test_a_network_is_traced_and_not_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = Architecture("lstm", 37, 12, (4,))
    (tmp_path / "net.arz").write_text(str(Network(shape, np.random.default_rng(3).normal(size=shape.size))))
    words = [str(tmp_path / "net.arz"), "--output", f"{tmp_path}/t"]
    assert main(["trace", *words, "--leg", "FL", "--break-step", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == [{"name": "FL breaks", "first": 5, "last": 5}]
    assert {p.name for p in (tmp_path / "t").iterdir()} == {"units.png", "actions.png", "trace.csv", "periods.csv"}
    assert main(["explain", str(tmp_path / "net.arz")]) == 2
    assert "arz trace take it" in capsys.readouterr().err


def test_the_commands_write_pages_figures_and_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(PAPER)
    assert main(["explain", source, "--output", f"{tmp_path}/e"]) == 0
    said = capsys.readouterr().out
    assert "It is exactly a linear filter with 3 numbers of state" in said
    assert "0.974: fades to half in 26.4 steps" in said
    page = (tmp_path / "e" / "explain.md").read_text()
    assert "| s2 | 0 | 0.082 | -0.594 |" in page
    assert {path.name for path in (tmp_path / "e").iterdir()} == {"explain.md", "flow.svg", "kernel.png"}
    assert main(["explain", source, "--output", f"{tmp_path}/e"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["trace", source, "--change", "sudden", "--output", f"{tmp_path}/t"]) == 0
    assert "track angle: at step" in capsys.readouterr().out
    assert {"registers.png", "actions.png", "trace.csv", "periods.csv"} < {p.name for p in (tmp_path / "t").iterdir()}
    assert main(["ablate", source, "--episodes", "5", "--output", f"{tmp_path}/a"]) == 0
    assert "within 2%" in capsys.readouterr().out
    assert Program.load(tmp_path / "a" / "smallest.arz").lines()


def test_the_commands_speak_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(PAPER), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["linear"]["is_exact"] is True
    assert found["remembered"] == ["s1", "s2"]
    assert main(["ablate", str(PAPER), "--episodes", "3", "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert {part["kind"] for part in parts} == {"line", "register"}
    leg = ["--leg", "FR", "--break-step", "20", "--output", f"{tmp_path}/t", "--json"]
    assert main(["trace", str(ROOT / "examples" / "paper_quadruped.arz"), *leg]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == [{"name": "FR breaks", "first": 20, "last": 20}]
    assert (tmp_path / "t" / "calls.png").exists()


def test_ctrl_c_ends_an_ablation_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*words: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("arz.explain.ablation.evaluate", interrupted)
    assert main(["ablate", str(PAPER), "--episodes", "2", "--json", "--output", str(tmp_path / "a")]) == 130
    assert capsys.readouterr() == ("", "arz: interrupted\n")
    assert not (tmp_path / "a").exists()


def test_programs_are_ablated_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that Ctrl-C is heard and progress shown, however many lines there are."""
    sizes: list[int] = []

    def counted(policies: Any, *words: Any, **options: Any) -> Any:
        sizes.append(len(policies) if isinstance(policies, Batch) else 1)
        return arz.evaluate(policies, *words, **options)

    monkeypatch.setattr("arz.explain.ablation.evaluate", counted)
    told: list[float] = []
    ablate(Program.load(PAPER), arz.Cartpole(), episodes=2, show=lambda share, text: told.append(share))
    assert max(sizes) == BLOCK
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_show_and_explain_count_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dead code does not count, constants do, though the listing has them folded."""
    path = tmp_path / "p.arz"
    path.write_text(
        f"{HEAD}def StartEpisode():\n    s4 = 0.5\n    s5 = 0.25\ndef GetAction(obs, action):\n"
        "    s0 = sum(obs)\n    s6 = sin(s0)\n    s1 = s4 + s5\n    action = s0 * s1\n"
    )
    assert main(["show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["complexity"]
    assert (shown["lines"], shown["parameters"], shown["flops"]) == (3, 2, 4)
    assert main(["explain", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["costs"][0] == {"name": "this program", "parameters": 2, "flops": 4}
    assert found["summary"][0].startswith(
        "It has 3 lines (2 as listed, with constants folded), 2 parameters and takes 4 FLOPs per step; "
    )
    assert main(["show", str(path)]) == 0
    assert "# Cost without dead code: 3 lines, 2 parameters" in capsys.readouterr().out
    assert main(["explain", str(path), "--output", str(tmp_path / "page")]) == 0
    table = capsys.readouterr().out
    assert re.search(r"this program\W+2\W+4\W", table)
    assert "| this program | 2 | 4 |" in (tmp_path / "page" / "explain.md").read_text()


ROUGH = "memory(observations=4, actions=1)\ndef StartEpisode():\n    v2 = [0.123456, 6.54321, 0.4, 1.0]\n"
STRANGE = ROUGH.replace("observations=4", "observations=3").replace(", 1.0]", "]")


@pytest.mark.parametrize("command", ["show", "explain"])
def test_digits_are_rounded_and_what_that_costs_is_scored(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.arz"
    path.write_text(ROUGH + "def GetAction(obs, action):\n    action = dot(v2, obs)\n")
    scores = [
        float(arz.evaluate(each, arz.Cartpole(), arz.fresh_episodes(100)).mean[0])
        for each in (Program.load(path), arz.simplify.rounded(Program.load(path), 1))
    ]
    assert abs(scores[1] - scores[0]) > 0.1
    assert main([command, str(path), "--digits", "1"]) == 0
    printed = capsys.readouterr().out
    assert "= [0.1, 7.0, 0.4, 1.0]" in printed
    said = f"{scores[1]:.1f} over 100 test episodes (all, continuous); as it is: {scores[0]:.1f}."
    assert f"Rounded to 1 significant digit: {said}" in printed
    assert (command == "show") == ("0.123456" in printed)  # which also prints the program as it is
    assert main([command, str(path), "--digits", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "0.123456" in told["program"]
    assert "[0.123, 6.54, 0.4, 1.0]" in told["rounded"]["program"]
    assert told["rounded"]["exact score"] == pytest.approx(scores[0])


@pytest.mark.parametrize("command", ["show", "explain"])
def test_where_no_task_is_known_rounding_is_not_checked(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.arz"
    path.write_text(STRANGE + "def GetAction(obs, action):\n    action = dot(v2, obs)\n")
    assert main([command, str(path), "--digits", "2"]) == 0
    printed = capsys.readouterr().out
    assert "= [0.12, 6.5, 0.4]" in printed
    assert "what that costs was not checked" in printed
    assert "equal bit for bit" not in printed
    assert main([command, str(path), "--digits", "0"]) == 2
    assert "1 to 17 digits, not 0" in capsys.readouterr().err


def test_the_page_says_that_it_is_rounded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(PAPER), "--digits", "1", "--output", f"{tmp_path}/e"]) == 0
    page = (tmp_path / "e" / "explain.md").read_text()
    assert "Rounded to 1 significant digit: " in page
    assert "s4 = -0.5\n" in page
    assert "| s2 | 0 | 0.082 | -0.594 |" in page  # the filter is that of the program as it is


def test_digits_are_not_for_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = Architecture("mlp", 4, 1, (2,))
    (tmp_path / "net.arz").write_text(str(Network(shape, np.zeros(shape.size))))
    assert main(["show", str(tmp_path / "net.arz"), "--digits", "2"]) == 2
    assert "--digits is for programs" in capsys.readouterr().err


NASTY = "p\n# <b>`x`</b> [a](b) *c* \x1b[2J\u202e $\\frac$ & | ~ ]]> \"'\udcff.arz"


def test_a_nasty_name_breaks_no_page_picture_table_or_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NASTY).parent.mkdir()
    Path(NASTY).write_text(PAPER.read_text())
    drawn: list[str] = []

    def noted(height: float, title: str) -> Any:
        drawn.append(title)
        return new_figure(height, title)

    monkeypatch.setattr("arz.analysis.trace_figures.new_figure", noted)
    for command in ("explain", "trace", "ablate"):
        more = ["--episodes", "2"] if command == "ablate" else []
        assert main([command, NASTY, *more, "--output", command]) == 0
        printed = capsys.readouterr()
        assert all(letter.isprintable() or letter == "\n" for letter in printed.out + printed.err)
    page = Path("explain/explain.md").read_text()
    assert page.startswith("# p\ufffd\\# \\<b\\>\\`x\\`\\</b\\> \\[a\\](b) \\*c\\* ")
    assert page.split("\n")[1] == ""
    picture = ElementTree.fromstring(Path("explain/flow.svg").read_text())
    assert "b> [a](b) *c*" in "".join(picture.itertext())
    assert not picture.findall(".//{*}b")
    assert drawn
    assert all(letter.isprintable() or letter == "\n" for title in drawn for letter in title)
    for table in ("trace/trace.csv", "trace/periods.csv", "ablate/ablation.csv"):
        rows = list(csv.reader(Path(table).read_text().splitlines()))
        assert {len(row) for row in rows} == {len(rows[0])}


def test_a_run_keeps_them_in_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    arz.evolve(arz.preset("cartpole-regularized", budget="4000", steps=100), folder=folder).close()
    for command in (["explain"], ["trace"], ["ablate", "--episodes", "2"]):
        for _ in range(2):  # they may be made anew
            assert main([command[0], str(folder), *command[1:]]) == 0
    assert (folder / "explain" / "explain.md").exists()
    assert (folder / "trace" / "trace.csv").exists()
    assert (folder / "ablate" / "ablation.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trace", str(PAPER)], "--output FOLDER"),
        (["trace", str(PAPER), "--leg", "FR", "--output", "x"], "--leg is not for this task"),
        (["trace", str(PAPER), "--episode", "-1", "--output", "{tmp}/y"], "--episode must be"),
        (["ablate", str(PAPER), "--episodes", "0"], "--episodes must be"),
        (["ablate", str(PAPER), "--tolerance", "2"], "--tolerance must be"),
        (["explain", "nowhere.arz"], "nowhere.arz"),
        (["explain", str(PAPER), "--episode", "-1"], "--episode must be"),
        (["trace", str(PAPER), "--change", "sudenly", "--output", "{tmp}/y"], "change must be one of"),
        (["explain", str(PAPER), "--env-options", "{}"], "name one"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("{tmp}", str(tmp_path)) for word in words]) == 2
    assert message in capsys.readouterr().err
