"""When a run ends: after so many evaluations, steps of the task, or so much time."""

from __future__ import annotations

import re
from dataclasses import dataclass

UNITS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Budget:
    """An amount of one kind. Evaluations and steps end a run at the same point on any machine; time does not."""

    kind: str
    """evaluations, steps or seconds."""
    amount: float

    @classmethod
    def parse(cls, text: str) -> Budget:
        """A budget as a person writes it: 2000000, 2M, "5G steps", 90s, 3m, 1h.

        Raises:
            ValueError: it is none of these.
        """
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:[eE]\+?\d+)?)\s*([kMG]?)\s*([a-z]*)\s*", text)
        if found:
            number, scale, unit = found.groups()
            if unit in UNITS and not scale:
                return cls._checked("seconds", float(number) * UNITS[unit], text)
            if unit in ("", "evaluations", "steps"):
                return cls._checked(unit or "evaluations", float(number) * SCALES[scale], text)
        raise ValueError(
            "a budget is a number of evaluations (2000000 or 2M), of steps of the task (5G steps) "
            f"or a time (90s, 3m, 1h), not {text!r}"
        )

    @classmethod
    def _checked(cls, kind: str, amount: float, text: str) -> Budget:
        if not 0 < amount < 1e18:
            raise ValueError(f"a budget must be above 0 and below 1e18, not {text!r}")
        return cls(kind, amount)

    def spent(self, evaluations: int, steps: int, seconds: float) -> float:
        """The share that is used up; 1 and more is the end."""
        return {"evaluations": evaluations, "steps": steps, "seconds": seconds}[self.kind] / self.amount

    def __str__(self) -> str:
        if self.kind == "seconds":
            for unit in ("h", "m"):
                if self.amount >= UNITS[unit] and self.amount % UNITS[unit] == 0:
                    return f"{self.amount / UNITS[unit]:g}{unit}"
            return f"{self.amount:g}s"
        for scale in ("G", "M", "k"):
            text = f"{self.amount / SCALES[scale]:g}"
            if self.amount >= SCALES[scale] and float(text) * SCALES[scale] == self.amount:
                return f"{text}{scale} {self.kind}"
        return f"{self.amount:.17g} {self.kind}"
