"""What both exporters need: the program in its readable form, the registers that it uses, and test vectors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz.complexity import Complexity, complexity
from arz.interpreter import execute
from arz.ops import CALL_ARGUMENTS, ELEMENTARY
from arz.program import NONE, Instruction, Program, last_written
from arz.simplify import readable
from arz.streams import Stream
from arz.text import line_text

TEST_NUMBERS = 1500
"""Test vectors have about so many numbers, over at least LEAST_STEPS and at most MOST_STEPS steps."""
LEAST_STEPS, MOST_STEPS = 8, 64
MOST_WORK = 2_000_000_000
"""Operations that computing them may take; then there are fewer."""
TEST_KEY = 12345
"""What names the random numbers of the test vectors' episode."""
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}", re.ASCII)


@dataclass(frozen=True)
class Taken:
    """What the world does with an action: numbers only, so that no text of a stranger gets into an export."""

    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    """Numbers beyond these are clipped; one for all entries, or one for each. None: they are not."""
    first_choice: int | None = None
    """If the numbers are what each of several actions is worth, and the largest is done: the number of the first."""

    def __str__(self) -> str:
        if self.first_choice is not None:
            return f"Of its numbers the largest counts: its place, from {self.first_choice:d} on, is the action to do."
        bounds = [f"{float(a):g} ... {float(b):g}" for a, b in zip(self.low, self.high, strict=True)]
        return f"Where it was made for, actions are clipped to {', '.join(bounds)}." if bounds else ""


TAKEN_AS_IT_IS = Taken()


@dataclass(frozen=True)
class Exported:
    """What an exporter writes down.

    Raises:
        ValueError: the name is not one that C and Python take, or the observations do not fit.
    """

    given: Program
    name: str
    observations: NDArray[np.float64]
    """Of the test vectors: [step, entry]."""
    taken: Taken

    def __post_init__(self) -> None:
        if not IDENTIFIER.fullmatch(self.name):  # it stands in comments, strings and names of the code
            raise ValueError(
                f"the name of an export is letters, digits and _, beginning with a letter, not {self.name!r}"
            )

    @classmethod
    def of(cls, program: Program, name: str, observations: ArrayLike | None, taken: Taken = TAKEN_AS_IT_IS) -> Exported:
        """With observations for test vectors; random ones by default."""
        entries = program.memory.observations
        steps = int(np.clip(TEST_NUMBERS // (entries + program.memory.actions), LEAST_STEPS, MOST_STEPS))
        steps = max(1, min(steps, MOST_WORK // max(1, complexity(program).flops)))
        if observations is None:
            draws = Stream(TEST_KEY)
            seen = np.array([[draws.normal() for _ in range(entries)] for _ in range(steps)])
        else:
            seen = np.array(observations, np.float64)[:steps]
            if (
                seen.ndim == 2 and seen.shape[1] == entries and 0 < len(seen) < LEAST_STEPS
            ):  # a short episode shows little
                return cls.of(program, name, None, taken)
        if seen.ndim != 2 or seen.shape[1] != entries or not len(seen):
            raise ValueError(f"expected observations [step, {entries}], got an array of shape {seen.shape}")
        return cls(program, name, seen, taken)

    @cached_property
    def program(self) -> Program:
        """The readable form."""
        return readable(self.given).program

    @cached_property
    def cost(self) -> Complexity:
        """Of the readable form."""
        return complexity(self.program)

    @cached_property
    def code(self) -> list[list[Instruction]]:
        """The lines of GetAction and of each CADF that do something."""
        functions = range(len(self.program.functions))
        return [[line for line in self.program.lines(k) if line.op.is_call or line.outputs] for k in functions]

    @cached_property
    def actions(self) -> NDArray[np.float64]:
        """Of the test vectors: [step, entry]."""
        return execute(self.program, self.observations[:, None, :], keys=[TEST_KEY])[:, 0]

    @property
    def draws(self) -> bool:
        """Whether it uses random numbers."""
        return any(line.op.draws for lines in self.code for line in lines)

    def registers(self, function: int) -> list[tuple[str, int]]:
        """Those that a function uses, or that the world or a caller uses for it."""
        memory, used = self.program.memory, set()
        if function == 0:
            used = {("v", 1), memory.action}
        for line in self.code[function]:
            used |= {(k, n) for k, n in zip(line.op.slots, line.args, strict=True) if k in "svmi" and n != NONE}
        for call in self.calls(function):
            used |= {place for place, n in zip(CALL_ARGUMENTS, call.inputs[1:], strict=True) if n != NONE}
            used |= {(k, n) for k, n in self.returned(call).values()}
        return sorted(used, key=lambda register: ("svmi".index(register[0]), register[1]))

    @cached_property
    def _returns(self) -> list[tuple[int, int, int]]:
        return [last_written(lines) for lines in self.code]

    def calls(self, function: int) -> list[Instruction]:
        """The calls of a CADF."""
        return [line for line in self.code[0] if line.op.is_call and int(line.inputs[0]) + 1 == function]

    def returned(self, call: Instruction) -> dict[tuple[str, int], tuple[str, int]]:
        """Which register of the CADF each result of a call comes from, by where it goes."""
        places = self._returns[int(call.inputs[0]) + 1]
        found = zip(call.outputs, zip("svi", places, strict=True), strict=True)
        return {target: source for target, source in found if target[1] != NONE}

    @cached_property
    def elementary(self) -> set[str]:
        """The elementary functions that it uses."""
        formulas = {line.op.element for lines in self.code for line in lines}
        return {name for name in ELEMENTARY for formula in formulas if re.search(rf"\b{name}\(", formula)}

    def starts(self) -> list[tuple[tuple[str, int], NDArray[np.float64]]]:
        """The registers of GetAction that do not start an episode at zero."""
        found = [(r, self.program.start(*r)) for r in self.registers(0) if r[0] != "i"]
        return [(register, value) for register, value in found if value.tobytes().strip(b"\0")]

    def text(self, line: Instruction, function: int) -> str:
        """A line as a program's text has it."""
        return line_text(line, self.program.memory if function == 0 else None)

    def about(self) -> list[str]:
        """What stands at the top of an export."""
        memory, cost = self.program.memory, self.cost
        cadfs = f", {self.program.cadfs} function(s) that are called on a condition" if self.program.cadfs else ""
        return [
            "A control policy, exported by arz.",
            "",
            f"It sees {memory.observations} numbers, its action has {memory.actions}. {self.taken}".rstrip(),
            f"{cost.lines} line(s){cadfs};",
            f"at most {cost.flops} floating-point operations per step, where sin and its like count as one (each is at",
            "most two hundred); no loop without a fixed bound.",
            "Its actions equal those of arz bit for bit where arithmetic is IEEE 754 double, rounding to nearest.",
        ]
