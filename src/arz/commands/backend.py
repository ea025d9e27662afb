"""`--backend`: who evaluates policies."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from arz import terminal
from arz.cluster.scheduling import TIME_LIMIT

if TYPE_CHECKING:
    from arz.cluster.ray_workers import RayWorkers


@contextlib.contextmanager
def workers(options: argparse.Namespace, is_silent: bool = False) -> Iterator[RayWorkers | None]:
    """Those who evaluate policies, if options ask for others than the threads of this process."""
    if options.backend == "local":
        for name in ("address", "workers", "worker_timeout"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name.replace('_', '-')} is for --backend ray: add that")
        yield None
        return
    from arz.cluster.ray_workers import RayWorkers
    from arz.cluster.worker_pool import check_limits

    limit = TIME_LIMIT if options.worker_timeout is None else options.worker_timeout
    check_limits(options.workers, limit)
    terminal.note(f"Waiting for workers of {options.address or 'a Ray cluster on this machine'} ...", is_silent)
    with RayWorkers(options.address, most=options.workers, time_limit=limit, on_note=terminal.note) as made:
        terminal.note(f"{made.describe()}.", is_silent)
        yield made
