"""What is known of a run, for a comparison.

Entries can be kept as lines of JSON, so that a comparison can be repeated without the runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.policy import AnyPolicy, parse_policy
from arz.runs.config import kind_of
from arz.runs.folder import RunError
from arz.runs.run import Run
from arz.testing import assess

ACROSS = ("evaluations", "steps", "seconds")
HUGE = 10**18
MOST_RUNS = 1000
"""So many can be compared."""
POINTS = 40
"""Of a curve that is kept."""


@dataclass(frozen=True)
class Entry:
    """One run."""

    method: str
    seed: int
    trained_on: str
    """The variant of the task that it was trained on."""
    tested_on: str
    """What all tests share: runs with different tests cannot be compared."""
    evaluations: int
    steps: int
    """Steps of the task that it took to find the champion and to the end of its budget."""
    seconds: float
    fitness: float
    """Of the champion, on the validation episodes."""
    episodes: int
    """In each test."""
    scores: dict[str, float]
    """The mean return in each test."""
    parameters: int
    flops: int
    curve: dict[str, list[float]]
    """Evaluations, steps, seconds and the champion's score, over the run."""

    @property
    def worst(self) -> float:
        """The score in the test that went worst."""
        return min(self.scores.values())


def to_lines(entries: Iterable[Entry]) -> str:
    """Entries as lines of JSON."""
    return "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)


def from_lines(text: str, source: str) -> list[Entry]:
    """Entries from lines of JSON.

    Raises:
        ValueError: they are none.
    """
    known = {item.name for item in fields(Entry)}
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            given = json.loads(line)
            if not isinstance(given, dict) or given.keys() != known:
                raise ValueError("expected " + ", ".join(sorted(known)))
            found.append(_checked(Entry(**given)))
            if len(found) > MOST_RUNS:
                raise ValueError(f"there are more than {MOST_RUNS}")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{source}, line {number}: not an entry of a comparison ({error})") from None
    return found


def _checked(entry: Entry) -> Entry:
    texts = (entry.method, entry.trained_on, entry.tested_on)
    numbers = (entry.seed, entry.evaluations, entry.steps, entry.episodes, entry.parameters, entry.flops)
    tables: Sequence[Any] = (entry.scores, entry.curve)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("a field is of another kind")
    values = [*numbers, entry.seconds, entry.fitness, *entry.scores.values()]
    lists = [value for values_ in entry.curve.values() for value in (values_ if isinstance(values_, list) else [None])]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (*values, *lists)):
        raise ValueError("a number is of another kind")
    if not all(abs(value) < HUGE for value in (*values, *lists)):
        raise ValueError("a number is too large, or none")
    if not all(text.isprintable() for text in (*texts, *entry.scores)):
        raise ValueError("a name has characters that cannot be printed")
    if not entry.scores or set(entry.curve) != {*ACROSS, "score"} or len({len(v) for v in entry.curve.values()}) > 1:
        raise ValueError("there are no scores, or the curve is not what it should be")
    return entry


def method_of(run: Run) -> str:
    """What to call the method of a run: what searched what, trained on which variant."""
    config = run.config
    return f"{config.policy.method(config, run.preset, kind_of(config, 'search'))} [{config.task.name}]"


class NoChampionError(RunError):
    """A run that has not gone on for long enough."""


@dataclass(frozen=True)
class Standing:
    """A run as it stood at some moment."""

    champion: AnyPolicy
    score: float
    """Of the champion, on the validation episodes."""
    metrics: dict[str, NDArray[np.float64]]
    reports: NDArray[np.int64]
    """Which rows of the metrics had been written by then."""


def standing(run: Run, steps: int | None = None) -> Standing:
    """A run as it stood after so many steps of the task; at its end by default.

    Raises:
        NoChampionError: it had no champion by then.
    """
    metrics, champions = run.metrics, run.champions
    until = np.inf if steps is None else float(steps)
    known = metrics["steps"] <= until if metrics else np.zeros(0, bool)
    reached = [row for row in champions if known.any() and row["evaluations"] <= metrics["evaluations"][known].max()]
    if not reached:
        when = "yet" if steps is None else f"after {steps} steps"
        raise NoChampionError(f"{run.folder} has no champion {when}: evolve it for longer")
    champion = parse_policy(str(reached[-1]["program"]), f"champion of {run.folder}")
    return Standing(champion, float(reached[-1]["score"]), metrics, np.flatnonzero(known))


def entry_of(
    run: Run, *, method: str = "", episodes: int = 100, steps: int | None = None, threads: int | None = None
) -> Entry:
    """Tests the champion of a run, and says how the run went.

    Args:
        run: which.
        method: what to call its method; see `method_of`.
        episodes: how many in each test.
        steps: look at the run as it stood after so many steps of the task; at its end by default.
        threads: how many to use, all by default.

    Raises:
        RunError: it had no champion by then.
    """
    stood = standing(run, steps)
    metrics, kept, champion = stood.metrics, stood.reports, stood.champion
    task = run.config.task
    tests = assess(champion, task, episodes=episodes, threads=threads, change=task.compared_group)
    cost = champion.complexity()
    points = kept[np.unique(np.linspace(0, len(kept) - 1, POINTS).astype(int))]
    curve: dict[str, Any] = {name: _rounded(metrics[name][points]) for name in ACROSS}
    last = kept[-1]
    return Entry(
        method=method or method_of(run),
        seed=run.seed,
        trained_on=task.name,
        tested_on=json.dumps(task.variant),
        evaluations=int(metrics["evaluations"][last]),
        steps=int(metrics["steps"][last]),
        seconds=round(float(metrics["seconds"][last]), 1),
        fitness=round(stood.score, 2),
        episodes=episodes,
        scores={f"{test.change} {test.task}": round(test.mean, 2) for test in tests},
        parameters=cost.parameters,
        flops=cost.flops,
        curve=curve | {"score": _rounded(metrics["champion_score"][points])},
    )


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 1) for value in values]
