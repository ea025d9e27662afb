"""Writes the C++ face of the op table: `generate.py OPS_PY OUTPUT_HPP`. Run by the build.

For each op of `src/arz/ops.py` this emits one row of the table `kOps` and one type whose `run` executes it (see
run.hpp). The emitted formulas are the table's own, over a number type (see lanes.hpp, memory.hpp).
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


def declarations(table: ModuleType, op: Any, *formulas: str) -> list[str]:
    """One line for each input that these formulas use; without any, all of the op."""
    used = " ".join(formulas or (op.element, op.sum, op.spread, *op.place))
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


def reduction(table: ModuleType, op: Any) -> list[str]:
    """The body of an op that adds up a formula over one index and makes a number of it."""
    count = ["const double count = n;"] if "count" in op.element else []
    shared = [line for line in declarations(table, op, op.sum) if "frame.vector(" in line]
    own = [line for line in declarations(table, op, op.sum) if line not in shared]
    vectors = [line.split()[2] for line in shared]
    rows = [f"const auto {letter}_row = {letter}.row(k);" for letter in vectors]
    term = re.sub(r"\b(\w)\(k\)", r"\1_row(further)", cpp_formula(table, op, op.sum))
    return [
        "add_up<Masked, Number>(",
        "    frame, n,",
        "    [&](int chunk) ARZ_INLINE_LAMBDA {",
        *(f"      {line}" for line in shared),
        "      return [=, &frame, &x](int k) ARZ_INLINE_LAMBDA {",
        *(f"        {line}" for line in rows),
        "        return [=, &frame, &x](int further) ARZ_INLINE_LAMBDA {",
        *(f"          {line.replace(', chunk)', ', chunk + further)')}" for line in own),
        f"          return {term};",
        "        };",
        "      };",
        "    },",
        "    [&](int chunk, const Number& sum, const Mask<Number>& active) ARZ_INLINE_LAMBDA {",
        *(f"      {line}" for line in [*declarations(table, op, op.element), *count]),
        f"      frame.template writer<Masked>(x.at[0], chunk, active).set({cpp_formula(table, op, op.element)});",
        "    });",
    ]


def statements(table: ModuleType, op: Any) -> list[str]:
    """What an op does."""
    if not op.outputs or op.is_call:
        return []
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
    if kind == "s" and len(op.terms) == 1 and not op.spread:
        return reduction(table, op)
    body = declarations(table, op)
    if kind != "i":
        body.append(f"const auto out = {writer};")
    for letter in loops:
        body += ["ARZ_UNROLL"] if letter == loops[-1] and not op.sum else []
        body.append(f"for (int {letter} = 0; {letter} < n; ++{letter}) {{")
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
    is_short = not loops and not op.sum and not set(re.findall(r"\w+", op.element)) & table.ELEMENTARY
    lines = [*(["ARZ_UNROLL"] if is_short else []), "for (int chunk = 0; chunk < frame.chunks; ++chunk) {"]
    lines += ["  [[maybe_unused]] const Mask<Number> active = frame.active[chunk];"]
    lines += ["  if (Masked && !any(active)) continue;"]
    return [*lines, *(f"  {line}" for line in body), "}"]


def struct(table: ModuleType, op: Any) -> str:
    """An op as a type."""
    lines = "\n".join(f"    {line}" for line in statements(table, op))
    return f"""struct {type_name(op)} {{  // {op.signature}
  template <class Number, bool Masked, int dim, class Frame>
  ARZ_INLINE static void run([[maybe_unused]] const Resolved& x, [[maybe_unused]] const Frame& frame) {{
    [[maybe_unused]] const int n = dim > 0 ? dim : frame.dim;
{lines}
  }}
}};
"""


def fusions(table: ModuleType) -> list[tuple[Any, Any, int]]:
    """(first, second, which input of the second the first makes) for all pairs that run as one."""
    pairs = [(table.OP[first], table.OP[second]) for first, second in table.FUSED]
    for op in {op for pair in pairs for op in pair}:
        if op.outputs != ("v",) or op.sum or op.writes_part or set(op.inputs) - set("sv") or "(" in op.element:
            raise ValueError(f"{op.name} does not work number by number, so it cannot be in FUSED")
    if {first.name for first, _ in pairs} & {second.name for _, second in pairs}:
        raise ValueError("an op cannot be first in one pair of FUSED and second in another")
    return [
        (first, second, place)
        for first, second in pairs
        for place, kind in enumerate(second.inputs)
        if kind == first.outputs[0]
    ]


def fused_struct(table: ModuleType, first: Any, second: Any, place: int) -> str:
    """Two elementwise ops on vectors as one type; operands: the output, the other inputs, those of the first."""
    letters = table.INPUT_LETTERS
    others = [n for n in range(len(second.inputs)) if n != place]
    operands = [(letters[n], second.inputs[n]) for n in others]
    operands += [(f"first_{letters[n]}", kind) for n, kind in enumerate(first.inputs)]
    inner = re.sub(rf"\b([{letters[: len(first.inputs)]}])\b", r"first_\1", cpp_formula(table, first, first.element))
    made = letters[place]
    value = re.sub(rf"\b{made}\(i\)", lambda _: f"({inner})", cpp_formula(table, second, second.element))
    read = [
        f"      const auto {name} = frame.{ACCESSORS[kind]}(x.at[{n}], chunk);"
        for n, (name, kind) in enumerate(operands, 1)
    ]
    lines = "\n".join(read)
    return f"""struct {fused_name(first, second, place)} {{
  template <class Number, bool Masked, int dim, class Frame>
  ARZ_INLINE static void run(const Resolved& x, const Frame& frame) {{
    const int n = dim > 0 ? dim : frame.dim;
    for (int chunk = 0; chunk < frame.chunks; ++chunk) {{
      const Mask<Number> active = frame.active[chunk];
      if (Masked && !any(active)) continue;
{lines}
      const auto out = frame.template writer<Masked>(x.at[0], chunk, active);
      ARZ_UNROLL
      for (int i = 0; i < n; ++i) out.set(i, {value});
    }}
  }}
}};
"""


def fused_name(first: Any, second: Any, place: int) -> str:
    """What the type of two ops is called."""
    return f"{type_name(first)}Then{type_name(second)}{place}"


def type_name(op: Any) -> str:
    """What its type is called."""
    return "".join(part.capitalize() for part in op.name.split("_"))


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
    pairs = fusions(table)
    structs = "\n".join([*(struct(table, op) for op in table.OPS), *(fused_struct(table, *pair) for pair in pairs)])
    all_types = [*(type_name(op) for op in table.OPS), *(fused_name(*pair) for pair in pairs)]
    types = ",\n  ".join(f"ops::{name}" for name in all_types)
    fused = ",\n".join(
        f"    {{Op::{first.name}, Op::{second.name}, {len(second.outputs) + place}}}" for first, second, place in pairs
    )
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

// Pairs of ops that run as one; that of number n is op kOpCount + n.
struct Fusion {{
  Op first, second;
  int slot;  // of the second, which the first makes
}};
inline constexpr Fusion kFusions[] = {{
{fused},
}};

// What each op does in every lane, or, masked, in those lanes where frame.active holds; with the dimension of vectors,
// if it is known beforehand.
namespace ops {{

{structs}
}}  // namespace ops

template <class... Bodies>
struct OpList {{}};
// In the order of kOps, then those of kFusions.
using AllOps = OpList<
  {types}>;

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
