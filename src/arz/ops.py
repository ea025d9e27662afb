"""The op table: one row per operation, the single truth that all else reads.

The random sampler, the printer, the parser, the C++ of each op, the cost model and the exporters are
computed from these rows; only the reference interpreter (`machine.py`) states each op a second
time, on purpose, because comparing the two is the best test there is.

A row has a *signature*, a *text* and a *formula*::

    Op("vector_dot", "v v -> s", "dot({0}, {1})", sum="a(k) * b(k)")
       name           signature   text             formula

Signature: the kinds of the inputs, then of the outputs.

    s v m i   a register: scalar, vector, matrix, index
    k         a constant inside the instruction
    d         an element position inside the instruction (the paper's "dim index")
    r         the number of a random stream inside the instruction
    f         a function (CADF)

Text: what stands right of `=`, with `{0}`, `{1}` for the inputs; `target` is what stands left of
it. A target with brackets writes only that part of the register.

Formula: `element` is the value of one element of the result, with the inputs called a, b, c, d,
the element's place i (and j), and the size of a vector n. A bare `a` is the element at the same
place; `a(i)`, `a(j, i)` or `a(b)` name another. `sum` is added up over k (and l) in index order from
0.0, over `count` terms, and may then be used in `element`; `spread` is a second such sum, which
may use `mean`, the first sum divided by `count`, and is called `sum2`.

This module imports nothing of ours and only the standard library: the build reads it too.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property

REGISTER_KINDS = "svmi"
"""Scalar, vector, matrix, index: the four kinds of memory."""

INPUT_LETTERS = "abcdefgh"
"""What a formula calls the inputs, in the order of the signature."""

ELEMENTARY = frozenset({"sin", "cos", "tan", "arcsin", "arccos", "arctan", "exp", "log", "power"})
"""Formula functions of `arz.elementary`."""

WILD = frozenset({"tan", "arcsin", "arccos", "exp", "log", "power"})
"""Formula functions that are not finite for some finite inputs, or soon beyond all bounds."""

ACCUMULATING = {"a + b": "ab", "a - b": "a", "a * b + c": "abc", "minimum(a, b)": "ab", "maximum(a, b)": "ab"}
"""Formulas that accumulate, and the inputs that then are the destination itself."""

FREE_FUNCTIONS = frozenset({"within"})
"""Formula functions that choose and do not calculate: they cost no FLOPs."""

FUNCTIONS = ELEMENTARY | {"abs", "sqrt", "square", "heaviside", "minimum", "maximum", "random", "within"}
"""Every function a formula may call."""


@dataclass(frozen=True)
class Op:
    """One operation. See the module's text for the meaning of the fields."""

    name: str
    signature: str
    text: str
    element: str = ""
    sum: str = ""
    spread: str = ""
    target: str = "{out}"

    def __post_init__(self) -> None:
        if self.sum and not self.element:
            object.__setattr__(self, "element", "sum")
        for complaint in self._contradictions():
            raise ValueError(f"op {self.name!r} contradicts itself: {complaint}")

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The kind of each input, in order."""
        return tuple(self.signature.split("->")[0].split())

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The kind of each output, in order."""
        return tuple(self.signature.split("->")[1].split())

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The kind of each argument slot of a packed instruction: outputs, then inputs but constants."""
        return self.outputs + tuple(kind for kind in self.inputs if kind != "k")

    @cached_property
    def constants(self) -> int:
        """How many constants an instruction holds."""
        return self.inputs.count("k")

    @cached_property
    def is_call(self) -> bool:
        """Whether this op invokes a CADF."""
        return "f" in self.inputs

    @cached_property
    def draws(self) -> bool:
        """Whether this op draws a random number."""
        return "r" in self.inputs

    @cached_property
    def writes_part(self) -> bool:
        """Whether the output keeps the elements that are not written."""
        return "[" in self.target

    @cached_property
    def is_tame(self) -> bool:
        """Whether the result is finite wherever the inputs are, overflow aside: no division by them, no log, no exp."""
        formulas = " ".join((self.element, self.sum, self.spread))
        is_root = re.search(r"sqrt\((?!sum)", formulas) is not None  # not of a sum of squares
        divides = re.search(r"/ (?!count)", formulas) is not None
        return not (is_root or divides or WILD & set(re.findall(r"([a-z]\w+)\(", formulas)))

    @cached_property
    def keeps(self) -> tuple[bool, ...]:
        """Of each input, whether the op accumulates where that is its own destination: a sum, a leak, an extreme."""
        letters = ACCUMULATING.get(self.element, "")
        return tuple(
            place < len(INPUT_LETTERS) and INPUT_LETTERS[place] in letters for place in range(len(self.inputs))
        )

    @cached_property
    def place(self) -> tuple[str, ...]:
        """Which part of the output is written, in letters: `v3[5] = C` has ("a",), `m[:, 1]` (":", "a")."""
        if not self.writes_part:
            return ()
        inside = self.target.split("[", 1)[1].rstrip("]")
        return tuple(
            re.sub(r"\{(\d)\}", lambda m: INPUT_LETTERS[int(m[1])], part.strip()) for part in inside.split(",")
        )

    @cached_property
    def uses(self) -> tuple[bool, ...]:
        """Of each input, whether its value matters: in `len(v)` it does not."""
        if self.is_call:
            return (True,) * len(self.inputs)
        formulas = " ".join((self.element, self.sum, self.spread, *self.place))
        letters = INPUT_LETTERS[: len(self.inputs)]
        return tuple(re.search(rf"\b{letter}\b", formulas) is not None for letter in letters)

    @cached_property
    def terms(self) -> str:
        """The letters that the sums run over: "", "k" or "kl"."""
        used = set(re.findall(r"\b[kl]\b", self.sum))
        return "".join(sorted(used))

    @cached_property
    def statement(self) -> str:
        """The whole line as a template: outputs are {o0}, {o1}, ..., inputs {0}, {1}, ..."""
        if self.is_call:
            return self.text
        if not self.outputs:
            return self.text
        return f"{self.target.replace('{out}', '{o0}')} = {self.text}"

    def flops(self, dim: int) -> int:
        """Floating-point operations of one execution, as the paper counts.

        Each operator and each function counts one, and an element that is only set or copied counts
        one as well (the paper's 2080 for its quadruped program comes out under this reading alone:
        see docs/machine.md). The body of a called function is not included.
        """
        if self.is_call:
            return 1  # the comparison
        if not self.outputs:
            return 0
        terms = dim ** len(self.terms)
        each = _operations(self.element)
        if self.sum:
            each += terms * (_operations(self.sum) + 1)
        if self.spread:
            each += 1 + terms * (_operations(self.spread) + 1)
        return max(each, 1) * self._elements_written(dim)

    def _elements_written(self, dim: int) -> int:
        rank = {"s": 0, "i": 0, "v": 1, "m": 2}[self.outputs[0]]
        if self.writes_part:
            rank = self.place.count(":")
        return int(dim**rank)

    def _contradictions(self) -> list[str]:
        found: list[str] = []
        if self.signature.count("->") != 1:
            return [f"the signature {self.signature!r} needs exactly one '->'"]
        unknown = set(self.inputs) - set("svmikdrf") | set(self.outputs) - set(REGISTER_KINDS)
        if unknown:
            found.append(f"unknown kinds {sorted(unknown)} in {self.signature!r}")
        used = {int(number) for number in re.findall(r"\{(\d)\}", self.target + self.text)}
        if used != set(range(len(self.inputs))):
            found.append(f"the text {self.text!r} must name each of its {len(self.inputs)} inputs")
        if self.outputs and not self.is_call and not self.element:
            found.append("it has an output but no formula")
        if len(self.outputs) > 1 and not self.is_call:
            found.append("only a call has more than one output")
        letters = set(INPUT_LETTERS[: len(self.inputs)]) | set("ijkln") | {"sum", "sum2", "mean", "count"} | FUNCTIONS
        for formula in (self.element, self.sum, self.spread):
            strange = set(re.findall(r"[a-z]\w*", formula)) - letters
            if strange:
                found.append(f"the formula {formula!r} uses unknown names {sorted(strange)}")
        return found


def _operations(formula: str) -> int:
    """The number of operators and function calls in a formula."""
    operators = len(re.findall(r"[+\-*/]", formula))
    calls = [name for name in re.findall(r"([a-z]\w+)\(", formula) if name not in FREE_FUNCTIONS]
    return operators + len(calls)


CALL_TEXT = "if {1} < {2}: {o0}, {o1}, {o2} = {0}({1}, {2}, {3}, {4}, {5}, {6}, {7}, {8})"

# The paper's Supplementary Table "Ops vocabulary", in its order: OP1 is the first row. Its typing
# errors are corrected as docs/machine.md lists. OP85 is used by the paper's Fig. 1 but missing there.
OPS: tuple[Op, ...] = (
    Op("no_op", "->", "no_op"),
    Op("scalar_add", "s s -> s", "{0} + {1}", "a + b"),
    Op("scalar_subtract", "s s -> s", "{0} - {1}", "a - b"),
    Op("scalar_multiply", "s s -> s", "{0} * {1}", "a * b"),
    Op("scalar_divide", "s s -> s", "{0} / {1}", "a / b"),
    Op("scalar_abs", "s -> s", "abs({0})", "abs(a)"),
    Op("scalar_reciprocal", "s -> s", "1 / {0}", "1.0 / a"),
    Op("scalar_sin", "s -> s", "sin({0})", "sin(a)"),
    Op("scalar_cos", "s -> s", "cos({0})", "cos(a)"),
    Op("scalar_tan", "s -> s", "tan({0})", "tan(a)"),
    Op("scalar_arcsin", "s -> s", "arcsin({0})", "arcsin(a)"),
    Op("scalar_arccos", "s -> s", "arccos({0})", "arccos(a)"),
    Op("scalar_arctan", "s -> s", "arctan({0})", "arctan(a)"),
    Op("scalar_exp", "s -> s", "exp({0})", "exp(a)"),
    Op("scalar_log", "s -> s", "log({0})", "log(a)"),
    Op("scalar_heaviside", "s -> s", "heaviside({0})", "heaviside(a)"),
    Op("vector_heaviside", "v -> v", "heaviside({0})", "heaviside(a)"),
    Op("matrix_heaviside", "m -> m", "heaviside({0})", "heaviside(a)"),
    Op("vector_scale", "s v -> v", "{0} * {1}", "a * b"),
    Op("vector_broadcast", "s -> v", "bcast({0})", "a"),
    Op("vector_reciprocal", "v -> v", "1 / {0}", "1.0 / a"),
    Op("vector_norm", "v -> s", "norm({0})", "sqrt(sum)", sum="square(a(k))"),
    Op("vector_abs", "v -> v", "abs({0})", "abs(a)"),
    Op("vector_add", "v v -> v", "{0} + {1}", "a + b"),
    Op("vector_subtract", "v v -> v", "{0} - {1}", "a - b"),
    Op("vector_multiply", "v v -> v", "{0} * {1}", "a * b"),
    Op("vector_divide", "v v -> v", "{0} / {1}", "a / b"),
    Op("vector_dot", "v v -> s", "dot({0}, {1})", sum="a(k) * b(k)"),
    Op("vector_outer", "v v -> m", "outer({0}, {1})", "a(i) * b(j)"),
    Op("matrix_scale", "s m -> m", "{0} * {1}", "a * b"),
    Op("matrix_reciprocal", "m -> m", "1 / {0}", "1.0 / a"),
    Op("matrix_vector_dot", "m v -> v", "dot({0}, {1})", sum="a(i, k) * b(k)"),
    Op("matrix_broadcast_column", "v -> m", "bcast({0}, axis=0)", "a(i)"),
    Op("matrix_broadcast_row", "v -> m", "bcast({0}, axis=1)", "a(j)"),
    Op("matrix_norm", "m -> s", "norm({0})", "sqrt(sum)", sum="square(a(k, l))"),
    Op("matrix_row_norms", "m -> v", "norm({0}, axis=0)", "sqrt(sum)", sum="square(a(i, k))"),
    Op("matrix_column_norms", "m -> v", "norm({0}, axis=1)", "sqrt(sum)", sum="square(a(k, i))"),
    Op("matrix_transpose", "m -> m", "transpose({0})", "a(j, i)"),
    Op("matrix_abs", "m -> m", "abs({0})", "abs(a)"),
    Op("matrix_add", "m m -> m", "{0} + {1}", "a + b"),
    Op("matrix_subtract", "m m -> m", "{0} - {1}", "a - b"),
    Op("matrix_multiply", "m m -> m", "{0} * {1}", "a * b"),
    Op("matrix_divide", "m m -> m", "{0} / {1}", "a / b"),
    Op("matrix_matmul", "m m -> m", "matmul({0}, {1})", sum="a(i, k) * b(k, j)"),
    Op("scalar_minimum", "s s -> s", "minimum({0}, {1})", "minimum(a, b)"),
    Op("vector_minimum", "v v -> v", "minimum({0}, {1})", "minimum(a, b)"),
    Op("matrix_minimum", "m m -> m", "minimum({0}, {1})", "minimum(a, b)"),
    Op("scalar_maximum", "s s -> s", "maximum({0}, {1})", "maximum(a, b)"),
    Op("vector_maximum", "v v -> v", "maximum({0}, {1})", "maximum(a, b)"),
    Op("matrix_maximum", "m m -> m", "maximum({0}, {1})", "maximum(a, b)"),
    Op("vector_mean", "v -> s", "mean({0})", "sum / count", sum="a(k)"),
    Op("matrix_mean", "m -> s", "mean({0})", "sum / count", sum="a(k, l)"),
    Op("matrix_row_means", "m -> v", "mean({0}, axis=0)", "sum / count", sum="a(i, k)"),
    Op(
        "matrix_row_stds",
        "m -> v",
        "std({0}, axis=0)",
        "sqrt(sum2 / count)",
        sum="a(i, k)",
        spread="square(a(i, k) - mean)",
    ),
    Op("vector_std", "v -> s", "std({0})", "sqrt(sum2 / count)", sum="a(k)", spread="square(a(k) - mean)"),
    Op(
        "matrix_std",
        "m -> s",
        "std({0})",
        "sqrt(sum2 / count)",
        sum="a(k, l)",
        spread="square(a(k, l) - mean)",
    ),
    Op("scalar_set", "k -> s", "{0}", "a"),
    Op("vector_set_element", "d k -> v", "{1}", "b", target="{out}[{0}]"),
    Op("matrix_set_element", "d d k -> m", "{2}", "c", target="{out}[{0}, {1}]"),
    Op("scalar_uniform", "k k r -> s", "uniform({0}, {1}, stream={2})", "a + (b - a) * random(c)"),
    Op("matrix_copy", "m -> m", "{0}", "a"),
    Op("vector_copy", "v -> v", "{0}", "a"),
    Op("index_copy", "i -> i", "{0}", "a"),
    Op("vector_power", "v v -> v", "power({0}, {1})", "power(a, b)"),
    Op("matrix_column", "m i -> v", "{0}[:, {1}]", "a(i, b)"),
    Op("matrix_row", "m i -> v", "{0}[{1}, :]", "a(b, i)"),
    Op("matrix_element", "m i i -> s", "{0}[{1}, {2}]", "a(b, c)"),
    Op("vector_element", "v i -> s", "{0}[{1}]", "a(b)"),
    Op("vector_zero", "-> v", "0", "0.0"),
    Op("scalar_zero", "-> s", "0", "0.0"),
    Op("index_zero", "-> i", "0", "0"),
    Op("vector_sqrt", "v -> v", "sqrt({0})", "sqrt(a)"),
    Op("vector_square", "v -> v", "power({0}, 2)", "square(a)"),
    Op("vector_sum", "v -> s", "sum({0})", sum="a(k)"),
    Op("scalar_sqrt", "s -> s", "sqrt({0})", "sqrt(a)"),
    Op("scalar_multiply_add", "s s s -> s", "{0} * {1} + {2}", "a * b + c"),
    Op("scalar_scale", "s k -> s", "{0} * {1}", "a * b"),
    Op("matrix_set_row", "d v -> m", "{1}", "b", target="{out}[{0}, :]"),
    Op("matrix_set_column", "d v -> m", "{1}", "b", target="{out}[:, {0}]"),
    Op("matrix_last_row", "m -> i", "size({0}, axis=0) - 1", "n - 1"),
    Op("matrix_last_column", "m -> i", "size({0}, axis=1) - 1", "n - 1"),
    Op("vector_last", "v -> i", "len({0}) - 1", "n - 1"),
    Op("vector_element_multiply_add", "v v s i -> s", "{0}[{3}] * {1}[{3}] + {2}", "a(d) * b(d) + c"),
    Op("vector_prefix_dot", "v v i -> s", "dot({0}[:{2}+1], {1}[:{2}+1])", sum="within(k, c, a(k) * b(k))"),
    Op("vector_set_at", "i s -> v", "{1}", "b", target="{out}[{0}]"),
    Op("call", "f s s s s v v i i -> s v i", CALL_TEXT),
)
"""OP1 to OP84 of the paper, OP85 `v[i] = s`, and the call of a CADF."""

OP: dict[str, Op] = {op.name: op for op in OPS}
"""The table by name."""

FUSED: tuple[tuple[str, str], ...] = (("vector_scale", "vector_add"),)
"""Pairs of ops that run as one where only the second reads the vector that the first makes: `v2 = s0 * v3` and then
`v4 = v4 + v2`. Each rounds as it would alone."""

CALL_ARGUMENTS: tuple[tuple[str, int], ...] = tuple(
    (kind, OP["call"].inputs[1:place].count(kind)) for place, kind in enumerate(OP["call"].inputs) if kind != "f"
)
"""Where the arguments of a call arrive in the CADF's memory: s0 to s3, v0, v1, i0, i1."""

NUMBER: dict[str, int] = {op.name: number for number, op in enumerate(OPS)}
"""Position of each op in the table: what a packed instruction stores."""

if len(OP) != len(OPS):
    raise ValueError("two ops share a name")


def digest() -> str:
    """A fingerprint of the table: a native build made from another table is refused at import."""
    return hashlib.sha256(repr(OPS).encode()).hexdigest()[:16]
