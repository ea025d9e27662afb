"""A comparison as tables: for the terminal and for pages."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arz.analysis.comparison import Comparison, Method
from arz.analysis.statistics import Interval
from arz.plain import duration, short
from arz.runs.entries import ACROSS, Entry
from arz.tasks import TASKS


def usual_success(entries: list[Entry]) -> float | None:
    """What the task of the entries calls a success; None where it does not say."""
    try:
        variant = json.loads(entries[0].tested_on) if entries else {}
    except (ValueError, RecursionError):
        return None
    if not isinstance(variant, dict):
        return None
    for kind in TASKS.values():
        with contextlib.suppress(ValueError, TypeError):  # nobody knows what a file holds
            task = kind(**variant)
            if json.loads(json.dumps(task.variant)) == variant:  # it says of itself what stands there
                return task.success
    return None


@dataclass(frozen=True)
class Table:
    """One of a comparison."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    text: int = 1
    """So many columns, from the left, are text."""

    def __str__(self) -> str:
        lines = [self.columns, ["---" if k < self.text else "---:" for k in range(len(self.columns))], *self.rows]
        return f"{self.title}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def tables(made: Comparison) -> Iterator[Table]:
    """All tables: each test for itself, totals and what they took, and pairs of methods."""
    for protocol, methods in made.protocols().items():
        title = f"Interquartile mean of the mean returns, with its 95 % interval; {protocol}"
        for group in dict.fromkeys(test.rpartition(" ")[0] for test in made.tests):
            tests = [test for test in made.tests if test.rpartition(" ")[0] == group]
            rows = [[method.name, *(_shown(method.score(test)) for test in tests)] for method in methods]
            yield Table(f"{title}: {group}", ["method", *(test.rpartition(" ")[2] for test in tests)], rows)
        yield _totals(made, methods, protocol)
    if made.pairs:
        rows = [
            [pair.first, pair.second, f"{pair.superiority:.2f}", f"{pair.p:.2g}", f"{pair.corrected:.2g}"]
            for pair in made.pairs
        ]
        columns = ["first", "second", "first is better (A12)", "p", "p (Holm)"]
        yield Table("Pairs of methods, all repeats", columns, rows, text=2)


def _totals(made: Comparison, methods: Sequence[Method], protocol: str) -> Table:
    rows = []
    for method in methods:
        budget = [short(method.median(name)) for name in ACROSS[:2]]
        rows.append(
            [
                method.name,
                str(len(method.entries)),
                _shown(method.overall),
                *([] if made.least is None else [_shown_share(method.success(made.least))]),
                *budget,
                duration(method.median("seconds")),
                *(f"{method.median(name):.0f}" for name in ("parameters", "flops")),
            ]
        )
    success = [] if made.least is None else [f"{made.least:g} in every test"]
    columns = ["method", "runs", "all tests", *success, "evaluations", "steps", "time", "parameters", "FLOPs"]
    return Table(f"All tests, and medians of what it took; {protocol}", columns, rows)


def _shown_share(rate: Interval) -> str:
    return f"{rate.value:.0%} ({rate.low:.0%} to {rate.high:.0%})"


def _shown(interval: Interval) -> str:
    return f"{interval.value:.0f}" if math.isnan(interval.low) else str(interval)


def remarks(made: Comparison) -> Iterator[str]:
    """What a reader of the tables must know."""
    if not made.is_even:
        how = "--steps compares runs as they stood after so many steps of the task"
        yield f"Budgets differ by more than 10 %: {how}."
    if any(len(method.entries) == 1 for method in made.methods):
        yield "There is no interval for a method with one run: repeat it with other seeds."


def markdown(made: Comparison) -> str:
    """Tables and remarks, for a page."""
    return "".join(f"{part}\n" for part in ("\n".join(map(str, tables(made))), *remarks(made)))
