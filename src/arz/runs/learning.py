"""A run whose network learns by PPO: what a `Session` is for searches, without going on after an interruption."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import numpy as np

from arz.evaluate import evaluate
from arz.names import install
from arz.runs.budget import Budget
from arz.runs.config import Config
from arz.runs.database import RunError
from arz.runs.session import Progress, read_counters
from arz.runs.store import Store
from arz.search.evolution import Metrics
from arz.search.ppo import PpoSettings
from arz.streams import keys
from arz.tasks.cartpole import Cartpole
from arz.tasks.quadruped import Quadruped


def learn(
    store: Store,
    config: Config,
    seed: int,
    budget: Budget,
    target: float,
    threads: int,
    on_progress: Callable[[Progress], object] | None,
    should_stop: Callable[[], bool] | None,
) -> str:
    """Trains until the budget is spent, the target reached, or the network lost; returns why it ended.

    Raises:
        RunError: it has begun before.
        ValueError: the extra is not installed.
    """
    count, settings = read_counters(store), config.search
    assert isinstance(settings, PpoSettings)
    if count.evaluations:
        raise RunError(cannot_go_on(str(store.folder or "the run")))
    trainer = _trainer(config, settings, seed)
    selection = config.task.spread(keys(seed, "selection episodes", np.arange(settings.selection_episodes)))
    began, reason = time.monotonic(), ""

    def passed() -> float:
        return time.monotonic() - began

    while not reason:
        try:
            trainer.advance()
            network = trainer.network()
        except (ValueError, RuntimeError):  # numbers that are not finite any more
            store.set_facts({"status": "diverged", "seconds": passed(), "counters": asdict(count)})
            return "diverged"
        count.evaluations += 1
        count.steps += trainer.iteration_steps
        if count.champion_score >= target:
            reason = "target"
        elif budget.spent(count.evaluations, count.steps, passed()) >= 1:
            reason = "budget"
        elif should_stop is not None and should_stop():
            reason = "stopped"
        rows: dict[str, list[dict[str, Any]]] = {"metrics": [], "champions": []}
        if count.evaluations % settings.select_every == 0 or reason:
            found = evaluate(network, config.task, selection, threads=threads)
            score = float(found.mean[0])
            count.steps += int(found.lengths.sum())
            if score > count.champion_score:
                count.champion, count.champion_score, count.champion_fitness = count.evaluations, score, score
                rows["champions"].append(
                    {
                        "number": count.champion,
                        "evaluations": count.evaluations,
                        "fitness": score,
                        "score": score,
                        "program": str(network),
                    }
                )
            metrics = Metrics(
                count.evaluations, count.steps, 0, 0, score, score, score, count.champion_score, count.champion
            )
            rows["metrics"].append({**asdict(metrics), "seconds": passed()})
        with store.transaction():
            for table, new in rows.items():
                store.add_rows(table, new)
            store.set_facts({"status": reason or "running", "seconds": passed(), "counters": asdict(count)})
        if rows["metrics"] and on_progress is not None:
            spent = budget.spent(count.evaluations, count.steps, passed())
            rates = (count.evaluations / passed(), count.steps / passed())
            if on_progress(Progress(metrics, passed(), spent, *rates)) is True and not reason:
                reason = "stopped"
    return reason


def cannot_go_on(name: str) -> str:
    """Why a run cannot be resumed."""
    return f"{name} cannot go on: PPO keeps its state in memory; begin a new run"


def check_extra() -> None:
    """Refuses what cannot be, before anything is made.

    Raises:
        ValueError: the extra is not installed.
    """
    if any(find_spec(name) is None for name in ("torch", "stable_baselines3", "sb3_contrib")):
        raise ValueError(f"PPO needs an extra: {install('baselines')}")


def _trainer(config: Config, settings: PpoSettings, seed: int) -> Any:
    check_extra()
    from arz.baselines.ppo import Trainer

    assert config.architecture is not None
    assert isinstance(config.task, Cartpole | Quadruped)
    return Trainer(config.task, config.architecture, settings, seed)
