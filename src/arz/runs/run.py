"""A run: evolve, stop at any moment, go on, look at what came out."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import TEST_SEED, Workers
from arz.interpreter import available_threads
from arz.native import core
from arz.policy import AnyPolicy, parse_policy
from arz.predictor import Policy
from arz.program import Program
from arz.runs import config as configs
from arz.runs.budget import Budget
from arz.runs.config import Config
from arz.runs.folder import RunError
from arz.runs.session import Progress, Session, read_counters
from arz.runs.store import Store
from arz.runs.training import Training
from arz.search import SEARCHES
from arz.search.base import Counters, Metrics
from arz.search.pareto import Front
from arz.streams import MASK
from arz.testing import Assessment, assess
from arz.vary import UnknownOperatorError
from arz.version import __version__

SESSIONS: dict[str, type[Session] | type[Training]] = {**dict.fromkeys(SEARCHES, Session), "ppo": Training}
"""What goes on while a run evolves, by the name of its search."""
CHECKPOINT_SECONDS = 10.0

FACTS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("arz", "preset", "config", "budget", "status"), (str,)),
    "seed": (int,),
    **dict.fromkeys(("target", "seconds"), (int, float)),
}
"""What a run must say about itself, and of which type."""


class Run:
    """One search for programs and what came out of it.

    Attributes:
        config: what decides the result, beside the seed.
        seed: what all random numbers come from.
        budget: when it ends.
        target: it also ends when the champion's validation score reaches this.
        start: the program with which it began; None for random ones.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        facts = store.facts()
        for name, kinds in FACTS.items():
            value = facts.get(name)
            is_odd = not isinstance(value, kinds) or isinstance(value, bool)
            if is_odd or (isinstance(value, int | float) and not _is_possible(name, value)):
                raise store.damage(f"the fact {name!r} is missing or not what it should be")
        self.config = configs.parse(facts["config"], f"{store.folder}: configuration", is_kept=True)
        if not (self.config.task.observations and self.config.task.actions):
            raise store.damage("its configuration does not say what its environment shows and takes")
        self.seed: int = facts["seed"]
        self.budget = Budget.parse(facts["budget"])
        self.target = float(facts["target"])
        self.preset: str = facts["preset"]
        text = facts.get("start", "")
        if not isinstance(text, str):
            raise store.damage("its start is not a program")
        try:
            self.start = parse_policy(text, "start") if text else None
        except ValueError:
            raise store.damage("its start is not a program") from None
        if self.start is not None and not _fits(self.start, self.config):
            raise store.damage("its start has another memory or size than its policies")

    # ---- making and opening ----

    @classmethod
    def create(
        cls,
        config: Config,
        *,
        seed: int = 1,
        folder: str | Path | None = None,
        preset: str = "custom",
        start: AnyPolicy | None = None,
    ) -> Run:
        """A new run in a new folder; in memory only, if there is none.

        Args:
            config: what to search, and how; see `arz.preset`.
            seed: what all random numbers come from.
            folder: where; it must not exist yet.
            preset: the name of the configuration, for people.
            start: a program with which to begin, in place of random ones, or a network. Its memory, or its sizes, must
                be the configuration's; see `arz.runs.config.for_start`.

        Raises:
            ValueError: something is out of range, or the folder exists.
        """
        config = configs.settled(config)
        config.variation.check_operators()
        if start is not None and not _fits(start, config):
            raise ValueError(f"the start does not fit the configuration: it has {start.shape}, not {config.shape}")
        if configs.parse(configs.render(config)) != config:
            raise ValueError("the configuration cannot be written and read back: are there odd characters in it?")
        for name in config.search.named_registers:
            config.registers.image_part(name)  # refuses what is not there
        config.search.check_installed()
        if start is not None:
            config.search.check("start")
        if not 0 <= seed <= MASK:
            raise ValueError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed}")
        facts = {
            "arz": __version__,
            "python": platform.python_version(),
            "instruction_set": core.INSTRUCTION_SET,
            "created": time.strftime("%Y-%m-%d %H:%M:%S"),
            "preset": preset,
            "config": configs.render(config),
            "seed": seed,
            "budget": config.limits.budget,
            "target": config.limits.target,
            "status": "new",
            "seconds": 0.0,
            "start": "" if start is None else str(start),
            "imports": config.variation.modules,
        }
        return cls(Store.create(folder, facts))

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """An existing run.

        Raises:
            RunError: there is none, or it is damaged.
        """
        return cls(Store.open(folder))

    def close(self) -> None:
        """Closes the file."""
        self._store.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[[Path], Run], tuple[Path]]:
        """A copy, also in another process, is the same run, opened again."""
        if self.folder is None:
            raise TypeError("a run in memory cannot be copied: evolve it in a folder, or copy its champion")
        return Run.open, (self.folder,)

    # ---- what there is ----

    @property
    def folder(self) -> Path | None:
        """Where the run is."""
        return self._store.folder

    @property
    def facts(self) -> dict[str, Any]:
        """What is known about the run."""
        return self._store.facts()

    @property
    def counters(self) -> Counters:
        """How far the search has come."""
        return read_counters(self._store)

    @property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """How it went: arrays of equal length, one entry per selection."""
        return self._store.columns("metrics", "evaluations")

    @property
    def champions(self) -> list[dict[str, Any]]:
        """Every program that was the best so far, the last one best: number, evaluations, fitness, score, program."""
        return self._store.rows("champions", "evaluations")

    @property
    def fronts(self) -> list[Front]:
        """The front of each island after each generation, where the search is NSGA-II."""
        found, width = [], len(self.config.fitness.objectives)
        for row in self._store.rows("fronts", "evaluations, island"):
            numbers, objectives = (len(row[name]) // 8 for name in ("numbers", "objectives"))
            if objectives != numbers * width or len(row["numbers"]) % 8 or len(row["objectives"]) % 8:
                raise self._store.damage("a front is not what it should be")
            points = np.frombuffer(row["objectives"], np.float64).reshape(numbers, width)
            who = np.frombuffer(row["numbers"], np.int64)
            found.append(Front(row["evaluations"], row["island"], bool(row["is_warm"]), who, points))
        return found

    @property
    def individuals(self) -> list[dict[str, Any]]:
        """The lineage that is kept: number, parent, mutation, life, fitness."""
        return self._store.rows("individuals", "number")

    @property
    def champion(self) -> AnyPolicy:
        """The best policy so far, by its score on the validation episodes.

        Raises:
            RunError: there is none yet.
        """
        found = self.champions
        if not found:
            raise RunError(f"{self.folder or 'the run'} has no champion yet. {self.first_champion}")
        return parse_policy(str(found[-1]["program"]), f"champion of {self.folder}")

    @property
    def first_champion(self) -> str:
        """When the first champion is chosen, in a sentence."""
        settings, done = self.config.search, self.counters.evaluations
        return (
            f"The first is chosen after {settings.validate_every * settings.islands} evaluations, "
            f"and {done} were saved so far."
        )

    @property
    def program(self) -> Program:
        """The champion, where policies are programs.

        Raises:
            RunError: there is none yet, or policies are networks.
        """
        found = self.champion
        if not isinstance(found, Program):
            raise RunError(f"the policies of {self.folder or 'the run'} are networks, not programs")
        return found

    def policy(self) -> Policy:
        """The champion as a policy."""
        return Policy(self.champion)

    # ---- evolving ----

    def lock(self) -> None:
        """Makes sure that no other process evolves this run.

        Raises:
            RunError: another process does.
        """
        self._store.lock()

    def extend(self, budget: str | Budget | None = None, target: float | None = None) -> None:
        """Changes when the run ends. A budget counts from the start of the run.

        Raises:
            ValueError: it is spent already.
        """
        if why := self.config.search.CANNOT.get("resume"):
            raise RunError(f"{self.folder or 'the run'} cannot go on: {why}")
        if budget is not None:
            wanted = budget if isinstance(budget, Budget) else Budget.parse(budget)
            count = self.counters
            if wanted.spent(count.evaluations, count.steps, float(self.facts["seconds"])) >= 1:
                spent = {"evaluations": count.evaluations, "steps": count.steps, "seconds": self.facts["seconds"]}
                raise ValueError(
                    f"{self.folder or 'the run'} has spent {Budget(wanted.kind, float(spent[wanted.kind]))} already: "
                    f"a budget counts from the start, so {wanted} is over"
                )
            self.budget = wanted
        if target is not None:
            if math.isnan(target):
                raise ValueError("target must be a number, not nan")
            self.target = target
        self._store.lock()
        with self._store.transaction():
            self._store.set_facts({"budget": str(self.budget), "target": self.target})

    def evolve(
        self,
        *,
        threads: int | None = None,
        workers: Workers | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        should_stop: Callable[[], bool] | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> str:
        """Evolves until the budget is spent or the target reached; goes on where it stopped.

        The result does not depend on threads or workers, nor on how often the run was interrupted.

        Args:
            threads: how many to use, all by default.
            workers: who evaluates policies, in place of threads; see `arz.RayWorkers`.
            on_progress: called now and then. If it returns True, the run is saved and stops, and can go on later; if it
                raises, the run is saved too.
            should_stop: asked between batches; when it says yes, the run is saved and can go on later.
            checkpoint_seconds: how often to save.

        Returns:
            Why it ended: "budget", "target" or "stopped"; PPO can also have "diverged".

        Raises:
            RunError: another process evolves this run, or it cannot be written.
        """
        if not checkpoint_seconds >= 0:
            raise ValueError(f"expected to save every so many seconds, 0 or more, not every {checkpoint_seconds}")
        self._check_imports()
        self._store.lock()
        used = available_threads() if threads is None else threads
        begun = SESSIONS[configs.kind_of(self.config, "search")]
        session = begun(self._store, self.config, self.seed, self.budget, self.target, used, self.start, workers)
        saved = time.monotonic()
        while True:
            reason = session.reason_to_end() or ("stopped" if should_stop is not None and should_stop() else "")
            if reason:
                session.save(reason)
                return reason
            metrics = session.advance()
            if metrics is not None and on_progress is not None and _tell(on_progress, session, metrics):
                session.save("stopped")
                return "stopped"
            if time.monotonic() - saved >= checkpoint_seconds or "resume" in self.config.search.CANNOT:
                session.save("running")
                saved = time.monotonic()

    def _check_imports(self) -> None:
        """Operators and environments are code, which is not in the run: who evolves it must have imported them."""
        self.config.task.check_imported()
        try:
            self.config.variation.check_operators()
        except UnknownOperatorError as error:
            found = self.facts.get("imports")
            names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
            told = " ".join(f"--import {name}" for name in names) or "--import MODULE, with the module that has it"
            raise RunError(f"{error} The run needs it: import it first (on the command line: {told})") from None

    # ---- testing ----

    @property
    def tests(self) -> list[dict[str, Any]]:
        """Stored tests: champion, change, task, variant, seed, episodes, mean, completed, distance, returns."""
        return self._store.rows("tests")

    def test(
        self,
        *,
        episodes: int = 100,
        seed: int = TEST_SEED,
        threads: int | None = None,
        workers: Workers | None = None,
        **variant: Any,
    ) -> list[Assessment]:
        """Tests the champion as `arz.assess` does, and stores the results if it can.

        Args:
            episodes: how many of each.
            seed: which; the same ones for every program.
            threads: how many to use, all by default.
            workers: who does it, in place of threads.
            **variant: fields of the task that shall differ from the run's.
        """
        task = replace(self.config.task, **variant)
        results = assess(self.champion, task, episodes=episodes, seed=seed, threads=threads, workers=workers)
        number = self.champions[-1]["number"]
        rows = [
            {
                "champion": number,
                "change": result.change,
                "task": result.task,
                "variant": json.dumps(task.variant),
                "seed": seed,
                "episodes": episodes,
                "mean": result.mean,
                "completed": result.completed,
                "distance": result.distance,
                "returns": result.returns.tobytes(),
            }
            for result in results
        ]
        if self._store.is_writable:
            with self._store.transaction():
                self._store.add_rows("tests", rows)
        return results


def _tell(on_progress: Callable[[Progress], object], session: Session | Training, metrics: Metrics) -> bool:
    """Tells how the run stands; whether it is to stop. Whatever the listener does, nothing is lost."""
    try:
        return on_progress(session.progress(metrics)) is True
    except BaseException:
        session.save("stopped")
        raise


def _is_possible(name: str, value: float) -> bool:
    """Whether a fact can have this value."""
    if name == "target":
        return abs(value) <= 1e300 or value in (math.inf, -math.inf)
    return 0 <= value <= MASK


def _fits(policy: AnyPolicy, config: Config) -> bool:
    """Whether a policy is of the kind and size that a configuration searches."""
    return policy.shape == config.shape
