"""Ray workers against threads: `python -m bench cluster`; as many workers as threads, in turns after each batch."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.interpreter import available_threads
from arz.program import Memory, Program
from arz.runs.config import for_start
from arz.runs.run import Run
from arz.streams import keys
from arz.tasks.base import Task
from arz.tasks.cartpole import Cartpole
from arz.vary import random_programs

Row = Callable[..., None]
BestTimes = Callable[..., list[float]]
Job = Callable[[Callable[[], bool]], int]
ROUNDS = 4
WALKER = Path(__file__).parent.parent / "results" / "reproduction" / "hour" / "champions" / "quadruped-published-1.arz"


def cluster(row: Row, best_times: BestTimes) -> None:
    """Searches with both, what a share costs, and from which cost of an evaluation on Ray pays."""
    try:
        workers = arz.RayWorkers()
    except ValueError as error:
        row("Ray", str(error))
        return
    with workers:
        while workers.count < available_threads():
            time.sleep(0.1)
        row(f"{workers.count} Ray workers, {available_threads()} threads", "")
        searches(row, workers)
        shares(row, workers)
        pays(row, best_times, workers)


def searches(row: Row, workers: arz.RayWorkers) -> None:
    """The same search with both: evaluations per second."""
    for preset, budget, rounds, start, goal in (
        ("quadruped-nsga2", "30000", 3, None, "goal 0.90x"),  # the cheapest: most programs fall at once
        ("quadruped-nsga2", "100000", 2, None, "goal 0.90x"),
        ("quadruped-nsga2", "8000", 2, Program.load(WALKER), "goal 0.90x"),
        ("cartpole-regularized", "200000", 2, None, ""),
    ):
        config = arz.preset(preset, budget=budget, **({} if start is None else {"warm_up": 0.0, "initial": 500}))
        evaluations, seconds = np.zeros(2), np.zeros(2)
        for _ in range(rounds):
            done, took = in_turns(partial(search, config, start, None), partial(search, config, start, workers))
            evaluations, seconds = evaluations + done, seconds + took
        threads, ray = evaluations / seconds
        name = f"{preset}, the first {int(budget):,}{'' if start is None else ' of a program that walks'}"
        row(f"{name}: threads", f"{threads:.0f} evaluations/s")
        row(f"{name}: Ray", f"{ray:.0f} evaluations/s", ray / threads, goal)


def search(
    config: arz.Config, start: Program | None, workers: arz.RayWorkers | None, after_batch: Callable[[], bool]
) -> int:
    """Evolves; how many evaluations that were."""
    made, policy = (config, None) if start is None else for_start(config, start)
    with Run.create(made, seed=1, start=policy) as run:
        run.evolve(workers=workers, should_stop=after_batch)
        return run.counters.evaluations


def in_turns(*jobs: Job) -> tuple[list[int], list[float]]:
    """What jobs give, and how many seconds each took. When one calls what it is given, it is the next one's turn.

    So all of them meet the same noise of a machine that others use too.
    """
    turns = Turns(len(jobs))

    def do(mine: int) -> int:
        turns.wait(mine)
        try:
            return jobs[mine](partial(turns.next, mine))
        finally:
            turns.end(mine)

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(do, range(len(jobs)))), turns.seconds


class Turns:
    """Whose turn it is, and how many seconds each had."""

    def __init__(self, count: int) -> None:
        self.seconds = [0.0] * count
        self._order, self._changed, self._began = deque(range(count)), threading.Condition(), 0.0

    def wait(self, mine: int) -> None:
        """Until it is this one's turn."""
        with self._changed:
            self._changed.wait_for(lambda: self._order[0] == mine)
        self._began = time.perf_counter()

    def next(self, mine: int) -> bool:
        """The others' turn, and then this one's again, which shall not stop."""
        self._pass_on(mine, lambda: self._order.rotate(-1))
        self.wait(mine)
        return False

    def end(self, mine: int) -> None:
        """This one takes part no longer."""
        self._pass_on(mine, self._order.popleft)

    def _pass_on(self, mine: int, change: Callable[[], object]) -> None:
        self.seconds[mine] += time.perf_counter() - self._began
        with self._changed:
            change()
            self._changed.notify_all()


def shares(row: Row, workers: arz.RayWorkers) -> None:
    """What it costs to have one policy evaluated that takes no time, one after the other."""
    task = Cartpole(steps=1)
    for count in (1, 200):
        policies = some(task, count)
        took = []
        for _ in range(200):
            began = time.perf_counter()
            evaluate(policies, task, fresh_episodes(1), workers=workers)
            took.append(time.perf_counter() - began)
        row(f"a share of {count} policies that take no time", f"{1e3 * float(np.median(took)):.2f} ms")


def pays(row: Row, best_times: BestTimes, workers: arz.RayWorkers) -> None:
    """Batches of 200 policies, from cheap to dear: where workers do as much as threads."""
    task, policies = Cartpole(), some(Cartpole(), 200)
    for episodes in map(fresh_episodes, (4, 16, 64, 256, 1024)):
        threads, ray = best_times(
            partial(evaluate, policies, task, episodes),
            partial(evaluate, policies, task, episodes, workers=workers),
            rounds=ROUNDS,
        )
        row(f"a batch of 200 that takes {1e3 * threads:.1f} ms on threads", f"{1e3 * ray:.1f} ms on Ray", threads / ray)


def some(task: Task, count: int) -> arz.Batch:
    """Random programs."""
    return random_programs(Memory(task.observations, task.actions), keys(1, "bench", np.arange(count)))
