"""`arz export`."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arz import terminal
from arz.commands.common import Known, policy_and_task, refuse_existing, without_foreign_code
from arz.evaluate import fresh_episodes
from arz.export import LANGUAGES
from arz.export.c import to_c
from arz.export.parts import Taken
from arz.export.python import to_python
from arz.network import Network
from arz.plain import printable
from arz.program import Program
from arz.tasks.any_environment import AnyEnvironment
from arz.watch import watch

EXPORTERS = dict(zip(LANGUAGES, (to_python, to_c), strict=True))


def export(options: argparse.Namespace) -> None:
    """Writes a program in another language."""
    refuse_existing(options.output)
    policy, task = policy_and_task(options)
    if isinstance(policy, Network):
        raise ValueError(f"{printable(options.source)} is a network, and only programs can be exported")
    known = without_foreign_code(options, task)
    text = EXPORTERS[options.to](policy, name=options.name, observations=_seen(policy, known), taken=_taken(known))
    if not options.output:
        terminal.say(text, end="")
        return
    with Path(options.output).open("x", encoding="utf-8") as file:
        file.write(text)
    where = shlex.quote(printable(options.output))
    check = f"python {where}"
    if options.to == "c":
        flags = f"-std=c99 -ffp-contract=off -D{options.name.upper()}_MAIN"
        check = f"cc {flags} -x c {where} -lm -o check && ./check"
    terminal.say(f"Written: {printable(options.output)}. Check it: {check}")


def _seen(policy: Program, task: Known | None) -> NDArray[np.float64] | None:
    """What the program sees in a test episode of its task, for test vectors."""
    if task is None:
        return None
    with contextlib.suppress(ValueError):  # an environment that cannot be made here
        return watch(policy, task, int(fresh_episodes(1)[0])).observations
    return None


def _taken(task: Known | None) -> Taken:
    """What the task does with actions."""
    if task is None:
        return Taken()
    if not isinstance(task, AnyEnvironment):
        return Taken((-task.most_action,), (task.most_action,))
    low, high = task.about.low.tolist(), task.about.high.tolist()
    if not task.about.is_box:
        return Taken(first_choice=int(low[0]))
    is_even = len({*low}) == len({*high}) == 1
    return Taken((low[0],), (high[0],)) if is_even else Taken(tuple(low), tuple(high))
