"""A sweep: one run for each point of a grid of settings, then repeats of the best.

The scores are kept in an Optuna study (SQLite, in the folder of the sweep), the runs beside it. What is done is not
done again: the same sweep, begun anew in its folder, goes on where it stopped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from arz.runs import config as configs
from arz.runs.config import Config
from arz.runs.run import Run
from arz.runs.store import is_run

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
        count = len(self.points)
        if count > MAX_POINTS:
            raise ValueError(f"a grid has at most {MAX_POINTS} points, not {count}")
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
        storage = f"sqlite:///{(self.folder / 'sweep.sqlite').resolve()}"
        study = optuna.create_study(study_name="sweep", storage=storage, direction="maximize", load_if_exists=True)
        about = {
            "config": configs.render(replace(self.base, limits=replace(self.base.limits, target=float("inf")))),
            "grid": json.dumps({name: list(values) for name, values in self.grid.items()}),
            "seed": self.seed,
        }
        known = study.user_attrs
        if known and {name: known.get(name) for name in about} != about:
            raise ValueError(f"{self.folder} holds a sweep with other settings: choose another folder")
        for name, value in about.items():
            if name not in known:
                study.set_user_attr(name, value)
        return study

    def results(self, study: Any) -> list[Tried]:
        """What was tried so far, in the order of the grid."""
        scores = {json.dumps(trial.params): float(trial.value) for trial in study.get_trials(deepcopy=False)}
        return [
            Tried(point, scores[json.dumps(point)], self.folder_of(number))
            for number, point in enumerate(self.points)
            if json.dumps(point) in scores
        ]

    def folder_of(self, number: int) -> Path:
        """Where the run of a point is."""
        return self.folder / f"point-{number:03}"

    def run(
        self,
        *,
        jobs: int = 1,
        on_done: Callable[[Tried], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[Tried]:
        """Tries all points that were not tried yet, some at a time, one thread each."""
        study = self.study()
        done = {json.dumps(tried.settings) for tried in self.results(study)}
        guard = threading.Lock()

        def attempt(number: int, point: dict[str, Any]) -> None:
            if should_stop():
                return
            folder = self.folder_of(number)
            score = make_run(self.config(point), self.seed, folder, self.preset, should_stop)
            if score is None:
                return
            with guard:
                study.add_trial(_trial(point, score, self.grid))
                if on_done is not None:
                    on_done(Tried(point, score, folder))

        with ThreadPoolExecutor(jobs) as pool:
            todo = [(n, point) for n, point in enumerate(self.points) if json.dumps(point) not in done]
            for outcome in [pool.submit(attempt, *each) for each in todo]:
                outcome.result()
        return self.results(study)

    def repeat(
        self,
        settings: Mapping[str, Any],
        repeats: int,
        *,
        jobs: int = 1,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, float, Path]]:
        """Runs a point with other seeds: seed, score and folder of each that is finished."""
        seeds = range(self.seed + 1, self.seed + 1 + repeats)

        def attempt(seed: int) -> tuple[int, float | None, Path]:
            folder = self.folder / f"best-{seed:03}"
            return seed, make_run(self.config(settings), seed, folder, self.preset, should_stop), folder

        with ThreadPoolExecutor(jobs) as pool:
            for seed, score, folder in pool.map(attempt, seeds):
                if score is not None:
                    yield seed, score, folder


def make_run(config: Config, seed: int, folder: Path, preset: str, should_stop: Callable[[], bool]) -> float | None:
    """Makes a run, or goes on with it, on one thread; its champion's selection score, None if it was stopped.

    Raises:
        ValueError: the folder has another run in it.
    """
    with Run.open(folder) if is_run(folder) else Run.create(config, seed=seed, folder=folder, preset=preset) as run:
        if run.config != config or run.seed != seed:
            raise ValueError(f"{folder} is a run with other settings: choose another folder for the sweep")
        if run.evolve(threads=1, should_stop=should_stop) == "stopped":
            return None
        champions = run.champions
        return float(champions[-1]["score"]) if champions else float("-inf")


def _trial(point: Mapping[str, Any], score: float, grid: Mapping[str, Sequence[Any]]) -> Any:
    optuna = _optuna()
    choices = {name: optuna.distributions.CategoricalDistribution(list(values)) for name, values in grid.items()}
    value = max(score, -1e300)  # Optuna takes numbers only
    return optuna.trial.create_trial(params=dict(point), distributions=choices, value=value)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ValueError("a sweep needs Optuna: pip install 'arz[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
