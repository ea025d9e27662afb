"""Items that watch the best policy of an experiment: where it goes, and what goes on inside, when a leg breaks.

All episodes of an item have the same key: until the leg breaks they are the same, so what differs afterwards comes from
the break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.analysis.comparison import COLOURS
from arz.episode import Episode, run_episode
from arz.evaluate import fresh_episodes
from arz.explain.traces import Inside, InsideProgram, Period, look_inside, period_of
from arz.plotting import style
from arz.policy import AnyPolicy
from arz.reproduce.plan import Item, titled
from arz.reproduce.table import Row, Rows, markdown, matching, rounded, values
from arz.reproduce.verdict import CONFIRMED, NOT_CONFIRMED, Finding, by_share, untestable
from arz.reproduce.work import Work
from arz.tasks.quadruped import LEGS, NUMBERS, STEP, Quadruped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BREAK = 500
"""The step at which a leg breaks, as in the paper's figures."""
AROUND = 100
"""Steps before and after the break that are shown: a second."""
EVERY = 5
"""Of a trajectory, every so many steps are kept."""
SOON = 10
"""Steps (a tenth of a second) within which a change counts as instantaneous."""
LEAST = 20
"""So many steps after the break are needed to tell whether states differ."""
CLEAR = 0.1
"""What moves more than this share of its range, against the unbroken episode, has clearly changed."""
CHOICES = ("none", *LEGS)
NAMES = {"none": "none", "FR": "front right", "FL": "front left", "RR": "back right", "RL": "back left"}


def _watched(work: Work, policy: AnyPolicy, leg: str) -> Episode:
    task = replace(Quadruped(), leg=leg, break_step=BREAK, **work.item.options.get("variant", {}))
    return run_episode(policy, task, int(fresh_episodes(1)[0]))


# ---- trajectories ----


def measure_trajectories(work: Work) -> Rows:
    """How far forward the best policy of each experiment is, over time, with each leg broken."""
    rows: list[Row] = []
    for experiment in work.item.experiments:
        best = work.best(experiment.name)
        if best is None:
            continue
        for leg in CHOICES:
            seen = _watched(work, best[1].champion, leg)
            forward = seen.rows["position x"]
            for step in sorted({*range(0, len(forward), EVERY), len(forward) - 1}):
                rows.append(
                    {
                        "method": experiment.label,
                        "seed": best[0],
                        "leg": leg,
                        "step": step,
                        "forward": rounded(forward[step], 3),
                        "ending": seen.ending if step == len(forward) - 1 else None,
                    }
                )
    return rows


def _ends(rows: Rows, method: str) -> dict[str, Row]:
    """The last row of each episode, by leg."""
    return {row["leg"]: row for row in matching(rows, method=method) if row["ending"]}


def _lasted(row: Row) -> bool:
    return "lasted" in str(row["ending"])


def stays_up(rows: Rows, method: str, legs: Sequence[str]) -> Finding:
    """A policy lasts to the end whichever of these legs breaks."""
    ends = _ends(rows, method)
    if not ends:
        return untestable(f"there is no policy of {method}")
    holds = [_lasted(ends[leg]) for leg in legs]
    return Finding(by_share(holds), _told(ends), f"to the end with {sum(holds)} of {len(holds)}")


def falls(rows: Rows, method: str, legs: Sequence[str]) -> Finding:
    """A policy falls whichever of these legs breaks."""
    ends = _ends(rows, method)
    if not ends:
        return untestable(f"there is no policy of {method}")
    if not _lasted(ends["none"]):
        return untestable(f"the best {method} ends early when no leg breaks ({_told(ends)})")
    holds = [not _lasted(ends[leg]) for leg in legs]
    return Finding(by_share(holds), _told(ends), f"ends early with {sum(holds)} of {len(holds)}")


def _told(ends: dict[str, Row]) -> str:
    words = {leg: "to the end" if _lasted(row) else f"until step {row['step']}" for leg, row in ends.items()}
    return ", ".join(f"{NAMES[leg]} {words[leg]} ({row['forward']:.1f} m)" for leg, row in ends.items())


def draw_trajectories(item: Item, rows: Rows) -> Figure:
    """A panel for each method, a line for each leg."""
    methods = values(rows, "method")
    figure = style.new_figure(4.6, titled(item))
    panels = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    for panel, method in zip(panels, methods, strict=True):
        for leg, colour in zip(CHOICES, COLOURS, strict=False):
            own = matching(rows, method=method, leg=leg)
            x, y = [row["step"] for row in own], [row["forward"] for row in own]
            panel.plot(x, y, color=colour, linewidth=1.6, label=NAMES[leg])
            if not _lasted(own[-1]):
                panel.plot(x[-1], y[-1], "^", color=colour, markersize=9, markeredgecolor="black")
        panel.axvline(BREAK, color=style.VERMILION, linewidth=1.0)
        panel.set_title(method, fontsize=11)
        panel.set_xlabel("step")
        panel.set_xlim(0, 1000)
        style.plain(panel)
        panel.get_legend().remove()
    panels[0].set_ylabel("forward (m)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=5,
        frameon=False,
        title="leg that breaks at the red line (▲: it ended there)",
    )
    return figure


def trajectory_tables(item: Item, rows: Rows) -> str:
    """How each episode ended."""
    cells = [
        [method, row["seed"], NAMES[leg], row["step"] + 1, row["forward"], row["ending"]]
        for method in values(rows, "method")
        for leg, row in _ends(rows, method).items()
    ]
    return markdown(["method", "seed", "leg", "steps", "forward (m)", "how it ended"], cells)


# ---- what goes on inside ----


def _insides(work: Work) -> tuple[str, dict[str, InsideProgram]]:
    """The best program of the item's experiment from inside, with each leg broken; none if there is no program."""
    (experiment,) = work.item.experiments
    best = work.best(experiment.name)
    found: dict[str, InsideProgram] = {}
    if best is None:
        return experiment.label, found
    for leg in CHOICES:
        inside: Inside = look_inside(_watched(work, best[1].champion, leg))
        if isinstance(inside, InsideProgram):
            found[leg] = inside
    return experiment.label, found


PAIRS = {(False, False): 0, (True, True): 1, (False, True): 2, (True, False): 3}
"""The paper's numbers for which of two conditions hold."""


def measure_states(work: Work) -> Rows:
    """Which of the two conditions that look at the observation hold, at each step, as one of four states."""
    method, insides = _insides(work)
    rows: list[Row] = []
    for leg, inside in insides.items():
        found = [
            [fired for name, fired in inside.calls.items() if f"if {text}:" in name]
            for text in work.item.options["conditions"]
        ]
        if all(len(each) == 1 for each in found):
            first, second = (each[0] for each in found)
            rows += [
                {"method": method, "leg": leg, "step": step, "state": PAIRS[bool(a), bool(b)]}
                for step, (a, b) in enumerate(zip(first, second, strict=True))
            ]
    return rows


def _states(rows: Rows, leg: str) -> list[int]:
    return [int(row["state"]) for row in matching(rows, leg=leg)]


NO_STATES = "the best program does not have these conditions"


def has_rhythm(rows: Rows) -> Finding:
    """While no leg is broken the states repeat themselves."""
    if not rows:
        return untestable(NO_STATES)
    steps = np.array(_states(rows, "none"), float)
    period = period_of(steps[AROUND // 2 :])
    shares = ", ".join(f"{state}: {np.mean(steps == state):.0%}" for state in PAIRS.values())
    if period is None:
        return Finding(NOT_CONFIRMED, f"states {shares}; no period", "autocorrelation of the state over the episode")
    ours = f"states {shares}; a period of {period.steps:.1f} steps ({period.steps * STEP:.2f} s)"
    return Finding(CONFIRMED, ours, f"one period later the states are alike by {period.likeness:.2f} (1: the same)")


def is_disrupted(rows: Rows) -> Finding:
    """A broken leg changes the states: they are no longer those of the unbroken episode."""
    if has_rhythm(rows).verdict != CONFIRMED:
        return untestable("there is no rhythm to disrupt")
    return _apart(rows, [("none", leg) for leg in LEGS])


def are_different(rows: Rows) -> Finding:
    """Different legs give different state trajectories."""
    if not rows:
        return untestable(NO_STATES)
    return _apart(rows, list(combinations(LEGS, 2)))


def _apart(rows: Rows, pairs: Sequence[tuple[str, str]]) -> Finding:
    """Whether pairs of episodes have different states after the break, as far as both go on."""
    holds, told = [], []
    for pair in pairs:
        some, others = (_states(rows, leg)[BREAK:] for leg in pair)
        both = min(len(some), len(others))
        share = sum(a == b for a, b in zip(some[:both], others[:both], strict=True)) / max(both, 1)
        name = " and ".join(NAMES[leg] for leg in pair if leg != "none")
        is_long = both >= LEAST
        holds.append(is_long and share < 1 - CLEAR)
        told.append(f"{name} {share:.0%}" if is_long else f"{name} ended too soon to tell")
    return Finding(
        by_share(holds), ", ".join(told), "share of the steps after the break in which the states are the same"
    )


def draw_states(item: Item, rows: Rows) -> Figure:
    """A strip for each leg, three seconds around the break."""
    figure = style.new_figure(6.4, titled(item))
    panels = figure.subplots(len(CHOICES), 1, sharex=True, sharey=True)
    for panel, leg in zip(panels, CHOICES, strict=True):
        steps = _states(rows, leg)
        panel.step(range(len(steps)), steps, where="post", color=style.BLACK, linewidth=0.9)
        panel.axvline(BREAK, color=style.VERMILION, linewidth=1.6)
        panel.set_yticks(range(len(PAIRS)))
        panel.set_xlim(BREAK - AROUND, BREAK + 2 * AROUND)
        style.plain(panel, f"{NAMES[leg]}\nbreaks" if leg != "none" else "no leg\nbreaks")
    names = item.options["conditions"]
    panels[-1].set_xlabel(
        f"step; state 0: neither {names[0]} nor {names[1]}, 1: both, 2: only {names[1]}, 3: only {names[0]}"
    )
    return figure


def state_tables(item: Item, rows: Rows) -> str:
    """How often each state was there."""
    cells = []
    for leg in CHOICES if rows else ():
        found = _states(rows, leg)
        for when, states in {"before": found[:BREAK], "after": found[BREAK:]}.items():
            shares = [f"{states.count(state) / max(len(states), 1):.0%}" for state in PAIRS.values()]
            cells.append([NAMES[leg], when, len(states), *shares])
    return markdown(["leg", "break", "steps", *(f"state {state}" for state in PAIRS.values())], cells, text=2)


# ---- registers ----


def measure_registers(work: Work) -> Rows:
    """Scalars over time: what looks at the observation, and what it is compared with."""
    method, insides = _insides(work)
    rows: list[Row] = []
    for leg, inside in insides.items():
        for name in work.item.options["registers"]:
            if name in inside.registers:
                for step, value in enumerate(inside.registers[name]):
                    rows.append(
                        {"method": method, "leg": leg, "register": name, "step": step, "value": rounded(value, 4)}
                    )
    return rows


def _register(rows: Rows, leg: str, name: str) -> NDArray[np.float64]:
    """A register over time; NaN where it is no finite number."""
    found = [row["value"] for row in matching(rows, leg=leg, register=name)]
    return np.array([np.nan if value is None else value for value in found])


def _rhythms(signal: NDArray[np.float64]) -> tuple[Period | None, Period | None]:
    """The periods before and after the break; what is no finite number counts as 0 there."""
    known = np.nan_to_num(signal)
    usual = float(np.ptp(known)) if len(known) else 0.0
    return period_of(known[AROUND // 2 : BREAK], usual), period_of(known[BREAK + AROUND // 2 :], usual)


def keeps_rhythm(rows: Rows, registers: Sequence[str]) -> Finding:
    """Registers have a period before the break, and the same one after it, whichever leg breaks."""
    holds, told = [], []
    for name in registers:
        for leg in LEGS:
            signal = _register(rows, leg, name)
            if len(signal) < BREAK + 2 * AROUND:
                told.append(f"{name}, {NAMES[leg]}: it fell too soon to tell")
                continue
            before, after = _rhythms(signal)
            is_same = before is not None and after is not None and abs(after.steps / before.steps - 1) < CLEAR
            holds.append(is_same)
            words = [f"{period.steps:.1f}" if period else "none" for period in (before, after)]
            told.append(f"{name}, {NAMES[leg]}: {' then '.join(words)}")
    if not holds:
        return untestable("the best program does not have these registers, or no episode went on long enough")
    why = f"periods in steps before and after the break; the same in {sum(holds)} of {len(holds)}"
    verdict = by_share([*holds, *[False] * (len(told) - len(holds))])
    return Finding(verdict, "; ".join(told), why)


def is_shaken(rows: Rows, register: str) -> Finding:
    """A register that depends on the observation behaves differently after the break."""
    holds, told = [], []
    for leg in LEGS:
        signal, usual = _register(rows, leg, register), _register(rows, "none", register)
        count = min(len(signal), len(usual), BREAK + 2 * AROUND)
        if count > BREAK:
            apart = np.nanmean(np.abs(signal[BREAK:count] - usual[BREAK:count]))
            size = np.nanmax(usual) - np.nanmin(usual)
            share = float(apart / size) if size > 0 else 0.0
            holds.append(share > CLEAR)
            told.append(f"{NAMES[leg]} {share:.0%}")
    if not holds:
        return untestable("the best program does not have this register, or falls before the break")
    return Finding(
        by_share(holds),
        f"{register}: {', '.join(told)}",
        "mean distance from the unbroken episode in the two seconds after the break, as a share of its range",
    )


def draw_registers(item: Item, rows: Rows) -> Figure:
    """A panel for each register, front left leg broken; the unbroken episode paler."""
    names = values(rows, "register") or [""]
    leg = item.options["shown"]
    figure = style.new_figure(1.6 + 1.7 * len(names), titled(item))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for panel, name in zip(panels, names, strict=True):
        for choice, colour, width in (("none", style.GREY, 0.9), (leg, style.BLUE, 1.3)):
            label = f"{NAMES[choice]} breaks" if choice != "none" else "no leg breaks"
            panel.plot(_register(rows, choice, name), color=colour, linewidth=width, label=label)
        panel.axvline(BREAK, color=style.VERMILION, linewidth=1.6)
        panel.set_xlim(BREAK - 2 * AROUND, BREAK + 3 * AROUND)
        style.plain(panel, name)
        if panel is not panels[0] and panel.get_legend() is not None:
            panel.get_legend().remove()
    panels[-1].set_xlabel("step")
    return figure


def register_tables(item: Item, rows: Rows) -> str:
    """Periods of all registers, all legs."""
    cells = []
    for name in values(rows, "register"):
        for leg in CHOICES:
            signal = _register(rows, leg, name)
            found = _rhythms(signal)
            cells.append([name, NAMES[leg], *(f"{p.steps:.1f} ({p.likeness:.2f})" if p else "none" for p in found)])
    return "Periods in steps, and how alike the register is to itself one period later (1: the same).\n\n" + markdown(
        ["register", "leg", "before", "after"], cells, text=2
    )


# ---- actions and calls ----


def measure_actions(work: Work) -> Rows:
    """Actions and calls of CADFs around the break, with each leg broken."""
    method, insides = _insides(work)
    rows: list[Row] = []
    for leg, inside in insides.items():
        actions = np.clip(inside.episode.actions, -Quadruped.most_action, Quadruped.most_action)
        for step in range(BREAK - AROUND, min(BREAK + AROUND, inside.steps)):
            row: dict[str, Any] = {"method": method, "leg": leg, "step": step}
            row |= {f"action[{k}]": rounded(value, 4) for k, value in enumerate(actions[step])}
            rows.append(row | {f"call {name}": int(fired[step]) for name, fired in inside.calls.items()})
    return rows


def _columns(rows: Rows, leg: str, prefix: str) -> NDArray[np.float64]:
    """The columns that begin so [step, column]."""
    names = [name for name in rows[0] if name.startswith(prefix)] if rows else []
    found = [[row[name] for name in names] for row in matching(rows, leg=leg)]
    return np.array(found, float) if found else np.zeros((0, len(names)))


def acts_at_once(rows: Rows) -> Finding:
    """Actions change clearly, and at once, when a leg breaks."""
    return _changes(rows, "action[", "an action is off by more than a tenth of its range")


def calls_change(rows: Rows) -> Finding:
    """The calls of CADFs change when a leg breaks."""
    if rows and not any(name.startswith("call ") for name in rows[0]):
        return untestable("the best program calls no CADF")
    return _changes(rows, "call ", "another call is made")


def _changes(rows: Rows, prefix: str, words: str) -> Finding:
    """When what a program does first differs from the unbroken episode, for each leg."""
    holds, told = [], []
    usual = _columns(rows, "none", prefix)
    for leg in LEGS if len(usual) > AROUND else ():
        found = _columns(rows, leg, prefix)
        count = min(len(found), len(usual))
        least = CLEAR * 2 * Quadruped.most_action  # of what hardly moves, little is not clear
        size = np.maximum(np.ptp(usual, axis=0), least) if prefix == "action[" else np.ones(usual.shape[1])
        apart = np.any(np.abs(found[AROUND:count] - usual[AROUND:count]) > CLEAR * size, axis=1)
        first = int(np.argmax(apart)) if apart.any() else None
        holds.append(first is not None and first <= SOON)
        told.append(f"{NAMES[leg]} " + ("never" if first is None else f"after {first} steps"))
    if not holds:
        return untestable("no episode went on until the break")
    return Finding(by_share(holds), ", ".join(told), f"when, after the break, {words}; at once is within {SOON} steps")


def draw_actions(item: Item, rows: Rows) -> Figure:
    """The actions of each leg, and the calls, a second before and after the break."""
    leg = item.options["shown"]
    actions, calls = _columns(rows, leg, "action["), _columns(rows, leg, "call ")
    figure = style.new_figure(9.0, titled(item))
    *strips, lower = figure.subplots(len(LEGS) + 1, 1, sharex=True, gridspec_kw={"height_ratios": [*[1] * 4, 2.6]})
    steps = np.arange(len(actions)) + BREAK - AROUND
    joints = NUMBERS["joint_names"]
    for panel, name, own in zip(strips, LEGS, np.split(actions, len(LEGS), axis=1), strict=True):
        for k, joint in enumerate(joints):
            width = 1.2 + 1.1 * (len(joints) - 1 - k)  # equal lines show all
            colour = (style.SKY, style.ORANGE, style.BLACK)[k]
            panel.plot(steps, own[:, k], color=colour, linewidth=width, label=joint, gid=f"{name} {joint}")
        panel.set_ylim(-1.15 * Quadruped.most_action, 1.15 * Quadruped.most_action)
        style.plain(panel, f"{NAMES[name]}\n(rad)")
        if panel is not strips[0]:
            panel.get_legend().remove()
    names = [name.removeprefix("call ") for name in rows[0] if name.startswith("call ")] if rows else []
    for k in range(calls.shape[1]):
        fired = np.flatnonzero(calls[:, k])
        lower.plot(steps[fired], np.full(len(fired), k), "|", color=style.BLACK, markersize=7)
    lower.set_yticks(
        range(len(names)),
        [name if len(name) < 46 else f"{name[:45]}…" for name in names],
        fontsize=6,
        family="monospace",
    )
    style.plain(lower)
    for panel in (*strips, lower):
        panel.axvline(BREAK, color=style.VERMILION, linewidth=1.6)
    lower.set_xlabel(
        f"step; {NAMES[leg]} leg breaks at the red line; above: actions by leg, below: which calls are made"
    )
    return figure


def action_tables(item: Item, rows: Rows) -> str:
    """How often each call was made, in the second before and in the second after the break."""
    names = [name for name in rows[0] if name.startswith("call ")] if rows else []
    cells = []
    for leg in CHOICES:
        calls = _columns(rows, leg, "call ")
        for when, part in (("before", calls[:AROUND]), ("after", calls[AROUND:])):
            cells.append([NAMES[leg], when, *(f"{share:.0%}" for share in (part.mean(axis=0) if len(part) else []))])
    shown = [f"line {name.removeprefix('call ').partition(':')[0]}" for name in names]
    return "In how many of the steps each call was made:\n\n" + markdown(["leg", "break", *shown], cells, text=2)
