"""How an episode ends."""

from __future__ import annotations

import enum

from arz.native import check_same


class Status(enum.Enum):
    """How an episode ended. Each task has a sentence for it."""

    COMPLETED = 1
    FELL = 2
    LEFT_TRACK = 3
    ACTION_NOT_FINITE = 4

    @property
    def number(self) -> int:
        """As the native core counts them."""
        return self.value


check_same("list of endings", ("running", *(status.name.lower() for status in Status)), "STATUSES")
STATUS = {status.number: status for status in Status}
