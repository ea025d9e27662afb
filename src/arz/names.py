"""Help with names that a person mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the closest known name, after a space, or nothing."""
    close = difflib.get_close_matches(name[:40], list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
