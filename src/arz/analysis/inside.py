"""Figures of an episode from inside: registers, calls, actions and states over time, with what changed in the world."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from arz.analysis.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, new_figure, plain
from arz.explain.ablation import Ablation
from arz.explain.traces import Inside
from arz.tasks.any_environment import AnyEnvironment
from arz.tasks.quadruped import LEGS, NUMBERS, Quadruped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANGE_COLOURS = (VERMILION, GREEN, PURPLE, ORANGE)
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, BLACK, GREY)
LINES = (BLACK, ORANGE, SKY, GREEN, PURPLE)
MOST_PANELS = 18
MOST_ENTRIES = 6
"""The entries of longer vectors are not named."""
AROUND = 100
"""So many steps on either side of the change are shown closely."""
MOST_NAME = 60
CHOICE = "worth of each action:\nthe largest is done"


def registers_figure(inside: Inside, title: str) -> Figure:
    """Each register that varies, over time; vectors with a line for each entry."""
    varying = {n: v for n, v in inside.registers.items() if v.ndim < 3 and not np.all(v == v[:1]) and n != "action"}
    remembered = [name for name in varying if name in inside.remembered]
    shown = [*remembered, *(name for name in varying if name not in remembered)][:MOST_PANELS]
    columns = 2 if len(shown) > 3 else 1
    rows = max(1, -(-len(shown) // columns))
    figure = new_figure(1.4 + 1.35 * rows, title)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, squeeze=False)).ravel()
    time = np.arange(inside.steps) * inside.seconds
    periods = {phase: inside.periods(*steps) for phase, steps in inside.phases.items()}
    for panel, name in zip(panels, shown, strict=False):
        values = varying[name]
        many = values.ndim > 1
        label = [f"[{k}]" for k in range(values.shape[1])] if many and values.shape[1] <= MOST_ENTRIES else None
        panel.plot(time, values, color=None if many else BLACK, linewidth=0.8 if many else 1.1, alpha=0.8, label=label)
        carried = " (remembered)" if name in remembered else ""
        found = [
            f"{of[name].steps * inside.seconds:.2f} {inside.unit} {phase}"
            for phase, of in periods.items()
            if name in of
        ]
        period = f", period {', '.join(found)}".rstrip() if found else ""
        panel.set_title(f"{name}{carried}{period}", fontsize=9, loc="left")
        _mark(panel, inside, labels=panel is panels[0])
        plain(panel)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    for panel in panels[max(0, len(shown) - columns) : len(shown)]:
        panel.set_xlabel(f"time ({inside.unit})")
        panel.tick_params(labelbottom=True)
    left = len(varying) - len(shown)
    if left:
        figure.supxlabel(f"{left} more registers vary: see the table of the trace", fontsize=9)
    return figure


def calls_figure(inside: Inside, title: str) -> Figure:
    """In which steps each call was done: the paper's call sequence."""
    names = list(inside.calls)
    figure = new_figure(1.6 + 0.26 * max(3, len(names)), title)
    panel = figure.subplots()
    for row, name in enumerate(names):
        at = np.flatnonzero(inside.calls[name]) * inside.seconds
        colour = BLUE if name in inside.observing else BLACK
        panel.plot(at, np.full(len(at), row), "|", color=colour, markersize=7, markeredgewidth=0.8)
    shown = [name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…" for name in names]
    panel.set_yticks(range(len(names)), shown, fontsize=7, family="monospace")
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_xlim(0, inside.steps * inside.seconds)
    panel.set_xlabel(
        f"time ({inside.unit}); a mark for each step in which the condition held (blue: it looks at the observation)"
    )
    _mark(panel, inside)
    plain(panel)
    return figure


def actions_figure(inside: Inside, title: str) -> Figure:
    """The actions over the whole episode, and closely around the first change."""
    actions = inside.episode.actions
    task = inside.episode.task
    is_robot, is_box = isinstance(task, Quadruped), not isinstance(task, AnyEnvironment) or task.about.is_box
    if is_robot:
        groups = {leg: [3 * k + j for j in range(3)] for k, leg in enumerate(LEGS)}
        names = NUMBERS["joint_names"]
    else:
        groups, names = {"action": list(range(actions.shape[1]))}, [f"action[{k}]" for k in range(actions.shape[1])]
    at, most = inside.first_change, task.most_action
    figure = new_figure(1.3 + 1.6 * max(2, len(groups)), title)
    panels = figure.subplots(len(groups), 2 if at is not None else 1, squeeze=False, sharey="row")
    time = np.arange(inside.steps) * inside.seconds
    for row, (group, members) in enumerate(groups.items()):
        for column, panel in enumerate(panels[row]):
            for n, (colour, k) in enumerate(zip(cycle(LINES), members, strict=False)):
                beneath = 0.8 * (len(members) - 1 - n) if len(members) <= len(LINES) else 0.0  # equal lines show all
                panel.plot(time, actions[:, k], color=colour, linewidth=(0.7 if column == 0 else 1.2) + beneath)
            if np.nanmax(np.abs(actions), initial=0.0) > most:
                for limit in (-most, most):
                    panel.axhline(limit, color=GREY, linestyle=":", linewidth=1.0)
            _mark(panel, inside, labels=row == 0 and column == 0)
            if column == 1 and at is not None:
                panel.set_xlim((at - AROUND) * inside.seconds, (at + AROUND) * inside.seconds)
            plain(panel)
        panels[row][0].set_ylabel(f"{group}: action (rad)" if is_robot else "action" if is_box else CHOICE)
    for panel in panels[-1]:
        panel.set_xlabel(f"time ({inside.unit})")
    if at is not None:
        panels[0][1].set_title("around the first change", fontsize=10)
    lines = [panels[0][0].plot([], [], color=colour)[0] for colour, _ in zip(cycle(LINES), names, strict=False)]
    shown = dict(zip(names, lines, strict=False)) if actions.shape[1] > 1 else {}
    if np.nanmax(np.abs(actions), initial=0.0) > most:
        shown["what the motors take, at most"] = panels[0][0].plot([], [], color=GREY, linestyle=":")[0]
    if shown:
        figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=5, frameon=False)
    return figure


def states_figure(inside: Inside, title: str) -> Figure:
    """The combinations of conditions that look at the observation, over time: the paper's state trajectory."""
    figure = new_figure(3.6, title)
    panel = figure.subplots()
    time = np.arange(inside.steps) * inside.seconds
    panel.step(time, inside.states, where="post", color=BLACK, linewidth=0.8)
    count = int(inside.states.max()) + 1
    panel.set_yticks(range(count), [f"{k + 1}: {inside.combination(k)}" for k in range(count)], fontsize=8)
    panel.set_ylabel("state: which of the conditions\nthat look at the observation hold")
    panel.set_xlabel(f"time ({inside.unit})")
    panel.set_xlim(0, inside.steps * inside.seconds)
    _mark(panel, inside)
    plain(panel)
    return figure


def _mark(panel: Any, inside: Inside, labels: bool = True) -> None:
    """What changed in the world: a line where it jumped, a band while it moved."""
    for change, colour in zip(inside.changes, cycle(CHANGE_COLOURS), strict=False):
        first, last = change.first * inside.seconds, change.last * inside.seconds
        if first == last:
            panel.axvline(first, color=colour, linewidth=1.6)
        else:
            panel.axvspan(first, last, color=colour, alpha=0.15, linewidth=0)
    if labels:
        for row, (change, colour) in enumerate(zip(inside.changes, cycle(CHANGE_COLOURS), strict=False)):
            verb = "" if change.name.endswith("breaks") else (" jumps" if change.first == change.last else " changes")
            panel.text(
                change.first * inside.seconds, 1.02 + 0.13 * row, f" {change.name}{verb}", color=colour, fontsize=9,
                transform=panel.get_xaxis_transform(), clip_on=False,
            )  # fmt: skip


def kernel_figure(kernel: Any, inputs: Sequence[str], title: str) -> Figure:
    """How much each input counts for an action, some steps later: [lag, action, input]."""
    actions = kernel.shape[1]
    figure = new_figure(1.5 + 2.4 * actions, title)
    panels = figure.subplots(actions, 1, squeeze=False, sharex=True)[:, 0]
    for k, panel in enumerate(panels):
        for j, name in enumerate(inputs):
            panel.plot(
                kernel[:, k, j], color=COLOURS[j % len(COLOURS)], linewidth=1.5, marker=".", markersize=4, label=name
            )
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.set_ylabel("weight in the action" if actions == 1 else f"weight in action[{k}]")
        plain(panel)
    panels[-1].set_xlabel("steps since the input")
    return figure


def ablation_figure(found: Ablation, title: str) -> Figure:
    """The score without each part; the line is that of the whole program."""
    names = [part.name if part.kind != "register" else f"memory: {part.name}" for part in found.parts]
    names = [
        f"f{p.function - 1}: {n}" if p.kind == "line" and p.function else n
        for p, n in zip(found.parts, names, strict=True)
    ]
    shown = [name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…" for name in names]
    figure = new_figure(1.6 + 0.24 * max(4, len(names)), title)
    panel = figure.subplots()
    colours = {"line": SKY, "register": ORANGE, "function": GREEN}
    scores = [part.score for part in found.parts]
    panel.barh(range(len(names)), scores, color=[colours[part.kind] for part in found.parts], height=0.75)
    panel.axvline(found.score, color=BLACK, linewidth=1.4)
    panel.text(found.score, -0.9, f"the whole program: {found.score:.0f} ", ha="right", va="bottom", fontsize=9)
    panel.set_yticks(range(len(names)), shown, fontsize=8, family="monospace")
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.set_xlabel(
        "mean return without it (blue: a line, orange: a register that forgets from step to step, green: a function)"
    )
    plain(panel)
    panel.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    return figure
