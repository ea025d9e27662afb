"""Tables from notes: one function for each kind, by whose name `experiments.toml` asks for it, with its options."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from arz.analysis import statistics
from arz.analysis.comparison import Comparison
from arz.analysis.comparison_tables import markdown, usual_success
from arz.files import read_text
from arz.reproduce.groups.group import MOST_BYTES, Group, Note, notes_in
from arz.runs.entries import Entry, from_lines
from arz.tasks.quadruped import LEGS

WHICH = ("none", *LEGS)
"""Which leg breaks."""
Options = Sequence[Mapping[str, Any]]


def lined(columns: Sequence[str], cells: Iterable[Sequence[object]], rules: Sequence[str] = ()) -> str:
    """A table for a page."""
    lines = [f"| {' | '.join(columns)} |", "|" + "|".join(rules or ["---"] * len(columns)) + "|"]
    return "".join(f"{line}\n" for line in (*lines, *(f"| {' | '.join(map(str, line))} |" for line in cells)))


def middle(scores: Sequence[float]) -> str:
    """Median and range."""
    return f"{np.median(scores):.0f} ({min(scores):.0f} to {max(scores):.0f})"


# ---- grow and tune ----


def worst(note: Note) -> float:
    """The least of the mean returns in all tests."""
    return float(min(mean for mean, _ in note["tests"].values()))


def over_legs(note: Note, engine: str = "batched") -> float:
    """The mean return over the four legs."""
    return float(np.mean([note["tests"][f"{engine} {leg}"][0] for leg in LEGS]))


def legs(note: Note) -> int:
    """How many legs can break and most episodes last."""
    return sum(note["tests"][f"batched {leg}"][1] > 0.5 for leg in LEGS)


SCORES: dict[str, Callable[[Note], float]] = {"worst": worst, "over_legs": over_legs}
"""What a run is worth, by the names that tables have for it."""


def every_run(group: Group) -> str:
    """The runs of each experiment that is none of a list of variations, under its title and its command."""
    there = [name for name, series in group.series.items() if not series.part and group.notes(name)]
    return "\n".join(_runs_of(group, name) for name in there)


def _runs_of(group: Group, name: str) -> str:
    series = group.series[name]
    found = sorted(group.notes(name), key=lambda note: int(note["seed"]))
    shown = [_scores_of(note, bool(series.at)) for note in found]
    cells = []
    for note, scores in zip(found, shown, strict=True):
        steps = f"{note['steps'] / 1e6:.{1 if note['steps'] < 1e7 else 0}f}M"
        about = [note["lines"], note["parameters"], note["flops"], f"{note['seconds']:.0f} s", steps]
        cells.append([note["seed"], *scores.values(), *about])
    table = lined(["seed", *shown[0], "lines", "parameters", "FLOPs", "time", "steps"], cells)
    return f"## {series.label}\n\n`{group.told(series)}`\n\n{table}"


def _scores_of(note: Note, is_early: bool) -> dict[str, str]:
    """By column: each leg, or the worst test and each, or the only one."""
    tests = note["tests"]
    if f"batched {LEGS[0]}" in tests:
        each = {leg: "{:.0f} ({:.0%})".format(*tests[f"batched {leg}"]) for leg in WHICH}
        pruned = "" if is_early else f"{over_legs(note['pruned']):.0f}, {note['pruned']['lines']} lines"
        mujoco = f"{over_legs(note, 'mujoco'):.0f}"
        return {"mean of legs": f"{over_legs(note):.0f}", **each, "MuJoCo": mujoco, "pruned": pruned}
    if len(tests) == 1:
        return {"mean return": f"{worst(note):.1f}"}
    return {
        "worst": f"{worst(note):.1f}",
        **{test.replace("continuous", "cont."): f"{mean:.0f}" for test, (mean, _) in tests.items()},
    }


def parts(group: Group, of: str, least: float) -> str:
    """What each part of a search is worth on cartpole: the least of all tests."""
    cells = []
    for part, name in group.variations[of].items():
        if found := group.notes(name):
            low = [worst(note) for note in found]
            mean = np.mean([mean for note in found for mean, _ in note["tests"].values()])
            size = np.median([note["lines"] for note in found])
            hits = f"{sum(score >= least for score in low)} of {len(low)}"
            cells.append([part, hits, middle(low), f"{mean:.0f}", f"{size:.0f}"])
    columns = ["changed", f"{least:g} or more in all ten tests", "the worst test: median (range)", "all tests: mean"]
    return lined([*columns, "lines"], cells)


def leg_parts(group: Group, of: str) -> str:
    """The same on the quadruped: over the legs, and how many legs most episodes survive."""
    cells = []
    for part, name in group.variations[of].items():
        if found := group.notes(name):
            safe = np.median([legs(note) for note in found])
            referee = np.median([over_legs(note, "mujoco") for note in found])
            scores = middle([over_legs(note) for note in found])
            cells.append([part, len(found), scores, f"{safe:g}", f"{referee:.0f}"])
    columns = ["changed", "runs", "mean of legs: median (range)", "legs survived: median", "MuJoCo: median"]
    return lined(columns, cells)


def against(group: Group, data: str, rows: Options) -> str:
    """Programs of some experiments and networks of an item of the paper, over the legs."""
    text = read_text(group.folder / data, MOST_BYTES)
    tested = [row for row in csv.DictReader(text.splitlines()) if row["group"] == "batched" and row["test"] in LEGS]
    cells = []
    for row in rows:
        if "experiment" in row:
            scores = [over_legs(note) for note in group.notes(row["experiment"])]
        else:
            mine = [each for each in tested if (each["method"], each["budget"]) == (row["method"], row["budget"])]
            by_seed = [[float(each["mean"]) for each in mine if each["seed"] == seed] for seed in _seeds(mine)]
            scores = [float(np.mean(each)) for each in by_seed]
        if scores:
            cells.append([row["steps"], row["text"], len(scores), f"{np.mean(scores):.0f}", middle(scores)])
    return lined(["steps", "method", "runs", "mean", "median (range)"], cells)


def _seeds(rows: Sequence[Mapping[str, str]]) -> list[str]:
    return sorted({row["seed"] for row in rows})


def in_short(group: Group, rows: Options) -> str:
    """Some experiments, in a line each, with the command."""
    cells = []
    for row in rows:
        if found := group.notes(row["experiment"]):
            size, seconds, steps = (np.median([note[key] for note in found]) for key in ("lines", "seconds", "steps"))
            command = group.told(group.find(row["experiment"])).partition(" --output")[0]
            scores = middle([SCORES[row["score"]](note) for note in found])
            spent = [f"{steps / 1e6:.0f}M", f"{seconds:.0f} s"]
            cells.append([row["text"], len(found), scores, f"{size:.0f}", *spent, f"`{command}`"])
    columns = ["from scratch", "runs", "median (range)", "lines", "steps", "time", "command, for seeds from 1 on"]
    return lined(columns, cells)


# ---- regularized evolution on cartpole ----


def expected(found: Sequence[Note], level: str) -> str:
    """Time and steps of all runs up to a score, or to their end, for each run that got there."""
    successes = sum(note["reached"][level] is not None for note in found)
    seconds, steps = (sum((note["reached"][level] or note)[what] for note in found) for what in ("seconds", "steps"))
    if not successes:
        return f"none in {seconds:.0f} s, {steps / 1e9:.1f}G steps"
    return f"{seconds / successes:.0f} s, {steps / successes / 1e9:.2f}G steps ({successes}/{len(found)})"


def is_adaptive(note: Note) -> bool:
    """Whether a champion copes with sudden and with continuous changes."""
    return bool(min(note["tests"]["sudden all"], note["tests"]["continuous all"]) >= 900)


def adaptive_runs(group: Group, rows: Options) -> str:
    """How many runs got where."""
    cells = []
    for row in rows:
        found, series = group.notes(row["experiment"]), group.find(row["experiment"])
        scores = [note["own"] for note in found]
        counts = [sum(score >= level for score in scores) for level in (900, 950)]
        high, higher, both = (f"{count} of {len(found)}" for count in (*counts, sum(map(is_adaptive, found))))
        cells.append([series.label, high, higher, middle(scores), both, f"`{row['command']}`"])
    columns = ["evolved on", "900 or more", "950 or more", "median (range)", "adapts to both"]
    return lined([*columns, "command, for seeds 1 to 10"], cells)


def gap(group: Group, rows: Sequence[str], columns: Mapping[str, str]) -> str:
    """What some kinds of programs reach, each run a number: experiments are called by row and column."""
    cells = []
    for row in rows:
        scores = [sorted((note["own"] for note in group.notes(f"{row}-{of}")), reverse=True) for of in columns]
        cells.append([row, *(", ".join(f"{score:.0f}" for score in each) for each in scores)])
    return lined(["", *columns.values()], cells).replace("|  |", "| |", 1)


def expected_costs(group: Group) -> str:
    """Every experiment: the scores of its runs, and what a good one takes."""
    cells = []
    for name, series in group.series.items():
        if found := group.notes(name):
            scores = " ".join(f"{score:.0f}" for score in sorted((note["own"] for note in found), reverse=True))
            cells.append([series.label, len(found), scores, expected(found, "900"), expected(found, "950")])
    own = "test score on its own task, each run"
    return lined(["experiment", "runs", own, "expected cost of 900", "of 950"], cells)


def in_detail(group: Group, experiment: str) -> str:
    """All runs of an experiment."""
    series, cells = group.find(experiment), []
    for note in group.notes(experiment):
        tests = [f"{note['tests'][f'{change} all']:.0f}" for change in ("sudden", "continuous")]
        shares = [f"{note['steps'] / 1e9:.2f}G", f"{note['hits'] / note['evaluations']:.0%}"]
        spent = [note["seed"], f"{note['seconds']:.0f} s", f"{note['evaluations']:,}", *shares, note["restarts"]]
        about = [f"{note['wiped']:.0f}", note["lines"], "yes" if is_adaptive(note) else "no"]
        cells.append([*spent, f"{note['selection']:.0f}", *tests, *about])
    columns = ["seed", "time", "evaluations", "steps", "known from cache", "restarts", "selection", "sudden, all"]
    columns += ["continuous, all", "memory wiped", "lines", "adapts"]
    return f"**{series.label}** (`{group.base(series).name}-SEED`)\n\n{lined(columns, cells)}"


def settings(group: Group, data: str) -> str:
    """What each setting takes to some scores."""
    found: dict[str, list[Note]] = defaultdict(list)
    for note in notes_in(group.folder / data):
        found[note["settings"]].append(note)
    cells = []
    for name, notes in found.items():
        share = sum(note["hits"] for note in notes) / sum(note["evaluations"] for note in notes)
        median = float(np.median([note["test"] for note in notes]))
        levels = [_expected_steps(notes, level) for level in ("900", "950")]
        cells.append([name, len(notes), *levels, f"{median:.0f}", f"{share:.0%}"])
    return lined(["changed", "runs", "steps to 900", "steps to 950", "median test", "known from cache"], cells)


def _expected_steps(notes: Sequence[Note], level: str) -> str:
    """Steps of all runs, up to the level or to their end, for each run that got there."""
    steps = sum(note["reached"][level] or note["steps"] for note in notes)
    hits = sum(note["reached"][level] is not None for note in notes)
    return f"{steps / hits / 1e9:.2f}G ({hits}/{len(notes)})" if hits else f"none in {steps / 1e9:.1f}G"


# ---- the quadruped ----


def _shown(found: Mapping[str, Any]) -> list[str]:
    """Returns and survival of a champion in a simulator: the mean over the legs, and each."""
    mean = np.mean([found[leg]["return"] for leg in LEGS])
    return [f"{mean:.0f}", *(f"{found[leg]['return']:.0f} ({found[leg]['survived']:.0%})" for leg in WHICH)]


def keeps_walking(note: Note) -> bool:
    """Whether the champion is an all-legs policy: at least 400 whichever leg breaks, most episodes survived."""
    found = note["tests"]["batched"]
    return all(found[leg]["return"] >= 400 and found[leg]["survived"] > 0.5 for leg in LEGS)


def successes(group: Group) -> str:
    """How often the runs of each experiment found an all-legs policy."""
    cells = []
    for name, series in group.series.items():
        if found := group.notes(name):
            hits = sum(keeps_walking(note) for note in found)
            rate = statistics.share(hits, len(found))
            means = ", ".join(f"{note['mean']:.0f}" for note in found)
            cells.append([series.label, len(found), means, hits, f"{rate.low:.0%} to {rate.high:.0%}"])
    return lined(["experiment", "runs", "mean of legs", "all-legs policies", "share, 95 %"], cells)


def simulators(group: Group) -> str:
    """All runs, and how the champions do when a leg breaks, in our simulator and in others."""
    cells = []
    for note in group.notes():
        about = f"{note['experiment']}, seed {note['seed']}"
        first = [about, f"{note['seconds'] / 60:.0f} min", f"{note['evaluations']:,}", f"{note['selection']:.0f}"]
        for engine, found in note["tests"].items():
            is_own = engine == "batched"
            start = first if is_own else [f"{about}: {engine}", "", "", ""]
            size = [note["lines"], note["parameters"], note["flops"]] if is_own else ["", "", ""]
            cells.append([*start, *_shown(found), *size])
    columns = ["run", "time", "evaluations", "selection", "mean of legs", *WHICH, "lines", "parameters", "FLOPs"]
    return lined(columns, cells)


def best_champion(group: Group, simulators: Mapping[str, str]) -> str:
    """The best champion over the legs, in each simulator."""
    best = max(group.notes(), key=lambda note: float(note["mean"]))
    cells = [[name, *_shown(best["tests"][engine])] for engine, name in simulators.items()]
    return lined(["", "mean of legs", *WHICH], cells).replace("|  |", "| |", 1)


# ---- environments of Gymnasium ----


def environments(group: Group, champions: str) -> str:
    """All runs, each with a link to its champion."""
    order, cells = list(group.series), []
    for note in sorted(group.notes(), key=lambda note: (order.index(note["env"]), note["seed"])):
        name = f"[{note['env']}]({champions}/{note['env']}-{note['seed']}.arz)"
        spent = (f"{note['steps'] / 1e6:.1f}M", f"{note['seconds'] / 60:.1f} min")
        cells.append([name, note["seed"], note["return"], *spent, note["lines"], note["parameters"], note["flops"]])
    columns = ["environment", "seed", "mean return of 100 test episodes", "steps of the environment", "time"]
    return lined([*columns, "lines", "parameters", "FLOPs"], cells, ["---", *["---:"] * 7])


# ---- programs against networks ----


def entries_of(group: Group) -> list[Entry]:
    """All runs of a comparison, in the order of their files."""
    files = sorted({file for file in map(group.file, group.series.values()) if file.exists()})
    return [entry for file in files for entry in from_lines(read_text(file, MOST_BYTES), str(file))]


def comparison(group: Group, shown: str) -> str:
    """The commands of all methods, and the tables of `arz compare`; the folder is called as it is shown."""
    kept = [series for series in group.series.values() if group.file(series).exists()]
    commands = "\n".join(f"    {spelled(group.command(series, 1))}" for series in kept)
    sweeps = dict.fromkeys(series.sweep for series in kept if series.sweep)
    before = "\n".join(f"    {group.sweep_note(name)['command']}" for name in sweeps)
    entries = entries_of(group)
    made = markdown(Comparison.of(entries, usual_success(entries)))
    how = f" --steps {group.at} --episodes {entries[0].episodes}"
    return (
        f"The sweeps, each with an --output:\n\n{before}\n\nThe runs, here with their first seed:\n\n{commands}\n\n"
        f"What is kept of each method: `arz compare 'LABEL=RUN' ...{how} --save FILE`. "
        f"The tables: `arz compare {shown}/*.jsonl --markdown`.\n\n{made}"
    )


def spelled(words: Iterable[str]) -> str:
    """A command as one types it, with no more quotes than it takes."""
    return " ".join(f"'{word}'" if " " in word else word for word in words)


TABLES: dict[str, Callable[..., str]] = {
    table.__name__: table
    for table in (
        *(every_run, parts, leg_parts, against, in_short),
        *(adaptive_runs, gap, expected_costs, in_detail, settings),
        *(successes, simulators, best_champion, environments, comparison),
    )
}
"""The kinds of tables."""
