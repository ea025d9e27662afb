"""Items that test policies: bars of mean returns, one for each method and test.

A method's number is the interquartile mean over all its runs. The paper shows the best five of its runs by search
fitness; figures mark them, and pages have both. Methods are compared with equal budgets: where runs of an item differ
in theirs, they are tested as they stood after as many steps as the shortest has (`equal`), and at their ends (`full`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arz.analysis import figures, statistics
from arz.analysis.comparison import BEST, COLOURS
from arz.assess import assess
from arz.complexity import complexity
from arz.reproduce.plan import Item, titled
from arz.reproduce.table import Row, Rows, markdown, matching, rounded, values
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, PARTLY, Finding, by_share, untestable
from arz.reproduce.work import Work, known_standing
from arz.tasks.cartpole import Cartpole
from arz.tasks.quadruped import Quadruped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.05
"""Two methods differ if a difference as large came by chance less often than this."""
BUDGETS = {"equal": "the same number of steps for all", "full": "at the end of each run"}


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
            stood = known_standing(run, steps)
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
                    tests = assess(stood.champion, task, episodes=work.episodes, threads=work.threads, change=group)
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


def _variants(item: Item) -> Iterator[tuple[str, Any]]:
    """How the tests of an item differ from those of the task itself, by name."""
    base = Cartpole() if item.options["task"] == "cartpole" else Quadruped()
    for name, changes in item.options.get("variants", {"": {}}).items():
        yield name, replace(base, **changes)


# ---- numbers ----


class Scores:
    """What the rows say of a method.

    Args:
        rows: of an item.
        chosen: a method, and where: budget, group, variant.
    """

    def __init__(self, rows: Rows, method: str, **chosen: Any) -> None:
        if not matching(rows, budget="equal"):  # the budgets are the same
            chosen = {**chosen, "budget": "full"}
        self.rows = matching(rows, method=method, **chosen)
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

    def lowest(self, seed: int, tests: Sequence[str], column: str = "mean") -> float:
        """What one run has in the test that went worst."""
        return min(float(row[column]) for row in self.rows if row["seed"] == seed and row["test"] in tests)


# ---- rules ----


def reaches(
    rows: Rows, method: str, least: float, tests: Sequence[str] = (), column: str = "mean", **chosen: Any
) -> Finding:
    """A method has at least this in every test."""
    return _bound(rows, method, tests, column, chosen, lambda value: value >= least, f"at least {least:g}")


def stays_below(
    rows: Rows, method: str, most: float, tests: Sequence[str] = (), column: str = "mean", **chosen: Any
) -> Finding:
    """A method has less than this in every test."""
    return _bound(rows, method, tests, column, chosen, lambda value: value < most, f"below {most:g}")


def _bound(
    rows: Rows, method: str, tests: Sequence[str], column: str, chosen: dict[str, Any], holds: Any, words: str
) -> Finding:
    scores = Scores(rows, method, **chosen)
    if not scores.seeds:
        return untestable(f"there is no run of {method} with a champion")
    names = list(tests) or scores.tests
    middles = {test: scores.middle(test, column) for test in names}
    every = sum(all(holds(value) for value in _of_run(scores, seed, names, column)) for seed in scores.seeds)
    ours = ", ".join(f"{_named(test)} {_number(value, column)}" for test, value in middles.items())
    failing = [_named(test) for test, value in middles.items() if not holds(value)]
    why = f"{words} in {'every one' if not failing else f'{len(names) - len(failing)} of {len(names)}'} of the tests"
    why += f" (not: {', '.join(failing)})" if failing and len(failing) < len(names) else ""
    return Finding(
        by_share([holds(value) for value in middles.values()]),
        f"{method}: {ours}",
        f"{why}; so have {every} of {len(scores.seeds)} runs by themselves",
    )


def _of_run(scores: Scores, seed: int, tests: Sequence[str], column: str) -> list[float]:
    return [scores.of(test, column, [seed])[0] for test in tests]


def is_better(
    rows: Rows, first: str, second: str, tests: Sequence[str] = (), column: str = "mean", **chosen: Any
) -> Finding:
    """One method is better than another: in every test, and not by chance."""
    one, other = Scores(rows, first, **chosen), Scores(rows, second, **chosen)
    if len(one.seeds) < 2 or len(other.seeds) < 2:
        return untestable("at least two runs of each method are needed")
    names = list(tests) or one.tests
    means = [[float(np.mean(_of_run(s, seed, names, column))) for seed in s.seeds] for s in (one, other)]
    p, wins = statistics.mann_whitney(*means), statistics.superiority(*means)
    ahead = [test for test in names if one.middle(test, column) > other.middle(test, column)]
    is_sure = p < LEVEL and wins > 0.5
    verdict = CONFIRMED if is_sure and len(ahead) == len(names) else PARTLY if wins > 0.5 else NOT_CONFIRMED
    ours = "; ".join(
        f"{_named(test)} {_number(one.middle(test, column), column)} against "
        f"{_number(other.middle(test, column), column)}"
        for test in names
    )
    why = (
        f"ahead in {len(ahead)} of {len(names)} tests; a run of {first} is better than one of {second} "
        f"{wins:.0%} of the time (p = {p:.2g})"
    )
    return Finding(verdict, f"{first} against {second}: {ours}", why)


def is_only(
    rows: Rows,
    method: str,
    others: Sequence[str],
    least: float,
    tests: Sequence[str] = (),
    column: str = "mean",
    **chosen: Any,
) -> Finding:
    """Some run of a method has at least this in every test, and no run of the others has."""
    counts: dict[str, tuple[int, int]] = {}
    for name in (method, *others):
        scores = Scores(rows, name, **chosen)
        if not scores.seeds:
            return untestable(f"there is no run of {name} with a champion")
        names = list(tests) or scores.tests
        hits = sum(scores.lowest(seed, names, column) >= least for seed in scores.seeds)
        counts[name] = (hits, len(scores.seeds))
    has = counts[method][0] > 0
    others_have = [name for name in others if counts[name][0]]
    verdict = (
        CONFIRMED if has and not others_have else PARTLY if has and len(others_have) < len(others) else NOT_CONFIRMED
    )
    ours = "; ".join(f"{name}: {hits} of {runs} runs" for name, (hits, runs) in counts.items())
    what = "survive most episodes of" if column == "completed" else f"have at least {least:g} in"
    why = f"this many {what} every test"
    return Finding(verdict, ours, why)


def _named(test: str) -> str:
    return test.replace("_", " ")


def _number(value: float, column: str) -> str:
    return f"{value:.0%}" if column == "completed" else f"{value:.0f}"


RULES = {"reaches": reaches, "stays_below": stays_below, "is_better": is_better, "is_only": is_only}


# ---- pictures and tables ----


def panels(rows: Rows) -> list[dict[str, Any]]:
    """What is shown side by side: each variant, kind of change and budget."""
    seen = dict.fromkeys((row["variant"], row["group"], row["budget"]) for row in rows)
    return [dict(zip(("variant", "group", "budget"), each, strict=True)) for each in sorted(seen, key=str)]


def draw(item: Item, rows: Rows) -> Figure:
    """Bars: the mean of the best five by search fitness; dots: all runs, those five filled."""
    shown = panels(rows)
    wide = 1 if len(shown) == 1 else 2
    tall = -(-len(shown) // wide)
    figure = figures.new_figure(1.2 + 4.0 * tall, titled(item))
    grid = figure.subplots(tall, wide, squeeze=False, sharey=True)
    methods = values(rows, "method")
    colours = dict(zip(methods, COLOURS, strict=False))
    for panel, about in zip(grid.flat, shown, strict=False):
        _draw_panel(panel, rows, about, colours)
        words = [about["variant"], figures.GROUPS.get(about["group"], about["group"])]
        words += [BUDGETS[about["budget"]]] if len({each["budget"] for each in shown}) > 1 else []
        panel.set_title(", ".join(word for word in words if word), fontsize=11)
        for mark in item.options.get("marks", ()):
            panel.axhline(mark, color=figures.GREY, linestyle="--", linewidth=1.0)
    for panel in list(grid.flat)[len(shown) :]:
        panel.axis("off")
    for row in grid:
        row[0].set_ylabel("mean return of a test\n(bar: best five runs, dot: each run)")
    from matplotlib.patches import Patch

    handles = [Patch(color=colour) for colour in colours.values()]
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
            panel.bar(place, np.mean(scores.of(test, seeds=best)), 0.92 * width, color=colours[name], alpha=0.55)
            spread = np.linspace(-0.25, 0.25, len(scores.seeds)) * width
            for seed, aside in zip(scores.seeds, spread, strict=True):
                face = colours[name] if seed in best else "none"
                where = ([place + aside], scores.of(test, seeds=[seed]))
                panel.plot(
                    *where, "o", markersize=3.2, markerfacecolor=face, markeredgecolor="black", markeredgewidth=0.4
                )
    panel.set_xticks(range(len(tests)), [_named(test) for test in tests])
    figures.plain(panel)


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
