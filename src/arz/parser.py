"""The parser of the readable form: text to program, with errors that show the line and a caret.

A line is matched against the op table's own texts (`Op.statement`), so the parser knows no op by name but the
call. Nothing is run; time and memory are bounded by the length of the text, which is cut into tokens line by line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from arz.files import NotTextError, decoded, read_bytes, read_stream
from arz.names import did_you_mean
from arz.ops import OP, OPS, Op
from arz.program import MAX_CADFS, NONE, Instruction, Memory, Program, last_written
from arz.text import ARGUMENTS, GET_ACTION_ARGUMENTS, KIND_PLURALS, register_number
from arz.tokens import MAX_CHARACTERS, TOKEN, LogicalLine, ParseError, Token, TokenizedText, quoted, shown

FUNCTION = re.compile(r"f(0|[1-9]\d{0,4})$", re.ASCII)
WHOLE = re.compile(r"\d{1,9}", re.ASCII)
KIND_NAMES = {
    "s": "a scalar register",
    "v": "a vector register",
    "m": "a matrix register",
    "i": "an index register",
    "k": "a number",
    "d": "an element position",
    "r": "a stream number",
    "f": "a function",
}


def load(path: str | Path) -> Program:
    """A program from an `.arz` file.

    Raises:
        ParseError: the file is not a program.
        ValueError: it is not a regular file.
        OSError: the file cannot be read.
    """
    return decode(read_bytes(path, MAX_CHARACTERS), str(path))


def read(file: BinaryIO, source: str) -> Program:
    """A program from an open file. `source` names it in errors. Reads no more than a program may have.

    Raises:
        ParseError: the file does not hold the text of a program.
    """
    return decode(read_stream(file, MAX_CHARACTERS), source)


def decode(data: bytes, source: str) -> Program:
    """A program from the bytes of its text. `source` names them in errors.

    Raises:
        ParseError: the bytes are not the text of a program.
    """
    try:
        text = decoded(data, source, MAX_CHARACTERS)
    except NotTextError as error:
        raise ParseError(error.problem, source, error.line, 0, "") from None
    return parse(text, source)


def parse(text: str, source: str = "program") -> Program:
    """A program from its text. `source` names the text in errors.

    Raises:
        ParseError: the text is not a program.
        TypeError: it is not even text.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected the text of a program, got {type(text).__name__}")
    return _Parser(text, source).program()


class _Parser(TokenizedText):
    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.called: list[Token] = []

    # -- the program --

    def program(self) -> Program:
        memory = self.memory()
        image = np.zeros(memory.image_size)
        bodies: dict[str, list[Instruction]] = {}
        started = False
        while (line := self.next_line(indented=False)) is not None:
            name = self.header(line, memory, bodies, started)
            if name == "StartEpisode":
                started = True
                self.start_values(memory, image)
            else:
                bodies[name] = self.body(memory, name)
        if (line := self.peek()) is not None:
            raise self.fail(line.tokens[0], "expected a line that starts at the margin, found an indented one")
        last = self.end
        if "GetAction" not in bodies:
            raise self.fail(last, "expected 'def GetAction(obs, action):', found the end of the text")
        cadfs = [bodies[f"f{n}"] for n in range(len(bodies) - 1)]
        for token in self.called:
            if token.text not in bodies:
                raise self.fail(token, f"function {token.text} does not exist, the program has {len(cadfs)}")
        try:
            return Program.build(memory, bodies["GetAction"], cadfs, image)
        except ValueError as error:
            raise self.fail(last, str(error)) from None

    def memory(self) -> Memory:
        line = self.next_line(indented=False)
        if line is None:
            found = self.peek()
            place = found.tokens[0] if found is not None else self.end
            raise self.fail(place, "expected 'memory(observations=..., actions=..., ...)' as the first line")
        tokens = line.tokens
        self.expect(tokens[:2], "memory", "(")
        values: dict[str, Any] = {}
        at = 2
        names = [field.name for field in fields(Memory)]
        while tokens[at].text != ")":
            name = tokens[at]
            if name.text not in names or name.text in values:
                problem = "given twice" if name.text in values else f"expected one of {', '.join(names)}"
                raise self.fail(name, f"{problem}, found {shown(name)}{_hint(name.text, names)}")
            self.expect(tokens[at + 1 : at + 2], "=")
            value = tokens[at + 2]
            if name.text == "stateful":
                if value.text not in ("True", "False"):
                    raise self.fail(value, f"expected True or False, found {shown(value)}")
                values[name.text] = value.text == "True"
            else:
                values[name.text] = self.whole(value)
            at += 3
            if tokens[at].text == ",":
                at += 1
            elif tokens[at].text != ")":
                raise self.fail(tokens[at], f"expected ',' or ')', found {shown(tokens[at])}")
        self.expect(tokens[at:], ")")
        for name_wanted in ("observations", "actions"):
            if name_wanted not in values:
                raise self.fail(tokens[0], f"expected {name_wanted}=... in memory(...)")
        try:
            return Memory(**values)
        except ValueError as error:
            raise self.fail(tokens[0], str(error)) from None

    def header(self, line: LogicalLine, memory: Memory, bodies: dict[str, list[Instruction]], started: bool) -> str:
        """Reads a `def` line and returns the function's name."""
        tokens = line.tokens
        self.expect(tokens[:1], "def")
        name = tokens[1].text
        cadfs = sum(body != "GetAction" for body in bodies)
        known = ["StartEpisode", "GetAction", *(f"f{n}" for n in range(MAX_CADFS))]
        if name not in known:
            wanted = f"StartEpisode, GetAction or f0 to f{MAX_CADFS - 1}"
            raise self.fail(tokens[1], f"expected {wanted}, found {shown(tokens[1])}{_hint(name, known)}")
        if name in bodies or (name == "StartEpisode" and started):
            raise self.fail(tokens[1], f"{name} is defined twice")
        if name.startswith("f") and name != f"f{cadfs}":
            raise self.fail(tokens[1], f"expected f{cadfs}, the next function in order, found {name!r}")
        if name.startswith("f") and (memory.scalars < 4 or memory.indices < 2):
            raise self.fail(tokens[1], "a function takes four scalars and two indices, the memory has fewer")
        arguments = {"StartEpisode": "", "GetAction": GET_ACTION_ARGUMENTS}.get(name, ARGUMENTS)
        signature = [match[0] for match in TOKEN.finditer(f"def {name}({arguments}):")]
        self.expect(tokens, *signature)
        return name

    def start_values(self, memory: Memory, image: NDArray[np.float64]) -> None:
        seen: set[str] = set()
        while (line := self.next_line(indented=True)) is not None:
            tokens = line.tokens
            if [token.text for token in tokens] == ["pass", ""]:
                continue
            kind, number = self.register(tokens[0], "svm", memory, in_get_action=True)
            if (name := f"{kind}{number}") in seen:
                raise self.fail(tokens[0], f"{tokens[0].text} is set twice")
            seen.add(name)
            self.expect(tokens[1:2], "=")
            following = chain(tokens[2:], line.rest)
            values = self.array(following, memory.shape(kind))
            self.expect((next(following),))
            image[memory.image_slice(kind, number)] = values

    def array(self, tokens: Iterator[Token], shape: tuple[int, ...]) -> list[float]:
        """The numbers that come next, in nested brackets, of this shape."""
        if not shape:
            token = next(tokens)
            return [self.number(next(tokens) if token.text == "-" else token, -1.0 if token.text == "-" else 1.0)]
        values: list[float] = []
        for n in range(shape[0]):
            self.expect((next(tokens),), "," if n else "[")
            values += self.array(tokens, shape[1:])
        token = next(tokens)
        if token.text != "]":
            raise self.fail(token, f"expected ']' after {shape[0]} entries, found {shown(token)}")
        return values

    def body(self, memory: Memory, name: str) -> list[Instruction]:
        lines: list[Instruction] = []
        get_action = name == "GetAction"
        while (line := self.next_line(indented=True)) is not None:
            first = line.tokens[0]
            if first.text == "pass" and line.tokens[1].kind == "end":
                continue
            if first.text == "return":
                self.returned(line, lines, get_action)
                following = self.peek()
                if following is not None and following.indented:
                    raise self.fail(following.tokens[0], "nothing can follow the return")
                break
            lines.append(self.instruction(line, memory, get_action))
        return lines

    def returned(self, line: LogicalLine, lines: Iterable[Instruction], get_action: bool) -> None:
        """A return must name what is returned anyway: the action, or what was written last."""
        s, v, i = last_written(lines)
        wanted = "return action" if get_action else f"return s{s}, v{v}, i{i}"
        for token, match in zip(line.tokens, [*TOKEN.finditer(wanted), None], strict=False):
            if token.text != (match[0] if match else ""):
                why = "" if get_action else ", since a function returns what it wrote last"
                raise self.fail(token, f"expected '{wanted}'{why}, found {shown(token)}")

    # -- one instruction --

    def instruction(self, line: LogicalLine, memory: Memory, get_action: bool) -> Instruction:
        tokens = line.tokens
        candidates = (
            [OP["call"]] if tokens[0].text == "if" else _ops_by_shape().get(_shape(tokens, memory, get_action), [])
        )
        for op in candidates:
            reader = _LineReader(self, op, tokens, memory, get_action)
            if reader.matches():
                if op.is_call and not get_action:
                    raise self.fail(tokens[0], "a function cannot call a function")
                return reader.instruction()
        raise self.explain(tokens, memory, get_action)

    def explain(self, tokens: Sequence[Token], memory: Memory, get_action: bool) -> ParseError:
        """The error of a line that fits no op: where the best fits end, and what they expect there."""
        readers = [_LineReader(self, op, tokens, memory, get_action) for op in OPS]
        for reader in readers:
            reader.matches()
        furthest = max(reader.at for reader in readers)
        best = [reader for reader in readers if reader.at == furthest]
        token = tokens[furthest]
        for reader in best:
            if reader.problem:
                return self.fail(token, reader.problem)
        expected = sorted({reader.expected for reader in best}, key=lambda text: (text.startswith("'"), text))
        names = [op.text.split("(")[0] for op in OPS if "(" in op.text]
        is_register = register_number(token.text, memory) is not None
        hint = _hint(token.text, names) if token.kind == "name" and not is_register else ""
        if _shape(tokens, memory, get_action) == "s = s":
            hint = ". There is no copy of a scalar: multiply it by 1.0"
        listed = ", ".join(expected[:6]) + (", ..." if len(expected) > 6 else "")
        return self.fail(token, f"expected {listed}, found {shown(token)}{hint}")

    def register(self, token: Token, kinds: str, memory: Memory, in_get_action: bool) -> tuple[str, int]:
        found = register_number(token.text, memory if in_get_action else None)
        if found is None or found[0] not in kinds:
            wanted = " or ".join(KIND_NAMES[kind] for kind in kinds)
            raise self.fail(token, f"expected {wanted}, found {shown(token)}")
        self.check_register(token, found, memory)
        return found

    def check_register(self, token: Token, register: tuple[str, int], memory: Memory) -> None:
        kind, number = register
        if number >= memory.count(kind):
            raise self.fail(
                token,
                f"register {kind}{number} does not exist, the memory has {memory.count(kind)} {KIND_PLURALS[kind]}",
            )

    def whole(self, token: Token, below: int = 10**9) -> int:
        if not WHOLE.fullmatch(token.text) or int(token.text) >= below:
            limit = "" if below == 10**9 else f" below {below}"
            raise self.fail(token, f"expected a whole number{limit}, found {shown(token)}")
        return int(token.text)

    def number(self, token: Token, sign: float) -> float:
        if token.kind != "number":
            raise self.fail(token, f"expected a number, found {shown(token)}")
        value = sign * float(token.text)
        if not math.isfinite(value):
            raise self.fail(token, "expected a finite number, this one is too large")
        return value


class _LineReader:
    """Matches one line against the text of one op, and remembers how far it came."""

    def __init__(self, parser: _Parser, op: Op, tokens: Sequence[Token], memory: Memory, get_action: bool) -> None:
        self.parser, self.op, self.tokens = parser, op, tokens
        self.memory, self.get_action = memory, get_action
        self.at = 0
        self.expected = ""
        self.problem = ""
        self.values: dict[str, float] = {}
        self.places: dict[str, Token] = {}

    def matches(self) -> bool:
        for part in _template(self.op):
            token = self.tokens[self.at]
            if not part.startswith("{"):
                self.expected = quoted(part)
                if token.text != part:
                    return False
                self.at += 1
            elif not self.placeholder(part.strip("{}"), token):
                return False
        self.expected = "the end of the line"
        return self.tokens[self.at].kind == "end"

    def placeholder(self, name: str, token: Token) -> bool:
        kind = self.op.outputs[int(name[1:])] if name.startswith("o") else self.op.inputs[int(name)]
        self.expected = KIND_NAMES[kind]
        value: float | None = None
        step = 1
        if kind in "svmi":
            found = register_number(token.text, self.memory if self.get_action else None)
            if found is not None and found[0] == kind:
                value = found[1]
            elif token.text == "_" and self.op.is_call and name not in ("1", "2"):
                value = NONE
        elif kind == "f":
            match = FUNCTION.match(token.text)
            value = int(match[1]) if match else None
        elif kind in "dr":
            value = int(token.text) if WHOLE.fullmatch(token.text) else None
        elif token.kind == "number" or (token.text == "-" and self.tokens[self.at + 1].kind == "number"):
            step = 2 if token.text == "-" else 1
            value = self.parser.number(self.tokens[self.at + step - 1], -1.0 if token.text == "-" else 1.0)
        if value is None:
            return False
        if self.values.setdefault(name, value) != value:
            self.problem = f"expected {self.places[name].text!r} again, found {shown(token)}"
            return False
        self.places.setdefault(name, token)
        self.at += step
        return True

    def instruction(self) -> Instruction:
        """The instruction that was matched, with every number checked for its range."""
        outputs = [self.checked(kind, f"o{n}") for n, kind in enumerate(self.op.outputs)]
        inputs = [(kind, self.checked(kind, str(n))) for n, kind in enumerate(self.op.inputs)]
        args = (*outputs, *(value for kind, value in inputs if kind != "k"))
        constants = tuple(value for kind, value in inputs if kind == "k")
        return Instruction(self.op, tuple(int(value) for value in args), constants)

    def checked(self, kind: str, name: str) -> float:
        value, token = self.values[name], self.places[name]
        if kind in "svmi" and value != NONE:
            self.parser.check_register(token, (kind, int(value)), self.memory)
        limits = {"d": self.memory.dim, "r": NONE, "f": MAX_CADFS}
        if kind == "f":
            self.parser.called.append(token)
        if kind in limits and value >= limits[kind]:
            raise self.parser.fail(token, f"expected {KIND_NAMES[kind]} below {limits[kind]}, found {shown(token)}")
        return value


@cache
def _template(op: Op) -> tuple[str, ...]:
    """The tokens of an op's text, placeholders in braces."""
    return tuple(re.findall(r"\{\w+\}|\d+|\w+|\S", op.statement))


def _shape(tokens: Sequence[Token], memory: Memory, get_action: bool) -> str:
    """What a line looks like without its numbers: `s = dot ( v , v )`. The key to the ops that may fit."""
    shape: list[str] = []
    for n, token in enumerate(tokens):
        register = register_number(token.text, memory if get_action else None)
        if token.kind == "number":
            if shape and shape[-1] == "-" and (n < 2 or tokens[n - 2].text in ("=", "*", "(", ",")):
                shape.pop()
            shape.append("#")
        else:
            shape.append(register[0] if register else token.text)
    return " ".join(shape).strip()


@cache
def _ops_by_shape() -> dict[str, list[Op]]:
    """The ops for each shape of line; where several fit, those with fewer placeholders first."""
    table: dict[str, list[Op]] = {}
    for op in OPS:
        if op.is_call:
            continue
        kinds = {f"o{n}": kind for n, kind in enumerate(op.outputs)}
        kinds |= {str(n): kind for n, kind in enumerate(op.inputs)}
        shape = []
        for part in _template(op):
            kind = kinds[part.strip("{}")] if part.startswith("{") else part
            shape.append("#" if kind in ("k", "d", "r") or kind.isdigit() else kind)
        table.setdefault(" ".join(shape), []).append(op)
    for ops in table.values():
        ops.sort(key=lambda op: op.statement.count("{"))
    return table


def _hint(name: str, known: Iterable[str]) -> str:
    close = did_you_mean(name, known)
    return f".{close}" if close else ""
