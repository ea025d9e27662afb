"""`arz explain`: what a program is."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arz import terminal
from arz.analysis import trace_figures
from arz.commands.checks import check_episode
from arz.commands.options import add_digits, add_environment, add_import, add_json, add_source
from arz.commands.printing import print_json
from arz.commands.rounding import Rounding, rounding
from arz.commands.sources import output_folder, policy_and_task, program_with_parts, test_episode, without_foreign_code
from arz.explain import summary
from arz.explain.diagram import diagram
from arz.explain.flow import Flow, flow
from arz.explain.linear import NotAffineError, Reading, read
from arz.files import write_whole
from arz.plain import printable
from arz.plotting import style
from arz.program import Program
from arz.simplify import Guarantee, with_own_names
from arz.tasks import Task

MOST_SHOWN = 12
"""Matrices with more rows or columns are not printed."""
Costs = list[tuple[str, int, int]]
"""As `summary.costs` has them."""
MOST_USES = 1_000_000
"""Uses of results by other lines, of a program that is written as JSON."""
UNWATCHED = (
    "it is not linear everywhere, and its environment is not known here (for a file: --env), or is made in a way that "
    "only the run names (save the program with arz show --program, and name the environment)"
)


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser, "a run, an .arz file, or - for standard input")
    parser.add_argument(
        "--output", metavar="FOLDER", help="a new folder for a page and its pictures (default for a run: explain in it)"
    )
    parser.add_argument("--episode", type=int, default=0, help="which test episode to look at (default: 0)")
    add_digits(parser)
    add_environment(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Says what a program is and does."""
    check_episode(options.episode)
    policy, task = policy_and_task(options)
    program = program_with_parts(options.source, policy)
    folder = output_folder(options, "explain")
    simple = with_own_names(program)
    found = flow(simple)
    watched = without_foreign_code(options, task)
    reading, why = _reading(simple, watched, options.episode)
    said = summary.sentences(found, reading, why, _where(watched, options.episode), program)
    costs = summary.costs(program)
    rough = rounding(simple, options.digits, watched)
    listed = flow(rough.program) if rough is not None else found
    names, name = task.observation_names if task is not None else None, printable(options.source)
    title = style.title_of(options.source, "how its numbers flow")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "flow.svg", diagram(listed, title))
        (folder / "kernel.png").unlink(missing_ok=True)  # of an earlier champion of this run
        if reading is not None and _is_shown(reading) and np.any(reading.closed.U != 0):
            labels = names or reading.inputs[: reading.observed]
            about = style.title_of(options.source, "how what it sees counts later")
            style.save(trace_figures.kernel_figure(reading.closed, labels, about), folder / "kernel.png")
        write_whole(folder / "explain.md", _page(name, listed, reading, said, costs, names, folder, rough))
    if options.json:
        rough_too = {} if rough is None else {"rounded": rough.about}
        print_json(_everything(found, reading, said, costs) | rough_too)
        return
    terminal.say(f"# {name}, for reading. {rough or Guarantee.EXACT}\n")
    terminal.say(listed.listing())
    rows = [[name, str(parameters), str(flops)] for name, parameters, flops in costs]
    terminal.show_table("Cost", ["", "parameters", "FLOPs per step"], rows, text=("",))
    terminal.say("\n".join(f"- {sentence}" for sentence in said))
    if folder is not None:
        where = printable(str(folder))
        terminal.say(f"Page: {where}/explain.md. Picture of the flow: {where}/flow.svg.")


def _reading(program: Program, task: Task | None, episode: int) -> tuple[Reading | None, str]:
    """The program as a filter, near the path of a test episode, if it has to be; or why there is none."""
    try:
        return read(program), ""
    except NotAffineError:
        if task is None:
            return None, UNWATCHED
    except ValueError as error:
        return None, str(error)
    seen = test_episode(program, task, episode).trace_of(program)
    try:
        return read(program, seen), ""
    except ValueError as error:
        return None, str(error)


def _where(task: Task | None, episode: int) -> str:
    """The episode that was looked at."""
    return f"test episode {episode} of {printable(task.full_name) if task else ''}"


def _is_shown(reading: Reading | None) -> bool:
    """Whether a filter says something about the program, and is small enough to look at."""
    return (
        reading is not None
        and max(len(reading.state), len(reading.inputs)) <= MOST_SHOWN
        and summary.is_telling(reading)
    )


def _page(
    source: str,
    found: Flow,
    reading: Reading | None,
    said: list[str],
    costs: Costs,
    names: tuple[str, ...] | None,
    folder: Path,
    rough: Rounding | None,
) -> str:
    rows = "".join(f"| {name} | {parameters} | {flops} |\n" for name, parameters, flops in costs)
    parts = [
        f"# {_markdown(source)}\n",
        "\n".join(f"- {sentence}" for sentence in said) + "\n",
        "## The program\n\nIn its readable form. Behind each line stands what it depends on within a step."
        f"{f' {rough}' if rough is not None else ''}\n",
        f"```\n{found.listing()}```\n",
        "![How its numbers flow](flow.svg)\n",
        f"## Cost\n\n| | parameters | FLOPs per step |\n|---|---:|---:|\n{rows}",
    ]
    if reading is not None and _is_shown(reading):
        kind = "exact" if reading.is_exact else "near the path of one episode"
        parts += [
            f"## As a linear filter ({kind})\n",
            summary.matrices(reading, names),
            summary.sum_form(reading, names),
        ]
        parts.append("![How what it sees counts later](kernel.png)\n" if (folder / "kernel.png").exists() else "")
    return "\n".join(parts)


def _markdown(text: str) -> str:
    """A text that says in Markdown what it says, whatever letters it has: no code, links or tags."""
    return re.sub(r"([\\`*\[\]<>&|!~$#])", r"\\\1", text)


def _everything(found: Flow, reading: Reading | None, said: list[str], costs: Costs) -> dict[str, Any]:
    if found.most_uses > MOST_USES:
        raise ValueError(f"there are more than {MOST_USES} uses of results to list: without --json they are left out")
    lines = [
        {
            "function": line.function,
            "line": line.number,
            "text": line.text,
            "depends on": sorted(found.within[line.function, line.number]),
            "over time on": sorted(found.over_time[line.function, line.number]),
            "uses": sorted(line.uses),
            "carried from": sorted(line.carries),
        }
        for line in found.lines
    ]
    about: dict[str, Any] = {
        "program": str(found.program),
        "lines": lines,
        "remembered": found.remembered,
        "summary": said,
    }
    about["costs"] = [dict(zip(("name", "parameters", "flops"), row, strict=True)) for row in costs]
    if reading is not None:
        matrices = {name: getattr(reading, name).tolist() for name in ("U", "P", "A", "W", "z", "c", "start")}
        values = [[value.real, value.imag] for value in reading.eigenvalues.tolist()]
        about["linear"] = {
            "is_exact": reading.is_exact,
            "is_on_path": reading.is_on_path,
            "state": reading.state,
            "inputs": reading.inputs,
            **matrices,
            "eigenvalues": values,
            "error": summary.rms(reading.errors),
            "free error": summary.rms(reading.free_errors),
        }
    return about
