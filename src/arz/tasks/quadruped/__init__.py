"""Laikago leg-breaking: all that only this task knows.

`task.py` is the variant and what it answers for; `episodes.py` and `environment.py` step it from outside;
`mujoco_model.py` is the referee, `rendering.py` and `film.py` show it. The physics is `native/physics/`.
"""

from arz.tasks.quadruped.task import (
    CHOICES,
    EACH,
    ENGINES,
    IDLE_LENGTH,
    IDLE_RETURN,
    LEGS,
    NUMBERS,
    STATE,
    STEP,
    Quadruped,
)

__all__ = [
    "CHOICES",
    "EACH",
    "ENGINES",
    "IDLE_LENGTH",
    "IDLE_RETURN",
    "LEGS",
    "NUMBERS",
    "STATE",
    "STEP",
    "Quadruped",
]
