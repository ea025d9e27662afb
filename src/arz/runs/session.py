"""The search of a run while it runs: from the checkpoint on disk to the next one."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import Workers
from arz.policy import AnyPolicy, PolicyBatch
from arz.runs.budget import Budget
from arz.runs.config import Config, kind_of
from arz.runs.lineage import Lineage
from arz.runs.store import Store
from arz.search import SEARCHES, Search
from arz.search.base import Counters, Life, Metrics


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    metrics: Metrics
    seconds: float
    """Time spent so far, in all sessions."""
    spent: float
    """The share of the budget that is used up."""
    evaluations_per_second: float
    """Of this session."""
    steps_per_second: float
    doing: str = ""
    """What the search is doing, in parts with two spaces between them."""


class Session:
    """The search of a run while it runs: between the checkpoint and the next one."""

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
        self._store = store
        self._budget, self._target = budget, target
        self._config, self._origins = config, config.variation.origins
        limit = config.limits.lineage
        self._search = _search(config, seed, threads, start, workers)
        self._fronts: list[dict[str, Any]] = []
        self._metrics: list[dict[str, Any]] = []
        self._champions: list[dict[str, Any]] = []
        self._roots = [int(row["number"]) for row in store.rows("champions", "evaluations")]
        self._restore()
        self._lineage = Lineage(limit, store.lineage(self._origins))
        self._before = float(store.facts()["seconds"])
        self._began = time.monotonic()
        self._at_begin = (self._search.counters.evaluations, self._search.counters.steps)

    @property
    def seconds(self) -> float:
        """Time spent, in all sessions."""
        return self._before + time.monotonic() - self._began

    def reason_to_end(self) -> str:
        """Why the run is over; nothing if it is not."""
        count = self._search.counters
        if count.champion_score >= self._target:
            return "target"
        return "budget" if self._budget.spent(count.evaluations, count.steps, self.seconds) >= 1 else ""

    def advance(self) -> Metrics | None:
        """One batch."""
        before = self._search.counters.champion_score
        births, metrics = self._search.advance()
        self._lineage.add(births)
        self._fronts += [
            {
                "evaluations": front.evaluations,
                "island": front.island,
                "is_warm": int(front.is_warm),
                "numbers": front.numbers.tobytes(),
                "objectives": front.objectives.tobytes(),
            }
            for front in self._search.fronts()
        ]
        if metrics is not None:
            self._metrics.append({**asdict(metrics), "seconds": self.seconds})
            if metrics.champion_score > before:
                self._note_champion()
        if self._lineage.is_crowded:
            self._lineage.prune(self._living())
        return metrics

    def progress(self, metrics: Metrics) -> Progress:
        """Where the run stands."""
        passed = max(time.monotonic() - self._began, 1e-9)
        return Progress(
            metrics=metrics,
            seconds=self.seconds,
            spent=min(1.0, self._budget.spent(metrics.evaluations, metrics.steps, self.seconds)),
            evaluations_per_second=(metrics.evaluations - self._at_begin[0]) / passed,
            steps_per_second=(metrics.steps - self._at_begin[1]) / passed,
            doing=self._search.standing(),
        )

    def _note_champion(self) -> None:
        count = self._search.counters
        assert self._search.champion is not None
        self._roots.append(count.champion)
        self._champions.append(
            {
                "number": count.champion,
                "evaluations": count.evaluations,
                "fitness": count.champion_fitness,
                "score": count.champion_score,
                "program": str(self._search.champion[0]),
            }
        )

    def _living(self) -> NDArray[np.int64]:
        return np.concatenate([self._search.numbers, np.array(self._roots, np.int64)])

    # ---- checkpoints ----

    def save(self, status: str) -> None:
        """Writes everything since the last checkpoint, and a new one, at once."""
        search = self._search
        arrays: dict[str, NDArray[Any]] = {"objectives": search.objectives, "numbers": search.numbers}
        arrays["lives"] = np.array([astuple(life) for life in search.lives], np.float64)
        arrays |= _packed("population", search.population) | _packed("champion", search.champion)
        arrays |= {f"cache_{name}": array for name, array in search.cache.contents().items()}
        arrays |= {EXTRA + name: array for name, array in search.extras().items()}
        with self._store.transaction():
            self._store.add_rows("metrics", self._metrics)
            self._store.add_rows("champions", self._champions)
            self._store.add_rows("fronts", self._fronts)
            self._store.change_lineage(self._lineage.difference(self._living()), self._origins)
            self._store.set_checkpoint(arrays)
            facts = {"status": status, "seconds": self.seconds, "counters": asdict(search.counters)}
            self._store.set_facts(facts)
        self._metrics, self._champions, self._fronts = [], [], []

    def _restore(self) -> None:
        arrays = self._store.checkpoint()
        if not arrays:
            return
        search = self._search
        search.counters = read_counters(self._store)
        for name, array in arrays.items():
            known = "extra" if name.startswith(EXTRA) else name.removeprefix("population_").removeprefix("champion_")
            if RANKS.get(known) != (array.dtype.name, array.ndim):
                raise self._store.damage(f"its checkpoint has an odd {name}")
        try:
            search.objectives, search.numbers = arrays["objectives"], arrays["numbers"]
            search.population = _unpacked("population", arrays, self._config)
            search.champion = _unpacked("champion", arrays, self._config)
            search.lives = _lives(arrays["lives"], search.counters, search.settings.islands)
            search.cache.restore(arrays["cache_keys"], arrays["cache_values"])
            extras = {name.removeprefix(EXTRA): array for name, array in arrays.items() if name.startswith(EXTRA)}
            search.restore_extras(extras)
        except (KeyError, ValueError) as error:
            raise self._store.damage(f"its checkpoint cannot be used ({error})") from None
        living = 0 if search.population is None else len(search.population)
        has_begun = any(life.is_begun for life in search.lives)
        expected = search.settings.islands * search.settings.population if has_begun or living else 0
        shape = (expected, search.problem.objectives)
        if search.objectives.shape != shape or not len(search.numbers) == living == expected:
            raise self._store.damage("its checkpoint contradicts itself")


def _search(config: Config, seed: int, threads: int, start: AnyPolicy | None, workers: Workers | None) -> Search[Any]:
    """The search that a configuration asks for."""
    problem: Any = config.policy.problem(config, threads, workers)
    _, kind = SEARCHES[kind_of(config, "search")]
    return kind(problem, config.search, seed, start=None if start is None else start.batch)


def _lives(rows: NDArray[np.float64], count: Counters, islands: int) -> list[Life]:
    """The lives in a checkpoint.

    Raises:
        ValueError: they cannot be.
    """
    if rows.shape != (islands, 6):
        raise ValueError(f"there are not {islands} lives in it")
    number, is_begun, _, _, improved_at, is_warm = rows.T
    if not (
        np.all((number >= 0) & (number < islands + count.restarts) & (number % 1 == 0))
        and len(np.unique(number)) == islands
        and np.isin([is_begun, is_warm], (0.0, 1.0)).all()
        and np.all(rows[:, 2:4] < np.inf)
        and np.all((improved_at >= 0) & (improved_at <= count.evaluations) & (improved_at % 1 == 0))
    ):
        raise ValueError("its lives are odd")
    return [Life(int(n), bool(b), s, to, int(at), bool(w)) for n, b, s, to, at, w in rows.tolist()]


def read_counters(store: Store) -> Counters:
    """The counters of a run.

    Raises:
        RunError: they are not what they should be.
    """
    given = store.facts().get("counters", {})
    usual = asdict(Counters())
    if not isinstance(given, dict) or not given.keys() <= usual.keys():
        raise store.damage("its counters are not what they should be")
    for name, value in given.items():
        kinds = (int,) if isinstance(usual[name], int) else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool) or (abs(value) > 2**62 and not math.isinf(value)):
            raise store.damage(f"its counter {name} is not what it should be")
    return Counters(**given)


EXTRA = "extra_"
"""How the names of arrays begin that only one kind of search has."""
RANKS = {
    "extra": ("float64", 2),
    "objectives": ("float64", 2),
    "numbers": ("int64", 1),
    "lives": ("float64", 2),
    "cache_keys": ("uint64", 2),
    "cache_values": ("float64", 2),
    "instructions": ("uint8", 2),
    "lengths": ("int64", 2),
    "cadfs": ("uint8", 1),
    "images": ("float64", 2),
}
"""What the arrays of a checkpoint are."""


def _packed(name: str, batch: PolicyBatch | None) -> dict[str, NDArray[Any]]:
    return {} if batch is None else {f"{name}_{part}": array for part, array in batch.arrays().items()}


def _unpacked(name: str, arrays: dict[str, NDArray[Any]], config: Config) -> PolicyBatch | None:
    own = {part.removeprefix(f"{name}_"): array for part, array in arrays.items() if part.startswith(f"{name}_")}
    return config.shape.batch(own) if own else None
