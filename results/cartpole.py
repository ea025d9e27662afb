"""Runs the experiments on Cataclysmic Cartpole (`python results/cartpole.py run`) and writes tables (`... table`).

Runs are made by `arz evolve` in runs/results/ and go on where they stopped; one that is done is not done again. What is
kept in the repository is small: one line of numbers per run (results/cartpole/*.jsonl) and the champions as .arz files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.runs.budget import Budget

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results" / "cartpole"
RUNS = ROOT / "runs" / "results"
ARZ = str(Path(sys.executable).parent / "arz")
EPISODES = 1000
"""Test episodes for each figure in the tables: an error of about 1 point."""


@dataclass(frozen=True)
class Experiment:
    """Some runs that differ in their seeds only."""

    title: str
    options: tuple[str, ...]
    seeds: int
    extends: str = ""
    """The experiment whose runs are extended; empty for new runs."""


GAP = ("--budget", "1G steps")
EXPERIMENTS = {
    "continuous": Experiment("all, continuous; default budget", (), 10),
    "sudden": Experiment(
        "all, sudden; 3 minutes or 975", ("--change", "sudden", "--budget", "3m", "--target", "975"), 10
    ),
    "continuous-20m": Experiment(
        "the same runs; 20 minutes or 960", ("--budget", "20m", "--target", "960"), 10, "continuous"
    ),
    **{
        f"{'stateful' if stateful else 'stateless'}-{change}-{limit}": Experiment(
            f"{'stateful' if stateful else 'stateless'}, {change}, x limit {limit}; 1G steps",
            (*GAP, "--change", change, "--x-limit", limit, *([] if stateful else ["--no-stateful"])),
            3 if limit == "0.4" else 2,
        )
        for limit in ("0.4", "2.4")
        for change in ("sudden", "continuous")
        for stateful in (False, True)
    },
    "stateless-4g": Experiment(
        "stateless, continuous, x limit 0.4; the same, 4G steps",
        ("--budget", "4G steps"),
        3,
        "stateless-continuous-0.4",
    ),
}


def command_of(name: str, seed: int) -> list[str]:
    """The command that makes, or extends, a run."""
    experiment = EXPERIMENTS[name]
    folder = f"runs/results/{experiment.extends or name}-{seed}"
    if experiment.extends:
        return ["arz", "resume", folder, *experiment.options]
    return ["arz", "evolve", "cartpole-regularized", "--seed", str(seed), *experiment.options, "--output", folder]


def run_one(name: str, seed: int) -> dict[str, Any]:
    """Makes a run and says how it went."""
    command = command_of(name, seed)
    folder = RUNS / f"{EXPERIMENTS[name].extends or name}-{seed}"
    if folder.exists() and command[1] == "evolve":
        command = ["arz", "resume", *command[-1:]]
    arguments = [ARZ, *command[1:], "--no-test", "--json", "--quiet"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(done.stderr)
    with arz.Run.open(folder) as run:
        metrics, champions, task, facts = run.metrics, run.champions, run.config.task, run.facts
    metrics = until_end(name, metrics)
    best = [row for row in champions if row["evaluations"] <= metrics["evaluations"][-1]][-1]
    champion = arz.Program.parse(best["program"])
    simple = arz.readable(champion).program
    (KEPT / "champions").mkdir(parents=True, exist_ok=True)
    (KEPT / "champions" / f"{name}-{seed}.arz").write_text(str(simple))
    tests = {f"{r.change} {r.task}": round(r.mean, 1) for r in arz.assess(champion, task, episodes=EPISODES)}
    forgetful = arz.Program(replace(champion.memory, stateful=False), champion.functions, champion.image)
    wiped = evaluate(forgetful, task, fresh_episodes(EPISODES)).mean[0]
    cost = arz.complexity(champion)
    return {
        "experiment": name,
        "seed": seed,
        "command": " ".join(command_of(name, seed)),
        "arz": facts["arz"],
        **{key: int(metrics[key][-1]) for key in ("evaluations", "steps", "hits", "restarts")},
        "seconds": round(float(metrics["seconds"][-1]), 1),
        "selection": round(float(metrics["champion_score"][-1]), 1),
        "tests": tests,
        "own": tests[f"{task.change} all"],
        "wiped": round(float(wiped), 1),
        "reached": {str(level): reached(metrics, level) for level in (800, 900, 950)},
        "lines": cost.lines,
        "parameters": cost.parameters,
        "flops": cost.flops,
    }


def until_end(name: str, metrics: dict[str, Any]) -> dict[str, Any]:
    """The metrics up to where the command of an experiment ends: a longer run holds every shorter one of its seed."""
    experiment = EXPERIMENTS[name]
    options = dict(zip(experiment.options[::2], experiment.options[1::2], strict=False))
    budget = Budget.parse(options.get("--budget", arz.preset("cartpole-regularized").limits.budget))
    moments = zip(metrics["evaluations"], metrics["steps"], metrics["seconds"], strict=True)
    count = sum(budget.spent(*moment) < 1 for moment in moments)
    if "--target" in options:
        begun = len(until_end(experiment.extends, metrics)["steps"]) if experiment.extends else 1
        there = np.flatnonzero(metrics["champion_score"] >= float(options["--target"])) + 1
        count = min([count, *(max(begun, int(n)) for n in there[:1])])
    return {key: values[:count] for key, values in metrics.items()}


def reached(metrics: dict[str, Any], level: float) -> dict[str, float] | None:
    """When the champion's selection score first was at a level."""
    above = np.flatnonzero(metrics["champion_score"] >= level)
    if len(above) == 0:
        return None
    first = int(above[0])
    return {name: round(float(metrics[name][first]), 1) for name in ("seconds", "steps", "evaluations")}


def rows(name: str) -> list[dict[str, Any]]:
    """What is known of an experiment."""
    path = KEPT / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(names: list[str]) -> None:
    """Makes all runs that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in names or EXPERIMENTS:
        known = {row["seed"] for row in rows(name)}
        for seed in range(1, EXPERIMENTS[name].seeds + 1):
            if seed not in known:
                found = run_one(name, seed)
                print(name, seed, found["seconds"], found["selection"], found["own"], flush=True)
                with (KEPT / f"{name}.jsonl").open("a") as file:
                    file.write(json.dumps(found) + "\n")


def expected(found: list[dict[str, Any]], level: str) -> str:
    """Time and steps of all runs up to the level, or to their end, for each run that got there."""
    successes = sum(row["reached"][level] is not None for row in found)
    seconds, steps = (sum((row["reached"][level] or row)[what] for row in found) for what in ("seconds", "steps"))
    if not successes:
        return f"none in {seconds:.0f} s, {steps / 1e9:.1f}G steps"
    return f"{seconds / successes:.0f} s, {steps / successes / 1e9:.2f}G steps ({successes}/{len(found)})"


def is_adaptive(row: dict[str, Any]) -> bool:
    """Whether a champion copes with sudden and with continuous changes."""
    return min(row["tests"]["sudden all"], row["tests"]["continuous all"]) >= 900


def summary() -> str:
    """How many runs of ten got where: the table in results/README.md."""
    lines = [
        "| evolved on | 900 or more | 950 or more | median (range) | adapts to both | command, for seeds 1 to 10 |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for name, command in {
        "continuous": "arz evolve cartpole-regularized --seed N",
        "continuous-20m": "arz resume RUN --budget 20m --target 960",
        "sudden": "arz evolve cartpole-regularized --seed N --change sudden --budget 3m --target 975",
    }.items():
        found = rows(name)
        scores = [row["own"] for row in found]
        counts = [sum(score >= level for score in scores) for level in (900, 950)] + [sum(map(is_adaptive, found))]
        high, higher, both = (f"{count} of {len(found)}" for count in counts)
        middle = f"{np.median(scores):.0f} ({min(scores):.0f} to {max(scores):.0f})"
        lines.append(f"| {EXPERIMENTS[name].title} | {high} | {higher} | {middle} | {both} | `{command}` |")
    return "\n".join(lines) + "\n"


def gap() -> str:
    """What programs with and without memory reach, at both limits of the track: another table of results/README.md."""
    columns = [(limit, change) for limit in ("0.4", "2.4") for change in ("continuous", "sudden")]
    names = " | ".join(f"x limit {limit}, {change}" for limit, change in columns)
    lines = [f"| | {names} |", "|---|---|---|---|---|"]
    for kind in ("stateless", "stateful"):
        cells = [sorted((row["own"] for row in rows(f"{kind}-{c}-{limit}")), reverse=True) for limit, c in columns]
        lines.append(f"| {kind} | " + " | ".join(", ".join(f"{score:.0f}" for score in cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def tables() -> Iterator[str]:
    """The tables, as Markdown."""
    yield summary() + "\n" + gap() + "\n"
    yield "| experiment | runs | test score on its own task, each run | expected cost of 900 | of 950 |\n"
    yield "|---|---|---|---|---|\n"
    for name, experiment in EXPERIMENTS.items():
        found = rows(name)
        if found:
            scores = " ".join(f"{score:.0f}" for score in sorted((row["own"] for row in found), reverse=True))
            times = f"{expected(found, '900')} | {expected(found, '950')}"
            yield f"| {experiment.title} | {len(found)} | {scores} | {times} |\n"
    for name in ("continuous", "sudden", "continuous-20m"):
        yield f"\n**{EXPERIMENTS[name].title}** (`{EXPERIMENTS[name].extends or name}-SEED`)\n\n"
        columns = ["seed", "time", "evaluations", "steps", "known from cache", "restarts", "selection", "sudden, all"]
        columns += ["continuous, all", "memory wiped", "lines", "adapts"]
        yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
        for row in rows(name):
            adapts = "yes" if is_adaptive(row) else "no"
            tests = [f"{row['tests'][f'{change} all']:.0f}" for change in ("sudden", "continuous")]
            shares = [f"{row['steps'] / 1e9:.2f}G", f"{row['hits'] / row['evaluations']:.0%}"]
            cells = [row["seed"], f"{row['seconds']:.0f} s", f"{row['evaluations']:,}", *shares, row["restarts"]]
            cells += [f"{row['selection']:.0f}", *tests, f"{row['wiped']:.0f}", row["lines"], adapts]
            yield f"| {' | '.join(str(cell) for cell in cells)} |\n"


def figure() -> None:
    """All runs in one picture."""
    from matplotlib.figure import Figure

    names = [name for name in EXPERIMENTS if rows(name)]
    drawn = Figure(figsize=(10, 0.45 * len(names) + 1.2), dpi=150, layout="constrained")
    panel = drawn.add_subplot()
    for place, name in enumerate(reversed(names)):
        scores = [row["own"] for row in rows(name)]
        panel.scatter(scores, [place] * len(scores), s=36, alpha=0.6, color="#0072B2")
        panel.scatter([np.median(scores)], [place], marker="|", s=300, color="black")
    panel.set_yticks(range(len(names)), [EXPERIMENTS[name].title for name in reversed(names)])
    panel.set_xlabel("mean return over 1000 test episodes of its task (dot: a run, bar: median)")
    panel.set_xlim(right=1000)
    panel.grid(axis="x", alpha=0.3)
    drawn.savefig(KEPT / "runs.png")


def main() -> None:
    """Runs, or prints what came out."""
    what, *names = sys.argv[1:] or ["table"]
    if what == "run":
        run(names)
    else:
        figure()
        (KEPT / "tables.md").write_text("".join(tables()))
        print((KEPT / "tables.md").read_text())


if __name__ == "__main__":
    main()
