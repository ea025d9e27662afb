"""Methods side by side: from what is known of each run to tables and a figure.

An `Entry` is one run (`arz.runs.entries`): its scores on the test episodes, the same for all, what it cost and how it
went.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.analysis import figures, statistics
from arz.analysis.statistics import Interval
from arz.plotting import style
from arz.runs.entries import ACROSS, MOST_RUNS, Entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = (50, MOST_RUNS, 200)
"""Methods, runs and tests that can be compared."""
BEST = 5
"""So many repeats count in the paper's protocol: those with the best search fitness."""
COLOURS = (style.BLACK, style.ORANGE, style.SKY, style.GREEN, style.BLUE, style.VERMILION, style.PURPLE)


LINES, HATCHES = ("-", "--", ":"), ("", "////", "....")
"""How methods differ once the colours begin anew."""
PALE = 0.55


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    turn: int = 0

    @property
    def line(self) -> dict[str, Any]:
        """For lines."""
        return {"color": self.colour, "linestyle": LINES[self.turn]}

    @property
    def bar(self) -> dict[str, Any]:
        """For bars, and for what stands for them in a legend: pale, so that dots show on it, with a full edge."""
        full = {"edgecolor": self.colour, "linewidth": 0.5, "hatch": HATCHES[self.turn]}
        return {"facecolor": (self.colour, PALE), **full}


@dataclass(frozen=True)
class Method:
    """What is known of a method."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def table(self) -> NDArray[np.float64]:
        """The scores [run, test]."""
        return np.array([list(entry.scores.values()) for entry in self.entries])

    def best(self, count: int = BEST) -> Method:
        """The repeats with the best search fitness: the paper's protocol."""
        return Method(self.name, tuple(sorted(self.entries, key=lambda entry: -entry.fitness)[:count]))

    def score(self, test: str) -> Interval:
        """The interquartile mean in one test."""
        return statistics.bootstrap([entry.scores[test] for entry in self.entries])

    @property
    def overall(self) -> Interval:
        """The interquartile mean over runs and tests."""
        return statistics.bootstrap(self.table)

    def success(self, least: float) -> Interval:
        """The share of runs that have at least this score in every test."""
        return statistics.share(sum(entry.worst >= least for entry in self.entries), len(self.entries))

    def median(self, name: str) -> float:
        """The median of a field."""
        return float(np.median([getattr(entry, name) for entry in self.entries]))


@dataclass(frozen=True)
class Pair:
    """Two methods, by the mean over the tests of each run."""

    first: str
    second: str
    superiority: float
    """The probability that a run of the first is better."""
    p: float
    corrected: float
    """By Holm, over all pairs."""


@dataclass(frozen=True)
class Comparison:
    """Methods whose runs had the same tests.

    Raises:
        ValueError: there are no runs, or their tests differ.
    """

    methods: tuple[Method, ...]
    least: float | None
    """What counts as success: this score in every test; None if nobody knows."""

    @classmethod
    def of(cls, entries: Sequence[Entry], least: float | None) -> Comparison:
        """The methods in the order in which they are met."""
        if not entries:
            raise ValueError("there is nothing to compare: name some runs")
        tested = {(entry.tested_on, entry.episodes, tuple(entry.scores)) for entry in entries}
        if len(tested) > 1:
            shown = "; ".join(
                sorted({f"{entry.method}: {entry.tested_on}, {entry.episodes} episodes" for entry in entries})
            )
            raise ValueError(f"runs with different tests cannot be compared ({shown})")
        names = dict.fromkeys(entry.method for entry in entries)
        sizes = (len(names), len(entries), len(entries[0].scores))
        if any(size > most for size, most in zip(sizes, MOST, strict=True)):
            raise ValueError(
                f"{sizes[0]} methods with {sizes[1]} runs and {sizes[2]} tests are too many to compare: at most "
                f"{MOST[0]}, {MOST[1]} and {MOST[2]}"
            )
        methods = tuple(Method(name, tuple(e for e in entries if e.method == name)) for name in names)
        for method in methods:
            if len({(entry.seed, *entry.scores.values()) for entry in method.entries}) < len(method.entries):
                raise ValueError(f"{method.name} has a run twice: the same seed and the same scores")
        return cls(methods, least)

    @property
    def tests(self) -> list[str]:
        """Their names."""
        return list(self.methods[0].entries[0].scores)

    @property
    def pairs(self) -> list[Pair]:
        """All pairs of methods with at least two runs each."""
        several = [method for method in self.methods if len(method.entries) > 1]
        means = {method.name: method.table.mean(axis=1) for method in several}
        pairs = list(combinations(means, 2))
        values = [statistics.mann_whitney(means[a], means[b]) for a, b in pairs]
        corrected = statistics.holm(values)
        return [
            Pair(a, b, statistics.superiority(means[a], means[b]), p, holm)
            for (a, b), p, holm in zip(pairs, values, corrected, strict=True)
        ]

    @property
    def is_even(self) -> bool:
        """Whether all runs had about the same budget in steps of the task."""
        steps = [entry.steps for method in self.methods for entry in method.entries]
        return max(steps) <= 1.1 * min(steps)

    def rows(self) -> list[dict[str, Any]]:
        """One row per method and protocol, for CSV and JSON."""
        found = []
        for protocol, methods in self.protocols().items():
            for method in methods:
                row: dict[str, Any] = {"protocol": protocol, "method": method.name, "runs": len(method.entries)}
                row |= _spelled("overall", method.overall)
                if self.least is not None:
                    row |= _spelled("success", method.success(self.least))
                for test in self.tests:
                    row |= _spelled(test, method.score(test))
                    row[f"{test} mean"] = float(np.mean([entry.scores[test] for entry in method.entries]))
                row |= {name: method.median(name) for name in (*ACROSS, "parameters", "flops")}
                found.append(row)
        return found

    def protocols(self) -> Mapping[str, Sequence[Method]]:
        """All repeats, which is unbiased; and the best five, as in the paper."""
        found: dict[str, Sequence[Method]] = {"all repeats": self.methods}
        if any(len(method.entries) > BEST for method in self.methods):
            found[f"best {BEST} by search fitness, as in the paper"] = [method.best() for method in self.methods]
        return found


def _spelled(name: str, interval: Interval) -> dict[str, float | None]:
    return {
        (name if part == "value" else f"{name} {part}"): None if math.isnan(number) else number
        for part, number in asdict(interval).items()
    }


def figure(comparison: Comparison, title: str) -> Figure:
    """Scores in each test, performance profiles, and curves against evaluations, steps and time."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    made = style.new_figure(9.6, title)
    grid = made.add_gridspec(2, 6)
    looks = {
        method.name: Look(COLOURS[k % len(COLOURS)], k // len(COLOURS) % len(LINES))
        for k, method in enumerate(comparison.methods)
    }
    _draw_scores(made.add_subplot(grid[0, :4]), comparison, looks)
    _draw_profiles(made.add_subplot(grid[0, 4:]), comparison, looks)
    for k, (across, label) in enumerate(zip(ACROSS, ("evaluations", "environment steps", "time (s)"), strict=True)):
        _draw_curves(made.add_subplot(grid[1, 2 * k : 2 * k + 2]), comparison, across, label, looks)
    marks: list[Any] = [(Patch(**look.bar), Line2D([], [], **look.line, linewidth=2)) for look in looks.values()]
    made.legend(marks, list(looks), loc="outside lower center", ncols=min(4, len(marks)), frameon=False)
    return made


def _draw_scores(panel: Any, comparison: Comparison, looks: Mapping[str, Look]) -> None:
    width = 0.8 / len(comparison.methods)
    for k, method in enumerate(comparison.methods):
        for at, test in enumerate(comparison.tests):
            found, place = method.score(test), at + (k - (len(comparison.methods) - 1) / 2) * width
            look = looks[method.name]
            panel.bar(place, found.value, width * 0.9, **look.bar)
            if not math.isnan(found.low):
                panel.plot([place, place], [found.low, found.high], color=look.colour, linewidth=2)
            each = [entry.scores[test] for entry in method.entries]
            panel.plot([place] * len(each), each, ".", color=style.BLACK, markersize=3, alpha=0.6)
    names = [test.replace("_", " ") for test in comparison.tests]
    panel.set_xticks(range(len(names)), names, fontsize=9, rotation=25, ha="right")
    panel.set_ylabel("mean return of a test  (bar: interquartile\nmean of the runs, line: 95 %, dot: a run)")
    style.plain(panel)


def _draw_profiles(panel: Any, comparison: Comparison, looks: Mapping[str, Look]) -> None:
    every = np.concatenate([method.table.ravel() for method in comparison.methods])
    thresholds = np.linspace(*figures.nice_range([0.0, *every.tolist()]), 201)
    for method in comparison.methods:
        panel.plot(thresholds, statistics.profile(method.table, thresholds), **looks[method.name].line, linewidth=2)
    panel.set_xlabel("mean return of a test")
    panel.set_ylabel("share of runs and tests with at least this")
    panel.set_ylim(0, 1.02)
    style.plain(panel)


def _draw_curves(panel: Any, comparison: Comparison, across: str, label: str, looks: Mapping[str, Look]) -> None:
    for method in comparison.methods:
        for entry in method.entries:
            marker = "o" if len(entry.curve["score"]) == 1 else None  # a line of one point would be invisible
            look = {**looks[method.name].line, "linewidth": 1.2, "alpha": 0.7, "marker": marker, "markersize": 4}
            panel.plot(entry.curve[across], entry.curve["score"], **look)
    scores = [np.array(entry.curve["score"]) for method in comparison.methods for entry in method.entries]
    panel.set_ylim(figures.return_range(scores))
    panel.set_xlabel(label)
    if across == ACROSS[0]:
        panel.set_ylabel("champion: mean return on the\nvalidation episodes of its own task")
    positive = [value for m in comparison.methods for e in m.entries for value in e.curve[across] if value > 0]
    if positive and max(positive) > 10 * min(positive):
        panel.set_xscale("log")
        panel.xaxis.minorticks_off()
    style.plain(panel)
