"""Tries settings of the search on Cataclysmic Cartpole, one changed at a time (`python results/tuning.py run`).

Each run ends when its champion has 955 on the selection episodes, or after a billion steps of the task. Steps, not
seconds, so that the result is the same on every machine. What counts is the expected number of steps to a score: the
steps of all runs, up to the score or to the end, divided by how many got there.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes

FILE = Path(__file__).parent / "cartpole" / "tuning.jsonl"
BEFORE = FILE.with_name("tuning-before.jsonl")
"""What an earlier version tried, around other defaults."""
LIMITS = {"budget": "1G steps", "target": 955.0, "lineage": 0}
MANY, FEW = 20, 4
SETTINGS: dict[str, tuple[dict[str, Any], int]] = {
    "the default": ({}, MANY),
    "16 episodes": ({"episodes": 16}, MANY),
    "16 scalars, 16 vectors": ({"scalars": 16, "vectors": 16}, MANY),
    "4 episodes": ({"episodes": 4}, FEW),
    "1 island": ({"islands": 1}, FEW),
    "population 100, lag 50": ({"population": 100, "lag": 50}, FEW),
    "population 400, lag 200": ({"population": 400, "lag": 200}, FEW),
    "lag 25": ({"lag": 25}, FEW),
    "lag 200": ({"lag": 200}, FEW),
    "tournament 5": ({"tournament": 5}, FEW),
    "tournament 20": ({"tournament": 20}, FEW),
    "the same episodes always": ({"resample_every": 0}, FEW),
    "population scored again on new episodes": ({"rescore": True}, FEW),
    "restart after 10000": ({"restart_after": 10_000}, FEW),
    "start values from U(-1, 1)": ({"initial_constants": 1.0}, FEW),
    "sigma 0.3": ({"sigma": 0.3}, FEW),
    "10 to 20 lines at first": ({"length": [10, 20]}, FEW),
    "8 scalars, 8 vectors": ({"scalars": 8, "vectors": 8}, FEW),
    "2 index registers": ({"indices": 2}, FEW),
}


def try_one(job: tuple[str, int]) -> dict[str, Any]:
    """One run."""
    name, seed = job
    config = arz.preset("cartpole-regularized", **{**SETTINGS[name][0], **LIMITS})
    run = arz.evolve(config, seed=seed, threads=1)
    metrics, counters = run.metrics, run.facts["counters"]
    score = metrics["champion_score"]
    reached = {
        str(level): int(metrics["steps"][np.argmax(score >= level)]) if (score >= level).any() else None
        for level in (800, 900, 950)
    }
    test = evaluate(run.champion, config.task, fresh_episodes(200), threads=1).mean[0]
    kept = {key: counters[key] for key in ("evaluations", "steps", "hits", "restarts")}
    return {"settings": name, "seed": seed, "reached": reached, "test": round(float(test), 1), **kept}


def known(file: Path = FILE) -> list[dict[str, Any]]:
    """What was tried so far."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run() -> None:
    """Tries what was not tried yet, on all processors."""
    done = {(row["settings"], row["seed"]) for row in known()}
    wanted = [(name, seed) for name, (_, seeds) in SETTINGS.items() for seed in range(1, seeds + 1)]
    wanted.sort(key=lambda job: (-SETTINGS[job[0]][1], job[1]))
    FILE.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(os.cpu_count()) as workers, FILE.open("a") as file:
        for row in workers.map(try_one, [job for job in wanted if job not in done]):
            file.write(json.dumps(row) + "\n")
            file.flush()


def expected(rows: list[dict[str, Any]], level: str) -> str:
    """Steps of all runs, up to the level or to their end, for each run that got there."""
    steps = sum(row["reached"][level] or row["steps"] for row in rows)
    successes = sum(row["reached"][level] is not None for row in rows)
    return f"{steps / successes / 1e9:.2f}G ({successes}/{len(rows)})" if successes else f"none in {steps / 1e9:.1f}G"


def table(file: Path = FILE) -> str:
    """What came out, as Markdown."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in known(file):
        found[row["settings"]].append(row)
    lines = [
        "| changed | runs | steps to 900 | steps to 950 | median test | known from cache |",
        "|---|---|---|---|---|---|",
    ]
    for name, rows in found.items():
        share = sum(row["hits"] for row in rows) / sum(row["evaluations"] for row in rows)
        median = float(np.median([row["test"] for row in rows]))
        levels = f"{expected(rows, '900')} | {expected(rows, '950')}"
        lines.append(f"| {name} | {len(rows)} | {levels} | {median:.0f} | {share:.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        run()
    print(table())
