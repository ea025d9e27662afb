"""`--digits`: listings with fewer digits, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arz.evaluate import evaluate, fresh_episodes
from arz.program import Program
from arz.simplify import rounded
from arz.tasks import Task

EPISODES = 100
"""Over which the program is scored, as it is and rounded."""


@dataclass(frozen=True)
class Rounding:
    """A program with fewer digits, and its score beside that of the program as it is."""

    digits: int
    program: Program
    scores: tuple[float, float] | None
    """As it is, and rounded; None if its task is not known."""
    where: str

    def __str__(self) -> str:
        what = f"Rounded to {self.digits} significant digit{'' if self.digits == 1 else 's'}"
        if self.scores is None:
            return f"{what}: its actions differ, and what that costs was not checked, as its task is not known here."
        whole, other = self.scores
        return f"{what}: {other:.1f} over {EPISODES} test episodes ({self.where}); as it is: {whole:.1f}."

    @property
    def about(self) -> dict[str, Any]:
        """For scripts."""
        whole, other = self.scores or (None, None)
        return {"digits": self.digits, "program": str(self.program), "score": other, "exact score": whole}


def rounding(program: Program, digits: int | None, task: Task | None) -> Rounding | None:
    """The rounded program, scored if there is a task; None if nobody asked for it.

    Raises:
        ValueError: so many digits cannot be.
    """
    if digits is None:
        return None
    other = rounded(program, digits)
    scores = None
    if task is not None:
        found = evaluate([program, other], task, fresh_episodes(EPISODES)).mean
        scores = float(found[0]), float(found[1])
    return Rounding(digits, other, scores, task.name if task is not None else "")
