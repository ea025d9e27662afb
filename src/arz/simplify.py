"""Smaller programs with the same actions: what a search runs, and what a person reads.

Two forms, each with a guarantee that it states:

- `effective` removes what cannot influence an action, now or at any later step. Memory persists, so this is a
  fixed point over time; the conditions of calls count as uses. The native core does this to every
  program before it runs it.
- `readable` goes further: it folds what is constant, moves constants into the lines that use them, and gives
  registers the lowest free numbers in the order of their appearance.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arz.machine import Registers, Value, apply
from arz.native import core
from arz.ops import CALL_ARGUMENTS, OP, OPS
from arz.program import NONE, Batch, Instruction, Memory, Program

Register = tuple[str, int]
MOST_DIGITS = 17
"""With so many every number is itself."""
MOST_WORK = 10_000_000
"""So many operations on numbers, at most, go into folding a program: what would take more stays as it is."""


class Guarantee(enum.Enum):
    """How far the equality of a simplified program goes. The value is a sentence."""

    EXACT = (
        "Every action is equal bit for bit, for any observations and random numbers, on any machine; "
        "memory that cannot reach an action may differ."
    )

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Simplified:
    """A smaller program, what was done, and what can be relied on."""

    program: Program
    guarantee: Guarantee
    removed: int
    """How many lines are gone."""
    folded: int
    """How many lines were constant, or took in a constant."""


def effective(program: Program) -> Simplified:
    """The program without anything that cannot influence an action, now or at any later step.

    What is not read of a call becomes `_`; CADFs that are never called go; start values that do not matter become
    zero. Registers keep their names.
    """
    removed = 0
    before = program
    while True:
        # A call that has gone may have been all that kept another alive: repeat until nothing changes.
        batch, live = core.effective(before.packed)
        after = Batch(program.memory, batch).unpack()[0]
        removed += int(np.sum(live == 0))
        if after == before:
            return Simplified(after, Guarantee.EXACT, removed=removed, folded=0)
        before = after


def live_lines(program: Program) -> list[list[bool]]:
    """For each function, which of its lines can influence an action, by one pass of the analysis.

    `effective` repeats the pass, and so may find still more.
    """
    flags = iter(core.effective(program.packed)[1].tolist())
    return [[bool(next(flags)) for _ in code] for code in program.functions]


def readable(program: Program) -> Simplified:
    """The form for reading: effective, constants folded, registers renamed in the order of their appearance."""
    present = effective(program).program
    calculator = _Calculator(program.memory)
    folded = 0
    while True:
        # A line that was folded may have been all that another was there for, so there may be more now. A round that
        # folds something leaves fewer lines, or fewer that read a register.
        after, count = _fold(present, calculator)
        if not count:
            break
        folded += count
        present = effective(after).program
    lines = sum(len(code) for code in program.functions) - sum(len(code) for code in present.functions)
    return Simplified(_rename(present), Guarantee.EXACT, removed=lines, folded=folded)


def with_own_names(program: Program) -> Program:
    """The readable form; the program itself, with the names that it has, where no line goes or changes."""
    simple = readable(program)
    return simple.program if simple.removed or simple.folded else program


def rounded(program: Program, digits: int) -> Program:
    """The program with its constants and start values rounded to so many significant digits: its actions differ.

    Raises:
        ValueError: there are fewer than 1 or more than 17.
    """
    if not 1 <= digits <= MOST_DIGITS:
        raise ValueError(f"a number is rounded to 1 to {MOST_DIGITS} digits, not {digits}")
    functions = [code.copy() for code in program.functions]
    for code in functions:
        code["constants"] = _rounded(code["constants"], digits)
    return Program(program.memory, tuple(functions), _rounded(program.image, digits))


def _rounded(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Each as its text with so many digits; the largest numbers, which would become infinite, stay."""
    found = np.array([float(f"{value:.{digits - 1}e}") for value in values.ravel().tolist()]).reshape(values.shape)
    return np.where(np.isfinite(found), found, values)


# ---- constant folding ----


class _Calculator:
    """Computes what lines give whose inputs are known, as long as that is not too much work."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.registers = Registers(memory)
        self.left = MOST_WORK
        self.costs = {op.name: op.flops(memory.dim) for op in OPS}

    def value(self, line: Instruction, known: Mapping[Register, Value]) -> Value | None:
        """What a line writes, if that follows from what is known and is finite; else None."""
        if line.op.is_call or not line.outputs or line.op.draws:
            return None
        needed = _needed(line)
        if not all(register in known for register in needed):
            return None
        cost = self.costs[line.op.name]
        if cost > self.left:
            return None
        self.left -= cost
        for register in needed:
            self.registers[register] = known[register]
        result = apply(line, self.registers, self.memory, lambda stream: 0.0)
        kind, _ = line.outputs[0]
        if not np.all(np.isfinite(result)):
            return None
        return float(result) if kind == "s" else int(result) if kind == "i" else np.asarray(result, np.float64)


def _fold(program: Program, calculator: _Calculator) -> tuple[Program, int]:
    """One round of folding: the new program, and how many lines went or changed."""
    functions = [program.lines(function) for function in range(len(program.functions))]
    calls = [line for line in functions[0] if line.op.is_call]
    image = np.array(program.image)
    folded = 0
    for function, lines in enumerate(functions):
        known = _known_at_start(program, function, lines, calls, calculator)
        settled = _settled(program, lines) if function == 0 else set()
        returning = _returning(lines, [call for call in calls if int(call.inputs[0]) + 1 == function])
        kept: list[Instruction] = []
        for number, line in enumerate(lines):
            if line.op.is_call:
                if _never_runs(line, known):
                    folded += 1
                    continue
                for register in line.outputs:
                    known.pop(register, None)
                kept.append(line)
                continue
            register = line.outputs[0]
            value, held = calculator.value(line, known), known.get(register)
            if value is None:
                new = _with_constant_inside(line, known)
                known.pop(register, None)
            else:
                known[register] = value
                if held is not None and _is_same(held, value) and number not in returning:
                    folded += 1  # it holds that already
                    continue
                if register in settled:
                    image[program.memory.image_slice(*register)] = np.ravel(value)  # it may as well start with it
                    folded += 1
                    continue
                new = _constant_line(line, value)
            folded += new != line
            kept.append(new)
        functions[function] = kept
    return Program.build(program.memory, functions[0], functions[1:], image), folded


def _known_at_start(
    program: Program,
    function: int,
    lines: Sequence[Instruction],
    calls: Sequence[Instruction],
    calculator: _Calculator,
) -> dict[Register, Value]:
    """The registers that hold the same whenever a function starts, with their values."""
    memory, starts = program.memory, Registers(program.memory)
    every = [(kind, number) for kind in "svmi" for number in range(memory.count(kind))]
    if function == 0:
        others = {("v", 1)}  # the world writes it
        for register in every:
            if register[0] != "i":
                starts[register] = program.start(*register)
    else:
        passing = [call for call in calls if int(call.inputs[0]) + 1 == function]
        others = {
            register
            for place, register in enumerate(CALL_ARGUMENTS, 1)
            if any(int(call.inputs[place]) != NONE for call in passing)
        }
    known = {register: starts[register] for register in every if register not in others}
    return _steady(known, lines, calculator) if function or memory.stateful else known


def _steady(
    start: dict[Register, Value], lines: Sequence[Instruction], calculator: _Calculator
) -> dict[Register, Value]:
    """The registers that keep what they start with, since no line writes anything else.

    It begins with all, and takes away what a line changes if those are what they were, then what depends on these.
    """
    found = dict(start)
    dependents: dict[Register, list[Instruction]] = {}
    changed: list[Register] = []

    def change(line: Instruction) -> None:
        for register in line.outputs:
            if found.pop(register, None) is not None:
                changed.append(register)

    for line in lines:
        for register in _needed(line):
            dependents.setdefault(register, []).append(line)
        if line.op.is_call:
            is_kept = _never_runs(line, found)
        else:
            register = line.outputs[0]
            value = calculator.value(line, found) if register in found else None
            is_kept = value is not None and _is_same(value, found[register])
        if not is_kept:
            change(line)
    while changed:
        for line in dependents.get(changed.pop(), ()):
            change(line)
    return found


def _needed(line: Instruction) -> list[Register]:
    """The registers whose values decide what a line writes; of a call, whether it runs."""
    pairs = zip(line.op.inputs, line.inputs, line.op.uses, strict=True)
    if line.op.is_call:
        return [("s", int(value)) for value in line.inputs[1:3]]
    found = [(kind, int(value)) for kind, value, is_used in pairs if kind in "svmi" and is_used]
    return [*found, *line.outputs] if line.op.writes_part else found


def _never_runs(call: Instruction, known: Mapping[Register, Value]) -> bool:
    """Whether the condition of a call is known to fail."""
    first, second = (known.get(register) for register in _needed(call))
    return first is not None and second is not None and not first < second


def _settled(program: Program, lines: Sequence[Instruction]) -> set[Register]:
    """The registers of GetAction that one line only writes, that nothing reads before it, nor the world writes."""
    writers = Counter(register for line in lines for register in line.outputs)
    read_first = {("v", 1), *_entry(program)}
    return {register for register, count in writers.items() if count == 1 and register not in read_first} - {
        register
        for register in writers
        if register[0] == "i"  # which always starts at zero
    }


def _entry(program: Program) -> set[Register]:
    """The registers whose values matter when GetAction starts."""
    masks = core.entry_registers(program.packed, 0)
    kinds = zip("svmi", masks, strict=True)
    return {(kind, n) for kind, mask in kinds for n in range(program.memory.count(kind)) if mask >> n & 1}


def _returning(lines: Sequence[Instruction], calls: Sequence[Instruction]) -> set[int]:
    """The lines of a CADF that decide which registers it returns, as far as calls take what it returns."""
    taken = {kind for call in calls for kind, number in call.outputs if number != NONE}
    last = {line.outputs[0][0]: number for number, line in enumerate(lines) if line.outputs}
    return {number for kind, number in last.items() if kind in taken}


def _constant_line(line: Instruction, value: Value) -> Instruction:
    """A line that writes what is known, without reading anything where there is such a line."""
    (kind, number), is_zero = line.outputs[0], not np.any(value) and not np.any(np.signbit(value))
    if not set(line.op.inputs) & set("svmi"):
        return line
    if kind == "s":
        return Instruction(OP["scalar_set"], (number,), (value,))
    if kind in "vi" and is_zero:
        return Instruction(OP["vector_zero" if kind == "v" else "index_zero"], (number,))
    return line


def _with_constant_inside(line: Instruction, known: Mapping[Register, Value]) -> Instruction:
    """`s1 = s2 * s3` with s3 constant as `s1 = s2 * 0.5`; any other line as it is."""
    if line.op.name != "scalar_multiply":
        return line
    out, a, b = line.args
    for variable, constant in ((a, b), (b, a)):
        if ("s", constant) in known:
            return Instruction(OP["scalar_scale"], (out, variable), (known["s", constant],))
    return line


def _is_same(a: Value, b: Value) -> bool:
    """Whether two values are the same bits, or the same whole number."""
    return bool(np.array_equal(a, b) and np.array_equal(np.signbit(a), np.signbit(b)))


# ---- renaming ----


def _rename(program: Program) -> Program:
    """Registers in the order of their appearance, except those whose numbers have a meaning."""
    memory = program.memory
    image = np.zeros(memory.image_size)
    bodies: list[list[Instruction]] = []
    for function in range(len(program.functions)):
        lines = program.lines(function)
        names = _new_names(program, function, lines)
        bodies.append([_renamed(line, names) for line in lines])
        if function == 0:
            for (kind, old), new in names.items():
                if kind != "i":
                    image[memory.image_slice(kind, new)] = np.ravel(program.start(kind, old))
    return Program.build(memory, bodies[0], bodies[1:], image)


def _new_names(program: Program, function: int, lines: Iterable[Instruction]) -> dict[Register, int]:
    memory = program.memory
    # In a CADF, the registers of the arguments; register 0, returned where none is written, is among them.
    fixed = (("v", 1), memory.action) if function == 0 else CALL_ARGUMENTS
    names = {register: register[1] for register in fixed}
    for line in lines:
        for register in _registers(line):
            if register not in names:
                taken = {new for (kind, _), new in names.items() if kind == register[0]}
                names[register] = next(n for n in range(memory.count(register[0])) if n not in taken)
    return names


def _registers(line: Instruction) -> list[Register]:
    """The registers of a line, inputs first, in the order of the text."""
    inputs = [(kind, int(value)) for kind, value in zip(line.op.inputs, line.inputs, strict=True) if kind in "svmi"]
    return [(kind, number) for kind, number in (*inputs, *line.outputs) if number != NONE]


def _renamed(line: Instruction, names: dict[Register, int]) -> Instruction:
    return replace(line, args=tuple(names.get((kind, n), n) for kind, n in zip(line.op.slots, line.args, strict=True)))
