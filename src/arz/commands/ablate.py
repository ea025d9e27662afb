"""`arz ablate`: what each part of a program is worth."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from arz import terminal
from arz.analysis import trace_figures
from arz.commands.checks import check_threads
from arz.commands.options import add_episode, add_import, add_json, add_source, add_threads
from arz.commands.printing import print_json
from arz.commands.sources import output_folder, own_task, policy_and_known_task, program_with_parts
from arz.commands.tables import table_text
from arz.explain.ablation import Ablation, Smaller, smallest
from arz.explain.ablation import ablate as ablated
from arz.explain.flow import flow
from arz.files import write_whole
from arz.plain import printable
from arz.plotting import style
from arz.tasks import Task


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser)
    parser.add_argument("--episodes", type=int, default=100, help="how many test episodes (default: 100)")
    parser.add_argument(
        "--tolerance", type=float, default=0.02, help="the share of the score that may be lost (default: 0.02)"
    )
    parser.add_argument("--output", metavar="FOLDER", help="a new folder (default for a run: ablate in it)")
    add_threads(parser)
    add_episode(parser, which=False)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Says what each part of a program is worth."""
    check_threads(options.threads)
    if not 1 <= options.episodes <= 100_000:
        raise ValueError(f"--episodes must be 1 to 100000, not {options.episodes}")
    if not 0 <= options.tolerance <= 1:
        raise ValueError(f"--tolerance must be 0 to 1, not {options.tolerance}")
    policy, base = policy_and_known_task(options)
    program = program_with_parts(options.source, policy)
    task = own_task(options, base)
    folder = output_folder(options, "ablate")
    how: dict[str, Any] = {"episodes": options.episodes, "threads": options.threads}
    with terminal.bar(options.json) as show:
        found = ablated(program, task, show=lambda share, text: show(share / 2, text), **how)
        smaller = smallest(
            program, task, tolerance=options.tolerance, show=lambda share, text: show((1 + share) / 2, text), **how
        )
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        title = style.title_of(options.source, task.name, f"{options.episodes} test episodes")
        style.save(trace_figures.ablation_figure(found, title), folder / "ablation.png")
        write_whole(folder / "ablation.csv", _ablation_table(found))
        write_whole(folder / "smallest.arz", str(smaller.program))
    if options.json:
        parts = [{**asdict(part), "worth": found.worth(part)} for part in found.parts]
        small = {"program": str(smaller.program), "score": smaller.score, "removed": smaller.removed}
        print_json({"score": found.score, "completed": found.completed, "parts": parts, "smallest": small})
        return
    _print_ablation(found, smaller, task, options)
    if folder is not None:
        terminal.say(f"ablation.png, ablation.csv and smallest.arz: {folder}")


def _ablation_table(found: Ablation) -> str:
    rows = [(p.kind, p.function, p.name, p.score, p.completed, found.worth(p)) for p in found.parts]
    return table_text(["kind", "function", "name", "score without it", "completed", "worth"], rows)


def _print_ablation(found: Ablation, smaller: Smaller, task: Task, options: argparse.Namespace) -> None:
    rows = [
        [
            part.kind if part.function == 0 or part.kind != "line" else f"line of f{part.function - 1}",
            part.name,
            *(f"{part.score:.1f}", f"{part.completed:.0%}", f"{found.worth(part):.1f}"),
        ]
        for part in found.parts
    ]
    columns = ["part", "what", "score without it", task.lasting, "worth"]
    title = f"{printable(options.source)}: {found.score:.1f} over {found.episodes} test episodes, as it is"
    terminal.show_table(title, columns, rows, text=("part", "what"))
    terminal.say(
        f"\nThe smallest program within {options.tolerance:.0%} that leaving out lines one by one gave: "
        f"{smaller.removed} line{'' if smaller.removed == 1 else 's'} fewer, {smaller.score:.1f} on the test episodes "
        f"(whole: {smaller.whole_score:.1f}).\n"
    )
    terminal.say(flow(smaller.program).listing())
