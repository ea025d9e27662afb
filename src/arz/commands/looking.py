"""`arz runs`, `arz show` and `arz ops`."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from arz import listing, terminal
from arz.commands.common import (
    Known,
    policy_at,
    print_json,
    print_policy,
    summary,
    task_by_size,
    without_foreign_code,
)
from arz.commands.rounding import Rounding, rounding
from arz.complexity import complexity
from arz.evaluate import TEST_SEED
from arz.network import Network
from arz.ops import OPS
from arz.program import Program
from arz.runs import config as configs
from arz.runs.database import RunError, is_run
from arz.runs.run import Run
from arz.simplify import effective, readable

STATUS_TEXT = {
    "new": "in its first seconds, or killed",
    "budget": "finished",
    "target": "reached its target",
    "running": "running, or killed",
}
"""What the status of a run means, where its name does not say it."""


def runs(options: argparse.Namespace) -> None:
    """Lists runs."""
    parent = Path(options.folder)
    if not parent.is_dir():
        raise ValueError(f"there is no folder {parent}: evolve something first, or name the folder of your runs")
    rows = []
    for path in [parent] if is_run(parent) else sorted(path for path in parent.iterdir() if is_run(path)):
        try:
            with Run.open(path) as run:
                rows.append(summary(run))
        except (ValueError, OSError, MemoryError) as error:
            rows.append({"run": str(path), "status": str(error) or type(error).__name__})
    if options.json:
        print_json(rows)
        return
    if not rows:
        terminal.say(f"No runs in {parent}. Make one: arz evolve cartpole")
        return
    columns = ["run", "task", "seed", "evaluations", "time", "selection", "test", "status"]
    terminal.show_table("", columns, [_run_row(row) for row in rows], text=("task", "status"))


def _run_row(row: dict[str, Any]) -> list[str]:
    if "seed" not in row:
        return [Path(row["run"]).name, *[""] * 6, row["status"]]
    scores = ["" if row[name] is None else f"{row[name]:.1f}" for name in ("score", "test")]
    spent = [f"{row['evaluations']:,}", terminal.duration(row["seconds"])]
    return [
        Path(row["run"]).name,
        row["task"],
        str(row["seed"]),
        *spent,
        *scores,
        STATUS_TEXT.get(row["status"], row["status"]),
    ]


def show(options: argparse.Namespace) -> None:
    """Shows a program, and where a run stands."""
    about: dict[str, Any] = {}
    tests: list[dict[str, Any]] = []
    if is_run(options.source):
        with Run.open(options.source) as run:
            if options.config:
                terminal.say(configs.render(run.config), end="")
                return
            about = summary(run)
            if about["champion"] is None:
                _show_beginning(run, about, options)
                return
            program, own, number = run.champion, json.dumps(run.config.task.variant), about["champion"]
            task: Known | None = run.config.task
            words = {"lasting": run.config.task.lasting}
            tests = [
                {**row, **words, "is_own_variant": row["variant"] == own}
                for row in run.tests
                if row["champion"] == number
            ]
    elif options.config:
        raise ValueError(f"{options.source} is not a run: only runs have a configuration")
    else:
        program = policy_at(options.source)
        task = task_by_size(program)
    rough = None
    if options.digits is not None and not options.program:
        if isinstance(program, Network):
            raise ValueError(f"--digits is for programs, and {options.source} is a network")
        rough = rounding(readable(program).program, options.digits, without_foreign_code(options, task))
    if options.program:
        terminal.say(program)
    elif options.json:
        print_json(_everything(program, about, tests) | ({"rounded": rough.about} if rough is not None else {}))
    else:
        _print_everything(program, about, tests, rough)


def _show_beginning(run: Run, about: dict[str, Any], options: argparse.Namespace) -> None:
    """Says where a run stands that has no champion yet."""
    if options.program:
        raise RunError(f"{run.folder} has no champion yet. {run.first_champion}")
    if options.json:
        print_json({"run": about, "tests": []})
        return
    _print_standing(about)
    terminal.say(f"# No champion yet. {run.first_champion}")


def _print_standing(about: dict[str, Any]) -> None:
    spent = f"{about['evaluations']:,} evaluations and {terminal.duration(about['seconds'])}"
    status = STATUS_TEXT.get(about["status"], about["status"])
    terminal.say(f"# {about['run']}: {about['task']}, seed {about['seed']}, {status} after {spent}.")


def _everything(program: Program | Network, about: dict[str, Any], tests: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"program": str(program)}
    forms = {} if isinstance(program, Network) else {"effective": effective(program), "readable": readable(program)}
    found |= {name: str(form.program) for name, form in forms.items()}
    found["guarantees"] = {name: str(form.guarantee) for name, form in forms.items()}
    found["complexity"] = dataclasses.asdict(complexity(program))
    if about:
        found["run"] = about
        found["tests"] = [
            {name: value for name, value in row.items() if name not in ("returns", "lasting")} for row in tests
        ]
    return found


def _print_everything(
    program: Program | Network, about: dict[str, Any], tests: list[dict[str, Any]], rough: Rounding | None
) -> None:
    if about:
        _print_standing(about)
        terminal.say(f"# Champion: number {about['champion']}, {about['score']:.1f} on the selection episodes.\n")
    terminal.say(program)
    print_policy(program, rough=(rough.program, str(rough)) if rough is not None else None)
    for row in tests:
        where = f"# Test, {row['change']}, {row['task']}"
        odd = "" if row["is_own_variant"] else f" Variant: {row['variant']}."
        odd += "" if row["seed"] == TEST_SEED else f" Episodes of seed {row['seed']}."
        lasted = f"{row['completed']:.0%} {row['lasting']}.{odd}"
        terminal.say(f"{where}: {row['mean']:.1f} over {row['episodes']} episodes, {lasted}")


def ops(options: argparse.Namespace) -> None:
    """Prints the table of operations."""
    if options.json:
        print_json([dataclasses.asdict(op) for op in OPS])
    elif options.markdown:
        terminal.say(listing.ops_markdown(), end="")
    else:
        for number, op in enumerate(OPS, 1):
            terminal.say(f"{listing.op_label(number):5} {op.name:28} {op.signature:28} {listing.op_example(op)}")
