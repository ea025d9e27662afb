"""Figures of runs, tests and episodes. Each function returns a figure; `save` writes it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arz.analysis.film import kind_of
from arz.analysis.replay import PARAMETERS, Rows, changing, length
from arz.files import whole_file
from arz.tasks.cartpole import ANGLE_LIMIT, STEP, Cartpole

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
TITLE_LINES, TITLE_SIZE = 2, 14.0
MOST_NAME = 40
"""Longer names of runs and files are cut in titles."""
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
    "champion_score": ("champion", SKY, 5.0),
    "life_score": ("best of the present lives", BLACK, 1.2),
    "best_fitness": ("best", ORANGE, 0.9),
    "mean_fitness": ("mean", BLUE, 0.9),
}
"""The lines of a progress figure: name, colour, width. Later ones lie above, and let those below show beside them."""
PANELS = {
    "mean return on the\nselection episodes": ("champion_score", "life_score"),
    "fitness in the\npopulations": ("best_fitness", "mean_fitness"),
}
"""What is shown together: what champions are chosen by, and what the search sees."""
TICKS = 6
"""About so many intervals has an axis of returns."""
ROUND = (1, 2, 2.5, 5, 10)
"""What the steps of an axis begin with."""
LETTER, GAP = 0.014, 0.02
"""A letter below a progress figure, and the room between two labels: shares of the width of its panels."""
OUTLYING = 20.0
"""A value that is so many times as large as usual ones does not count for an axis."""

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
KINDS = ("png", "svg", "pdf")


def check_name(path: str | Path | None) -> None:
    """Refuses the name of a figure that cannot be written, before anything is done for it.

    Raises:
        ValueError: its suffix is of no kind that there is.
    """
    if path is not None:
        kind_of(Path(path), KINDS, "figure")


def title_of(source: str | Path, *facts: str) -> str:
    """A title: the name of a run's folder or of a file, without the way to it, and what there is to say of it."""
    name = "standard input" if str(source) == "-" else Path(source).name or Path(source).resolve().name
    return f"{shortened(name, MOST_NAME)}: {', '.join(facts)}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many letters, all of them printable: `a long na… its end`, if it has more."""
    plain_text = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(plain_text) <= most:
        return plain_text
    return f"{plain_text[: most // 2]}…{plain_text[len(plain_text) - (most - 1 - most // 2) :]}"


def highest_return(task: object) -> float | None:
    """The largest return of an episode that a task allows; None if nobody knows."""
    return float(task.steps) if isinstance(task, Cartpole) else None


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure as PNG, SVG or PDF, by the suffix of the path; all of it or nothing.

    Raises:
        ValueError: the suffix is another, or the folder does not exist.
    """
    path = Path(path)
    kind = kind_of(path, KINDS, "figure")
    dates = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}  # no date: what is equal looks equal
    with whole_file(path) as beside:
        figure.savefig(beside, format=kind, dpi=DPI, metadata=dates[kind])


def progress_figure(metrics: Mapping[str, NDArray[np.float64]], title: str, *, highest: float | None = None) -> Figure:
    """How a search went: scores and fitness against evaluations, with environment steps and time beside these.

    Args:
        metrics: equally long arrays, one value per report of the run: evaluations, steps, seconds, restarts,
            best_fitness, mean_fitness, life_score, champion_score; NaN where there is nothing to tell.
        title: of the figure.
        highest: the largest possible return, where there is one.

    Raises:
        ValueError: an array is missing, or they differ in length.
    """
    columns = _metrics(metrics)
    limits = return_range([columns[name] for name in PROGRESS], highest)
    figure = new_figure(5.8, title)
    panels = figure.subplots(2, 1, sharex=True)
    increase = np.diff(columns["restarts"])
    restarts, places = int(increase[increase > 0].sum()), np.flatnonzero(increase > 0) + 1
    x, _ = _in_units(columns["evaluations"], COUNTS)
    for panel, (label, names) in zip(panels, PANELS.items(), strict=True):
        if 0 < restarts <= MOST_RESTARTS:
            whole_height = panel.get_xaxis_transform()
            panel.vlines(x[places], 0, 1, transform=whole_height, color=GREY, linewidth=0.8, alpha=0.4, gid="restarts")
        for name in names:
            text, colour, width = PROGRESS[name]
            marker = "o" if np.count_nonzero(np.isfinite(columns[name])) == 1 else None  # a line of it is invisible
            look = {"linewidth": width, "marker": marker, "markersize": 3 + width, "color": colour}
            panel.plot(x, columns[name], label=text, gid=name, **look)
        _tell_outliers(panel, [columns[name] for name in names], limits)
        panel.set_ylim(limits)
        panel.set_xlim(0, float(x.max(initial=0.0)) or 1.0)
        panel.tick_params(axis="x", bottom=False, labelbottom=False)
        plain(panel)
        panel.set_ylabel(label)
    for number, across in enumerate(ACROSS):
        _scale(panels[-1], -0.24 * number, x, columns[across], across)
    if restarts:
        told = f"{restarts} restart{'s' * (restarts > 1)}" + ", not drawn" * (restarts > MOST_RESTARTS)
        panels[-1].plot([], [], color=GREY, linewidth=0.8 if restarts <= MOST_RESTARTS else 0.0, label=told)
        plain(panels[-1])
    return figure


def test_figure(
    results: Mapping[tuple[str, str], NDArray[np.float64]],
    title: str,
    *,
    highest: float | None = None,  # noqa: PT028 - it draws a test, and is none
) -> Figure:
    """How a policy did in a test: for each kind of change and each task, the mean and every single episode.

    Args:
        results: (change, task name) -> returns of the episodes, in the order in which they are shown.
        title: of the figure.
        highest: the largest possible return, where there is one.

    Raises:
        ValueError: there are no results, or a task has no episode.
    """
    if not results or not all(np.size(returns) for returns in results.values()):
        raise ValueError("a test figure needs the return of at least one episode for each task; run a test first.")
    changes = list(dict.fromkeys(change for change, _ in results))
    figure = new_figure(4.9, title)
    panels = figure.subplots(1, len(changes), sharey=True, squeeze=False)[0]
    limits = nice_range([0.0, *(value for each in results.values() for value in np.ravel(each))], highest)
    for panel, change in zip(panels, changes, strict=True):
        tasks = {task: np.asarray(returns, float) for (kind, task), returns in results.items() if kind == change}
        _test_panel(panel, tasks)
        panel.set_title(shortened(GROUPS.get(change, change), MOST_NAME), fontsize=12, pad=16)
        panel.set_ylim(limits)
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
    """An empty figure of the usual width; a title that does not fit on two lines is cut in the middle."""
    from matplotlib.figure import Figure

    lines = _title_lines(title)
    figure = Figure(figsize=(WIDTH, height + 0.25 * (len(lines) - 1)), dpi=DPI, layout="constrained")
    figure.suptitle("\n".join(lines), fontsize=_title_size(lines), parse_math=False)
    return figure


def _title_size(lines: Sequence[str]) -> float:
    """The size of letters with which the longest line fits into the width."""
    from matplotlib.textpath import TextPath

    drawn = [TextPath((0, 0), line.replace("$", "S"), size=TITLE_SIZE).get_extents().width for line in lines if line]
    return TITLE_SIZE * min(1.0, 0.97 * 72 * WIDTH / max([*drawn, 1.0]))


def _title_lines(title: str) -> list[str]:
    """A title on as few lines as it needs."""
    for most in range(TITLE_LINES * TITLE_WIDTH, 0, -1):
        cut = "\n".join(shortened(line, most) for line in title.split("\n"))
        lines = [part for line in cut.split("\n") for part in textwrap.wrap(line, TITLE_WIDTH) or [""]]
        if len(lines) <= max(TITLE_LINES, cut.count("\n") + 1):
            break
    return lines


def nice_range(values: Iterable[float], highest: float | None = None) -> tuple[float, float]:
    """An axis from a round number to a round number, in which these values lie; up to the highest, if there is one."""
    from matplotlib.ticker import MaxNLocator

    finite = [float(value) for value in values if np.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    is_below = highest is not None and high <= highest
    if low == high and not is_below:
        low, high = min(low, 0.0), max(high, 0.0) or 1.0
    ticks = MaxNLocator(TICKS, steps=ROUND).tick_values(low, highest if highest is not None and is_below else high)
    return (min(float(ticks[0]), low), highest if highest is not None and is_below else max(float(ticks[-1]), high))


def return_range(scores: Sequence[NDArray[np.float64]], highest: float | None = None) -> tuple[float, float]:
    """The axis of curves of returns, so that they can be seen: what lies far beyond the rest does not count.

    Args:
        scores: the champion's first; it has the best of all, and sets the scale together with what is usual.
        highest: the largest possible return, where there is one.
    """
    known = np.concatenate(scores)
    known = known[np.isfinite(known)]
    best = np.abs(scores[0][np.isfinite(scores[0])])
    size = max(float(np.median(np.abs(known))), float(best[-1:].max(initial=0.0))) if len(known) else 0.0
    usual = known[np.abs(known) <= OUTLYING * size] if size > 0 else known
    low, high = float(usual.min(initial=np.inf)), float(usual.max(initial=-np.inf))
    is_far_below = highest is None and -high > high - low
    return nice_range([low, high] if is_far_below else [low, high, 0.0], highest)


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


def _in_units(values: NDArray[np.float64], units: tuple[tuple[float, str], ...]) -> tuple[NDArray[np.float64], str]:
    """The values in the largest unit of which there are at least two, and its name."""
    most = float(values.max(initial=0.0))
    size, name = next((unit for unit in units if most >= 2 * unit[0]), units[-1])
    return values / size, name


def _scale(panel: Axes, place: float, x: NDArray[np.float64], values: NDArray[np.float64], across: str) -> None:
    """An axis below a panel: what had passed at its places; labels that would collide are left out."""
    from matplotlib.ticker import MaxNLocator

    name, units = ACROSS[across]
    shown, unit = _in_units(values, units)
    label = f"{name} ({unit})" if unit else name
    panel.text(1.02, place, label, va="center", transform=panel.transAxes, gid=f"name of {across}")
    below = panel.secondary_xaxis(place)
    below.set_gid(across)
    known = np.isfinite(shown)
    if not known.any():
        below.set_xticks([])
        return
    wanted = MaxNLocator(8, steps=ROUND).tick_values(0.0, float(shown[known].max()))
    places = np.interp(wanted, [0.0, *shown[known]], [0.0, *x[known]], right=np.nan)
    width = float(x.max(initial=0.0)) or 1.0
    kept: list[tuple[float, str]] = []
    for label, at in zip([f"{value:g}" for value in wanted], places.tolist(), strict=True):
        room = (GAP + LETTER * (len(label) + len(kept[-1][1])) / 2) * width if kept else 0.0
        if math.isfinite(at) and (not kept or at - kept[-1][0] >= room):
            kept.append((at, label))
    below.set_xticks([at for at, _ in kept], [label for _, label in kept])


def _tell_outliers(panel: Axes, scores: Sequence[NDArray[np.float64]], limits: tuple[float, float]) -> None:
    """Says how far curves go beyond the axis."""
    values = np.concatenate(scores)
    values = values[np.isfinite(values)]
    for edge, is_out, furthest, words in (
        (0.02, values < limits[0], values.min(initial=0.0), "▼ down to"),
        (0.98, values > limits[1], values.max(initial=0.0), "▲ up to"),
    ):
        if is_out.any():
            side = "bottom" if edge < 0.5 else "top"
            panel.text(
                0.99, edge, f"{words} {furthest:.3g}", ha="right", va=side, fontsize=9, transform=panel.transAxes
            )


def _test_panel(panel: Axes, tasks: Mapping[str, NDArray[np.float64]]) -> None:
    """Bars on the left half of each place, dots on the right, so that neither hides the other or the number."""
    for place, (task, returns) in enumerate(tasks.items()):
        mean = float(returns.mean())
        panel.bar(place - 0.14, mean, width=0.46, color=BLUE, gid=task)
        side = "bottom" if mean >= 0 else "top"
        panel.text(place - 0.14, mean, number(mean), ha="center", va=side, fontsize=11)
        # Steps of the golden ratio spread any number of dots evenly, without a random number.
        jitter = (np.arange(returns.size) * 0.6180339887498949) % 1.0
        beside = place + 0.14 + 0.22 * jitter
        panel.scatter(beside, returns, s=9, color=BLACK, alpha=0.3, linewidths=0, clip_on=False, gid=task)
    panel.set_xticks(range(len(tasks)), [task.replace("_", " ") for task in tasks], fontsize=11)
    panel.set_xlim(*((-1.2, 1.2) if len(tasks) == 1 else (-0.5, len(tasks) - 0.5)))  # one bar need not be as wide
    panel.tick_params(axis="x", length=0)
    panel.axhline(0, color=BLACK, linewidth=0.8)
    plain(panel)
    panel.set_axisbelow(True)


def number(value: float) -> str:
    """A return for people: whole, unless it is small."""
    return f"{value:.0f}" if abs(value) >= 10 or value == 0 else f"{value:.2g}"


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
