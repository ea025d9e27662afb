"""Figures of runs, tests and episodes. Each function returns a figure; `save` writes it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arz.analysis.film import kind_of
from arz.analysis.replay import PARAMETERS, Rows, changing, length
from arz.files import whole_file
from arz.tasks.cartpole import ANGLE_LIMIT, STEP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from arz.search.nsga2 import Front

# The colours of Okabe and Ito, which people with any common colour blindness tell apart.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#000000 #E69F00 #56B4E9 #009E73 #0072B2 #D55E00 #CC79A7".split()
GREY = "#8C8C8C"
PARAMETER_COLOURS = {"force": ORANGE, "damping": GREEN, "track_angle": PURPLE, "noise": BLUE}

DPI = 150
WIDTH = 1590 / DPI
TITLE_WIDTH = 95
"""So many characters of a title fit on a line."""
MOST_RESTARTS = 60
MOST_ACTION = 3.0
LIMIT = round(math.degrees(ANGLE_LIMIT), 6)

OBJECTIVES = {
    "return": "mean return of an episode",
    "length": "mean length of an episode (steps)",
    "distance": "mean distance (m)",
    "worst_leg": "mean return with the leg that is worst",
}
"""How objectives are spoken of."""

PROGRESS = {
    "mean_fitness": ("populations: mean fitness", SKY, 0.9),
    "best_fitness": ("populations: best fitness", ORANGE, 0.9),
    "life_score": ("selection score: best of the present lives", GREEN, 1.6),
    "champion_score": ("selection score: champion", BLACK, 2.8),
}
"""The lines of a progress figure: name, colour, width; later ones lie above."""

GROUPS = {
    "sudden": "sudden change",
    "continuous": "continuous change",
    "batched": "leg that breaks",
    "double": "leg that breaks, double precision",
    "mujoco": "leg that breaks, MuJoCo",
    "5 sweeps": "leg that breaks, 5 sweeps",
    "20 sweeps": "leg that breaks, 20 sweeps",
}
"""What the groups of a test are called."""

COUNTS = ((1e9, "billions"), (1e6, "millions"), (1e3, "thousands"), (1.0, ""))
TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
ACROSS = {"evaluations": ("evaluations", COUNTS), "steps": ("environment steps", COUNTS), "seconds": ("time", TIMES)}


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure as PNG, SVG or PDF, by the suffix of the path; all of it or nothing.

    Raises:
        ValueError: the suffix is another, or the folder does not exist.
    """
    path = Path(path)
    kind = kind_of(path, ("png", "svg", "pdf"), "figure")
    dates = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}  # no date: what is equal looks equal
    with whole_file(path) as beside:
        figure.savefig(beside, format=kind, dpi=DPI, metadata=dates[kind])


def progress_figure(metrics: Mapping[str, NDArray[np.float64]], title: str, *, highest: float | None = None) -> Figure:
    """How a search went: fitness and scores against evaluations, environment steps and time.

    Args:
        metrics: equally long arrays, one value per report of the run: evaluations, steps, seconds, restarts,
            best_fitness, mean_fitness, life_score, champion_score.
        title: of the figure.
        highest: the largest possible return; if not given, 1000 where the data look like episodes of 1000 steps, and
            as large as the data otherwise.

    Raises:
        ValueError: an array is missing, or they differ in length.
    """
    columns = _metrics(metrics)
    bottom, top = _return_range([columns[name] for name in PROGRESS], highest)
    figure = new_figure(4.9, title)
    panels = figure.subplots(1, 3, sharey=True)
    increase = np.diff(columns["restarts"])
    restarts, places = int(increase[increase > 0].sum()), np.flatnonzero(increase > 0) + 1
    for panel, (across, (label, units)) in zip(panels, ACROSS.items(), strict=True):
        x, unit = _in_units(columns[across], units)
        if 0 < restarts <= MOST_RESTARTS:
            whole_height = panel.get_xaxis_transform()
            panel.vlines(x[places], 0, 1, transform=whole_height, color=GREY, linewidth=0.8, alpha=0.5, gid="restarts")
        for name, (_, colour, width) in PROGRESS.items():
            marker = "o" if len(x) == 1 else None  # a line of one point would be invisible
            panel.plot(x, columns[name], color=colour, linewidth=width, marker=marker, markersize=2 + width, gid=name)
        panel.set_xlabel(f"{label} ({unit})" if unit else label)
        panel.set_ylim(bottom, top)
        panel.set_xlim(0, float(x.max(initial=0.0)) or 1.0)
        plain(panel)
    panels[0].set_ylabel("mean return of an episode")
    _progress_legend(figure, restarts)
    return figure


def test_figure(results: Mapping[tuple[str, str], NDArray[np.float64]], title: str) -> Figure:
    """How a policy did in a test: for each kind of change and each task, the mean and every single episode.

    Args:
        results: (change, task name) -> returns of the episodes, in the order in which they are shown.
        title: of the figure.

    Raises:
        ValueError: there are no results, or a task has no episode.
    """
    if not results or not all(np.size(returns) for returns in results.values()):
        raise ValueError("a test figure needs the return of at least one episode for each task; run a test first.")
    changes = list(dict.fromkeys(change for change, _ in results))
    figure = new_figure(4.9, title)
    panels = figure.subplots(1, len(changes), sharey=True, squeeze=False)[0]
    for panel, change in zip(panels, changes, strict=True):
        tasks = {task: np.asarray(returns, float) for (kind, task), returns in results.items() if kind == change}
        _test_panel(panel, tasks)
        panel.set_title(GROUPS.get(change, change), fontsize=12, pad=16)
        values = [value for returns in results.values() for value in (np.min(returns), np.max(returns))]
        panel.set_ylim(min(0.0, *map(float, values)), max(1000.0, *map(float, values)))
    panels[0].set_ylabel("return of an episode  (bar: mean, dot: one episode)")
    return figure


def heat_figure(grid: Mapping[str, Sequence[object]], scores: Mapping[tuple[object, ...], float], title: str) -> Figure:
    """The scores of a grid of two settings, as a map.

    Args:
        grid: the names and values of both: rows, then columns.
        scores: of each pair of values; those that are missing stay empty.
        title: of the figure.
    """
    (row_name, rows), (column_name, columns) = grid.items()
    table = np.array([[scores.get((row, column), math.nan) for column in columns] for row in rows], float)
    table[np.isinf(table)] = math.nan
    figure = new_figure(5.4, title)
    panel = figure.subplots()
    image = panel.imshow(table, cmap="viridis", aspect="auto", origin="lower")
    middle = float(np.nanmin(table) + np.nanmax(table)) / 2 if np.isfinite(table).any() else 0.0
    for (i, j), value in np.ndenumerate(table):
        if math.isfinite(value):
            panel.text(j, i, f"{value:.0f}", ha="center", va="center", color="white" if value < middle else "black")
    panel.set_xticks(range(len(columns)), [str(value) for value in columns])
    panel.set_yticks(range(len(rows)), [str(value) for value in rows])
    panel.set_xlabel(column_name.replace("_", " "))
    panel.set_ylabel(row_name.replace("_", " "))
    figure.colorbar(image, ax=panel, label="mean return")
    return figure


def front_figure(
    fronts: Sequence[Front], names: Sequence[str], title: str, at_first: Sequence[str] = ("return", "length")
) -> Figure:
    """The trade-off between the first two objectives: the last front of each island, and some before, paler.

    Args:
        fronts: of a run, in the order of time.
        names: of the objectives.
        title: of the figure.
        at_first: the objectives of the warm-up, which are shown as long as no island has ended it.

    Raises:
        ValueError: there are no fronts, or there is only one objective.
    """
    if not fronts or len(names) < 2:
        raise ValueError("a front needs at least two objectives and one generation of NSGA-II.")
    if any(front.is_warm for front in fronts):
        fronts = [front for front in fronts if front.is_warm]
    else:
        names, title = (*at_first, "return")[:2], f"{title} (warm-up)"
    figure = new_figure(5.4, title)
    panel = figure.subplots()
    islands = sorted({front.island for front in fronts})
    colours = [BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, BLACK]
    for island in islands:
        own = [front for front in fronts if front.island == island and len(front.numbers)]
        shown = sorted({round(number) for number in np.geomspace(1, len(own), 6)}) if own else []
        for number in shown:
            front = own[number - 1]
            points = front.objectives[np.argsort(front.objectives[:, 1], kind="stable")]
            is_last = number == len(own)
            colour = colours[island % len(colours)]
            label = f"after {front.evaluations:,} evaluations" if len(islands) == 1 else f"island {island + 1}, last"
            panel.plot(
                points[:, 1],
                points[:, 0],
                marker="o",
                markersize=5 if is_last else 3,
                linewidth=1.4 if is_last else 0.7,
                color=colour,
                alpha=1.0 if is_last else 0.15 + 0.45 * number / len(own),
                label=label if is_last or len(islands) == 1 else None,
                gid=f"front {island} {number}",
            )
    panel.set_xlabel(OBJECTIVES.get(names[1], f"mean return, {names[1]} breaks"))
    panel.set_ylabel(OBJECTIVES.get(names[0], f"mean return, {names[0]} breaks"))
    plain(panel)
    return figure


def strip_figure(
    rows: Rows, title: str, seconds_per_step: float = STEP, *, x_limit: float | None = None, ending: str = ""
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


def new_figure(height: float, title: str) -> Figure:
    """An empty figure of the usual width."""
    from matplotlib.figure import Figure

    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, TITLE_WIDTH) or [""]]
    more = 0.25 * (len(lines) - 1 - title.count("\n"))
    figure = Figure(figsize=(WIDTH, height + more), dpi=DPI, layout="constrained")
    figure.suptitle("\n".join(lines), fontsize=14, parse_math=False)
    return figure


def plain(panel: Axes, label: str = "") -> None:
    """Gives a panel our looks: no frame, a faint grid, the legend beside it."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)
    if label:
        panel.set_ylabel(label, rotation=0, ha="right", va="center")
    if panel.get_legend_handles_labels()[0]:  # beside the panel, where it cannot cover anything
        panel.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), frameon=False, fontsize=9, borderaxespad=0.0)


def _metrics(metrics: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    needed = (*ACROSS, "restarts", *PROGRESS)
    if missing := [name for name in needed if name not in metrics]:
        raise ValueError(f"the metrics of a run need {', '.join(missing)}; there are only {', '.join(metrics)}.")
    columns = {name: np.asarray(metrics[name], np.float64) for name in needed}
    if len({column.shape for column in columns.values()}) != 1:
        sizes = ", ".join(f"{name} {column.size}" for name, column in columns.items())
        raise ValueError(f"the metrics of a run must be equally long, but have these lengths: {sizes}.")
    scores = {name: np.where(np.isfinite(columns[name]), columns[name], np.nan) for name in PROGRESS}
    return columns | scores


def _return_range(columns: Sequence[NDArray[np.float64]], highest: float | None) -> tuple[float, float]:
    values = np.concatenate([*columns, [0.0]])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if highest is None:
        highest = 1000.0 if 200 < high <= 1000 else 1.05 * high or 1.0
    return 1.05 * low, max(highest, high)


def _in_units(values: NDArray[np.float64], units: tuple[tuple[float, str], ...]) -> tuple[NDArray[np.float64], str]:
    """The values in the largest unit of which there are at least two, and its name."""
    most = float(values.max(initial=0.0))
    size, name = next((unit for unit in units if most >= 2 * unit[0]), units[-1])
    return values / size, name


def _progress_legend(figure: Figure, restarts: int) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=colour, linewidth=width) for _, colour, width in reversed(PROGRESS.values())]
    labels = [label for label, *_ in reversed(PROGRESS.values())]
    if restarts:
        lines.append(Line2D([], [], color=GREY, linewidth=0.8 if restarts <= MOST_RESTARTS else 0.0))
        labels.append(f"{restarts} restart{'s' * (restarts > 1)}" + ", not drawn" * (restarts > MOST_RESTARTS))
    room = {"columnspacing": 1.2, "handlelength": 1.6, "fontsize": 9}  # all on one line
    figure.legend(lines, labels, loc="outside lower center", ncols=len(lines), frameon=False, **room)


def _test_panel(panel: Axes, tasks: Mapping[str, NDArray[np.float64]]) -> None:
    """Bars on the left half of each place, dots on the right, so that neither hides the other or the number."""
    for place, (task, returns) in enumerate(tasks.items()):
        mean = float(returns.mean())
        panel.bar(place - 0.14, mean, width=0.46, color=BLUE, gid=task)
        panel.text(place - 0.14, mean, f"{mean:.0f}", ha="center", va="bottom", fontsize=11)
        # Steps of the golden ratio spread any number of dots evenly, without a random number.
        jitter = (np.arange(returns.size) * 0.6180339887498949) % 1.0
        beside = place + 0.14 + 0.22 * jitter
        panel.scatter(beside, returns, s=9, color=BLACK, alpha=0.3, linewidths=0, clip_on=False, gid=task)
    panel.set_xticks(range(len(tasks)), [task.replace("_", " ") for task in tasks], fontsize=11)
    panel.tick_params(axis="x", length=0)
    plain(panel)
    panel.set_axisbelow(True)


def _limit(panel: Axes, limit: float, label: str) -> None:
    for side, name in ((limit, label), (-limit, None)):
        panel.axhline(side, color=VERMILION, linestyle="--", linewidth=1, label=name)


def _position_panel(panel: Axes, time: NDArray[np.float64], x: NDArray[np.float64], x_limit: float | None) -> None:
    panel.plot(time, x, color=BLACK, linewidth=1.4, label="cart", gid="x")
    if x_limit is not None:
        _limit(panel, x_limit, f"limit ±{x_limit:g} m")
    plain(panel, "position\n(m)")


def _angle_panel(panel: Axes, time: NDArray[np.float64], rows: Rows) -> None:
    normal, vertical = np.degrees(rows["theta"]), np.degrees(rows["theta_vertical"])
    panel.plot(time, normal, color=SKY, linewidth=2.2, label="to the track's normal", gid="theta")
    panel.plot(time, vertical, color=BLACK, linewidth=1.2, label="to the vertical", gid="theta_vertical")
    _limit(panel, LIMIT, f"limit ±{LIMIT:g}° to the vertical")
    plain(panel, "pole angle\n(degrees)")


def _action_panel(panel: Axes, time: NDArray[np.float64], rows: Rows) -> None:
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
    axes: Sequence[Axes], rows: Rows, windows: Mapping[str, tuple[int, int]], step: float, end: float
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
