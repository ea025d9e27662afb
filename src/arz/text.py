"""The readable form of a program (`parser.py` reads it back).

    memory(observations=4, actions=1, scalars=4, vectors=2, matrices=0, indices=0, stateful=True)

    def StartEpisode():
        s1 = 0.5

    def GetAction(obs, action):
        s0 = v1[i0]
        action = s0 * s1
        return action

It reads like Python, but nothing in it is ever run as Python: a line is matched against the op table's own
texts, and becomes numbers. In `GetAction`, `obs` is `v1` and `action` is `s3` (or `v4`, if there are several
actions). Registers that `StartEpisode` does not name start at zero. `docs/machine.md` has the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from arz.ops import CALL_ARGUMENTS
from arz.program import NONE, Instruction, Memory, Program

ARGUMENTS = ", ".join(f"{kind}{number}" for kind, number in CALL_ARGUMENTS)
"""Where the arguments of a CADF arrive."""

REGISTER = re.compile(r"([svmi])(0|[1-9]\d{0,4})$", re.ASCII)

KIND_PLURALS = {"s": "scalars", "v": "vectors", "m": "matrices", "i": "indices"}

GET_ACTION_ARGUMENTS = "obs, action"
"""What GetAction calls the registers that the world writes and reads."""


def render(program: Program) -> str:
    """The text of a program. `parse` gives the same program back."""
    memory = program.memory
    settings = ", ".join(f"{field.name}={getattr(memory, field.name)}" for field in fields(memory))
    parts = [f"memory({settings})\n"]
    start = start_lines(program)
    if start:
        parts.append("\n".join(["def StartEpisode():", *start]) + "\n")
    for function in range(1, len(program.functions)):
        body = [line_text(line, None) for line in program.lines(function)]
        s, v, i = program.returns(function)
        parts.append(_block(f"def f{function - 1}({ARGUMENTS}):", [*body, f"return s{s}, v{v}, i{i}"]))
    body = [line_text(line, memory) for line in program.lines()]
    parts.append(_block(f"def GetAction({GET_ACTION_ARGUMENTS}):", [*body, "return action"]))
    return "\n".join(parts)


def line_text(line: Instruction, memory: Memory | None) -> str:
    """One instruction as text; with a memory, as it stands in GetAction (`obs`, `action`)."""
    names = {f"o{n}": register_text(kind, number, memory) for n, (kind, number) in enumerate(line.outputs)}
    for n, (kind, value) in enumerate(zip(line.op.inputs, line.inputs, strict=True)):
        if kind in "svmif":
            names[str(n)] = register_text(kind, int(value), memory)
        else:
            names[str(n)] = repr(float(value)) if kind == "k" else str(value)
    return re.sub(r"\{(\w+)\}", lambda match: names[match[1]], line.op.statement)


def register_text(kind: str, number: int, memory: Memory | None) -> str:
    """The name of a register."""
    if number == NONE:
        return "_"
    if memory is not None and (kind, number) == ("v", 1):
        return "obs"
    if memory is not None and (kind, number) == memory.action:
        return "action"
    return f"{kind}{number}"


def register_number(name: str, memory: Memory | None) -> tuple[str, int] | None:
    """Kind and number of a register's name; with a memory, `obs` and `action` count as names too."""
    if memory is not None and name == "obs":
        return "v", 1
    if memory is not None and name == "action":
        return memory.action
    match = REGISTER.match(name)
    return (match[1], int(match[2])) if match else None


def _block(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"


def start_lines(program: Program) -> list[str]:
    """The lines of StartEpisode: registers that do not start at zero."""
    return "".join(_start_texts(program)).splitlines()


def _start_texts(program: Program) -> Iterable[str]:
    for kind in "svm":
        for number in range(program.memory.count(kind)):
            value = program.start(kind, number)
            if value.tobytes().strip(b"\0"):
                name = register_text(kind, number, program.memory)
                yield f"    {name} = {_number_text(value)}\n"


def _number_text(value: NDArray[np.float64]) -> str:
    if value.ndim == 0:
        return repr(float(value))
    separator = ",\n          " if value.ndim == 2 else ", "
    return "[" + separator.join(_number_text(np.asarray(part)) for part in value) + "]"
