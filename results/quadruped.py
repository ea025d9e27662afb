"""Runs the experiments on Laikago leg-breaking (`python results/quadruped.py run`) and writes tables (`... table`).

Runs are made by `arz evolve` in runs/results/ and go on where they stopped; one that is done is not done again. What is
kept in the repository is small: one line of numbers per run (results/quadruped/runs.jsonl), with the curve of its
progress, and the champions as .arz files, tested in our simulator and in MuJoCo.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz.analysis import statistics
from arz.plotting import style
from arz.tasks.quadruped import LEGS, Quadruped

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results" / "quadruped"
DATA = KEPT / "runs.jsonl"
RUNS = ROOT / "runs" / "results"
ARZ = str(Path(sys.executable).parent / "arz")
EPISODES = 100
CURVE_POINTS = 60


@dataclass(frozen=True)
class Experiment:
    """Some runs that differ in their seeds only."""

    title: str
    preset: str
    options: tuple[str, ...]
    seeds: tuple[int, ...]
    before: tuple[str, str] | None = None
    """A script with its argument whose output is a program, and the file for it."""


SEEDS = (1, 2, 3)


def tuned(rows: str, *more: str) -> tuple[str, ...]:
    """Tunes the numbers of one of the three gaits of the trot with reflexes."""
    return ("--tuned", ",".join([*(f"{name}[{rows}]" for name in ("v2", "v5", "v7", "m0")), *more]))


EXPERIMENTS = {
    "default": Experiment("our settings", "quadruped-nsga2", ("--budget", "600000"), SEEDS),
    "no-cadfs": Experiment(
        "our settings without CADFs", "quadruped-nsga2", ("--cadfs", "0", "--budget", "600000"), SEEDS
    ),
    "paper": Experiment("the paper's settings", "quadruped-paper", ("--budget", "2300000"), (1,)),
    "healthy": Experiment(
        "a trot by hand, tuned: no leg breaks",
        "quadruped-tune",
        ("--start", "examples/reflex_trot.arz", "--leg", "none", *tuned("0:12", "s1"), "--budget", "10000"),
        SEEDS,
    ),
    "front": Experiment(
        "that, the front legs' reflex tuned: FR breaks",
        "quadruped-tune",
        (
            "--start",
            "runs/results/reflexes-{seed}.arz",
            "--leg",
            "FR",
            *tuned("12:24", "v13[12:24]"),
            "--budget",
            "12000",
        ),
        SEEDS,
        before=("examples/reflex_trot.py runs/results/quadruped-healthy-{seed}", "runs/results/reflexes-{seed}.arz"),
    ),
    "rear": Experiment(
        "that, the rear legs' reflex tuned: RR breaks",
        "quadruped-tune",
        (
            "--start",
            "runs/results/quadruped-front-{seed}",
            "--leg",
            "RR",
            *tuned("24:36", "v13[24:36]"),
            "--budget",
            "12000",
        ),
        SEEDS,
    ),
    "reflexes": Experiment(
        "that, all its numbers tuned: any leg breaks",
        "quadruped-tune",
        (
            *("--start", "runs/results/quadruped-rear-{seed}", "--tuned", "s1,v2,v5,v7,v13,m0"),
            *("--population", "80", "--episodes", "16", "--sample-spread", "0.05", "--budget", "16000"),
        ),
        SEEDS,
    ),
    "no-reflexes": Experiment(
        "the healthy trot, tuned without reflexes: any leg breaks",
        "quadruped-tune",
        (
            *("--start", "runs/results/quadruped-healthy-{seed}", *tuned("0:12", "s1")),
            *("--population", "80", "--episodes", "16", "--sample-spread", "0.05", "--budget", "24000"),
        ),
        (1,),
    ),
}


def command_of(name: str, seed: int) -> list[str]:
    """The command that makes a run."""
    experiment = EXPERIMENTS[name]
    folder = f"runs/results/quadruped-{name}-{seed}"
    options = [option.format(seed=seed) for option in experiment.options]
    return ["arz", "evolve", experiment.preset, "--seed", str(seed), *options, "--output", folder]


def run_one(name: str, seed: int) -> None:
    """Makes a run, or goes on with it."""
    command, before = command_of(name, seed), EXPERIMENTS[name].before
    if (ROOT / command[-1]).exists():
        command = ["arz", "resume", command[-1]]
    elif before is not None:
        script, file = (part.format(seed=seed) for part in before)
        made = subprocess.run([sys.executable, *script.split()], capture_output=True, text=True, cwd=ROOT, check=True)
        (ROOT / file).write_text(made.stdout)
    done = subprocess.run([ARZ, *command[1:], "--no-test", "--quiet"], stdout=subprocess.DEVNULL, cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)


def note(name: str, seed: int) -> dict[str, Any]:
    """How a run went: what is kept of it."""
    command = command_of(name, seed)
    with arz.Run.open(ROOT / command[-1]) as run:
        metrics, facts, counters, champion = run.metrics, run.facts, run.counters, run.champion
        task, fronts = run.config.task, run.fronts
    simple = arz.readable(champion).program
    path = KEPT / "champions" / f"{name}-{seed}.arz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(simple))
    tests: dict[str, Any] = {}
    for engine in ("batched", "mujoco"):
        own = Quadruped(engine=engine, contact_iterations=task.contact_iterations)  # type: ignore[union-attr]
        for found in arz.assess(simple, own, episodes=EPISODES):
            tests.setdefault(found.change, {})[found.task] = {
                "return": round(found.mean, 1),
                "survived": round(found.completed, 3),
                "distance": round(found.distance or 0.0, 2),
            }
    cost = arz.complexity(champion)
    points = np.unique(np.linspace(0, len(metrics["steps"]) - 1, CURVE_POINTS).astype(int))
    names = ("evaluations", "steps", "seconds", "champion_score", "best_fitness")
    return {
        "experiment": name,
        "seed": seed,
        "command": " ".join(command),
        "arz": facts["arz"],
        **{key: getattr(counters, key) for key in ("evaluations", "steps", "hits", "restarts")},
        "seconds": round(float(facts["seconds"]), 1),
        "contact_iterations": task.contact_iterations,  # type: ignore[union-attr]
        "selection": round(counters.champion_score, 1),
        "tests": tests,
        "mean": round(float(np.mean([tests["batched"][leg]["return"] for leg in LEGS])), 1),
        "lines": cost.lines,
        "parameters": cost.parameters,
        "flops": cost.flops,
        "front": [[round(float(value), 1) for value in point] for point in fronts[-1].objectives] if fronts else [],
        "curve": {key: [round(float(metrics[key][p]), 1) for p in points] for key in names},
    }


def rows() -> list[dict[str, Any]]:
    """What is known of all runs."""
    return [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []


def run(names: list[str]) -> None:
    """Makes all runs that are not there yet, and notes them."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in names or EXPERIMENTS:
        known = {(row["experiment"], row["seed"]) for row in rows()}
        for seed in EXPERIMENTS[name].seeds:
            if (name, seed) not in known:
                run_one(name, seed)
                found = note(name, seed)
                print(name, seed, found["seconds"], found["selection"], found["mean"], flush=True)
                with DATA.open("a") as file:
                    file.write(json.dumps(found) + "\n")


def tables() -> str:
    """All runs, and how the champions do when a leg breaks, in our simulator and in MuJoCo."""
    legs = ("none", *LEGS)
    head = (
        "| run | time | evaluations | selection | mean of legs | "
        + " | ".join(legs)
        + " | lines | parameters | FLOPs |"
    )
    lines = [head, "|---" * (len(legs) + 8) + "|"]
    for row in rows():
        about = f"{row['experiment']}, seed {row['seed']}"
        minutes = f"{row['seconds'] / 60:.0f} min"
        first = [about, minutes, f"{row['evaluations']:,}", f"{row['selection']:.0f}"]
        for engine, found in row["tests"].items():
            mean = np.mean([found[leg]["return"] for leg in LEGS])
            cells = [f"{found[leg]['return']:.0f} ({found[leg]['survived']:.0%})" for leg in legs]
            start = first if engine == "batched" else [f"{about}: {engine}", "", "", ""]
            last = [row["lines"], row["parameters"], row["flops"]] if engine == "batched" else ["", "", ""]
            lines.append("| " + " | ".join(map(str, [*start, f"{mean:.0f}", *cells, *last])) + " |")
    return "\n".join(lines) + "\n"


def keeps_walking(row: dict[str, Any]) -> bool:
    """Whether the champion is an all-legs policy: at least 400 whichever leg breaks, most episodes survived."""
    found = row["tests"]["batched"]
    return all(found[leg]["return"] >= 400 and found[leg]["survived"] > 0.5 for leg in LEGS)


def successes() -> str:
    """How often the runs of each experiment found an all-legs policy."""
    lines = ["| experiment | runs | mean of legs | all-legs policies | share, 95 % |", "|---|---|---|---|---|"]
    for name, experiment in EXPERIMENTS.items():
        of_it = [row for row in rows() if row["experiment"] == name]
        if not of_it:
            continue
        hits = sum(keeps_walking(row) for row in of_it)
        rate = statistics.share(hits, len(of_it))
        means = ", ".join(f"{row['mean']:.0f}" for row in of_it)
        lines.append(f"| {experiment.title} | {len(of_it)} | {means} | {hits} | {rate.low:.0%} to {rate.high:.0%} |")
    return "\n".join(lines) + "\n"


NAMES = {"batched": "our simulator", "20 sweeps": "with 20 sweeps over the contacts", "mujoco": "MuJoCo"}


def summary() -> str:
    """The best champion so far: the table in results/README.md."""
    best = max(rows(), key=lambda row: row["mean"])
    legs = ("none", *LEGS)
    lines = ["| | mean of legs | " + " | ".join(legs) + " |", "|---" * (len(legs) + 2) + "|"]
    for engine, name in NAMES.items():
        found = best["tests"][engine]
        mean = np.mean([found[leg]["return"] for leg in LEGS])
        cells = [f"{found[leg]['return']:.0f} ({found[leg]['survived']:.0%})" for leg in legs]
        lines.append(f"| {name} | {mean:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw() -> None:
    """The curves of all runs against evaluations and steps."""
    figure = style.new_figure(4.6, "Laikago leg-breaking: mean return of the champion on selection episodes")
    panels = figure.subplots(1, 2, sharey=True)
    palette = (style.BLUE, style.ORANGE, style.GREEN, style.GREY)
    palette += (style.SKY, style.PURPLE, style.VERMILION, style.BLACK)
    colours = dict(zip(EXPERIMENTS, palette, strict=True))
    for panel, across in zip(panels, ("evaluations", "steps"), strict=True):
        shown = set()
        for row in rows():
            name = row["experiment"]
            label = None if name in shown or panel is panels[0] else EXPERIMENTS[name].title
            shown.add(name)
            panel.plot(row["curve"][across], row["curve"]["champion_score"], color=colours[name], label=label)
        panel.set_xlabel("evaluations" if across == "evaluations" else "environment steps")
        panel.set_ylim(bottom=0)
        panel.set_xscale("log")
        style.plain(panel)
    panels[0].set_ylabel("mean return")
    style.save(figure, KEPT / "runs.png")


def page() -> str:
    """What results/quadruped/tables.md says."""
    return f"{successes()}\n{tables()}"


def table() -> None:
    """Writes the tables and the figure."""
    (KEPT / "tables.md").write_text(page())
    draw()


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        table()
    else:
        sys.exit(__doc__)
