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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from arz.machine import Registers, Value, apply
from arz.native import core
from arz.ops import CALL_ARGUMENTS, OP
from arz.program import NONE, Batch, Instruction, Memory, Program


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
    before = effective(program).program
    folded = 0
    while True:
        after, count = _fold(before)
        folded += count
        after = effective(after).program
        if after == before:
            break
        before = after
    lines = sum(len(code) for code in program.functions) - sum(len(code) for code in after.functions)
    return Simplified(_rename(after), Guarantee.EXACT, removed=lines, folded=folded)


def with_own_names(program: Program) -> Program:
    """The readable form; the program itself, with the names that it has, where no line goes or changes."""
    simple = readable(program)
    return simple.program if simple.removed or simple.folded else program


# ---- constant folding ----


def _fold(program: Program) -> tuple[Program, int]:
    """One round of folding: the new program, and how many lines changed."""
    functions = [program.lines(function) for function in range(len(program.functions))]
    image = np.array(program.image)
    live_at_start = _entry(program)
    folded = 0
    for function, lines in enumerate(functions):
        constants = _constants(program, function, lines)
        kept: list[Instruction] = []
        for line in lines:
            value = _constant_value(line, constants, program.memory)
            if value is None:
                changed = _with_constant_inside(line, constants)
                folded += changed != line
                kept.append(changed)
                continue
            register = line.outputs[0]
            if function == 0 and _is_settled(register, lines, live_at_start) and register[0] != "i":
                # Written only here and never read before: it may as well start with this value.
                image[program.memory.image_slice(*register)] = np.ravel(value)
            elif register[0] == "s" and set(line.op.inputs) & set("svmi"):
                kept.append(Instruction(OP["scalar_set"], (register[1],), (float(value),)))
            else:
                kept.append(line)
                continue
            folded += 1
        functions[function] = kept
    return Program.build(program.memory, functions[0], functions[1:], image), folded


def _entry(program: Program) -> set[tuple[str, int]]:
    """The registers whose values matter when GetAction starts."""
    masks = core.entry_registers(program.packed, 0)
    kinds = zip("svmi", masks, strict=True)
    return {(kind, n) for kind, mask in kinds for n in range(program.memory.count(kind)) if mask >> n & 1}


def _constants(program: Program, function: int, lines: Iterable[Instruction]) -> dict[tuple[str, int], Value]:
    """The registers of a function that never change, with their values."""
    memory = program.memory
    written = {register for line in lines for register in line.outputs}
    if function == 0:
        written |= {("v", 1), memory.action}
    else:
        written |= set(CALL_ARGUMENTS)
    registers = Registers(memory)
    every = {(kind, n) for kind in "svmi" for n in range(memory.count(kind))}
    fixed = {register: registers[register] for register in every - written}
    if function == 0:
        fixed |= {(kind, n): program.start(kind, n) for kind, n in fixed if kind != "i"}
    return fixed


def _constant_value(line: Instruction, constants: dict[tuple[str, int], Value], memory: Memory) -> Value | None:
    """What a line computes, if all its inputs are constant and so is its result; else None."""
    if line.op.is_call or not line.outputs or line.op.writes_part or line.op.draws:
        return None
    registers = Registers(memory)
    for kind, value in zip(line.op.inputs, line.inputs, strict=True):
        if kind in "svmi":
            if (kind, int(value)) not in constants:
                return None
            registers[kind, int(value)] = constants[kind, int(value)]
    result = apply(line, registers, memory, lambda stream: 0.0)
    return result if np.all(np.isfinite(result)) else None


def _is_settled(register: tuple[str, int], lines: Sequence[Instruction], live_at_start: set[tuple[str, int]]) -> bool:
    """Whether a register is written by one line only and never read before it, nor written by the world."""
    writers = sum(register in line.outputs for line in lines)
    return writers == 1 and register not in live_at_start and register != ("v", 1)


def _with_constant_inside(line: Instruction, constants: dict[tuple[str, int], Value]) -> Instruction:
    """`s1 = s2 * s3` with s3 constant as `s1 = s2 * 0.5`; any other line as it is."""
    if line.op.name != "scalar_multiply":
        return line
    out, a, b = line.args
    for variable, constant in ((a, b), (b, a)):
        if ("s", constant) in constants:
            return Instruction(OP["scalar_scale"], (out, variable), (float(constants["s", constant]),))
    return line


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


def _new_names(program: Program, function: int, lines: Iterable[Instruction]) -> dict[tuple[str, int], int]:
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


def _registers(line: Instruction) -> list[tuple[str, int]]:
    """The registers of a line, inputs first, in the order of the text."""
    inputs = [(kind, int(value)) for kind, value in zip(line.op.inputs, line.inputs, strict=True) if kind in "svmi"]
    return [(kind, number) for kind, number in (*inputs, *line.outputs) if number != NONE]


def _renamed(line: Instruction, names: dict[tuple[str, int], int]) -> Instruction:
    return replace(line, args=tuple(names.get((kind, n), n) for kind, n in zip(line.op.slots, line.args, strict=True)))
