"""What a worker does: it holds the native evaluator, and evaluates what it is given."""

from __future__ import annotations

import hashlib
import platform
import threading
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.cluster.packing import Packed, pack_result, unpack_policies, unpack_task
from arz.evaluate import evaluate, fresh_episodes
from arz.interpreter import available_threads
from arz.program import Memory
from arz.streams import keys
from arz.tasks import TASKS, Task
from arz.vary import random_programs

PACKAGES = ("arz", "gymnasium", "mujoco", "numpy")
"""What must have the same version everywhere: what decides how an episode goes."""
PROBES = tuple(probe for kind in TASKS.values() if (probe := kind.probe()) is not None)
PROBE_POLICIES, PROBE_EPISODES = 64, 4

MOST_ENGINES = 8
"""So many simulations are kept, for tasks that come again."""


class Worker:
    """Evaluates policies on one thread at a time. Another may bring what comes next before that is done."""

    def __init__(self) -> None:
        self._alone, self._lock = threading.Lock(), threading.Lock()
        self._ended = 0.0
        self._engines: dict[tuple[Any, ...], Any] = {}

    def about(self) -> dict[str, str]:
        """What must be the same for driver and workers, and where this is."""
        return {**identity(), "host": platform.node()}

    def evaluate(
        self, policies: Packed, task: Packed, episodes: NDArray[np.uint64], options: dict[str, Any]
    ) -> tuple[list[Any], float]:
        """How policies did, and how many seconds it took, after those that came before were done."""
        many, what = unpack_policies(policies), unpack_task(task)
        came = time.perf_counter()
        alike = what.simulation
        if alike is not None:  # its episodes run beside those of who came before
            engine = self._engine(alike, what)
            options = {"engine": engine, "only_effective": False, **options}  # nothing else travels
            found = evaluate(many, what, np.array(episodes), threads=1, **options)
        else:
            with self._alone:
                found = evaluate(many, what, np.array(episodes), threads=1, **options)
        with self._lock:
            began, self._ended = max(came, self._ended), time.perf_counter()
            return pack_result(found), self._ended - began

    def _engine(self, alike: tuple[Any, ...], task: Task) -> Any:
        """One for all tasks whose episodes can run side by side."""
        with self._lock:
            if alike not in self._engines:
                while len(self._engines) >= MOST_ENGINES:  # worlds that vary do not come again
                    del self._engines[next(iter(self._engines))]
                self._engines[alike] = task.shared_engine()
            return self._engines[alike]


@cache
def identity() -> dict[str, str]:
    """Versions, and a digest of what some programs do in some episodes: the bits that must be the same."""
    digest = hashlib.sha256()
    for task in PROBES:
        memory = Memory(task.observations, task.actions)
        programs = random_programs(memory, keys(0, "identity", np.arange(PROBE_POLICIES)))
        found = evaluate(programs, task, fresh_episodes(PROBE_EPISODES), threads=available_threads())
        digest.update(found.returns.tobytes() + found.lengths.tobytes())
    return {**{name: _version(name) for name in PACKAGES}, "bits": digest.hexdigest()[:16]}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def difference(driver: dict[str, str], worker: dict[str, str]) -> str:
    """Why a worker cannot work for a driver; nothing if it can."""
    host = worker.get("host", "?")
    for name in PACKAGES:
        if driver[name] != worker.get(name):
            return (
                f"the worker on {host} has {name} {worker.get(name)}, and here is {driver[name]}: "
                "install the same version on all machines"
            )
    if driver["bits"] != worker["bits"]:
        return (
            f"the worker on {host} has the same version of arz, {worker['arz']}, but programs do not do the same "
            "there as here: install the same build on all machines"
        )
    return ""
