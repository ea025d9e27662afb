"""Text cut into lines and tokens, and the error that points at one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from arz.plain import printable

MAX_CHARACTERS = 1 << 24
"""Texts longer than this are refused: the start values of the largest memory need most of it."""
MAX_LINES = 1 << 16
"""Texts of more lines than this are refused."""
MOST_TOKENS = 1000
"""So many tokens of a line are looked at together. No line needs a tenth of them but one of start values, and these are
read one after the other: so a text needs little more memory than itself."""

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


class Token(NamedTuple):
    """The smallest piece of a text: a name, a number, a symbol."""

    text: str
    kind: str  # number, name, symbol or end
    line: int
    column: int


@dataclass(frozen=True)
class LogicalLine:
    """A logical line: brackets may hold it open over several physical ones."""

    indented: bool
    tokens: Sequence[Token]
    """The first MOST_TOKENS; where there are no more, the last one marks the end."""
    rest: Iterator[Token]
    """Those that follow, the mark of the end last."""


class TokenizedText:
    """A text with a name, as lines of tokens, cut as they are asked for. Comments and blank lines are gone.

    Raises:
        ParseError: the text is too long; when a line is asked for: its brackets do not match.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        breaks = text.count("\n") + text.count("\r") - text.count("\r\n")
        for found, most, what in ((len(text), MAX_CHARACTERS, "characters"), (breaks + 1, MAX_LINES, "lines of text")):
            if found > most:
                problem = f"a program has at most {most} {what}, this has {found} or more"
                raise ParseError(problem, source, 1, 0, "")
        self.physical = re.split(r"\r\n|\n|\r", text)
        self.end = Token("", "end", 1, 0)
        """The end of the last line that was cut."""
        self._at = 0
        self._ahead: LogicalLine | None = None

    def peek(self) -> LogicalLine | None:
        """The line that comes next; None at the end of the text. All of the line before must have been read."""
        if self._ahead is None:
            while self._at < len(self.physical) and self._ahead is None:
                indented = self.physical[self._at][:1].isspace()
                cut = self._cut()
                tokens = tuple(islice(cut, MOST_TOKENS))
                self._ahead = LogicalLine(indented, tokens, cut) if tokens else None
        return self._ahead

    def next_line(self, indented: bool) -> LogicalLine | None:
        """The next line, if it is indented so; else None."""
        line = self.peek()
        if line is None or line.indented != indented:
            return None
        self._ahead = None
        return line

    def fail(self, token: Token, problem: str) -> ParseError:
        """The error to raise for a token."""
        return ParseError(problem, self.source, token.line, token.column, self.physical[token.line - 1])

    def expect(self, tokens: Sequence[Token], *texts: str) -> None:
        """These tokens, as many as there are, must be those of the texts; after these comes the end of the line."""
        for token, text in zip(tokens, (*texts, ""), strict=False):
            if token.text != text:
                raise self.fail(token, f"expected {quoted(text)}, found {shown(token)}")

    def _code(self, number: int) -> str:
        """A physical line without its comment."""
        line = self.physical[number]
        return line if (comment := line.find("#")) < 0 else line[:comment]

    def _cut(self) -> Iterator[Token]:
        """The tokens of the logical line that begins here; none if there is nothing in the physical one."""
        opened: list[Token] = []
        token: Token | None = None
        while self._at < len(self.physical):
            code = self._code(self._at)
            self._at += 1
            for match in TOKEN.finditer(code):
                token = Token(match[0], str(match.lastgroup), self._at, match.start())
                if token.kind == "symbol":
                    if token.text in "([":
                        opened.append(token)
                    elif token.text in ")]":
                        if not opened:
                            raise self.fail(token, f"found {token.text!r} that closes nothing")
                        opened.pop()
                    if len(opened) > MAX_DEPTH:
                        raise self.fail(token, f"found {token.text!r} inside more than {MAX_DEPTH} others")
                yield token
            if not opened:
                if token is not None:
                    self.end = Token("", "end", self._at, len(code.rstrip()))
                    yield self.end
                return
        raise self.fail(opened[0], f"{opened[0].text!r} is never closed")


def quoted(text: str) -> str:
    """A text that was expected, for an error; the empty one is the end of the line."""
    return repr(text) if text else "the end of the line"


def shown(token: Token) -> str:
    """A token that was found, for an error."""
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    return repr(text) if token.kind != "end" else "the end of the line"
