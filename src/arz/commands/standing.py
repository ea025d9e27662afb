"""Where a run stands, in one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from arz import terminal
from arz.evaluate import TEST_SEED
from arz.plain import duration

if TYPE_CHECKING:
    from arz.runs.run import Run

STATUS_TEXT = {
    "new": "in its first seconds, or killed",
    "budget": "finished",
    "target": "reached its target",
    "running": "running, or killed",
}
"""What the status of a run means, where its name does not say it."""


def summary(run: Run) -> dict[str, Any]:
    """What there is to say about a run in one line."""
    facts, champions, task = run.facts, run.champions, run.config.task
    counters = run.counters
    variant = json.dumps(task.variant)
    means = {
        (row["change"], row["task"]): row["mean"]
        for row in run.tests
        if champions and row["champion"] == champions[-1]["number"] and row["variant"] == variant and is_usual(row)
    }
    return {
        "run": str(run.folder),
        "preset": run.preset,
        "task": task.name,
        "seed": run.seed,
        "budget": str(run.budget),
        "status": facts.get("status"),
        **{name: getattr(counters, name) for name in ("evaluations", "steps", "hits", "restarts")},
        "seconds": facts.get("seconds"),
        "champion": champions[-1]["number"] if champions else None,
        "score": champions[-1]["score"] if champions else None,
        "test": task.test_score(means),
        "arz": facts.get("arz"),
    }


def is_usual(test: dict[str, Any]) -> bool:
    """Whether a stored test is the one that every run gets: so that runs can be compared."""
    return (test["seed"], test["episodes"]) == (TEST_SEED, 100)


def print_standing(about: dict[str, Any]) -> None:
    """Prints the summary of a run in a line."""
    spent = f"{about['evaluations']:,} evaluations and {duration(about['seconds'])}"
    status = STATUS_TEXT.get(about["status"], about["status"])
    terminal.say(f"# {about['run']}: {about['task']}, seed {about['seed']}, {status} after {spent}.")
