"""The reference interpreter: short, slow, obviously right. It is the definition of what a program means.

One `Machine` runs one episode. Numbers are IEEE doubles; elementary functions are those of `arz.elementary`, not the C
library's; sums run in index order from 0.0. All NaNs count as the same value. The native interpreter equals this one
bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz import elementary
from arz.ops import CALL_ARGUMENTS
from arz.program import NONE, Instruction, Memory, Program
from arz.streams import episode_uniform

Value = Any
"""What a register holds: a float, an int (index), or an array of one or two dimensions."""


def _total(terms: Any) -> float:
    total = 0.0
    for term in np.ravel(terms):
        total = total + float(term)
    return total


def _mean(values: Any) -> float:
    return _total(values) / np.size(values)


def _std(values: Any) -> float:
    deviations = np.subtract(values, _mean(values))
    return float(np.sqrt(_mean(deviations * deviations)))


def _norm(values: Any) -> float:
    return float(np.sqrt(_total(np.multiply(values, values))))


def _each(function: Callable[[Any], float], matrix: Any) -> NDArray[np.float64]:
    return np.array([function(row) for row in matrix])


def _heaviside(x: Any) -> Any:
    return np.where(np.greater(x, 0), 1.0, 0.0)


def _minimum(a: Any, b: Any) -> Any:
    return np.where(np.less(a, b) | np.isnan(a), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.where(np.less(b, a) | np.isnan(a), a, b)


def _changed(array: Any, place: Any, value: Any) -> Any:
    result = array.copy()
    result[place] = value
    return result


def _matmul(a: Any, b: Any) -> Any:
    return np.array([[_total(row * column) for column in b.T] for row in a])


MEANING: dict[str, Callable[..., Value]] = {
    "scalar_add": lambda a, b: a + b,
    "scalar_subtract": lambda a, b: a - b,
    "scalar_multiply": lambda a, b: a * b,
    "scalar_divide": lambda a, b: np.divide(a, b),
    "scalar_abs": lambda a: abs(a),
    "scalar_reciprocal": lambda a: np.divide(1.0, a),
    "scalar_sin": elementary.sin,
    "scalar_cos": elementary.cos,
    "scalar_tan": elementary.tan,
    "scalar_arcsin": elementary.arcsin,
    "scalar_arccos": elementary.arccos,
    "scalar_arctan": elementary.arctan,
    "scalar_exp": elementary.exp,
    "scalar_log": elementary.log,
    "scalar_heaviside": _heaviside,
    "vector_heaviside": _heaviside,
    "matrix_heaviside": _heaviside,
    "vector_scale": lambda s, v: s * v,
    "vector_broadcast": lambda dim, s: np.full(dim, s),
    "vector_reciprocal": lambda v: 1.0 / v,
    "vector_norm": _norm,
    "vector_abs": np.abs,
    "vector_add": lambda a, b: a + b,
    "vector_subtract": lambda a, b: a - b,
    "vector_multiply": lambda a, b: a * b,
    "vector_divide": lambda a, b: a / b,
    "vector_dot": lambda a, b: _total(a * b),
    "vector_outer": lambda a, b: a[:, None] * b[None, :],
    "matrix_scale": lambda s, m: s * m,
    "matrix_reciprocal": lambda m: 1.0 / m,
    "matrix_vector_dot": lambda m, v: _each(lambda row: _total(row * v), m),
    "matrix_broadcast_column": lambda v: np.repeat(v[:, None], len(v), axis=1),
    "matrix_broadcast_row": lambda v: np.repeat(v[None, :], len(v), axis=0),
    "matrix_norm": _norm,
    "matrix_row_norms": lambda m: _each(_norm, m),
    "matrix_column_norms": lambda m: _each(_norm, m.T),
    "matrix_transpose": lambda m: m.T.copy(),
    "matrix_abs": np.abs,
    "matrix_add": lambda a, b: a + b,
    "matrix_subtract": lambda a, b: a - b,
    "matrix_multiply": lambda a, b: a * b,
    "matrix_divide": lambda a, b: a / b,
    "matrix_matmul": _matmul,
    "scalar_minimum": _minimum,
    "vector_minimum": _minimum,
    "matrix_minimum": _minimum,
    "scalar_maximum": _maximum,
    "vector_maximum": _maximum,
    "matrix_maximum": _maximum,
    "vector_mean": _mean,
    "matrix_mean": _mean,
    "matrix_row_means": lambda m: _each(_mean, m),
    "matrix_row_stds": lambda m: _each(_std, m),
    "vector_std": _std,
    "matrix_std": _std,
    "scalar_set": lambda k: k,
    "vector_set_element": lambda out, d, k: _changed(out, d, k),
    "matrix_set_element": lambda out, d, e, k: _changed(out, (d, e), k),
    "scalar_uniform": lambda random, low, high, stream: low + (high - low) * random(stream),
    "matrix_copy": lambda m: m.copy(),
    "vector_copy": lambda v: v.copy(),
    "index_copy": lambda i: i,
    "vector_power": lambda a, b: np.array(
        [elementary.power(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    ),
    "matrix_column": lambda m, i: m[:, i].copy(),
    "matrix_row": lambda m, i: m[i, :].copy(),
    "matrix_element": lambda m, i, j: m[i, j],
    "vector_element": lambda v, i: v[i],
    "vector_zero": lambda dim: np.zeros(dim),
    "scalar_zero": lambda: 0.0,
    "index_zero": lambda: 0,
    "vector_sqrt": np.sqrt,
    "vector_square": lambda v: v * v,
    "vector_sum": _total,
    "scalar_sqrt": lambda a: np.sqrt(a),
    "scalar_multiply_add": lambda a, b, c: a * b + c,
    "scalar_scale": lambda a, k: a * k,
    "matrix_set_row": lambda out, d, v: _changed(out, d, v),
    "matrix_set_column": lambda out, d, v: _changed(out, (slice(None), d), v),
    "matrix_last_row": lambda m: len(m) - 1,
    "matrix_last_column": lambda m: len(m.T) - 1,
    "vector_last": lambda v: len(v) - 1,
    "vector_element_multiply_add": lambda a, b, s, i: a[i] * b[i] + s,
    "vector_prefix_dot": lambda a, b, i: _total(a[: i + 1] * b[: i + 1]),
    "vector_set_at": lambda out, i, s: _changed(out, i, s),
}
"""What each op computes. Ops that write a part of a register get its present value first; those of no vector
that make one get `dim` first; the random one gets its numbers first."""

NEEDS_DIM = frozenset({"vector_broadcast", "vector_zero"})


class Registers:
    """The memory of one function in one episode."""

    def __init__(self, memory: Memory) -> None:
        self.values: dict[str, list[Value]] = {
            "s": [0.0] * memory.scalars,
            "v": [np.zeros(memory.dim) for _ in range(memory.vectors)],
            "m": [np.zeros((memory.dim, memory.dim)) for _ in range(memory.matrices)],
            "i": [0] * memory.indices,
        }
        self.last_written = {"s": 0, "v": 0, "m": 0, "i": 0}

    def __getitem__(self, register: tuple[str, int]) -> Value:
        kind, number = register
        return self.values[kind][number]

    def __setitem__(self, register: tuple[str, int], value: Value) -> None:
        kind, number = register
        self.values[kind][number] = float(value) if kind == "s" else int(value) if kind == "i" else value


@dataclass(frozen=True)
class Write:
    """One event of a trace: a register received a value, or, with the register ("f", n), CADF n was called."""

    step: int
    site: int
    """The line of GetAction whose call runs this function; -1 in GetAction itself."""
    line: int
    """-1 where the world wrote: the observation, or the arguments of a call."""
    function: int
    register: tuple[str, int]
    value: Value


def apply(line: Instruction, registers: Registers, memory: Memory, random: Callable[[int], float]) -> Value:
    """The value that one instruction (not a call) computes from registers.

    `random` gives the number of a random stream.
    """
    arguments = [
        registers[kind, int(value)] if kind in "svmi" else value
        for kind, value in zip(line.op.inputs, line.inputs, strict=True)
    ]
    if line.op.writes_part:
        arguments.insert(0, registers[line.outputs[0]])
    if line.op.name in NEEDS_DIM:
        arguments.insert(0, memory.dim)
    if line.op.draws:
        arguments.insert(0, random)
    with np.errstate(all="ignore"):
        return MEANING[line.op.name](*arguments)


class Machine:
    """Runs a program through one episode, step by step.

    Args:
        program: what to run.
        key: names the episode's random numbers.
    """

    def __init__(self, program: Program, key: int = 0) -> None:
        self.program = program
        self.key = key
        self.code = [program.lines(function) for function in range(len(program.functions))]
        self.trace: list[Write] = []
        self.reset()

    def reset(self) -> None:
        """Starts an episode."""
        self.step = 0
        self.ticks = [0] * len(self.code)  # how often each function ran in this episode
        self.start_memory()

    def start_memory(self) -> None:
        """StartEpisode: evolved constants for GetAction, zeros for the CADFs."""
        memory = self.program.memory
        self.memories = [Registers(memory) for _ in self.code]
        for kind in "svm":
            for number in range(memory.count(kind)):
                self.memories[0][kind, number] = self.program.start(kind, number).copy()

    def act(self, observation: ArrayLike) -> NDArray[np.float64]:
        """One step: the observation in, the action out."""
        memory = self.program.memory
        if not memory.stateful and self.step > 0:
            self.start_memory()
        seen = np.zeros(memory.dim)
        seen[: memory.observations] = observation
        self.arrive(0, -1, ("v", 1), seen)
        self.run(0, site=-1)
        self.step += 1
        return np.atleast_1d(self.memories[0][memory.action])[: memory.actions].copy()

    def run(self, function: int, site: int) -> None:
        """Executes a function once."""
        registers = self.memories[function]
        tick = self.ticks[function]
        for number, line in enumerate(self.code[function]):
            if line.op.is_call:
                self.call(line, number)
            elif line.outputs:
                value = apply(line, registers, self.program.memory, lambda r: episode_uniform(self.key, tick, r))
                self.write(function, site, number, line.outputs[0], value)
        self.ticks[function] += 1

    def call(self, line: Instruction, number: int) -> None:
        """Runs a CADF if its first scalar is less than its second; false on NaN."""
        callee, *arguments = (int(value) for value in line.inputs)
        main, function = self.memories[0], callee + 1
        if not main["s", arguments[0]] < main["s", arguments[1]]:
            return
        local = self.memories[function]
        self.trace.append(Write(self.step, -1, number, 0, ("f", callee), ()))
        for (kind, place), source in zip(CALL_ARGUMENTS, arguments, strict=True):
            if source != NONE:
                self.arrive(function, number, (kind, place), main[kind, source])
        self.run(function, site=number)
        for kind, target in line.outputs:
            if target != NONE:
                self.write(0, -1, number, (kind, target), local[kind, local.last_written[kind]])

    def arrive(self, function: int, site: int, register: tuple[str, int], value: Value) -> None:
        """Stores what comes from outside the function; this is not a write that could be returned."""
        self.memories[function][register] = value
        self.trace.append(Write(self.step, site, -1, function, register, value))

    def write(self, function: int, site: int, line: int, register: tuple[str, int], value: Value) -> None:
        """Stores a result, remembers which register was written last, and adds to the trace."""
        registers = self.memories[function]
        registers[register] = value
        registers.last_written[register[0]] = register[1]
        self.trace.append(Write(self.step, site, line, function, register, registers[register]))


def execute(program: Program, observations: ArrayLike, keys: Sequence[int] | None = None) -> NDArray[np.float64]:
    """Actions [step, lane, action] for observations [step, lane, entry]: the reference for `interpreter.execute`."""
    seen = np.asarray(observations, np.float64)
    machines = [Machine(program, key) for key in (keys if keys is not None else range(seen.shape[1]))]
    return np.array([[machine.act(row[lane]) for lane, machine in enumerate(machines)] for row in seen])
