"""Policies that somebody wants evaluated, and the shares of them that workers get."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.cluster.packing import Packed, join_results
from arz.cluster.scheduling import Pace
from arz.policy import PolicyBatch
from arz.tasks.base import Evaluation

TICK = 1.0
"""How often to look after workers (s)."""


@dataclass(eq=False)
class Request:
    """Policies that somebody wants evaluated."""

    policies: PolicyBatch
    task: Packed
    episodes: NDArray[np.uint64]
    options: dict[str, Any]
    pace: Pace
    check: Callable[[Request], None]
    """Raises an error if there is no sense in waiting."""
    looked: float = 0.0
    """When the pool had looked after its workers last, the last time that this was checked."""
    silent: int = 0
    """How often that was the same."""
    next: int = 0
    """The first that nobody has yet."""
    again: list[Share] = field(default_factory=list)
    """What lost workers had."""
    results: dict[int, list[Any]] = field(default_factory=dict)
    """What is done, by its first policy."""
    done: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """It cannot be done."""
        self.error = self.error or error
        self.is_over.set()

    def result(self) -> Evaluation:
        """Waits for it.

        Raises:
            WorkerError: workers cannot do it.
            ValueError: policies and task do not fit.
        """
        try:
            while not self.is_over.wait(TICK):
                self.check(self)
        except BaseException as error:
            self.fail(error)
            raise
        if self.error is not None:
            raise self.error
        return join_results([self.results[first] for first in sorted(self.results)])


@dataclass(eq=False)
class Share:
    """Some policies of a request, which one worker evaluates."""

    request: Request
    first: int
    last: int
    attempts: int = 0
    seconds: float = 0.0
    """About what it takes."""

    def __len__(self) -> int:
        return self.last - self.first
