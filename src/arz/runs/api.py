"""Evolving in a few lines of Python: `arz.evolve(arz.preset("cartpole", change="sudden", budget="30s")).champion`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from arz.evaluate import Workers
from arz.policy import AnyPolicy
from arz.runs import config as configs
from arz.runs.config import Config
from arz.runs.run import Run
from arz.runs.session import Progress


def preset(name: str | Path, **changes: Any) -> Config:
    """A preset or a `.toml` file, with some fields changed: `preset("cartpole", population=400)`.

    Raises:
        ValueError: there is no such preset or field, or a value does not fit.
    """
    if isinstance(changes.get("budget"), int | float):
        changes["budget"] = str(changes["budget"])
    return configs.override(configs.load(name), changes)


def evolve(
    config: Config | str,
    *,
    seed: int = 1,
    folder: str | Path | None = None,
    threads: int | None = None,
    workers: Workers | None = None,
    start: AnyPolicy | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Run:
    """Evolves programs until the budget of the configuration is spent.

    Args:
        config: what to search, and how; the name of a preset will do.
        seed: what all random numbers come from.
        folder: where the run shall be; it must not exist yet. Without one it is in memory only.
        threads: how many to use, all by default; the result does not depend on it.
        workers: who evaluates policies, in place of threads: `arz.RayWorkers()`.
        start: a program with which to begin, in place of random ones; the memory is then the program's.
        on_progress: called now and then; if it returns True, the run is saved and stops.

    Returns:
        The run: `run.champion` is the program, `run.policy()` acts, `run.test()` tests it.
    """
    name = config if isinstance(config, str) else "custom"
    made = preset(config) if isinstance(config, str) else config
    if start is not None:
        made = configs.settled(made)
        made, start = configs.for_start(made, start)
    run = Run.create(made, seed=seed, folder=folder, preset=name, start=start)
    run.evolve(threads=threads, workers=workers, on_progress=on_progress)
    return run


def resume(
    folder: str | Path,
    *,
    budget: str | None = None,
    target: float | None = None,
    threads: int | None = None,
    workers: Workers | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Run:
    """Goes on with a run where it stopped; with a larger budget, extends it."""
    run = Run.open(folder)
    if budget is not None or target is not None:
        run.extend(budget, target)
    run.evolve(threads=threads, workers=workers, on_progress=on_progress)
    return run
