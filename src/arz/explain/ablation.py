"""What each part of a program is worth: its score without that part, over test episodes.

A line is left out; a register that remembers forgets: it begins every step (in a CADF, every call) as it began the
episode; a CADF is never called. `smallest` leaves out one line after the other, always the one whose loss leaves the
shortest program, of these the best, as long as the score stays near the whole program's and the program gets shorter.
It chooses with other episodes than those that scores are told for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import TEST_SEED, evaluate, fresh_episodes
from arz.explain.flow import LAST_ACTION, flow
from arz.ops import CALL_ARGUMENTS, OP
from arz.program import NONE, Batch, Instruction, Program, last_written
from arz.simplify import readable, with_own_names
from arz.tasks.base import Task
from arz.tasks.status import Status
from arz.text import KIND_PLURALS, line_text, register_number

CHOOSING_SEED = TEST_SEED + 1
"""The episodes with which `smallest` chooses."""
BLOCK = 8
"""So many programs are evaluated at a time: in between progress is told, and Ctrl-C is heard."""
Show = Callable[[float, str], None]
"""Is told which share of the work is done, and how it stands."""


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


def ablate(
    program: Program, task: Task, *, episodes: int = 100, threads: int | None = None, show: Show | None = None
) -> Ablation:
    """Scores the program without each of its lines, remembering registers and CADFs.

    Registers of which there are as many as a memory can have are not made to forget: that takes one more.
    """
    show = show or tell_nobody
    whole = with_own_names(program)
    roomy, found_flow = _with_spare(whole), flow(whole)
    remembered = [*found_flow.remembered, *([LAST_ACTION] if found_flow.depends(LAST_ACTION) else [])]
    remembered = [name for name in remembered if _has_spare(whole, roomy, name)]
    parts = [("line", _text(whole, k, n), k, _without(roomy, k, n)) for k, n in _places(whole)]
    parts += [("register", name, 0, _forgetting(roomy, name)) for name in remembered]
    parts += [("function", f"f{k}", k + 1, _uncalled(roomy, k)) for k in range(whole.cadfs)]

    def tell(done: int) -> None:
        show(done / (len(parts) + 1), f"{done} of {len(parts) + 1} programs scored")

    made = [roomy, *(made for *_, made in parts)]
    scores, completed = _scores(made, task, fresh_episodes(episodes), threads, tell)
    scored = [
        Part(kind, name, function, float(scores[k]), float(completed[k]))
        for k, (kind, name, function, _) in enumerate(parts, 1)
    ]
    return Ablation(whole, float(scores[0]), float(completed[0]), episodes, tuple(scored))


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
    show: Show | None = None,
) -> Smaller:
    """Leaves out lines, always so that the shortest program is left, while the score is near that of the whole one.

    Every round takes at least one line away, so there are no more rounds than lines.

    Args:
        program: which.
        task: on which it is scored.
        tolerance: the share of the score that may be lost.
        episodes: how many to choose with, and how many, others, to score with.
        threads: how many to use, all by default.
        show: is told how the work stands.
    """
    show = show or tell_nobody
    whole = present = with_own_names(program)
    lines = len(_places(whole))
    keys = fresh_episodes(episodes, seed=CHOOSING_SEED)
    goal = score = float(evaluate(whole, task, keys, threads=threads).mean[0])
    goal -= tolerance * abs(goal)
    while places := _places(present):
        gone, text = lines - len(places), f"{len(places)} lines left: {score:.1f}"
        tried = [readable(_without(present, *place)).program for place in places]
        shorter = [each for each in tried if len(_places(each)) < len(places)]  # a result may come back as a copy

        def tell(done: int, gone: int = gone, text: str = text, count: int = len(shorter)) -> None:
            show((gone + done / (count + 1)) / lines, text)

        tell(0)
        scores, _ = _scores(shorter, task, keys, threads, tell)
        lengths = np.array([len(_places(each)) for each in shorter])
        fit = np.flatnonzero(scores >= goal)
        if not len(fit):
            break
        best = fit[np.lexsort((-scores[fit], lengths[fit]))[0]]  # the shortest, of these the best
        present, score = shorter[best], float(scores[best])
    told = evaluate(Batch.pack([whole, present]), task, fresh_episodes(episodes), threads=threads).mean
    return Smaller(present, float(told[1]), float(told[0]), lines - len(_places(present)))


def tell_nobody(share: float, text: str) -> None:
    """For callers who do not ask."""


def _scores(
    programs: list[Program],
    task: Task,
    episodes: NDArray[np.uint64],
    threads: int | None,
    tell: Callable[[int], None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean return of each program, and the share of episodes that lasted; tells how many programs are done."""
    scores: list[float] = []
    completed: list[float] = []
    for first in range(0, len(programs), BLOCK):
        found = evaluate(Batch.pack(programs[first : first + BLOCK]), task, episodes, threads=threads)
        scores += found.mean.tolist()
        completed += found.share(Status.COMPLETED).tolist()
        tell(len(scores))
    return np.array(scores), np.array(completed)


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
    return _built(program, bodies, program.image)


def _built(program: Program, bodies: list[list[Instruction]], image: NDArray[np.float64]) -> Program:
    """A program of these lines, whose CADFs return the same registers as those of another."""
    for function in range(1, len(bodies)):
        before, after = program.returns(function), last_written(bodies[function])
        for kind, wanted, found in zip("svi", before, after, strict=True):
            if wanted != found:  # a register that is copied to itself counts as written
                bodies[function].append(_copy(kind, wanted, wanted))
    return Program.build(program.memory, bodies[0], bodies[1:], image)


def _copy(kind: str, source: int, target: int) -> Instruction:
    if kind == "s":
        return Instruction(OP["scalar_scale"], (target, source), (1.0,))
    return Instruction(OP[{"v": "vector_copy", "m": "matrix_copy", "i": "index_copy"}[kind]], (target, source))


def _without(program: Program, function: int, number: int) -> Program:
    return _changed(program, lambda k, n, line: None if (k, n) == (function, number) else line)


def _uncalled(program: Program, cadf: int) -> Program:
    return _changed(program, lambda k, n, line: None if line.op.is_call and int(line.inputs[0]) == cadf else line)


def _with_spare(program: Program) -> Program:
    """The same with one more register of each kind of which there is room for more: the last, which no line uses."""
    memory = wider = program.memory
    for kind, plural in KIND_PLURALS.items():
        if memory.count(kind):
            more: dict[str, Any] = {plural: memory.count(kind) + 1}
            with contextlib.suppress(ValueError):  # there are as many as there can be
                wider = replace(wider, **more)
    image = np.zeros(wider.image_size)
    for kind in "svm":
        for number in range(memory.count(kind)):
            image[wider.image_slice(kind, number)] = program.start(kind, number).ravel()
    return Program.build(wider, program.lines(), [program.lines(k) for k in range(1, len(program.functions))], image)


def _forgetting(program: Program, name: str) -> Program:
    """A program `_with_spare`, in which a register begins every step, of a CADF every call, as it began the episode.

    The spare register holds what that is. What a call passes to a CADF it still gets.
    """
    memory, image = program.memory, np.array(program.image)
    function, kind, number = _register(program, name)
    spare = memory.count(kind) - 1
    if function == 0 and kind != "i":
        image[memory.image_slice(kind, spare)] = program.start(kind, number).ravel()
    bodies = [program.lines(k) for k in range(len(program.functions))]
    if function and (kind, number) in CALL_ARGUMENTS:
        bodies[0] = [_passing(line, function, (kind, number), spare) for line in bodies[0]]
    else:
        bodies[function].insert(0, _copy(kind, spare, number))
    return _built(program, bodies, image)


def _register(program: Program, name: str) -> tuple[int, str, int]:
    """Function, kind and number of a register that remembers, by its name."""
    if name == LAST_ACTION:
        return 0, *program.memory.action
    prefix, _, register = name.rpartition(".")
    function = int(prefix[1:]) + 1 if prefix else 0
    found = register_number(register, None if function else program.memory)
    assert found is not None
    return function, *found


def _has_spare(program: Program, roomy: Program, name: str) -> bool:
    _, kind, _ = _register(program, name)
    return roomy.memory.count(kind) > program.memory.count(kind)


def _passing(line: Instruction, function: int, register: tuple[str, int], spare: int) -> Instruction:
    """A call of the function that passes the spare register where it passed nothing; other lines as they are."""
    place = len(line.outputs) + 1 + CALL_ARGUMENTS.index(register)
    if not line.op.is_call or int(line.inputs[0]) != function - 1 or line.args[place] != NONE:
        return line
    return replace(line, args=(*line.args[:place], spare, *line.args[place + 1 :]))
