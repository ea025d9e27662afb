"""Items about what the paper prints: its programs, their costs and matrices, the schedules of change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arz.analysis import figures
from arz.complexity import complexity, lstm_complexity, mlp_complexity
from arz.episode import run_episode
from arz.evaluate import fresh_episodes, record
from arz.explain.linear import Reading, read
from arz.explain.summary import is_on_path, is_telling
from arz.plotting import style
from arz.program import Program
from arz.reproduce.plan import Item, published, titled
from arz.reproduce.table import Row, Rows, markdown, matching, rounded, values
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, PARTLY, Finding, by_share, untestable
from arz.reproduce.work import Work, known_standing
from arz.simplify import readable, with_own_names
from arz.tasks.cartpole import PARAMETERS, RANGES, TESTED, Cartpole
from arz.tasks.cartpole.film import PARAMETERS as SHOWN
from arz.tasks.cartpole.strip import PARAMETER_COLOURS
from arz.testing import assess

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOSE = 0.0005
"""Printed numbers have three digits."""
EDGES = (200, 800)
"""Between these steps things change."""

# ---- costs ----

PRINTED: dict[tuple[str, str], tuple[int, int]] = {
    ("cartpole", "printed program"): (11, 25),
    ("cartpole", "MLP"): (1184, 2368),
    ("cartpole", "LSTM"): (4604, 9280),
    ("quadruped", "printed program"): (608, 2080),
    ("quadruped", "MLP"): (2592, 5184),
    ("quadruped", "LSTM"): (9216, 18432),
}
"""Parameters and FLOPs of a step, as the supplement has them."""
INLINED = 5 + 1 + (4 + 3) * (1 + 37 + 1)
"""The paper's Fig. 1 has eleven conditions with an expression behind them. In our file they are calls, which copy what
they hand back once more: five scalars of f1, one of f4, and a scalar, a vector and an index each of f2 and f3."""
MISPRINT = {4604: 4640}
"""The supplement's own formula gives the second."""


def measure_costs(work: Work) -> Rows:
    """Parameters and FLOPs: of the printed programs, of networks, and of what evolved here."""
    rows: list[Row] = []

    def add(task: str, policy: str, parameters: float, flops: float, **more: Any) -> None:
        rows.append({"task": task, "policy": policy, "parameters": parameters, "flops": flops, **more})

    for task, sizes, experiment in (
        ("cartpole", (4, 1), "cartpole-arz-continuous"),
        ("quadruped", (37, 12), "quadruped-arz"),
    ):
        cost = complexity(published(f"paper_{task}"), as_written=True)
        is_cartpole = task == "cartpole"
        add(
            task,
            "printed program",
            cost.parameters if is_cartpole else cost.memory,
            cost.flops - (0 if is_cartpole else INLINED),
        )
        add(task, "MLP", *mlp_complexity(*sizes))
        add(task, "LSTM", *lstm_complexity(*sizes))
        for _, seed, run in work.runs(experiment):
            stood = known_standing(run)
            if stood is not None:
                cost = complexity(stood.champion)
                parameters = cost.parameters if is_cartpole else cost.memory
                score = rounded(stood.score)
                add(task, "evolved here", parameters, cost.flops, seed=seed, lines=cost.lines, score=score)
    return rows


def are_as_printed(rows: Rows) -> Finding:
    """The counts are the paper's."""
    holds, told = [], []
    for (task, policy), (parameters, flops) in PRINTED.items():
        (row,) = matching(rows, task=task, policy=policy)
        found = (row["parameters"], row["flops"])
        holds.append(found == (MISPRINT.get(parameters, parameters), flops))
        told.append(f"{task} {policy} {found[0]} and {found[1]}")
    return Finding(by_share(holds), "; ".join(told), f"{sum(holds)} of {len(holds)} as printed")


def _able(rows: Rows, task: str, least: float) -> list[Row]:
    """The programs that evolved here and can do the task."""
    return [row for row in matching(rows, task=task, policy="evolved here") if row["score"] >= least]


def have_factors(rows: Rows, task: str, least: float) -> Finding:
    """Programs that evolved here are smaller than networks by at least the paper's factors, in the median."""
    own, all_ = _able(rows, task, least), matching(rows, task=task, policy="evolved here")
    if not own:
        return untestable(f"none of {len(all_)} programs has a score of {least:g}")
    holds, told = [], []
    for network in ("MLP", "LSTM"):
        (row,) = matching(rows, task=task, policy=network)
        for k, column in enumerate(("parameters", "flops")):
            printed = MISPRINT.get(PRINTED[task, network][k], PRINTED[task, network][k])
            wanted = printed / PRINTED[task, "printed program"][k]
            factor = row[column] / float(np.median([each[column] for each in own]))
            holds.append(factor >= wanted * (1 - CLOSE))
            told.append(f"{network} {column} {factor:.3g} times (paper {wanted:.3g})")
    medians = ", ".join(f"{np.median([each[c] for each in own]):.0f} {c}" for c in ("parameters", "flops"))
    ours = f"median of the {len(own)} of {len(all_)} programs with {least:g} or more: {medians}"
    return Finding(by_share(holds), ours, "; ".join(told))


def are_short(rows: Rows, task: str, least: float, most: int) -> Finding:
    """Programs that evolved here have fewer lines than this."""
    own = _able(rows, task, least)
    if not own:
        return untestable(f"no program has a score of {least:g}")
    lines = sorted(int(row["lines"]) for row in own)
    return Finding(by_share([count < most for count in lines]), ", ".join(map(str, lines)), "lines that matter")


def draw_costs(item: Item, rows: Rows) -> Figure:
    """Parameters against FLOPs, both tasks."""
    figure = style.new_figure(4.8, titled(item))
    panels = figure.subplots(1, 2)
    looks = {
        "evolved here": (style.ORANGE, "o"),
        "printed program": (style.BLACK, "*"),
        "MLP": (style.SKY, "s"),
        "LSTM": (style.GREEN, "D"),
    }
    for panel, task in zip(panels, ("cartpole", "quadruped"), strict=True):
        for policy, (colour, marker) in looks.items():
            own = matching(rows, task=task, policy=policy)
            x, y = [row["parameters"] for row in own], [row["flops"] for row in own]
            panel.loglog(x, y, marker, color=colour, markersize=8, alpha=0.8, label=policy, linestyle="none")
        panel.set_xlabel("parameters")
        panel.set_ylabel("FLOPs per step")
        panel.set_title(task, fontsize=11)
        style.plain(panel)
        panel.legend(loc="upper left", frameon=False, fontsize=9)
    return figure


def cost_tables(item: Item, rows: Rows) -> str:
    """All of them."""
    cells = [
        [row["task"], row["policy"], row.get("seed") or "", row["parameters"], row["flops"], row.get("lines") or ""]
        for row in rows
    ]
    return markdown(["task", "policy", "seed", "parameters", "FLOPs", "lines"], cells, text=2)


# ---- the linear form ----


def _printed_matrices() -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """As the supplement has them, with its constants."""
    a, b, c = -0.549, -0.673, 0.082
    v = (-1.960, -0.7422, 0.7373, -5.284)
    w = (0.0, 0.365, 2.878, 2.799)
    return {
        "U": np.array([[0, 0, a], [0, 1, a], [0, c, a * (1 + c)]]),
        "P": np.array([[0, 0, 0, 0, 1], [*v, b + 1], [*(c * each for each in v), a + b * c + c]]),
        "A": np.array([[1.0, 0, 0]]),
        "W": np.array([[*w, 0.0]]),
        "eigenvalues": np.array([0.0, 1.0, a * (1 + c)]),
    }


def measure_linear(work: Work) -> Rows:
    """The printed program's matrices beside the printed ones, its scores, and how linear our champions are."""
    found = read(with_own_names(published("paper_cartpole")))
    rows: list[Row] = [{"what": "reading", "name": "exact", "ours": int(found.is_exact)}]
    rows.append({"what": "reading", "name": "state", "ours": len(found.state)})
    order = [found.state.index(name) for name in ("s0", "s1", "s2")] if set(found.state) == {"s0", "s1", "s2"} else []
    if order:
        rows += _entries(found, order)
    for test in assess(published("paper_cartpole"), Cartpole(), episodes=work.episodes, threads=work.jobs):
        rows.append({"what": "score", "name": f"{test.change} {test.task}", "ours": rounded(test.mean)})
    for _, seed, run in work.runs():
        stood = known_standing(run)
        if stood is not None and isinstance(stood.champion, Program):
            rows.append({"what": "champion", "name": seed, "ours": _kind(stood.champion)})
    return rows


def _entries(found: Reading, order: list[int]) -> list[Row]:
    """Entry by entry: ours and the paper's."""
    ours = {"U": found.U[np.ix_(order, order)], "P": found.P[order], "A": found.A[:, order], "W": found.W}
    printed = _printed_matrices()
    rows: list[Row] = [
        {
            "what": "matrix",
            "name": f"{name}[{', '.join(str(k + 1) for k in at)}]",
            "ours": rounded(float(matrix[at]), 6),
            "paper": rounded(float(printed[name][at]), 6),
        }
        for name, matrix in ours.items()
        for at in np.ndindex(*matrix.shape)
    ]
    for source, values_ in (("ours", np.linalg.eigvals(ours["U"])), ("paper", printed["eigenvalues"])):
        rows += [
            {"what": "eigenvalue", "name": k + 1, source: rounded(float(value), 4)}
            for k, value in enumerate(sorted(np.real(values_), reverse=True))
        ]
    return rows


def _kind(champion: Program) -> str:
    """Whether a program is a filter, and in which sense."""
    program = with_own_names(readable(champion).program)
    seen = run_episode(program, Cartpole(), int(fresh_episodes(1)[0])).trace_of(program)
    reading = read(program, seen)
    if reading.is_exact:
        return "a filter, exactly"
    if is_on_path(reading):
        return "a filter to rounding"
    return "like a filter" if is_telling(reading) else "not like a filter"


def adapts(rows: Rows, least: float) -> Finding:
    """The printed program has at least this, when all parameters change continuously."""
    found = {row["name"]: row["ours"] for row in matching(rows, what="score")}
    ours = ", ".join(f"{name.replace('_', ' ')} {value:.0f}" for name, value in found.items() if name.endswith("all"))
    lowest = min(found.values())
    verdict = CONFIRMED if found["continuous all"] >= least else NOT_CONFIRMED
    return Finding(verdict, ours, f"at least {lowest:.0f} in all ten tests")


def is_exact(rows: Rows) -> Finding:
    """The program is a linear model, with three numbers as its state."""
    exact, state = (matching(rows, what="reading", name=name)[0]["ours"] for name in ("exact", "state"))
    holds = bool(exact) and state == 3
    ours = f"{'exact' if exact else 'not exact'}, a state of {state} numbers"
    return Finding(CONFIRMED if holds else NOT_CONFIRMED, ours, "read off the program, for any observations")


def agree(rows: Rows) -> Finding:
    """The matrices are as printed."""
    found = matching(rows, what="matrix")
    if not found:
        return untestable("the state is not s0, s1, s2")
    off = [row for row in found if abs(row["ours"] - row["paper"]) > CLOSE]
    verdict = CONFIRMED if not off else PARTLY if len(off) < len(found) else NOT_CONFIRMED
    ours = (
        "; ".join(f"{row['name']} {row['ours']:.3f}, printed {row['paper']:.3f}" for row in off) or "all entries agree"
    )
    return Finding(verdict, ours, f"{len(found) - len(off)} of {len(found)} entries agree")


def have_eigenvalues(rows: Rows) -> Finding:
    """The eigenvalues of U are as printed."""
    found = matching(rows, what="eigenvalue")
    ours, paper = (sorted(row[name] for row in found if row.get(name) is not None) for name in ("ours", "paper"))
    if not ours:
        return untestable("the state is not s0, s1, s2")
    holds = [min(abs(value - each) for each in ours) <= CLOSE for value in paper]
    told = [", ".join(f"{value:.3f}" for value in each) for each in (ours, paper)]
    verdict = CONFIRMED if all(holds) else NOT_CONFIRMED
    return Finding(verdict, f"{told[0]}; printed: {told[1]}", f"{sum(holds)} of {len(holds)} agree")


def draw_linear(item: Item, rows: Rows) -> Figure:
    """How an observation counts for later actions, from the matrices as found; and what U's eigenvalues are."""
    found = read(with_own_names(published("paper_cartpole")))
    figure = style.new_figure(4.8, titled(item))
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.6, 1]})
    kernel = found.closed.kernel(80)[:, 0]
    for k, (name, colour) in enumerate(
        zip(
            ("x", "theta", "x dot", "theta dot"),
            (style.BLACK, style.ORANGE, style.BLUE, style.GREEN),
            strict=True,
        )
    ):
        left.plot(kernel[:, k], color=colour, linewidth=1.6, label=name)
    left.axhline(0, color=style.GREY, linewidth=0.8)
    left.set_xlabel("steps since the observation")
    left.set_ylabel("weight in the action")
    style.plain(left)
    left.legend(loc="upper right", frameon=False)
    for source, marker, colour in (("ours", "o", style.BLUE), ("paper", "x", style.VERMILION)):
        points = [row[source] for row in matching(rows, what="eigenvalue") if row.get(source) is not None]
        label = "of the program" if source == "ours" else "as printed"
        right.plot(points, [0.0] * len(points), marker, color=colour, markersize=9, label=label, linestyle="none")
    angles = np.linspace(0, 2 * np.pi, 200)
    right.plot(np.cos(angles), np.sin(angles), color=style.GREY, linewidth=0.8)
    right.set_aspect("equal")
    right.set_title("eigenvalues of U", fontsize=11)
    style.plain(right)
    right.legend(loc="lower center", frameon=False, fontsize=9)
    return figure


def linear_tables(item: Item, rows: Rows) -> str:
    """The matrices, the scores of the printed program, and our champions."""
    entries = [[row["name"], row["ours"], row["paper"]] for row in matching(rows, what="matrix")]
    tests = [[row["name"].replace("_", " "), row["ours"]] for row in matching(rows, what="score")]
    champions = [[row["name"], row["ours"]] for row in matching(rows, what="champion")]
    parts = [markdown(["entry", "of the program", "as printed"], entries)]
    parts.append("The printed program in the tests:\n\n" + markdown(["test", "mean return"], tests))
    if champions:
        parts.append(
            "Champions that evolved here, all seeds, read in the same way (docs/understanding.md):\n\n"
            + markdown(["seed", "what it is"], champions, text=2)
        )
    return "\n".join(parts)


# ---- schedules ----


def measure_schedules(work: Work) -> Rows:
    """One episode of each kind of change, step by step; and when and where to parameters went in many."""
    rows: list[Row] = []
    keys = fresh_episodes(work.episodes)
    for change in TESTED:
        found = record(published("paper_cartpole"), replace(Cartpole(), change=change), keys)
        for name in PARAMETERS:
            for episode, values_ in enumerate(found[name]):
                known = values_[np.isfinite(values_)]
                moved = np.flatnonzero(np.diff(known) != 0)
                if episode == 0:
                    rows += _strip(change, name, known)
                if len(known) == len(values_) and len(moved):
                    first, last = int(moved[0]) + 1, int(moved[-1]) + 1
                    about = {"what": "change", "change": change, "parameter": name, "episode": episode}
                    rows.append({**about, "first": first, "last": last, "value": rounded(float(known[-1]), 5)})
    return rows


def _strip(change: str, name: str, known: Any) -> list[Row]:
    return [
        {"what": "strip", "change": change, "parameter": name, "step": step, "value": rounded(float(value), 5)}
        for step, value in enumerate(known)
    ]


NO_CHANGE = "nothing changed"


def are_in_time(rows: Rows) -> Finding:
    """Everything changes within the window."""
    found = matching(rows, what="change")
    if not found:
        return untestable(NO_CHANGE)
    inside = [EDGES[0] <= row["first"] and row["last"] <= EDGES[1] for row in found]
    jumps = [row["first"] == row["last"] for row in matching(found, change="sudden")]
    first, last = min(row["first"] for row in found), max(row["last"] for row in found)
    holds = all(inside) and all(jumps)
    ours = f"{len(found)} changes, from step {first} to step {last}"
    return Finding(
        CONFIRMED if holds else NOT_CONFIRMED, ours, "all sudden ones are over in one step" if all(jumps) else ""
    )


def are_in_range(rows: Rows) -> Finding:
    """Parameters go where they should."""
    if not matching(rows, what="change"):
        return untestable(NO_CHANGE)
    holds, told = [], []
    for name in PARAMETERS:
        found = [row["value"] for row in matching(rows, what="change", parameter=name)]
        low, high = RANGES[name]
        holds.append(low <= min(found) + CLOSE and max(found) - CLOSE <= high)
        scale = SHOWN[name].scale
        unit = SHOWN[name].unit
        told.append(f"{name.replace('_', ' ')} {scale * min(found):.3g} to {scale * max(found):.3g} {unit}")
    return Finding(by_share(holds), ", ".join(told), "over all episodes and both kinds of change")


def are_independent(rows: Rows) -> Finding:
    """When one parameter changes says nothing about when another does."""
    if not matching(rows, what="change"):
        return untestable(NO_CHANGE)
    most = 0.0
    for change in values(rows, "change"):
        times: dict[str, Mapping[int, int]] = {
            name: {row["episode"]: row["first"] for row in matching(rows, what="change", change=change, parameter=name)}
            for name in PARAMETERS
        }
        for k, one in enumerate(PARAMETERS):
            for other in PARAMETERS[k + 1 :]:
                both = sorted(times[one].keys() & times[other].keys())
                pairs = np.array([[times[one][e], times[other][e]] for e in both], float)
                if len(pairs) > 2:
                    most = max(most, abs(float(np.corrcoef(pairs.T)[0, 1])))
    count = len(matching(rows, what="change")) // (2 * len(PARAMETERS))
    expected = 4 / np.sqrt(max(count, 1))
    verdict = CONFIRMED if most < expected else NOT_CONFIRMED
    return Finding(
        verdict, f"largest correlation {most:.3f}", f"chance alone stays below {expected:.3f} for {count} episodes"
    )


def draw_schedules(item: Item, rows: Rows) -> Figure:
    """One episode of each kind."""
    figure = style.new_figure(5.0, titled(item))
    grid = figure.subplots(len(PARAMETERS), 2, sharex=True, sharey="row")
    for column, change in enumerate(TESTED):
        for row_number, name in enumerate(PARAMETERS):
            panel = grid[row_number, column]
            strip = matching(rows, what="strip", change=change, parameter=name)
            shown = [SHOWN[name].scale * row["value"] for row in strip]
            colour = PARAMETER_COLOURS[name]
            panel.plot([row["step"] for row in strip], shown, color=colour, linewidth=2, drawstyle="steps-post")
            ends = [SHOWN[name].scale * edge for edge in RANGES[name]]
            panel.set_ylim(min(ends) - 0.1 * (ends[1] - ends[0]), max(ends) + 0.1 * (ends[1] - ends[0]))
            panel.axvspan(*EDGES, color=style.GREY, alpha=0.12, linewidth=0)
            style.plain(panel, f"{SHOWN[name].name}\n({SHOWN[name].unit})" if column == 0 else "")
        grid[0, column].set_title(figures.GROUPS[change], fontsize=11)
        grid[-1, column].set_xlabel("step (grey: where things may change)")
    return figure


def schedule_tables(item: Item, rows: Rows) -> str:
    """What was counted."""
    cells = []
    for change in TESTED:
        for name in PARAMETERS:
            found = matching(rows, what="change", change=change, parameter=name)
            if found:
                first, last = min(row["first"] for row in found), max(row["last"] for row in found)
                ends = [SHOWN[name].scale * pick(row["value"] for row in found) for pick in (min, max)]
                cells.append([change, name.replace("_", " "), len(found), first, last, *(f"{end:.3g}" for end in ends)])
    columns = ["change", "parameter", "episodes", "earliest", "latest", "lowest", "highest"]
    return markdown(columns, cells, text=2)
