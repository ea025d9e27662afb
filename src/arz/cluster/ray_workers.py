"""Workers on a Ray cluster: one actor for each CPU, which holds the native evaluator."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.cluster.handles import LostError, WorkerError
from arz.cluster.packing import Packed
from arz.cluster.scheduling import DEPTH, TIME_LIMIT
from arz.cluster.worker import Worker
from arz.cluster.worker_pool import WorkerPool, check_limits
from arz.files import out_of_working_directory
from arz.interpreter import available_threads
from arz.names import install

STORE_BYTES = 256 * 2**20
"""What a cluster that is started here keeps for what travels."""
MESSAGE_BYTES = 4 * 2**20
"""A share of fewer bytes travels in the call itself, and not by way of a store, which takes time on both sides."""
KNOCK_SECONDS = 10.0
"""A cluster answers within this time."""
SETTINGS = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + SETTINGS + bytes(5)
"""How a connection in HTTP/2 begins: a preface, and settings, here none."""


class RayWorkers(WorkerPool):
    """Workers of a Ray cluster: `with RayWorkers("auto") as workers: arz.evolve("quadruped", workers=workers)`.

    They come and go with the machines of the cluster.

    Args:
        address: of the cluster: `auto`, or HOST:PORT. Without one Ray is started here, with a worker for each core.
        most: how many workers to use at most; one for each CPU of the cluster by default.
        time_limit: seconds after which a worker that is silent is given up.
        on_note: is told, in a sentence, when workers are lost or refused.

    Raises:
        WorkerError: Ray is not installed, the cluster is not there, or has no workers that can be used.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        most: int | None = None,
        time_limit: float = TIME_LIMIT,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        check_limits(most, time_limit)
        super().__init__(RayCluster(address), most=most, time_limit=time_limit, on_note=on_note)


class RayCluster:
    """Where Ray runs."""

    def __init__(self, address: str | None) -> None:
        try:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
            os.environ.setdefault("RAY_max_direct_call_object_size", str(MESSAGE_BYTES))
            import ray
            from ray import exceptions
        except ImportError:
            raise WorkerError(f"--backend ray needs an extra: {install('ray')}") from None
        self._ray: Any = ray
        self._error, self._task_error = exceptions.RayError, exceptions.RayTaskError
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            self._begin(address)
        elif address not in (None, "auto", ray.get_runtime_context().gcs_address):
            raise WorkerError(f"Ray is connected to another cluster than {address} already")
        self._actor = self._ray.remote(num_cpus=1, max_concurrency=DEPTH, max_restarts=0, max_task_retries=0)(Worker)

    def _begin(self, address: str | None) -> None:
        if address not in (None, "auto", "local"):
            _knock(str(address))
        how: dict[str, Any] = {"address": address}
        constants = self._ray._private.ray_constants
        can_be_reached = getattr(constants, "ENABLE_RAY_CLUSTER", True)
        if address is None and not os.environ.get("RAY_ADDRESS"):
            how = {"address": "local", "num_cpus": available_threads(), "include_dashboard": False}
            how["object_store_memory"] = STORE_BYTES
            constants.ENABLE_RAY_CLUSTER = False  # it listens to this machine only
        try:
            with out_of_working_directory():  # workers look for modules where the driver is
                self._ray.init(log_to_driver=False, logging_level=logging.ERROR, **how)
        except (self._error, ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            where = f"at {address}" if address else "here"
            told = " ".join(f"{error} {error.__cause__ or ''}".split())
            if "uthenticat" in told:
                what = "set RAY_AUTH_MODE=token here, and have the same ~/.ray/auth_token as its head"
                raise WorkerError(f"the Ray cluster {where} wants another token: {what} (docs/cluster.md)") from None
            raise WorkerError(f"the Ray cluster {where} cannot be used: {told[:500]}") from None
        finally:
            constants.ENABLE_RAY_CLUSTER = can_be_reached
        # Ray tells of machines that die on standard output, which belongs to results; we tell it ourselves.
        self._ray._private.worker._worker_logs_enabled = False

    def places(self) -> int:
        """How many CPUs the cluster has now."""
        return int(self._ray.cluster_resources().get("CPU", 0))

    def start(self) -> RayHandle:
        """One more actor; it comes when a CPU is free."""
        return RayHandle(self, self._actor.remote())

    def close(self) -> None:
        """Leaves the cluster; ends it, if it was started here."""
        if self._is_ours:
            self._ray.shutdown()

    def end(self, actor: Any) -> None:
        """Ends an actor."""
        if self._ray.is_initialized():  # else Ray would begin anew, to do it
            self._ray.kill(actor)

    def result(self, reference: Any) -> Future[Any]:
        """What a call will give; a `LostError` if the worker is lost, and else what was raised there."""
        outer: Future[Any] = Future()

        def pass_on(inner: Future[Any]) -> None:
            error = inner.exception()
            if isinstance(error, self._task_error):
                outer.set_exception(error.cause if isinstance(error.cause, Exception) else error)
            elif isinstance(error, self._error):
                outer.set_exception(LostError(type(error).__name__, str(error)))
            elif error is not None:
                outer.set_exception(error)
            else:
                outer.set_result(inner.result())

        reference.future().add_done_callback(pass_on)
        return outer


def _knock(address: str) -> None:
    """Makes sure that somebody is there who speaks as Ray does: Ray itself would try for minutes.

    Raises:
        WorkerError: nobody is, or somebody else.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        raise WorkerError(f"the address of a cluster is auto or HOST:PORT, not {address}")
    try:
        with socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS) as line:
            answer = b"" if _is_encrypted() else _greeted(line)
    except (OSError, OverflowError) as error:
        raise WorkerError(f"there is no Ray cluster at {address}: {error}") from None
    if answer[3:4] != SETTINGS and not _is_encrypted():
        raise WorkerError(f"what listens at {address} is not a Ray cluster")


def _is_encrypted() -> bool:
    return os.environ.get("RAY_USE_TLS", "0") not in ("0", "")


def _greeted(line: socket.socket) -> bytes:
    """How somebody answers to a greeting in HTTP/2, which Ray speaks: with settings, or with nothing."""
    line.sendall(GREETING)
    try:
        return line.recv(9)
    except OSError:
        return b""


class RayHandle:
    """An actor."""

    def __init__(self, cluster: RayCluster, actor: Any) -> None:
        self._cluster, self._actor = cluster, actor

    def about(self) -> Future[dict[str, str]]:
        """What it says of itself."""
        return self._cluster.result(self._actor.about.remote())

    def evaluate(
        self, policies: Packed, task: Packed, episodes: NDArray[np.uint64], options: dict[str, Any], /
    ) -> Future[tuple[list[Any], float]]:
        """What `Worker.evaluate` gives."""
        return self._cluster.result(self._actor.evaluate.remote(policies, task, episodes, options))

    def dismiss(self) -> None:
        """Ends it."""
        self._cluster.end(self._actor)
