"""How a batch of policies is shared out among workers: pure arithmetic, so that it can also be simulated.

Nobody knows beforehand how long a policy takes: one that falls at once costs a hundredth of one that walks to the end.
So a worker gets a small share to begin with, then a large one, and smaller ones to the end: whoever is done takes the
next. No share is so small that handing it over costs more than a few per cent of its time, or so large that its loss
would hurt. The last ones are such that all workers are done at about the same time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

LEAST_SECONDS, MOST_SECONDS = 0.05, 10.0
"""A share should take about as long as the first, or longer, and not longer than the second."""
TAIL_SECONDS = 0.02
"""So short may the last shares be, for few workers."""
HANDING_SECONDS = 0.001
"""About what a share costs the driver: so long, times the workers, takes a round in which each gets one."""
FIRST_ROUNDS, LEAST_ROUNDS = 6, 2
"""The first share of a worker should last for so many rounds, and any other for so many: it must not run dry."""
GROWTH = 4.0
"""A share is at most so many times as large as what was done before."""
PART = 0.7
"""A share is this part of what its worker should do until the end: the rest evens out what nobody knew."""
DEPTH = 2
"""Shares that a worker has at a time: one to work on, and one that waits, so that the worker need not."""
TIME_LIMIT = 300.0
"""A worker that is silent for this long, beyond what its share should take, is given up (s)."""


class Pace:
    """About how long a policy takes, learned from shares that are done: recent ones count most."""

    MEMORY = 0.9

    def __init__(self, seconds: float = 0.0, policies: float = 0.0) -> None:
        self.seconds, self.policies = seconds, policies

    def add(self, seconds: float, policies: int) -> None:
        """A share is done."""
        self.seconds = self.MEMORY * self.seconds + seconds
        self.policies = self.MEMORY * self.policies + policies

    @property
    def seconds_each(self) -> float:
        """0 if nothing is known yet."""
        return self.seconds / self.policies if self.policies else 0.0


def tail(workers: int) -> float:
    """How many seconds the last shares should take at least: so long that handing them over does not take longer."""
    return max(TAIL_SECONDS, HANDING_SECONDS * workers)


def share_size(left: int, workers: int, pace: Pace, even: float, is_idle: bool) -> int:
    """How many of the policies that are left the next worker gets.

    Args:
        left: how many nobody has yet; at least one.
        workers: how many share them.
        pace: how long policies take. The less is known of it, the smaller a share is: the first is one policy.
        even: seconds after which this worker should be done with the share, to be done when others are.
        is_idle: it waits: so it gets few, which are packed at once, and more while it works on them.
    """
    each = max(pace.seconds_each, 1e-9)
    a_round = HANDING_SECONDS * workers
    wanted = FIRST_ROUNDS * a_round if is_idle else max(LEAST_ROUNDS * a_round, min(PART * even, MOST_SECONDS))
    seconds = min(max(wanted, LEAST_SECONDS), max(even, tail(workers)))
    known = max(1, int(GROWTH * pace.policies))
    return min(left, known, max(1, int(min(seconds / each, left))))


def simulate(seconds: Sequence[float], workers: int, overhead: float = 0.0, driver: float = 0.0) -> float:
    """How long a batch would take, with shares as here.

    Args:
        seconds: what each policy takes, in their order.
        workers: how many there are.
        overhead: seconds that a share takes beside its policies. Shares that wait at a worker hide it in part; here
            nothing does.
        driver: seconds of the driver for each share; it does one after the other.
    """
    pace = Pace(math.fsum(seconds), len(seconds))
    free, first, handed, total = [0.0] * workers, 0, 0.0, 0.0
    while first < len(seconds):
        left, was_free = len(seconds) - first, heapq.heappop(free)
        handed = max(handed, was_free) + driver
        others = max(0.0, total - was_free - (workers - 1) * handed)  # what they have to do still
        even = (left * pace.seconds_each + others) / workers
        last = first + share_size(left, workers, pace, even, is_idle=not was_free)
        is_free = handed + overhead + math.fsum(seconds[first:last])
        heapq.heappush(free, is_free)
        total += is_free - was_free
        first = last
    return max(free)
