"""Workers that come, go, hang and lie, without Ray: the result is that of one thread, bit for bit."""

from __future__ import annotations

import contextlib
import math
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arz
from arz.cluster import packing, requests, worker_pool
from arz.cluster.handles import LostError, WorkerError
from arz.cluster.scheduling import (
    DEPTH,
    FIRST_ROUNDS,
    HANDING_SECONDS,
    LEAST_ROUNDS,
    LEAST_SECONDS,
    MOST_SECONDS,
    PART,
    TAIL_SECONDS,
    Pace,
    share_size,
    simulate,
    tail,
)
from arz.cluster.worker import Worker, difference, identity
from arz.cluster.worker_pool import WorkerPool
from arz.evaluate import evaluate, fresh_episodes
from arz.native import core
from arz.network import Architecture, NetworkBatch
from arz.program import Batch, Memory, Program
from arz.streams import keys
from arz.tasks.base import Evaluation, Task
from arz.tasks.cartpole import Cartpole
from arz.tasks.gymnasium import AnyEnvironment
from arz.tasks.quadruped import Quadruped
from arz.vary import Variation, random_programs
from tests.runs_support import GROWING, content, small_options
from tests.runs_support import small as small_cartpole
from tests.support import Draw, examples, same_bits
from tests.test_quadruped_runs import small as small_quadruped

CARTPOLE, QUADRUPED = Cartpole(steps=100), Quadruped(steps=60, break_step=30)
EPISODES = fresh_episodes(3)

LOSSY = 8
"""How many workers die or hang, one after the other."""
Behaviour = Callable[[int, int], str]
"""What the worker of a number does with its n-th share: work, die, hang or raise."""


class Clock:
    """Time for a pool: it passes while the pool waits and nobody works, however slow the machine is.

    So who hangs is given up after its time, and who is slow never.
    """

    def __init__(self) -> None:
        self.now, self.working = 0.0, 0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        return self.now

    def work(self, change: int) -> None:
        """One more works, or one less."""
        with self._lock:
            self.working += change

    def SimpleQueue(self) -> ClockedQueue:  # noqa: N802
        return ClockedQueue(self)

    Empty = queue.Empty


class ClockedQueue:
    """A queue of events for which a pool waits by a clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._events = clock, queue.SimpleQueue[Callable[[], None]]()
        self.put, self.get_nowait = self._events.put, self._events.get_nowait

    def get(self, timeout: float) -> Callable[[], None]:
        try:
            return self._events.get(timeout=0.002)
        except queue.Empty:
            if not self._clock.working:
                self._clock.now += timeout
            raise


CLOCK = Clock()


class FakeHandle:
    """A worker in a thread of its own."""

    def __init__(self, cluster: FakeCluster, number: int) -> None:
        self._cluster, self._number = cluster, number
        self._pool, self._worker = ThreadPoolExecutor(DEPTH), Worker()
        self._shares, self.is_dead = 0, False
        self._clock, self.is_dismissed = CLOCK, threading.Event()

    def _begin(self, what: Callable[..., Any], *work: Any) -> Future[Any]:
        self._clock.work(1)
        future = self._pool.submit(what, *work)
        future.add_done_callback(lambda _: self._clock.work(-1))
        return future

    def hang(self) -> None:
        """Until it is dismissed."""
        self._clock.work(-1)
        self.is_dismissed.wait(60)
        self._clock.work(1)

    def about(self) -> Future[dict[str, str]]:
        return self._begin(self._about)

    def _about(self) -> dict[str, str]:
        if self.is_dead:
            raise LostError("it died")
        return self._cluster.say(self._number)

    def evaluate(self, *work: Any) -> Future[tuple[list[Any], float]]:
        return self._begin(self._evaluate, *work)

    def _evaluate(self, *work: Any) -> tuple[list[Any], float]:
        how = self._cluster.behave(self._number, self._shares)
        self._shares += 1
        if how == "hang":
            self.hang()
        self.is_dead |= how in ("die", "hang")
        if self.is_dead:
            raise LostError("it died")
        if how == "raise":
            raise ValueError("they do not fit")
        time.sleep(self._cluster.lots.random() * self._cluster.delay)
        found, _ = self._worker.evaluate(*work)
        return found, 0.01 * len(found[0])

    def dismiss(self) -> None:
        self.is_dismissed.set()
        self._pool.shutdown(wait=False)


class FakeCluster:
    """Workers in threads."""

    def __init__(self, places: int = 2, behave: Behaviour = lambda number, share: "work", delay: float = 0.0) -> None:
        self.room, self.behave, self.delay = places, behave, delay
        self.lots = random.Random(1)
        self.handles: list[FakeHandle] = []
        self.is_closed = False

    def say(self, number: int) -> dict[str, str]:
        return {**identity(), "host": f"host-{number}"}

    def places(self) -> int:
        return self.room

    def start(self) -> FakeHandle:
        self.handles.append(FakeHandle(self, len(self.handles)))
        return self.handles[-1]

    def close(self) -> None:
        assert all(handle.is_dismissed.is_set() for handle in self.handles)
        self.is_closed = True


@pytest.fixture(autouse=True)
def clocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "TICK", 0.01)
    monkeypatch.setattr(worker_pool, "TICK", 0.01)
    monkeypatch.setattr(worker_pool, "SILENT_TICKS", 10**9)
    monkeypatch.setitem(globals(), "CLOCK", clock := Clock())
    monkeypatch.setattr(worker_pool, "time", clock)
    monkeypatch.setattr(worker_pool, "queue", clock)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share may meet each of the workers that die or hang (`lossy`), whichever threads are first."""
    monkeypatch.setattr(worker_pool, "ATTEMPTS", 1 + LOSSY)


def assorted(task: Task, count: int = 90) -> Batch:
    variation = Variation(length=(5, 15), initial_constants=1.0, op_weights={"call": 20.0, "scalar_uniform": 5.0})
    return random_programs(Memory(task.observations, task.actions), keys(1, "test", np.arange(count)), variation)


def networks(task: Task, count: int = 40) -> NetworkBatch:
    shape = Architecture("lstm", task.observations, task.actions, (3,))
    return NetworkBatch(shape, np.random.default_rng(1).normal(size=(count, shape.size)))


def same(one: Evaluation, other: Evaluation) -> bool:
    assert (one.distances is None) == (other.distances is None)
    names = [name for name in packing.PARTS if getattr(one, name) is not None]
    return all(same_bits(getattr(one, name), getattr(other, name)) for name in names)


def check(pool: WorkerPool, task: Task = CARTPOLE, count: int = 90, **options: Any) -> None:
    policies = assorted(task, count)
    alone = evaluate(policies, task, EPISODES, threads=1, **options)
    assert same(evaluate(policies, task, EPISODES, workers=pool, **options), alone)


# ---- what travels ----


@pytest.mark.parametrize("task", [CARTPOLE, QUADRUPED, AnyEnvironment("Pendulum-v1", {"g": 9.0}, steps=20).settled()])
def test_policies_and_tasks_travel(task: Task) -> None:
    assert packing.unpack_task(packing.pack_task(task)) == task
    policies = assorted(task, 7)
    arrived = packing.unpack_policies(packing.pack_policies(policies, 2, 5))
    assert isinstance(arrived, Batch)
    matters = Batch(policies.memory, core.effective(policies.core)[0]).take([2, 3, 4])
    assert [str(each) for each in arrived.unpack()] == [str(each) for each in matters.unpack()]


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
@examples(50)
def test_every_bit_that_matters_travels(draw: Draw, share: float) -> None:
    program, choose = draw.program(), np.random.default_rng(draw.integer(0, 2**32))
    odd = choose.choice([0.0, -0.0, 5e-324, -1e308, 1.5], program.image.shape)
    image = np.where(choose.random(odd.shape) < share, odd, 0.0)
    policies = Batch.pack([Program(program.memory, program.functions, image), program])
    arrived = packing.unpack_policies(packing.pack_policies(policies, 0, 2))
    assert isinstance(arrived, Batch)
    assert arrived.memory == policies.memory
    expected, _ = core.effective(policies.core)
    assert all(map(same_bits, arrived.core.arrays(), expected.arrays()))


@examples(100)
def test_bytes_that_are_no_programs_are_refused(draw: Draw) -> None:
    policies = assorted(QUADRUPED, 3)
    packed = policies.core.encoded(0, 3)
    with pytest.raises(ValueError, match="a part of a batch of 3"):
        policies.core.encoded(*draw.choice([(0, 4), (-1, 2), (2, 1)]))
    shorter = packed[: draw.integer(1, len(packed) - 1)]
    ends = {len(policies.core.encoded(0, count)) for count in (1, 2)}
    if len(shorter) not in ends:
        with pytest.raises(ValueError, match="end too soon"):
            core.decoded(policies.memory.native, shorter)
    for where in draw.some(lambda: draw.integer(0, len(packed) - 1), 1, 5):
        packed[where] = draw.integer(0, 255)
    with contextlib.suppress(ValueError):  # or they are other programs
        core.decoded(policies.memory.native, packed)


def test_networks_travel() -> None:
    arrived = packing.unpack_policies(packing.pack_policies(networks(CARTPOLE, 7), 2, 5))
    assert isinstance(arrived, NetworkBatch)
    assert same_bits(arrived.numbers, networks(CARTPOLE, 7).numbers[2:5])
    assert arrived.architecture == networks(CARTPOLE, 7).architecture


# ---- the same bits ----


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_workers_find_what_one_thread_finds(workers: int) -> None:
    with WorkerPool(FakeCluster(workers, delay=0.01)) as pool:
        check(pool)
        check(pool, QUADRUPED)
        check(pool, QUADRUPED, stops_idle=True)
        check(pool, CARTPOLE, 1)


@pytest.mark.parametrize("task", [CARTPOLE, QUADRUPED], ids=["cartpole", "quadruped"])
def test_networks_see_the_same(task: Task) -> None:
    alone = evaluate(networks(task), task, EPISODES, threads=1)
    with WorkerPool(FakeCluster(3)) as pool:
        assert same(evaluate(networks(task), task, EPISODES, workers=pool), alone)


def test_no_policies_are_no_work() -> None:
    with WorkerPool(FakeCluster()) as pool:
        check(pool, CARTPOLE, 0)


def test_several_can_ask_at_once() -> None:
    with WorkerPool(FakeCluster(3, delay=0.01)) as pool, ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(check, pool, task) for task in (CARTPOLE, QUADRUPED) * 3]:
            done.result()


def lossy(number: int, share: int) -> str:
    """The first workers die or hang one after the other; later ones do not."""
    return "work" if number >= LOSSY or share < number % 3 else ("die", "hang")[number % 2]


@pytest.mark.usefixtures("patient")
def test_nothing_is_lost_with_workers() -> None:
    notes: list[str] = []
    cluster = FakeCluster(3, lossy, delay=0.01)
    with WorkerPool(cluster, time_limit=0.05, on_note=notes.append) as pool:
        check(pool)
        check(pool, QUADRUPED)
    assert len(cluster.handles) > 3
    assert any("is lost (it died)" in note for note in notes)
    assert any("silent for" in note for note in notes)
    assert cluster.is_closed


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kind", ["cartpole", "quadruped", "grow", "ars"])
def test_a_run_with_such_workers_is_the_run_of_one_thread(kind: str, tmp_path: Path) -> None:
    config = {
        "cartpole": small_cartpole("2000"),
        "quadruped": small_quadruped("700"),
        "grow": arz.preset("cartpole", **GROWING, budget="1500"),
        "ars": arz.preset("ars-cartpole", budget="400", steps=100, population=21, top=5, validate_every=63),
    }[kind]
    arz.evolve(config, folder=tmp_path / "local", threads=1).close()
    with (
        WorkerPool(FakeCluster(3, lossy), time_limit=0.2) as pool,
        arz.evolve(config, folder=tmp_path / "pool", threads=1, workers=pool) as run,
    ):
        tests = run.test(episodes=5, workers=pool)
    with arz.Run.open(tmp_path / "local") as run:
        for one, other in zip(tests, run.test(episodes=5), strict=True):
            assert (one.change, one.task) == (other.change, other.task)
            assert same_bits(one.returns, other.returns)
    assert content(tmp_path / "local") == content(tmp_path / "pool")


# ---- workers come and go ----


def wait_for(condition: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < 120
        time.sleep(0.005)


def test_workers_may_join_and_leave() -> None:
    cluster = FakeCluster(1)
    with WorkerPool(cluster) as pool:
        check(pool)
        cluster.room = 4
        wait_for(lambda: pool.count == 4)
        assert pool.describe() == "4 workers; more are taken as they come"
        check(pool)
        cluster.behave = lambda number, share: "die" if number < 3 else "work"
        cluster.room = 1
        check(pool)
        check(pool)
        wait_for(lambda: len(cluster.handles) == 4 and pool.count <= 2)


def test_no_more_workers_are_started_than_were_asked_for() -> None:
    cluster = FakeCluster(8)
    with WorkerPool(cluster, most=3) as pool:
        wait_for(lambda: pool.count == 3)
        assert pool.describe() == "3 workers"
        cluster.behave = lambda number, share: "die" if number < 2 else "work"
        check(pool)
        wait_for(lambda: pool.count == 3)
        assert len(cluster.handles) == 5
    with pytest.raises(ValueError, match="1 or more"):
        WorkerPool(cluster, most=0)


def test_a_cluster_without_a_head_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its places cannot be asked for any more: that does not come back."""
    monkeypatch.setattr(worker_pool, "SILENT_TICKS", 30)
    is_over = threading.Event()

    class Beheaded(FakeCluster):
        is_beheaded = False

        def places(self) -> int:
            if self.is_beheaded:
                is_over.wait(20)
            return super().places()

    cluster = Beheaded(1, lambda number, share: "hang")
    with WorkerPool(cluster) as pool:
        cluster.is_beheaded = True
        with pytest.raises(WorkerError, match="does not answer any more"):
            check(pool)
    is_over.set()


def test_it_is_said_how_many_there_are_now() -> None:
    notes: list[str] = []
    cluster = FakeCluster(1)
    with WorkerPool(cluster, on_note=notes.append) as pool:
        wait_for(lambda: pool._told_ready == 1)
        cluster.room = 3
        wait_for(lambda: "3 workers now." in notes)
        cluster.behave = lambda number, share: "die" if number == 2 else "work"
        cluster.room = 2

        def is_one_lost() -> bool:
            check(pool)
            return "2 workers now." in notes

        wait_for(is_one_lost)
    assert notes[0].endswith("workers now.")


def test_those_who_are_refused_do_not_count_as_workers() -> None:
    class Mixed(FakeCluster):
        def say(self, number: int) -> dict[str, str]:
            return {**super().say(number), **({"arz": "9.9"} if number < 2 else {})}

    cluster = Mixed(8)
    with WorkerPool(cluster, most=2) as pool:
        wait_for(lambda: pool.count == 2)
        check(pool)
    assert len(cluster.handles) == 4


def test_while_there_is_nobody_it_waits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "FIRST_REMINDER", 0.05)
    notes: list[str] = []
    cluster = FakeCluster(1, lambda number, share: "die" if number == 0 else "work")

    def add(note: str) -> None:
        notes.append(note)
        if "is lost" in note:
            cluster.room = 0
        if note.startswith("There are no workers at the moment"):
            cluster.room = 2

    with WorkerPool(cluster, on_note=add) as pool:
        check(pool)
    assert any("no workers" in note for note in notes)


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mixed(FakeCluster):
        def say(self, number: int) -> dict[str, str]:
            return {**super().say(number), **odd.get(number, {})}

    notes: list[str] = []
    odd = {0: {"arz": "9.9"}}
    with WorkerPool(Mixed(2), on_note=notes.append) as pool:
        wait_for(lambda: bool(notes) and pool.count == 1)
        check(pool)
    assert notes == [
        f"Refused: the worker on host-0 has arz 9.9, and here is {arz.__version__}: install the same version on all machines."
    ]
    odd = {0: {"numpy": "9.9"}, 1: {"bits": "other"}}
    with pytest.raises(WorkerError, match=r"on host-[01] has .*install the same"):
        WorkerPool(Mixed(2))
    assert difference(identity(), identity()) == ""


def test_workers_that_cannot_start_are_not_started_for_ever() -> None:
    class Broken(FakeCluster):
        def say(self, number: int) -> dict[str, str]:
            raise LostError("ActorDied", "The actor died.\nModuleNotFoundError: No module named 'arz'\n")

    cluster = Broken(2)
    with pytest.raises(
        WorkerError, match=r"do not start: .*No module named 'arz'. Is arz installed on every machine\?"
    ):
        WorkerPool(cluster)
    assert cluster.is_closed
    assert len(cluster.handles) <= 2 * worker_pool.BIRTHS


def test_a_machine_without_arz_does_not_keep_others_from_working(monkeypatch: pytest.MonkeyPatch) -> None:
    class Partly(FakeCluster):
        def say(self, number: int) -> dict[str, str]:
            if number != 4:
                raise LostError("ActorDied", "No module named 'arz'")
            has_failed.wait(60)
            return super().say(number)

    notes: list[str] = []
    has_failed = threading.Event()

    def add(note: str) -> None:
        notes.append(note)
        has_failed.set()

    cluster = Partly(5)
    with WorkerPool(cluster, on_note=add) as pool:
        check(pool)
        later = CLOCK.now + 0.3
        wait_for(lambda: CLOCK.now > later)
        check(pool)
        assert pool.count == 1
    assert notes == ["Some workers do not start: No module named 'arz'. Is arz installed on every machine?"]
    assert len(cluster.handles) < 40


@pytest.mark.parametrize(("workers", "policies"), [(8, 1), (32, 2), (32, 90)])
def test_workers_that_died_while_they_were_idle_cost_nothing(workers: int, policies: int) -> None:
    cluster = FakeCluster(workers)
    with WorkerPool(cluster) as pool:
        wait_for(lambda: pool.count == workers)
        for handle in cluster.handles[: workers - 1]:
            handle.is_dead = True
        cluster.room = 1
        check(pool, CARTPOLE, policies)


def test_a_worker_that_hangs_before_it_begins_is_given_up() -> None:
    class Stuck(FakeCluster):
        def say(self, number: int) -> dict[str, str]:
            if number == 0:
                self.handles[0].hang()
            return super().say(number)

    cluster = Stuck(1)
    with WorkerPool(cluster, time_limit=0.05) as pool:
        check(pool)
        assert len(cluster.handles) > 1


def test_who_wants_to_stop_does_not_wait_for_workers_that_are_not_there() -> None:
    cluster = FakeCluster(1, lambda number, share: "die")

    def leave(note: str) -> None:
        cluster.room = 0

    with WorkerPool(cluster, on_note=leave) as pool:
        pool.should_stop = lambda: cluster.room == 0
        with pytest.raises(WorkerError, match="stopped while there were no workers"):
            check(pool)


def test_an_interruption_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> bool:
        raise KeyboardInterrupt

    cluster = FakeCluster(1, lambda number, share: "hang")
    with WorkerPool(cluster) as pool:
        cluster.room, pool.should_stop = 0, interrupt
        monkeypatch.setattr(pool, "_ready", 0)
        with pytest.raises(KeyboardInterrupt):
            check(pool)
        monkeypatch.setattr(pool, "_ready", 1)


def test_a_cluster_without_room_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "START_LIMIT", 0.1)
    with pytest.raises(WorkerError, match="no worker came within"):
        WorkerPool(FakeCluster(0))


def test_work_that_kills_every_worker_is_given_up() -> None:
    cluster = FakeCluster(2, lambda number, share: "die")
    with (
        WorkerPool(cluster) as pool,
        pytest.raises(WorkerError, match="5 workers were lost, each while it evaluated the same"),
    ):
        check(pool)


def test_errors_arrive() -> None:
    with (
        WorkerPool(FakeCluster(2, lambda number, share: "raise")) as pool,
        pytest.raises(ValueError, match="do not fit"),
    ):
        check(pool)
    with WorkerPool(FakeCluster(2)) as pool:
        with pytest.raises(ValueError, match="37"):
            evaluate(assorted(CARTPOLE), QUADRUPED, EPISODES, workers=pool)
        check(pool)


def test_who_waits_is_told_when_workers_are_dismissed() -> None:
    cluster = FakeCluster(1, lambda number, share: "hang")
    pool = WorkerPool(cluster)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(check, pool)
        wait_for(lambda: bool(cluster.handles and cluster.handles[0]._shares))
        pool.close()
        pool.close()
        with pytest.raises(WorkerError, match="dismissed"):
            asked.result(10)
    with pytest.raises(WorkerError, match="dismissed"):
        check(pool)


def test_a_time_limit_is_a_time() -> None:
    for odd in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="above 0"):
            WorkerPool(FakeCluster(), time_limit=odd)


# ---- shares ----


@examples(200)
def test_shares_are_neither_too_small_nor_too_large(draw: Draw) -> None:
    left, workers, is_idle = draw.integer(1, 10_000), draw.integer(1, 2000), draw.choice((False, True))
    each, even = draw.real(1e-6, 100), draw.real(-1, 1000)
    size = share_size(left, workers, Pace(1e6 * each, 1e6), even, is_idle)
    least = max(LEAST_SECONDS, (FIRST_ROUNDS if is_idle else LEAST_ROUNDS) * HANDING_SECONDS * workers)
    assert 1 <= size <= left
    assert size in (1, left) or (size + 1) * each >= max(min(least, even), tail(workers)) * 0.999
    assert size == 1 or size * each <= max(min(MOST_SECONDS, even), least) * 1.001
    assert size == 1 or not is_idle or size * each <= least * 1.001


def test_shares_are_large_while_much_is_left() -> None:
    pace = Pace(100.0, 100_000)  # a millisecond each
    assert share_size(1000, 2, pace, even=0.5, is_idle=True) == 1000 * LEAST_SECONDS
    assert share_size(1000, 2, pace, even=0.5, is_idle=False) == pytest.approx(500 * PART, abs=1)
    assert share_size(100_000, 2, pace, even=50.0, is_idle=False) == 1000 * MOST_SECONDS
    assert share_size(1000, 100, pace, even=1.0, is_idle=True) == pytest.approx(100 * FIRST_ROUNDS, abs=1)


@pytest.mark.parametrize("is_idle", [False, True])
def test_the_last_shares_end_together(is_idle: bool) -> None:
    """What is left goes to those who will be done first, in parts that are worth handing over."""
    pace = Pace(1.0, 1000)  # a millisecond each
    assert share_size(100, 2, pace, 0.04, is_idle) == 40
    assert share_size(100, 2, pace, -1.0, is_idle) == 1000 * TAIL_SECONDS
    assert share_size(100, 50, pace, 0.0, is_idle) == 1000 * tail(50)
    assert share_size(3, 2, pace, 0.04, is_idle) == 3


def test_unknown_work_is_tried_first() -> None:
    pace = Pace()
    assert share_size(1000, 4, pace, 0.0, is_idle=True) == 1
    pace.add(2e-5, 1)
    assert share_size(1000, 4, pace, 0.005, is_idle=True) == 4
    pace = Pace()
    pace.add(2.0, 4)
    assert pace.seconds_each == pytest.approx(0.5)
    pace.add(200.0, 4)
    assert 0.5 < pace.seconds_each < 50.0


@examples(50)
def test_a_simulated_batch_takes_as_long_as_it_must(draw: Draw) -> None:
    seconds = draw.some(lambda: draw.real(0, 10), 1, 300)
    workers, overhead = draw.integer(1, 50), draw.real(0, 0.1)
    took = simulate(seconds, workers, overhead, overhead / 2)
    assert took >= max(math.fsum(seconds) / workers, max(seconds)) - 1e-9
    assert took <= math.fsum(seconds) + 1.5 * overhead * len(seconds) + 1e-9


# ---- local use ----


def test_local_use_never_imports_ray(tmp_path: Path) -> None:
    script = (
        "import sys, arz, arz.cli\n"
        "assert arz.cli.main(['evolve', 'cartpole-regularized', '--quiet', '--output', *sys.argv[1:]]) == 0\n"
        "assert arz.cli.main(['test', sys.argv[1], '--episodes', '2']) == 0\n"
        "assert 'ray' not in sys.modules, 'Ray was imported'\n"
    )
    words = [str(tmp_path / "run"), *small_options("1000")]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option", ["--address=auto", "--workers=2", "--worker-timeout=5"])
def test_options_of_ray_are_for_ray(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert arz.cli.main(["test", "examples/paper_cartpole.arz", option]) == 2
    assert f"{option.split('=')[0]} is for --backend ray" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["train", "ppo"], ["sweep", "ppo-cartpole", "--output", "swept"]])
def test_ppo_takes_no_workers(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert arz.cli.main([*command, "--backend", "ray"]) == 2
    assert "PPO learns in one process" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
