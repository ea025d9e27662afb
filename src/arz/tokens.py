"""Text cut into lines and tokens, and the error that points at one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 1 << 24
"""Texts longer than this are refused."""

TOKEN = re.compile(
    r"(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<symbol>\S)",
    re.ASCII,
)

MAX_DEPTH = 3
"""How deep brackets may nest. A matrix of start values, and an element inside a call, need two."""


class ParseError(ValueError):
    """A text that is not a program: says what was expected, what came, and where."""

    def __init__(self, problem: str, source: str, line: int, column: int, code: str) -> None:
        self.problem, self.source, self.line, self.column = problem, source, line, column
        start = max(0, column - 60)  # keep the caret in sight on very long lines
        excerpt = f"\n    {printable(code[start : start + 100])}\n    {' ' * (column - start)}^" if code.strip() else ""
        super().__init__(f"{printable(source)}, line {line}: {problem}{excerpt}")


@dataclass(frozen=True, slots=True)
class Token:
    """The smallest piece of a text: a name, a number, a symbol."""

    text: str
    kind: str  # number, name, symbol or end
    line: int
    column: int


@dataclass(frozen=True)
class Line:
    """A logical line: brackets may hold it open over several physical ones."""

    indented: bool
    tokens: Sequence[Token]  # the last one marks the end


class TokenizedText:
    """A text with a name, as lines of tokens. Comments and blank lines are gone.

    Raises:
        ParseError: the text is too long, or its brackets do not match.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        if len(text) > MAX_CHARACTERS:
            problem = f"a program has at most {MAX_CHARACTERS} characters, this has {len(text)} or more"
            raise ParseError(problem, source, 1, 0, "")
        self.physical = re.split(r"\r\n|\n|\r", text)
        self.lines = self._logical_lines()

    def fail(self, token: Token, problem: str) -> ParseError:
        """The error to raise for a token."""
        return ParseError(problem, self.source, token.line, token.column, self.physical[token.line - 1])

    def expect(self, line: Line, *texts: str) -> None:
        """The line must be exactly these tokens."""
        for token, text in zip(line.tokens, (*texts, ""), strict=False):
            if token.text != text:
                raise self.fail(token, f"expected {quoted(text)}, found {shown(token)}")

    def _logical_lines(self) -> list[Line]:
        lines: list[Line] = []
        tokens: list[Token] = []
        depth = 0
        indented = False
        for number, code in enumerate(self.physical, 1):
            code = code.split("#", 1)[0]
            if not tokens:
                indented = code[:1].isspace()
            for match in TOKEN.finditer(code):
                token = Token(match[0], str(match.lastgroup), number, match.start())
                depth += (token.text in "([") - (token.text in ")]") if token.kind == "symbol" else 0
                if depth < 0 or depth > MAX_DEPTH:
                    problem = "that closes nothing" if depth < 0 else f"inside more than {MAX_DEPTH} others"
                    raise self.fail(token, f"found {token.text!r} {problem}")
                tokens.append(token)
            if tokens and depth == 0:
                tokens.append(Token("", "end", number, len(code.rstrip())))
                lines.append(Line(indented, tuple(tokens)))
                tokens = []
        if tokens:
            opening = next(token for token in tokens if token.text in ("(", "["))
            raise self.fail(opening, f"{opening.text!r} is never closed")
        return lines


def printable(text: str) -> str:
    """The text without characters that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " if letter == "\t" else "\ufffd" for letter in text)


def quoted(text: str) -> str:
    """A text that was expected, for an error; the empty one is the end of the line."""
    return repr(text) if text else "the end of the line"


def shown(token: Token) -> str:
    """A token that was found, for an error."""
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    return repr(text) if token.kind != "end" else "the end of the line"
