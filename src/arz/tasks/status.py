"""How an episode ends."""

from __future__ import annotations

import enum
import math

from arz.native import core


class Status(enum.Enum):
    """How an episode ended. `text` is a sentence."""

    COMPLETED = (1, "The episode lasted to its end.")
    FELL = (2, f"The pole fell beyond {math.degrees(core.CARTPOLE_ANGLE_LIMIT):.0f} degrees.")
    LEFT_TRACK = (3, "The cart left the track.")
    ACTION_NOT_FINITE = (4, "The policy gave an action that is not a finite number.")

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text


STATUS = {status.number: status for status in Status}
