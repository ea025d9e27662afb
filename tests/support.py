"""What many tests need: random programs, hostile numbers, equality of bits."""

from __future__ import annotations

import inspect
import math
import os
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz import Batch, Memory, Program, Variation, machine, random_programs
from arz.interpreter import trace
from arz.ops import NUMBER
from arz.program import NONE
from arz.streams import keys

SOAK = 50 if os.environ.get("ARZ_SOAK") else 1


SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.2e-308, 2.2250738585072014e-308, 1.7976931348623157e308,
    -1.7976931348623157e308, 710.0, -746.0, 2.0**53, 1e-160, -1e160,
]  # fmt: skip
"""Numbers that break things: zeros and infinities of both signs, no number, the smallest, largest and those in between."""
FINITE = [x for x in SPECIAL if math.isfinite(x)]


class Draw:
    """What an example is made of, by the name of its test and its number: always the same, and hostile numbers first."""

    def __init__(self, name: str, number: int) -> None:
        self._random = random.Random(f"{name} {number}")
        self._decks: dict[int, list[float]] = {}

    def integer(self, least: int, most: int) -> int:
        """A whole number; the least and the most more often than others."""
        return self._random.choice((least, most)) if self._random.random() < 0.1 else self._random.randint(least, most)

    def real(self, least: float, most: float) -> float:
        """A number between others; those that are special more often than others."""
        special = [least, most, *(x for x in FINITE if least <= x <= most)]
        return self._random.choice(special) if self._random.random() < 0.2 else self._random.uniform(least, most)

    def number(self) -> float:
        """Any double."""
        return self._deal(SPECIAL) if self._random.random() < 0.6 else self._any()

    def finite(self) -> float:
        """Any finite double."""
        return self._deal(FINITE) if self._random.random() < 0.6 or not math.isfinite(x := self._any()) else x

    def text(self, most: int) -> str:
        """Letters, signs and what is neither; no halves of pairs."""
        codes = (self._random.choice((0x7F, 0xFF, 0xD7FF, 0x10FFFF)) for _ in range(self._random.randint(0, most)))
        return "".join(chr(self._random.randint(0xE000 if code > 0xFFFF else 0, code)) for code in codes)

    def numbers(self, *shape: int) -> NDArray[np.float64]:
        """An array of doubles: each column has every special number in it, if it is long enough, and others."""
        rows = math.prod(shape[:-1])
        columns = [self._column(rows) for _ in range(shape[-1])]
        return np.array(columns, np.float64).T.reshape(shape)

    def choice(self, options: Sequence[Any]) -> Any:
        """One of them."""
        return options[self.integer(0, len(options) - 1)]

    def some(self, make: Callable[[], Any], least: int, most: int) -> list[Any]:
        """So many of what is made."""
        return [make() for _ in range(self.integer(least, most))]

    def memory(self) -> Memory:
        """A random memory."""
        return Memory(
            observations=self.integer(1, 5),
            actions=self.integer(1, 6),
            scalars=self.integer(4, 7),
            vectors=self.integer(5, 7),
            matrices=self.integer(0, 2),
            indices=self.integer(2, 4),
            stateful=self.choice((False, True)),
        )

    def program(self) -> Program:
        """A random program with CADFs, of a random memory; in some, calls leave out arguments and results."""
        seed = self.integer(0, 2**32)
        program = random_program(self.memory(), seed)
        return with_blanks(program, seed) if self.choice((False, True)) else program

    def observations(self, memory: Memory, steps: int, lanes: int) -> NDArray[np.float64]:
        """Observations of hostile numbers, in which lanes differ."""
        return self.numbers(steps, lanes, memory.observations)

    def _column(self, rows: int) -> list[float]:
        special = self._random.sample(SPECIAL, min(rows, len(SPECIAL)))
        column = [*special, *(self._any() for _ in range(rows - len(special)))]
        self._random.shuffle(column)
        return column

    def _deal(self, cards: list[float]) -> float:
        """Each in turn, in random order."""
        deck = self._decks.get(id(cards)) or self._random.sample(cards, len(cards))
        self._decks[id(cards)] = deck
        return deck.pop()

    def _any(self) -> float:
        """Of any bits, or of moderate size."""
        if self._random.random() < 0.5:
            return self._random.gauss(0, 3)
        (found,) = struct.unpack("<d", self._random.randbytes(8))
        return float(found)


SOAK = 50 if os.environ.get("ARZ_SOAK") else 1

if SOAK == 1:

    def examples(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """A test of so many examples, each of which is made by its argument `draw`: seeded ones here.

        Under `make soak` Hypothesis looks for fifty times as many that fail.
        """

        def decorate(test: Callable[..., None]) -> Callable[..., None]:
            def over_examples(**given: Any) -> None:
                for number in range(count):
                    try:
                        test(draw=Draw(test.__name__, number), **given)
                    except BaseException as error:
                        error.add_note(f"Example {number} of {count}.")
                        raise

            return _without_draw(over_examples, test)

        return decorate

else:
    from hypothesis import given, settings
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp

    class Searched(Draw):
        """What Hypothesis looks for."""

        def __init__(self, data: st.DataObject) -> None:
            self._data = data

        def integer(self, least: int, most: int) -> int:
            return int(self._data.draw(st.integers(least, most)))

        def real(self, least: float, most: float) -> float:
            return float(self._data.draw(st.floats(least, most)))

        def number(self) -> float:
            return float(self._data.draw(_HOSTILE))

        def finite(self) -> float:
            return float(self._data.draw(st.sampled_from(FINITE) | st.floats(allow_nan=False, allow_infinity=False)))

        def text(self, most: int) -> str:
            return str(self._data.draw(st.text(max_size=most)))

        def numbers(self, *shape: int) -> NDArray[np.float64]:
            found = self._data.draw(hnp.arrays(np.float64, shape, elements=_HOSTILE, fill=st.nothing()))
            return np.asarray(found, np.float64)

    _HOSTILE = st.sampled_from(SPECIAL) | st.floats(width=64)

    def examples(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
        def decorate(test: Callable[..., None]) -> Callable[..., None]:
            def search(data: st.DataObject, **rest: Any) -> None:
                test(draw=Searched(data), **rest)

            search.__name__ = search.__qualname__ = test.__name__  # by which Hypothesis remembers what failed
            search.__module__ = test.__module__
            searching = settings(max_examples=count * SOAK, deadline=None, print_blob=True)(
                given(data=st.data())(search)
            )
            return _without_draw(searching, test)

        return decorate


def _without_draw(made: Callable[..., None], test: Callable[..., None]) -> Callable[..., None]:
    """A test that pytest calls with all the arguments of another but the examples."""
    arguments = inspect.signature(test).parameters.values()
    made.__name__, made.__doc__, made.__module__ = test.__name__, test.__doc__, test.__module__
    made.__signature__ = inspect.Signature([each for each in arguments if each.name != "draw"])  # type: ignore[attr-defined]
    return made


CALLING = Variation(length=(0, 25), cadf_length=(0, 8), initial_constants=1.0, op_weights={"call": 25.0})
"""Random programs in which about every fourth line is a call."""


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


def tame_observations(memory: Memory, steps: int, lanes: int, seed: int = 0) -> NDArray[np.float64]:
    """Observations of moderate size with a few hostile numbers in between."""
    choose = np.random.default_rng(seed)
    seen = choose.normal(size=(steps, lanes, memory.observations))
    hostile = choose.random(seen.shape) < 0.02
    seen[hostile] = choose.choice(SPECIAL, size=int(hostile.sum()))
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
