"""A run whose network learns by PPO: what a `Session` is for searches, without going on after an interruption."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from arz.evaluate import Workers, evaluate
from arz.policy import AnyPolicy
from arz.runs.budget import Budget
from arz.runs.config import Config
from arz.runs.folder import RunError
from arz.runs.session import Progress, read_counters
from arz.runs.store import Store
from arz.search.base import Metrics
from arz.streams import keys

DIVERGED = "diverged"


class Training:
    """A network that learns. It begins anew if nothing of it was saved yet.

    Raises:
        RunError: it has begun before.
        ValueError: the extra is not installed, or workers shall take part.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        seed: int,
        budget: Budget,
        target: float,
        threads: int,
        start: AnyPolicy | None = None,
        workers: Workers | None = None,
    ) -> None:
        if workers is not None:
            config.search.check("workers")
        if start is not None:
            config.search.check("start")
        self._store, self._config, self._threads = store, config, threads
        self._budget, self._target = budget, target
        self._count = read_counters(store)
        if self._count.evaluations:
            raise RunError(f"{store.folder or 'the run'} cannot go on: {config.search.CANNOT['resume']}")
        config.search.check_installed()
        from arz.baselines.ppo import Trainer

        shape, settings = (
            cast(Any, config.shape),
            cast(Any, config.search),
        )  # which it makes sure of, as a configuration
        self._trainer = Trainer(config.task, shape, settings, seed)
        self._network: AnyPolicy | None = None
        self._selection = config.task.stratified(
            keys(seed, "selection episodes", np.arange(settings.validation_episodes))
        )
        self._rows: dict[str, list[dict[str, Any]]] = {"metrics": [], "champions": []}
        self._began, self._reason, self._is_selected = time.monotonic(), "", False

    @property
    def seconds(self) -> float:
        """Time spent."""
        return time.monotonic() - self._began

    def reason_to_end(self) -> str:
        """Why the run is over; nothing if it is not."""
        return self._reason

    def advance(self) -> Metrics | None:
        """One iteration; the metrics when a selection was due."""
        count = self._count
        try:
            self._trainer.advance()
            self._network = self._trainer.network()
        except (ValueError, RuntimeError):  # numbers that are not finite any more
            self._reason = DIVERGED
            return None
        count.evaluations += 1
        count.steps += self._trainer.iteration_steps
        if count.champion_score >= self._target:
            self._reason = "target"
        elif self._budget.spent(count.evaluations, count.steps, self.seconds) >= 1:
            self._reason = "budget"
        self._is_selected = bool(self._reason) or count.evaluations % self._config.search.validate_every == 0
        return self._select(self._network) if self._is_selected else None

    def _select(self, network: AnyPolicy) -> Metrics:
        """Tries the network as champion."""
        count = self._count
        found = evaluate(network, self._config.task, self._selection, threads=self._threads)
        score = float(found.mean[0])
        count.steps += int(found.lengths.sum())
        if score > count.champion_score:
            count.champion, count.champion_score, count.champion_fitness = count.evaluations, score, score
            champion = {"number": count.champion, "evaluations": count.evaluations, "fitness": score, "score": score}
            self._rows["champions"].append({**champion, "program": str(network)})
        metrics = Metrics(
            count.evaluations, count.steps, 0, 0, score, score, score, count.champion_score, count.champion
        )
        self._rows["metrics"].append({**asdict(metrics), "seconds": self.seconds})
        return metrics

    def progress(self, metrics: Metrics) -> Progress:
        """Where the run stands."""
        passed, count = max(self.seconds, 1e-9), self._count
        spent = self._budget.spent(count.evaluations, count.steps, passed)
        return Progress(metrics, passed, spent, count.evaluations / passed, count.steps / passed)

    def save(self, status: str) -> None:
        """Writes everything since the last time; the last network is tried as champion before a run ends."""
        if status != "running" and status != DIVERGED and not self._is_selected and self._network is not None:
            self._is_selected = True
            _ = self._select(self._network)
        with self._store.transaction():
            for table, new in self._rows.items():
                self._store.add_rows(table, new)
            self._store.set_facts({"status": status, "seconds": self.seconds, "counters": asdict(self._count)})
        self._rows = {"metrics": [], "champions": []}
