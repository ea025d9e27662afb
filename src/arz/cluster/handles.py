"""What a pool knows of workers and of where they are: handles, and what can go wrong with them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arz.cluster.packing import Packed


class WorkerError(ValueError):
    """Workers cannot do the work."""


class LostError(Exception):
    """A worker is not there any more; nothing is wrong with its work. The arguments: what happened; details."""

    @property
    def detail(self) -> str:
        """The last line that is known."""
        lines = [line.strip() for line in str(self.args[-1]).splitlines() if line.strip()]
        return lines[-1] if lines else str(self.args[0])


class WorkerHandle(Protocol):
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

    def start(self) -> WorkerHandle:
        """One more worker; it may come later."""
        ...

    def close(self) -> None:
        """All workers were dismissed."""
        ...


def in_a_line(error: BaseException) -> str:
    """An error in a line."""
    if isinstance(error, LostError):
        return error.detail
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__
