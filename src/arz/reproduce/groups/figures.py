"""Figures of groups, from notes: one function for each kind, by whose name `experiments.toml` asks for it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from arz.analysis import comparison as comparisons
from arz.analysis.comparison import Comparison
from arz.analysis.comparison_tables import usual_success
from arz.plotting import style
from arz.reproduce.groups.group import Group
from arz.reproduce.groups.tables import entries_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def growth(group: Group) -> Figure:
    """The champion of each run against the steps that were spent."""
    figure = style.new_figure(4.2, "Grow and tune: mean return of the champion on validation episodes")
    shown = [("cartpole", style.BLUE, 1000.0), ("quadruped", style.ORANGE, None)]
    for panel, (name, colour, highest) in zip(figure.subplots(1, 2), shown, strict=True):
        found = group.notes(name)
        for note in found:
            panel.plot(np.array(note["curve"]["steps"]) / 1e6, note["curve"]["champion_score"], color=colour, lw=1.2)
        panel.set_xscale("log")
        panel.set_ylim(0, highest)
        panel.set_xlabel("million steps of the task")
        panel.set_title(f"{group.find(name).label}, seeds 1 to {len(found)}")
        style.plain(panel)
    return figure


def walking(group: Group) -> Figure:
    """The curves of all runs against evaluations and steps."""
    figure = style.new_figure(4.6, "Laikago leg-breaking: mean return of the champion on validation episodes")
    panels = figure.subplots(1, 2, sharey=True)
    palette = [style.BLUE, style.ORANGE, style.GREEN, style.GREY]
    palette += [style.SKY, style.PURPLE, style.VERMILION, style.BLACK]
    colours = dict(zip(group.series, itertools.cycle(palette), strict=False))
    for panel, across in zip(panels, ("evaluations", "steps"), strict=True):
        shown = set()
        for note in group.notes():
            name = note["experiment"]
            label = None if name in shown or panel is panels[0] else group.find(name).label
            shown.add(name)
            panel.plot(note["curve"][across], note["curve"]["champion_score"], color=colours[name], label=label)
        panel.set_xlabel("evaluations" if across == "evaluations" else "environment steps")
        panel.set_ylim(bottom=0)
        panel.set_xscale("log")
        style.plain(panel)
    panels[0].set_ylabel("mean return")
    return figure


def adaptation(group: Group) -> Figure:
    """All runs in one picture: a dot for each, a bar for the median of an experiment."""
    from matplotlib.figure import Figure

    names = [name for name in group.series if group.notes(name)]
    drawn = Figure(figsize=(10, 0.45 * len(names) + 1.2), dpi=150, layout="constrained")
    panel = drawn.add_subplot()
    for place, name in enumerate(reversed(names)):
        scores = [note["own"] for note in group.notes(name)]
        panel.scatter(scores, [place] * len(scores), s=36, alpha=0.6, color="#0072B2")
        panel.scatter([np.median(scores)], [place], marker="|", s=300, color="black")
    panel.set_yticks(range(len(names)), [group.find(name).label for name in reversed(names)])
    panel.set_xlabel("mean return over 1000 test episodes of its task (dot: a run, bar: median)")
    panel.set_xlim(right=1000)
    panel.grid(axis="x", alpha=0.3)
    return drawn


def compare(group: Group) -> Figure:
    """Scores, performance profiles and curves of methods side by side."""
    entries = entries_of(group)
    title = f"{len(entries)} runs, {entries[0].episodes} episodes in each test"
    return comparisons.figure(Comparison.of(entries, usual_success(entries)), title)


FIGURES: dict[str, tuple[Callable[[Group], Figure], str]] = {
    "growth": (growth, "runs.png"),
    "walking": (walking, "runs.png"),
    "adaptation": (adaptation, "runs.png"),
    "compare": (compare, "compare.png"),
}
"""What can be drawn, and in which file."""
