"""Growth: children that act as their parents at first, in registers that nobody misses; and what undoes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arz import Batch, Memory, MutationWeights, Program, Variation, mutate, random_programs
from arz.interpreter import execute_batch
from arz.machine import MEANING
from arz.ops import OPS
from arz.program import NONE
from arz.streams import keys
from arz.vary import MUTATIONS, NO_MUTATION, grow_reflexes, grown_programs, transplant
from tests.support import Draw, examples, random_batch, same_bits

QUADRUPED = Memory(observations=37, actions=12)
CARTPOLE = Memory(observations=4, actions=1, scalars=12, vectors=12, matrices=0, indices=2)
MATRICES = Memory(observations=5, actions=3, scalars=12, vectors=12, matrices=4, indices=2)
STATELESS = replace(CARTPOLE, stateful=False)
MEMORIES = {"quadruped": QUADRUPED, "cartpole": CARTPOLE, "matrices": MATRICES, "stateless": STATELESS}
TAME = {op.name: 0.0 for op in OPS if not op.is_tame}
WILD = {
    *(f"scalar_{name}" for name in ("divide", "reciprocal", "tan", "arcsin", "arccos", "exp", "log", "sqrt")),
    *(f"vector_{name}" for name in ("divide", "reciprocal", "power", "sqrt")),
    *("matrix_divide", "matrix_reciprocal"),
}
GROWTH = ("grow_term", "grow_call")


def only(*names: str, **changes: Any) -> Variation:
    weights = MutationWeights(**{other: float(other in names) for other in MUTATIONS})
    return replace(Variation(weights=weights, max_cadfs=4), **changes)


def actions(batch: Batch, seed: int = 0, steps: int = 12, lanes: int = 4) -> NDArray[np.float64]:
    shown = np.random.default_rng(seed).normal(size=(steps, lanes, batch.memory.observations))
    return execute_batch(batch, shown, keys=np.arange(lanes, dtype=np.uint64))


def grown_chain(memory: Memory, count: int, seed: int, rounds: int = 3) -> Batch:
    """Programs that grew, terms and calls."""
    batch = grown_programs(memory, 2, keys(seed, "start", range(count)))
    for number in range(rounds):
        batch, _ = mutate(batch, range(count), keys(seed, f"round {number}", range(count)), only(*GROWTH))
    return batch


@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
@pytest.mark.parametrize("name", GROWTH)
def test_without_a_coefficient_a_child_acts_as_its_parent_does(memory: Memory, name: str) -> None:
    """As long as what it computes is finite: 0 times infinity is not 0."""
    count, changed = 200, 0
    parents = grown_chain(memory, count, seed=1) + random_programs(
        memory, keys(1, "random", range(count)), Variation(op_weights=TAME, initial_constants=1.0, length=(3, 12))
    )
    children, applied = mutate(
        parents, range(2 * count), keys(1, name, range(2 * count)), only(name, growth_coefficient=0.0, max_cadfs=6)
    )
    before, after = actions(parents, steps=6), actions(children, steps=6)
    finite = np.isfinite(after).all(axis=(1, 2, 3))
    assert finite.mean() > 0.7
    assert np.array_equal(before[finite], after[finite])
    for child, parent, number in zip(children.unpack(), parents.unpack(), applied.tolist(), strict=True):
        if number != NO_MUTATION:
            assert child != parent
            changed += 1
    assert changed > 40


@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_what_else_a_line_reads_can_be_an_expression_of_its_own(memory: Memory) -> None:
    """Products of two senses are drawn then; a child still acts as its parent does without a coefficient."""
    ops = {op.name: float(op.name in ("vector_dot", "scalar_multiply")) for op in OPS}

    def products(branches: float) -> int:
        wanted = replace(Variation(op_weights=ops), growth_memory=0.0, growth_vectors=0.0, growth_branches=branches)
        programs = grown_programs(memory, 1, keys(5, "start", range(100)), wanted).unpack()
        return sum(str(program).count("dot(") > 1 for program in programs)

    assert products(0.0) == 0
    assert products(0.8) > 20
    assert products(1.0) > 20  # where no op gives a vector, constants are read
    parents = grown_chain(memory, 100, seed=6)
    branched = only("grow_term", growth_coefficient=0.0, growth_branches=0.8)
    children, applied = mutate(parents, range(100), keys(6, "c", range(100)), branched)
    assert np.sum(applied != NO_MUTATION) > 40
    before, after = actions(parents, steps=6), actions(children, steps=6)
    finite = np.isfinite(after).all(axis=(1, 2, 3))
    assert finite.mean() > 0.7
    assert np.array_equal(before[finite], after[finite])


def with_sense(child: Program, registers: list[int], threshold: float, weight: float = 0.0) -> Program:
    """The same with another sense: it fires when a weight times the first entry of the observation is high enough."""
    image, memory = child.image.copy(), child.memory
    image[memory.image_slice("v", registers[0])] = 0.0
    image[memory.image_slice("v", registers[0]).start] = weight
    image[memory.image_slice("s", registers[1])] = threshold
    return replace(child, image=image)


@pytest.mark.parametrize("memory", [memory for memory in MEMORIES.values() if memory.stateful])
def test_a_reflex_does_nothing_until_its_sense_fires_and_acts_from_then_on(memory: Memory) -> None:
    large = replace(memory, scalars=40, vectors=40)
    parents = grown_chain(large, 60, seed=7, rounds=1)
    children, registers = grow_reflexes(parents, range(60), keys(7, "c", range(60)), 3, only("grow_term"))
    assert (registers >= 0).all()
    shown = np.zeros((6, 1, large.observations))
    shown[3, 0, 0] = 1.0

    def seen(programs: list[Program]) -> NDArray[np.float64]:
        return execute_batch(Batch.pack(programs), shown, keys=np.zeros(1, np.uint64))

    made = list(zip(children.unpack(), registers.tolist(), strict=True))
    before = seen(parents.unpack())
    assert np.array_equal(before, seen([with_sense(*one, -0.5) for one in made]))
    after = seen([with_sense(*one, -0.5, 1.0) for one in made])
    differs = (after != before).any(axis=(2, 3))
    assert not differs[:, :3].any()
    assert differs[:, 3].mean() > 0.9  # where actions are huge, a small one more is lost
    assert differs[:, 4:].mean() > 0.9
    assert np.abs(after - before)[np.isfinite(before)].max() < 0.5


def test_while_one_reflex_acts_others_do_not_begin() -> None:
    memory = replace(QUADRUPED, scalars=40, vectors=40)
    parents = grown_chain(memory, 20, seed=8, rounds=1)
    once, first = grow_reflexes(parents, range(20), keys(8, "one", range(20)), 2, only("grow_term"))
    early = Batch.pack([with_sense(*one, 0.5) for one in zip(once.unpack(), first.tolist(), strict=True)])
    twice, second = grow_reflexes(early, range(20), keys(8, "two", range(20)), 2, only("grow_term"))
    shown = np.zeros((6, 1, memory.observations))
    shown[3:, 0, 0] = 1.0
    made = list(zip(twice.unpack(), second.tolist(), strict=True))
    never, later = ([with_sense(*one, -0.5, weight) for one in made] for weight in (0.0, 1.0))
    lanes = np.zeros(1, np.uint64)
    one, other = (execute_batch(Batch.pack(some), shown, keys=lanes) for some in (never, later))
    assert np.array_equal(one, other)
    # Where the first does not act, the second does.
    late = [with_sense(program, registers, -9.0) for program, registers in zip(later, first.tolist(), strict=True)]
    idle = [with_sense(program, registers, -9.0) for program, registers in zip(never, first.tolist(), strict=True)]
    one, other = (execute_batch(Batch.pack(some), shown, keys=lanes) for some in (idle, late))
    assert (one != other).any(axis=(1, 2, 3)).all()


def test_a_running_maximum_is_no_latch() -> None:
    """What is always open would keep a reflex closed for ever."""
    text = """memory(observations=4, actions=1, scalars=20, vectors=20, matrices=0, indices=0, stateful=True)

def StartEpisode():
    s5 = 1.0
    s9 = 3.0

def GetAction(obs, action):
    s8 = s9 - s6
    s5 = maximum(s5, s8)
    action = s5 + s10
    return action
"""
    parent = Batch.pack([Program.parse(text)])
    children, registers = grow_reflexes(parent, [0] * 10, keys(3, "c", range(10)), 2, only("grow_term"))
    shown = np.zeros((4, 1, 4))
    made = zip(children.unpack(), registers.tolist(), strict=True)
    acting = Batch.pack([with_sense(child, numbers, 0.5) for child, numbers in made])
    lanes = np.zeros(1, np.uint64)
    usual, found = (execute_batch(batch, shown, keys=lanes) for batch in (parent, acting))
    assert (found != usual).any(axis=(1, 2, 3)).all()


def test_without_room_for_a_reflex_a_child_is_its_parent() -> None:
    full = grown_chain(CARTPOLE, 10, seed=9, rounds=40)
    children, registers = grow_reflexes(full, range(10), keys(9, "c", range(10)), 8, only("grow_term"))
    assert (registers == -1).all()
    assert children.unpack() == full.unpack()


@examples(40)
def test_a_child_of_growth_acts_nearly_as_its_parent_does(draw: Draw) -> None:
    """Within five times its coefficients, root mean square, where the parent's own numbers are small and smooth."""
    seed, memory, coefficient = draw.integer(0, 2**32), MEMORIES[draw.choice(list(MEMORIES))], 1e-4
    ops = {op.name: 0.0 for op in OPS if "heaviside" in op.name or op.outputs == ("m",)}
    parents = grown_programs(memory, 2, keys(seed, "parents", range(20)), Variation(op_weights=ops))
    wanted = only(*GROWTH, growth_coefficient=coefficient, op_weights=ops)
    children, _ = mutate(parents, range(20), keys(seed, "children", range(20)), wanted)
    change = actions(children, seed) - actions(parents, seed)
    assert np.isfinite(change).all()
    sizes = np.sqrt((change**2).mean(axis=(1, 2, 3)))
    assert np.median(sizes) <= 5 * coefficient
    assert np.sort(sizes)[-2] <= 1000 * coefficient  # of twenty; products of sums over twelve steps have no bound


@pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)
def test_growth_ends_where_the_memory_is_full(memory: Memory) -> None:
    """And says so; until then every child is a valid program that is longer than its parent."""
    batch, ended = grown_programs(memory, 1, keys(2, "start", range(6))), np.zeros(6, bool)
    lengths = [len(program.functions[0]) for program in batch.unpack()]
    for step in range(120):
        batch, applied = mutate(batch, range(6), keys(step, "grow", range(6)), only("grow_term"))
        programs = batch.unpack()  # refuses what is not valid
        grew = [len(program.functions[0]) for program in programs]
        for before, after, number in zip(lengths, grew, applied.tolist(), strict=True):
            assert after > before if number != NO_MUTATION else after == before
        lengths, ended = grew, applied == NO_MUTATION
        assert all(Program.parse(str(program)) == program for program in programs[:1])
    assert ended.all()
    assert min(lengths) > 6


def test_terms_remember_look_and_call() -> None:
    """Of what random terms do, everything that is wanted happens often enough: senses, clocks, sums, latches, calls."""
    batch, _ = mutate(
        grown_programs(QUADRUPED, 3, keys(3, "start", range(400))), range(400), keys(3, "c", range(400)), only(*GROWTH)
    )
    found = {"sense": 0, "sum": 0, "clock": 0, "extreme": 0, "call": 0}
    for program in batch.unpack():
        lines = program.lines()
        written = {output for line in lines for output in line.outputs}
        for line in lines:
            reads = list(zip(line.op.inputs, line.inputs, strict=True))
            others = [place for place in reads if place not in line.outputs]
            constant = [place for place in others if place not in written and place != ("v", 1)]
            found["sense"] += line.op.name == "vector_dot" and ("v", 1) in reads and bool(constant)
            is_memory = any(output in reads for output in line.outputs) and ("v", 4) not in line.outputs
            found["sum"] += is_memory and line.op.name in ("scalar_add", "vector_add") and not constant
            found["clock"] += is_memory and line.op.name == "scalar_add" and bool(constant)
            found["extreme"] += is_memory and line.op.name in ("scalar_maximum", "scalar_minimum")
            found["call"] += line.op.is_call
    assert all(count >= 5 for count in found.values()), found


def test_a_term_is_dropped_with_all_that_only_it_needs() -> None:
    parents = grown_programs(QUADRUPED, 4, keys(4, "start", range(200)))
    children, applied = mutate(parents, range(200), keys(4, "drop", range(200)), only("drop_term"))
    assert np.all(applied == MUTATIONS.index("drop_term"))
    for child, parent in zip(children.unpack(), parents.unpack(), strict=True):
        assert len(child.functions[0]) < len(parent.functions[0])
        assert np.count_nonzero(child.image) <= np.count_nonzero(parent.image)
    smallest = grown_programs(QUADRUPED, 0, keys(4, "least", [0]))
    _, applied = mutate(smallest, [0], keys(4, "drop", [0]), only("drop_term"))
    assert applied.tolist() == [NO_MUTATION]


TERM = """memory(observations=3, actions=2, scalars=4, vectors=9, matrices=0, indices=0)
def StartEpisode():
    s0 = 0.5
    v2 = [1.0, 2.0, 3.0]
    v3 = [0.25, -0.5, 0]
def GetAction(obs, action):
    s1 = dot(obs, v2)
    s0 = s0 + s1
    action = v5
    v6 = s0 * v3
    action = action + v6
"""
OTHER = """memory(observations=3, actions=2, scalars=4, vectors=9, matrices=0, indices=0)
def StartEpisode():
    v2 = [0.125, 0.25, 0]
    v3 = [4.0, 4.0, 4.0]
def GetAction(obs, action):
    action = v2
    s0 = dot(obs, v3)
    v6 = s0 * v3
    action = action + v6
"""


def test_a_transplanted_term_does_what_it_did() -> None:
    """Sums of actions tell: this term does not look at the action, so the child's are its parents' together."""
    batch = Batch.pack([Program.parse(TERM), Program.parse(OTHER)])
    child, happened = transplant(batch, [1], [0], keys(5, "t", [0]))
    assert happened.tolist() == [True]
    one, other = actions(batch, 5)
    assert np.allclose(actions(child, 5)[0], one + other, rtol=1e-12, atol=1e-12)
    names = {register for line in child[0].lines() for register in line.outputs}
    assert {("s", 1), ("s", 0), ("v", 6)} <= names


def test_without_room_or_terms_nothing_is_transplanted() -> None:
    full = Program.parse(OTHER.replace("vectors=9", "vectors=7"))
    given = Program.parse(TERM.replace("vectors=9", "vectors=7"))
    batch = Batch.pack([full, given])
    child, happened = transplant(batch, [0, 1], [1, 1], keys(6, "t", [0, 1]))
    assert not happened[0]
    assert child[0] == full
    least = grown_programs(CARTPOLE, 0, keys(6, "least", [0, 1]))
    child, happened = transplant(least, [0], [1], keys(6, "t", [0]))
    assert (child[0], happened.tolist()) == (least[0], [False])


def test_transplants_of_random_programs_are_valid() -> None:
    batch = grown_chain(replace(QUADRUPED, scalars=40, vectors=40), 100, 7, rounds=1)
    children, happened = transplant(batch, range(100), [*range(1, 100), 0], keys(7, "t", range(100)))
    assert happened.sum() > 30
    assert len(children.unpack()) == 100


def test_what_a_cadf_returns_stays_where_it_is() -> None:
    parents = random_batch(
        QUADRUPED, 150, variation=Variation(initial_cadfs=3, cadf_length=(2, 6), op_weights={"call": 20.0})
    )
    children, applied = mutate(parents, range(150), keys(8, "c", range(150)), only("grow_term", growth_coefficient=0.0))
    grew = 0
    for child, number in zip(children.unpack(), applied.tolist(), strict=True):
        for body in range(1, len(child.functions)) if number != NO_MUTATION else ():
            grew += any(line.op.name == "scalar_scale" for line in child.lines(body)[-4:])
    assert grew > 0


def test_the_same_keys_give_the_same_children_on_any_number_of_threads() -> None:
    parents = grown_chain(QUADRUPED, 64, 9)
    everything = only(*GROWTH, "drop_term")
    one, first = mutate(parents, range(64), keys(9, "c", range(64)), everything, threads=1)
    many, second = mutate(parents, range(64), keys(9, "c", range(64)), everything, threads=3)
    assert one == many
    assert np.array_equal(first, second)
    assert grown_programs(QUADRUPED, 3, keys(9, "g", range(64))) == grown_programs(
        QUADRUPED, 3, keys(9, "g", range(64)), threads=3
    )


def test_tame_ops_are_finite_wherever_their_inputs_are() -> None:
    """By the reference; and those that are not are named here."""
    random = np.random.default_rng(10)
    shapes = {"s": (), "v": (3,), "m": (3, 3)}
    for op in OPS:
        if op.is_call or op.draws or op.writes_part or not op.outputs or op.outputs == ("i",):
            continue
        always = True
        for kind in ("normal", "zero", "large"):
            scale = {"normal": 1.0, "zero": 0.0, "large": 800.0}[kind]
            inputs = [
                random.normal(size=shapes[k]) * scale if k in shapes else 1 if k in "id" else scale for k in op.inputs
            ]
            if op.name in ("vector_broadcast", "vector_zero"):
                inputs.insert(0, 3)  # the reference asks for the length
            with np.errstate(all="ignore"):
                result = MEANING[op.name](*inputs)
            always = always and bool(np.isfinite(result).all())
        assert always >= op.is_tame, op.name
        assert op.is_tame == (op.name not in WILD), op.name


def test_growth_leaves_no_blank_that_a_program_would_read() -> None:
    """Calls pass what a CADF compares and takes; only indices are left out."""
    batch, applied = mutate(
        grown_programs(QUADRUPED, 2, keys(11, "g", range(100))),
        range(100),
        keys(11, "c", range(100)),
        only("grow_call"),
    )
    assert np.mean(applied != NO_MUTATION) > 0.9
    for program in batch.unpack():
        for line in program.lines():
            if line.op.is_call:
                assert NONE not in line.args[3:10]
                assert line.args[10:] == (NONE, NONE)
    assert same_bits(actions(batch), actions(batch))


CALLED = """memory(observations=3, actions=1, scalars=9, vectors=6, matrices=0, indices=2)
def StartEpisode():
    s5 = 1.0
def GetAction(obs, action):
    s0 = sum(obs)
    action = 0
    if s0 < s5: action, _, _ = f0(s0, s5, s0, _, obs, _, _, _)
def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    s4 = sum(v0)
    s4 = s4 + s2
    s5 = s0 * s4
    s5 = s5 + s4
"""


def body(program: Program) -> list[str]:
    """The lines of its first CADF."""
    return [line.strip() for line in str(program).split("def f0")[1].split("def ")[0].splitlines()[1:] if "=" in line]


def test_a_term_in_a_cadf_reads_only_arguments_that_are_passed() -> None:
    parent = Program.parse(CALLED)
    children, applied = mutate(
        Batch.pack([parent]), [0] * 200, keys(12, "c", range(200)), only("grow_term", growth_memory=0.0)
    )
    bodies = [body(child) for child in children.unpack()]
    assert np.all(applied != NO_MUTATION)
    assert sum(len(lines) > len(body(parent)) for lines in bodies) > 50
    for lines in bodies:
        assert not any(name in line.split(" = ")[1] for line in lines for name in ("s3", "v1"))


def test_a_cadf_without_a_term_returns_what_it_did() -> None:
    """What it returns is where its last line writes; the last term may go, if that stays so."""
    longer = Program.parse(CALLED + "    s6 = s2 * s4\n    s5 = s5 + s6\n    s4 = s4 + s0\n    s5 = s5 + s4\n")
    shorter, applied = mutate(Batch.pack([longer]), [0] * 100, keys(13, "c", range(100)), only("drop_term"))
    dropped = [body(child) for child, number in zip(shorter.unpack(), applied, strict=True) if number != NO_MUTATION]
    assert len({tuple(lines) for lines in dropped}) > 2
    for lines in dropped:
        assert lines[-1].startswith("s5 = ")


def test_a_cadf_is_called_again_only_for_what_it_gives() -> None:
    """This one gives no vector, and there is no room for another."""
    parent = Program.parse(CALLED.replace("actions=1", "actions=2").replace("action, _, _", "s6, _, _"))
    code = str(parent).replace("action = 0", "action = bcast(s6)")
    batch, keep = Batch.pack([Program.parse(code)]), only("grow_call", max_cadfs=1)
    children, _ = mutate(batch, [0] * 100, keys(14, "c", range(100)), keep)
    for child in children.unpack():
        assert all(line.args[1] == NONE for line in child.lines() if line.op.is_call)
