"""`arz compare`: methods side by side."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from arz import terminal
from arz.analysis import comparison as comparisons
from arz.analysis.comparison import Comparison, Method
from arz.analysis.statistics import Interval
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.options import add_import, add_json, add_threads
from arz.commands.printing import print_json
from arz.files import read_text, write_whole
from arz.plotting import style
from arz.runs.database import is_run
from arz.runs.entries import ACROSS, Entry, entry_of, from_lines, to_lines
from arz.runs.run import Run
from arz.tasks import TASKS

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
    least = options.success if options.success is not None else _usual_success(found)
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


def _usual_success(entries: list[Entry]) -> float | None:
    """What the task of the entries calls a success; None where it does not say."""
    try:
        variant = json.loads(entries[0].tested_on) if entries else {}
    except (ValueError, RecursionError):
        return None
    if not isinstance(variant, dict):
        return None
    kinds = [kind for kind in TASKS.values() if variant.keys() <= {item.name for item in fields(kind)}]
    with contextlib.suppress(ValueError, TypeError):  # nobody knows what a file holds
        return kinds[0](**variant).success if kinds else None
    return None


@dataclass(frozen=True)
class _Table:
    title: str
    columns: list[str]
    rows: list[list[str]]
    text: int = 1
    """So many columns, from the left, are text."""

    def __str__(self) -> str:
        lines = [self.columns, ["---" if k < self.text else "---:" for k in range(len(self.columns))], *self.rows]
        return f"{self.title}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _print(made: Comparison, is_markdown: bool) -> None:
    if is_markdown:
        terminal.say("\n".join(map(str, _tables(made))))
    else:
        for each in _tables(made):
            terminal.show_table(each.title, each.columns, each.rows, text=each.columns[: each.text])
    if not made.is_even:
        how = "--steps compares runs as they stood after so many steps of the task"
        terminal.say(f"Budgets differ by more than 10 %: {how}.")
    if any(len(method.entries) == 1 for method in made.methods):
        terminal.say("There is no interval for a method with one run: repeat it with other seeds.")


def _tables(made: Comparison) -> Iterator[_Table]:
    for protocol, methods in made.protocols().items():
        title = f"Interquartile mean of the mean returns, with its 95 % interval; {protocol}"
        for group in dict.fromkeys(test.rpartition(" ")[0] for test in made.tests):
            tests = [test for test in made.tests if test.rpartition(" ")[0] == group]
            rows = [[method.name, *(_shown(method.score(test)) for test in tests)] for method in methods]
            yield _Table(f"{title}: {group}", ["method", *(test.rpartition(" ")[2] for test in tests)], rows)
        yield _totals(made, methods, protocol)
    if made.pairs:
        rows = [
            [pair.first, pair.second, f"{pair.superiority:.2f}", f"{pair.p:.2g}", f"{pair.corrected:.2g}"]
            for pair in made.pairs
        ]
        columns = ["first", "second", "first is better (A12)", "p", "p (Holm)"]
        yield _Table("Pairs of methods, all repeats", columns, rows, text=2)


def _totals(made: Comparison, methods: Sequence[Method], protocol: str) -> _Table:
    rows = []
    for method in methods:
        budget = [terminal.short(method.median(name)) for name in ACROSS[:2]]
        rows.append(
            [
                method.name,
                str(len(method.entries)),
                _shown(method.overall),
                *([] if made.least is None else [_shown_share(method.success(made.least))]),
                *budget,
                terminal.duration(method.median("seconds")),
                *(f"{method.median(name):.0f}" for name in ("parameters", "flops")),
            ]
        )
    success = [] if made.least is None else [f"{made.least:g} in every test"]
    columns = ["method", "runs", "all tests", *success, "evaluations", "steps", "time", "parameters", "FLOPs"]
    return _Table(f"All tests, and medians of what it took; {protocol}", columns, rows)


def _shown_share(rate: Interval) -> str:
    return f"{rate.value:.0%} ({rate.low:.0%} to {rate.high:.0%})"


def _shown(interval: Interval) -> str:
    return f"{interval.value:.0f}" if math.isnan(interval.low) else str(interval)


def _csv(made: Comparison) -> str:
    rows, out = made.rows(), io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
