"""Programs: what a policy is.

A `Program` is a linear register machine: a `Memory` of typed registers, the constants that they start
an episode with, the instructions of `GetAction`, and up to six conditionally invoked functions
(CADFs). Inside it is packed arrays, the same bytes that the native core works on; outside it is a text that
a person can read (`text.py`).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.native import ByFields, core
from arz.ops import NUMBER, OPS, Op

if TYPE_CHECKING:
    from arz.complexity import Complexity
    from arz.interpreter import Interpreter

MAX_CADFS = core.MAX_CADFS
"""A program has at most this many CADFs."""

NONE = core.NONE
"""An argument or result of a call that is not passed; `_` in text."""

INSTRUCTION = np.dtype([("constants", "<f8", (2,)), ("op", "<u2"), ("args", "<u2", (12,)), ("unused", "<u2", (3,))])
"""A packed instruction: 48 bytes. Fields that an op does not use are zero."""

ROWS = re.compile(r"(\w+)\[(\d{1,4}):(\d{1,4})\]", re.ASCII)
"""Some rows of a register."""

REGISTERS = ("scalars", "vectors", "matrices", "indices")
"""The fields of a memory that count registers."""

ARRAYS = ("instructions", "lengths", "cadfs", "images")
"""What a batch consists of."""

Code = NDArray[Any]
"""The packed instructions of one function, a one-dimensional array of `INSTRUCTION`."""


@dataclass(frozen=True)
class Memory(ByFields):
    """What a program can see, do and remember.

    `v1` receives the observation; the action is `s3` if there is one, the first entries of `v4` if
    there are several. Neither is cleared between steps. A stateless program (`stateful=False`) starts
    every step with all memory as at the start of the episode.

    Raises:
        ValueError: a number is out of range, or too small for the observation and the action.
    """

    observations: int
    actions: int
    scalars: int = 16
    vectors: int = 16
    matrices: int = 0
    indices: int = 16
    stateful: bool = True

    def __post_init__(self) -> None:
        for name in ("observations", "actions", *REGISTERS):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**31:
                raise ValueError(f"{name} must be a whole number, not {value!r}")
        if not isinstance(self.stateful, bool):
            raise ValueError(f"stateful must be True or False, not {self.stateful!r}")
        _ = self.native  # refuses what is out of range

    @cached_property
    def native(self) -> core.MemoryShape:
        """The same, as the native core knows it."""
        counts = (self.scalars, self.vectors, self.matrices, self.indices)
        return core.memory_shape(self.observations, self.actions, *counts, self.stateful)

    @property
    def dim(self) -> int:
        """The length of a vector: the observation's, or the action's where that is larger."""
        return max(self.observations, self.actions)

    @property
    def action(self) -> tuple[str, int]:
        """Kind and number of the register that holds the action."""
        return ("s", 3) if self.actions == 1 else ("v", 4)

    def count(self, kind: str) -> int:
        """How many registers of a kind there are."""
        return {"s": self.scalars, "v": self.vectors, "m": self.matrices, "i": self.indices}[kind]

    def shape(self, kind: str) -> tuple[int, ...]:
        """The array shape of one register of a kind."""
        return {"s": (), "v": (self.dim,), "m": (self.dim, self.dim), "i": ()}[kind]

    @property
    def image_size(self) -> int:
        """How many numbers an episode starts with: every scalar, vector and matrix."""
        return self.scalars + self.vectors * self.dim + self.matrices * self.dim**2

    def batch(self, arrays: Mapping[str, NDArray[Any]]) -> Batch:
        """The programs whose arrays these are.

        Raises:
            ValueError: they do not fit this memory.
            KeyError: one is missing.
        """
        return Batch(self, core.batch(self.native, *(arrays[name] for name in ARRAYS)))

    def register(self, name: str) -> tuple[str, int]:
        """Kind and number of a scalar, vector or matrix register, by its name.

        Raises:
            ValueError: there is none.
        """
        kind, number = name[:1], name[1:]
        if kind not in ("s", "v", "m") or not number.isdecimal() or int(number) >= self.count(kind):
            raise ValueError(f"there is no register {name!r} that starts with a number")
        return kind, int(number)

    def image_slice(self, kind: str, number: int) -> slice:
        """Where the start value of a register lies in the flat image."""
        size = int(np.prod(self.shape(kind)))
        before = {"s": 0, "v": self.scalars, "m": self.scalars + self.vectors * self.dim}[kind]
        return slice(before + number * size, before + (number + 1) * size)

    def image_part(self, name: str) -> NDArray[np.int64]:
        """Where the start value of a register, such as m1, or of some of its rows, such as m1[0:12], lies in the image.

        Raises:
            ValueError: there is none.
        """
        found = ROWS.fullmatch(name)
        kind, number = self.register(found[1] if found else name)
        places = np.arange(self.image_size)[self.image_slice(kind, number)].reshape(self.shape(kind))
        if not found:
            return places.ravel()
        first, end = int(found[2]), int(found[3])
        if kind == "s" or not first < end <= self.dim:
            raise ValueError(f"{kind}{number} has no rows {first} to {end}")
        return places[first:end].ravel()


@dataclass(frozen=True)
class Instruction:
    """One line of a program: an op, its arguments (outputs first, as `Op.slots`) and its constants.

    Raises:
        ValueError: there are more or fewer than the op has, or an argument is out of range.
    """

    op: Op
    args: tuple[int, ...]
    constants: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if (len(self.args), len(self.constants)) != (len(self.op.slots), self.op.constants):
            wanted = f"{len(self.op.slots)} arguments and {self.op.constants} constants"
            raise ValueError(f"{self.op.name} has {wanted}, not {len(self.args)} and {len(self.constants)}")
        if not all(0 <= operator.index(value) <= NONE for value in self.args):
            raise ValueError(f"an argument of {self.op.name} is not a number from 0 to {NONE}: {self.args}")

    @classmethod
    def unpack(cls, record: Any) -> Instruction:
        """An instruction from its packed form."""
        op = OPS[int(record["op"])]
        args = tuple(int(value) for value in record["args"][: len(op.slots)])
        return cls(op, args, tuple(float(value) for value in record["constants"][: op.constants]))

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        """Kind and number of each register that receives a result."""
        return tuple(zip(self.op.outputs, self.args, strict=False))

    @property
    def inputs(self) -> tuple[int | float, ...]:
        """The value of each input in the order of the signature: register number, position or constant."""
        args, constants = iter(self.args[len(self.op.outputs) :]), iter(self.constants)
        return tuple(next(constants) if kind == "k" else next(args) for kind in self.op.inputs)


def pack_code(lines: Iterable[Instruction]) -> Code:
    """Instructions in packed form."""
    lines = list(lines)
    code = np.zeros(len(lines), INSTRUCTION)
    for record, line in zip(code, lines, strict=True):
        record["op"] = NUMBER[line.op.name]
        record["args"][: len(line.args)] = line.args
        record["constants"][: len(line.constants)] = line.constants
    return code


def last_written(lines: Iterable[Instruction]) -> tuple[int, int, int]:
    """The scalar, vector and index register that these lines write last; 0 where they write none."""
    last = {"s": 0, "v": 0, "i": 0}
    for line in lines:
        last.update(line.outputs)
    return last["s"], last["v"], last["i"]


@dataclass(frozen=True, eq=False)
class Program(ByFields):
    """A control program. Equal programs are equal bit for bit.

    `functions[0]` is `GetAction`, the others are the CADFs `f0`, `f1`, ... `image` holds the start
    values: scalars, then vectors, then matrices, row by row; indices start at zero.

    Raises:
        ValueError: an instruction names something that does not exist, or a constant is not finite.
    """

    memory: Memory
    functions: tuple[Code, ...]
    image: NDArray[np.float64]

    title = "a program"

    def __post_init__(self) -> None:
        if not 1 <= len(self.functions) <= 1 + MAX_CADFS:
            raise ValueError(
                f"a program has 1 to {1 + MAX_CADFS} functions, GetAction first, not {len(self.functions)}"
            )
        for code in self.functions:
            if not isinstance(code, np.ndarray) or code.dtype != INSTRUCTION or code.ndim != 1:
                raise ValueError("a function must be a one-dimensional array of packed instructions (pack_code)")
        image = np.array(self.image, np.float64)
        if image.shape != (self.memory.image_size,):
            raise ValueError(f"expected {self.memory.image_size} start values, got an array of shape {image.shape}")
        functions = tuple(np.array(code) for code in self.functions)
        for array in (image, *functions):
            array.flags.writeable = False
        object.__setattr__(self, "image", image)
        object.__setattr__(self, "functions", functions)
        _ = self.packed  # refuses what is not valid

    def with_memory(self, memory: Memory) -> Program:
        """The same in a memory that has as many registers of each kind, or more.

        Raises:
            ValueError: that has fewer registers, or another observation or action.
        """
        same = replace(self.memory, **{name: getattr(memory, name) for name in REGISTERS}) == memory
        if not same or any(getattr(memory, name) < getattr(self.memory, name) for name in REGISTERS):
            raise ValueError(f"a program with {self.memory} does not fit into {memory}")
        image = np.zeros(memory.image_size)
        for kind in "svm":
            for number in range(self.memory.count(kind)):
                image[memory.image_slice(kind, number)] = self.image[self.memory.image_slice(kind, number)]
        return Program(memory, self.functions, image)

    @classmethod
    def build(
        cls,
        memory: Memory,
        get_action: Iterable[Instruction],
        cadfs: Sequence[Iterable[Instruction]] = (),
        image: NDArray[np.float64] | None = None,
    ) -> Program:
        """A program from its instructions; without an image all registers start at zero."""
        functions = (pack_code(get_action), *(pack_code(body) for body in cadfs))
        return cls(memory, functions, np.zeros(memory.image_size) if image is None else image)

    @cached_property
    def packed(self) -> core.Batch:
        """The program as a native batch of one."""
        return _pack(self.memory, [self])

    @property
    def shape(self) -> Memory:
        """What it has in common with those it can be packed with."""
        return self.memory

    @property
    def observations(self) -> int:
        """How many numbers it sees."""
        return self.memory.observations

    @property
    def actions(self) -> int:
        """How many it gives."""
        return self.memory.actions

    @property
    def batch(self) -> Batch:
        """A batch of it alone."""
        return Batch(self.memory, self.packed)

    @classmethod
    def pack(cls, policies: Sequence[Program]) -> Batch:
        """A batch of programs; see `Batch.pack`."""
        return Batch.pack(policies)

    def interpreter(self, lanes: int = 1) -> Interpreter:
        """What runs it step by step."""
        from arz.interpreter import Interpreter

        return Interpreter(self, lanes)

    def complexity(self, as_written: bool = False) -> Complexity:
        """What it costs; see `arz.complexity`."""
        from arz.complexity import program_complexity

        return program_complexity(self, as_written)

    def essential(self) -> Program:
        """The same without code that cannot influence an action; see `arz.effective`."""
        from arz.simplify import effective

        return effective(self).program

    def for_reading(self) -> Program:
        """The same with registers of its own for each part of the memory; see `arz.readable`."""
        from arz.simplify import with_own_names

        return with_own_names(self)

    def describe(self) -> str:
        """Lines, parameters and FLOPs, in a sentence."""
        cost = self.complexity()
        return (
            f"Cost without dead code: {cost.lines} line{'' if cost.lines == 1 else 's'}, {cost.parameters} parameters "
            f"({cost.memory} numbers in memory), {cost.flops} FLOPs per step."
        )

    @property
    def cadfs(self) -> int:
        """The number of CADFs."""
        return len(self.functions) - 1

    def lines(self, function: int = 0) -> list[Instruction]:
        """The instructions of a function: 0 is GetAction, 1 the first CADF."""
        return [Instruction.unpack(record) for record in self.functions[function]]

    def start(self, kind: str, number: int) -> NDArray[np.float64]:
        """The value with which a scalar, vector or matrix register starts an episode."""
        return self.image[self.memory.image_slice(kind, number)].reshape(self.memory.shape(kind))

    def returns(self, function: int) -> tuple[int, int, int]:
        """The scalar, vector and index register that a CADF returns: those written last, else register 0."""
        return last_written(self.lines(function))

    @classmethod
    def parse(cls, text: str, source: str = "program") -> Program:
        """A program from its text; see `arz.parser.parse`."""
        from arz.parser import parse

        return parse(text, source)

    @classmethod
    def load(cls, path: str | Path) -> Program:
        """A program from an `.arz` file; see `arz.parser.load`."""
        from arz.parser import load

        return load(path)

    def save(self, path: str | Path) -> None:
        """Writes the text form to a new file.

        Raises:
            FileExistsError: nothing is overwritten.
        """
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(str(self))

    def __str__(self) -> str:
        from arz.text import render

        return render(self)

    def __repr__(self) -> str:
        lengths = ", ".join(str(len(code)) for code in self.functions)
        return f"<Program of {lengths} lines, {self.memory.observations} observations, {self.memory.actions} actions>"

    def _bytes(self) -> tuple[bytes, ...]:
        return (self.image.tobytes(), *(code.tobytes() for code in self.functions))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self.memory == other.memory and self._bytes() == other._bytes()

    def __hash__(self) -> int:
        return hash((self.memory, self._bytes()))


@dataclass(frozen=True, eq=False)
class Batch:
    """Many programs of one memory, packed side by side in the native core: what a search works on.

    Batches of equal programs in the same order are equal.
    """

    memory: Memory
    core: core.Batch

    @property
    def shape(self) -> Memory:
        """What its programs have in common."""
        return self.memory

    @property
    def batch(self) -> Batch:
        """Itself."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that its programs are, by name; `Memory.batch` takes it back."""
        return dict(zip(ARRAYS, self.core.arrays(), strict=True))

    def encoded(self, first: int, last: int) -> dict[str, Any]:
        """Some of its programs as plain values that travel: only what can influence an action."""
        return {"memory": asdict(self.memory), "programs": self.core.encoded(first, last)}

    @classmethod
    def decoded(cls, values: Mapping[str, Any]) -> Batch:
        """The programs that `encoded` gave."""
        memory = Memory(**values["memory"])
        return cls(memory, core.decoded(memory.native, values["programs"]))

    @classmethod
    def pack(cls, programs: Sequence[Program]) -> Batch:
        """A batch from programs.

        Raises:
            ValueError: there is none, or their memories differ.
        """
        if not programs:
            raise ValueError("a batch needs at least one program, to know its memory")
        memory = programs[0].memory
        if any(program.memory != memory for program in programs):
            raise ValueError("the programs of a batch must have one memory")
        return cls(memory, _pack(memory, programs))

    def __reduce__(self) -> tuple[Any, ...]:
        return _batch_of, (self.memory, *self.core.arrays())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return self.memory == other.memory and len(self) == len(other) and self._bytes() == other._bytes()

    def __hash__(self) -> int:
        return hash((self.memory, len(self)))

    def _bytes(self) -> tuple[bytes, ...]:
        arrays: tuple[NDArray[Any], ...] = self.core.arrays()
        return tuple(array.tobytes() for array in arrays)

    def __len__(self) -> int:
        return len(self.core)

    def __getitem__(self, index: int) -> Program:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"program {index} is not in a batch of {len(self)}")
        return Batch(self.memory, self.core.selected(np.array([index % len(self)]))).unpack()[0]

    def take(self, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
        """The programs at these positions, as a batch."""
        return Batch(self.memory, self.core.selected(as_positions(indices)))

    def __add__(self, other: Batch) -> Batch:
        return Batch(self.memory, self.core.joined(other.core))

    def unpack(self) -> list[Program]:
        """The programs, one by one."""
        instructions, lengths, cadfs, images = self.core.arrays()
        code = np.frombuffer(instructions.tobytes(), INSTRUCTION)
        ends = np.cumsum(lengths.ravel()).reshape(lengths.shape)
        return [
            Program(
                self.memory,
                tuple(code[end - length : end] for end, length in zip(ends[p, : n + 1], lengths[p], strict=False)),
                images[p],
            )
            for p, n in enumerate(cadfs)
        ]


def _batch_of(memory: Memory, *arrays: NDArray[Any]) -> Batch:
    """The batch whose arrays these are."""
    return Batch(memory, core.batch(memory.native, *arrays))


def as_positions(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in a batch as the native core takes them.

    Raises:
        ValueError: they are not whole numbers.
    """
    given = np.asarray(values)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"expected positions that are whole numbers, got numbers of type {given.dtype}")
    return np.ascontiguousarray(given, np.int64)


def _pack(memory: Memory, programs: Sequence[Program]) -> core.Batch:
    code = [code for program in programs for code in program.functions]
    joined = np.concatenate(code) if code else np.zeros(0, INSTRUCTION)
    lengths = np.zeros((len(programs), 1 + MAX_CADFS), np.int64)
    for row, program in zip(lengths, programs, strict=True):
        row[: len(program.functions)] = [len(code) for code in program.functions]
    cadfs = np.array([program.cadfs for program in programs], np.uint8)
    images = np.stack([program.image for program in programs])
    raw = np.ascontiguousarray(joined).view(np.uint8).reshape(len(joined), INSTRUCTION.itemsize)
    return core.batch(memory.native, raw, lengths, cadfs, images)
