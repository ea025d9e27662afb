"""Evolves programs for environments of Gymnasium (`python results/environments.py run`), and the table (`... table`).

Runs are made by `arz evolve --env` in runs/results/ and go on where they stopped. What is kept: one line of numbers per
run (results/environments/runs.jsonl), and the champions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import arz

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results" / "environments"
DATA = KEPT / "runs.jsonl"
ARZ = str(Path(sys.executable).parent / "arz")
SEEDS = (1, 2, 3)
ENVIRONMENTS: dict[str, tuple[str, str, str]] = {
    "InvertedPendulum-v5": ("3M steps", "1000", ""),
    "Acrobot-v1": ("8M steps", "-85", "--episodes 2"),
    "MountainCarContinuous-v0": ("10M steps", "97", ""),
    "Pendulum-v1": ("40M steps", "-180", ""),
}
"""Budget and target, at either of which a run ends; and what differs from the preset."""
EPISODES = 100


def command_of(env: str, seed: int) -> list[str]:
    """The command that makes a run."""
    folder = f"runs/results/{env}-{seed}"
    budget, target, settings = ENVIRONMENTS[env]
    ending = ["--budget", budget, "--target", target, "--output", folder]
    return ["arz", "evolve", "--env", env, "--seed", str(seed), *settings.split(), *ending]


def rows() -> list[dict[str, Any]]:
    """What is known of all runs."""
    return [json.loads(line) for line in DATA.read_text().splitlines()] if DATA.exists() else []


def run() -> None:
    """Makes all runs that are not there yet, and notes them."""
    (KEPT / "champions").mkdir(parents=True, exist_ok=True)
    known = {(row["env"], row["seed"]) for row in rows()}
    for seed in SEEDS:
        for env in ENVIRONMENTS:
            if (env, seed) in known:
                continue
            command = command_of(env, seed)
            begun = (ROOT / command[-1]).exists()
            budget, target, _ = ENVIRONMENTS[env]
            words = ["resume", command[-1], "--budget", budget, "--target", target] if begun else command[1:]
            subprocess.run([ARZ, *words, "--no-test", "--quiet"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            with arz.Run.open(ROOT / command[-1]) as made:
                found, program = made.test(episodes=EPISODES)[0], arz.readable(made.program).program
                counters, seconds = made.counters, float(made.facts["seconds"])
            (KEPT / "champions" / f"{env}-{seed}.arz").write_text(str(program))
            cost = arz.complexity(program)
            line = {
                "env": env,
                "seed": seed,
                "command": " ".join(f"'{word}'" if " " in word else word for word in command),
                "return": round(found.mean, 1),
                "lasted": round(found.completed, 3),
                "evaluations": counters.evaluations,
                "steps": counters.steps,
                "seconds": round(seconds),
                "lines": cost.lines,
                "parameters": cost.parameters,
                "flops": cost.flops,
            }
            print(env, seed, line["return"], line["seconds"], flush=True)
            with DATA.open("a") as file:
                file.write(json.dumps(line) + "\n")


def table() -> str:
    """All runs, as docs/environments.md has them."""
    columns = ("environment", "seed", "mean return of 100 test episodes", "steps of the environment", "time")
    lines = [f"| {' | '.join(columns)} | lines | parameters | FLOPs |", "|---|" + "---:|" * 7]
    order = list(ENVIRONMENTS)
    for row in sorted(rows(), key=lambda row: (order.index(row["env"]), row["seed"])):
        name = f"[{row['env']}](../results/environments/champions/{row['env']}-{row['seed']}.arz)"
        spent = (f"{row['steps'] / 1e6:.1f}M", f"{row['seconds'] / 60:.1f} min")
        cells = (name, row["seed"], row["return"], *spent, row["lines"], row["parameters"], row["flops"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        run()
    elif sys.argv[1:] == ["table"]:
        print(table(), end="")
    else:
        sys.exit(__doc__)
