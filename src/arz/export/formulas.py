"""A line of a program as loops and one formula: what an exporter writes down in its language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from arz.ops import INPUT_LETTERS, REGISTER_KINDS
from arz.program import Instruction

LOOPS = {"s": "", "i": "", "v": "i", "m": "ij"}
"""The letters of the elements of a register of each kind."""


class Language(Protocol):
    """How a language spells things."""

    @property
    def functions(self) -> Mapping[str, str]:
        """What functions and sums of a formula are called, where that is something else."""

    @property
    def is_whole(self) -> bool:
        """Whether arrays can be worked on as a whole, element by element."""

    def register(self, kind: str, number: int) -> str:
        """A register."""

    def element(self, register: str, places: Sequence[str]) -> str:
        """An element of a register."""

    def random(self, stream: str) -> str:
        """The number of a random stream."""


@dataclass(frozen=True)
class LineFormula:
    """What a line computes, in a language. Sums are called `sum` and `sum2`, their loops are over k and l."""

    loops: str
    """The letters of the elements that it writes one by one: "", "i" or "ij"."""
    register: str
    places: tuple[str, ...]
    """Where in the register the value goes; `:` for all elements."""
    value: str
    terms: str
    """The letters that its sums run over."""
    sum: str
    spread: str
    is_shifted: bool
    """Whether it reads other elements of the register that it writes: it needs room for the result."""


def translate(line: Instruction, language: Language) -> LineFormula:
    """A line, which is not a call and has an output, in a language."""
    op = line.op
    kind, number = line.outputs[0]
    inputs = dict(zip(INPUT_LETTERS, zip(op.inputs, line.inputs, strict=True), strict=False))
    is_whole = language.is_whole and not op.sum and not re.search(r"\b[a-h]\(|\b[ij]\b", op.element)

    def spelled(letter: str) -> str:
        kind_, value = inputs[letter]
        if kind_ == "k":
            return repr(float(value))
        return language.register(kind_, int(value)) if kind_ in REGISTER_KINDS else str(int(value))

    def one(match: re.Match[str]) -> str:
        indexed, inside, word = match.groups()
        if indexed == "random":
            return language.random(spelled(inside))
        if indexed:
            places = [spelled(part) if part in inputs else part for part in inside.split(", ")]
            return language.element(spelled(indexed), places)
        if word not in inputs:
            return language.functions.get(word, word)
        places = list(LOOPS.get(inputs[word][0], ""))
        return spelled(word) if is_whole or not places else language.element(spelled(word), places)

    letters = "|".join([*inputs, "random"])

    def written(formula: str) -> str:
        return re.sub(rf"\b(?:({letters})\(([^()]*)\)|([a-z]\w*))", one, formula)

    place = op.place if op.writes_part else (":",) * len(LOOPS[kind])
    free = iter(":::" if is_whole else "ij")
    indexed = re.findall(r"\b([a-h])\(", f"{op.element} {op.sum} {op.spread}")
    return LineFormula(
        loops="" if is_whole else "ij"[: place.count(":")],
        register=language.register(kind, number),
        places=tuple(next(free) if part == ":" else spelled(part) for part in place),
        value=written(op.element),
        terms=op.terms,
        sum=written(op.sum),
        spread=written(op.spread),
        is_shifted=any(inputs[letter] == (kind, number) for letter in indexed),
    )
