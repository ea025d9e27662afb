"""`arz runs`: the runs of a folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arz import terminal
from arz.commands.options import add_json
from arz.commands.printing import print_json
from arz.commands.standing import STATUS_TEXT, summary
from arz.plain import duration
from arz.runs.folder import is_run
from arz.runs.run import Run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    parser.add_argument("folder", nargs="?", default="runs", help="where they are (default: runs)")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
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
    spent = [f"{row['evaluations']:,}", duration(row["seconds"])]
    return [
        Path(row["run"]).name,
        row["task"],
        str(row["seed"]),
        *spent,
        *scores,
        STATUS_TEXT.get(row["status"], row["status"]),
    ]
