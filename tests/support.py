"""What many tests need: random programs, hostile numbers, equality of bits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from arz import Batch, Memory, Program, Variation, machine, random_programs
from arz.interpreter import trace
from arz.ops import NUMBER
from arz.program import NONE
from arz.streams import keys

SOAK = 50 if os.environ.get("ARZ_SOAK") else 1


def examples(count: int) -> settings:
    """Hypothesis settings: this many examples, fifty times as many under `make soak`."""
    return settings(max_examples=count * SOAK, deadline=None, derandomize=SOAK == 1, print_blob=True)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2e-308, 1.8e308, -1.8e308, 0.5, 2.0, 710.0]
"""Numbers that break things."""

numbers = st.one_of(st.sampled_from(SPECIAL), st.floats(width=64))

memories = st.builds(
    Memory,
    observations=st.integers(1, 5),
    actions=st.integers(1, 6),
    scalars=st.integers(4, 7),
    vectors=st.integers(5, 7),
    matrices=st.integers(0, 2),
    indices=st.integers(2, 4),
    stateful=st.booleans(),
)

CALLING = Variation(length=(0, 25), cadf_length=(0, 8), initial_constants=1.0, op_weights={"call": 25.0})
"""Random programs in which about every fourth line is a call."""


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Random programs with CADFs, of random memories; in some, calls leave out arguments and results."""
    seed = draw(st.integers(0, 2**32))
    program = random_program(draw(memories), seed)
    return with_blanks(program, seed) if draw(st.booleans()) else program


def with_blanks(program: Program, seed: int) -> Program:
    """The program with `_` for some of what its calls pass and take: random programs have none of their own."""
    choose = np.random.default_rng(seed)
    code = program.functions[0].copy()
    may_be_blank = [slot for slot in range(12) if slot not in (3, 4, 5)]  # all but the callee and what is compared
    for line in np.flatnonzero(code["op"] == NUMBER["call"]):
        args = code["args"][line]  # a view
        args[may_be_blank] = np.where(choose.random(9) < 0.4, NONE, args[may_be_blank])
    return Program(program.memory, (code, *program.functions[1:]), program.image)


def random_program(memory: Memory, seed: int, variation: Variation = CALLING) -> Program:
    """A random program for a seed."""
    return random_programs(memory, keys(seed, "test", [0]), variation)[0]


def blank_batch(memory: Memory, count: int, seed: int = 0) -> Batch:
    """Many random programs; every second leaves out arguments and results of its calls."""
    programs = random_batch(memory, count, seed).unpack()
    return Batch.pack([with_blanks(program, n) if n % 2 else program for n, program in enumerate(programs)])


def random_batch(memory: Memory, count: int, seed: int = 0, variation: Variation = CALLING) -> Batch:
    """Many random programs."""
    return random_programs(memory, keys(seed, "test", range(count)), variation)


def observations(memory: Memory, steps: int, lanes: int) -> st.SearchStrategy[NDArray[np.float64]]:
    """Observations with hostile numbers, drawn one by one, so that lanes differ."""
    shape = (steps, lanes, memory.observations)
    return hnp.arrays(np.float64, shape, elements=numbers, fill=st.nothing())


def tame_observations(memory: Memory, steps: int, lanes: int, seed: int = 0) -> NDArray[np.float64]:
    """Observations of moderate size with a few hostile numbers in between."""
    random = np.random.default_rng(seed)
    seen = random.normal(size=(steps, lanes, memory.observations))
    hostile = random.random(seen.shape) < 0.02
    seen[hostile] = random.choice(SPECIAL, size=int(hostile.sum()))
    return seen


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays are equal bit for bit, all NaNs being one value."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape:
        return False
    equal = a.reshape(-1).view(np.uint64) == b.reshape(-1).view(np.uint64)
    return bool(np.all(equal | (np.isnan(a.reshape(-1)) & np.isnan(b.reshape(-1)))))


def assert_same_trace(program: Program, seen: NDArray[np.float64]) -> None:
    """Native and reference must agree on every write of every register, and on every action."""
    native = trace(program, seen)
    for lane in range(seen.shape[1]):
        reference = machine.Machine(program, key=lane)
        actions = [reference.act(row[lane]) for row in seen]
        assert same_bits(native.actions[:, lane], actions)
        events = np.flatnonzero(native.lane == lane)
        assert len(events) == len(reference.trace)
        for event, write in zip(events.tolist(), reference.trace, strict=True):
            place = (native.step[event], native.site[event], native.line[event], native.function[event])
            assert place == (write.step, write.site, write.line, write.function)
            assert (native.kind[event], native.number[event]) == write.register
            assert same_bits(native.value(event), write.value), (write, native.value(event))


_CADF = "def f{}(s0, s1, s2, s3, v0, v1, i0, i1):\n"


def long_programs(lines: int) -> dict[str, str]:
    """Texts of about so many lines, by what is odd about them."""
    head = "memory(observations=2, actions=1, scalars=64, vectors=64, matrices=2, indices=8)\n"
    get = "def GetAction(obs, action):\n"
    half = range(lines // 2)
    blanks = ["_, _, _, _, _, _", "s9, _, _, _, _, _", "_, s9, _, _, _, _"]
    calls = [f"    if s0 < s1: s{10 + n % 50}, _, _ = f{n % 6}(s0, s1, {blanks[n % 3]})\n" for n in range(lines)]
    cadfs = "".join(_CADF.format(k) + "    s5 = s2 + s3\n" for k in range(6))
    sines = "".join(f"    s{4 + n % 60} = sin(s{4 + (n + 1) % 60})\n" for n in range(lines))
    sets = "".join(f"    v{5 + n % 2}[i0] = s5\n    s6 = dot(v5, v6)\n" for n in half)
    long_cadf = _CADF.format(0) + "".join(f"    v5[i0] = s{n % 4}\n" for n in half)
    taken = "".join(f"    if s0 < s1: s{6 + n % 50}, v6, _ = f0(s0, s1, s6, _, _, _, _, _)\n" for n in half)
    return {
        "constants": head
        + get
        + "".join(f"    s{4 + n % 60} = {n}.5\n    action = action + s{4 + n % 60}\n" for n in half),
        "chain": f"{head}def StartEpisode():\n    s9 = 0.5\n{get}{sines}    action = action + s4\n",
        "calls": f"{head}{cadfs}{get}    s1 = sum(obs)\n{''.join(calls)}    action = s10 + s11\n",
        "parts": f"{head}{get}{sets}    action = s6 + s5\n    s5 = sum(obs)\n",
        "functions": f"{head}{long_cadf}{get}    s1 = sum(obs)\n{taken}    s5 = sum(v6)\n    action = s5 + s6\n",
    }
