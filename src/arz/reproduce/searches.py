"""Items that look at searches: how they went, and which trade-offs they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.analysis import figures, statistics
from arz.analysis.comparison import COLOURS
from arz.plotting import style
from arz.reproduce.plan import Item, titled
from arz.reproduce.scores import LEVEL
from arz.reproduce.table import Row, Rows, markdown, matching, rounded, values
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, PARTLY, Finding, untestable
from arz.reproduce.work import Work
from arz.runs.run import Run
from arz.search.pareto import ranks
from arz.tasks.quadruped import IDLE_LENGTH, IDLE_RETURN
from arz.typing import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 60
"""Of a curve that is kept."""
NOISE = 10.0
"""About so much a score on the validation episodes is off by chance."""
SPAN = 0.1
"""A trade-off is one if each objective moves by this share of its largest value."""
EARLY = 10
"""The generation that counts as early."""


def _picked(count: int) -> NDArray[np.int64]:
    """At most so many numbers of rows, spread evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(np.int64))


# ---- progress ----


def measure_progress(work: Work) -> Rows:
    """The champion's score on the validation episodes, over each run."""
    rows: list[Row] = []
    for experiment, seed, run in work.runs():
        metrics = run.metrics
        for at in _picked(len(metrics["evaluations"])) if metrics else ():
            rows.append(
                {
                    "method": experiment.label,
                    "seed": seed,
                    "evaluations": int(metrics["evaluations"][at]),
                    "steps": int(metrics["steps"][at]),
                    "seconds": rounded(metrics["seconds"][at], 1),
                    "score": rounded(metrics["champion_score"][at], 1),
                }
            )
    return rows


def _curve(rows: Rows, method: str, seed: int) -> tuple[Floats, Floats]:
    """Evaluations and scores of a run."""
    own = [row for row in matching(rows, method=method, seed=seed) if row["score"] is not None]
    return np.array([row["evaluations"] for row in own], float), np.array([row["score"] for row in own], float)


def _at(rows: Rows, method: str, seed: int, places: Floats) -> Floats:
    """The scores that a run had after so many evaluations."""
    evaluations, scores = _curve(rows, method, seed)
    return np.asarray(scores[np.searchsorted(evaluations, places, side="right") - 1])


def _common(rows: Rows, methods: Sequence[str]) -> Floats:
    """Numbers of evaluations at which all runs of these methods have a champion, and go on."""
    curves = [_curve(rows, name, seed)[0] for name in methods for seed in _seeds(rows, name)]
    return np.linspace(max(curve[0] for curve in curves), min(curve[-1] for curve in curves), 200)


def _ends(rows: Rows, method: str) -> list[float]:
    """The last score of each run."""
    return [float(_curve(rows, method, seed)[1][-1]) for seed in _seeds(rows, method)]


def _seeds(rows: Rows, method: str) -> list[int]:
    return [seed for seed in values(matching(rows, method=method), "seed") if len(_curve(rows, method, seed)[0])]


def is_faster(rows: Rows, first: str, second: str) -> Finding:
    """The scores of one method are higher than another's, on the average over equally many evaluations."""
    if any(len(_seeds(rows, name)) < 2 for name in (first, second)):
        return untestable("at least two runs of each method are needed")
    places = _common(rows, (first, second))
    means = {
        name: [float(_at(rows, name, seed, places).mean()) for seed in _seeds(rows, name)] for name in (first, second)
    }
    p, wins = statistics.mann_whitney(means[first], means[second]), statistics.superiority(means[first], means[second])
    ahead = np.mean(means[first]) > np.mean(means[second]) and wins > 0.5
    verdict = CONFIRMED if ahead and p < LEVEL else PARTLY if ahead else NOT_CONFIRMED
    ours = f"{first} {np.mean(means[first]):.0f}, {second} {np.mean(means[second]):.0f}"
    why = (
        f"mean score of the best so far over the first {places[-1]:,.0f} evaluations; a run of the first is ahead "
        f"{wins:.0%} of the time (p = {p:.2g}, {len(means[first])} and {len(means[second])} runs)"
    )
    return Finding(verdict, ours, why)


def has_best(rows: Rows, first: str, second: str) -> Finding:
    """The best run of all is one of the first method, by more than what a score is off by chance."""
    ends = {name: _ends(rows, name) for name in (first, second)}
    if not all(ends.values()):
        return untestable("there are no runs with a champion")
    ahead = max(ends[first]) - max(ends[second])
    verdict = CONFIRMED if ahead > NOISE else PARTLY if ahead > 0 else NOT_CONFIRMED
    ours = f"{first} {max(ends[first]):.0f}, {second} {max(ends[second]):.0f}"
    return Finding(verdict, ours, f"the best of {len(ends[first])} and of {len(ends[second])} runs")


def exceeds(rows: Rows, method: str, least: float) -> Finding:
    """Some run of a method has more than this."""
    ends = _ends(rows, method)
    if not ends:
        return untestable("there are no runs with a champion")
    hits = sum(end > least for end in ends)
    ours = ", ".join(f"{end:.0f}" for end in sorted(ends, reverse=True))
    return Finding(CONFIRMED if hits else NOT_CONFIRMED, ours, f"{hits} of {len(ends)} runs have more than {least:g}")


def draw_progress(item: Item, rows: Rows) -> Figure:
    """Each run as a thin line, and the mean of each method as a thick one, against evaluations."""
    groups = item.options["panels"]
    figure = style.new_figure(5.2, titled(item))
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for panel, (name, methods) in zip(panels, groups.items(), strict=True):
        for method, colour in zip(methods, COLOURS[1:], strict=False):
            seeds = _seeds(rows, method)
            for seed in seeds:
                panel.plot(*_curve(rows, method, seed), color=colour, linewidth=0.8, alpha=0.6)
            if seeds:
                places = _common(rows, [method])
                mean = np.mean([_at(rows, method, seed, places) for seed in seeds], axis=0)
                panel.plot(places, mean, color=colour, linewidth=3, label=f"{method} ({len(seeds)} runs)")
        panel.set_title(name, fontsize=11)
        panel.set_xlabel("programs evaluated (thousands)")
        panel.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}")
        style.plain(panel)
        if panel.get_legend() is not None:
            panel.legend(loc="upper left", frameon=False, fontsize=9)
    panels[0].set_ylabel("best so far: mean return on the selection\nepisodes (thin: a run, thick: mean)")
    return figure


def progress_tables(item: Item, rows: Rows) -> str:
    """Where each run ended."""
    cells = [
        [method, seed, *(f"{matching(rows, method=method, seed=seed)[-1][name]:,.0f}" for name in NUMBERS)]
        for method in values(rows, "method")
        for seed in _seeds(rows, method)
    ]
    return "Every run, at its end:\n\n" + markdown(["method", "seed", *NUMBERS], cells)


NUMBERS = ("evaluations", "steps", "seconds", "score")


# ---- fronts ----


def measure_fronts(work: Work) -> Rows:
    """The last front, all islands together, of the run of each experiment with the best champion."""
    rows: list[Row] = []
    for experiment in work.item.experiments:
        best = work.best(experiment.name)
        if best is None:
            continue
        for _, seed, run in work.runs(experiment.name):
            if seed == best[0]:
                names = run.config.fitness.objectives
                for point in _last_front(run):
                    rows.append(
                        {
                            "method": experiment.label,
                            "seed": seed,
                            "return": rounded(point[0], 1),
                            "second": names[1],
                            "value": rounded(point[1], 1),
                        }
                    )
    return rows


def _last_front(run: Run) -> Floats:
    """What nobody beats among the last fronts of all islands that are through with their warm-up, if any is."""
    last = {front.island: front for front in run.fronts}
    shown = [front for front in last.values() if front.is_warm] or list(last.values())
    if not shown:
        return np.zeros((0, 2))
    points = np.unique(np.concatenate([front.objectives[:, :2] for front in shown]), axis=0)
    return np.asarray(points[ranks(points) == 0])


def is_varied(rows: Rows, method: str, least: int) -> Finding:
    """A front has several policies that trade one objective for the other."""
    points = matching(rows, method=method)
    if not points:
        return untestable(f"there is no front of {method}")
    count = len(points)
    is_wide = all(max(found) - min(found) > SPAN * max(map(abs, found)) for found in _spans(points).values())
    verdict = CONFIRMED if count >= least and is_wide else PARTLY if count > 1 else NOT_CONFIRMED
    spans = [f"{name} {min(found):.0f} to {max(found):.0f}" for name, found in _spans(points).items()]
    return Finding(
        verdict, f"{count} policies: {', '.join(spans)}", f"a trade-off has at least {least}, and spans a tenth of each"
    )


def _spans(points: Rows) -> dict[str, list[float]]:
    return {"return": [row["return"] for row in points], str(points[0]["second"]): [row["value"] for row in points]}


def draw_fronts(item: Item, rows: Rows) -> Figure:
    """A front for each method, those with the same objectives in one panel."""
    seconds = values(rows, "second")
    figure = style.new_figure(5.2, titled(item))
    panels = figure.subplots(1, max(1, len(seconds)), squeeze=False)[0]
    for panel, second in zip(panels, seconds, strict=False):
        own = matching(rows, second=second)
        for method, colour in zip(values(own, "method"), COLOURS[1:], strict=False):
            points = sorted((row["value"], row["return"]) for row in matching(own, method=method))
            x, y = zip(*points, strict=True)
            panel.plot(x, y, "o-", color=colour, linewidth=1.0, markersize=5, label=f"{method} ({len(x)})")
        panel.set_xlabel(figures.OBJECTIVES.get(second, second))
        panel.set_ylabel(figures.OBJECTIVES["return"])
        style.plain(panel)
        panel.legend(loc="best", frameon=False, fontsize=9)
    return figure


def front_tables(item: Item, rows: Rows) -> str:
    """Each front in a line."""
    cells = []
    for method in values(rows, "method"):
        own = matching(rows, method=method)
        spans = [f"{name} {min(found):.0f} to {max(found):.0f}" for name, found in _spans(own).items()]
        cells.append([method, own[0]["seed"], len(own), *spans])
    return markdown(["method", "seed of the best run", "policies", "first objective", "second objective"], cells)


# ---- the constraint ----


def measure_constraint(work: Work) -> Rows:
    """How much of each front, over each run, stands still: lasts long and returns little. And an early front."""
    rows: list[Row] = []
    for experiment, seed, run in work.runs():
        fronts = run.fronts
        for at in _picked(len(fronts)) if fronts else ():
            points = fronts[at].objectives
            idle = (points[:, 1] > IDLE_LENGTH) & (points[:, 0] < IDLE_RETURN)
            idle |= np.all(points == 0, axis=1)  # what the constraint makes of them
            about = {"method": experiment.label, "seed": seed, "evaluations": fronts[at].evaluations}
            rows.append({**about, "what": "share", "idle": rounded(idle.mean(), 3), "policies": len(points)})
            rows[-1] |= {"best": rounded(points[:, 0].max(), 1)}  # type: ignore[operator]
        if fronts:
            early = fronts[min(EARLY, len(fronts) - 1)]
            for value, length in np.unique(early.objectives[:, :2], axis=0):
                rows.append(
                    {
                        "method": experiment.label,
                        "seed": seed,
                        "evaluations": early.evaluations,
                        "what": "point",
                        "return": rounded(value, 1),
                        "length": rounded(length, 1),
                    }
                )
    return rows


def eliminates(rows: Rows, without: str, with_it: str) -> Finding:
    """Without the constraint fronts are full of policies that stand still; with it they are not."""
    shares = {name: _idle_shares(rows, name) for name in (without, with_it)}
    if not all(shares.values()):
        return untestable("there are no fronts")
    middle = {name: float(np.mean(found)) for name, found in shares.items()}
    persists = [share > 0 for share in shares[without]]
    is_gone = middle[with_it] == 0
    verdict = CONFIRMED if all(persists) and is_gone else PARTLY if any(persists) and is_gone else NOT_CONFIRMED
    ours = f"{middle[without]:.0%} of the front without the constraint, {middle[with_it]:.0%} with it"
    why = (
        f"mean share of the policies on the front that last more than {IDLE_LENGTH:.0f} steps and return less than "
        f"{IDLE_RETURN:.0f}, or have been set to 0 for that, over all generations; without it there are such in "
        f"{sum(persists)} of {len(persists)} runs"
    )
    return Finding(verdict, ours, why)


def _idle_shares(rows: Rows, method: str) -> list[float]:
    """The mean share over each run."""
    own = matching(rows, method=method, what="share")
    return [float(np.mean([row["idle"] for row in matching(own, seed=seed)])) for seed in values(own, "seed")]


def is_no_loss(rows: Rows, without: str, with_it: str) -> Finding:
    """What is eliminated contributes nothing: with the constraint the best returns are at least as high."""
    ends: dict[str, list[float]] = {}
    for name in (with_it, without):
        own = matching(rows, method=name, what="share")
        ends[name] = [float(matching(own, seed=seed)[-1]["best"]) for seed in values(own, "seed")]
    if any(len(found) < 2 for found in ends.values()):
        return untestable("at least two runs of each are needed")
    p = statistics.mann_whitney(ends[with_it], ends[without])
    wins = statistics.superiority(ends[with_it], ends[without])
    verdict = CONFIRMED if wins >= 0.5 else NOT_CONFIRMED if p < LEVEL else PARTLY
    ours = f"best return with it {np.mean(ends[with_it]):.0f}, without it {np.mean(ends[without]):.0f}"
    return Finding(verdict, ours, f"with it better {wins:.0%} of the time (p = {p:.2g})")


def draw_constraint(item: Item, rows: Rows) -> Figure:
    """An early front without the constraint, and the share of fronts that stands still, over the runs."""
    figure = style.new_figure(5.0, titled(item))
    left, right = figure.subplots(1, 2)
    methods = [experiment.label for experiment in item.experiments]
    points = matching(rows, method=methods[0], what="point")
    for seed, colour in zip(values(points, "seed"), COLOURS[1:], strict=False):
        own = sorted((row["length"], row["return"]) for row in matching(points, seed=seed))
        x, y = zip(*own, strict=True)
        left.plot(x, y, "o-", color=colour, markersize=4, linewidth=0.8, label=f"seed {seed}")
    low = min([row["return"] for row in points] + [0.0])
    left.add_patch(_box(low))
    left.set_title(f"{methods[0]}: fronts in generation {EARLY}", fontsize=10)
    left.set_xlabel(figures.OBJECTIVES["length"])
    left.set_ylabel(figures.OBJECTIVES["return"])
    style.plain(left)
    left.legend(loc="lower left", frameon=False, fontsize=9)
    for method, colour in zip(methods, COLOURS[1:], strict=False):
        own_rows = matching(rows, method=method, what="share")
        for k, seed in enumerate(values(own_rows, "seed")):
            run = matching(own_rows, seed=seed)
            line = [row["evaluations"] for row in run], [100 * row["idle"] for row in run]
            right.plot(*line, color=colour, linewidth=1.2, label=method if k == 0 else None)
    right.set_title("policies of the front in the dashed box (%)", fontsize=10)
    right.set_xlabel("programs evaluated")
    style.plain(right)
    if right.get_legend() is not None:
        right.legend(loc="best", frameon=False, fontsize=9)
    return figure


def _box(low: float) -> Any:
    from matplotlib.patches import Rectangle

    corner = (IDLE_LENGTH, 1.05 * low - 20)
    return Rectangle(corner, 1020 - IDLE_LENGTH, IDLE_RETURN - corner[1], fill=False, linestyle="--", edgecolor="black")


def constraint_tables(item: Item, rows: Rows) -> str:
    """Each run in a line."""
    cells = []
    for method in values(rows, "method"):
        own = matching(rows, method=method, what="share")
        for seed in values(own, "seed"):
            run = matching(own, seed=seed)
            mean = np.mean([row["idle"] for row in run])
            cells.append(
                [method, seed, f"{run[-1]['evaluations']:,}", f"{mean:.1%}", f"{run[-1]['idle']:.1%}", run[-1]["best"]]
            )
    return markdown(["method", "seed", "evaluations", "idle: mean", "idle: at the end", "best return"], cells)
