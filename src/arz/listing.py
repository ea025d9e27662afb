"""The op table for people: labels, example lines, and the page `docs/ops.md`."""

from __future__ import annotations

import numpy as np

from arz.ops import OPS, Op
from arz.program import Instruction
from arz.text import line_text

LEGEND = """Signatures: `s` scalar, `v` vector, `m` matrix, `i` index register; `k` a constant, `d` an element position
and `r` a random stream, all three inside the instruction; `f` a CADF. Formulas: `a`, `b`, `c`, `d` are the inputs, `i`
and `j` the place of the element that is computed, `sum` runs over `k` (and `l`) in index order, `count` is how many
terms it has, `mean` is `sum / count`, `n` is the length of a vector. FLOPs are per execution, as the paper counts
(`docs/machine.md`)."""


def op_label(number: int) -> str:
    """The paper's label of the op at a position of the table, counted from 1."""
    return "call" if OPS[number - 1].is_call else f"OP{number}"


def op_example(op: Op) -> str:
    """A line of this op, its registers numbered from 0."""
    return line_text(Instruction(op, tuple(range(len(op.slots))), (0.5, 1.0)[: op.constants]), None)


def op_formula(op: Op) -> str:
    """What an op computes, in one line."""
    parts = [f"sum of {op.sum}"] if op.sum else []
    parts += [f"sum2 of {op.spread}"] if op.spread else []
    parts += [op.element] if op.element not in ("", "sum") else []
    return "; ".join(parts)


def flops_text(op: Op) -> str:
    """The FLOPs of an op as a polynomial in n."""
    # The cost of every op is a polynomial of degree three at most: four values give its coefficients.
    dims = np.arange(1, 5)
    factors = np.rint(np.linalg.solve(np.vander(dims, 4), [op.flops(int(dim)) for dim in dims])).astype(int)
    terms = zip(factors.tolist(), ("n^3", "n^2", "n", ""), strict=True)
    shown = [f"{factor if factor > 1 or not power else ''}{power}" for factor, power in terms if factor]
    return " + ".join(shown) or "0"


def ops_markdown() -> str:
    """The page `docs/ops.md`."""
    lines = ["# Operations", "", "Made from `src/arz/ops.py` by `arz ops --markdown`.", "", *LEGEND.splitlines(), ""]
    lines += ["| op | name | signature | text | formula | FLOPs |", "|---|---|---|---|---|---|"]
    for number, op in enumerate(OPS, 1):
        cost = "1 + body + results" if op.is_call else flops_text(op)
        formula = f"`{op_formula(op)}`" if op_formula(op) else ""
        cells = (op_label(number), op.name, f"`{op.signature}`", f"`{op_example(op)}`", formula, cost)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
