"""Simplified programs have the same actions, bit for bit, and nothing in them that does not matter."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from arz import Guarantee, Memory, Program, Variation, effective, elementary, execute_batch, machine, readable, simplify
from arz.program import Batch, Instruction
from arz.simplify import live_lines, rounded
from arz.text import ARGUMENTS
from tests.support import (
    Draw,
    blank_batch,
    examples,
    long_programs,
    random_batch,
    same_bits,
    tame_observations,
    with_blanks,
)

HEAD = "memory(observations=2, actions=1, scalars=8, vectors=5, matrices=1, indices=3)\n"
CADF = "def f{}(s0, s1, s2, s3, v0, v1, i0, i1):\n"


def program(body: str, cadfs: str = "", start: str = "", head: str = HEAD) -> Program:
    start = f"def StartEpisode():\n{start}" if start else ""
    return Program.parse(f"{head}{start}{cadfs}def GetAction(obs, action):\n{body}")


def lines(text: Program) -> list[str]:
    """The lines of GetAction."""
    return [line.strip() for line in str(text).split("def GetAction(obs, action):\n")[1].splitlines()[:-1]]


@examples(150)
def test_both_forms_keep_every_action_on_hostile_numbers(draw: Draw) -> None:
    subject = draw.program()
    seen = draw.observations(subject.memory, steps=5, lanes=2)
    expected = machine.execute(subject, seen)
    assert same_bits(machine.execute(effective(subject).program, seen), expected)
    assert same_bits(machine.execute(readable(subject).program, seen), expected)


@pytest.mark.parametrize("seed", range(20))
def test_both_forms_keep_every_action_of_many_programs_over_many_steps(seed: int) -> None:
    choose = np.random.default_rng(seed)
    memory = Memory(4, int(choose.integers(1, 6)), matrices=int(choose.integers(3)), stateful=seed % 5 != 0)
    batch = blank_batch(memory, 200, seed)
    seen = tame_observations(memory, steps=40, lanes=8, seed=seed)
    expected = execute_batch(batch, seen, only_effective=False)
    subjects = batch.unpack()
    for simplified in (effective, readable):
        smaller = Batch.pack([simplified(subject).program for subject in subjects])
        assert same_bits(execute_batch(smaller, seen, only_effective=False), expected)


ZEROS = Variation(
    length=(0, 40),
    cadf_length=(0, 10),
    initial_constants=0.0,
    op_weights={"call": 15.0, "scalar_set": 4.0, "scalar_zero": 4.0, "vector_zero": 4.0, "index_zero": 4.0},
)
"""Random programs in which much is constant, most of it zero."""


@pytest.mark.parametrize("seed", range(20))
def test_folding_keeps_every_action_where_much_is_constant(seed: int) -> None:
    choose = np.random.default_rng(seed)
    memory = Memory(3, int(choose.integers(1, 5)), 6, 6, int(choose.integers(3)), 3, stateful=seed % 4 != 0)
    made = random_batch(memory, 100, seed, replace(ZEROS, initial_constants=seed % 3 / 4)).unpack()
    subjects = [with_blanks(subject, n) if n % 2 else subject for n, subject in enumerate(made)]
    seen = tame_observations(memory, steps=12, lanes=4, seed=seed)
    expected = execute_batch(Batch.pack(subjects), seen, only_effective=False)
    folded = [readable(subject) for subject in subjects]
    smaller = Batch.pack([simple.program for simple in folded])
    assert same_bits(execute_batch(smaller, seen, only_effective=False), expected)
    assert sum(simple.folded for simple in folded) > 20
    assert all(readable(simple.program).program == simple.program for simple in folded)


@examples(100)
def test_simplifying_twice_changes_nothing_more(draw: Draw) -> None:
    subject = draw.program()
    once = effective(subject).program
    assert effective(once).program == once
    assert all(all(flags) for flags in live_lines(once))
    again = readable(subject).program
    assert readable(again).program == again


def test_much_of_a_random_program_is_dead() -> None:
    """Guards the tests above: removal must really happen, and not of everything."""
    batch = random_batch(Memory(observations=4, actions=1, scalars=5, vectors=4), 300)
    total = sum(len(code) for subject in batch.unpack() for code in subject.functions)
    left = sum(len(code) for subject in batch.unpack() for code in effective(subject).program.functions)
    assert 0.05 * total < left < 0.7 * total


def test_what_is_overwritten_before_it_is_read_goes() -> None:
    assert lines(effective(program("    action = sum(obs)\n    action = mean(obs)\n")).program) == [
        "action = mean(obs)"
    ]


def test_what_matters_only_at_a_later_step_stays() -> None:
    subject = program("    action = s5 * 2.0\n    s5 = s6 + s5\n    s6 = sum(obs)\n    s7 = s6 + s7\n")
    simplified = effective(subject)
    assert lines(simplified.program) == ["action = s5 * 2.0", "s5 = s6 + s5", "s6 = sum(obs)"]
    assert simplified.removed == 1
    assert live_lines(subject) == [[True, True, True, False]]


def test_a_stateless_program_needs_nothing_for_later_steps() -> None:
    head = HEAD.replace("indices=3", "indices=3, stateful=False")
    subject = program("    action = s5 * 2.0\n    s5 = s6 + s5\n    s6 = sum(obs)\n", head=head)
    assert lines(effective(subject).program) == ["action = s5 * 2.0"]


def test_a_part_written_keeps_the_rest_alive() -> None:
    subject = program("    v2 = obs\n    v2[1] = 0.5\n    action = sum(v2)\n")
    assert effective(subject).removed == 0


def test_conditions_are_uses_and_unread_arguments_and_results_are_not() -> None:
    cadf = CADF.format(0) + "    s5 = s2 + s1\n    v3 = v0 + v1\n"
    subject = program(
        "    s5 = sum(obs)\n    s6 = mean(obs)\n    if s5 < s6: action, v2, i2 = f0(s5, s6, s7, s0, obs, v3, i0, i1)\n",
        cadf,
    )
    simplified = effective(subject).program
    assert lines(simplified)[:2] == ["s5 = sum(obs)", "s6 = mean(obs)"]
    assert lines(simplified)[2] == "if s5 < s6: action, _, _ = f0(s5, s6, s7, _, _, _, _, _)"
    assert "v3" not in str(simplified)


def test_a_call_that_only_feeds_a_later_call_stays() -> None:
    cadf = CADF.format(0) + "    s5 = s5 + s1\n"
    call = "    if s0 < s1: {}, _, _ = f0(s0, s1, _, _, _, _, _, _)\n"
    subject = program("    s1 = sum(obs)\n" + call.format("s6") + call.format("action"), cadf)
    assert lines(effective(subject).program)[1] == "if s0 < s1: _, _, _ = f0(s0, s1, _, _, _, _, _, _)"
    forgetful = CADF.format(0) + "    s5 = s2 + s1\n"
    subject = program("    s1 = sum(obs)\n" + call.format("s6") + call.format("action"), forgetful)
    assert len(lines(effective(subject).program)) == 2


def test_a_call_that_moves_the_random_numbers_of_a_later_call_stays() -> None:
    cadf = CADF.format(0) + "    s5 = uniform(0.0, 1.0, stream=0)\n"
    call = "    if s0 < s1: {}, _, _ = f0(s0, s1, _, _, _, _, _, _)\n"
    subject = program("    s1 = sum(obs)\n" + call.format("s6") + call.format("action"), cadf)
    assert len(lines(effective(subject).program)) == 3


def test_an_argument_that_one_call_leaves_out_persists_from_the_other() -> None:
    cadf = CADF.format(0) + "    s5 = s2 + s1\n"
    first = "    if s0 < s1: _, _, _ = f0(s0, s1, s6, _, _, _, _, _)\n"
    second = "    if s0 < s1: action, _, _ = f0(s0, s1, _, _, _, _, _, _)\n"
    subject = program("    s1 = sum(obs)\n    s6 = mean(obs)\n" + first + second, cadf)
    assert effective(subject).removed == 0  # the first call leaves its s2 behind for the second
    seen = np.ones((2, 1, 2))
    assert machine.execute(subject, seen)[:, 0, 0].tolist() == [3.0, 3.0]
    assert same_bits(machine.execute(effective(subject).program, seen), machine.execute(subject, seen))


def test_a_call_that_never_runs_keeps_no_other_alive() -> None:
    cadf = CADF.format(0) + "    s5 = s2 + s1\n"
    never = "    if s4 < s4: _, _, _ = f0(s4, s4, _, _, _, _, _, _)\n"
    call = "    if s0 < s1: {}, _, _ = f0(s0, s1, s7, _, _, _, _, _)\n"
    subject = program("    s1 = sum(obs)\n" + never + call.format("s6") + call.format("action"), cadf)
    simplified = effective(subject)
    assert lines(simplified.program) == ["s1 = sum(obs)", call.format("action").strip()]
    assert simplified.removed == 2


def test_dead_cadfs_go_and_the_others_move_up() -> None:
    cadfs = CADF.format(0) + "    s5 = sin(s1)\n" + CADF.format(1) + "    s5 = cos(s1)\n"
    call = "    if s0 < s{}: {}, _, _ = f{}(s0, s{}, _, _, _, _, _, _)\n"
    subject = program("    s1 = sum(obs)\n" + call.format(1, "s6", 0, 1) + call.format(1, "action", 1, 1), cadfs)
    simplified = effective(subject).program
    assert simplified.cadfs == 1
    assert "cos" in str(simplified)
    assert "sin" not in str(simplified)
    never = program("    s1 = sum(obs)\n" + call.format(0, "action", 0, 0), cadfs)
    assert lines(effective(never).program) == []


def test_start_values_that_do_not_matter_become_zero() -> None:
    subject = program(
        "    s5 = s4 + s6\n    action = s5 + s2\n", start="    s2 = 1.0\n    s4 = 2.0\n    s5 = 3.0\n    s7 = 4.0\n"
    )
    simplified = effective(subject).program
    assert [float(simplified.start("s", n)) for n in range(8)] == [0, 0, 1, 0, 2, 0, 0, 0]


def test_constants_fold_and_move_into_the_lines_that_use_them() -> None:
    subject = program(
        "    s5 = s4 + s6\n    s7 = sum(obs)\n    action = s7 * s5\n", start="    s4 = 0.5\n    s6 = 0.25\n"
    )
    simplified = readable(subject)
    assert lines(simplified.program) == ["s0 = sum(obs)", "action = s0 * 0.75"]
    assert not np.any(simplified.program.image)
    assert simplified.guarantee is Guarantee.EXACT
    assert simplified.removed == 1


def test_elementary_functions_fold_exactly() -> None:
    subject = program("    s5 = sin(s4)\n    s7 = sum(obs)\n    action = s7 * s5\n", start="    s4 = 0.5\n")
    simplified = readable(subject)
    assert lines(simplified.program) == ["s0 = sum(obs)", f"action = s0 * {elementary.sin(0.5)!r}"]
    assert simplified.guarantee is Guarantee.EXACT


def test_what_is_constant_only_from_the_second_step_on_is_not_folded_away() -> None:
    subject = program("    action = action + s5\n    s5 = s4 + s6\n", start="    s4 = 0.5\n    s5 = 9.0\n")
    simplified = readable(subject).program
    seen = np.zeros((3, 1, 2))
    assert machine.execute(simplified, seen)[:, 0, 0].tolist() == [9.0, 9.5, 10.0]


def test_a_constant_in_the_place_of_the_observation_is_not_moved_to_the_start() -> None:
    subject = program("    action = sum(obs)\n    obs = 0\n    s5 = sum(obs)\n    action = action + s5\n")
    seen = np.ones((3, 1, 2))
    assert same_bits(machine.execute(readable(subject).program, seen), machine.execute(subject, seen))


def test_programs_that_differ_in_names_only_read_the_same() -> None:
    first = program("    s5 = sum(obs)\n    s6 = s5 + s6\n    action = s6 * 2.0\n")
    second = program("    s0 = sum(obs)\n    s1 = s0 + s1\n    action = s1 * 2.0\n")
    assert first != second
    assert readable(first).program == readable(second).program


def test_constants_of_every_kind_fold() -> None:
    subject = program(
        "    v0 = 0\n    s0 = dot(v0, v0)\n    v2 = bcast(s5)\n    m0 = outer(v2, v2)\n    s6 = norm(m0)\n    v3 = m0[i0, :]\n"
        "    i1 = i0\n    s7 = v3[i1]\n    v4 = v3 * obs\n    s1 = sum(v4)\n    s1 = s1 * s6\n    s2 = s1 + s0\n    action = s2 + s7\n",
        start="    s5 = 2.0\n",
    )
    simplified = readable(subject).program
    assert lines(simplified) == ["v2 = v0 * obs", "s0 = sum(v2)", "s0 = s0 * 8.0", "s2 = s0 + s1", "action = s2 + s4"]
    assert (simplified.start("v", 0).tolist(), float(simplified.start("s", 4))) == ([4.0, 4.0], 4.0)


def test_a_constant_that_lasts_for_some_lines_only_folds_there() -> None:
    subject = program("    s5 = 0.5\n    s6 = sum(obs)\n    s6 = s6 * s5\n    s5 = mean(obs)\n    action = s6 + s5\n")
    assert lines(readable(subject).program) == [
        "s0 = sum(obs)",
        "s0 = s0 * 0.5",
        "s1 = mean(obs)",
        "action = s0 + s1",
    ]


def test_what_is_written_with_what_it_holds_already_goes() -> None:
    body = "    v2[1] = 0.5\n    s5 = sum(v2)\n    s6 = dot(v2, obs)\n    s6 = s6 + s5\n    s5 = 1.75\n    action = s6 + s5\n"
    simplified = readable(program(body, start="    v2 = [1.25, 0.5]\n    s5 = 1.75\n")).program
    assert lines(simplified) == ["s0 = dot(v0, obs)", "s0 = s0 + s1", "action = s0 + s1"]


def test_minus_zero_is_not_zero() -> None:
    body = "    s5 = s4 * s6\n    s7 = 1 / s5\n    s0 = sum(obs)\n    action = s0 + s5\n    action = action + s7\n"
    subject = program(body, start="    s6 = -1.0\n")
    seen = -np.zeros((2, 1, 2))
    simplified = readable(subject).program
    assert same_bits(machine.execute(simplified, seen), machine.execute(subject, seen))
    assert lines(simplified)[0] == "s1 = 1 / s0"
    assert float(simplified.start("s", 0)) == 0.0
    assert np.signbit(simplified.start("s", 0))


def test_a_call_whose_condition_is_known_to_fail_goes() -> None:
    """And what it would have written is constant then, so that others may fail in turn, all in one round."""
    cadf = CADF.format(0) + "    s5 = s2 + s1\n"
    calls = "".join(f"    if s{n + 1} < s{n}: s{n + 1}, _, _ = f0(s{n + 1}, s{n}, s7, _, _, _, _, _)\n" for n in (4, 5))
    subject = program(f"    s7 = sum(obs)\n{calls}    action = s7 + s6\n", cadf)
    assert lines(readable(subject).program) == ["s0 = sum(obs)", "action = s0 + s1"]


def test_zeros_fold_in_functions_too_but_say_what_is_returned() -> None:
    cadf = (
        CADF.format(0)
        + "    s6 = dot(v2, v3)\n    s7 = s6 + s2\n    v4 = v3 * v2\n    s5 = s6 * s7\n    v4 = v4 * v2\n"
    )
    call = "    if s0 < s1: s6, v3, _ = f0(s0, s1, s1, _, _, _, _, _)\n"
    subject = program(f"    s1 = sum(obs)\n{call}    s7 = sum(v3)\n    action = s6 + s7\n", cadf)
    simplified = readable(subject).program
    text = str(simplified).split(ARGUMENTS)[1].split("def GetAction")[0]
    assert text.split("\n")[1:5] == ["    s5 = s4 + s2", "    s6 = s5 * 0.0", "    v2 = 0", "    return s6, v2, i0"]
    seen = tame_observations(subject.memory, steps=6, lanes=3)
    assert same_bits(machine.execute(simplified, seen), machine.execute(subject, seen))


def test_rounding_changes_constants_and_start_values_alone() -> None:
    subject = program(
        "    s5 = s4 * 0.123456\n    v2[1] = -1234.5\n    action = uniform(1e-9, 2.55e300, stream=3)\n",
        CADF.format(0) + "    s5 = 0.0099951\n",
        "    s4 = 0.6666666666\n    v3 = [-0.0, 1.7976931348623157e308]\n",
    )
    text = str(rounded(subject, 2))
    assert text == str(subject).replace("0.123456", "0.12").replace("-1234.5", "-1200.0").replace(
        "2.55e+300", "2.5e+300"
    ).replace("0.0099951", "0.01").replace("0.6666666666", "0.67")
    assert rounded(subject, 17) == subject
    for digits in (0, 18, -1):
        with pytest.raises(ValueError, match="1 to 17 digits"):
            rounded(subject, digits)


@examples(100)
def test_rounded_numbers_are_short_and_near(draw: Draw) -> None:
    subject, digits = draw.program(), draw.integer(1, 16)
    found = rounded(subject, digits)
    assert rounded(found, digits) == found
    assert np.allclose(found.image, subject.image, rtol=0.51 * 10.0 ** (1 - digits), atol=0)
    assert [line.op for line in found.lines()] == [line.op for line in subject.lines()]
    assert [line.args for line in found.lines()] == [line.args for line in subject.lines()]


# ---- how much work it is, whatever the program ----


@pytest.mark.parametrize("kind", long_programs(0))
def test_the_work_grows_as_the_program_does(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: values that are computed, registers that are looked up, rounds of folding and of removal."""
    counts: Counter[str] = Counter()

    def counted(name: str, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            counts[name] += 1
            return function(*arguments)

        return call

    for name in ("apply", "_needed", "_registers", "_fold"):
        monkeypatch.setattr(simplify, name, counted(name, getattr(simplify, name)))
    monkeypatch.setattr(Instruction, "outputs", property(counted("outputs", vars(Instruction)["outputs"].fget)))
    for size in (200, 1600):
        counts.clear()
        readable(Program.parse(long_programs(size)[kind]))
        assert counts["_fold"] <= 4
        assert sum(counts.values()) < 100 * size


@pytest.mark.parametrize(("dim", "left"), [(2, 2), (300, 4)])
def test_what_would_take_too_long_is_not_folded(dim: int, left: int) -> None:
    head = f"memory(observations={dim}, actions=1, scalars=5, vectors=5, matrices=2, indices=0)\n"
    body = "    m0 = matmul(m1, m1)\n    s0 = norm(m0)\n    s1 = sum(obs)\n    action = s1 + s0\n"
    assert len(lines(readable(program(body, head=head)).program)) == left
    assert 2 * 2**3 < simplify.MOST_WORK < 2 * 300**3
