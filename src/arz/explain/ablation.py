"""What each part of a program is worth: its score without that part, over test episodes.

A line is left out; a register is held at its start value, which means that no line writes it; a CADF is never called.
`smallest` leaves out one line after the other, always the one that matters least, as long as the score stays near the
whole program's. It chooses with other episodes than those that scores are told for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arz.evaluate import TEST_SEED, evaluate, fresh_episodes
from arz.explain.flow import LAST_ACTION, flow
from arz.ops import OP
from arz.program import NONE, Batch, Instruction, Program, last_written
from arz.simplify import readable
from arz.tasks.status import Status
from arz.tasks.task import Task
from arz.text import line_text, register_number

CHOOSING_SEED = TEST_SEED + 1
"""The episodes with which `smallest` chooses."""


@dataclass(frozen=True)
class Part:
    """A part of a program, and the score without it."""

    kind: str
    """`line`, `register` or `function`."""
    name: str
    function: int
    """Of a line: 0 is GetAction."""
    score: float
    completed: float
    """The share of episodes that lasted to their end."""


@dataclass(frozen=True)
class Ablation:
    """A program, in its readable form, and what its parts are worth."""

    program: Program
    score: float
    completed: float
    episodes: int
    parts: tuple[Part, ...]

    def worth(self, part: Part) -> float:
        """What the score loses without it."""
        return self.score - part.score


def ablate(program: Program, task: Task, *, episodes: int = 100, threads: int | None = None) -> Ablation:
    """Scores the program without each of its lines, remembering registers and CADFs."""
    whole = readable(program).program
    parts = [("line", _text(whole, k, n), k, _without(whole, k, n)) for k, n in _places(whole)]
    found_flow = flow(whole)
    parts += [("register", name, 0, _frozen(whole, name)) for name in found_flow.remembered]
    if found_flow.depends(LAST_ACTION) and (made := _forgetting_action(whole)) is not None:
        parts.append(("register", LAST_ACTION, 0, made))
    parts += [("function", f"f{k}", k + 1, _uncalled(whole, k)) for k in range(whole.cadfs)]
    batch = Batch.pack([whole, *(made for *_, made in parts)])
    found = evaluate(batch, task, fresh_episodes(episodes), threads=threads)
    completed = found.share(Status.COMPLETED)
    scored = [
        Part(kind, name, function, float(found.mean[k]), float(completed[k]))
        for k, (kind, name, function, _) in enumerate(parts, 1)
    ]
    return Ablation(whole, float(found.mean[0]), float(completed[0]), episodes, tuple(scored))


@dataclass(frozen=True)
class Smaller:
    """A smaller program, nearly as good."""

    program: Program
    score: float
    whole_score: float
    removed: int
    """How many lines were left out."""


def smallest(
    program: Program,
    task: Task,
    *,
    tolerance: float = 0.02,
    episodes: int = 100,
    threads: int | None = None,
    on_round: Callable[[int, float], None] | None = None,
) -> Smaller:
    """Leaves out lines, always the one that matters least, while the score is near that of the whole program.

    Args:
        program: which.
        task: on which it is scored.
        tolerance: the share of the score that may be lost.
        episodes: how many to choose with, and how many, others, to score with.
        threads: how many to use, all by default.
        on_round: is told the number of lines left, and the score, after each round.
    """
    whole = present = readable(program).program
    keys = fresh_episodes(episodes, seed=CHOOSING_SEED)
    goal = float(evaluate(whole, task, keys, threads=threads).mean[0])
    goal -= tolerance * abs(goal)
    while places := _places(present):
        tried = [readable(_without(present, *place)).program for place in places]
        scores = evaluate(Batch.pack(tried), task, keys, threads=threads).mean
        lengths = np.array([len(_places(each)) for each in tried])
        fit = np.flatnonzero(scores >= goal)
        if not len(fit):
            break
        best = fit[np.lexsort((-scores[fit], lengths[fit]))[0]]  # the shortest, of these the best
        present = tried[best]
        if on_round is not None:
            on_round(int(lengths[best]), float(scores[best]))
    told = evaluate(Batch.pack([whole, present]), task, fresh_episodes(episodes), threads=threads).mean
    return Smaller(present, float(told[1]), float(told[0]), len(_places(whole)) - len(_places(present)))


def _places(program: Program) -> list[tuple[int, int]]:
    """Function and number of each line that does something."""
    functions = range(len(program.functions))
    return [(k, n) for k in functions for n, line in enumerate(program.lines(k)) if line.op.is_call or line.outputs]


def _text(program: Program, function: int, number: int) -> str:
    return line_text(program.lines(function)[number], program.memory if function == 0 else None)


def _changed(program: Program, change: Callable[[int, int, Instruction], Instruction | None]) -> Program:
    """The program with each line (function, number) changed, or left out. CADFs return the same registers as before."""
    bodies = [
        [new for number, line in enumerate(program.lines(k)) if (new := change(k, number, line)) is not None]
        for k in range(len(program.functions))
    ]
    for function in range(1, len(bodies)):
        before, after = program.returns(function), last_written(bodies[function])
        for kind, wanted, found in zip("svi", before, after, strict=True):
            if wanted != found:
                bodies[function].append(_same(kind, wanted))
    return Program.build(program.memory, bodies[0], bodies[1:], program.image)


def _same(kind: str, number: int) -> Instruction:
    """A line that leaves a register as it is, and counts as writing it."""
    if kind == "s":
        return Instruction(OP["scalar_scale"], (number, number), (1.0,))
    return Instruction(OP["vector_copy" if kind == "v" else "index_copy"], (number, number))


def _without(program: Program, function: int, number: int) -> Program:
    return _changed(program, lambda k, n, line: None if (k, n) == (function, number) else line)


def _uncalled(program: Program, cadf: int) -> Program:
    return _changed(program, lambda k, n, line: None if line.op.is_call and int(line.inputs[0]) == cadf else line)


def _frozen(program: Program, name: str) -> Program:
    """The program in which no line writes a register; calls hand nothing back to it."""
    prefix, _, register = name.rpartition(".")
    function = int(prefix[1:]) + 1 if prefix else 0
    target = register_number(register, program.memory if function == 0 else None)

    def change(k: int, _: int, line: Instruction) -> Instruction | None:
        if k != function or target not in line.outputs:
            return line
        if not line.op.is_call:
            return None
        blank = [NONE if output == target else output[1] for output in line.outputs]
        return replace(line, args=(*blank, *line.args[len(blank) :]))

    return _changed(program, change)


def _forgetting_action(program: Program) -> Program | None:
    """The program that begins each step with the action of the start; None where no line can say that."""
    kind, number = program.memory.action
    start = program.start(kind, number)
    if kind == "v" and np.any(start != 0):
        return None
    first = (
        Instruction(OP["scalar_set"], (number,), (float(start),))
        if kind == "s"
        else Instruction(OP["vector_zero"], (number,))
    )
    others = [program.lines(k) for k in range(1, len(program.functions))]
    return Program.build(program.memory, [first, *program.lines()], others, program.image)
