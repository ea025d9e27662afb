"""Workers that come and go, and the work that is shared out among them; who they are, a `Cluster` knows.

One thread owns all that is known about workers and work, and takes one event after the other: there is more to do, a
share is done, a worker is lost. Whoever wants policies evaluated waits for it. Each policy is evaluated on its own, so
the result does not depend on who does what, nor on who is first.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from arz.cluster.packing import Packed, join_results, pack_policies, pack_task
from arz.cluster.scheduling import DEPTH, Pace, share_size
from arz.cluster.worker import difference, identity
from arz.network import NetworkBatch
from arz.program import Batch
from arz.tasks.task import Evaluation, Task

TICK = 1.0
"""How often to look after workers (s)."""
TIME_LIMIT = 300.0
"""A worker that is silent for this long, beyond what its share should take, is given up (s)."""
PATIENCE = 10.0
"""A share may take this many times as long as others of its size."""
START_LIMIT = 180.0
"""If no worker is there by then, there will be none (s)."""
ATTEMPTS = 5
"""A share with which so many workers are lost is not tried again."""
BIRTHS = 3
"""If so many workers end before they begin, and none does begin, none will."""
REMINDER = 60.0
"""How often to say that there are no workers (s)."""


class WorkerError(ValueError):
    """Workers cannot do the work."""


class LostError(Exception):
    """A worker is not there any more; nothing is wrong with its work."""


class Hand(Protocol):
    """One worker."""

    def about(self) -> Future[dict[str, str]]:
        """What it says of itself, once it is there."""
        ...

    def evaluate(
        self, policies: Packed, task: Packed, episodes: NDArray[np.uint64], options: dict[str, Any], /
    ) -> Future[tuple[list[Any], float]]:
        """What `Worker.evaluate` gives; a `LostError` if the worker is lost."""
        ...

    def dismiss(self) -> None:
        """Ends it, whatever it does."""
        ...


class Cluster(Protocol):
    """Where workers are."""

    def places(self) -> int:
        """How many workers there is room for now, with those that are there."""
        ...

    def hire(self) -> Hand:
        """One more worker; it may come later."""
        ...

    def close(self) -> None:
        """All workers were dismissed."""
        ...


@dataclass(eq=False)
class _Request:
    """Policies that somebody wants evaluated."""

    policies: Batch | NetworkBatch
    task: Packed
    episodes: NDArray[np.uint64]
    options: dict[str, Any]
    pace: Pace
    next: int = 0
    """The first that nobody has yet."""
    again: list[_Share] = field(default_factory=list)
    """What lost workers had."""
    results: dict[int, list[Any]] = field(default_factory=dict)
    """What is done, by its first policy."""
    done: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """It cannot be done."""
        self.error = error
        self.is_over.set()


@dataclass(eq=False)
class _Share:
    """Some policies of a request, which one worker evaluates."""

    request: _Request
    first: int
    last: int
    attempts: int = 0

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(eq=False)
class _Member:
    """A worker, and what it has to do."""

    number: int
    hand: Hand
    is_ready: bool = False
    refused: str = ""
    """Why it is not used."""
    shares: list[_Share] = field(default_factory=list)
    since: float = 0.0
    """When it began with its first share."""


class Crew:
    """Evaluates policies by the workers of a cluster, as many as there are at the moment: see `arz.evaluate.Workers`.

    Args:
        cluster: where workers are.
        time_limit: seconds after which a worker that is silent is given up.
        on_note: is told, in a sentence, when workers come, are lost or refused.

    Raises:
        WorkerError: no worker comes, or those that come cannot be used.
    """

    def __init__(
        self, cluster: Cluster, *, time_limit: float = TIME_LIMIT, on_note: Callable[[str], None] = lambda text: None
    ) -> None:
        if not time_limit > 0:
            raise ValueError(f"the time limit of a worker must be a number of seconds above 0, not {time_limit}")
        self._cluster, self._time_limit, self._note = cluster, time_limit, on_note
        self._identity = identity()
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._members: dict[int, _Member] = {}
        self._requests: deque[_Request] = deque()
        self._paces: dict[str, Pace] = {}
        self._numbers = count()
        self._failed_births: list[str] = []
        self._broken: WorkerError | None = None
        self._has_begun, self._is_closed = threading.Event(), False
        self._ready = 0
        self._is_news = False  # for those who have nothing to do
        self._looked, self._reminded = -TICK, 0.0
        self._thread = threading.Thread(target=self._run, name="arz workers", daemon=True)
        self._thread.start()
        if not self._has_begun.wait(START_LIMIT):
            self.close()
            raise WorkerError(f"no worker came within {START_LIMIT:.0f} s: has the cluster free CPUs? See `ray status`")
        if self._broken is not None:
            self.close()
            raise self._broken

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Dismisses all workers."""
        if self._thread.is_alive():
            self._events.put(self._close)
            self._thread.join()

    @property
    def count(self) -> int:
        """How many workers are there now."""
        return self._ready

    def describe(self) -> str:
        """The workers in a few words."""
        now = self.count
        return f"{now} worker{'' if now == 1 else 's'}; more are taken as they come"

    def rollout(
        self, policies: Batch | NetworkBatch, task: Task, episodes: NDArray[np.uint64], options: dict[str, Any], /
    ) -> Evaluation:
        """Runs every policy through every episode.

        Raises:
            WorkerError: workers cannot do it.
            ValueError: policies and task do not fit.
        """
        if not len(policies):
            return task.rollout(policies.core, episodes, 1, **options)
        packed = pack_task(task)
        pace = self._paces.setdefault(f"{packed} {len(episodes)} {sorted(options.items())}", Pace())
        request = _Request(policies, packed, episodes, options, pace)
        self._events.put(partial(self._on_request, request))
        try:
            while not request.is_over.wait(TICK):
                if not self._thread.is_alive():
                    raise WorkerError("the workers were dismissed")
        except BaseException:
            request.fail(WorkerError("nobody waits for it any more"))
            raise
        if request.error is not None:
            raise request.error
        return join_results([request.results[first] for first in sorted(request.results)])

    # ---- one event after the other; all that follows is done by one thread ----

    def _run(self) -> None:
        try:
            while not self._is_closed:
                try:
                    self._events.get(timeout=TICK)()
                    while True:
                        self._events.get_nowait()()
                except queue.Empty:
                    pass
                if self._is_closed:
                    break
                if time.monotonic() - self._looked >= TICK:
                    self._look_after()
                    self._looked = time.monotonic()
                if self._is_news:
                    self._share_out()
        except Exception as error:
            self._break(WorkerError(f"workers cannot be used any more: {_line(error)}"), error)
        finally:
            self._is_closed = True
            for member in self._members.values():
                with contextlib.suppress(Exception):
                    member.hand.dismiss()
            self._break(WorkerError("the workers were dismissed"))
            self._cluster.close()

    def _close(self) -> None:
        self._is_closed = True

    def _break(self, error: WorkerError, cause: Exception | None = None) -> None:
        """Nothing more can be done."""
        error.__cause__ = cause
        self._broken = self._broken or error
        for request in self._requests:
            request.fail(error)
        self._requests.clear()
        self._has_begun.set()

    def _on_request(self, request: _Request) -> None:
        if self._broken is not None:
            request.fail(self._broken)
        else:
            self._requests.append(request)
            self._is_news = True

    # ---- workers ----

    def _look_after(self) -> None:
        """Hires as many as there is room for, lets those go that are not needed, gives up those that hang."""
        places = self._cluster.places()
        for _ in range(places - len(self._members)):
            self._hire()
        waiting = [member for member in self._members.values() if not member.is_ready]
        for member in waiting[: max(0, len(self._members) - places)]:
            del self._members[member.number]
            member.hand.dismiss()
        now = time.monotonic()
        for member in list(self._members.values()):
            if member.shares and now - member.since > self._limit(member.shares[0]):
                self._note(f"A worker was silent for {now - member.since:.0f} s, and is given up.")
                member.hand.dismiss()
                self._lose(member)
        if self._requests and not self._ready:
            if now - self._reminded >= REMINDER and self._has_begun.is_set():
                self._note("There are no workers at the moment; this goes on as soon as one comes.")
                self._reminded = now
        else:
            self._reminded = now

    def _limit(self, share: _Share) -> float:
        return self._time_limit + PATIENCE * len(share) * share.request.pace.seconds_each

    def _hire(self) -> None:
        member = _Member(next(self._numbers), self._cluster.hire())
        self._members[member.number] = member
        self._when_done(member.hand.about(), partial(self._on_birth, member))

    def _when_done(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        future.add_done_callback(lambda done: self._events.put(partial(then, done)))

    def _on_birth(self, member: _Member, said: Future[dict[str, str]]) -> None:
        if member.number not in self._members:
            return
        error = said.exception()
        why = _line(error) if error is not None else difference(self._identity, said.result())
        if not why:
            member.is_ready = self._is_news = True
            self._ready += 1
            self._failed_births.clear()
            self._has_begun.set()
            return
        if error is None:  # it keeps its place, so that no other is hired there
            member.refused = why
            self._note(f"Refused: {why}.")
            is_hopeless = all(other.refused for other in self._members.values())
        else:
            del self._members[member.number]
            member.hand.dismiss()
            self._failed_births.append(why)
            is_hopeless = len(self._failed_births) >= BIRTHS
            why = f"workers do not start: {why}. Is arz installed on every machine?"
        if is_hopeless and not self._has_begun.is_set():
            self._break(WorkerError(why))

    def _lose(self, member: _Member) -> None:
        """A worker is gone: others take over what it had."""
        del self._members[member.number]
        self._ready -= 1
        self._is_news = True
        for share in member.shares:
            share.attempts += share is member.shares[0]
            if share.attempts >= ATTEMPTS:
                share.request.fail(
                    WorkerError(
                        f"{ATTEMPTS} workers were lost, each while it evaluated the same {len(share)} policies: "
                        "they need too much memory or time there"
                    )
                )
            share.request.again.append(share)

    # ---- work ----

    def _share_out(self) -> None:
        """Gives work to all who have not enough, the idle first."""
        self._is_news = False
        for depth in range(DEPTH):
            for member in list(self._members.values()):
                if member.is_ready and len(member.shares) == depth:
                    share = self._next_share()
                    if share is None:
                        return
                    self._give(member, share)

    def _next_share(self) -> _Share | None:
        """Of the requests in turn."""
        for _ in range(len(self._requests)):
            request = self._requests.popleft()
            if request.is_over.is_set():
                continue
            self._requests.append(request)
            if request.again:
                return request.again.pop()
            left = len(request.policies) - request.next
            if left:
                size = share_size(left, self._ready, request.pace)
                request.next += size
                return _Share(request, request.next - size, request.next)
        return None

    def _give(self, member: _Member, share: _Share) -> None:
        request = share.request
        if not member.shares:
            member.since = time.monotonic()
        member.shares.append(share)
        policies = pack_policies(request.policies, share.first, share.last)
        future = member.hand.evaluate(policies, request.task, request.episodes, request.options)
        self._when_done(future, partial(self._on_share, member, share))

    def _on_share(self, member: _Member, share: _Share, done: Future[tuple[list[Any], float]]) -> None:
        if self._members.get(member.number) is not member or share not in member.shares:
            return  # it was given up before
        error = done.exception()
        if isinstance(error, LostError):
            self._note(f"A worker is lost ({error}); others take over.")
            member.hand.dismiss()
            self._lose(member)
            return
        member.shares.remove(share)
        member.since = time.monotonic()
        request = share.request
        if error is not None:
            request.fail(error)
        else:
            parts, seconds = done.result()
            request.pace.add(seconds, len(share))
            request.results[share.first] = parts
            request.done += len(share)
        if request.done == len(request.policies):
            request.is_over.set()
        following = self._next_share()
        if following is not None:
            self._give(member, following)


def _line(error: BaseException) -> str:
    """An error in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__
