"""What is kept of a run: a line of JSON, in the words of its group, and the champion as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from arz.complexity import complexity
from arz.evaluate import evaluate, fresh_episodes
from arz.files import folder_inside, write_whole
from arz.policy import AnyPolicy
from arz.program import Program
from arz.reproduce.groups.group import Group, Note, Series
from arz.runs.budget import Budget
from arz.runs.entries import entry_of, standing
from arz.runs.pruning import NAME as PRUNED
from arz.runs.run import Run
from arz.simplify import readable
from arz.tasks.base import Task
from arz.tasks.quadruped import LEGS
from arz.testing import Assessment, assess
from arz.typing import Floats

Metrics = dict[str, Floats]
LEVELS = (800, 900, 950)
"""When the champion had these scores is noted."""


@dataclass(frozen=True)
class Made:
    """A run that is done, and of which experiment it is."""

    group: Group
    series: Series
    seed: int
    run: Run

    @property
    def about(self) -> Note:
        """With what a note begins."""
        words = self.group.told(self.series, self.seed)
        return {self.group.named: self.group.called(self.series), "seed": self.seed, "command": words}

    @property
    def version(self) -> Note:
        """Which version made it."""
        return {"arz": self.run.facts["arz"]}

    def tested(self, policy: AnyPolicy) -> list[Assessment]:
        """The tests of its task, in all variants of the group."""
        task = self.run.config.task
        known = {item.name for item in fields(task)}
        variants: list[Task] = [replace(task, **variant) for variant in self.group.tests if variant.keys() <= known]
        return [found for variant in variants for found in assess(policy, variant, episodes=self.series.episodes)]

    def keep(self, program: Program, ending: str = ".arz") -> None:
        """Writes a champion."""
        folder = folder_inside(self.group.folder, "champions")
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{self.series.name}-{self.seed}{ending}", str(program))


def cost_of(policy: AnyPolicy) -> Note:
    """How large it is."""
    cost = complexity(policy)
    return {"lines": cost.lines, "parameters": cost.parameters, "flops": cost.flops}


def curve(metrics: Metrics, names: Iterable[str], points: int) -> dict[str, list[float]]:
    """How it went, at so many points at most."""
    picked = np.unique(np.linspace(0, len(metrics["steps"]) - 1, points).astype(int))
    return {name: [round(float(metrics[name][point]), 1) for point in picked] for name in names}


def reached(metrics: Metrics, level: float, names: Sequence[str]) -> dict[str, float] | None:
    """When the champion's validation score first was at a level."""
    above = np.flatnonzero(metrics["champion_score"] >= level)
    return None if len(above) == 0 else {name: round(float(metrics[name][above[0]]), 1) for name in names}


def growth(made: Made) -> Note:
    """Tests in every variant, also of the pruned champion, and a curve; perhaps as the run stood at some moment."""
    run, at = made.run, made.series.at
    stood = standing(run, at or None)
    champion, last = _program(stood.champion), stood.reports[-1]
    made.keep(readable(champion).program)
    pruned = Path(run.folder or "") / PRUNED
    smaller = Program.load(pruned) if pruned.exists() and not at else champion
    if smaller is not champion:
        made.keep(smaller, ".pruned.arz")
    return {
        **made.about,
        **made.version,
        **{key: int(stood.metrics[key][last]) for key in ("evaluations", "steps", "restarts")},
        "seconds": round(float(stood.metrics["seconds"][last]), 1),
        "selection": round(float(stood.metrics["champion_score"][last]), 1),
        "tests": _pairs(made.tested(champion)),
        **cost_of(champion),
        "pruned": {"lines": complexity(smaller).lines, "tests": _pairs(made.tested(smaller))},
        "curve": curve(stood.metrics, ("steps", "champion_score"), 40),
    }


def _program(policy: AnyPolicy) -> Program:
    if not isinstance(policy, Program):
        raise ValueError("such notes are of programs, not of networks")
    return policy


def _pairs(found: Iterable[Assessment]) -> dict[str, list[float]]:
    return {f"{each.change} {each.task}": [round(each.mean, 1), round(each.completed, 3)] for each in found}


def walking(made: Made) -> Note:
    """Returns, survival and distance for each leg and simulator; the last front, and a curve."""
    run, simple = made.run, readable(made.run.program).program
    made.keep(simple)
    tests: dict[str, Any] = {}
    for found in made.tested(simple):
        tests.setdefault(found.change, {})[found.task] = {
            "return": round(found.mean, 1),
            "survived": round(found.completed, 3),
            "distance": round(found.distance or 0.0, 2),
        }
    counters, fronts = run.counters, run.fronts
    return {
        **made.about,
        **made.version,
        **{key: getattr(counters, key) for key in ("evaluations", "steps", "hits", "restarts")},
        "seconds": round(float(run.facts["seconds"]), 1),
        "contact_iterations": getattr(run.config.task, "contact_iterations", 0),
        "selection": round(counters.champion_score, 1),
        "tests": tests,
        "mean": round(float(np.mean([tests["batched"][leg]["return"] for leg in LEGS])), 1),
        **cost_of(run.champion),
        "front": [[round(float(value), 1) for value in point] for point in fronts[-1].objectives] if fronts else [],
        "curve": curve(run.metrics, ("evaluations", "steps", "seconds", "champion_score", "best_fitness"), 60),
    }


def adaptation(made: Made) -> Note:
    """The run up to where its experiment ends: tests, what it is worth without memory, and when it had some scores."""
    run, task = made.run, made.run.config.task
    metrics = until_end(made.group, made.series, run.metrics)
    best = [row for row in run.champions if row["evaluations"] <= metrics["evaluations"][-1]][-1]
    champion = Program.parse(best["program"])
    made.keep(readable(champion).program)
    found = made.tested(champion)
    tests = {f"{each.change} {each.task}": round(each.mean, 1) for each in found}
    forgetful = Program(replace(champion.memory, stateful=False), champion.functions, champion.image)
    wiped = evaluate(forgetful, task, fresh_episodes(made.series.episodes)).mean[0]
    own = task.test_score({(each.change, each.task): tests[f"{each.change} {each.task}"] for each in found})
    return {
        **made.about,
        **made.version,
        **{key: int(metrics[key][-1]) for key in ("evaluations", "steps", "hits", "restarts")},
        "seconds": round(float(metrics["seconds"][-1]), 1),
        "selection": round(float(metrics["champion_score"][-1]), 1),
        "tests": tests,
        "own": own,
        "wiped": round(float(wiped), 1),
        "reached": {str(level): reached(metrics, level, ("seconds", "steps", "evaluations")) for level in LEVELS},
        **cost_of(champion),
    }


def until_end(group: Group, series: Series, metrics: Metrics) -> Metrics:
    """The metrics up to where an experiment ends: a longer run holds every shorter one of its seed."""
    budget = Budget.parse(str(series.changes.get("budget", group.base(series).own.limits.budget)))
    moments = zip(metrics["evaluations"], metrics["steps"], metrics["seconds"], strict=True)
    count = sum(budget.spent(*moment) < 1 for moment in moments)
    if "target" in series.changes:
        begun = len(until_end(group, group.base(series), metrics)["steps"]) if series.goes_on else 1
        there = np.flatnonzero(metrics["champion_score"] >= float(series.changes["target"])) + 1
        count = min([count, *(max(begun, int(n)) for n in there[:1])])
    return {key: values[:count] for key, values in metrics.items()}


def environment(made: Made) -> Note:
    """One test, and what it took."""
    run, simple = made.run, readable(made.run.program).program
    made.keep(simple)
    found, counters = made.tested(run.champion)[0], run.counters
    return {
        **made.about,
        "return": round(found.mean, 1),
        "lasted": round(found.completed, 3),
        "evaluations": counters.evaluations,
        "steps": counters.steps,
        "seconds": round(float(run.facts["seconds"])),
        **cost_of(simple),
    }


def settings(made: Made) -> Note:
    """When it had some scores, and one test: to compare settings."""
    run, metrics = made.run, made.run.metrics
    when = {level: reached(metrics, level, ("steps",)) for level in LEVELS}
    test = evaluate(run.champion, run.config.task, fresh_episodes(made.series.episodes), threads=1).mean[0]
    about = made.about
    del about["command"]
    return {
        **about,
        "reached": {str(level): None if found is None else int(found["steps"]) for level, found in when.items()},
        "test": round(float(test), 1),
        **{key: getattr(run.counters, key) for key in ("evaluations", "steps", "hits", "restarts")},
    }


def entry(made: Made) -> Note:
    """What `arz compare` knows of a run, as it stood after the steps of the group."""
    series, steps = made.series, made.group.at or None
    return asdict(entry_of(made.run, method=series.label, episodes=series.episodes, steps=steps))


NOTES: dict[str, Callable[[Made], Note]] = {
    note.__name__: note for note in (growth, walking, adaptation, environment, settings, entry)
}
"""How a run is noted, by the kind of its group."""
