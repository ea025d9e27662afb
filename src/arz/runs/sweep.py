"""A sweep: one run for each point of a grid of settings, then repeats of the best.

The scores are kept in an Optuna study (SQLite, in the folder of the sweep), the runs beside it. What is done is not
done again: the same sweep, begun anew in its folder, goes on where it stopped.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count, product
from pathlib import Path
from typing import Any

from arz.evaluate import Workers
from arz.files import folder_inside
from arz.names import install
from arz.policy import AnyPolicy
from arz.runs import config as configs
from arz.runs.budget import Budget
from arz.runs.config import Config
from arz.runs.database import check_plain
from arz.runs.folder import is_run
from arz.runs.run import Run
from arz.runs.session import Progress
from arz.streams import MASK

SIZES = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
PAPER: dict[str, dict[str, tuple[Any, ...]]] = {
    "ars": {"step_size": SIZES, "noise": SIZES},
    "ppo": {
        "sequence": (256, 1024),
        "learning_rate": (5e-5, 1e-4, 5e-4, 1e-3, 5e-3),
        "entropy": (0.0, 0.05, 0.1, 0.5),
    },
}
"""The paper's grids (Supplement, "Baseline Details"), by the kind of the search."""
MAX_POINTS = 10_000
ENDS = ("budget", "target", "diverged")
"""The states of a run that is done."""
LEAST = -1e300
"""The score of a run without a champion, for Optuna."""


@dataclass(frozen=True)
class Tried:
    """A point of the grid and its score."""

    settings: dict[str, Any]
    score: float
    folder: Path


@dataclass(frozen=True)
class Sweep:
    """What to try.

    Raises:
        ValueError: a name or a value of the grid does not fit, or the folder holds another sweep.
    """

    base: Config
    grid: Mapping[str, Sequence[Any]]
    folder: Path
    seed: int = 1
    preset: str = "custom"

    def __post_init__(self) -> None:
        if not self.grid or not all(self.grid.values()):
            raise ValueError("a sweep needs a grid: --grid NAME=VALUE,VALUE,...")
        if not 0 <= self.seed <= MASK:
            raise ValueError(f"a seed is a whole number from 0 to 2**64 - 1, not {self.seed}")
        if "?" in str(self.folder):
            raise ValueError(f"the folder of a sweep must not have ? in its name: {self.folder}")
        points = math.prod(len(values) for values in self.grid.values())
        if points > MAX_POINTS:
            raise ValueError(f"a grid has at most {MAX_POINTS} points, not {points}")
        for point in self.points:
            self.config(point)  # refuses what does not fit

    @property
    def points(self) -> list[dict[str, Any]]:
        """All of them, the last name changing fastest."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def config(self, point: Mapping[str, Any]) -> Config:
        """The configuration of a point."""
        return configs.override(self.base, point)

    def study(self) -> Any:
        """The Optuna study, made or opened.

        Raises:
            ValueError: Optuna is not installed, or the folder holds another sweep.
        """
        optuna = _optuna()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "sweep.sqlite"
        check_plain(path)
        try:
            study = optuna.create_study(
                study_name="sweep", storage=f"sqlite:///{path.resolve()}", direction="maximize", load_if_exists=True
            )
        except Exception as error:
            raise ValueError(f"{path} cannot be used: {str(error).splitlines()[0]}") from None
        config = replace(self.base, limits=replace(self.base.limits, target=math.inf))
        about = {"config": configs.render(config), "grid": {name: list(v) for name, v in self.grid.items()}}
        about = json.loads(json.dumps({**about, "seed": self.seed}))
        if study.user_attrs.get("about", about) != about:
            raise ValueError(f"{self.folder} holds a sweep with other settings: choose another folder")
        study.set_user_attr("about", about)
        return study

    def results(self, study: Any) -> list[Tried]:
        """What was tried so far, in the order of the grid."""
        scores = {trial.user_attrs["point"]: float(trial.value) for trial in study.get_trials(deepcopy=False)}
        return [
            Tried(point, score if (score := scores[json.dumps(point)]) > LEAST else -math.inf, self.folder_of(number))
            for number, point in enumerate(self.points)
            if json.dumps(point) in scores
        ]

    def _known(self, study: Any) -> list[Tried]:
        """What was tried in earlier sessions, by a file that may be damaged."""
        try:
            return self.results(study)
        except Exception as error:
            said = (str(error).splitlines() or [""])[0]
            raise ValueError(f"{self.folder / 'sweep.sqlite'} is damaged ({type(error).__name__} {said})") from None

    def folder_of(self, number: int) -> Path:
        """Where the run of a point is."""
        return self.folder / f"point-{number:03}"

    def run(
        self,
        *,
        jobs: int = 1,
        workers: Workers | None = None,
        on_done: Callable[[Tried], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[Tried]:
        """Tries all points that were not tried yet, some at a time, one thread each, or by workers.

        Raises:
            ValueError: PPO shall do several at a time: its runs share torch's random numbers.
        """
        self.check_jobs(jobs, workers is not None)
        study = self.study()
        done = {json.dumps(tried.settings) for tried in self._known(study)}
        guard = threading.Lock()

        def attempt(number: int, point: dict[str, Any]) -> None:
            if should_stop():
                return
            folder = self.folder_of(number)
            score = make_run(self.config(point), self.seed, folder, self.preset, should_stop, workers=workers)
            if score is None:
                return
            with guard:
                study.add_trial(_trial(point, score, self.grid))
                if on_done is not None:
                    on_done(Tried(point, score, folder))

        with ThreadPoolExecutor(jobs) as pool:
            todo = [(n, point) for n, point in enumerate(self.points) if json.dumps(point) not in done]
            outcomes = [pool.submit(attempt, *each) for each in todo]
            try:
                for outcome in outcomes:
                    outcome.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return self.results(study)

    def repeat(
        self,
        settings: Mapping[str, Any],
        repeats: int,
        *,
        jobs: int = 1,
        workers: Workers | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, float, Path]]:
        """Runs a point with other seeds: seed, score and folder of each that is finished."""
        self.check_jobs(jobs, workers is not None)
        seeds = range(self.seed + 1, self.seed + 1 + repeats)

        def attempt(seed: int) -> tuple[int, float | None, Path]:
            folder = self.folder / f"best-{seed:03}"
            score = make_run(self.config(settings), seed, folder, self.preset, should_stop, workers=workers)
            return seed, score, folder

        with ThreadPoolExecutor(jobs) as pool:
            for seed, score, folder in pool.map(attempt, seeds):
                if score is not None:
                    yield seed, score, folder

    def check_jobs(self, jobs: int, has_workers: bool) -> None:
        """Refuses what cannot be, before anything is made.

        Raises:
            ValueError: Optuna is not installed; PPO shall do several at a time, whose runs share torch's random
                numbers, or by workers.
        """
        _optuna()
        if jobs > 1:
            self.base.search.check("jobs")
        if has_workers:
            self.base.search.check("workers")


def make_run(
    config: Config,
    seed: int,
    folder: Path,
    preset: str,
    should_stop: Callable[[], bool],
    *,
    start: AnyPolicy | None = None,
    workers: Workers | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    end: tuple[str | None, float | None] = (None, None),
) -> float | None:
    """Makes a run, or goes on with it, on one thread or by workers.

    With an `end`, a budget and a target, it goes on beyond what its configuration says, if it has not spent that yet.

    Returns:
        Its champion's validation score, None if it was stopped.

    Raises:
        ValueError: the folder has another run in it.
    """
    if "resume" in config.search.CANNOT:
        folder = unbroken(folder)
    folder_inside(folder.parent, folder.name)
    is_there = is_run(folder)
    opened = Run.open(folder) if is_there else Run.create(config, seed=seed, folder=folder, preset=preset, start=start)
    with opened as run:
        if run.config != config or run.seed != seed or run.start != start:
            raise ValueError(f"{folder} is a run with other settings: choose another folder")
        is_done = run.facts["status"] in ENDS
        if end != (None, None) and not _has_spent(run, end[0]):
            run.extend(*end)
            is_done = False
        if not is_done:
            ended = run.evolve(threads=1, workers=workers, should_stop=should_stop, on_progress=on_progress)
            if ended == "stopped":
                return None
        champions = run.champions
        return float(champions[-1]["score"]) if champions else -math.inf


def _has_spent(run: Run, budget: str | None) -> bool:
    """Whether a run has come as far as a budget says: a longer run holds every shorter one of its seed."""
    count = run.counters
    wanted = run.budget if budget is None else Budget.parse(budget)
    return wanted.spent(count.evaluations, count.steps, float(run.facts["seconds"])) >= 1


def unbroken(folder: Path) -> Path:
    """This folder, or the first like it, without a run that was interrupted and cannot go on."""
    tries = (folder.with_name(f"{folder.name}-again-{n}") if n else folder for n in count())
    for each in tries:
        if not is_run(each):
            return each
        with Run.open(each) as run:
            if run.facts["status"] in ("new", *ENDS):
                return each
    raise AssertionError


def _trial(point: Mapping[str, Any], score: float, grid: Mapping[str, Sequence[Any]]) -> Any:
    optuna = _optuna()
    choices = {
        name: optuna.distributions.CategoricalDistribution([_plain(v) for v in values]) for name, values in grid.items()
    }
    value = max(score, LEAST)  # Optuna takes numbers only
    attributes = {"point": json.dumps(point)}
    named = {name: _plain(value_) for name, value_ in point.items()}
    return optuna.trial.create_trial(params=named, distributions=choices, value=value, user_attrs=attributes)


def _plain(value: Any) -> Any:
    """A value as Optuna takes it: lists as text."""
    return json.dumps(value) if isinstance(value, list | tuple) else value


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ValueError(f"a sweep needs Optuna: {install('sweep')}") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
