"""Where the numbers of a program come from: which lines use what the others wrote, in this step or in the last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from arz.ops import CALL_ARGUMENTS
from arz.program import NONE, Instruction, Program
from arz.text import ARGUMENTS, GET_ACTION_ARGUMENTS, line_text, register_text, start_lines

Register = tuple[str, int]
Place = tuple[int, int]
"""The number of a function, and of a line in it."""
WIDEST = 110
"""Longer rows of start values are cut."""
MOST_NAMES = 6
"""More registers than this are not named in a remark."""
OBSERVATION, LAST_ACTION, RANDOM = "observation", "last action", "random numbers"


@dataclass(frozen=True)
class Line:
    """A line of a program, and where what it reads comes from."""

    function: int
    number: int
    text: str
    uses: frozenset[tuple[int, int]]
    """Lines (function, number) of the same step whose results it reads."""
    carries: frozenset[tuple[int, int]]
    """Lines whose results it may read in the next step."""
    sources: frozenset[str]
    """What it reads that no line of this step wrote: `OBSERVATION`, `LAST_ACTION`, `RANDOM`, or `memory of NAME`."""
    conditions: frozenset[tuple[int, int]]
    """Calls that decide whether it is done."""


@dataclass(frozen=True)
class Flow:
    """All lines of a program, GetAction's first."""

    program: Program
    lines: tuple[Line, ...]

    @cached_property
    def by_place(self) -> dict[tuple[int, int], Line]:
        """Lines by function and number."""
        return {(line.function, line.number): line for line in self.lines}

    @cached_property
    def within(self) -> dict[tuple[int, int], frozenset[str]]:
        """For each line, all that it depends on within a step, directly or by way of other lines and conditions."""
        found = {place: line.sources for place, line in self.by_place.items()}
        return self._closure(found, {place: line.uses | line.conditions for place, line in self.by_place.items()})

    @cached_property
    def over_time(self) -> dict[tuple[int, int], frozenset[str]]:
        """The same, also by way of what is remembered from step to step."""
        found = {place: line.sources for place, line in self.by_place.items()}
        before = {place: line.uses | line.conditions | line.carries for place, line in self.by_place.items()}
        return self._closure(found, before)

    @staticmethod
    def _closure(
        found: dict[Place, frozenset[str]], before: dict[Place, frozenset[Place]]
    ) -> dict[Place, frozenset[str]]:
        """All that can be reached backwards."""
        while True:
            after = {place: own.union(*(found[used] for used in before[place])) for place, own in found.items()}
            if after == found:
                return found
            found = after

    @cached_property
    def remembered(self) -> tuple[str, ...]:
        """The registers that carry numbers from step to step."""
        names = {
            source.removeprefix("memory of ") for line in self.lines for source in line.sources if "memory of" in source
        }
        return tuple(sorted(names, key=_order))

    @property
    def acting(self) -> list[Line]:
        """The lines that write the action."""
        lines = self.program.lines()
        return [
            line
            for line in self.lines
            if line.function == 0 and self.program.memory.action in lines[line.number].outputs
        ]

    @property
    def may_repeat(self) -> bool:
        """Whether the action, or a part of it, may stay as it was in the last step."""
        lines = [line for line in self.program.lines() if self.program.memory.action in line.outputs]
        return self.program.memory.stateful and all(_keeps(line) for line in lines)

    def depends(self, source: str, over_time: bool = True) -> bool:
        """Whether an action depends on a source."""
        if source == LAST_ACTION and self.may_repeat:
            return True
        found = self.over_time if over_time else self.within
        return any(source in found[line.function, line.number] for line in self.acting)

    @property
    def calls(self) -> list[Line]:
        """The calls of CADFs, in the order of the program."""
        code = self.program.lines()
        return [line for line in self.lines if line.function == 0 and code[line.number].op.is_call]

    def condition_sources(self, call: Line) -> frozenset[str]:
        """What lines of the same step brought into the two numbers that a call compares."""
        code = self.program.lines()
        first, second = (("s", int(value)) for value in code[call.number].inputs[1:3])
        found: frozenset[str] = frozenset()
        for register in {first, second} if first != second else ():  # a number is never less than itself
            for n in reversed(range(call.number)):
                if register in code[n].outputs:
                    found |= self.within[0, n]
                    if not _keeps(code[n]):
                        break
        return found

    def listing(self) -> str:
        """The program with a remark behind each line: what it depends on within a step."""
        whole = start_lines(self.program)
        start = [line for line in whole if not line.startswith(" " * 8)]
        start = [line if len(line) <= WIDEST else f"{line[: WIDEST - 4]} ..." for line in start]
        note = (
            []
            if start == whole
            else ["    # ... long rows and further rows of matrices are left out: arz show has all."]
        )
        blocks = ["\n".join(["def StartEpisode():", *start, *note])] if start else []
        for function in (*range(1, len(self.program.functions)), 0):
            head = f"def f{function - 1}({ARGUMENTS}):" if function else f"def GetAction({GET_ACTION_ARGUMENTS}):"
            own = [line for line in self.lines if line.function == function]
            width = max((len(line.text) for line in own), default=0)
            body = [f"    {line.text:<{width}}  # {self.remark(line)}" for line in own]
            blocks.append("\n".join([head, *body, f"    return {self._returned(function)}"]))
        return "\n\n".join(blocks) + "\n"

    def _returned(self, function: int) -> str:
        if not function:
            return "action"
        return ", ".join(f"{kind}{n}" for kind, n in zip("svi", self.program.returns(function), strict=True))

    def remark(self, line: Line) -> str:
        """What a line depends on, in a few words."""
        found = self.within[line.function, line.number]
        memory = sorted((s.removeprefix("memory of ") for s in found if s.startswith("memory of")), key=_order)
        parts = [source for source in (OBSERVATION, LAST_ACTION, RANDOM) if source in found]
        if memory:
            parts.append(f"memory ({', '.join(memory) if len(memory) <= MOST_NAMES else f'{len(memory)} registers'})")
        return " + ".join(parts) if parts else "constant"


def flow(program: Program) -> Flow:
    """Follows the numbers of a program, as it stands."""
    bodies = [_Body(program, function) for function in range(len(program.functions))]
    return Flow(program, tuple(line for body in bodies for line in body.lines()))


def _order(name: str) -> tuple[str, str, int, str]:
    """For sorting names such as s10, f0.v2 and action."""
    function, _, register = name.rpartition(".")
    digits = "".join(filter(str.isdigit, register))
    return function, register[:1], int(digits or 0), register


class _Body:
    """One function, and who wrote what when a line reads it."""

    def __init__(self, program: Program, function: int) -> None:
        self.program, self.function = program, function
        self.code = program.lines(function)
        memory = program.memory
        self.world: dict[Register, str] = {}
        self.callers = [
            (number, line)
            for number, line in enumerate(program.lines())
            if function and line.op.is_call and int(line.inputs[0]) == function - 1
        ]
        if function == 0:
            self.world = {("v", 1): OBSERVATION}
        self.action = memory.action if function == 0 else None
        self.at_end = self._writers_at_end()

    def _writers_at_end(self) -> dict[Register, frozenset[int]]:
        """Which lines may have written what a register holds when the function ends."""
        found: dict[Register, frozenset[int]] = {}
        for number, line in enumerate(self.code):
            for register in _written(line):
                found[register] = frozenset({number}) | (
                    found.get(register, frozenset()) if _keeps(line) else frozenset()
                )
        return found

    def lines(self) -> Iterable[Line]:
        """What each line reads, and from whom."""
        present: dict[Register, tuple[frozenset[int], bool]] = {}
        """Who may have written a register in this run of the function, and whether it may still hold what was there."""
        for number, line in enumerate(self.code):
            uses: set[tuple[int, int]] = set()
            carries: set[tuple[int, int]] = set()
            sources: set[str] = {RANDOM} if line.op.draws else set()
            for register in _reads(line):
                writers, is_old = present.get(register, (frozenset(), True))
                uses |= {(self.function, writer) for writer in writers}
                if is_old:
                    self._old(register, uses, carries, sources)
            if line.op.is_call:
                self._results(line, uses, carries, sources)
            yield Line(
                self.function,
                number,
                line_text(line, self.program.memory if self.function == 0 else None),
                frozenset(uses),
                frozenset(carries),
                frozenset(sources),
                frozenset((0, call) for call, _ in self.callers),
            )
            for register in _written(line):
                writers, is_old = present.get(register, (frozenset(), True))
                present[register] = (writers | {number}, is_old) if _keeps(line) else (frozenset({number}), False)

    def _old(
        self, register: Register, uses: set[tuple[int, int]], carries: set[tuple[int, int]], sources: set[str]
    ) -> None:
        """What a register holds before this run of the function writes it."""
        if register in self.world:
            sources.add(self.world[register])
            return
        left = {(self.function, writer) for writer in self.at_end.get(register, frozenset())}
        if self.function and register in CALL_ARGUMENTS:
            place = 1 + CALL_ARGUMENTS.index(register)
            passing = {(0, number) for number, call in self.callers if int(call.inputs[place]) != NONE}
            uses |= passing  # the call hands it over
            if len(passing) == len(self.callers):
                return
            left |= passing
        if len(self.callers) > 1:
            uses |= left  # an earlier call of the same step
        if not self.program.memory.stateful or (not left and register != self.action):
            return  # a constant
        sources.add(LAST_ACTION if register == self.action else f"memory of {self._name(register)}")
        carries |= left

    def _name(self, register: Register) -> str:
        prefix = f"f{self.function - 1}." if self.function else ""
        return prefix + register_text(*register, self.program.memory if not self.function else None)

    def _results(
        self, line: Instruction, uses: set[tuple[int, int]], carries: set[tuple[int, int]], sources: set[str]
    ) -> None:
        """The lines of a CADF whose results a call takes, and what it returns without having written it."""
        body = _Body(self.program, int(line.inputs[0]) + 1)
        taken = zip("svi", self.program.returns(body.function), strict=True)
        for (_, target), register in zip(line.outputs, taken, strict=True):
            if target == NONE:
                continue
            writers = [n for n, inner in enumerate(body.code) if register in inner.outputs]
            uses |= {(body.function, n) for n in writers}
            if all(_keeps(body.code[n]) for n in writers):
                body._old(register, uses, carries, sources)


def _reads(line: Instruction) -> list[Register]:
    """The registers that a line reads; one that it changes in part is not among them."""
    pairs = zip(line.op.inputs, line.inputs, line.op.uses, strict=True)
    return [(kind, int(value)) for kind, value, is_used in pairs if kind in "svmi" and is_used and value != NONE]


def _written(line: Instruction) -> list[Register]:
    return [(kind, number) for kind, number in line.outputs if number != NONE]


def _keeps(line: Instruction) -> bool:
    """Whether what it writes may keep something of what was there."""
    return line.op.is_call or line.op.writes_part
