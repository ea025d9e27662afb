"""Writes the C++ face of the op table: `generate.py OPS_PY OUTPUT_HPP`. Run by the build.

For each op of `src/arz/ops.py` this emits one row of the table `kOps` and one case of the switch
`apply`. The emitted formulas are the table's own, over a number type (see lanes.hpp, memory.hpp).
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ACCESSORS = {"s": "scalar", "v": "vector", "m": "matrix", "i": "index"}


def load_table(path: Path) -> ModuleType:
    """The op table as a module, without importing the package around it."""
    spec = importlib.util.spec_from_file_location("arz_ops", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["arz_ops"] = module
    spec.loader.exec_module(module)
    return module


def cpp_formula(table: ModuleType, op: Any, formula: str) -> str:
    """A formula of the table as a C++ expression; elementary functions get the lanes that are active."""
    for letter, kind in zip(table.INPUT_LETTERS, op.inputs, strict=False):
        if kind in "vm":
            place = "(i)" if kind == "v" else "(i, j)"
            formula = re.sub(rf"\b{letter}\b(?!\()", letter + place, formula)
    formula = re.sub(rf"\b({'|'.join(sorted(table.ELEMENTARY))})\(", r"\1(active, ", formula)
    return re.sub(r"\brandom\(", "frame.random(chunk, ", formula)


def declarations(table: ModuleType, op: Any) -> list[str]:
    """One line for each input that a formula uses."""
    used = " ".join((op.element, op.sum, op.spread, *op.place))
    slot, constant, lines = len(op.outputs), 0, []
    for letter, kind in zip(table.INPUT_LETTERS, op.inputs, strict=False):
        if kind == "k":
            line = f"const Number {letter} = x.constants[{constant}];"
            constant += 1
        else:
            value = f"x.at[{slot}]"
            line = f"const auto {letter} = " + (
                f"frame.{ACCESSORS[kind]}({value}, chunk);" if kind in ACCESSORS else f"static_cast<int>({value});"
            )
            slot += 1
        if re.search(rf"\b{letter}\b", used):
            lines.append(line)
    return lines


def summation(table: ModuleType, op: Any, name: str, formula: str) -> list[str]:
    """The loops that add a formula up in index order."""
    lines = [f"Number {name} = 0.0;"]
    lines += [f"for (int {letter} = 0; {letter} < n; ++{letter})" for letter in op.terms]
    return [*lines, f"  {name} = {name} + {cpp_formula(table, op, formula)};"]


def case(table: ModuleType, number: int, op: Any) -> list[str]:
    """One case of the switch."""
    head = f"    case {number}:  // {op.name}: {op.signature}"
    if not op.outputs or op.is_call:
        return [head, "      break;"]
    kind = op.outputs[0]
    loops = {"s": "", "i": "", "v": "i", "m": "ij"}[kind]
    where = tuple(loops)
    if op.writes_part:
        free = iter("ij")
        where = tuple(next(free) if part == ":" else part for part in op.place)
        loops = "ij"[: op.place.count(":")]
    shifted = not op.writes_part and any(
        input_kind == kind and re.search(rf"\b{letter}\(", f"{op.element} {op.sum} {op.spread}")
        for letter, input_kind in zip(table.INPUT_LETTERS, op.inputs, strict=False)
    )  # such an op may read what it has just written, when input and output are one register
    writer = "frame.scratch_writer()" if shifted else "frame.template writer<Masked>(x.at[0], chunk, active)"
    body = declarations(table, op)
    if kind != "i":
        body.append(f"const auto out = {writer};")
    body += [f"for (int {letter} = 0; {letter} < n; ++{letter}) {{" for letter in loops]
    if op.sum:
        body += summation(table, op, "sum", op.sum)
        if "count" in op.element or op.spread:
            body.append(f"const double count = {' * '.join(['n'] * len(op.terms))};")
    if op.spread:
        body += ["const Number mean = sum / count;", *summation(table, op, "sum2", op.spread)]
    value = cpp_formula(table, op, op.element)
    if kind == "i":
        body.append(f"frame.template set_index<Masked>(x.at[0], chunk, active, Indices<Number>({value}));")
    else:
        body.append(f"out.set({', '.join((*where, value))});")
    body += ["}" for _ in loops]
    if shifted:
        body.append(f"frame.template commit<Masked>(x.at[0], chunk, active, '{kind}');")
    lines = [head, "      for (int chunk = 0; chunk < frame.chunks; ++chunk) {"]
    lines += ["        [[maybe_unused]] const Mask<Number> active = frame.active[chunk];"]
    lines += ["        if (Masked && !any(active)) continue;"]
    return [*lines, *(f"        {line}" for line in body), "      }", "      break;"]


def table_row(op: Any) -> str:
    """One row of kOps."""
    facts = (op.writes_part, op.is_call, op.draws, op.is_tame, "+" in op.element or "-" in op.element)
    inputs = [keeps for keeps, kind in zip(op.keeps, op.inputs, strict=True) if kind != "k"]
    kept = sum(1 << slot for slot, keeps in enumerate(inputs, len(op.outputs)) if keeps)
    flags = ", ".join([*(str(fact).lower() for fact in facts), str(kept)])
    return f'    {{"{op.name}", "{"".join(op.slots)}", {len(op.slots)}, {len(op.outputs)}, {op.constants}, {flags}}},'


def generate(table: ModuleType) -> str:
    """The whole header."""
    names = ",\n  ".join(f"{op.name} = {number}" for number, op in enumerate(table.OPS))
    rows = "\n".join(table_row(op) for op in table.OPS)
    cases = "\n".join(line for number, op in enumerate(table.OPS) for line in case(table, number, op))
    return f"""// Generated from src/arz/ops.py by native/generate.py. Do not edit.
#pragma once

#include <cstdint>

#include "machine/elementary.hpp"
#include "machine/memory.hpp"
#include "machine/op_info.hpp"

namespace arz {{

inline constexpr char kOpsDigest[] = "{table.digest()}";

enum class Op : std::uint16_t {{
  {names}
}};

inline constexpr OpInfo kOps[] = {{
{rows}
}};
inline constexpr int kOpCount = {len(table.OPS)};

// Executes one instruction in every lane, or, masked, in those lanes where frame.active holds.
template <class Number, bool Masked, class Frame>
ARZ_INLINE void apply(const Resolved& x, const Frame& frame) {{
  [[maybe_unused]] const int n = frame.dim;
  switch (x.op) {{
{cases}
    default:
      break;
  }}
}}

}}  // namespace arz
"""


def main() -> None:
    """Reads the table and writes the header, only when it changed."""
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    text = generate(load_table(source))
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


if __name__ == "__main__":
    main()
