"""`arz compare`: methods side by side."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path

from arz import terminal
from arz.analysis import comparison as comparisons
from arz.analysis.comparison import Comparison
from arz.analysis.comparison_tables import markdown, remarks, tables, usual_success
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.options import add_import, add_json, add_threads
from arz.commands.printing import print_json
from arz.files import read_text, write_whole
from arz.plotting import style
from arz.runs.entries import Entry, entry_of, from_lines, to_lines
from arz.runs.folder import is_run
from arz.runs.run import Run

MOST_BYTES = 2**26
"""Of a file with entries."""


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="[LABEL=]RUN",
        help="runs, with * for several, or files that --save wrote; runs with one label are repeats of one method",
    )
    parser.add_argument("--episodes", type=int, default=100, help="in each test (default: 100)")
    parser.add_argument("--steps", type=int, help="compare runs as they stood after so many steps of the task")
    parser.add_argument(
        "--success",
        type=float,
        help="a success has this in every test (default: what the task says; cartpole: 900)",
    )
    parser.add_argument("--save", metavar="FILE", help="keep what is known of the runs, as lines of JSON")
    parser.add_argument("--csv", metavar="FILE", help="write the table")
    parser.add_argument("--markdown", action="store_true", help="print tables for a Markdown page")
    parser.add_argument("--figure", metavar="FILE", help="draw scores, performance profiles and curves")
    add_threads(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Puts methods side by side."""
    check_threads(options.threads)
    if not 1 <= options.episodes <= 1_000_000:
        raise ValueError(f"--episodes must be 1 to 1000000, not {options.episodes}")
    for path in (options.save, options.csv, options.figure):
        refuse_existing(path)
    style.check_name(options.figure)
    found = [entry for source in options.sources for entry in _entries(source, options)]
    least = options.success if options.success is not None else usual_success(found)
    made = Comparison.of(found, least)
    if options.save:
        write_whole(Path(options.save), to_lines(found))
    if options.csv:
        write_whole(Path(options.csv), _csv(made))
    if options.figure:
        title = f"{len(found)} runs, {found[0].episodes} episodes in each test"
        style.save(comparisons.figure(made, title), Path(options.figure))
    for what, path in {"Runs": options.save, "Table": options.csv, "Figure": options.figure}.items():
        if path:
            terminal.note(f"{what}: {path}")
    if options.json:
        pairs = [vars(pair) for pair in made.pairs]
        print_json({"success": least, "is_even": made.is_even, "methods": made.rows(), "pairs": pairs})
        return
    _print(made, options.markdown)


def _entries(source: str, options: argparse.Namespace) -> list[Entry]:
    """The runs that an argument names: PATH or LABEL=PATH; a path may have * in it."""
    label, _, pattern = ("", "", source) if Path(source).exists() else source.rpartition("=")
    path = Path(pattern)
    paths = [path] if path.exists() else sorted(Path().glob(pattern)) if not path.is_absolute() else []
    if path.is_absolute() and not path.exists():
        paths = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    if not paths:
        raise ValueError(f"there is nothing at {pattern}")
    found = []
    for each in paths:
        if each.is_file():
            if options.steps is not None:
                raise ValueError(f"--steps needs runs: {each} has them as they stood when it was written")
            kept = from_lines(read_text(each, MOST_BYTES), str(each))
            found += [Entry(**{**vars(entry), "method": label or entry.method}) for entry in kept]
        elif is_run(each):
            with Run.open(each) as run:
                terminal.note(f"testing {each} ...", options.json)
                found.append(
                    entry_of(run, method=label, episodes=options.episodes, steps=options.steps, threads=options.threads)
                )
        else:
            raise ValueError(f"{each} is neither a run nor a file that arz compare --save wrote")
    return found


def _print(made: Comparison, is_markdown: bool) -> None:
    if is_markdown:
        terminal.say(markdown(made), end="")
        return
    for each in tables(made):
        terminal.show_table(each.title, each.columns, each.rows, text=each.columns[: each.text])
    for remark in remarks(made):
        terminal.say(remark)


def _csv(made: Comparison) -> str:
    rows, out = made.rows(), io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
