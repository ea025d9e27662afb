"""Where samples of numbers come from: separable CMA-ES (Ros and Hansen 2008).

Around a *centre* samples are drawn. The better half of them, the best weighing most (linearly), moves the centre; how
far samples are spread, along each number and as a whole, follows from the moves that paid (Hansen's recommended rates).
Numbers differ in what they do, so each is measured in a *unit* of its own: what changes the behaviour by as much as any
other. Numbers that change nothing stay as they are.

All arithmetic is elementwise or exactly rounded, so that the result is the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arz.typing import Floats

HUGE = 1e100
"""Numbers beyond this are odd."""
HALF_ROOT = math.sqrt(0.5)
MOST_GROWTH = 0.5
"""The spread as a whole changes by at most this factor's exponent in a generation."""


@dataclass
class Cloud:
    """Where samples come from."""

    centre: Floats
    units: Floats
    """How far a spread of 1 changes each number; 0 for those that stay."""
    variance: Floats
    """Of each number, in its unit, beside the spread as a whole."""
    path: Floats
    """The way of the centre, in units: consistent moves widen the samples along it."""
    drift: Floats
    """The way of the centre as if all numbers were alike: its length tells whether the spread shall grow."""
    spread: float
    generation: int = 0

    def __post_init__(self) -> None:
        self._changes = np.flatnonzero(self.units)

    @classmethod
    def around(cls, centre: Floats, units: Floats, spread: float) -> Cloud:
        """A round one."""
        return cls(centre, units, np.ones(len(centre)), np.zeros(len(centre)), np.zeros(len(centre)), spread)

    def inherited(self, centre: Floats, units: Floats, spread: float) -> Cloud:
        """The cloud of a child: numbers that mattered before keep what was learned of them.

        Args:
            centre: of the child.
            units: of its numbers; 0 for those that do not matter.
            spread: of numbers that are new.
        """
        is_old = (self.units > 0) & (units > 0)
        wider = max(1.0, spread / self.spread)
        return Cloud(
            centre,
            np.where(is_old, self.units, units),
            np.where(is_old, self.variance, wider * wider),
            np.where(is_old, self.path, 0.0),
            np.where(is_old, self.drift, 0.0),
            self.spread,
            self.generation,
        )

    def with_part(self, part: Cloud) -> Cloud:
        """The same, with what was learned of some numbers that are new here.

        Args:
            part: where samples of these came from; the units of all others are 0.
        """
        is_part, ratio = part.units > 0, part.spread / self.spread
        return Cloud(
            part.centre,
            np.where(is_part, part.units, self.units),
            np.where(is_part, ratio * ratio * part.variance, self.variance),
            np.where(is_part, 0.0, self.path),
            np.where(is_part, 0.0, self.drift),
            self.spread,
            self.generation,
        )

    def places(self, draws: Floats) -> Floats:
        """Where samples are, given standard normal draws [sample, number]."""
        return self.centre + self.spread * np.sqrt(self.variance) * self.units * draws

    def move(self, draws: Floats, least: float, most: float, worst: Floats | None = None) -> None:
        """Follows the better half of the samples.

        Args:
            draws: what they were made of, the best first.
            least: the least spread.
            most: the most.
            worst: as many of the worse half, the worst first, if they count too: where there are many more numbers than
                samples, leaving them tells as much of the way as following the best does (Arnold 2006), so that a
                step of the same size goes further up.
        """
        self.generation += 1
        if not len(self._changes):
            return
        where, dim = self._changes, len(self._changes)
        weights = len(draws) + 0.5 - np.arange(1, len(draws) + 1)
        weights /= math.fsum(weights)
        power = 1 / math.fsum(weights**2)
        good = draws[:, where]
        apart = good if worst is None else (good - worst[:, where]) * HALF_ROOT
        step = np.add.reduce(weights[:, None] * apart, axis=0)
        squares = np.add.reduce(weights[:, None] * good**2, axis=0)

        deviation = np.sqrt(self.variance[where])
        self.centre[where] += self.spread * deviation * self.units[where] * step

        rate = (power + 2) / (dim + power + 5)
        drift = (1 - rate) * self.drift[where] + math.sqrt(rate * (2 - rate) * power) * step
        length = math.sqrt(math.fsum(drift**2))
        usual = math.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))
        settled = math.sqrt(1 - math.prod([(1 - rate) * (1 - rate)] * min(self.generation, 10_000)))
        is_steady = length / settled < (1.4 + 2 / (dim + 1)) * usual

        pace = (4 + power / dim) / (dim + 4 + 2 * power / dim)
        path = (1 - pace) * self.path[where] + is_steady * math.sqrt(pace * (2 - pace) * power) * deviation * step
        faster = (dim + 2) / 3  # one number per dimension is learned faster than a matrix
        along = min(1.0, faster * 2 / ((dim + 1.3) * (dim + 1.3) + power))
        among = min(1 - along, faster * 2 * (power - 2 + 1 / power) / ((dim + 2) ** 2 + power))
        lost = 0.0 if is_steady else pace * (2 - pace)
        old = self.variance[where]
        self.variance[where] = (1 - along - among) * old + along * (path**2 + lost * old) + among * old * squares

        damping = 1 + 2 * max(0.0, math.sqrt((power - 1) / (dim + 1)) - 1) + rate
        growth = max(-MOST_GROWTH, min(MOST_GROWTH, rate / damping * (length / usual - 1)))
        # The exponential, by as many terms as matter: the same bits everywhere.
        factor = 1 + growth * (1 + growth / 2 * (1 + growth / 3 * (1 + growth / 4 * (1 + growth / 5))))
        self.spread = max(least, min(most, self.spread * factor))
        self.path[where], self.drift[where] = path, drift

    def rows(self) -> Floats:
        """Everything, as rows of equal length."""
        rest = np.zeros(len(self.centre))
        rest[:2] = self.spread, self.generation
        return np.stack([self.centre, self.units, self.variance, self.path, self.drift, rest])

    @classmethod
    def of_rows(cls, rows: Floats) -> Cloud:
        """The one whose rows these are.

        Raises:
            ValueError: they cannot be.
        """
        if rows.shape[0] != 6 or rows.shape[1] < 2:
            raise ValueError("a cloud has other rows")
        centre, units, variance, path, drift, rest = rows.copy()
        spread, generation = rest[:2].tolist()
        is_odd = not (np.abs(rows) < HUGE).all() or np.any(rows[1:3] < 0)
        if is_odd or spread <= 0 or not 0 <= generation < 2**53 or generation % 1:
            raise ValueError("a cloud is odd")
        return cls(centre, units, variance, path, drift, spread, int(generation))


def check_spreads(least: float, usual: float, most: float) -> None:
    """Refuses spreads that are out of order.

    Raises:
        ValueError: they are.
    """
    if not 0 < least <= usual <= most < math.inf:
        raise ValueError(
            f"the spreads must be 0 < least_spread <= sample_spread <= most_spread, not {least}, {usual}, {most}"
        )
