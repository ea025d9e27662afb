"""Runs the experiments with grow and tune (`python results/grow.py run`) and writes tables (`... table`).

`python results/grow.py run cartpole` makes only some of them. Runs are made by `arz evolve` in runs/results/ and go on
where they stopped; one that is done is not done again. What is kept in the repository is small: one line of numbers per
run (results/grow/runs.jsonl) and the champions as .arz files. All seeds are reported, from 1 on.
"""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz.evaluate import TEST_SEED
from arz.plotting import style
from arz.runs.budget import Budget
from arz.tasks.gymnasium import AnyEnvironment
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
    goes_on: str = ""
    """The experiment whose runs go on here, with a larger budget: `arz resume`..."""
    at: int = 0
    """...or, if this is given, whose runs are told as they stood after so many steps."""
    start: str = ""
    """The experiment with whose champions these begin."""


def environment(name: str, budget: str, preset: str = "gymnasium-grow", *more: str) -> Experiment:
    """Runs on an environment of Gymnasium."""
    return Experiment(name, (preset, "--env", name, *more, "--budget", budget), 5, 1000)


def as_it_stood(name: str, millions: int, seeds: int) -> Experiment:
    """The runs of an experiment, as they stood after so many steps."""
    title = f"Laikago leg-breaking, as the same runs stood after {millions} million steps"
    return Experiment(title, (), seeds, goes_on=name, at=millions * 10**6)


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

WALKING = ("quadruped",)

NO_MEMORY = ("--growth-memory", "0")
"""Nothing changes within an episode of these environments."""

SOME = ("--budget", "200M steps")
"""Parts are compared with the runs of the preset as they stood then."""

LEG_PARTS = {
    "as it is": (),
    "nothing comes gently": ("--ease-rate", "0"),
    "stateless": ("--no-stateful",),
    "terms begin large": ("--growth-coefficient", "0.3"),
    "no easier task first": ("--walks-at=-inf",),
    "one structure": ("--population", "1", "--survivors", "1", "--children", "0"),
    "structures are not screened": ("--screen", "1"),
    "steps follow the better half only": ("--no-leaves-worst",),
    "a short first race": ("--doubling", "0"),
    "worlds that differ": ("--variety", "0.6"),
    "no CADFs": ("--max-cadfs", "0"),
    "no growth after the first race": ("--children", "0"),
}
"""The same on the quadruped."""

EXPERIMENTS = {
    "cartpole": Experiment("Cataclysmic Cartpole", ("cartpole",), 10, 1000),
    "quadruped": Experiment("Laikago leg-breaking", WALKING, 10),
    "quadruped-50m": as_it_stood("quadruped", 50, 10),
    "quadruped-200m": as_it_stood("quadruped", 200, 10),
    "quadruped-1500m": Experiment(
        "Laikago leg-breaking, seeds 1 to 5 of the same after 1500 million steps",
        ("--budget", "1500M steps"),
        5,
        goes_on="quadruped",
    ),
    "quadruped-worlds": Experiment(
        "Laikago leg-breaking, the champions of these, tuned on in worlds that differ",
        ("quadruped-worlds",),
        5,
        start="quadruped-1500m",
    ),
    "quadruped-quick": Experiment("Laikago leg-breaking in minutes", ("quadruped-quick",), 5),
    "quadruped-quick-50m": as_it_stood("quadruped-quick", 50, 5),
    "quadruped-reflexes": Experiment(
        "Laikago leg-breaking, champions of quadruped-quick with reflexes for legs whose loss they do not survive",
        ("quadruped-reflexes",),
        5,
        start="quadruped-quick",
    ),
    "quadruped-no-reflexes": Experiment(
        "Laikago leg-breaking, champions of quadruped-quick tuned on without reflexes",
        ("quadruped-reflexes", "--reflex-terms", "0"),
        5,
        start="quadruped-quick",
    ),
    **{
        f"cartpole-300m-{number}": Experiment(f"Cataclysmic Cartpole: {name}", ("cartpole", *FEW, *options), 10)
        for number, (name, options) in enumerate(PARTS.items())
    },
    **{
        f"quadruped-part-{number}": Experiment(f"Laikago leg-breaking: {name}", (*WALKING, *SOME, *options), 5)
        for number, (name, options) in enumerate(LEG_PARTS.items())
        if options
    },
    "pendulum": environment("Pendulum-v1", "4M steps", "gymnasium-products"),
    "acrobot": environment("Acrobot-v1", "800k steps", "gymnasium-grow", *NO_MEMORY),
    "acrobot-memory": replace(environment("Acrobot-v1", "800k steps"), title="Acrobot-v1, where lines may remember"),
    "mountain-car": environment("MountainCarContinuous-v0", "400k steps", "gymnasium-grow", *NO_MEMORY),
}


def command_of(name: str, seed: int) -> list[str]:
    """The command that makes a run, or lets it go on."""
    experiment = EXPERIMENTS[name]
    if experiment.at:
        return command_of(experiment.goes_on, seed)
    if experiment.goes_on:
        return ["arz", "resume", str(folder_of(name, seed)), *experiment.arguments]
    given = list(experiment.arguments)
    if experiment.start:
        given += ["--start", f"results/grow/champions/{experiment.start}-{seed}.arz"]
    return ["arz", "evolve", *given, "--seed", str(seed), "--output", str(folder_of(name, seed))]


def folder_of(name: str, seed: int) -> Path:
    """Where a run is, from the root of the clone."""
    return Path(f"runs/results/grow-{EXPERIMENTS[name].goes_on or name}-{seed}")


def budget_of(name: str) -> str:
    """What a run of an experiment may spend, if that says so."""
    given = EXPERIMENTS[name].arguments
    return str(Budget.parse(given[given.index("--budget") + 1])) if "--budget" in given else ""


def run_one(name: str, seed: int) -> None:
    """Makes a run, or goes on with it."""
    command, folder = command_of(name, seed), folder_of(name, seed)
    if (ROOT / folder).exists():
        with arz.Run.open(ROOT / folder) as run:
            is_set = str(run.budget) == budget_of(name)
        if command[1] == "evolve" or is_set:
            command = ["arz", "resume", str(folder)]
    done = subprocess.run([ARZ, *command[1:], "--no-test", "--quiet"], stdout=subprocess.DEVNULL, cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)


def stood(run: arz.Run, steps: int) -> tuple[arz.Program, dict[str, Any]]:
    """The champion of a run when it had spent so many steps, and how far the run was."""
    metrics = run.metrics
    place = int(np.flatnonzero(metrics["steps"] <= steps)[-1])
    spent = {name: metrics[name][place] for name in ("evaluations", "steps", "restarts", "seconds", "champion_score")}
    rows = [row for row in run.champions if row["evaluations"] <= spent["evaluations"]]
    return arz.Program.parse(rows[-1]["program"]), spent


def note(name: str, seed: int) -> dict[str, Any]:
    """How a run went: what is kept of it."""
    command, experiment = command_of(name, seed), EXPERIMENTS[name]
    with arz.Run.open(ROOT / folder_of(name, seed)) as run:
        metrics, facts, task = run.metrics, run.facts, run.config.task
        champion, spent = stood(run, experiment.at or run.counters.steps)
    simple = arz.readable(champion).program
    path = KEPT / "champions" / f"{name}-{seed}.arz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(simple))
    pruned = ROOT / folder_of(name, seed) / "pruned.arz"
    is_pruned = pruned.exists() and not experiment.at
    smaller = arz.Program.load(pruned) if is_pruned else champion
    if is_pruned:
        path.with_suffix(".pruned.arz").write_text(str(smaller))
    variants: list[Any] = [task]
    if isinstance(task, Quadruped):
        variants.append(Quadruped(engine="mujoco", contact_iterations=task.contact_iterations))
    elif isinstance(task, AnyEnvironment):
        task.import_modules()

    def tested(program: arz.Program) -> dict[str, list[float]]:
        return {
            f"{found.change} {found.task}": [round(found.mean, 1), round(found.completed, 3)]
            for variant in variants
            for found in arz.assess(program, variant, episodes=experiment.episodes, seed=TEST_SEED)
        }

    tests, cost = tested(champion), arz.complexity(champion)
    points = np.unique(np.linspace(0, len(metrics["steps"]) - 1, CURVE_POINTS).astype(int))
    return {
        "experiment": name,
        "seed": seed,
        "command": shlex.join(command),
        "arz": facts["arz"],
        **{key: int(spent[key]) for key in ("evaluations", "steps", "restarts")},
        "seconds": round(float(spent["seconds"]), 1),
        "selection": round(float(spent["champion_score"]), 1),
        "tests": tests,
        "lines": cost.lines,
        "parameters": cost.parameters,
        "flops": cost.flops,
        "pruned": {"lines": arz.complexity(smaller).lines, "tests": tested(smaller)},
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
                run_one(EXPERIMENTS[name].goes_on if EXPERIMENTS[name].at else name, seed)
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
    elif name.startswith("quadruped"):
        columns = {"mean of legs": "", **{leg: leg for leg in ("none", *LEGS)}, "MuJoCo": "", "pruned": ""}
        cells = []
        for row in found:
            each = [row["tests"][f"batched {leg}"] for leg in ("none", *LEGS)]
            shown = [f"{mean:.0f} ({lasted:.0%})" for mean, lasted in each]
            is_pruned = not EXPERIMENTS[name].at
            smaller = f"{over_legs(row['pruned']):.0f}, {row['pruned']['lines']} lines" if is_pruned else ""
            cells.append([f"{over_legs(row):.0f}", *shown, f"{over_legs(row, 'mujoco'):.0f}", smaller])
    else:
        columns = {"mean return": ""}
        cells = [[f"{mean:.1f}" for mean, _ in row["tests"].values()] for row in found]
    lines = [
        f"## {EXPERIMENTS[name].title}",
        "",
        f"`{general(name)}`",
        "",
        "| seed | " + " | ".join(columns) + " | lines | parameters | FLOPs | time | steps |",
        "|---" * (len(columns) + 6) + "|",
    ]
    for row, shown in zip(found, cells, strict=True):
        steps = f"{row['steps'] / 1e6:.{1 if row['steps'] < 1e7 else 0}f}M"
        about = [row["lines"], row["parameters"], row["flops"], f"{row['seconds']:.0f} s", steps]
        lines.append("| " + " | ".join(map(str, [row["seed"], *shown, *about])) + " |")
    return "\n".join(lines) + "\n"


def general(name: str) -> str:
    """The command of all seeds."""
    folder, told = str(folder_of(name, 1)), shlex.join(command_of(name, 1))
    return told.replace("--seed 1 ", "--seed N ").replace(folder, folder[:-1] + "N").replace("-1.arz", "-N.arz")


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


def leg_parts() -> str:
    """What each part is worth on the quadruped: over the legs, and how many legs most episodes survive."""
    lines = [
        "| changed | runs | mean of legs: median (range) | legs survived: median | MuJoCo: median |",
        "|---" * 5 + "|",
    ]
    for number, name in enumerate(LEG_PARTS):
        found = rows("quadruped-200m" if number == 0 else f"quadruped-part-{number}")
        if found:
            scores = [over_legs(row) for row in found]
            told = f"{np.median(scores):.0f} ({min(scores):.0f} to {max(scores):.0f})"
            safe, referee = (
                np.median([legs(row) for row in found]),
                np.median([over_legs(row, "mujoco") for row in found]),
            )
            lines.append(f"| {name} | {len(found)} | {told} | {safe:g} | {referee:.0f} |")
    return "\n".join(lines) + "\n"


def against() -> str:
    """Programs and LSTMs by ARS, over the legs, after equally many steps."""
    with (ROOT / "results" / "reproduction" / "hour" / "quadruped-legs" / "data.csv").open() as file:
        tested = [row for row in csv.DictReader(file) if row["group"] == "batched" and row["test"] in LEGS]
    lines = ["| steps | method | runs | mean | median (range) |", "|---" * 5 + "|"]
    for millions, budget in ((50, "equal"), (200, "full")):
        mine = [row for row in tested if (row["method"], row["budget"]) == ("LSTM", budget)]
        seeds = sorted({row["seed"] for row in mine})
        networks = [np.mean([float(row["mean"]) for row in mine if row["seed"] == seed]) for seed in seeds]
        quick = "quadruped-quick-50m" if millions == 50 else "quadruped-quick"
        for name, scores in (
            ("programs, `quadruped-quick`", [over_legs(row) for row in rows(quick)]),
            ("programs, `quadruped`", [over_legs(row) for row in rows(f"quadruped-{millions}m")]),
            ("LSTM", networks),
        ):
            if not scores:
                continue
            told = f"{np.median(scores):.0f} ({min(scores):.0f} to {max(scores):.0f})"
            lines.append(f"| {millions}M | {name} | {len(scores)} | {np.mean(scores):.0f} | {told} |")
    return "\n".join(lines) + "\n"


def over_legs(row: dict[str, Any], engine: str = "batched") -> float:
    """The mean return over the four legs."""
    return float(np.mean([row["tests"][f"{engine} {leg}"][0] for leg in LEGS]))


def legs(row: dict[str, Any]) -> int:
    """How many legs can break and most episodes last."""
    return sum(row["tests"][f"batched {leg}"][1] > 0.5 for leg in LEGS)


def summary() -> str:
    """All runs in a few lines: the table in results/README.md."""
    lines = [
        "| from scratch | runs | median (range) | lines | steps | time | command, for seeds from 1 on |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, what, score in (
        ("cartpole", "cartpole, the worst of ten tests", worst),
        ("cartpole-300m-0", "the same, after 300 million steps", worst),
        ("quadruped-50m", "quadruped, mean over the legs, after 50 million steps", over_legs),
        ("quadruped-200m", "the same runs, after 200 million", over_legs),
        ("quadruped", "the same runs, to their end", over_legs),
        ("quadruped-1500m", "seeds 1 to 5 of them, after 1500 million", over_legs),
        ("quadruped-worlds", "some of their champions, tuned on in worlds that differ", over_legs),
        ("quadruped-quick-50m", "quadruped in minutes, after 50 million steps", over_legs),
        ("quadruped-quick", "the same runs, to their end", over_legs),
    ):
        found = rows(name)
        if not found:
            continue
        scores = [score(row) for row in found]
        told = f"{np.median(scores):.0f} ({min(scores):.0f} to {max(scores):.0f})"
        size, seconds, steps = (np.median([row[key] for row in found]) for key in ("lines", "seconds", "steps"))
        command = general(name).partition(" --output")[0]
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
    whole = [name for name in EXPERIMENTS if rows(name) and "-300m-" not in name and "-part-" not in name]
    told = f"## What each part is worth: cartpole, 300 million steps\n\n{parts()}"
    legged = f"## What each part is worth: quadruped, 200 million steps\n\n{leg_parts()}"
    compared = f"## Laikago leg-breaking: programs and LSTMs, mean over the legs\n\n{against()}"
    return "\n".join([*(table_of(name) for name in whole), compared, told, legged])


def draw() -> None:
    """The champion of each run against the steps that were spent."""
    figure = style.new_figure(4.2, "Grow and tune: mean return of the champion on selection episodes")
    shown = [("cartpole", style.BLUE, 1000.0), ("quadruped", style.ORANGE, None)]
    for panel, (name, colour, highest) in zip(figure.subplots(1, 2), shown, strict=True):
        found = rows(name)
        for row in found:
            panel.plot(np.array(row["curve"]["steps"]) / 1e6, row["curve"]["champion_score"], color=colour, lw=1.2)
        panel.set_xscale("log")
        panel.set_ylim(0, highest)
        panel.set_xlabel("million steps of the task")
        panel.set_title(f"{EXPERIMENTS[name].title}, seeds 1 to {len(found)}")
        style.plain(panel)
    style.save(figure, KEPT / "runs.png")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        (KEPT / "tables.md").write_text(page())
        draw()
    else:
        sys.exit(__doc__)
