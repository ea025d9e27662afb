"""Programs against networks on Cataclysmic Cartpole (`python results/baselines.py run`), and the tables (`... table`).

First the paper's grid of settings for each kind of network, briefly; then runs with the best of them. All runs of a
table have the same budget in steps of the task. They are made in runs/results/ and go on where they stopped. What is
kept is small: one line of numbers per run (results/baselines/*.jsonl), which `arz compare` reads, and the scores of the
sweeps.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arz.analysis.comparison import Comparison, from_lines

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results" / "baselines"
RUNS = ROOT / "runs" / "results"
ARZ = str(Path(sys.executable).parent / "arz")
BUDGET, SWEEP_BUDGET = "100M steps", "5M steps"
EPISODES = 1000
STATIONARY = ("--change", "none", "--parameters", "[]")


@dataclass(frozen=True)
class Method:
    """Some runs that differ in their seeds only."""

    label: str
    command: tuple[str, ...]
    seeds: range
    policy: str = ""
    """Of networks: with the best settings of the sweep of this kind."""


METHODS = {
    "arz-all": Method("ARZ [All]", ("evolve", "cartpole"), range(1, 11)),
    "arz-stationary": Method("ARZ [Stationary]", ("evolve", "cartpole", *STATIONARY), range(1, 11)),
    "arz-stateless": Method("ARZ stateless [All]", ("evolve", "cartpole", "--no-stateful"), range(1, 11)),
    "mlp-all": Method("ARS+MLP [All]", ("train", "ars", "--policy", "mlp"), range(1, 4), "mlp"),
    "lstm-all": Method("ARS+LSTM [All]", ("train", "ars", "--policy", "lstm"), range(1, 4), "lstm"),
    "lstm-stationary": Method(
        "ARS+LSTM [Stationary]", ("train", "ars", "--policy", "lstm", *STATIONARY), range(1, 4), "lstm"
    ),
}


def arz(*words: str) -> str:
    """Runs a command and returns what it printed."""
    done = subprocess.run([ARZ, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def sweep(policy: str) -> dict[str, Any]:
    """The best settings of the paper's grid for a kind of network."""
    path = KEPT / f"sweep-{policy}.json"
    if not path.exists():
        options = ("--policy", policy, "--budget", SWEEP_BUDGET, "--jobs", "2", "--json")
        found = json.loads(arz("sweep", "ars-cartpole", *options, "--output", f"runs/results/sweep-{policy}"))
        scores = [{**point["settings"], "score": round(point["score"], 1)} for point in found["tried"]]
        path.write_text(json.dumps({"best": found["best"], "budget": SWEEP_BUDGET, "tried": scores}, indent=1) + "\n")
    best: dict[str, Any] = json.loads(path.read_text())["best"]
    return best


def command_of(name: str, seed: int) -> list[str]:
    """The words after arz that make a run."""
    method = METHODS[name]
    best = sweep(method.policy) if method.policy else {}
    settings = [word for key, value in best.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    folder = f"runs/results/baselines-{name}-{seed}"
    return [*method.command, "--seed", str(seed), "--budget", BUDGET, *settings, "--output", folder]


def run(names: list[str]) -> None:
    """Makes all runs that are not there yet, and keeps what is known of them."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in names or METHODS:
        for seed in METHODS[name].seeds:
            words = command_of(name, seed)
            begun = (ROOT / words[-1]).exists()
            arz(*(["resume", words[-1]] if begun else words), "--quiet", "--no-test")
            print(name, seed, flush=True)
        keep(name)


def keep(name: str) -> None:
    """What is known of the runs of a method."""
    path = KEPT / f"{name}.jsonl"
    path.unlink(missing_ok=True)
    source = f"{METHODS[name].label}=runs/results/baselines-{name}-*"
    arz("compare", source, "--episodes", str(EPISODES), "--save", str(path), "--json")


def page() -> str:
    """What results/baselines/tables.md says: the same as arz compare on the kept files."""
    found = [str(path.relative_to(ROOT)) for name in METHODS if (path := KEPT / f"{name}.jsonl").exists()]
    commands = "\n".join(
        f"    arz {' '.join(repr(word) if ' ' in word else word for word in command_of(name, method.seeds[0]))}"
        for name, method in METHODS.items()
    )
    compared = f"$ arz compare {' '.join(found)}\n{arz('compare', *found)}"
    return f"The runs, here with their first seed:\n\n{commands}\n\n```\n{compared}```\n"


SHOWN = {f"continuous {task}": task for task in ("stationary", "force", "damping", "track_angle", "all")}
SHOWN["sudden all"] = "all, sudden"


def summary() -> str:
    """The table in README: interquartile means with 95 % intervals."""
    kept = [path for name in METHODS if (path := KEPT / f"{name}.jsonl").exists()]
    entries = [entry for path in kept for entry in from_lines(path.read_text(), str(path))]
    lines = [f"| | runs | {' | '.join(SHOWN.values())} | parameters | FLOPs |", "|---" * (len(SHOWN) + 4) + "|"]
    for method in Comparison.of(entries, 900.0).methods:
        cells = [str(method.score(test)) for test in SHOWN]
        cells += [f"{method.median(name):.0f}" for name in ("parameters", "flops")]
        lines.append(f"| {method.name} | {len(method.entries)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def table() -> None:
    """Writes the tables and the figure."""
    (KEPT / "tables.md").write_text(page())
    figure = KEPT / "compare.png"
    figure.unlink(missing_ok=True)
    found = [str(path) for name in METHODS if (path := KEPT / f"{name}.jsonl").exists()]
    arz("compare", *found, "--figure", str(figure))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        table()
    else:
        sys.exit(__doc__)
