"""Augmented Random Search (Mania, Guy and Recht 2018): V1-t and V2-t.

There is a *centre*. An iteration tries it and both ways along some random directions. Those directions count whose
better end is best; the centre moves along each by the difference of its two ends, divided by the standard deviation of
all of their scores. In V2 (`normalises`) what individuals see is centred and scaled by the mean and the deviation of
all that was seen before.

All arithmetic is elementwise or exactly rounded, so that the result is the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.search.base import MOST, NO_PARENT, Births, Search, SearchSettings
from arz.search.draws import normal_rows
from arz.search.problem import G, SeeingProblem
from arz.streams import keys
from arz.typing import Floats

HUGE = 1e100
"""Numbers beyond this are odd."""
LEAST_DEVIATION = 1e-8
"""What is seen with less deviation than this is not scaled."""


@dataclass(frozen=True)
class ArsSettings(SearchSettings):
    """How to search.

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 1
    population: int = 65
    """The centre, and both ends of half as many directions."""
    episodes: int = 8
    resample_every: int = 65
    restart_after: int = 0
    validate_every: int = 650
    validation_episodes: int = 48
    validate_top: int = 1
    cache: int = 0
    step_size: float = 0.05
    """How far the centre moves: the learning rate."""
    noise: float = 0.05
    """How far the ends of a direction are from the centre: the standard deviation of each number."""
    top: int = 16
    """How many directions count."""
    normalises: bool = True
    """Observations are centred and scaled (V2)."""

    CANNOT: ClassVar[dict[str, str]] = {"programs": "ars trains networks: the kind of the policy must be mlp or lstm"}
    LEAST: ClassVar[dict[str, int]] = {**SearchSettings.LEAST, "population": 3, "top": 1}
    MOST: ClassVar[dict[str, tuple[int, str]]] = {
        **SearchSettings.MOST,
        "top": (MOST, "there are no more directions"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.islands != 1:
            raise ValueError(f"islands must be 1 for ars, not {self.islands}")
        if self.population % 2 == 0:
            raise ValueError(
                f"population must be odd, the centre and two ends of each direction, not {self.population}"
            )
        if self.top > self.population // 2:
            raise ValueError(f"top must be at most {self.population // 2}, the directions, not {self.top}")
        for name in ("step_size", "noise"):
            if not 0 < getattr(self, name) < HUGE:
                raise ValueError(f"{name} must be above 0 and below {HUGE:g}, not {getattr(self, name)}")


@dataclass
class ObservationNormaliser:
    """All that was seen so far: how often, and mean and sum of squared differences from it, of each entry."""

    count: float
    mean: Floats
    squares: Floats

    def add(self, sums: Floats) -> None:
        """Adds what was seen: the sums of its differences from the present mean and of their squares, and a count."""
        size = len(self.mean)
        count = float(sums[-1])
        if not count:
            return
        shift = sums[:size] / count
        total = self.count + count
        self.squares = (
            self.squares + (sums[size : 2 * size] - count * shift**2) + shift**2 * (self.count * count / total)
        )
        self.mean = self.mean + shift * (count / total)
        self.count = total

    @property
    def scale(self) -> Floats:
        """One over the standard deviation; 1 where there is none yet."""
        deviation = np.sqrt(np.maximum(self.squares, 0.0) / max(self.count, 1.0))
        return np.where(deviation > LEAST_DEVIATION, 1.0 / np.maximum(deviation, LEAST_DEVIATION), 1.0)


@dataclass
class Ars(Search[G]):
    """Trains the numbers of individuals of one structure.

    `advance` does one iteration; the living are the last one: the centre, then both ends of each direction.
    """

    problem: SeeingProblem[G]
    settings: ArsSettings
    centre: Floats = field(default_factory=lambda: np.zeros(0))
    """All numbers of the centre; empty before the first iteration."""
    sight: ObservationNormaliser | None = None

    def _breed(self) -> Births:
        size, count = self.settings.population, self.counters
        first, seen = count.evaluations, self.problem.seen
        is_new = bool(self._begin_lives())
        if is_new:
            begin = self.start if self.start is not None else self.problem.random(keys(self.seed, "random", [first]))
            self.centre = self.problem.parameters(begin)[0]
            self.sight = ObservationNormaliser(0.0, self.centre[:seen].copy(), np.zeros(seen))
        assert self.sight is not None
        directions = np.zeros((size // 2, len(self.centre)))
        which = first // size * (size // 2) + np.arange(size // 2)
        fixed = 2 * seen
        directions[:, fixed:] = normal_rows(self.seed, "direction", which, len(self.centre) - fixed)
        places = np.repeat(self.centre[None], size, axis=0)
        places[1::2] += self.settings.noise * directions
        places[2::2] -= self.settings.noise * directions
        genomes = self.problem.with_parameters(self.problem.structure, places)
        episode_set = self._episode_set
        objectives, steps, sums = self.problem.watch(genomes, self._fitness_episodes(episode_set))
        count.steps += int(steps.sum())
        count.evaluations += size
        parents = np.full(size, NO_PARENT if is_new else int(self.numbers[0]))
        self.population, self.objectives = genomes, objectives
        self.numbers = first + np.arange(size)
        self._move(directions, objectives[:, 0])
        if self.settings.normalises:
            self.sight.add(np.add.reduce(sums.reshape(-1, sums.shape[-1]), axis=0))
            self.centre[:seen], self.centre[seen:fixed] = self.sight.mean, self.sight.scale
        mutations = np.full(size, self.problem.tuned_by, np.uint8)
        return Births(first, parents, mutations, objectives[:, 0], self._life_numbers(np.zeros(size, np.int64)))

    def _move(self, directions: Floats, scores: Floats) -> None:
        """Moves the centre along the best directions."""
        ahead, behind = scores[1::2], scores[2::2]
        best = np.argsort(-np.maximum(ahead, behind), kind="stable")[: self.settings.top]
        self.centre = self.centre + update(directions[best], ahead[best], behind[best], self.settings.step_size)

    def _candidates(self) -> NDArray[np.int64]:
        """The centre."""
        return np.zeros((1, 1), np.int64)

    def extras(self) -> dict[str, Floats]:
        """The centre and what was seen, for a checkpoint."""
        if self.sight is None:
            return {}
        return {
            "centre": self.centre[None],
            "sight": np.stack([self.sight.mean, self.sight.squares]),
            "count": np.array([[self.sight.count]]),
        }

    def restore_extras(self, arrays: dict[str, Floats]) -> None:
        """Makes them equal to those of a checkpoint.

        Raises:
            ValueError: they cannot be.
        """
        if self.population is None and not arrays:
            return
        size = self.problem.parameters(self.problem.structure).shape[1]
        shapes = {"centre": (1, size), "sight": (2, self.problem.seen), "count": (1, 1)}
        if {name: array.shape for name, array in arrays.items()} != shapes or self.population is None:
            raise ValueError("the centre or what it has seen is missing, or has another size")
        if not all((np.abs(array) < HUGE).all() for array in arrays.values()) or arrays["count"][0, 0] < 0:
            raise ValueError("the centre is odd")
        self.centre = arrays["centre"][0].copy()
        self.sight = ObservationNormaliser(float(arrays["count"][0, 0]), *arrays["sight"].copy())


def update(directions: Floats, ahead: Floats, behind: Floats, step_size: float) -> Floats:
    """How far the centre moves, given the directions that count and the scores of both of their ends."""
    scores = [*ahead.tolist(), *behind.tolist()]
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) * (score - mean) for score in scores) / len(scores))
    if deviation == 0.0:
        return np.zeros(directions.shape[1])
    total = np.add.reduce((ahead - behind)[:, None] * directions, axis=0)
    return np.asarray(step_size / (len(directions) * deviation) * total)
