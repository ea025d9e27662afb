"""Help with names: those that a person mistyped, and those of what is not installed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the closest known name, after a space, or nothing."""
    names, word = list(known), name[:40]
    close = difflib.get_close_matches(word, names, n=1)
    if not close and word:  # sin for scalar_sin
        close = [each for each in names if word.lower() in re.split(r"[_-]", each.lower())][:3]
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def install(extra: str) -> str:
    """How to install an extra. The package is in no index yet, so from where it is: its clone."""
    return f"install it in the clone of arz: .venv/bin/pip install '.[{extra}]'"
