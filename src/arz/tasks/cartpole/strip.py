"""An episode of cartpole over time: position, angles, actions, and the parameters that change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arz.plotting.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, new_figure, plain
from arz.tasks.cartpole.film import PARAMETERS, changing, length
from arz.tasks.cartpole.task import ANGLE_LIMIT, STEP
from arz.typing import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARAMETER_COLOURS = {"force": ORANGE, "damping": GREEN, "track_angle": PURPLE, "noise": BLUE}
MOST_ACTION = 3.0
LIMIT = round(math.degrees(ANGLE_LIMIT), 6)


def strip_figure(
    rows: Record, title: str, seconds_per_step: float = STEP, *, x_limit: float | None = None, ending: str = ""
) -> Figure:
    """One episode over time: position, angles, actions, and the parameters that change, with the changes shaded.

    Args:
        rows: the record of one episode: name -> [step], NaN after the end.
        title: of the figure.
        seconds_per_step: how long a step is.
        x_limit: how far the cart may go from the middle (m).
        ending: why the episode ended, shown if it ended before its last step.

    Raises:
        ValueError: this is not the record of one episode.
    """
    steps, total = length(rows), len(rows["x"])
    windows = changing(rows)
    time = np.arange(total, dtype=np.float64) * seconds_per_step
    until = min(total, steps + max(1, steps // 8)) * seconds_per_step  # a little of what did not take place any more
    parameters = [name for name in PARAMETERS if name != "noise" or np.any(np.nan_to_num(rows["noise"]) != 0)]
    notes = len(windows) + (steps < total)
    heights = [0.34 * notes or 0.01, 1.9, 1.9, 1.9, *[0.85] * len(parameters)]
    figure = new_figure(6.0, title)
    axes = figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights})
    header, position, angle, action, *small = axes
    _position_panel(position, time, rows["x"], x_limit)
    _angle_panel(angle, time, rows)
    _action_panel(action, time, rows)
    for panel, name in zip(small, parameters, strict=True):
        shown = PARAMETERS[name]
        values = shown.scale * rows[name]
        panel.plot(time, values, color=PARAMETER_COLOURS[name], linewidth=2, drawstyle="steps-post", gid=name)
        low, high = min(np.nanmin(values), *shown.ticks), max(np.nanmax(values), *shown.ticks)
        panel.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
        panel.set_yticks(shown.ticks)
        plain(panel, f"{shown.name}\n({shown.unit})")
    _mark_changes(axes, rows, windows, seconds_per_step, until)
    if steps < total:
        _mark_end(axes, len(windows), steps * seconds_per_step, until, ending)
    header.set_ylim(max(notes, 1) - 0.5, -0.5)
    header.axis("off")
    axes[-1].set_xlim(0, until)
    axes[-1].set_xlabel("time (s)")
    figure.align_ylabels(axes[1:])
    return figure


def _limit(panel: Axes, limit: float, label: str) -> None:
    for side, name in ((limit, label), (-limit, None)):
        panel.axhline(side, color=VERMILION, linestyle="--", linewidth=1, label=name)


def _position_panel(panel: Axes, time: NDArray[np.float64], x: NDArray[np.float64], x_limit: float | None) -> None:
    panel.plot(time, x, color=BLACK, linewidth=1.4, label="cart", gid="x")
    if x_limit is not None:
        _limit(panel, x_limit, f"limit ±{x_limit:g} m")
    plain(panel, "position\n(m)")


def _angle_panel(panel: Axes, time: NDArray[np.float64], rows: Record) -> None:
    normal, vertical = np.degrees(rows["theta"]), np.degrees(rows["theta_vertical"])
    panel.plot(time, normal, color=SKY, linewidth=2.2, label="to the track's normal", gid="theta")
    panel.plot(time, vertical, color=BLACK, linewidth=1.2, label="to the vertical", gid="theta_vertical")
    _limit(panel, LIMIT, f"limit ±{LIMIT:g}° to the vertical")
    plain(panel, "pole angle\n(degrees)")


def _action_panel(panel: Axes, time: NDArray[np.float64], rows: Record) -> None:
    """Chosen above applied; a program may choose any number, but the motor takes only -1 to 1."""
    sizes = np.abs(rows["action"])
    largest = float(np.max(sizes, initial=0.0, where=~np.isnan(sizes)))
    shown = np.clip(rows["action"], -MOST_ACTION, MOST_ACTION)
    label = "chosen" if largest <= MOST_ACTION else f"chosen, cut at ±{MOST_ACTION:g}\n(largest {largest:.3g})"
    panel.plot(time, rows["applied"], color=SKY, linewidth=2.2, label="applied by the motor", gid="applied")
    panel.plot(time, shown, color=BLACK, linewidth=1.0, label=label, gid="action")
    if largest > 0.9:
        _limit(panel, 1.0, "limit ±1 of the motor")
    reach = 1.15 * min(MOST_ACTION, max(0.25, largest))
    panel.set_ylim(-reach, reach)
    plain(panel, "action\n(of full force)")


def _mark_changes(
    axes: Sequence[Axes], rows: Record, windows: Mapping[str, tuple[int, int]], step: float, end: float
) -> None:
    """Shades the time of each change in all panels, and names it in the header, one line each."""
    for line, (name, (first, last)) in enumerate(windows.items()):
        shown, colour = PARAMETERS[name], PARAMETER_COLOURS[name]
        begin, until = first * step, max(last, first + 1) * step
        for panel in axes[1:]:
            panel.axvspan(begin, until, color=colour, alpha=0.16, linewidth=0, zorder=0.4)
            for edge in {begin, until} if last > first else {begin}:
                panel.axvline(edge, color=colour, linewidth=1.4 if last == first else 0.6, zorder=0.6)
        axes[0].barh(line, until - begin, left=begin, height=0.6, color=colour, edgecolor=colour, gid=name)
        values = rows[name]
        words = f"{shown.name} {shown.value(values[first - 1])} → {shown.value(values[last])}"
        _note(axes[0], line, begin, until, end, words)


def _mark_end(axes: Sequence[Axes], line: int, time: float, end: float, ending: str) -> None:
    for panel in axes[1:]:
        panel.axvspan(time, end, color=GREY, alpha=0.22, linewidth=0, zorder=0.4)
        panel.axvline(time, color=BLACK, linewidth=1.6)
    axes[0].plot([time], [line], marker="X", color=BLACK, markersize=7, linewidth=0, clip_on=False, gid="end")
    half = 0.006 * end  # of the cross
    _note(axes[0], line, time - half, time + half, end, ending or f"The episode ended after {time:.1f} s.")


def _note(header: Axes, line: int, begin: float, until: float, end: float, words: str) -> None:
    """Words beside a bar of the header, on the side that has more room."""
    gap = 0.01 * end
    place, side = (begin - gap, "right") if begin > end - until else (until + gap, "left")
    header.text(place, line, words, ha=side, va="center", fontsize=9.5)
