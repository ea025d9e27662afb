"""The native interpreter equals the reference bit for bit, at any number of lanes and threads, in every build."""

import sys
import threading
import time

import numpy as np
import pytest

from arz import Batch, Interpreter, Memory, Program, execute, execute_batch, machine, trace
from arz.native import core, load, runs_here
from arz.ops import OPS, Op
from arz.program import Instruction
from arz.vary import Variation
from tests.support import (
    FINITE,
    SOAK,
    SPECIAL,
    Draw,
    assert_same_trace,
    blank_batch,
    examples,
    random_batch,
    random_program,
    same_bits,
    tame_observations,
    with_blanks,
)

SMALL = Memory(observations=3, actions=1, scalars=6, vectors=6, matrices=3, indices=2)


def reference_actions(program: Program, seen: np.ndarray, lane: int) -> np.ndarray:
    """What the reference does in one lane."""
    reference = machine.Machine(program, key=lane)
    return np.array([reference.act(row[lane]) for row in seen])


# Fills registers of every kind from the observations of the last steps, so that an op can meet any numbers in any
# of its inputs; the op under test follows.
FILL = """
    v4 = v3
    v3 = v2
    v2 = {seen}
    i1 = len({seen}) - 1
    s0 = v2[i0]
    s1 = v2[i1]
    s2 = v3[i0]
    m0[0, :] = v2
    m0[1, :] = v3
    m0[2, :] = v4
    m1[:, 0] = v4
    m1[:, 1] = v2
    m1[:, 2] = v3
"""

# The same inside a CADF that runs in some lanes and not in others. First it looks at what has persisted since its last
# run, so that a write into a lane where it did not run comes to light.
MASKED = f"""
def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    s4 = s3 * 1.0
    s5 = norm(m2)
    v5 = v2
    v5 = v3
    v5 = v4
    i1 = i0
{FILL.format(seen="v0")}
def GetAction(obs, action):
    s0 = obs[i0]
    if s0 < s1: action, v2, _ = f0(s0, s1, _, _, obs, _, _, _)
"""

# After the op everything changes once more: else an op that ran again in a lane where it should not have, on the same
# registers, would only repeat itself.
STIR = """
    s3 = s2 * 1.0
    s1 = s0 - s2
    v2 = v3 - v2
    v4 = v4 + v2
"""


EMPTY = str(Program.build(SMALL, []))
HEAD = "def GetAction(obs, action):\n"
FILLING = Program.parse(EMPTY.split(HEAD)[0] + HEAD + FILL.format(seen="obs"))
FILLING_MASKED = Program.parse(EMPTY.split(HEAD)[0] + MASKED)
STIRRING = Program.parse(EMPTY.replace("    return action\n", STIR)).lines()


def filled_for(*lines: Instruction, masked: bool = False) -> Program:
    """A program that fills its registers and then executes some lines, in GetAction or in a CADF."""
    filling = FILLING_MASKED if masked else FILLING
    functions = [filling.lines(function) for function in range(filling.cadfs + 1)]
    functions[-1] += [*lines, *STIRRING]
    return Program.build(SMALL, functions[0], functions[1:])


def any_line(op: Op, draw: Draw) -> Instruction:
    """The op on some of the registers that are filled."""
    low, high = {"s": 0, "v": 2, "m": 0, "i": 0}, {"s": 3, "v": 4, "m": 2, "i": 1, "d": 2, "r": 9}
    args = tuple(draw.integer(low.get(kind, 0), high[kind]) for kind in op.slots)
    return Instruction(op, args, tuple(draw.finite() for _ in range(op.constants)))


WITH_OUTPUT = [op for op in OPS if op.outputs and not op.is_call]
PER_OP = 10


@pytest.mark.parametrize("masked", [False, True], ids=["everywhere", "masked"])
@pytest.mark.parametrize("op", WITH_OUTPUT, ids=lambda op: op.name)
@examples(PER_OP)
def test_every_op_equals_the_reference(op: Op, masked: bool, draw: Draw) -> None:
    program = filled_for(any_line(op, draw), any_line(op, draw), masked=masked)
    assert_same_trace(program, draw.observations(SMALL, steps=6, lanes=4))


def bits(numbers: object) -> set[int]:
    """Of different numbers, all NaNs being one."""
    found = np.ravel(np.asarray(numbers, np.float64))
    return set(np.where(np.isnan(found), np.nan, found).view(np.uint64).tolist())


@pytest.mark.skipif(SOAK > 1, reason="Hypothesis chooses")
def test_every_hostile_number_comes_to_every_input_of_every_op() -> None:
    """Guards the test above: in its examples, at each place that an op reads a number from."""
    for op in WITH_OUTPUT:
        met: dict[int, set[int]] = {}
        for number in range(PER_OP):
            draw = Draw(test_every_op_equals_the_reference.__name__, number)
            line, _ = any_line(op, draw), any_line(op, draw)
            record = trace(FILLING, draw.observations(SMALL, steps=6, lanes=4))
            for place, (kind, which) in enumerate(zip(op.inputs, line.inputs, strict=True)):
                if kind in "svm":
                    met.setdefault(place, set()).update(bits(record.register(f"{kind}{which:.0f}")))
        for place, found in met.items():
            assert bits(SPECIAL) <= found, f"{op.name}, input {place}"


@pytest.mark.parametrize("op", [op for op in WITH_OUTPUT if op.constants], ids=lambda op: op.name)
def test_every_op_with_constants_equals_the_reference_at_hostile_ones(op: Op) -> None:
    lines = Draw(op.name, 0)
    for place in range(op.constants):
        for hostile in FINITE:
            line = any_line(op, lines)
            constants = (*line.constants[:place], hostile, *line.constants[place + 1 :])
            program = filled_for(Instruction(op, line.args, constants))
            assert_same_trace(program, Draw(op.name, 1).observations(SMALL, steps=2, lanes=2))


@examples(150)
def test_random_programs_with_cadfs_equal_the_reference_on_hostile_numbers(draw: Draw) -> None:
    program = draw.program()
    assert_same_trace(program, draw.observations(program.memory, steps=4, lanes=3))


@pytest.mark.parametrize("seed", range(40))
def test_thousands_of_random_programs_equal_the_reference_over_many_steps(seed: int) -> None:
    choose = np.random.default_rng(seed)
    least, most = (1, 1, 4, 5, 0, 2), (6, 6, 9, 9, 3, 5)
    seen_, actions, s, v, m, i = (int(size) for size in choose.integers(least, most, endpoint=True))
    memory = Memory(seen_, actions, s, v, m, i, stateful=bool(choose.integers(4)))
    batch = blank_batch(memory, 60, seed)
    seen = tame_observations(memory, steps=12, lanes=2, seed=seed)
    native = execute_batch(batch, seen, only_effective=False)
    for number, program in enumerate(batch.unpack()):
        assert same_bits(native[number], machine.execute(program, seen)), program


def test_calls_fire_in_some_lanes_and_not_in_others() -> None:
    """Guards the test above: masked execution must really happen in it."""
    memory = Memory(observations=3, actions=2)
    batch = random_batch(memory, 200)
    seen = tame_observations(memory, steps=12, lanes=8)
    mixed = 0
    for program in batch.unpack():
        fired = trace(program, seen).calls
        mixed += int(np.sum(fired.any(axis=1) & ~fired.all(axis=1)))
    assert mixed > 100
    assert sum(", _" in str(program) for program in blank_batch(memory, 200).unpack()) > 80


@pytest.mark.parametrize("dim", [4, 37])
def test_the_result_does_not_depend_on_lanes_threads_or_dead_code(dim: int) -> None:
    memory = Memory(observations=dim, actions=3, matrices=1 if dim == 4 else 0)
    batch = random_batch(memory, 40)
    seen = tame_observations(memory, steps=20, lanes=75)
    whole = execute_batch(batch, seen, threads=1, only_effective=False)
    for threads in (1, 2, 5):
        assert same_bits(execute_batch(batch, seen, threads=threads), whole)
    assert same_bits(execute_batch(batch.unpack(), seen), whole)
    for lanes in ([0], [74], list(range(5, 22)), list(range(32))):
        part = execute_batch(batch, seen[:, lanes], keys=lanes)
        assert same_bits(part, whole[:, :, lanes])


@pytest.mark.parametrize("dim", [11, 12, 13, 37])
@pytest.mark.parametrize("stateful", [True, False])
def test_products_with_matrices_that_nothing_writes_equal_the_reference(dim: int, stateful: bool) -> None:
    """They are kept once for all lanes; those that are written, or used in a CADF, in each lane."""
    memory = Memory(observations=dim, actions=3, scalars=4, vectors=6, matrices=3, indices=2, stateful=stateful)
    weights = {op.name: 0.0 for op in OPS} | {"matrix_vector_dot": 8.0, "vector_add": 2.0, "vector_reciprocal": 1.0}
    weights |= {"matrix_set_row": 0.2, "matrix_transpose": 0.2, "call": 1.0}
    batch = random_batch(
        memory, 20, dim, Variation(op_weights=weights, length=(3, 12), cadf_length=(1, 4), initial_constants=1.0)
    )
    seen = tame_observations(memory, steps=4, lanes=9, seed=dim)
    for number, program in enumerate(batch.unpack()):
        expected = machine.execute(program, seen)
        for lanes in (1, 9):
            assert same_bits(execute_batch([program], seen[:, :lanes])[0], expected[:, :lanes]), number
        assert_same_trace(program, seen)


@pytest.mark.parametrize("dim", [4, 5, 37])
@pytest.mark.parametrize("stateful", [True, False])
def test_lines_that_run_as_one_and_arguments_that_stay_where_they_are_equal_the_reference(
    dim: int, stateful: bool
) -> None:
    """Few vectors and many products and sums, so that pairs of them come in all positions; calls that pass vectors."""
    memory = Memory(observations=dim, actions=3, scalars=4, vectors=6, matrices=0, indices=2, stateful=stateful)
    weights = {op.name: 0.0 for op in OPS} | {"vector_scale": 6.0, "vector_add": 6.0, "vector_copy": 1.0}
    weights |= {"vector_dot": 0.5, "vector_set_element": 0.5, "call": 2.0}
    variation = Variation(
        op_weights=weights, length=(3, 14), cadf_length=(1, 5), initial_cadfs=2, initial_constants=1.0
    )
    for number, program in enumerate(random_batch(memory, 60, dim, variation).unpack()):
        program = with_blanks(program, number) if number % 3 == 0 else program
        seen = tame_observations(memory, steps=5, lanes=3 if dim > 5 else 41, seed=number)
        shown = execute_batch([program], seen, only_effective=False)[0]
        some = [0, seen.shape[1] - 1]
        expected = np.stack([reference_actions(program, seen, lane) for lane in some], axis=1)
        assert same_bits(shown[:, some], expected), program


@pytest.mark.parametrize(
    "lines",
    [
        ["v2 = s0 * v3", "action = action + v2"],  # as one
        ["v2 = s0 * v3", "action = v2 + action"],
        ["v2 = s0 * v3", "v2 = action + v2", "action = v2"],
        ["v2 = s0 * v3", "s0 = s0 + s1", "action = action + v2"],  # the factor changes in between
        ["v2 = s0 * v3", "v3 = v3 + obs", "action = action + v2"],
        ["v2 = s0 * v3", "v2 = v5", "action = action + v2"],
        ["v2 = s0 * v3", "action = v2 + v2"],  # read twice
        ["v2 = s0 * v3", "v3 = v2 + obs", "action = action + v2"],
        ["v2 = s0 * v3", "action = action + v2", "s0 = dot(v2, obs)"],  # read later
        ["s0 = dot(v2, obs)", "v2 = s0 * v3", "action = action + v2"],  # read in the next step
        ["v2[1] = 0.5", "v2 = s0 * v3", "action = action + v2"],
        ["v2 = s0 * v3", "v2[1] = 0.5", "action = action + v2"],
        ["action = s0 * v3", "v5 = v5 + action", "s0 = sum(v5)"],  # what is made is the action
        ["obs = s0 * obs", "action = action + obs", "s0 = sum(action)"],
        ["v2 = s0 * v2", "action = action + v2"],
        ["v2 = s0 * v3", "if s0 < s1: _, v2, _ = f0(s0, s1, _, _, v5, _, _, _)", "action = action + v2"],
        ["if s0 < s1: _, action, _ = f0(s0, s1, _, _, v5, _, _, _)", "v5 = v5 + obs"],  # by reference
        ["if s0 < s1: _, v5, _ = f0(s0, s1, _, _, v5, _, _, _)", "action = v5 + obs"],
        ["if s0 < s1: _, v5, _ = f1(s0, s1, _, _, v5, action, _, _)", "action = v5 + obs"],
        ["if s0 < s1: _, v5, _ = f1(s0, s1, _, _, obs, _, _, _)", "action = v5 + obs"],
    ],
)
def test_pairs_of_lines_that_may_be_one_and_those_that_may_not(lines: list[str]) -> None:
    text = f"""
memory(observations=3, actions=2, scalars=5, vectors=6, matrices=0, indices=2, stateful=True)

def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    v2 = s0 * v0
    v3 = v3 + v2
    return s0, v3, i0

def f1(s0, s1, s2, s3, v0, v1, i0, i1):
    v2 = s1 * v0
    v3 = v1 + v0
    v2 = v3 + v2
    return s0, v2, i0

def GetAction(obs, action):
    s0 = s0 + s1
    s0 = cos(s0)
{chr(10).join("    " + line for line in lines)}
    return action
"""
    program = Program.parse(text)
    program = Program(program.memory, program.functions, np.random.default_rng(1).normal(size=program.image.shape))
    seen = tame_observations(program.memory, steps=6, lanes=11)
    assert same_bits(
        execute(program, seen, keys=range(11)),
        np.stack([reference_actions(program, seen, n) for n in range(11)], axis=1),
    )


@pytest.mark.parametrize("dim", range(12, 41))
def test_such_products_have_the_bits_of_the_plain_loop_in_any_number_of_lanes(dim: int) -> None:
    program = Program.parse(
        f"memory(observations={dim}, actions={dim}, matrices=1)\n"
        "def GetAction(obs, action):\n    v2 = dot(m0, obs)\n    action = dot(m0, v2)\n"
    )
    random = np.random.default_rng(dim)
    matrix, image = random.normal(size=(dim, dim)), np.zeros(program.memory.image_size)
    image[-dim * dim :] = matrix.ravel()
    program = Program(program.memory, program.functions, image)
    for lanes in (1, 2, 3, 7, 16, 17, 33):
        seen = random.normal(size=(1, lanes, dim))
        x = seen[0]
        for _ in range(2):
            sums = np.zeros((lanes, dim))
            for k in range(dim):
                sums = sums + matrix[:, k] * x[:, k, None]
            x = sums
        assert same_bits(execute(program, seen)[0], x), lanes


@pytest.mark.parametrize("change", ["reset", "stateless"])
def test_an_interpreter_keeps_its_program_when_the_batch_is_gone(change: str) -> None:
    """Also one without what does not matter, which it need not copy."""
    head = f"memory(observations=300, actions=1, scalars=6, vectors=60, matrices=0, stateful={change == 'reset'})"
    program = Program.parse(f"{head}\ndef GetAction(obs, action):\n    s1 = sum(v5)\n    action = s1 + s4\n")
    program = Program(program.memory, program.functions, np.arange(1.0, 1 + program.image.size))
    stepper = core.Stepper(core.effective_forms(program.packed, 1), 0, 1)
    others = [Program(program.memory, program.functions, np.full(program.image.size, 7.0)) for _ in range(50)]
    stepper.reset(np.zeros(1, np.uint64))
    seen = np.zeros((3, 1, 300))
    assert same_bits([stepper.act(row) for row in seen], execute(program, seen))
    assert len(others) == 50


@pytest.mark.parametrize(("calls", "lines"), [(3, 4), (200, 100), (66_000, 1)])
def test_calls_run_what_they_call_however_many_there_are(calls: int, lines: int) -> None:
    text = f"""
memory(observations=3, actions=1, scalars=6, vectors=6, matrices=0, indices=2)

def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    s4 = v0[i0]
{chr(10).join(["    s4 = s4 + s2"] * lines)}
    return s4, v0, i0

def f1(s0, s1, s2, s3, v0, v1, i0, i1):
    s4 = sum(v0)
    return s4, v0, i0

def GetAction(obs, action):
    s5 = 2
    if s0 < s5: s4, _, _ = f1(s0, s5, _, _, obs, _, _, _)
    if s0 < s5: s1, _, _ = f0(s0, s5, s4, _, v5, _, _, _)
    action = s1 * 1.0
    return action
"""
    program = Program.parse(text)
    code = program.functions[0]
    many = np.concatenate([code[:2], np.repeat(code[1:2], calls - 2), code[2:]])
    program = Program(program.memory, (many, *program.functions[1:]), np.arange(1.0, 1 + program.image.size))
    seen = tame_observations(program.memory, steps=1, lanes=9)
    expected = np.stack([reference_actions(program, seen, lane) for lane in [8]], axis=1)
    assert same_bits(execute(program, seen)[:, [8]], expected)


def test_all_builds_give_the_same_bits() -> None:
    results = []
    memory = Memory(observations=5, actions=2, matrices=2)
    batch = random_batch(memory, 300)
    seen = tame_observations(memory, steps=20, lanes=19)
    keys = np.arange(19, dtype=np.uint64)
    for name in runs_here():
        build = load(name)
        assert name == build.INSTRUCTION_SET
        shape = build.memory_shape(5, 2, 16, 16, 2, 16, True)
        results.append(build.run(build.batch(shape, *batch.core.arrays()), seen, keys, 2, True))
    assert all(same_bits(results[0], result) for result in results[1:])


@examples(60)
def test_step_by_step_equals_all_at_once(draw: Draw) -> None:
    program = draw.program()
    seen = tame_observations(program.memory, steps=6, lanes=9, seed=draw.integer(0, 1000))
    whole = execute(program, seen)
    interpreter = Interpreter(program, lanes=9)
    for _ in range(2):  # a second episode is like the first
        interpreter.reset()
        assert same_bits([interpreter.act(row) for row in seen], whole)


def test_random_numbers_come_from_the_key_of_the_lane() -> None:
    program = Program.parse(
        "memory(observations=1, actions=1)\ndef GetAction(obs, action):\n    action = uniform(-2.0, 3.0, stream=7)\n"
    )
    seen = np.zeros((50, 3, 1))
    actions = execute(program, seen, keys=[5, 6, 5])[..., 0]
    assert same_bits(actions[:, 0], actions[:, 2])
    assert len(np.unique(actions)) == 100
    assert -2 <= actions.min() < -1.5
    assert 2.5 < actions.max() < 3


@pytest.mark.parametrize("line", ["s0 = -0.0", "s0 = s1 * -0.0", "v2[0] = -0.0\n    s0 = v2[i0]"])
def test_a_negative_zero_keeps_its_sign(line: str) -> None:
    head = "memory(observations=1, actions=1)\ndef StartEpisode():\n    s1 = 1.0\n"
    program = Program.parse(f"{head}def GetAction(obs, action):\n    {line}\n    action = 1 / s0\n")
    assert execute(program, np.zeros((1, 1, 1))).item() == -np.inf
    assert machine.execute(program, np.zeros((1, 1, 1))).item() == -np.inf


def test_a_trace_shows_registers_over_time_and_calls() -> None:
    program = Program.parse(
        """memory(observations=1, actions=1)
def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    s5 = s5 + s1
def GetAction(obs, action):
    s1 = obs[i0]
    s2 = s2 + s1
    if s0 < s1: action, _, _ = f0(s0, s1, _, _, _, _, _, _)
"""
    )
    seen = np.array([[[1.0], [-1.0]], [[2.0], [5.0]], [[-3.0], [0.0]]])
    record = trace(program, seen)
    assert record.register("s2").tolist() == [[1, -1], [3, 4], [0, 4]]
    assert record.register("action").tolist() == [[1, 0], [3, 5], [3, 5]]
    assert record.register("s5", function=1).tolist() == [[1, 0], [3, 5], [3, 5]]
    assert same_bits(record.register("obs"), seen)
    assert record.register("s1", function=1).tolist() == [[1, 0], [2, 5], [2, 5]]  # an argument
    assert record.calls[..., 0].tolist() == [[True, False], [True, True], [False, False]]
    assert same_bits(record.actions, execute(program, seen))
    with pytest.raises(ValueError, match="name of a register"):
        record.register("s99")
    with pytest.raises(ValueError, match="expected a function from 0"):
        record.register("s1", function=2)


def test_a_trace_has_arrivals_that_no_line_reads() -> None:
    program = Program.parse(
        """memory(observations=1, actions=1)
def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    pass
def GetAction(obs, action):
    s1 = 1.0
    if s0 < s1: _, _, _ = f0(s0, s1, _, s1, _, obs, _, _)
"""
    )
    record = trace(program, np.full((2, 3, 1), 7.0))
    assert np.all(record.register("obs") == 7)
    assert np.all(record.register("v1", function=1) == 7)
    assert np.all(record.register("s3", function=1) == 1)
    assert record.calls.all()
    assert_same_trace(program, np.full((2, 3, 1), 7.0))


def test_batched_calls_release_the_gil() -> None:
    memory = Memory(observations=4, actions=1)
    batch = random_batch(memory, 400)
    seen = tame_observations(memory, steps=600, lanes=32)
    counted = 0
    counts: list[int] = []
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # no thread is interrupted by another: it must let go
    try:
        thread.start()
        while len(counts) < 50 and not (counts and max(counts) >= 5):  # the other may not get a processor at first
            before = counted
            execute_batch(batch, seen, threads=1)
            counts.append(counted - before)
    finally:
        sys.setswitchinterval(usual)
        done.set()
        thread.join()
    assert max(counts) >= 5


@pytest.mark.parametrize(
    ("seen", "keys", "problem"),
    [
        (np.zeros((3, 4)), None, "expected observations \\[step, lane, entry\\]"),
        (np.zeros((3, 4, 5)), None, "expected observations of 2 numbers, got 5"),
        (np.zeros((3, 0, 2)), None, "expected 1 to 1048576 lanes"),
        (np.zeros((3, 4, 2)), [1, 2], "expected one key for each of 4 lanes, got 2"),
        ([["a"]], None, "could not convert"),
    ],
)
def test_wrong_observations_get_a_sentence(seen: object, keys: list[int] | None, problem: str) -> None:
    program = random_program(Memory(observations=2, actions=1), 0)
    with pytest.raises(ValueError, match=problem):
        execute(program, np.asarray(seen), keys=keys)


def test_wrong_threads_lanes_and_rows_get_a_sentence() -> None:
    program = random_program(Memory(observations=2, actions=1), 0)
    with pytest.raises(ValueError, match="expected 1 to 1024 threads, got 0"):
        execute_batch(Batch.pack([program]), np.zeros((1, 1, 2)), threads=0)
    with pytest.raises(ValueError, match="lanes, got -1"):
        Interpreter(program, lanes=-1)
    with pytest.raises(ValueError, match="expected observations for 2 lanes, got 3"):
        Interpreter(program, lanes=2).act(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="expected observations \\[lane, entry\\]"):
        Interpreter(program, lanes=2).act(np.zeros(2))
    with pytest.raises(ValueError, match="expected keys that are whole numbers"):
        execute(program, np.zeros((1, 2, 2)), keys=[-1, 2])
    with pytest.raises(ValueError, match="expected keys that are whole numbers"):
        execute(program, np.zeros((1, 2, 2)), keys=np.array([0.5, 2]))
    wide = random_program(Memory(observations=37, actions=1, vectors=64), 0)
    with pytest.raises(ValueError, match="too large to run side by side"):
        Interpreter(wide, lanes=1 << 20)
    with pytest.raises(TypeError):
        core.run(program.packed, np.zeros((1, 1, 2), np.float32), np.zeros(1, np.uint64), 1, True)


def test_no_steps_and_empty_programs_are_fine() -> None:
    program = Program.build(Memory(observations=2, actions=1), [])
    assert execute(program, np.zeros((0, 3, 2))).shape == (0, 3, 1)
    assert execute(program, np.ones((2, 3, 2))).tolist() == np.zeros((2, 3, 1)).tolist()
