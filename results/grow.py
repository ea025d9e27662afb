"""Runs the experiments with grow and tune (`python results/grow.py run`) and writes tables (`... table`).

`python results/grow.py run cartpole` makes only some of them. Runs are made by `arz evolve` in runs/results/ and go on
where they stopped; one that is done is not done again. What is kept in the repository is small: one line of numbers per
run (results/grow/runs.jsonl) and the champions as .arz files. All seeds are reported, from 1 on.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz.analysis import figures
from arz.evaluate import TEST_SEED
from arz.tasks.any_environment import AnyEnvironment
from arz.tasks.quadruped import LEGS, Quadruped

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results" / "grow"
DATA = KEPT / "runs.jsonl"
ARZ = str(Path(sys.executable).parent / "arz")
CURVE_POINTS = 40


@dataclass(frozen=True)
class Experiment:
    """Some runs that differ in their seeds only."""

    title: str
    arguments: tuple[str, ...]
    seeds: int
    episodes: int = 100
    """Of each test."""


def environment(name: str, title: str, *options: str) -> Experiment:
    """Runs on an environment of Gymnasium."""
    return Experiment(title, ("--env", name, *options), 5)


FEW = ("--budget", "300M steps")
"""What networks had in results/baselines."""

PARTS = {
    "as it is": (),
    "stateless": ("--no-stateful",),
    "no line reads its own destination": ("--growth-memory", "0"),
    "ops drawn evenly": ("--op-weights", "{}"),
    "nobody drops out": ("--rung", "100000"),
    "one structure at a time": ("--population", "1", "--survivors", "1", "--children", "0"),
    "no growth after the first race": ("--children", "0"),
    "no transplants": ("--transplants", "0"),
    "sudden changes only": ("--change", "sudden"),
    "continuous changes only": ("--change", "continuous"),
}
"""What is switched off in turn, on cartpole."""

EXPERIMENTS = {
    "cartpole": Experiment("Cataclysmic Cartpole", ("cartpole",), 10, 1000),
    "quadruped": Experiment("Laikago leg-breaking", ("quadruped", "--budget", "200M steps"), 10),
    **{
        f"cartpole-300m-{number}": Experiment(f"Cataclysmic Cartpole: {name}", ("cartpole", *FEW, *options), 10)
        for number, (name, options) in enumerate(PARTS.items())
    },
    "pendulum": environment("Pendulum-v1", "Pendulum"),
    "acrobot": environment("Acrobot-v1", "Acrobot"),
    "mountain-car": environment("MountainCarContinuous-v0", "MountainCarContinuous"),
}


def command_of(name: str, seed: int) -> list[str]:
    """The command that makes a run."""
    folder = f"runs/results/grow-{name}-{seed}"
    return ["arz", "evolve", *EXPERIMENTS[name].arguments, "--seed", str(seed), "--output", folder]


def run_one(name: str, seed: int) -> None:
    """Makes a run, or goes on with it."""
    command = command_of(name, seed)
    if (ROOT / command[-1]).exists():
        command = ["arz", "resume", command[-1]]
    done = subprocess.run([ARZ, *command[1:], "--no-test", "--quiet"], stdout=subprocess.DEVNULL, cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)


def note(name: str, seed: int) -> dict[str, Any]:
    """How a run went: what is kept of it."""
    command, experiment = command_of(name, seed), EXPERIMENTS[name]
    with arz.Run.open(ROOT / command[-1]) as run:
        metrics, facts, counters, champion, task = run.metrics, run.facts, run.counters, run.program, run.config.task
    simple = arz.readable(champion).program
    path = KEPT / "champions" / f"{name}-{seed}.arz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(simple))
    variants: list[Any] = [task]
    if isinstance(task, Quadruped):
        variants.append(Quadruped(engine="mujoco", contact_iterations=task.contact_iterations))
    elif isinstance(task, AnyEnvironment):
        task.import_modules()
    tests = {
        f"{found.change} {found.task}": [round(found.mean, 1), round(found.completed, 3)]
        for variant in variants
        for found in arz.assess(champion, variant, episodes=experiment.episodes, seed=TEST_SEED)
    }
    cost = arz.complexity(champion)
    points = np.unique(np.linspace(0, len(metrics["steps"]) - 1, CURVE_POINTS).astype(int))
    return {
        "experiment": name,
        "seed": seed,
        "command": shlex.join(command),
        "arz": facts["arz"],
        "evaluations": counters.evaluations,
        "steps": counters.steps,
        "restarts": counters.restarts,
        "seconds": round(float(facts["seconds"]), 1),
        "selection": round(counters.champion_score, 1),
        "tests": tests,
        "lines": cost.lines,
        "parameters": cost.parameters,
        "flops": cost.flops,
        "curve": {key: [round(float(metrics[key][p]), 1) for p in points] for key in ("steps", "champion_score")},
    }


def rows(name: str = "") -> list[dict[str, Any]]:
    """What is known of all runs, or of those of one experiment."""
    found = [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []
    return [row for row in found if name in ("", row["experiment"])]


def run(names: list[str]) -> None:
    """Makes all runs that are not there yet, and notes them."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in names or EXPERIMENTS:
        for seed in range(1, EXPERIMENTS[name].seeds + 1):
            if seed not in {row["seed"] for row in rows(name)}:
                run_one(name, seed)
                found = note(name, seed)
                print(name, seed, found["seconds"], found["selection"], found["tests"], flush=True)
                with DATA.open("a") as file:
                    file.write(json.dumps(found) + "\n")


def table_of(name: str) -> str:
    """All runs of an experiment."""
    found = sorted(rows(name), key=lambda row: row["seed"])
    if name == "cartpole":
        columns = {test.replace("continuous", "cont."): test for test in found[0]["tests"]}
        cells = [[f"{row['tests'][test][0]:.0f}" for test in columns.values()] for row in found]
        columns = {"worst": "", **columns}
        cells = [[f"{worst(row):.1f}", *rest] for row, rest in zip(found, cells, strict=True)]
    elif name == "quadruped":
        columns = {"mean of legs": "", **{leg: leg for leg in ("none", *LEGS)}, "MuJoCo: mean of legs": ""}
        cells = []
        for row in found:
            each = [row["tests"][f"batched {leg}"] for leg in ("none", *LEGS)]
            referee = np.mean([row["tests"][f"mujoco {leg}"][0] for leg in LEGS])
            shown = [f"{mean:.0f} ({lasted:.0%})" for mean, lasted in each]
            cells.append([f"{np.mean([mean for mean, _ in each[1:]]):.0f}", *shown, f"{referee:.0f}"])
    else:
        columns = {"mean return": ""}
        cells = [[f"{mean:.1f}" for mean, _ in row["tests"].values()] for row in found]
    lines = [
        f"## {EXPERIMENTS[name].title}",
        "",
        f"`{shlex.join(command_of(name, 1)).replace('--seed 1 ', '--seed N ').replace(f'{name}-1', f'{name}-N')}`",
        "",
        "| seed | " + " | ".join(columns) + " | lines | parameters | FLOPs | time | steps |",
        "|---" * (len(columns) + 6) + "|",
    ]
    for row, shown in zip(found, cells, strict=True):
        about = [row["lines"], row["parameters"], row["flops"], f"{row['seconds']:.0f} s", f"{row['steps'] / 1e6:.0f}M"]
        lines.append("| " + " | ".join(map(str, [row["seed"], *shown, *about])) + " |")
    return "\n".join(lines) + "\n"


def worst(row: dict[str, Any]) -> float:
    """The least of the mean returns in all tests."""
    return float(min(mean for mean, _ in row["tests"].values()))


def parts() -> str:
    """What each part is worth on cartpole: the least of the ten tests, over ten seeds; also in docs/search.md."""
    lines = [
        "| changed | 980 or more in all ten tests | the worst test: median (range) | all tests: mean | lines |",
        "|---|---|---|---|---|",
    ]
    for number, name in enumerate(PARTS):
        found = rows(f"cartpole-300m-{number}")
        if found:
            low = [worst(row) for row in found]
            mean = np.mean([mean for row in found for mean, _ in row["tests"].values()])
            told = f"{np.median(low):.0f} ({min(low):.0f} to {max(low):.0f})"
            size = f"{np.median([row['lines'] for row in found]):.0f}"
            lines.append(f"| {name} | {sum(x >= 980 for x in low)} of {len(low)} | {told} | {mean:.0f} | {size} |")
    return "\n".join(lines) + "\n"


def over_legs(row: dict[str, Any]) -> float:
    """The mean return over the four legs."""
    return float(np.mean([row["tests"][f"batched {leg}"][0] for leg in LEGS]))


def summary() -> str:
    """All runs in a few lines: the table in README."""
    lines = [
        "| from scratch | runs | median (range) | lines | steps | time | command, for seeds from 1 on |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, what, score in (
        ("cartpole", "cartpole, the worst of ten tests", worst),
        ("cartpole-300m-0", "the same, after 300 million steps", worst),
        ("quadruped", "quadruped, mean over the legs", over_legs),
    ):
        found = rows(name)
        if not found:
            continue
        scores = [score(row) for row in found]
        told = f"{np.median(scores):.0f} ({min(scores):.0f} to {max(scores):.0f})"
        size, seconds, steps = (np.median([row[key] for row in found]) for key in ("lines", "seconds", "steps"))
        command = f"{shlex.join(['arz', 'evolve', *EXPERIMENTS[name].arguments])} --seed N"
        about = [
            what,
            len(found),
            told,
            f"{size:.0f}",
            f"{steps / 1e6:.0f}M",
            f"{seconds:.0f} s",
            f"`{command}`",
        ]
        lines.append("| " + " | ".join(map(str, about)) + " |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """What results/grow/tables.md says."""
    whole = [name for name in EXPERIMENTS if rows(name) and "-300m-" not in name]
    told = f"## What each part is worth: cartpole, 300 million steps\n\n{parts()}"
    return "\n".join([*(table_of(name) for name in whole), told])


def draw() -> None:
    """The champion of each run against the steps that were spent."""
    figure = figures.new_figure(4.2, "Grow and tune: mean return of the champion on selection episodes")
    shown = [("cartpole", figures.BLUE, 1000.0), ("quadruped", figures.ORANGE, None)]
    for panel, (name, colour, highest) in zip(figure.subplots(1, 2), shown, strict=True):
        for row in rows(name):
            panel.plot(np.array(row["curve"]["steps"]) / 1e6, row["curve"]["champion_score"], color=colour, lw=1.2)
        panel.set_xscale("log")
        panel.set_ylim(0, highest)
        panel.set_xlabel("million steps of the task")
        panel.set_title(f"{EXPERIMENTS[name].title}, seeds 1 to {len(rows(name))}")
        figures.plain(panel)
    figures.save(figure, KEPT / "runs.png")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        (KEPT / "tables.md").write_text(page())
        draw()
    else:
        sys.exit(__doc__)
