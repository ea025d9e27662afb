"""What several commands print: policies, tests, JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz import terminal
from arz.policy import AnyPolicy
from arz.program import Program
from arz.simplify import readable
from arz.tasks import Task
from arz.testing import Assessment

LINE = 120
"""No line of a shortened listing is longer."""


def returns(results: list[Assessment]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """The returns of all episodes, as figures want them."""
    return {(result.change, result.task): result.returns for result in results}


def print_policy(policy: AnyPolicy, all_in: str = "", rough: tuple[Program, str] | None = None) -> None:
    """Prints a program for reading, and its cost; of a network only the cost.

    Args:
        policy: which.
        all_in: a command that prints all numbers: then long rows of them are cut here.
        rough: its form for reading with fewer digits, and what there is to say about that.
    """
    if isinstance(policy, Program):
        _print_program(policy, all_in, rough)
    else:
        terminal.say(f"# {policy.describe()}")


def _print_program(program: Program, all_in: str, rough: tuple[Program, str] | None) -> None:
    simple = readable(program)
    terminal.say(f"# For reading ({_lines(simple.removed)} removed, {simple.folded} folded, registers renumbered).")
    listed, said = rough or (simple.program, str(simple.guarantee))
    terminal.say(f"# {said}\n")
    text = str(listed)
    shown = _shortened(text) if all_in else text
    terminal.say(shown)
    if shown != text:
        terminal.say(f"# Long rows of numbers are cut: {all_in} has all.")
    terminal.say(f"# {program.describe()}")


def _shortened(text: str) -> str:
    """A listing without the further rows of matrices, and without the ends of long lines."""
    rows = [line for line in text.split("\n") if not line.startswith(" " * 8)]
    return "\n".join(line if len(line) <= LINE else f"{line[: LINE - 4]} ..." for line in rows)


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def print_tests(results: list[Assessment], task: Task, title: str) -> None:
    """Prints a table of test results."""
    found = {(result.change, result.task): result for result in results}
    tasks = list(dict.fromkeys(result.task for result in results))
    rows = []
    for change in dict.fromkeys(result.change for result in results):
        here = [found[change, task] for task in tasks]
        rows.append([change, *(f"{result.mean:.1f}" for result in here)])
        rows.append([f"  {task.lasting}", *(f"{result.completed:.0%}" for result in here)])
        if all(result.distance is not None for result in here):
            rows.append(["  distance (m)", *(f"{result.distance:.1f}" for result in here)])
    terminal.show_table(title, [task.test_groups, *tasks], rows)


def result_rows(results: list[Assessment]) -> list[dict[str, Any]]:
    """Test results for scripts."""
    return [{name: getattr(r, name) for name in ("change", "task", "mean", "completed", "distance")} for r in results]


def print_json(value: Any) -> None:
    """Prints for scripts; null in place of numbers that JSON does not have."""
    terminal.say(json.dumps(_finite(value), indent=2).replace("\x7f", "\\u007f"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
