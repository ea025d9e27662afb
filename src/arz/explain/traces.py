"""An episode from inside: registers, calls and conditions of a program, or units of a network; and what changed."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.episode import Episode
from arz.explain.flow import OBSERVATION, Flow, FlowLine, flow
from arz.network import Network, unfold
from arz.program import Program
from arz.text import register_text
from arz.typing import Floats

SETTLING = 50
"""So many steps at the start, and after a change, do not count for periods."""
LEAST_PERIODS = 3
"""A period is told if it fits this often into the time that is looked at,"""
LEAST_LIKENESS = 0.5
"""and if the register is at least so much (1: fully) like itself, one period later,"""
NOISE = 4.0
"""and this over the square root of the number of steps, below which noise may be like itself."""
LEAST_STEPS = 32
"""In fewer steps no period is looked for."""
FIRST = 0.8
"""The first period counts that is so good, compared with the best: twice a period is one too."""
FINER = 8
"""Periods need not be whole steps: they are looked for at every eighth of one."""
HUGE = 1e100
LEAST_MOVEMENT = 0.01
"""What moves less than this share of its movement in the whole episode has settled."""


@dataclass(frozen=True)
class Change:
    """Something in the world that changed: from the step `first` to the step `last`, which is the same if it jumped."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Period:
    """How often a register repeats itself."""

    steps: float
    likeness: float
    """The correlation with itself, one period later."""


class Inside(ABC):
    """An episode, with what went on inside the policy.

    Args:
        episode: what happened.
    """

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.steps = len(episode.actions)

    held: ClassVar[str]
    """What it works with, in one word."""

    @property
    def listings(self) -> dict[str, str]:
        """The policy itself as it was looked at, by the name of a file, where a person can read it."""
        return {}

    @property
    @abstractmethod
    def registers(self) -> dict[str, Floats]:
        """What the policy works with, by name, `action` among it, at the end of every step [step, ...]."""

    @property
    @abstractmethod
    def remembered(self) -> tuple[str, ...]:
        """The registers that carry something from step to step."""

    @property
    def calls(self) -> dict[str, NDArray[np.bool_]]:
        """What is done in some steps only, by name: in which."""
        return {}

    @property
    def observing(self) -> list[str]:
        """The calls whose conditions depend on the observation of the same step."""
        return []

    @property
    def seconds(self) -> float:
        """The time of one step; 1 where it is not known, and times are numbers of steps."""
        return self.episode.task.seconds_per_step or 1.0

    @property
    def unit(self) -> str:
        """Of times."""
        return "steps" if self.episode.task.seconds_per_step is None else "s"

    @cached_property
    def changes(self) -> list[Change]:
        """What changed in the world, and when."""
        made = []
        for name, values in self.episode.task.changing(self.episode.rows).items():
            moved = np.flatnonzero(np.diff(values) != 0)
            if len(moved):
                made.append(Change(name, int(moved[0]) + 1, int(moved[-1]) + 1))
        return made

    @property
    def first_change(self) -> int | None:
        """The step of the first change; None if nothing changed."""
        return min((change.first for change in self.changes), default=None)

    @cached_property
    def states(self) -> NDArray[np.int64]:
        """The program's discrete view of the world: a number for each combination of `observing` conditions.

        They count in the order in which they appear in the episode; 0 throughout if there are no such conditions.
        """
        if not self.observing:
            return np.zeros(self.steps, np.int64)
        bits = np.stack([self.calls[name] for name in self.observing], axis=1)
        _, first, inverse = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        return np.asarray(rank[inverse.ravel()])

    def combination(self, state: int) -> str:
        """Which of the `observing` conditions hold in a state, as digits."""
        step = int(np.flatnonzero(self.states == state)[0])
        return "".join("1" if self.calls[name][step] else "0" for name in self.observing)

    @property
    def phases(self) -> dict[str, tuple[int, int]]:
        """The steps before and after the changes; the whole episode, if there was none. A start is left out."""
        first = min(SETTLING, self.steps // 10)
        if not self.changes:
            return {"": (first, self.steps)}
        last = max(change.last for change in self.changes)
        begun = self.first_change or 0
        return {"before": (min(first, begun), begun), "after": (min(last + first, self.steps), self.steps)}

    def periods(self, first: int = 0, last: int | None = None) -> dict[str, Period]:
        """What repeats itself between two steps: registers, vectors as a whole, and the entries of the action."""
        found = {}
        looked_at = dict(self.registers)
        count = self.episode.actions.shape[1]
        if count > 1:
            looked_at |= {f"action[{k}]": self.episode.actions[:, k] for k in range(count)}
        for name, values in looked_at.items():
            known = values[np.isfinite(values)]
            usual = float(np.ptp(known)) if len(known) else 0.0
            period = period_of(values[first:last], usual)
            if period is not None:
                found[name] = period
        return found

    def csv(self) -> str:
        """Everything over time, a row for each step."""
        columns: dict[str, NDArray[Any]] = {"step": np.arange(self.steps), "reward": self.episode.rewards}
        columns |= {f"obs[{k}] seen": column for k, column in enumerate(self.episode.observations.T)}
        for name, values in self.registers.items():
            if values.ndim == 1:
                columns[name] = values
            else:
                inside = np.ndindex(*values.shape[1:])
                columns |= {f"{name}[{', '.join(map(str, at))}]": values[(slice(None), *at)] for at in inside}
        columns |= {f"call {name}": fired.astype(int) for name, fired in self.calls.items()}
        columns["state"] = self.states
        if self.episode.task.first_choice is not None:
            columns["chosen"] = self.episode.task.applied(self.episode.actions)[:, 0].astype(int)
        columns |= {f"world: {name}": values for name, values in self.episode.rows.items()}
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        return out.getvalue()


class InsideProgram(Inside):
    """An episode of a program."""

    held = "registers"

    def __init__(self, episode: Episode, program: Program) -> None:
        super().__init__(episode)
        self.program, self.trace = program, episode.trace_of(program)
        self.flow: Flow = flow(program)

    @property
    def listings(self) -> dict[str, str]:
        """The program."""
        return {"program.arz": str(self.program)}

    @property
    def remembered(self) -> tuple[str, ...]:
        """As the flow of its numbers shows."""
        return self.flow.remembered

    @cached_property
    def registers(self) -> dict[str, Floats]:
        """The registers that lines write."""
        found: dict[str, Floats] = {}
        for function in range(len(self.program.functions)):
            written = {output for line in self.program.lines(function) for output in line.outputs}
            memory = self.program.memory
            for kind in "sivm":
                for number in range(memory.count(kind)):
                    if (kind, number) in written:
                        name = register_text(kind, number, memory if function == 0 else None)
                        prefix = f"f{function - 1}." if function else ""
                        found[prefix + name] = self.trace.register(f"{kind}{number}", function)[:, 0]
        if "action" not in found:  # which no line writes
            actions = self.episode.actions
            found["action"] = actions[:, 0] if actions.shape[1] == 1 else actions
        return found

    @cached_property
    def calls(self) -> dict[str, NDArray[np.bool_]]:
        """For each call of GetAction, by its number and text: in which steps it was done."""
        return {_call_name(line): self.trace.calls[:, 0, k] for k, line in enumerate(self.flow.calls)}

    @cached_property
    def observing(self) -> list[str]:
        """By what the compared numbers depend on."""
        return [_call_name(line) for line in self.flow.calls if OBSERVATION in self.flow.condition_sources(line)]


def _call_name(line: FlowLine) -> str:
    return f"{line.number + 1}: {line.text}"


class InsideNetwork(Inside):
    """An episode of a network."""

    held = "units"

    def __init__(self, episode: Episode, network: Network) -> None:
        super().__init__(episode)
        self.network = network

    @cached_property
    def registers(self) -> dict[str, Floats]:
        """The units of its layers."""
        layers, actions = unfold(self.network, self.episode.observations), self.episode.actions
        del layers["output"]
        return {**layers, "action": actions[:, 0] if actions.shape[1] == 1 else actions}

    @property
    def remembered(self) -> tuple[str, ...]:
        """Both numbers of the units of an LSTM; nothing, in a perceptron."""
        return ("cell", "hidden") if self.network.architecture.kind == "lstm" else ()


def look_inside(episode: Episode) -> Inside:
    """An episode from inside."""
    return inside_of(episode.policy, episode)


@singledispatch
def inside_of(policy: object, episode: Episode) -> Inside:
    """An episode of a policy from inside: each kind of policy has a row of its own here.

    Raises:
        TypeError: nobody knows how to look into such a policy.
    """
    raise TypeError(f"there is no way to look into {type(policy).__name__}")


@inside_of.register
def _(policy: Program, episode: Episode) -> Inside:
    return InsideProgram(episode, policy)


@inside_of.register
def _(policy: Network, episode: Episode) -> Inside:
    return InsideNetwork(episode, policy)


def period_of(values: Floats, usual: float = 0.0) -> Period | None:
    """The period of a signal [step, ...], by its autocorrelation over all entries; None if it has none.

    A straight trend is taken away. Steps in which it is not finite are left out: the longest stretch without counts.

    Args:
        values: the signal.
        usual: how far it moves at other times: a hundredth of that does not count as a movement.
    """
    rows = _longest_finite(values.reshape(len(values), math.prod(values.shape[1:])))
    steps = len(rows)
    if steps < LEAST_STEPS or not np.isfinite(usual):
        return None
    time = np.linspace(-1.0, 1.0, steps)
    size = float(np.max(np.abs(rows)))
    rows = rows - rows.mean(axis=0)
    moved = float(np.max(np.abs(rows)))
    rows = rows - time[:, None] * (time @ rows / (time @ time))
    if float(np.max(np.abs(rows))) <= max(1e-9 * max(1.0, size), LEAST_MOVEMENT * max(moved, usual)):
        return None
    likeness = _autocorrelation(rows)[: FINER * (steps // LEAST_PERIODS) + 1]
    below = np.flatnonzero(likeness < 0)
    if not len(below):
        return None
    rest = likeness[below[0] :]
    peaks = (
        np.flatnonzero((rest[1:-1] >= rest[:-2]) & (rest[1:-1] > rest[2:])) + 1 if len(rest) > 2 else np.zeros(0, int)
    )
    least = max(LEAST_LIKENESS, NOISE / np.sqrt(steps))
    peaks = peaks[rest[peaks] >= max(least, FIRST * rest[peaks].max(initial=0.0))]
    if not len(peaks):
        return None
    at = int(peaks[0] + below[0])
    if _rises(rows) < LEAST_PERIODS:
        return None
    left, middle, right = likeness[at - 1 : at + 2]
    bend = left - 2 * middle + right
    return Period(float(at + (0.5 * (left - right) / bend if bend < 0 else 0.0)) / FINER, min(float(middle), 1.0))


def _rises(rows: Floats) -> int:
    """How often the entry that moves most comes up through its mean: rare events are no rhythm."""
    most = rows[:, int(np.argmax(np.ptp(rows, axis=0)))]
    return int(np.sum((most[:-1] < 0) & (most[1:] >= 0)))


def _longest_finite(rows: Floats) -> Floats:
    """The longest stretch of steps in which all entries are finite."""
    holes = np.flatnonzero(~np.all(np.isfinite(rows) & (np.abs(rows) < HUGE), axis=1))
    edges = np.concatenate([[-1], holes, [len(rows)]])
    longest = int(np.argmax(np.diff(edges)))
    return rows[edges[longest] + 1 : edges[longest + 1]]


def _autocorrelation(rows: Floats) -> Floats:
    """By lag, in parts of a step: the correlation of what is there both now and so much later, over all entries."""
    steps = len(rows)
    spectrum = np.fft.rfft(rows, 2 * steps, axis=0)
    power = np.square(np.abs(spectrum)).sum(axis=1)
    products = FINER * np.fft.irfft(power, 2 * steps * FINER)[: steps * FINER]  # what lies between, smoothly
    energy = np.concatenate([[0.0], np.cumsum(np.square(rows).sum(axis=1))])
    early, late = energy[steps - np.arange(steps)], energy[steps] - energy[np.arange(steps)]
    size = np.interp(np.arange(steps * FINER) / FINER, np.arange(steps), np.sqrt(early * late))
    return np.asarray(np.where(size > 0, products / np.where(size > 0, size, 1.0), 0.0))
