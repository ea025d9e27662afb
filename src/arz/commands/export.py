"""`arz export`: a program in another language."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arz import terminal
from arz.commands.checks import refuse_existing
from arz.commands.options import add_environment, add_import, add_source
from arz.commands.sources import policy_and_task, program_of, without_foreign_code
from arz.episode import run_episode
from arz.evaluate import fresh_episodes
from arz.export.c import to_c
from arz.export.exported_program import Taken
from arz.export.python import to_python
from arz.plain import printable
from arz.program import Program
from arz.tasks import Task


@dataclass(frozen=True)
class Target:
    """A language to which programs are exported."""

    write: Callable[..., str]
    check: str
    """How a file checks itself; the file is {file}, its name in capitals {name}."""


TARGETS = {
    "python": Target(to_python, "python {file}"),
    "c": Target(to_c, "cc -std=c99 -ffp-contract=off -D{name}_MAIN -x c {file} -lm -o check && ./check"),
}


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser, "a run, an .arz file, or - for standard input")
    parser.add_argument("--to", choices=TARGETS, required=True, help="the language")
    parser.add_argument("--output", metavar="FILE", help="where to write it (default: standard output)")
    parser.add_argument("--name", default="arz", help="what its names begin with (default: arz)")
    add_environment(parser)


def run(options: argparse.Namespace) -> None:
    """Writes a program in another language."""
    refuse_existing(options.output)
    policy, task = policy_and_task(options)
    program = program_of(policy, f"{printable(options.source)} is {policy.title}, and only programs can be exported")
    known = without_foreign_code(options, task)
    target = TARGETS[options.to]
    text = target.write(program, name=options.name, observations=_seen(program, known), taken=_taken(known))
    if not options.output:
        terminal.say(text, end="")
        return
    with Path(options.output).open("x", encoding="utf-8") as file:
        file.write(text)
    where = shlex.quote(printable(options.output))
    check = target.check.format(file=where, name=options.name.upper())
    terminal.say(f"Written: {printable(options.output)}. Check it: {check}")


def _seen(policy: Program, task: Task | None) -> NDArray[np.float64] | None:
    """What the program sees in a test episode of its task, for test vectors."""
    if task is None:
        return None
    with contextlib.suppress(ValueError):  # an environment that cannot be made here
        return run_episode(policy, task, int(fresh_episodes(1)[0])).observations
    return None


def _taken(task: Task | None) -> Taken:
    """What the task does with actions."""
    if task is None:
        return Taken()
    if task.first_choice is not None:
        return Taken(first_choice=task.first_choice)
    low, high = (side.tolist() for side in task.bounds)
    is_even = len({*low}) == len({*high}) == 1
    return Taken((low[0],), (high[0],)) if is_even else Taken(tuple(low), tuple(high))
