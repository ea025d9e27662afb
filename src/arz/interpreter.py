"""The native interpreter: programs x observations -> actions, at the speed of the hardware.

Episodes run side by side, one in each *lane*. Results equal the reference (`machine.py`) bit for bit, at any
number of lanes and threads. By default the interpreter runs the dead-code-free form of a program, which has the
same actions (`simplify.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz.native import core
from arz.program import Batch, Program
from arz.streams import as_keys
from arz.text import register_number

Keys = Sequence[int] | NDArray[np.uint64]


def available_threads() -> int:
    """How many threads can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(program: Program, observations: ArrayLike, *, keys: Keys | None = None) -> NDArray[np.float64]:
    """Actions [step, lane, action] of a program for observations [step, lane, entry].

    Args:
        program: what to run.
        observations: what the program sees, in every step of every episode.
        keys: one number per lane, which names the random numbers of its episode; 0, 1, 2, ... by default.

    Raises:
        ValueError: the shape of the observations does not fit the program.
    """
    seen = _observations(observations)
    actions: NDArray[np.float64] = core.run(
        program.packed, seen, _keys(keys, seen.shape[1]), threads=1, only_effective=True
    )[0]
    return actions


def execute_batch(
    batch: Batch | Sequence[Program],
    observations: ArrayLike,
    *,
    keys: Keys | None = None,
    threads: int | None = None,
    only_effective: bool = True,
) -> NDArray[np.float64]:
    """Actions [program, step, lane, action] of many programs for the same observations [step, lane, entry].

    Runs on `threads` threads (all by default) without the GIL; the result does not depend on their number.
    `only_effective=False` runs dead code too, which changes nothing but the time.
    """
    seen = _observations(observations)
    used = available_threads() if threads is None else threads
    packed = batch if isinstance(batch, Batch) else Batch.pack(batch)
    return core.run(packed.core, seen, _keys(keys, seen.shape[1]), threads=used, only_effective=only_effective)


class Interpreter:
    """Runs a program step by step, one episode in each lane.

    Args:
        program: what to run.
        lanes: how many episodes run side by side.
    """

    def __init__(self, program: Program, lanes: int = 1) -> None:
        self.program = program
        self.lanes = lanes
        self._core = core.Stepper(program.packed, index=0, lanes=lanes)
        self.reset()

    def reset(self, keys: Keys | None = None) -> None:
        """Starts an episode in every lane."""
        self._core.reset(_keys(keys, self.lanes))

    def reset_lane(self, lane: int, key: int) -> None:
        """Starts an episode in one lane; the others go on."""
        self._core.reset_lane(lane, key)

    def act(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Actions [lane, action] for observations [lane, entry]; memory goes on from the last step."""
        seen = np.ascontiguousarray(observations, np.float64)
        if seen.ndim != 2:
            raise ValueError(f"expected observations [lane, entry], got an array of shape {seen.shape}")
        return self._core.act(seen)


@dataclass(frozen=True)
class Trace:
    """Everything a program did: its actions, every register that was written, every CADF call.

    One event is one write of one register, or one call, in one lane, in the order of execution. `step`, `lane`,
    `function` (0 is GetAction), `line`, `kind` and `number` (of the register) are columns of equal length; `site` is
    the line of GetAction whose call ran the function, -1 in GetAction itself. `value(event)` is what was written. The
    observation and the arguments of a call, which arrive from outside, have the line -1. A call itself has the kind "f"
    and the number of its CADF; it comes before the writes that it causes.
    """

    program: Program
    actions: NDArray[np.float64]
    step: NDArray[np.int64]
    lane: NDArray[np.int64]
    site: NDArray[np.int64]
    line: NDArray[np.int64]
    function: NDArray[np.int64]
    kind: NDArray[np.str_]
    number: NDArray[np.int64]
    offset: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.step)

    def value(self, event: int) -> NDArray[np.float64]:
        """What an event wrote: a number, vector or matrix."""
        shape = self.program.memory.shape(str(self.kind[event])) if self.kind[event] != "f" else (0,)
        first = int(self.offset[event])
        return self.values[first : first + int(np.prod(shape))].reshape(shape)

    def register(self, name: str, function: int = 0) -> NDArray[np.float64]:
        """A register over time: its value [step, lane, ...] at the end of each step.

        Stateless programs forget: what a step did not write is the start value again.

        Raises:
            ValueError: there is no such register or function.
        """
        memory = self.program.memory
        if not 0 <= function <= self.program.cadfs:
            raise ValueError(f"expected a function from 0 (GetAction) to {self.program.cadfs}, got {function}")
        found = register_number(name, memory if function == 0 else None)
        if found is None or found[1] >= memory.count(found[0]):
            raise ValueError(f"expected the name of a register, such as s0 or v1, got {name!r}")
        kind, number = found
        steps, lanes = self.actions.shape[:2]
        started = function == 0 and kind in "svm"
        start = self.program.start(kind, number) if started else np.zeros(memory.shape(kind))
        result = np.empty((steps, lanes, *memory.shape(kind)))
        result[:] = start
        chosen = (self.function == function) & (self.kind == kind) & (self.number == number)
        for event in np.flatnonzero(chosen):
            step, lane = self.step[event], self.lane[event]
            until = None if memory.stateful else step + 1
            result[step:until, lane] = self.value(int(event))
        return result

    @cached_property
    def calls(self) -> NDArray[np.bool_]:
        """Which calls fired: [step, lane, call], calls in the order of their lines in GetAction."""
        sites = [n for n, line in enumerate(self.program.lines()) if line.op.is_call]
        fired = np.zeros((*self.actions.shape[:2], len(sites)), bool)
        called = self.kind == "f"
        fired[self.step[called], self.lane[called], np.searchsorted(sites, self.line[called])] = True
        return fired


def trace(program: Program, observations: ArrayLike, *, keys: Keys | None = None) -> Trace:
    """Runs a program as `execute` does and records what it did, dead code included."""
    seen = _observations(observations)
    actions, events, values = core.trace(program.packed, 0, seen, _keys(keys, seen.shape[1]))
    columns: dict[str, NDArray[Any]] = dict(zip(core.EVENT_FIELDS, events.T, strict=True))
    columns["kind"] = np.array(list(core.EVENT_KINDS))[columns["kind"]]
    return Trace(program, actions, values=values, **columns)


def _observations(observations: ArrayLike) -> NDArray[np.float64]:
    seen = np.ascontiguousarray(observations, np.float64)
    if seen.ndim != 3:
        raise ValueError(f"expected observations [step, lane, entry], got an array of shape {seen.shape}")
    return seen


def _keys(keys: Keys | None, lanes: int) -> NDArray[np.uint64]:
    return np.arange(lanes, dtype=np.uint64) if keys is None else as_keys(keys)
