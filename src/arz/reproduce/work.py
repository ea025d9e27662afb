"""The runs of an item: made two or more at a time, resumed where they stopped, never made twice."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from arz.evaluate import Workers
from arz.files import folder_inside, write_whole
from arz.interpreter import available_threads
from arz.native import core
from arz.policy import AnyPolicy
from arz.reproduce.plan import Experiment, Item, published
from arz.runs.config import unusual
from arz.runs.entries import NoChampionError, Standing, standing
from arz.runs.folder import is_run
from arz.runs.run import Run
from arz.runs.sweep import ENDS, make_run
from arz.version import __version__

E = TypeVar("E")

MEASURED = 1
"""The version of what is measured."""
EPISODES = {"smoke": 20}
"""Test episodes, where a scale does not have as many as the item says."""


class StoppedError(Exception):
    """A person wants to stop."""


@dataclass(frozen=True)
class Work:
    """An item at a scale, in a folder: `FOLDER/SCALE/runs`, `.../champions` and `.../ITEM`."""

    item: Item
    scale: str
    folder: Path
    jobs: int = 1
    """Runs at a time, one thread each; threads of a test."""
    show: Callable[[float, str], None] = lambda share, text: None
    """Is told how much is done, and what goes on."""
    should_stop: Callable[[], bool] = lambda: False
    """Is asked now and then."""
    workers: Workers | None = None
    """Who evaluates, in place of threads."""

    def __post_init__(self) -> None:
        inner = folder_inside(self.folder, self.scale)
        for name in (self.item.name, "runs", "champions"):
            folder_inside(inner, name)

    @property
    def place(self) -> Path:
        """Where the item's own files are."""
        return self.folder / self.scale / self.item.name

    def run_folder(self, experiment: Experiment, seed: int) -> Path:
        """Where a run is: items share their runs."""
        return self.folder / self.scale / "runs" / f"{experiment.name}-{seed}"

    @property
    def episodes(self) -> int:
        """How many in each test."""
        return EPISODES.get(self.scale, int(self.item.options.get("episodes", 100)))

    def make(self) -> None:
        """Makes the runs that are not done yet.

        Raises:
            StoppedError: a person wanted that; what was done is saved.
            ValueError: a folder has a run with other settings in it.
        """
        runs = self.item.runs(self.scale)
        tally = Tally({(e.name, seed): e.sizes[self.scale].minutes for e, seed in runs}, self.show)
        todo = []
        for experiment, seed in runs:
            if self._is_done(experiment, seed):
                tally.end(experiment.name, seed)
            else:
                todo.append((experiment, seed))

        def attempt(each: tuple[Experiment, int], should_stop: Callable[[], bool]) -> None:
            experiment, seed = each
            score = make_run(
                experiment.config(self.scale),
                seed,
                self.run_folder(experiment, seed),
                experiment.preset,
                should_stop,
                start=published(experiment.start) if experiment.start else None,
                workers=self.workers,
                on_progress=lambda progress: tally.tell(experiment.name, seed, progress.spent),
            )
            if score is None:
                raise StoppedError
            tally.end(experiment.name, seed)

        make_all(todo, attempt, self.jobs, self.should_stop)

    def _is_done(self, experiment: Experiment, seed: int) -> bool:
        """Whether a run is done; one with other settings is refused before anything is made."""
        folder = self.run_folder(experiment, seed)
        if not is_run(folder):
            return False
        with Run.open(folder) as run:
            if run.config != experiment.config(self.scale) or run.seed != seed:
                raise ValueError(f"{folder} is a run with other settings: choose another folder (--output)")
            return run.facts["status"] in ENDS

    def runs(self, *names: str) -> Iterator[tuple[Experiment, int, Run]]:
        """The finished runs of these experiments, all by default; experiment by experiment.

        Raises:
            StoppedError: a person wanted that.
        """
        chosen = [experiment for experiment in self.item.experiments if not names or experiment.name in names]
        each = [(e, seed) for e in chosen for seed in range(1, e.sizes[self.scale].repeats + 1)]
        for done, (experiment, seed) in enumerate(each):
            if self.should_stop():
                raise StoppedError
            self.show(done / len(each), f"measuring {experiment.name}, seed {seed}")
            with Run.open(self.run_folder(experiment, seed)) as run:
                yield experiment, seed, run

    def best(self, name: str) -> tuple[int, Standing] | None:
        """The seed and the end of the run of an experiment with the best champion on its validation episodes."""
        found = []
        for _, seed, run in self.runs(name):
            stood = known_standing(run)
            if stood is not None:
                found.append((seed, stood))
        return max(found, key=lambda each: each[1].score, default=None)

    def about(self) -> dict[str, Any]:
        """What was run: for the record."""
        return {
            "item": self.item.name,
            "scale": self.scale,
            "plan": fingerprint(self.item, self.scale),
            "arz": __version__,
            "python": platform.python_version(),
            "machine": machine(),
            "episodes": self.episodes,
            "runs": [self._about_run(experiment, seed, run) for experiment, seed, run in self.runs()],
        }

    def _about_run(self, experiment: Experiment, seed: int, run: Run) -> dict[str, Any]:
        stood, counters = known_standing(run), run.counters
        name = f"{experiment.name}-{seed}"
        kept = None
        if stood is not None:
            kept = f"champions/{name}.arz"
            self._keep(self.folder / self.scale / kept, stood.champion)
        return {
            "experiment": experiment.name,
            "method": experiment.label,
            "seed": seed,
            "command": experiment.command(self.scale, seed),
            "evaluations": counters.evaluations,
            "steps": counters.steps,
            "seconds": round(float(run.facts["seconds"]), 1),
            "arz": run.facts["arz"],
            "fitness": None if stood is None else round(stood.score, 2),
            "champion": kept,
        }

    def _keep(self, path: Path, champion: AnyPolicy) -> None:
        """Without dead code: the same actions, bit for bit."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, str(champion.essential()))


def make_all(
    todo: Sequence[E], attempt: Callable[[E, Callable[[], bool]], None], jobs: int, should_stop: Callable[[], bool]
) -> None:
    """Attempts each, some at a time; when one fails or a person wants to stop, the others are saved too.

    Raises:
        StoppedError: a person wanted that.
        Exception: what the first that failed has raised.
    """
    has_failed = threading.Event()

    def is_over() -> bool:
        return has_failed.is_set() or should_stop()

    def attempted(each: E) -> None:
        if is_over():
            raise StoppedError
        attempt(each, is_over)

    with ThreadPoolExecutor(jobs) as pool:
        outcomes = [pool.submit(attempted, each) for each in todo]
        try:
            wait(outcomes, return_when=FIRST_EXCEPTION)
        finally:
            has_failed.set()  # the others stop, and are saved
            pool.shutdown(cancel_futures=True)
    errors = [StoppedError() if outcome.cancelled() else outcome.exception() for outcome in outcomes]
    for error in sorted(filter(None, errors), key=lambda error: isinstance(error, StoppedError)):
        raise error


class Tally:
    """How much is done, while several runs go on: each has a name, a seed, and takes about so many minutes."""

    def __init__(self, minutes: Mapping[tuple[str, int], float], show: Callable[[float, str], None]) -> None:
        self._minutes = minutes
        self._shares = dict.fromkeys(minutes, 0.0)
        self._done = 0
        self._guard, self._show = threading.Lock(), show

    def tell(self, name: str, seed: int, share: float) -> None:
        """A run has come so far."""
        with self._guard:
            self._shares[name, seed] = min(share, 1.0)
            spent = sum(minutes * self._shares[run] for run, minutes in self._minutes.items())
            where = f"{name}, seed {seed}: {min(share, 1.0):.0%}"
            text = f"{self._done} of {len(self._minutes)} runs done; {where}"
            self._show(spent / sum(self._minutes.values()), text)

    def end(self, name: str, seed: int) -> None:
        """A run is done."""
        with self._guard:
            self._done += 1
        self.tell(name, seed, 1.0)


def fingerprint(item: Item, scale: str) -> str:
    """Changes when an item is measured in another way, or its runs have other settings: its data are then stale."""
    settings = [[e.name, e.sizes[scale].repeats, e.start, unusual(e.config(scale))] for e in item.experiments]
    text = json.dumps([MEASURED, item.kind, item.options, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def known_standing(run: Run, steps: int | None = None) -> Standing | None:
    """A run as it stood, or None if it had no champion by then."""
    try:
        return standing(run, steps)
    except NoChampionError:
        return None


def to_json(value: Any) -> str:
    """For the record."""
    return json.dumps(value, indent=1) + "\n"


def machine() -> str:
    """This machine in a few words."""
    name = platform.processor() or platform.machine()
    with_names = Path("/proc/cpuinfo")
    if with_names.exists():
        lines = [line for line in with_names.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].partition(":")[2].strip() if lines else name
    cores = min(os.cpu_count() or 1, available_threads())
    return f"{cores} cores of {name}, {core.INSTRUCTION_SET}"
