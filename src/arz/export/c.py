"""A program as one C99 header: no heap, no libraries but libm."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz import elementary
from arz.export.exported_program import TAKEN_AS_IT_IS, TEST_KEY, Exported, Taken
from arz.export.formulas import LineFormula, translate
from arz.ops import CALL_ARGUMENTS, ELEMENTARY
from arz.program import NONE, Instruction, Program
from arz.streams import GOLDEN

HELPERS = {
    "arz_square": "static double arz_square(double x) { return x * x; }",
    "arz_heaviside": "static double arz_heaviside(double x) { return x > 0.0 ? 1.0 : 0.0; }",
    "arz_minimum": "static double arz_minimum(double a, double b) { return a < b || isnan(a) ? a : b; }",
    "arz_maximum": "static double arz_maximum(double a, double b) { return b < a || isnan(a) ? a : b; }",
    "arz_within": "static double arz_within(int k, int last, double term) { return k <= last ? term : 0.0; }",
    "arz_mix": """static uint64_t arz_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}""",
    "arz_random": f"""/* The number in [0, 1) that a random stream gives in run number `tick` of a function. */
static double arz_random(uint64_t key, uint64_t tick, uint64_t stream) {{
  const uint64_t golden = UINT64_C({GOLDEN:#x}), first = arz_mix(key + golden * (tick + 1));
  return (double)(arz_mix(first + golden * (stream + 1)) >> 11) * 0x1p-53;
}}""",
}
"""What the lines of a program may need."""

BYTES = {"s": 8, "v": 8, "m": 8, "i": 4}


@dataclass(frozen=True)
class C:
    """How C spells things."""

    function: int
    is_whole: ClassVar[bool] = False
    functions: ClassVar[dict[str, str]] = {
        "abs": "fabs",
        "n": "ARZ_DIM",
        "count": "count",
        **{name: f"arz_{name}" for name in ("square", "heaviside", "minimum", "maximum", "within", *ELEMENTARY)},
    }

    def register(self, kind: str, number: int) -> str:
        """A member."""
        return f"m->{kind}{number}"

    def element(self, register: str, places: Sequence[str]) -> str:
        """With brackets."""
        return register + "".join(f"[{place}]" for place in places)

    def random(self, stream: str) -> str:
        """From the episode's key and the number of runs of the function."""
        return f"arz_random(self->key, self->runs[{self.function}], {stream})"


def to_c(
    program: Program, *, name: str = "arz", observations: ArrayLike | None = None, taken: Taken = TAKEN_AS_IT_IS
) -> str:
    """A C99 header: `arz_reset`, `arz_step`, and with ARZ_SELF_CHECK defined `arz_self_check`.

    Args:
        program: what to export.
        name: what all names begin with, `arz` by default, so that several policies can go into one program.
        observations: for the test vectors [step, entry]; random ones by default.
        taken: what the world does with the actions, to be told at the top.

    Raises:
        ValueError: the name or the observations do not fit.
    """
    made = Exported.of(program, name, observations, taken)
    functions = [_function(made, k) for k in (*range(1, len(made.code)), 0)]
    code = "\n".join([*functions, _face(made)])
    blocks = [_head(made), _types(made), *_helpers(code), code, _check(made), "#endif\n"]
    text = "\n".join(blocks)
    if name != "arz":
        text = re.sub(
            r"(\b|-D)arz_", rf"\1{name}_", re.sub(r"(\b|-D)ARZ_", rf"\1{name.upper()}_", text, flags=re.ASCII)
        )
    return text


def memory_bytes(made: Exported) -> int:
    """What an episode keeps: the size of `arz_policy` where an int has four bytes and a double eight."""
    total = 0
    for function in range(len(made.code)):
        sizes = [BYTES[kind] * _size(made, kind) for kind, _ in made.registers(function)]
        total += math.ceil(sum(sizes) / 8) * 8
    return total + (8 + 8 * len(made.code) if made.draws else 0)


def stack_bytes(made: Exported) -> int:
    """The largest result that needs room of its own."""
    lines = [(line, function) for function, code in enumerate(made.code) for line in code if not line.op.is_call]
    shifted = [line.op.outputs[0] for line, k in lines if (found := translate(line, C(k))).is_shifted and found.loops]
    angles = 60 if made.elementary & {"sin", "cos", "tan"} else 0  # large ones, reduced with whole numbers
    return max((8 * _size(made, kind) for kind in shifted), default=0) + angles


def _size(made: Exported, kind: str) -> int:
    return int(np.prod(made.program.memory.shape(kind)))


def _head(made: Exported) -> str:
    about = "\n".join(f"   {line}".rstrip() for line in made.about()).lstrip()
    room = f"{memory_bytes(made)} bytes in each arz_policy, at most {stack_bytes(made)} bytes of arrays on the stack"
    usage = f"""{about}

   Memory: {room}; no heap.

     static arz_policy policy;               one for each episode at a time
     arz_reset(&policy, 0);                  at the start of an episode; the number names its random numbers, if any
     arz_step(&policy, observation, action); in every step

   Compile with -std=c99 -ffp-contract=off, without -ffast-math, and link with -lm. To check it on a machine:
     cc -std=c99 -ffp-contract=off -DARZ_MAIN -x c FILE -lm -o check && ./check"""
    memory = made.program.memory
    return f"""/* {made.name}: {usage} */
#ifndef ARZ_POLICY_H
#define ARZ_POLICY_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
#error "needs strict IEEE 754 doubles: no -ffast-math, no x87"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

enum {{ ARZ_OBSERVATIONS = {memory.observations}, ARZ_ACTIONS = {memory.actions}, ARZ_DIM = {memory.dim} }};
"""


def _types(made: Exported) -> str:
    structs = []
    for function in range(len(made.code)):
        members = "".join(f"  {_declared(kind, number)};\n" for kind, number in made.registers(function))
        structs.append(f"typedef struct {{\n{members}}} {_memory(function)};\n")
    random = f"  uint64_t key, runs[{len(made.code)}];\n" if made.draws else ""
    members = "".join(f"  {_memory(k)} {_member(k)};\n" for k in range(len(made.code)))
    return "\n".join([*structs, f"typedef struct {{\n{members}{random}}} arz_policy;\n"])


def _declared(kind: str, number: int) -> str:
    places = {"s": "", "i": "", "v": "[ARZ_DIM]", "m": "[ARZ_DIM][ARZ_DIM]"}[kind]
    return f"{'int' if kind == 'i' else 'double'} {kind}{number}{places}"


def _memory(function: int) -> str:
    return "arz_main_memory" if function == 0 else f"arz_f{function - 1}_memory"


def _member(function: int) -> str:
    return "main" if function == 0 else f"f{function - 1}"


def _helpers(code: str) -> Iterator[str]:
    """Those blocks that the code needs, and those that they need."""
    source = resources.files("arz.export").joinpath("elementary.c").read_text("utf-8")
    blocks = dict(HELPERS)
    for block in _filled(source).split("\n\n")[1:]:
        found = re.search(r"\b(arz_\w+)(?:\[\d*\] =|\()", block)
        assert found is not None
        blocks[found[1]] = block.rstrip("\n")
    needed: set[str] = set()
    todo = {name for name in blocks if re.search(rf"\b{name}\b", code)}
    while todo:
        needed |= todo
        todo = {name for name in blocks for known in needed if re.search(rf"\b{name}\b", blocks[known])} - needed
    yield from (block + "\n" for name, block in blocks.items() if name in needed)


def _filled(source: str) -> str:
    """The elementary functions with the constants of `arz.elementary`."""
    digits = f"{elementary.TWO_OVER_PI_DIGITS:0304x}"
    words = [f"0x{digits[k : k + 8]}u" for k in range(0, len(digits), 8)]
    values = {
        **{name: ", ".join(map(repr, getattr(elementary, name))) for name in ("SIN", "COS", "EXP", "LOG", "ARCTAN")},
        "DIGITS": ", ".join(words),
        "HALF_PI": repr(elementary.HALF_PI[0]),
        "HALF_PI_REST": repr(elementary.HALF_PI[1]),
        **{f"HALF_PI_{k}": repr(part) for k, part in enumerate(elementary.HALF_PI_PARTS, 1)},
        "TWO_OVER_PI": repr(elementary.TWO_OVER_PI),
        "LOG2_E": repr(elementary.LOG2_E),
        "ROOT_HALF_BITS": f"UINT64_C({elementary.ROOT_HALF_BITS:#x})",
    }
    for name in ("PI", "QUARTER_PI", "ARCTAN_HALF", "LN2"):
        values |= {f"{name}_{k}": repr(part) for k, part in enumerate(getattr(elementary, name), 1)}
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], source)


def _function(made: Exported, function: int) -> str:
    name = "arz_get_action" if function == 0 else f"arz_f{function - 1}"
    lines = [f"{_memory(function)} *const m = &self->{_member(function)};"]
    for line in made.code[function]:
        lines += _call(made, line) if line.op.is_call else _statement(made, line, function)
    if not made.code[function]:
        lines.append("(void)m;")
    if made.draws:
        lines.append(f"self->runs[{function}] += 1;")
    body = "".join(f"  {line}\n" for line in lines)
    return f"static void {name}(arz_policy *self) {{\n{body}}}\n"


def _statement(made: Exported, line: Instruction, function: int) -> list[str]:
    found = translate(line, C(function))
    comment = f" /* {made.text(line, function)} */"
    target = _target(found, found.register)
    if not found.loops and not found.sum:
        return [f"{target} = {found.value};{comment}"]
    has_room = found.is_shifted and bool(found.loops)
    loops = [_loop(letter) for letter in found.loops]
    depth = "  " * (1 + len(loops))
    lines = [f"{{{comment}"]
    if has_room:
        lines.append(f"  double out{'[ARZ_DIM]' * len(found.loops)};")
        target = _target(found, "out")
    lines += ["  " * (1 + k) + loop + " {" for k, loop in enumerate(loops)]
    over = " ".join(_loop(letter) for letter in found.terms)
    if found.sum:
        lines += [f"{depth}double sum = 0.0;", f"{depth}{over} sum = sum + {found.sum};"]
        if found.spread or "count" in found.value:
            count = " * ".join(["(double)ARZ_DIM"] * len(found.terms))
            lines.insert(len(lines) - 1, f"{depth}const double count = {count};")
    if found.spread:
        lines += [f"{depth}{{", f"{depth}  const double mean = sum / count;", f"{depth}  double sum2 = 0.0;"]
        lines += [f"{depth}  {over} sum2 = sum2 + {found.spread};", f"{depth}  {target} = {found.value};", f"{depth}}}"]
    else:
        lines.append(f"{depth}{target} = {found.value};")
    lines += ["  " * (1 + k) + "}" for k in reversed(range(len(loops)))]
    if has_room:
        lines.append(f"  memcpy({found.register}, out, sizeof out);")
    return [*lines, "}"]


def _loop(letter: str) -> str:
    return f"for (int {letter} = 0; {letter} < ARZ_DIM; ++{letter})"


def _target(found: LineFormula, register: str) -> str:
    return register + "".join(f"[{place}]" for place in found.places)


def _call(made: Exported, line: Instruction) -> list[str]:
    callee, *arguments = (int(value) for value in line.inputs)
    to = f"self->{_member(callee + 1)}"
    lines = [f"if (m->s{arguments[0]} < m->s{arguments[1]}) {{ /* {made.text(line, 0)} */"]
    for (kind, place), source in zip(CALL_ARGUMENTS, arguments, strict=True):
        if source != NONE:
            lines.append(f"  {_copied(kind, f'{to}.{kind}{place}', f'm->{kind}{source}')}")
    lines.append(f"  arz_f{callee}(self);")
    for (kind, target), (_, source) in made.returned(line).items():
        lines.append(f"  {_copied(kind, f'm->{kind}{target}', f'{to}.{kind}{source}')}")
    return [*lines, "}"]


def _copied(kind: str, to: str, source: str) -> str:
    return f"memcpy({to}, {source}, sizeof {to});" if kind == "v" else f"{to} = {source};"


def _face(made: Exported) -> str:
    memory = made.program.memory
    kind, number = memory.action
    zeros = "".join(f"  memset(&self->{_member(k)}, 0, sizeof self->{_member(k)});\n" for k in range(len(made.code)))
    starts = "".join(_start(kind_, number_, value) for (kind_, number_), value in made.starts())
    random = "  self->key = key;\n  memset(self->runs, 0, sizeof self->runs);\n" if made.draws else "  (void)key;\n"
    forgets = "" if memory.stateful else "  arz_start(self); /* it remembers nothing */\n"
    pad = "" if memory.dim == memory.observations else "  memset(self->main.v1, 0, sizeof self->main.v1);\n"
    action = (
        f"  action[0] = self->main.s{number};\n"
        if kind == "s"
        else f"  memcpy(action, self->main.v{number}, ARZ_ACTIONS * sizeof(double));\n"
    )
    return f"""/* The memory as an episode starts with it. */
static void arz_start(arz_policy *self) {{
{zeros}{starts}}}

/* Starts an episode. */
static inline void arz_reset(arz_policy *self, uint64_t key) {{
  arz_start(self);
{random}}}

/* One step: what is seen in, what to do out. */
static inline void arz_step(arz_policy *self, const double observation[ARZ_OBSERVATIONS], double action[ARZ_ACTIONS]) {{
{forgets}{pad}  memcpy(self->main.v1, observation, ARZ_OBSERVATIONS * sizeof(double));
  arz_get_action(self);
{action}}}
"""


def _start(kind: str, number: int, value: NDArray[np.float64]) -> str:
    if kind == "s":
        return f"  self->main.s{number} = {float(value)!r};\n"
    places = "[ARZ_DIM]" * value.ndim
    return (
        f"  {{\n    static const double start{places} = {_values(value)};\n"
        f"    memcpy(self->main.{kind}{number}, start, sizeof start);\n  }}\n"
    )


def _values(value: NDArray[np.float64]) -> str:
    inside = [_values(row) for row in value] if value.ndim > 1 else [_plain(x) for x in value.tolist()]
    return "{" + (",\n     " if value.ndim > 1 else ", ").join(inside) + "}"


def _plain(value: float) -> str:
    return repr(value) if math.isfinite(value) else {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}[repr(value)]


def _check(made: Exported) -> str:
    steps = len(made.observations)
    return f"""#if defined(ARZ_MAIN) || defined(ARZ_SELF_CHECK)
static const double arz_test_observations[{steps}][ARZ_OBSERVATIONS] = {_values(made.observations)};
static const double arz_test_actions[{steps}][ARZ_ACTIONS] = {_values(made.actions)};

/* In how many of {steps} steps an action differs from the known one in any bit (any NaN is as good as another). */
static inline int arz_self_check(void) {{
  static arz_policy policy;
  int wrong = 0;
  arz_reset(&policy, {TEST_KEY});
  for (int t = 0; t < {steps}; ++t) {{
    double action[ARZ_ACTIONS];
    int differs = 0;
    arz_step(&policy, arz_test_observations[t], action);
    for (int e = 0; e < ARZ_ACTIONS; ++e) {{
      const double known = arz_test_actions[t][e];
      differs |= memcmp(&action[e], &known, sizeof known) != 0 && !(isnan(action[e]) && isnan(known));
    }}
    wrong += differs;
  }}
  return wrong;
}}
#endif

#if defined(ARZ_MAIN)
#include <stdio.h>

int main(void) {{
  const int wrong = arz_self_check();
  if (wrong)
    printf("{made.name}: %d of {steps} steps differ from those of arz\\n", wrong);
  else
    printf("{made.name}: {steps} steps equal those of arz bit for bit\\n");
  return wrong != 0;
}}
#endif
"""
