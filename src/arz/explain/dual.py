"""One step of a program on numbers with slopes: what its results are near a point, and whether they are affine.

A `Dual` is a value and its derivatives by everything that a step begins with: the memory, the observation. Formulas
of the op table are worked through with such numbers. Where one bends (a sine, a product of two variables) or takes one
of several ways (an absolute value, the condition of a call), that is noted; a step without notes is affine, exactly.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz import elementary
from arz.ops import CALL_ARGUMENTS, INPUT_LETTERS
from arz.program import NONE, Instruction, Memory, Program

Place = tuple[int, str, int]
"""A register: function (0 is GetAction), kind and number."""

BENDS, WAYS, DRAWS = "bends", "takes one of several ways", "draws a random number"
"""Why a step is not affine, everywhere or beyond the place where it was looked at."""


@dataclass(frozen=True)
class Dual:
    """A number, and how it changes."""

    value: float
    slopes: NDArray[np.float64] | None = None
    """By each variable; None for a constant."""

    def __neg__(self) -> Dual:
        return Dual(-self.value, None if self.slopes is None else -self.slopes)

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, _sum(self.slopes, other.slopes))

    def __sub__(self, other: Dual) -> Dual:
        return self + -other

    def times(self, factor: float) -> Dual:
        """The product with a constant."""
        return Dual(self.value * factor, None if self.slopes is None else self.slopes * factor)


def _sum(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    return b if a is None else a if b is None else a + b


def _slope_of_power(x: float, y: float) -> float:
    return y * elementary.power(x, y - 1.0)


CURVES: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "sin": (elementary.sin, elementary.cos),
    "cos": (elementary.cos, lambda x: -elementary.sin(x)),
    "tan": (elementary.tan, lambda x: 1.0 + elementary.tan(x) ** 2),
    "arcsin": (elementary.arcsin, lambda x: _over(1.0, math.sqrt(max(1.0 - x * x, 0.0)))),
    "arccos": (elementary.arccos, lambda x: -_over(1.0, math.sqrt(max(1.0 - x * x, 0.0)))),
    "arctan": (elementary.arctan, lambda x: 1.0 / (1.0 + x * x)),
    "exp": (elementary.exp, elementary.exp),
    "log": (elementary.log, lambda x: _over(1.0, x)),
    "sqrt": (lambda x: math.sqrt(x) if x >= 0 else math.nan, lambda x: _over(0.5, math.sqrt(x) if x > 0 else 0.0)),
    "square": (lambda x: x * x, lambda x: 2.0 * x),
}
"""Functions that bend, with their slopes."""


def _over(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.divide(a, b))


@dataclass
class Step:
    """A step of a program from a given memory and observation.

    Args:
        program: whose step.
        registers: what every register holds when the step begins: arrays of `Dual`, ints for indices.
        size: how many variables there are.
    """

    program: Program
    registers: dict[Place, Any]
    notes: list[tuple[int, int, str]] = field(default_factory=list)
    """Where and why it is not affine: function, line, one of BENDS, WAYS, DRAWS."""
    written: list[tuple[int, int, Place]] = field(default_factory=list)
    """Function, line and register of every write, in order."""
    on_write: Callable[[int, int, Place, Any], Any] | None = None
    """May put something else in place of what is written."""

    def run(self) -> None:
        """Does the step."""
        with np.errstate(all="ignore"):
            self._function(0)

    def _function(self, function: int) -> None:
        for number, line in enumerate(self.program.lines(function)):
            if line.op.is_call:
                self._call(number, line)
            elif line.outputs:
                self._write(function, number, (function, *line.outputs[0]), self._value(function, number, line))

    def _call(self, number: int, line: Instruction) -> None:
        callee, *arguments = (int(value) for value in line.inputs)
        first, second = (self.registers[0, "s", n][()] for n in arguments[:2])
        if first.slopes is not None or second.slopes is not None:
            self.notes.append((0, number, WAYS))
        if not first.value < second.value:
            return
        for (kind, place), source in zip(CALL_ARGUMENTS, arguments, strict=True):
            if source != NONE:
                self._write(callee + 1, -1, (callee + 1, kind, place), self.registers[0, kind, source])
        self._function(callee + 1)
        results = zip(line.outputs, zip("svi", self.program.returns(callee + 1), strict=True), strict=True)
        for (kind, target), (_, source) in results:
            if target != NONE:
                self._write(0, number, (0, kind, target), self.registers[callee + 1, kind, source])

    def _write(self, function: int, number: int, place: Place, value: Any) -> None:
        if self.on_write is not None:
            value = self.on_write(function, number, place, value)
        self.registers[place] = value
        self.written.append((function, number, place))

    def _value(self, function: int, number: int, line: Instruction) -> Any:
        """What a line computes: an array of `Dual`, or an index."""
        op, memory = line.op, self.program.memory
        kind, out = line.outputs[0]
        inputs: dict[str, Any] = {}
        for letter, input_kind, value in zip(INPUT_LETTERS, op.inputs, line.inputs, strict=False):
            inputs[letter] = self.registers[function, input_kind, int(value)] if input_kind in "svmi" else value
        work = _Work(inputs, memory.dim, lambda reason: self.notes.append((function, number, reason)))
        if kind == "i":
            return work.element(op.element, {})
        shape = memory.shape(kind)
        result = np.array(self.registers[function, kind, out]) if op.writes_part else np.empty(shape, object)
        places = op.place if op.writes_part else (":",) * len(shape)
        for index in np.ndindex(*(memory.dim for part in places if part == ":")):
            letters = dict(zip("ij", index, strict=False))
            work.sums(op.sum, op.spread, op.terms, letters)
            free = iter(index)
            at = tuple(next(free) if part == ":" else int(inputs[part]) for part in places)
            result[at] = work.element(op.element, letters)
        return result


@dataclass
class _Work:
    """Works out the formulas of one line."""

    inputs: dict[str, Any]
    dim: int
    note: Callable[[str], None]
    names: dict[str, Any] = field(default_factory=dict)

    def sums(self, formula: str, spread: str, terms: str, letters: dict[str, int]) -> None:
        """The sums that an element may use."""
        if not formula:
            return
        count = self.dim ** len(terms)
        self.names = {"count": Dual(float(count)), "sum": self._total(formula, terms, letters)}
        self.names["mean"] = self.names["sum"].times(1.0 / count)
        if spread:
            self.names["sum2"] = self._total(spread, terms, letters)

    def _total(self, formula: str, terms: str, letters: dict[str, int]) -> Dual:
        total = Dual(0.0)
        for index in np.ndindex(*(self.dim,) * len(terms)):
            total = total + self.element(formula, {**letters, **dict(zip(terms, index, strict=True))})
        return total

    def element(self, formula: str, letters: dict[str, int]) -> Any:
        """The value of a formula at a place."""
        return self._visit(_parsed(formula), letters)

    def _visit(self, node: Any, letters: dict[str, int]) -> Any:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float)
            return Dual(node.value) if isinstance(node.value, float) else node.value
        if isinstance(node, ast.Name):
            return self._name(node.id, letters)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self._visit(node.left, letters), self._visit(node.right, letters))
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name in self.inputs:
            return self.inputs[name][tuple(int(self._visit(argument, letters)) for argument in node.args)]
        if name == "random":
            self.note(DRAWS)
            return Dual(0.5)
        arguments = [self._visit(argument, letters) for argument in node.args]
        if name == "within":
            place, last, term = arguments
            return term if place <= last else Dual(0.0)
        return self._apply(name, arguments)

    def _name(self, name: str, letters: dict[str, int]) -> Any:
        if name in letters:
            return letters[name]
        if name == "n":
            return self.dim
        if name in self.names:
            return self.names[name]
        value = self.inputs[name]
        if isinstance(value, np.ndarray):
            return value[tuple(letters[letter] for letter in "ij"[: value.ndim])]
        return Dual(value) if isinstance(value, float) else value

    def _binary(self, operator: Any, a: Any, b: Any) -> Any:
        if isinstance(a, int) and isinstance(b, int):  # an index
            return a - b
        if isinstance(operator, ast.Add):
            return a + b
        if isinstance(operator, ast.Sub):
            return a - b
        if isinstance(operator, ast.Mult):
            return self._product(a, b)
        assert isinstance(operator, ast.Div)
        return self._quotient(a, b)

    def _product(self, a: Dual, b: Dual) -> Dual:
        if b.slopes is None:
            return a.times(b.value)
        if a.slopes is None:
            return b.times(a.value)
        self.note(BENDS)
        return Dual(a.value * b.value, a.slopes * b.value + b.slopes * a.value)

    def _quotient(self, a: Dual, b: Dual) -> Dual:
        value = _over(a.value, b.value)
        if b.slopes is None:
            return Dual(value, None if a.slopes is None else a.slopes * _over(1.0, b.value))
        self.note(BENDS)
        slopes = b.slopes * -_over(value, b.value)
        return Dual(value, slopes if a.slopes is None else slopes + a.slopes * _over(1.0, b.value))

    def _apply(self, name: str, arguments: Sequence[Dual]) -> Dual:
        first = arguments[0]
        varies = any(argument.slopes is not None for argument in arguments)
        if name in CURVES:
            function, slope = CURVES[name]
            if first.slopes is None:
                return Dual(function(first.value))
            self.note(BENDS)
            return Dual(function(first.value), first.slopes * slope(first.value))
        if name == "power":
            base, exponent = arguments
            value = elementary.power(base.value, exponent.value)
            if not varies:
                return Dual(value)
            self.note(BENDS)
            return Dual(value, self._power_slopes(base, exponent, value))
        if varies:
            self.note(WAYS)
        if name == "abs":
            return -first if math.copysign(1.0, first.value) < 0 else first
        if name == "heaviside":
            return Dual(1.0 if first.value > 0 else 0.0)
        a, b = arguments
        is_first = a.value < b.value if name == "minimum" else b.value < a.value
        return a if is_first or math.isnan(a.value) else b

    @staticmethod
    def _power_slopes(base: Dual, exponent: Dual, value: float) -> NDArray[np.float64] | None:
        slopes = None if base.slopes is None else base.slopes * _slope_of_power(base.value, exponent.value)
        by_exponent = None if exponent.slopes is None else exponent.slopes * (value * elementary.log(base.value))
        return _sum(slopes, by_exponent)


@lru_cache(256)
def _parsed(formula: str) -> ast.expr:
    """The tree of a formula of the op table. Nothing is run."""
    return ast.parse(formula, mode="eval").body


def constants(memory: Memory, kind: str, values: Any) -> Any:
    """A register of these values that do not vary."""
    if kind == "i":
        return int(values)
    result = np.empty(memory.shape(kind), object)
    for place in np.ndindex(*result.shape):
        result[place] = Dual(float(np.asarray(values)[place]))
    return result
