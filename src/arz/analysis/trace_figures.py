"""Figures of an episode from inside: registers, calls, actions and states over time, with what changed in the world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.explain.ablation import Ablation
from arz.explain.linear import Closed
from arz.explain.traces import Inside
from arz.plotting.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, new_figure, plain
from arz.tasks import Task

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
KERNEL_STEPS = 60
"""So many steps of a kernel are shown."""


def varying(inside: Inside) -> dict[str, Any]:
    """The registers that vary, those that remember first; the action has a figure of its own."""
    drawn = {n: v for n, v in inside.registers.items() if v.ndim < 3 and n != "action" and np.any(np.isfinite(v))}
    found = {name: values for name, values in drawn.items() if not np.all(values == values[:1])}
    return dict(sorted(found.items(), key=lambda item: item[0] not in inside.remembered))


def registers_figure(inside: Inside, title: str) -> Figure:
    """Each register that varies, over time; vectors with a line for each entry."""
    registers = varying(inside)
    shown = list(registers)[:MOST_PANELS]
    columns = 2 if len(shown) > 3 else 1
    rows = max(1, -(-len(shown) // columns))
    figure = new_figure(1.8 + 1.35 * rows, title)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, squeeze=False)).ravel()
    time = np.arange(inside.steps) * inside.seconds
    periods = {phase: inside.periods(*steps) for phase, steps in inside.phases.items()}
    for panel, name in zip(panels, shown, strict=False):
        values = registers[name]
        entries = values.shape[1] if values.ndim > 1 else 1
        label = [f"[{k}]" for k in range(entries)] if 1 < entries <= MOST_ENTRIES else None
        look = {"color": BLACK, "linewidth": 1.1} if entries == 1 else {"linewidth": 0.8}
        panel.plot(time, values, alpha=0.8, label=label, **look)
        remarks = [f"{entries} entries"] if entries > MOST_ENTRIES else []
        remarks += ["remembered"] if name in inside.remembered else []
        remarks += [
            f"period {of[name].steps * inside.seconds:.2f} {inside.unit} {phase}".rstrip()
            for phase, of in periods.items()
            if name in of
        ]
        holes = int(np.sum(~np.all(np.isfinite(values.reshape(inside.steps, -1)), axis=1)))
        remarks += [f"not finite in {holes} steps"] if holes else []
        panel.set_title(f"{name} ({', '.join(remarks)})" if remarks else name, fontsize=9, loc="left")
        _mark(panel, inside)
        plain(panel)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    for panel in panels[max(0, len(shown) - columns) : len(shown)]:
        panel.set_xlabel(f"time ({inside.unit})")
        panel.tick_params(labelbottom=True)
    left = len(registers) - len(shown)
    figure.supylabel(
        "value at the end of each step" + (f" ({left} more vary: see trace.csv)" if left else ""), fontsize=9
    )
    _legend(figure, inside)
    return figure


def calls_figure(inside: Inside, title: str) -> Figure:
    """In which steps each call was done: the paper's call sequence."""
    names = list(inside.calls)
    figure = new_figure(2.0 + 0.26 * max(3, len(names)), title)
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
    _legend(figure, inside)
    return figure


def actions_figure(inside: Inside, title: str) -> Figure:
    """The actions as the task applies them, over the whole episode, and closely around the first change."""
    strips, at = _strips(inside), inside.first_change
    figure = new_figure(1.5 + 1.6 * max(2, len(strips)), title)
    panels = figure.subplots(len(strips), 2 if at is not None else 1, squeeze=False)
    time = np.arange(inside.steps) * inside.seconds
    for row, strip in enumerate(strips):
        count = strip.values.shape[1]
        for column, panel in enumerate(panels[row]):
            first, last = (max(at - AROUND, 0), at + AROUND) if column and at is not None else (0, inside.steps)
            near = slice(first, last)
            for n, colour in zip(range(count), cycle(LINES), strict=False):
                beneath = 0.5 * (count - 1 - n) if count <= len(LINES) else 0.0  # equal lines show all
                look = {"color": colour, "linewidth": (1.2 if column else 0.7) + beneath, "drawstyle": strip.style}
                look |= {"marker": "o"} if inside.steps == 1 else {}  # a line of one point would be invisible
                panel.plot(time[near], strip.values[near, n], gid=f"{strip.label} {n}", **look)
            for limit in strip.limits:
                panel.axhline(limit, color=GREY, linestyle=":", linewidth=1.0)
            if strip.ticks:
                panel.set_yticks(strip.ticks)
            _mark(panel, inside)
            panel.set_xlim(first * inside.seconds, min(last, inside.steps) * inside.seconds)
            plain(panel)
        panels[row][0].set_ylabel(strip.label)
    for panel in panels[-1]:
        panel.set_xlabel(f"time ({inside.unit})")
    if at is not None:
        panels[0][1].set_title("around the first change", fontsize=10)
    names = strips[-1].names
    lines = [panels[0][0].plot([], [], color=colour)[0] for _, colour in zip(names, cycle(LINES), strict=False)]
    shown = dict(zip(names, lines, strict=True)) if len(names) > 1 else {}
    cut = _clipped(inside)
    if cut and any(strip.limits for strip in strips):
        dotted = panels[0][0].plot([], [], color=GREY, linestyle=":")[0]
        shown[f"the program asks for more in {cut} of {inside.steps} steps: clipped"] = dotted
    _legend(figure, inside, shown)
    return figure


@dataclass(frozen=True)
class _Strip:
    """What one row of the figure of actions shows."""

    label: str
    names: Sequence[str]
    values: NDArray[np.float64]
    """[step, line]"""
    limits: tuple[float, ...] = ()
    """Where actions are clipped, if any is."""
    style: str = "default"
    ticks: Sequence[int] = ()


def _strips(inside: Inside) -> list[_Strip]:
    """The rows: one for each leg of a robot; for a choice, what is done, and what each action is worth."""
    task, chosen = inside.episode.task, inside.episode.actions
    done, first = task.applied(chosen), task.first_choice
    names = [name for group in task.action_groups for name in group.names]
    if first is not None:
        ticks = range(first, first + len(names)) if len(names) <= MOST_ENTRIES else ()
        return [
            _Strip("the action\nthat is done", ["action"], done, style="steps-post", ticks=ticks),
            _Strip("worth of each action:\nthe largest is done", names, _drawable(chosen)),
        ]
    limits = _limits(task) if _clipped(inside) else ()
    ends = np.cumsum([len(group.names) for group in task.action_groups])[:-1]
    parts = np.split(done, ends, axis=1)
    return [
        _Strip(group.label, group.names, part, limits) for group, part in zip(task.action_groups, parts, strict=True)
    ]


def _clipped(inside: Inside) -> int:
    """In how many steps some action was beyond what the task takes."""
    given, (low, high) = inside.episode.actions, inside.episode.task.bounds
    return int(np.sum(np.any((given < low) | (given > high), axis=1)))


def _drawable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same with infinite ones at the edges of the finite ones, a little beyond."""
    known = values[np.isfinite(values)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
    beyond = 0.1 * (high - low) or 1.0
    return np.clip(values, low - beyond, high + beyond) if np.any(np.isinf(values)) else values


def _limits(task: Task) -> tuple[float, ...]:
    """Between which actions are taken as they are; nothing where that is not the same for all entries."""
    low, high = task.bounds
    is_even = np.all(low == low[0]) and np.all(high == high[0])
    return tuple(limit for limit in (float(low[0]), float(high[0])) if np.isfinite(limit)) if is_even else ()


def states_figure(inside: Inside, title: str) -> Figure:
    """The combinations of conditions that look at the observation, over time: the paper's state trajectory."""
    figure = new_figure(4.0, title)
    panel = figure.subplots()
    time = np.arange(inside.steps) * inside.seconds
    panel.step(time, inside.states, where="post", color=BLACK, linewidth=0.8)
    count = int(inside.states.max()) + 1
    panel.set_yticks(range(count), [f"{k}: {inside.combination(k)}" for k in range(count)], fontsize=8)
    panel.set_ylabel("state: which of the conditions\nthat look at the observation hold")
    lines = ", ".join(name.split(":")[0] for name in inside.observing)
    panel.set_xlabel(f"time ({inside.unit}); the digits of a state are the conditions of lines {lines} (1: it holds)")
    panel.set_xlim(0, inside.steps * inside.seconds)
    _mark(panel, inside)
    plain(panel)
    _legend(figure, inside)
    return figure


def _changes(inside: Inside) -> Iterator[tuple[Any, str]]:
    """What changed in the world, and its colour."""
    return zip(inside.changes, cycle(CHANGE_COLOURS), strict=False)


def _mark(panel: Any, inside: Inside) -> None:
    """What changed in the world: a line where it jumped, a band while it moved."""
    for change, colour in _changes(inside):
        first, last = change.first * inside.seconds, change.last * inside.seconds
        if first == last:
            panel.axvline(first, color=colour, linewidth=1.6)
        else:
            panel.axvspan(first, last, color=colour, alpha=0.15, linewidth=0)


def _legend(figure: Figure, inside: Inside, lines: dict[str, Any] | None = None) -> None:
    """Below the panels: the lines that they share, and what changed when."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = dict(lines or {})
    for change, colour in _changes(inside):
        is_jump = change.first == change.last
        verb = "" if change.name.endswith("breaks") else " jumps" if is_jump else " changes"
        if inside.unit == "s":
            when = " to ".join(f"{step * inside.seconds:.2f} s" for step in dict.fromkeys((change.first, change.last)))
        else:
            when = "step " + " to ".join(map(str, dict.fromkeys((change.first, change.last))))
        when = f"at {when}" if is_jump else f"from {when}"
        mark = Line2D([], [], color=colour, linewidth=1.6) if is_jump else Patch(color=colour, alpha=0.15, linewidth=0)
        shown[f"{change.name}{verb} {when}"] = mark
    if shown:
        columns = 3 if max(map(len, shown)) > 24 else 5
        figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=columns, frameon=False)


def kernel_figure(closed: Closed, inputs: Sequence[str], title: str) -> Figure:
    """How much each input counts for an action, some steps later; beside it the same closely, where little is left.

    What is kept for ever, as an integral keeps it, is a dashed line, and its value stands beside the name of the input.
    """
    kernel, limit = closed.kernel(KERNEL_STEPS), closed.limit
    figure = new_figure(1.5 + 2.4 * closed.actions, title)
    panels = figure.subplots(closed.actions, 2, squeeze=False, sharex="col")
    for k, (whole, near) in enumerate(panels):
        for j, name in enumerate(inputs):
            stays = float(limit[k, j]) if limit is not None else 0.0
            width = 1.2 + 0.9 * max(0, min(len(inputs), MOST_ENTRIES) - 1 - j)  # so that equal lines show all
            look = {"color": COLOURS[j % len(COLOURS)], "linewidth": width}
            whole.plot(kernel[:, k, j], **look)
            near.plot(kernel[:, k, j], label=f"{name}: {stays:.2g} stays" if stays else name, gid=name, **look)
            if stays:
                near.axhline(stays, color=look["color"], linestyle="--", linewidth=1.0, gid=f"{name} stays")
        near.set_ylim(_late_range(kernel[:, k]))
        whole.set_ylabel("weight in the action" if closed.actions == 1 else f"weight in action[{k}]")
        for panel in (whole, near):
            panel.axhline(0, color=GREY, linewidth=0.8)
            panel.set_xlim(0, KERNEL_STEPS - 1)
            plain(panel)
    panels[0][1].set_title("closely", fontsize=10)
    for panel in panels[-1]:
        panel.set_xlabel("steps since the input")
    return figure


def _late_range(kernel: NDArray[np.float64]) -> tuple[float, float]:
    """An axis for what is left of a kernel [lag, input] once its beginning is over."""
    late = kernel[len(kernel) // 6 :]
    low, high = min(0.0, float(late.min())), max(0.0, float(late.max()))
    margin = 0.4 * (high - low) or 1.0
    return low - margin, high + margin


def ablation_figure(found: Ablation, title: str) -> Figure:
    """What the score loses without each part."""
    names = [part.name if part.kind != "register" else f"memory: {part.name}" for part in found.parts]
    names = [
        f"f{p.function - 1}: {n}" if p.kind == "line" and p.function else n
        for p, n in zip(found.parts, names, strict=True)
    ]
    shown = [name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…" for name in names]
    figure = new_figure(
        2.0 + 0.24 * max(4, len(names)), f"{title}\nmean return of the whole program: {found.score:.1f}"
    )
    panel = figure.subplots()
    colours = {"line": SKY, "register": ORANGE, "function": GREEN}
    texts = {"line": "a line, left out", "register": "a register that forgets", "function": "a function, never called"}
    for kind in dict.fromkeys(part.kind for part in found.parts):
        rows = [row for row, part in enumerate(found.parts) if part.kind == kind]
        lost = [found.worth(found.parts[row]) for row in rows]
        panel.barh(rows, lost, color=colours[kind], height=0.75, label=texts[kind])
    panel.axvline(0, color=BLACK, linewidth=1.0)
    panel.set_yticks(range(len(names)), shown, fontsize=8, family="monospace")
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.set_xlabel("mean return that is lost without it")
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.6)
    return figure
