"""A program as a Python module that needs NumPy only."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz import elementary
from arz.export.exported_program import TAKEN_AS_IT_IS, TEST_KEY, Exported, Taken
from arz.export.formulas import LineFormula, translate
from arz.ops import CALL_ARGUMENTS, ELEMENTARY
from arz.program import NONE, Instruction, Program
from arz.streams import GOLDEN, MASK

HELPERS = {
    "total": '''def total(terms):
    """The sum, in order."""
    result = np.float64(0.0)
    for term in terms:
        result = result + term
    return result
''',
    "square": """def square(x):
    return x * x
""",
    "heaviside": """def heaviside(x):
    return np.where(np.greater(x, 0), 1.0, 0.0)[()]
""",
    "minimum": """def minimum(a, b):
    return np.where(np.less(a, b) | np.isnan(a), a, b)[()]
""",
    "maximum": """def maximum(a, b):
    return np.where(np.less(b, a) | np.isnan(a), a, b)[()]
""",
    "within": """def within(k, last, term):
    return term if k <= last else np.float64(0.0)
""",
    "exact": '''def exact(function, *arguments):
    """A function of floats, element by element."""
    arrays = np.broadcast_arrays(*arguments)
    each = zip(*(array.ravel().tolist() for array in arrays))
    return np.array([function(*values) for values in each]).reshape(arrays[0].shape)[()]
''',
    "random": f'''def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & {MASK:#x}
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & {MASK:#x}
    return x ^ (x >> 31)


def random(key, tick, stream):
    """The number in [0, 1) that a random stream gives in run number `tick` of a function."""
    first = mix((key + {GOLDEN:#x} * (tick + 1)) & {MASK:#x})
    return (mix((first + {GOLDEN:#x} * (stream + 1)) & {MASK:#x}) >> 11) * 2.0**-53
''',
}
"""What the lines of a program may need."""


@dataclass(frozen=True)
class Python:
    """How Python spells things."""

    function: int
    memory: str
    is_whole: ClassVar[bool] = True
    functions: ClassVar[dict[str, str]] = {
        "abs": "np.abs",
        "sqrt": "np.sqrt",
        "sum": "first",
        "sum2": "second",
        "n": "DIM",
        **{name: f"exact_{name}" for name in ELEMENTARY},
    }

    def register(self, kind: str, number: int) -> str:
        """An attribute."""
        return f"{self.memory}.{kind}{number}"

    def element(self, register: str, places: Sequence[str]) -> str:
        """With brackets."""
        return f"{register}[{', '.join(places)}]" if places else register

    def random(self, stream: str) -> str:
        """From the episode's key and the number of runs of the function."""
        return f"random(self.key, self.runs[{self.function}], {stream})"


def to_python(
    program: Program, *, name: str = "arz", observations: ArrayLike | None = None, taken: Taken = TAKEN_AS_IT_IS
) -> str:
    """A Python module: `Policy().step(observation)`, `Policy().reset(key)`, `self_check()`.

    Args:
        program: what to export.
        name: what the module says it is.
        observations: for the test vectors [step, entry]; random ones by default.
        taken: what the world does with the actions, to be told at the top.

    Raises:
        ValueError: the name or the observations do not fit.
    """
    made = Exported.of(program, name, observations, taken)
    steps = [f"    def {_method(k)}(self):\n{_body(made, k)}" for k in range(len(made.code))]
    policy = "\n".join([_class_head(made), *steps])
    blocks = [_head(made), *_helpers(made, policy), policy, _check(made)]
    return "\n\n".join(blocks)


def _head(made: Exported) -> str:
    memory = made.program.memory
    about = "\n".join(made.about())
    modules = "import math\nimport struct\n\n" if made.elementary else ""
    return f'''"""{made.name}: {about}

Policy().step(observation) is one step, reset() starts an episode; run this file to check it.
"""

{modules}import numpy as np

OBSERVATIONS, ACTIONS, DIM = {memory.observations}, {memory.actions}, {memory.dim}
'''


def _helpers(made: Exported, code: str) -> Iterator[str]:
    if made.elementary:
        source = inspect.getsource(elementary)
        yield "# ---- elementary functions, the same on every machine ----\n" + source[source.index("MAGIC =") :]
    needed = {name for name in HELPERS if f"{name}(" in code} | ({"exact"} if made.elementary else set())
    yield from (HELPERS[name] for name in HELPERS if name in needed)
    for name in sorted(made.elementary):
        yield f"def exact_{name}(*values):\n    return exact({name}, *values)\n"


def _method(function: int) -> str:
    return "get_action" if function == 0 else f"f{function - 1}"


def _class_head(made: Exported) -> str:
    memory = made.program.memory
    kind, number = memory.action
    action = f"[self.main.{kind}{number}]" if kind == "s" else f"self.main.{kind}{number}[:ACTIONS]"
    forgets = "" if memory.stateful else "        self.start()  # it remembers nothing\n"
    return f'''class Memory:
    """The registers of a function."""


class Policy:
    """The policy: one episode at a time."""

    def __init__(self):
        self.reset()

    def reset(self, key=0):
        """Starts an episode; the key names its random numbers, if it uses any."""
        self.key = int(key)
        self.runs = [0] * {len(made.code)}
        self.start()

    def start(self):
        """The memory as an episode starts with it."""
{_start(made)}
    def step(self, observation):
        """One step: what is seen in, what to do out."""
        seen = np.zeros(DIM)
        seen[:OBSERVATIONS] = observation
{forgets}        self.main.v1 = seen
        with np.errstate(all="ignore"):
            self.get_action()
        return np.array({action}, np.float64)
'''


def _start(made: Exported) -> str:
    lines, values = [], dict(made.starts())
    shapes = {"s": "np.float64(0.0)", "v": "np.zeros(DIM)", "m": "np.zeros((DIM, DIM))", "i": "0"}
    for function in range(len(made.code)):
        memory = _memory(function)
        lines.append(f"self.{memory} = Memory()")
        for kind, number in made.registers(function):
            value = shapes[kind]
            if function == 0 and (kind, number) in values:
                value = _number(values[kind, number])
            lines.append(f"self.{memory}.{kind}{number} = {value}")
    return "".join(f"        {line}\n" for line in lines)


def _memory(function: int) -> str:
    return "main" if function == 0 else f"memory{function - 1}"


def _number(value: NDArray[np.float64]) -> str:
    return f"np.float64({float(value)!r})" if value.ndim == 0 else f"np.array({value.tolist()!r})"


def _body(made: Exported, function: int) -> str:
    lines = [f"m = self.{_memory(function)}"]
    for line in made.code[function]:
        lines += _call(made, line) if line.op.is_call else _statement(made, line, function)
    lines.append(f"self.runs[{function}] += 1")
    return "".join(f"        {line}\n" for line in lines)


def _statement(made: Exported, line: Instruction, function: int) -> list[str]:
    found = translate(line, Python(function, "m"))
    comment = f"  # {made.text(line, function)}"
    if not found.loops and not found.sum:
        is_plain = line.op.outputs[0] == "s" and not set(line.op.inputs) & set("svm")  # a float of Python's
        value = f"np.float64({found.value})" if is_plain else found.value
        return [f"{_target(found)} = {value}{comment}"]
    lines = []
    loops = [f"for {letter} in range(DIM):" for letter in found.loops]
    target = _target(found)
    if found.is_shifted and found.loops:
        lines.append(f"out = np.empty({'DIM' if len(found.loops) == 1 else '(DIM, DIM)'})")
        target = f"out[{', '.join(found.places)}]"
    depth = "    " * len(loops)
    lines += ["    " * k + loop for k, loop in enumerate(loops)]
    over = " ".join(f"for {letter} in range(DIM)" for letter in found.terms)
    count = " * ".join(["DIM"] * len(found.terms))
    if found.sum:
        lines.append(f"{depth}first = total({found.sum} {over})")
    if found.spread:
        lines += [f"{depth}mean = first / ({count})", f"{depth}second = total({found.spread} {over})"]
    value = found.value.replace("count", f"({count})")
    lines.append(f"{depth}{target} = {value}")
    if found.is_shifted and found.loops:
        lines.append(f"{found.register} = out")
    lines[0] += comment
    return lines


def _target(found: LineFormula) -> str:
    return f"{found.register}[{', '.join(found.places)}]" if found.places else found.register


def _call(made: Exported, line: Instruction) -> list[str]:
    callee, *arguments = (int(value) for value in line.inputs)
    to = f"self.{_memory(callee + 1)}"
    lines = [f"if m.s{arguments[0]} < m.s{arguments[1]}:  # {made.text(line, 0)}"]
    for (kind, place), source in zip(CALL_ARGUMENTS, arguments, strict=True):
        if source != NONE:
            lines.append(f"    {to}.{kind}{place} = {_copied(f'm.{kind}{source}', kind)}")
    lines.append(f"    self.{_method(callee + 1)}()")
    for (kind, target), (_, source) in made.returned(line).items():
        lines.append(f"    m.{kind}{target} = {_copied(f'{to}.{kind}{source}', kind)}")
    return lines


def _copied(register: str, kind: str) -> str:
    return f"{register}.copy()" if kind == "v" else register


def _check(made: Exported) -> str:
    return f'''TEST_OBSERVATIONS = np.array({_rows(made.observations)})
TEST_ACTIONS = np.array({_rows(made.actions)})


def self_check():
    """Whether an episode of known observations gives the known actions, bit for bit."""
    policy = Policy()
    policy.reset({TEST_KEY})
    found = np.array([policy.step(observation) for observation in TEST_OBSERVATIONS])
    is_same = found.view(np.uint64) == TEST_ACTIONS.view(np.uint64)
    return bool(np.all(is_same | np.isnan(found) & np.isnan(TEST_ACTIONS)))


if __name__ == "__main__":
    if not self_check():
        raise SystemExit("{made.name}: the actions are not those of arz")
    print(f"{made.name}: {{len(TEST_ACTIONS)}} steps equal those of arz bit for bit")
'''


def _rows(values: NDArray[np.float64]) -> str:
    rows = ",\n".join("    [" + ", ".join(_plain(value) for value in row) + "]" for row in values.tolist())
    return f"[\n{rows},\n]"


def _plain(value: float) -> str:
    return repr(value) if np.isfinite(value) else {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}[repr(value)]
