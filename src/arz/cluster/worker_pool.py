"""Workers that come and go, and the work that is shared out among them; who they are, a `Cluster` knows.

One thread owns all that is known about workers and work, and takes one event after the other: there is more to do, a
share is done, a worker is lost. Whoever wants policies evaluated waits for it. Each policy is evaluated on its own, so
the result does not depend on who does what, nor on who is first.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arz.cluster.handles import Cluster, LostError, WorkerError, WorkerHandle, in_a_line
from arz.cluster.packing import pack_policies, pack_result, pack_task
from arz.cluster.requests import TICK, Request, Share
from arz.cluster.scheduling import DEPTH, TIME_LIMIT, Pace, share_size, tail
from arz.cluster.worker import difference, identity
from arz.policy import PolicyBatch
from arz.tasks.base import Task

PATIENCE = 10.0
"""A share may take this many times as long as others of its size."""
START_LIMIT = 180.0
"""If no worker is there by then, there will be none (s)."""
ATTEMPTS = 5
"""A share with which so many workers are lost is not tried again."""
BIRTHS = 3
"""If so many workers end before they begin, and none does begin, none will."""
MOST_PAUSE = 60.0
"""After workers that ended before they began no others are started for a while, at most this long (s)."""
SUMMING_SECONDS = 2e-5
"""What all workers have to do is summed up again after so long for each of them."""
DISMISSED = "the workers were dismissed"
FIRST_REMINDER, REMINDER = 5.0, 60.0
"""When to say that there are no workers, and when to say it again (s)."""
SILENT_TICKS = 30
"""A cluster that does not say for so many ticks which places it has is not there any more."""


@dataclass(eq=False)
class _Member:
    """A worker, and what it has to do."""

    number: int
    handle: WorkerHandle
    since: float
    """When it was asked for what it has not answered yet."""
    has_begun: bool = False
    is_ready: bool = False
    refused: str = ""
    """Why it is not used."""
    shares: list[Share] = field(default_factory=list)
    free_at: float = 0.0
    """About when it will have done them."""


class WorkerPool:
    """Evaluates policies by the workers of a cluster, as many as there are at the moment: see `arz.evaluate.Workers`.

    Args:
        cluster: where workers are.
        most: how many workers to use at most; as many as there is room for by default.
        time_limit: seconds after which a worker that is silent is given up.
        on_note: is told, in a sentence, when workers are lost or refused.

    Attributes:
        should_stop: is asked while there is nobody to work: whether to wait no longer.

    Raises:
        WorkerError: no worker comes, or those that come cannot be used.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        most: int | None = None,
        time_limit: float = TIME_LIMIT,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        check_limits(most, time_limit)
        self.should_stop: Callable[[], bool] = lambda: False
        self._cluster, self._time_limit, self._note = cluster, time_limit, on_note
        self._most = math.inf if most is None else most
        self._identity = identity()
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._members: dict[int, _Member] = {}
        self._requests: deque[Request] = deque()
        self._paces: dict[str, Pace] = {}
        self._numbers = count()
        self._failed_births = 0
        self._told: set[str] = set()
        self._starts_at = 0.0
        self._broken: WorkerError | None = None
        self._has_begun, self._is_closed = threading.Event(), False
        self._ready = 0
        self._is_news = False  # for those who have nothing to do
        self._looked, self._remind_at = -TICK, 0.0
        self._told_ready = self._last_ready = 0
        self._is_silent = False
        self._busy, self._summed_at = 0.0, 0.0
        self._thread = threading.Thread(target=self._run, name="arz workers", daemon=True)
        self._thread.start()
        try:
            if not self._has_begun.wait(START_LIMIT):
                raise WorkerError(
                    f"no worker came within {START_LIMIT:.0f} s: has the cluster free CPUs? See `ray status`"
                )
            if self._broken is not None:
                raise self._broken
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Dismisses all workers."""
        if self._thread.is_alive():
            self._events.put(self._close)
            self._thread.join(timeout=TICK if self._is_silent else None)

    @property
    def count(self) -> int:
        """How many workers are there now."""
        return self._ready

    def describe(self) -> str:
        """The workers in a few words."""
        now = self._told_ready = self.count
        return _counted(now) + ("" if now >= self._most else "; more are taken as they come")

    def submit(
        self, policies: PolicyBatch, task: Task, episodes: NDArray[np.uint64], options: dict[str, Any], /
    ) -> Request:
        """Workers shall run every policy through every episode."""
        packed = pack_task(task)
        like_it = f"{type(policies)} {packed} {len(episodes)} {sorted(options.items())}"
        pace = self._paces.setdefault(like_it, Pace())
        request = Request(policies, packed, episodes, options, pace, self._check)
        if not len(policies):
            request.results[0] = pack_result(task.rollout(policies.core, episodes, 1, **options))
            request.is_over.set()
        else:
            self._events.put(partial(self._on_request, request))
        return request

    def _check(self, request: Request) -> None:
        """Whether there is sense in waiting."""
        request.silent = request.silent + 1 if request.looked == self._looked else 0
        request.looked = self._looked
        if request.silent >= SILENT_TICKS:
            self._is_silent = True
            raise WorkerError("the cluster does not answer any more: is its head gone? What was saved can be resumed")
        if not self._thread.is_alive():
            raise self._broken or WorkerError(DISMISSED)
        if not self._ready and self.should_stop():
            raise WorkerError("stopped while there were no workers: it can go on from where it was saved last")

    # ---- one event after the other; all that follows is done by one thread ----

    def _run(self) -> None:
        try:
            while not self._is_closed:
                with contextlib.suppress(queue.Empty):
                    self._events.get(timeout=TICK)()
                    while not self._is_closed and time.monotonic() - self._looked < TICK:
                        self._events.get_nowait()()
                if self._is_closed:
                    break
                if time.monotonic() - self._looked >= TICK:
                    self._look_after()
                    self._looked = time.monotonic()
                if self._is_news:
                    self._share_out()
        except Exception as error:
            self._break(WorkerError(f"workers cannot be used any more: {in_a_line(error)}"), error)
        finally:
            self._is_closed = True
            for member in self._members.values():
                with contextlib.suppress(Exception):
                    member.handle.dismiss()
            self._break(WorkerError(DISMISSED))
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

    def _on_request(self, request: Request) -> None:
        if self._broken is not None:
            request.fail(self._broken)
        else:
            self._requests.append(request)
            self._is_news = True

    # ---- workers ----

    def _look_after(self) -> None:
        """Starts as many as there is room for, lets those go that are not needed, gives up those that hang."""
        places, now = self._cluster.places(), time.monotonic()
        if now >= self._starts_at:
            used = sum(not member.refused for member in self._members.values())
            for _ in range(int(min(places - len(self._members), self._most - used))):
                self._start_one()
        waiting = [member for member in self._members.values() if not member.is_ready]
        for member in waiting[: max(0, len(self._members) - places)]:
            del self._members[member.number]
            member.handle.dismiss()
        for member in list(self._members.values()):
            if now - member.since > self._limit(member):
                if member.has_begun:  # others may just wait for a CPU
                    self._note(f"A worker was silent for {now - member.since:.0f} s, and is given up.")
                self._lose(member)
        self._tell_count()
        if self._ready or not self._requests:
            self._remind_at = now + FIRST_REMINDER
        elif now >= self._remind_at and self._has_begun.is_set():
            self._note("There are no workers at the moment; this goes on as soon as one comes.")
            self._remind_at = now + REMINDER

    def _tell_count(self) -> None:
        """Says how many workers there are, once that stays the same for a moment."""
        if self._ready == self._last_ready and self._ready not in (0, self._told_ready):
            if self._told_ready:  # else nobody was told yet
                self._note(f"{_counted(self._ready)} now.")
            self._told_ready = self._ready
        self._last_ready = self._ready

    def _limit(self, member: _Member) -> float:
        """How long a worker may be silent."""
        if member.shares:
            share = member.shares[0]
            return self._time_limit + PATIENCE * len(share) * share.request.pace.seconds_each
        return math.inf if member.is_ready or member.refused else self._time_limit

    def _start_one(self) -> None:
        member = _Member(next(self._numbers), self._cluster.start(), time.monotonic())
        self._members[member.number] = member
        self._ask(member)

    def _ask(self, member: _Member) -> None:
        """It gets work once it has said who it is."""
        self._ready -= member.is_ready
        member.is_ready, member.since = False, time.monotonic()
        self._when_done(member.handle.about(), partial(self._on_answer, member))

    def _when_done(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        future.add_done_callback(lambda done: self._events.put(partial(then, done)))

    def _on_answer(self, member: _Member, said: Future[dict[str, str]]) -> None:
        if self._members.get(member.number) is not member:
            return  # it was given up before
        error = said.exception()
        if error is not None and member.has_begun:
            self._lose(member)
        elif error is not None:
            self._on_failed_birth(member, error)
        elif why := difference(self._identity, said.result()):
            member.refused = why  # it keeps its place, so that no other is started there
            self._note(f"Refused: {why}.")
            if len(self._members) >= self._cluster.places():
                self._give_up_if_hopeless(why)
        else:
            member.has_begun = member.is_ready = self._is_news = True
            self._ready += 1
            self._failed_births = 0
            self._has_begun.set()

    def _on_failed_birth(self, member: _Member, error: BaseException) -> None:
        del self._members[member.number]
        member.handle.dismiss()
        if len(self._members) >= self._cluster.places():
            return  # its machine is gone
        why = f"workers do not start: {in_a_line(error).rstrip('.')}. Is arz installed on every machine?"
        if why not in self._told:
            self._told.add(why)
            self._note(f"Some {why}")
        self._failed_births += 1
        self._starts_at = time.monotonic() + min(TICK * 2**self._failed_births, MOST_PAUSE)
        if self._failed_births >= BIRTHS:
            self._give_up_if_hopeless(why)

    def _give_up_if_hopeless(self, why: str) -> None:
        """At the beginning, if nobody is there or may still come."""
        if not self._has_begun.is_set() and all(member.refused for member in self._members.values()):
            self._break(WorkerError(why))

    def _lose(self, member: _Member) -> None:
        """A worker is gone: others take over what it had."""
        del self._members[member.number]
        member.handle.dismiss()
        self._ready -= member.is_ready
        self._is_news = True
        for share in member.shares:
            if share is member.shares[0]:
                share.attempts += 1
            if share.attempts >= ATTEMPTS:
                share.request.fail(
                    WorkerError(
                        f"{ATTEMPTS} workers were lost, each while it evaluated the same {len(share)} policies: "
                        "they need too much memory or time there"
                    )
                )
            share.request.again.append(share)
        for other in self._members.values():  # who were idle on the same machine may be gone too
            if other.is_ready and not other.shares:
                self._ask(other)

    # ---- work ----

    def _share_out(self) -> None:
        """Gives work to all who have not enough, the idle first."""
        self._is_news = False
        for depth in range(DEPTH):
            for member in list(self._members.values()):
                if member.is_ready and len(member.shares) == depth:
                    self._give_next(member)

    def _give_next(self, member: _Member) -> bool:
        """Whether there was something for it."""
        share = self._next_share(member)
        if share is not None:
            self._give(member, share)
        return share is not None

    def _next_share(self, member: _Member) -> Share | None:
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
                even = self._even(member, left * request.pace.seconds_each)
                if member.shares and even < tail(self._ready):
                    continue  # others will be done before this one
                size = share_size(left, self._ready, request.pace, even, not member.shares)
                request.next += size
                return Share(request, request.next - size, request.next)
        return None

    def _even(self, member: _Member, left: float) -> float:
        """How many of the seconds that are left are for this worker, if all shall be done at the same time."""
        now = time.monotonic()
        if now - self._summed_at > SUMMING_SECONDS * len(self._members):
            self._busy = sum(max(0.0, each.free_at - now) for each in self._members.values() if each.is_ready)
            self._summed_at = now
        return (left + self._busy) / max(self._ready, 1) - max(0.0, member.free_at - now)

    def _give(self, member: _Member, share: Share) -> None:
        request = share.request
        now = time.monotonic()
        if not member.shares:
            member.since = now
        member.shares.append(share)
        share.seconds = len(share) * request.pace.seconds_each
        member.free_at = max(member.free_at, now) + share.seconds
        self._busy += share.seconds
        policies = pack_policies(request.policies, share.first, share.last)
        future = member.handle.evaluate(policies, request.task, request.episodes, request.options)
        self._when_done(future, partial(self._on_share, member, share))

    def _on_share(self, member: _Member, share: Share, done: Future[tuple[list[Any], float]]) -> None:
        if self._members.get(member.number) is not member or share not in member.shares:
            return  # it was given up before
        error = done.exception()
        if isinstance(error, LostError):
            self._note(f"A worker is lost ({error.args[0]}); its work is done again.")
            self._lose(member)
            return
        member.shares.remove(share)
        member.since = time.monotonic()
        member.free_at = member.since + sum(each.seconds for each in member.shares)
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
        while len(member.shares) < DEPTH and self._give_next(member):
            pass


def check_limits(most: int | None, time_limit: float) -> None:
    """Refuses what cannot be."""
    if most is not None and most < 1:
        raise ValueError(f"the number of workers must be 1 or more, not {most}")
    if not time_limit > 0:
        raise ValueError(f"the time limit of a worker must be a number of seconds above 0, not {time_limit}")


def _counted(workers: int) -> str:
    return f"{workers} worker{'' if workers == 1 else 's'}"
