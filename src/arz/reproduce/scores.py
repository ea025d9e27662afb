"""Items that test policies: bars of mean returns, one for each method and test.

A method's number is the interquartile mean over all its runs. The paper shows the best five of its runs by search
fitness; figures mark them, and pages have both. Methods are compared with equal budgets: where runs of an item differ
in theirs, they are tested as they stood after as many steps as the shortest has (`equal`), and at their ends (`full`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arz.analysis import figures, statistics
from arz.analysis.comparison import BEST, COLOURS, Look
from arz.complexity import complexity
from arz.plotting import style
from arz.reproduce.plan import Item, titled
from arz.reproduce.table import Row, Rows, markdown, matching, rounded, values
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, PARTLY, Finding, by_share, untestable
from arz.reproduce.work import Work, known_standing
from arz.runs.run import Run
from arz.tasks.cartpole import Cartpole
from arz.tasks.quadruped import Quadruped
from arz.testing import assess

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.05
"""Two methods differ if a difference as large came by chance less often than this."""
BUDGETS = {"equal": "the same number of steps for all", "full": "at the end of each run"}
TITLE_WIDTH = 55
"""How many letters fit into one line above a panel."""


def measure(work: Work) -> Rows:
    """Tests every champion in every test of the item."""
    rows: list[Row] = []
    ends: dict[str, int | None] = {"full": None}
    if len({experiment.steps(work.scale) for experiment in work.item.experiments}) > 1:
        ends = {"equal": work.item.equal_steps(work.scale), "full": None}
    for experiment, seed, run in work.runs():
        own = getattr(run.config.task, "change", "none")
        groups = [group for group in work.item.options["groups"] if own in ("none", group)]
        for budget, steps in ends.items():
            stood = known_standing(run, steps) or known_standing(run, _first_report(run))
            if stood is None:
                continue
            last, cost = stood.reports[-1], complexity(stood.champion)
            about = {
                "experiment": experiment.name,
                "method": experiment.label,
                "seed": seed,
                "budget": budget,
                "steps": int(stood.metrics["steps"][last]),
                "evaluations": int(stood.metrics["evaluations"][last]),
                "seconds": rounded(stood.metrics["seconds"][last], 1),
                "fitness": rounded(stood.score),
                "parameters": cost.parameters,
                "flops": cost.flops,
            }
            for variant, task in _variants(work.item):
                for group in groups:
                    tests = assess(
                        stood.champion,
                        task,
                        episodes=work.episodes,
                        threads=work.jobs,
                        workers=work.workers,
                        change=group,
                    )
                    rows += [
                        {
                            **about,
                            "variant": variant or None,
                            "group": group,
                            "test": test.task,
                            "mean": rounded(test.mean),
                            "completed": rounded(test.completed, 3),
                        }
                        for test in tests
                    ]
    return rows


def _first_report(run: Run) -> int | None:
    """The steps after which a run first said where it stood: it may be late for a small budget."""
    reported = run.metrics.get("steps")
    return None if reported is None or not len(reported) else int(reported[0])


def _variants(item: Item) -> Iterator[tuple[str, Any]]:
    """How the tests of an item differ from those of the task itself, by name."""
    base = Cartpole() if item.options["task"] == "cartpole" else Quadruped()
    for name, changes in item.options.get("variants", {"": {}}).items():
        yield name, replace(base, **changes)


# ---- numbers ----


class Scores:
    """What the rows say of a method, under one budget, in one variant and group of tests.

    Args:
        rows: of an item.
        method: which.
        chosen: the budget (equal, if nothing is said), and group and variant where there are several.
    """

    def __init__(self, rows: Rows, method: str, **chosen: Any) -> None:
        has_equal = bool(matching(rows, budget="equal"))  # else the budgets are the same
        chosen["budget"] = chosen.get("budget", "equal") if has_equal else "full"
        self.rows = matching(rows, method=method, **chosen)
        assert len({(row.get("variant"), row.get("group")) for row in self.rows}) <= 1, "tests must not be mixed"
        self.tests = values(self.rows, "test")
        self.seeds = values(self.rows, "seed")

    def of(self, test: str, column: str = "mean", seeds: Sequence[int] | None = None) -> list[float]:
        """One number for each run."""
        wanted = self.seeds if seeds is None else seeds
        return [float(row[column]) for row in matching(self.rows, test=test) if row["seed"] in wanted]

    def middle(self, test: str, column: str = "mean") -> float:
        """The interquartile mean over all runs."""
        return float(statistics.interquartile_mean(self.of(test, column)))

    @property
    def best(self) -> list[int]:
        """The seeds of the runs with the best search fitness: the paper's protocol."""
        fitness = {row["seed"]: float(row["fitness"]) for row in self.rows}
        return sorted(fitness, key=lambda seed: -fitness[seed])[:BEST]

    def of_run(self, seed: int, tests: Sequence[str], column: str = "mean") -> list[float]:
        """What one run has in these tests."""
        return [self.of(test, column, [seed])[0] for test in tests]

    @property
    def told(self) -> str:
        """How many runs, and how long they were."""
        steps = np.median([row.get("steps") or 0 for row in self.rows])
        return f"{len(self.seeds)} runs of {steps / 1e6:.4g}M steps"


# ---- rules ----


Provided = Mapping[str, Any]
"""What must be so for a failure to tell anything: at least this much (`least`) of a `column` in a `test`."""


def reaches(
    rows: Rows, method: str, least: float, tests: Sequence[str] = (), column: str = "mean", **chosen: Any
) -> Finding:
    """A method has at least this in every test."""
    return _bound(
        Scores(rows, method, **chosen), method, tests, column, lambda value: value >= least, f"{least:g} or more"
    )


def stays_below(
    rows: Rows,
    method: str,
    most: float,
    tests: Sequence[str] = (),
    column: str = "mean",
    provided: Provided | None = None,
    **chosen: Any,
) -> Finding:
    """A method has less than this in every test, though it can do the task."""
    scores = Scores(rows, method, **chosen)
    if provided is not None and scores.seeds:
        able = scores.middle(provided["test"], provided.get("column", "mean"))
        if able < provided["least"]:
            shown = _number(able, provided.get("column", "mean"))
            return untestable(
                f"{method} cannot do the task itself yet ({_named(provided['test'])}: {shown}; {scores.told})"
            )
    return _bound(scores, method, tests, column, lambda value: value < most, f"less than {most:g}")


def _bound(
    scores: Scores, method: str, tests: Sequence[str], column: str, holds: Callable[[float], bool], words: str
) -> Finding:
    if not scores.seeds:
        return untestable(f"there is no run of {method} with a champion")
    names = list(tests) or scores.tests
    middles = {test: scores.middle(test, column) for test in names}
    every = sum(all(map(holds, scores.of_run(seed, names, column))) for seed in scores.seeds)
    ours = ", ".join(f"{_named(test)} {_number(value, column)}" for test, value in middles.items())
    failing = [_named(test) for test, value in middles.items() if not holds(value)]
    why = f"{words} in {len(names) - len(failing)} of {len(names)} tests"
    why += f" (not: {', '.join(failing)})" if 0 < len(failing) < len(names) else ""
    return Finding(
        by_share([holds(value) for value in middles.values()]),
        f"{method}: {ours}",
        f"{why}; so have {every} of {len(scores.seeds)} runs by themselves ({scores.told})",
    )


def is_better(
    rows: Rows, first: str, second: str, tests: Sequence[str] = (), column: str = "mean", **chosen: Any
) -> Finding:
    """One method is better than another: in every test, and not by chance."""
    one, other = Scores(rows, first, **chosen), Scores(rows, second, **chosen)
    if len(one.seeds) < 2 or len(other.seeds) < 2:
        return untestable("at least two runs of each method are needed")
    names = list(tests) or one.tests
    means = [[float(np.mean(each.of_run(seed, names, column))) for seed in each.seeds] for each in (one, other)]
    p, wins = statistics.mann_whitney(*means), statistics.superiority(*means)
    middles = [(test, one.middle(test, column), other.middle(test, column)) for test in names]
    ahead = sum(ours > theirs for _, ours, theirs in middles)
    is_sure = p < LEVEL and wins > 0.5
    verdict = CONFIRMED if is_sure and ahead == len(names) else PARTLY if wins > 0.5 else NOT_CONFIRMED
    told = "; ".join(
        f"{_named(test)} {_number(ours, column)} against {_number(theirs, column)}" for test, ours, theirs in middles
    )
    why = (
        f"ahead in {ahead} of {len(names)} tests; a run of {first} is better than one of {second} {wins:.0%} of the "
        f"time (p = {p:.2g}; {one.told} and {other.told})"
    )
    return Finding(verdict, f"{first} against {second}: {told}", why)


def is_only(
    rows: Rows,
    method: str,
    others: Sequence[str],
    least: float,
    tests: Sequence[str] = (),
    survives: float = 0.0,
    **chosen: Any,
) -> Finding:
    """Some run of a method has at least this in every test, and no run of the others has; of equally many runs.

    With `survives`, that share of the episodes of every test must also have lasted to the end.
    """
    found = {name: Scores(rows, name, **chosen) for name in (method, *others)}
    if missing := [name for name, scores in found.items() if not scores.seeds]:
        return untestable(f"there is no run of {missing[0]} with a champion")
    count = min(len(scores.seeds) for scores in found.values())
    hits: dict[str, int] = {}
    for name, scores in found.items():
        names = list(tests) or scores.tests
        able = [
            min(scores.of_run(seed, names)) >= least and min(scores.of_run(seed, names, "completed")) >= survives
            for seed in scores.seeds[:count]
        ]
        hits[name] = sum(able)
    others_have = [name for name in others if hits[name]]
    is_so, is_alone = hits[method] > 0, not others_have
    verdict = CONFIRMED if is_so and is_alone else PARTLY if is_so and len(others_have) < len(others) else NOT_CONFIRMED
    what = f"{least:g} or more in every test" + (", and most episodes to their end" if survives else "")
    told = ", ".join(f"{name} {hit} of {count}" for name, hit in hits.items())
    return Finding(verdict, told, f"runs with {what} ({found[method].told}; the first {count} of each count)")


def has_best_run(rows: Rows, first: str, others: Sequence[str], tests: Sequence[str], **chosen: Any) -> Finding:
    """The best run of a method, by search fitness, has a higher mean over these tests than those of others."""
    means: dict[str, float] = {}
    for name in (first, *others):
        scores = Scores(rows, name, **chosen)
        if not scores.seeds:
            return untestable(f"there is no run of {name} with a champion")
        means[name] = float(np.mean(scores.of_run(scores.best[0], tests)))
    beaten = [means[first] > means[name] for name in others]
    told = ", ".join(f"{name} {mean:.0f}" for name, mean in means.items())
    return Finding(by_share(beaten), told, f"mean over {len(tests)} tests of the run with the best search fitness")


def _named(test: str) -> str:
    return test.replace("_", " ")


def _number(value: float, column: str) -> str:
    return f"{value:.0%}" if column == "completed" else f"{value:.0f}"


# ---- pictures and tables ----


def panels(rows: Rows) -> list[dict[str, Any]]:
    """What is shown side by side: each variant, kind of change and budget."""
    seen = dict.fromkeys((row["variant"], row["group"], row["budget"]) for row in rows)
    return [dict(zip(("variant", "group", "budget"), each, strict=True)) for each in sorted(seen, key=str)]


def draw(item: Item, rows: Rows) -> Figure:
    """Bars: the interquartile mean of all runs; dots: each run, the best five by search fitness filled."""
    shown = panels(rows)
    wide = 1 if len(shown) == 1 else 2
    tall = -(-len(shown) // wide)
    figure = style.new_figure(1.2 + 4.0 * tall, titled(item))
    grid = figure.subplots(tall, wide, squeeze=False, sharey=True)
    methods = values(rows, "method")
    colours = dict(zip(methods, COLOURS, strict=False))
    for panel, about in zip(grid.flat, shown, strict=False):
        _draw_panel(panel, rows, about, colours)
        words = [about["variant"], figures.GROUPS.get(about["group"], about["group"])]
        words += [BUDGETS[about["budget"]]] if len({each["budget"] for each in shown}) > 1 else []
        *most, last = (word for word in words if word)
        gap = ",\n" if len(", ".join([*most, last])) > TITLE_WIDTH else ", "
        panel.set_title(gap.join([", ".join(most), last] if most else [last]), fontsize=11)
        for mark in item.options.get("marks", ()):
            panel.axhline(mark, color=style.GREY, linestyle="--", linewidth=1.0)
    for panel in list(grid.flat)[len(shown) :]:
        panel.axis("off")
    for row in grid:
        row[0].set_ylabel("mean return of a test (bar: interquartile\nmean, dot: a run, filled: best five)")
    from matplotlib.patches import Patch

    handles = [Patch(**Look(colour).bar) for colour in colours.values()]
    figure.legend(handles, list(colours), loc="outside lower center", ncols=min(4, len(colours)), frameon=False)
    return figure


def _draw_panel(panel: Any, rows: Rows, about: dict[str, Any], colours: dict[str, str]) -> None:
    present = [name for name in colours if Scores(rows, name, **about).seeds]
    tests = Scores(rows, present[0], **about).tests
    width = 0.82 / len(present)
    for k, name in enumerate(present):
        scores = Scores(rows, name, **about)
        best = scores.best
        for at, test in enumerate(tests):
            place = at + (k - (len(present) - 1) / 2) * width
            panel.bar(place, scores.middle(test), 0.92 * width, **Look(colours[name]).bar)
            spread = np.linspace(-0.25, 0.25, len(scores.seeds)) * width
            for seed, aside in zip(scores.seeds, spread, strict=True):
                face = colours[name] if seed in best else "none"
                where = ([place + aside], scores.of(test, seeds=[seed]))
                panel.plot(
                    *where, "o", markersize=3.2, markerfacecolor=face, markeredgecolor="black", markeredgewidth=0.4
                )
    panel.set_xticks(range(len(tests)), [_named(test) for test in tests])
    style.plain(panel)


def tables(item: Item, rows: Rows) -> str:
    """All methods in all tests, and every run."""
    parts = []
    for about in panels(rows):
        present = [name for name in values(rows, "method") if Scores(rows, name, **about).seeds]
        tests = Scores(rows, present[0], **about).tests
        cells = []
        for name in present:
            scores = Scores(rows, name, **about)
            steps = int(np.median([row["steps"] for row in scores.rows]))
            cells.append([name, len(scores.seeds), f"{steps / 1e6:.4g}M", *(_cell(scores, test) for test in tests)])
        words = [about["variant"], figures.GROUPS.get(about["group"], about["group"]), BUDGETS[about["budget"]]]
        title = ", ".join(word for word in words if word)
        parts.append(
            f"{title[0].upper()}{title[1:]}: interquartile mean of all runs with its 95 % interval, and in brackets "
            f"the mean of the best {BEST} by search fitness, as the paper has it.\n\n"
            + markdown(["method", "runs", "steps", *map(_named, tests)], cells)
        )
    return "\n".join([*parts, _every_run(rows)])


def _cell(scores: Scores, test: str) -> str:
    found = statistics.bootstrap(scores.of(test))
    best = np.mean(scores.of(test, seeds=scores.best))
    return (f"{found}" if len(scores.seeds) > 1 else f"{found.value:.0f}") + f" [{best:.0f}]"


def _every_run(rows: Rows) -> str:
    """One line for each run, as it ended."""
    shown = [about for about in panels(rows) if about["budget"] == "full"]
    columns = [(about, test) for about in shown for test in values(matching(rows, **about), "test")]
    several = len(shown) > 1
    names = [
        _named(test) if not several else f"{about['variant'] or about['group']}: {_named(test)}"
        for about, test in columns
    ]
    cells = []
    for experiment in values(rows, "experiment"):
        for seed in values(matching(rows, experiment=experiment), "seed"):
            own = matching(rows, experiment=experiment, seed=seed, budget="full")
            found = {(row["variant"], row["group"], row["test"]): row["mean"] for row in own}
            means = [found.get((about["variant"], about["group"], test)) for about, test in columns]
            line = [experiment, seed, f"{own[0]['seconds']:.0f}", f"{own[0]['fitness']:.0f}"]
            cells.append([*line, *("" if mean is None else f"{mean:.0f}" for mean in means)])
    return "Every run, at its end:\n\n" + markdown(["experiment", "seed", "seconds", "search fitness", *names], cells)
