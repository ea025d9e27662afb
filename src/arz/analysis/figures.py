"""Figures of runs and tests. Each function returns a figure; `arz.plotting.style.save` writes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arz.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    MOST_NAME,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    new_figure,
    number_text,
    plain,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from arz.search.pareto import Front

MOST_RESTARTS = 60

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
    "mean return on the\nvalidation episodes": ("champion_score", "life_score"),
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
        panel.text(place - 0.14, mean, number_text(mean), ha="center", va=side, fontsize=11)
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
