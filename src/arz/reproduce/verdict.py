"""What the numbers say about a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CONFIRMED, PARTLY, NOT_CONFIRMED = "confirmed", "partly", "not confirmed"
NOT_TESTABLE = "not testable at this scale"
VERDICTS = (CONFIRMED, PARTLY, NOT_CONFIRMED, NOT_TESTABLE)


@dataclass(frozen=True)
class Finding:
    """A verdict, the numbers that it rests on, and why it follows from them."""

    verdict: str
    ours: str
    why: str


def by_share(holds: Sequence[bool]) -> str:
    """Confirmed if it holds everywhere, partly if somewhere."""
    return CONFIRMED if all(holds) else PARTLY if any(holds) else NOT_CONFIRMED


def untestable(why: str) -> Finding:
    """There is nothing to judge by."""
    return Finding(NOT_TESTABLE, "", why)
