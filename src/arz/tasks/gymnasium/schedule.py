"""Changes of any attribute of any environment, over the steps of an episode.

    unwrapped.g: 10 -> 5 @ 200             jumps at step 200
    unwrapped.g: 10 -> 5 @ 200..800        goes there in a straight line, from step 200 to step 800
    unwrapped.g: 10 -> 5 @ random 200..800 jumps at a step in that range, another one in each episode
    unwrapped.g: 10 -> 5 @ 200 unchecked   whether that makes a difference is not tried out

Several changes are written with `;` between them. A path is names with points and numbers in brackets,
`unwrapped.model.opt.gravity[2]`; nothing in it is ever run as code.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from arz.streams import Stream, key

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
PATH = r"[A-Za-z]\w*(?:\.[A-Za-z]\w*|\[\d{1,6}\])*"
CHANGE = re.compile(
    rf"(?P<path>{PATH})\s*:\s*(?P<start>{NUMBER})\s*->\s*(?P<end>{NUMBER})\s*@\s*"
    r"(?P<random>random\s+)?(?P<first>\d{1,9})(?:\s*\.\.\s*(?P<last>\d{1,9}))?(?P<unchecked>\s+unchecked)?",
    re.ASCII,
)
EXAMPLE = "unwrapped.g: 10 -> 5 @ 200..800"


@dataclass(frozen=True)
class ScheduledChange:
    """One attribute, and where it goes."""

    path: str
    start: float
    end: float
    first: int
    last: int
    is_random: bool
    is_checked: bool = True
    """Whether it must be seen to make a difference before a run begins."""

    def when(self, episode: int) -> tuple[int, int]:
        """From which step on it moves in an episode, and when it has arrived."""
        if not self.is_random:
            return self.first, self.last
        at = self.first + Stream(key(episode, f"when {self.path} changes")).below(self.last - self.first + 1)
        return at, at

    def value(self, step: int, window: tuple[int, int]) -> float:
        """What the attribute is in a step."""
        first, last = window
        if step < first:
            return self.start
        if step >= last:
            return self.end
        return self.start + (self.end - self.start) * (step - first) / (last - first)


def parse_changes(text: str) -> tuple[ScheduledChange, ...]:
    """Changes from their text.

    Raises:
        ValueError: it does not say any.
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = CHANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"a change is written like {EXAMPLE!r}, not {part!r}")
        first = int(match["first"])
        last = int(match["last"] or first)
        if last < first:
            raise ValueError(f"a change cannot end before it begins: {part!r}")
        numbers = (float(match["start"]), float(match["end"]))
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"the numbers of a change must be finite: {part!r}")
        flags = (match["random"] is not None, match["unchecked"] is None)
        found.append(ScheduledChange(match["path"], *numbers, first, last, *flags))
    if len({change.path for change in found}) < len(found):
        raise ValueError(f"an attribute changes twice in {text!r}")
    return tuple(found)


def get_attribute(environment: Any, path: str) -> float:
    """The number at a path.

    Raises:
        ValueError: there is none.
    """
    holder, last = _holder(environment, path)
    try:
        value = holder[last] if isinstance(last, int) else getattr(holder, last)
    except Exception:
        raise ValueError(f"the environment has no {path}") from None
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{path} is not a number that could change, but {type(value).__name__}")
    return float(value)


def set_attribute(environment: Any, path: str, value: float) -> None:
    """Writes the number at a path.

    Raises:
        ValueError: that is not possible.
    """
    holder, last = _holder(environment, path)
    try:
        if isinstance(last, int):
            holder[last] = value
        else:
            setattr(holder, last, value)
    except Exception as error:  # an environment may refuse in its own way
        raise ValueError(f"{path} of the environment cannot be set to {value:g}: {error}") from None


def _holder(environment: Any, path: str) -> tuple[Any, str | int]:
    """What the last part of a path belongs to, and that part."""
    parts: list[str | int] = [int(part) if part.isdigit() else part for part in re.findall(r"[A-Za-z]\w*|\d+", path)]
    holder = environment
    for part in parts[:-1]:
        try:
            holder = holder[part] if isinstance(part, int) else getattr(holder, part)
        except Exception:
            raise ValueError(f"the environment has no {path}") from None
    return holder, parts[-1]
