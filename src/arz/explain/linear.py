"""A program as a linear recurrent filter, where it is one (the paper's supplement, "Discussion of the ... algorithm").

With the observation and the last action as input s and the memory that matters as state Z,

    Z' = U Z + P s + z        action = A Z' + W s + c

`read` finds the matrices by working one step through with slopes (`dual.py`): exactly, if the step is affine. If it
is affine only on the way that was taken in an episode, or bends, they are the local form there, and their error
over the episode is measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.explain.dual import WAYS, Dual, Place, Step, constants
from arz.interpreter import Trace
from arz.ops import CALL_ARGUMENTS
from arz.program import Memory, Program
from arz.text import register_text
from arz.typing import Floats

HUGE = 1e100
SETTLING = 3
"""After so many steps a number may have settled."""
FAR = 2**20
"""So many steps later nothing of what fades is left."""
MAX_VARIABLES = 4000
"""A program with more numbers in its memory is not read."""


class NotAffineError(ValueError):
    """A program that is a filter only near the path of an episode, if at all."""


@dataclass(frozen=True)
class Element:
    """A number of the memory: a register, and where in it."""

    place: Place
    index: tuple[int, ...]

    def name(self, memory: Memory) -> str:
        """As a program's text calls it; registers of CADFs with the name of the function."""
        function, kind, number = self.place
        register = register_text(kind, number, memory if function == 0 else None)
        inside = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"{'' if function == 0 else f'f{function - 1}.'}{register}{inside}"


@dataclass(frozen=True)
class Reading:
    """A linear recurrent filter: Z' = U Z + P s + z, action = A Z' + W s + c."""

    program: Program
    """In its readable form, whose registers the names are."""
    state: tuple[str, ...]
    inputs: tuple[str, ...]
    """The entries of the observation, then of the last action."""
    start: Floats
    U: Floats
    P: Floats
    A: Floats
    W: Floats
    z: Floats
    c: Floats
    reasons: tuple[tuple[int, int, str], ...]
    """Why it is not affine everywhere: function, line, reason; empty if it is, exactly."""
    is_local: bool = False
    """Whether it was read near the path of an episode."""
    settled: tuple[str, ...] = ()
    """What was taken for constant: numbers that did not change any more after the first steps of the episode."""
    errors: Floats | None = None
    """If an episode was given: how far the filter's actions are off, one step ahead, from the program's own memory
    [step, action]; without the first steps, if something had to settle."""
    state_error: float = math.inf
    """How far its state is off at the most, one step ahead, as a share of the largest value of each number."""
    free_errors: Floats | None = None
    """How far its actions are off when it goes through these steps on its own, with its own state and last action."""
    actions: Floats | None = None
    """The actions in these steps."""

    @property
    def is_exact(self) -> bool:
        """Whether the program is this filter, for any observations."""
        return not self.reasons and not self.is_local and self.is_finite

    @property
    def is_finite(self) -> bool:
        """Whether all its numbers are: a division by zero has no slope."""
        return all(np.all(np.isfinite(part)) for part in (self.U, self.P, self.A, self.W, self.z, self.c))

    @property
    def is_on_path(self) -> bool:
        """Whether nothing bends: it is this filter as long as it takes the way that was looked at."""
        return all(reason == WAYS for _, _, reason in self.reasons)

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of U, the largest first; none if U is not finite."""
        return _eigenvalues(self.U)

    @property
    def observed(self) -> int:
        """How many of the inputs are entries of the observation."""
        return len(self.inputs) - len(self.A)

    @property
    def uses_last_action(self) -> bool:
        """Whether the last action matters."""
        return bool(np.any(self.P[:, self.observed :] != 0) or np.any(self.W[:, self.observed :] != 0))

    @cached_property
    def closed(self) -> Closed:
        """The same with the last action as part of the state, which it is: nobody else sets it."""
        seen, last = np.split(self.P, [self.observed], axis=1)
        seen_now, last_now = np.split(self.W, [self.observed], axis=1)
        return Closed(
            np.block([[self.U, last], [self.A @ self.U, self.A @ last + last_now]]),
            np.vstack([seen, self.A @ seen + seen_now]),
            len(self.A),
        )

    @property
    def first_action(self) -> Floats:
        """What counts as the last action in the first step."""
        kind, number = self.program.memory.action
        return np.atleast_1d(self.program.start(kind, number))[: self.program.memory.actions].copy()

    def kernel(self, lags: int) -> Floats:
        """How an input counts for the action, so many steps later: [lag, action, input].

        The paper's sum form, in which the last action is an input: action(n) = sum over i of kernel(n - i) s(i), and
        what the start and the constants add.
        """
        found, power = [], self.P
        for lag in range(lags):
            found.append(self.A @ power + (self.W if lag == 0 else 0.0))
            power = self.U @ power
        return np.array(found)

    def predict(self, observations: Floats, state: Floats | None = None, action: Floats | None = None) -> Floats:
        """The actions of the filter [step, action] for observations [step, entry], from its start or from elsewhere."""
        state, action = self.start if state is None else state, self.first_action if action is None else action
        found = []
        for seen in observations:
            s = np.concatenate([seen, action])
            state = self.U @ state + self.P @ s + self.z
            action = self.A @ state + self.W @ s + self.c
            found.append(action)
        return np.array(found)


@dataclass(frozen=True)
class Closed:
    """X' = U X + P o + constants, where o is the observation, and the last entries of X are the action."""

    U: Floats
    P: Floats
    actions: int

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """How what was seen, or a disturbance inside, dies away, the largest first."""
        return _eigenvalues(self.U)

    def kernel(self, lags: int) -> Floats:
        """How an observation counts for the action, so many steps later, in all: [lag, action, entry]."""
        found, power = [], self.P
        for _ in range(lags):
            found.append(power[-self.actions :])
            power = self.U @ power
        return np.array(found)

    @property
    def limit(self) -> Floats | None:
        """What is left of the kernel after any number of steps [action, entry]; None if it grows, or keeps on turning.

        Zero where it fades; otherwise what is kept for ever, as a sum over all that was seen keeps it.
        """
        with np.errstate(all="ignore"):
            power = np.linalg.matrix_power(self.U, FAR + 1)  # an odd number of steps, to see what changes its sign
            far = power @ self.P
            later = power @ far
        tiny = 1e-9 * float(np.max(np.abs(self.P), initial=0.0))
        if not np.all(np.isfinite(later)) or not np.allclose(far, later, rtol=1e-6, atol=tiny):
            return None
        return np.asarray(np.where(np.abs(later) > tiny, later, 0.0)[-self.actions :])

    @property
    def total(self) -> Floats | None:
        """What an observation that stays adds to the action in the end [action, entry]; None if that has no end."""
        if not np.all(np.abs(self.eigenvalues) < 1 - 1e-9):
            return None
        return np.asarray(np.linalg.solve(np.eye(len(self.U)) - self.U, self.P)[-self.actions :])


def _eigenvalues(matrix: Floats) -> NDArray[np.complex128]:
    if not len(matrix) or not np.all(np.isfinite(matrix)):
        return np.zeros(0, np.complex128)
    found = np.linalg.eigvals(matrix).astype(np.complex128)
    return found[np.lexsort((found.imag, -found.real, -np.abs(found).round(12)))]


def read(program: Program, episode: Trace | None = None) -> Reading:
    """Reads a program, as it stands, as a filter.

    Args:
        program: which.
        episode: a trace of it in one lane; needed unless the program is affine.

    Raises:
        NotAffineError: it is not affine and there is no episode.
        ValueError: its memory is too large, or its slopes are not finite.
    """
    if episode is not None and episode.program != program:
        raise ValueError("the trace must be of this program")
    reader = _Reader(program)
    found = reader.read(reader.start_values(), np.zeros(program.memory.observations))
    if found.is_exact:
        return found if episode is None else reader.measured(found, episode)
    if episode is None:
        raise NotAffineError("the program is not affine: only near the path of an episode can it be read as a filter")
    reader.settle(episode)
    step = reader.typical_step(episode)
    values, seen = reader.values_at(episode, step)
    found = replace(reader.read(values, seen), is_local=True)
    if not found.is_finite:
        raise ValueError("the program has slopes that are not finite")
    return reader.measured(found, episode)


class _Reader:
    def __init__(self, program: Program) -> None:
        self.program, self.memory = program, program.memory
        kind, number = self.memory.action
        self.action: Place = (0, kind, number)
        self.actions = [Element(self.action, (k,) if kind == "v" else ()) for k in range(self.memory.actions)]
        self.variable = self._variable_registers()
        names = [f"obs[{k}]" for k in range(self.memory.observations)]
        total = sum(math.prod(self.memory.shape(place[1])) for place in self.variable) + len(names)
        if total > MAX_VARIABLES:
            raise ValueError(f"the program has {total} numbers in its memory: too many to read it as a filter")
        self.elements = [
            Element(place, index)
            for place in self.variable
            for index in np.ndindex(*self.memory.shape(place[1]))
            if Element(place, index) not in self.actions
        ]
        self.inputs = (*names, *(f"last {element.name(self.memory)}" for element in self.actions))
        self._registers: dict[Place, Any] = {}
        self.settled: set[Element] = set()

    def _variable_registers(self) -> list[Place]:
        """Registers that some line, or a call, writes: all but the observation and indices."""
        found: dict[Place, None] = {self.action: None}
        for function in range(len(self.program.functions)):
            for line in self.program.lines(function):
                found |= dict.fromkeys((function, k, n) for k, n in line.outputs if n < self.memory.count(k))
            if function:
                found |= dict.fromkeys((function, k, n) for k, n in CALL_ARGUMENTS)
        wanted = [place for place in found if place[1] != "i" and place != (0, "v", 1)]
        return sorted(wanted, key=lambda place: (place[0], "svm".index(place[1]), place[2]))

    def settle(self, episode: Trace) -> None:
        """Takes for constant what does not change any more after the first steps of an episode."""
        for element in self.elements:
            rows = self._register(episode, element.place)[(slice(SETTLING, None), *element.index)]
            if len(rows) and np.all(rows == rows[0]):
                self.settled.add(element)

    def _register(self, episode: Trace, place: Place) -> Any:
        """A register over an episode, at the end of each step."""
        if place not in self._registers:
            function, kind, number = place
            self._registers[place] = episode.register(f"{kind}{number}", function)[:, 0]
        return self._registers[place]

    def start_values(self) -> dict[Place, Any]:
        """Every register at the start of an episode."""
        found: dict[Place, Any] = {}
        for function in range(len(self.program.functions)):
            for kind in "svmi":
                for number in range(self.memory.count(kind)):
                    has_start = function == 0 and kind != "i"
                    shape = self.memory.shape(kind)
                    found[function, kind, number] = self.program.start(kind, number) if has_start else np.zeros(shape)
        return found

    def values_at(self, episode: Trace, step: int) -> tuple[dict[Place, Any], Floats]:
        """Every register as a step of an episode found it, and what was seen."""
        values = self.start_values()
        if step > 0 and self.memory.stateful:
            for function, kind, number in values:
                values[function, kind, number] = self._register(episode, (function, kind, number))[step - 1]
        return values, self._seen(episode)[step]

    def _seen(self, episode: Trace) -> Floats:
        world = (episode.function == 0) & (episode.line == -1) & (episode.site == -1) & (episode.kind == "v")
        rows = [episode.value(int(event)) for event in np.flatnonzero(world & (episode.number == 1))]
        return np.array(rows)[:, : self.memory.observations]

    def typical_step(self, episode: Trace) -> int:
        """The step of an episode, after its first ones, whose observation and action are nearest to the mean of all.

        Raises:
            ValueError: no step has finite numbers.
        """
        rows = np.hstack([self._seen(episode), episode.actions[:, 0]])
        finite = np.flatnonzero(np.all(np.isfinite(rows) & (np.abs(rows) < HUGE), axis=1))
        if not len(finite):
            raise ValueError("in no step of the episode are observation and action finite")
        finite = finite[finite > SETTLING] if finite[-1] > SETTLING else finite
        known = rows[finite]
        spread = known.std(axis=0)
        distance = ((known - known.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2
        return int(finite[np.argmin(distance.sum(axis=1))])

    def read(self, values: dict[Place, Any], seen: Floats) -> Reading:
        """The filter near these values."""
        with np.errstate(all="ignore"):
            return self._read(values, seen)

    def _read(self, values: dict[Place, Any], seen: Floats) -> Reading:
        count, size = len(self.elements), len(self.elements) + len(self.inputs)
        first = self._step(values, seen, None)
        for function, line, place in first.written:  # an index that moves on reads elsewhere in the next step
            if place[1] == "i" and first.registers[place] != int(values[place]):
                first.notes.append((function, line, WAYS))
        point = np.concatenate([self._flat(values), seen, [_number(values, element) for element in self.actions]])
        slopes = np.array([_slopes(first, element, size) for element in self.elements]).reshape(count, size)
        offsets = np.array([_value(first, element) for element in self.elements]) - _product(slopes, point)
        needed = _reached(slopes[:, :count], np.array([_slopes(first, a, size)[:count] for a in self.actions]))
        # Once more, with a variable for what each register holds at the end: the action by these.
        last = {place: number for number, (_, _, place) in enumerate(first.written) if place != self.action}
        second = self._step(values, seen, tuple(last.values()))
        found = np.array([_slopes(second, action, size + count) for action in self.actions])
        for k, element in enumerate(self.elements):
            if element.place not in last:  # it ends as it began
                found[:, size + k] += found[:, k]
                found[:, k] = 0.0
        ends, begins, direct = found[:, size:], found[:, :count], found[:, count:size].copy()
        ended = np.array([_value(first, element) for element in self.elements])
        offset = np.array([_value(first, action) for action in self.actions])
        offset -= _product(ends, ended) + _product(begins, point[:count]) + _product(direct, point[count:])
        remembers = np.any(slopes[:, :count] != 0, axis=1)
        remembers &= np.array([element not in self.settled for element in self.elements], bool)
        shown = set(np.flatnonzero(remembers & np.any(ends != 0, axis=0)).tolist())
        state = sorted(needed | shown)
        beside = np.setdiff1d(np.arange(count), state)  # what follows from the input alone, and is not needed later
        direct += ends[:, beside] @ slopes[beside, count:]
        offset += _product(ends[:, beside], offsets[beside])
        before = np.flatnonzero(np.any(begins != 0, axis=0)).tolist()
        rows = np.vstack([slopes[state], np.eye(size)[before]])
        names = [element.name(self.memory) for element in self.elements]
        none = np.zeros(len(before))
        return Reading(
            program=self.program,
            state=(*(names[k] for k in state), *(f"{names[k]} before" for k in before)),
            inputs=self.inputs,
            start=np.concatenate([self._flat(self.start_values())[state], none]),
            U=np.hstack([rows[:, state], np.zeros((len(rows), len(before)))]),
            P=rows[:, count:],
            A=np.hstack([ends[:, state], begins[:, before]]),
            W=direct,
            z=np.concatenate([offsets[state], none]),
            c=offset,
            reasons=tuple(dict.fromkeys(first.notes)),
            settled=tuple(element.name(self.memory) for element in self.elements if element in self.settled),
        )

    def _step(self, values: dict[Place, Any], seen: Floats, ends: tuple[int, ...] | None) -> Step:
        """A step in which memory and inputs vary, and, after those writes, what was written."""
        count, size = len(self.elements), len(self.elements) + len(self.inputs)
        total = size + (count if ends is not None else 0)
        registers = {place: constants(self.memory, place[1], value) for place, value in values.items()}
        variables: dict[Element, int] = {}
        if self.memory.stateful:
            variables = {element: k for k, element in enumerate(self.elements) if element not in self.settled}
            variables |= {action: size - len(self.actions) + k for k, action in enumerate(self.actions)}
        for element, variable in variables.items():
            register, slopes = registers[element.place], np.zeros(total)
            slopes[variable] = 1.0
            register[element.index] = Dual(register[element.index].value, slopes)
        arrives = np.zeros(self.memory.dim)
        arrives[: len(seen)] = seen
        registers[0, "v", 1] = constants(self.memory, "v", arrives)
        for k in range(len(seen)):
            slopes = np.zeros(total)
            slopes[count + k] = 1.0
            registers[0, "v", 1][k] = Dual(float(seen[k]), slopes)
        step = Step(self.program, registers)
        if ends is not None:
            places = {element: size + k for k, element in enumerate(self.elements) if element not in self.settled}

            def renamed(_: int, __: int, place: Place, value: Any) -> Any:
                if len(step.written) not in ends or place[1] == "i":
                    return value
                result = np.empty_like(value)
                for index in np.ndindex(*value.shape):
                    variable = places.get(Element(place, index))
                    slopes = np.zeros(total)
                    if variable is not None:
                        slopes[variable] = 1.0
                    result[index] = Dual(value[index].value, slopes) if variable is not None else value[index]
                return result

            step.on_write = renamed
        step.run()
        return step

    def _flat(self, values: dict[Place, Any]) -> Floats:
        return np.array([_number(values, element) for element in self.elements])

    def measured(self, found: Reading, episode: Trace) -> Reading:
        """With the errors of the action, one step ahead, over an episode."""
        with np.errstate(all="ignore"):
            return self._measured(found, episode)

    def _measured(self, found: Reading, episode: Trace) -> Reading:
        seen, actions = self._seen(episode), episode.actions[:, 0]
        lasts = np.vstack([[_number(self.start_values(), a) for a in self.actions], actions[:-1]])
        if not self.memory.stateful:
            lasts[1:] = lasts[0]
        s = np.hstack([seen, lasts])
        states = np.array([self._state(found, episode, step) for step in range(len(seen))])
        ends = states @ found.U.T + s @ found.P.T + found.z
        errors = ends @ found.A.T + s @ found.W.T + found.c - actions
        first = SETTLING + 1 if found.settled else 0
        followed = [not name.endswith(" before") for name in found.state]
        moves = np.abs(ends[first:-1, followed] - states[first + 1 :, followed])
        sizes = np.max(np.abs(states[first:, followed]), axis=0, initial=0.0)
        off = float(np.max(moves / np.where(sizes > 0, sizes, 1.0), initial=0.0))
        free = found.predict(seen[first:], states[first], lasts[first]) - actions[first:] if len(seen) > first else None
        return replace(
            found,
            errors=errors[first:],
            state_error=off if math.isfinite(off) else math.inf,
            free_errors=free,
            actions=actions[first:],
        )

    def _state(self, found: Reading, episode: Trace, step: int) -> Floats:
        """The state when a step of an episode began."""
        if step == 0 or not self.memory.stateful:
            return found.start
        by_name = {element.name(self.memory): element for element in self.elements}
        return np.array([self._past(episode, by_name.get(name), step) for name in found.state])

    def _past(self, episode: Trace, element: Element | None, step: int) -> float:
        if element is None:  # "before" does not count
            return 0.0
        return float(self._register(episode, element.place)[step - 1][element.index])


def _product(weights: Floats, values: Floats) -> Floats:
    """The product of a matrix and a vector, in which a weight of 0 means nothing, even of what is not finite."""
    return np.asarray(np.where(weights != 0, weights * values, 0.0).sum(axis=-1))


def _number(values: dict[Place, Any], element: Element) -> float:
    return float(np.asarray(values[element.place])[element.index])


def _value(step: Step, element: Element) -> float:
    return float(step.registers[element.place][element.index].value)


def _slopes(step: Step, element: Element, size: int) -> Floats:
    found: Floats | None = step.registers[element.place][element.index].slopes
    return np.zeros(size) if found is None else found


def _reached(slopes: Floats, of_action: Floats) -> set[int]:
    """What the action depends on, now or later."""
    reached: set[int] = set()
    todo = set(np.flatnonzero(np.any(of_action != 0, axis=0)).tolist())
    while todo:
        reached |= todo
        todo = set(np.flatnonzero(np.any(slopes[sorted(reached)] != 0, axis=0)).tolist()) - reached
    return reached
