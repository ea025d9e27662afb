"""Trade-offs between objectives: who dominates whom (Deb et al. 2002, "A fast and elitist ... NSGA-II").

All objectives are to be maximised; none may be NaN, but they may be infinite. A point dominates another if it is at
least as good in every objective and better in one.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Objectives = NDArray[np.float64]


@dataclass(frozen=True)
class Front:
    """Those on an island that nothing dominates, after a generation."""

    evaluations: int
    island: int
    is_warm: bool
    """Whether these are objectives of the problem itself, not of the warm-up."""
    numbers: NDArray[np.int64]
    objectives: NDArray[np.float64]


def ranks(objectives: Objectives) -> NDArray[np.int64]:
    """The front of each point [points, objectives]: 0 if nothing dominates it, 1 if only points of front 0 do, ...

    Equal points share a front.
    """
    return _ranks_of_two(objectives) if objectives.shape[1] == 2 else _ranks_of_many(objectives)


def _ranks_of_two(objectives: Objectives) -> NDArray[np.int64]:
    """By the first objective downwards, each point enters the first front whose last point does not dominate it."""
    found = np.zeros(len(objectives), np.int64)
    ends: list[float] = []  # minus the second objective of the last point of each front; ascends
    before = (np.nan, np.nan)
    front = 0
    for point in np.lexsort((-objectives[:, 1], -objectives[:, 0])).tolist():
        first, second = objectives[point].tolist()
        if (first, second) != before:
            front = bisect_right(ends, -second)
            ends[front : front + 1] = [-second]
            before = (first, second)
        found[point] = front
    return found


def _ranks_of_many(objectives: Objectives) -> NDArray[np.int64]:
    """Front by front: those of the rest that none of the rest dominates."""
    found = np.zeros(len(objectives), np.int64)
    rest = np.arange(len(objectives))
    front = 0
    while len(rest):
        is_dominated = np.concatenate([_dominated(part, objectives[rest]) for part in _parts(objectives[rest])])
        found[rest[~is_dominated]] = front
        rest = rest[is_dominated]
        front += 1
    return found


def _parts(points: Objectives) -> list[Objectives]:
    """So that comparing a part with all needs little memory."""
    return np.array_split(points, 1 + len(points) // 256)


def _dominated(some: Objectives, points: Objectives) -> NDArray[np.bool_]:
    at_least = np.all(points[None] >= some[:, None], axis=2)
    better = np.any(points[None] > some[:, None], axis=2)
    return np.asarray(np.any(at_least & better, axis=1))


def crowding(objectives: Objectives, fronts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far apart the neighbours of each point in its front are: the sum over objectives, each in units of its span.

    The ends of a front, in each objective, are infinitely far apart. So are points beside an infinite objective.
    """
    distance = np.zeros(len(objectives))
    for front in range(int(fronts.max(initial=-1)) + 1):
        members = np.flatnonzero(fronts == front)
        for values in objectives.T:
            order = members[np.argsort(values[members], kind="stable")]
            ascending = values[order]
            if len(order) > 2 and ascending[0] < ascending[-1]:
                finite = ascending[np.isfinite(ascending)]
                span = finite[-1] - finite[0] if len(finite) > 1 and finite[-1] > finite[0] else 1.0
                with np.errstate(invalid="ignore"):  # inf - inf: equal neighbours
                    gaps = ascending[2:] - ascending[:-2]
                distance[order[1:-1]] += np.where(np.isnan(gaps), 0.0, gaps) / span
            distance[order[[0, -1]]] = np.inf
    return distance


def best_first(objectives: Objectives, count: int) -> NDArray[np.int64]:
    """So many points, or all: by their front, then the less crowded first; of equals, the earlier one."""
    fronts = ranks(objectives)
    last = np.sort(fronts)[:count].max(initial=-1)
    chosen = np.flatnonzero(fronts <= last)  # how crowded the others are decides nothing
    order = np.lexsort((-crowding(objectives[chosen], fronts[chosen]), fronts[chosen]))
    return chosen[order[:count]]


def hypervolume(objectives: Objectives, reference: Objectives) -> float:
    """The volume that the points dominate above a reference point; of points beyond it in every objective only.

    By slices along the last objective, so it is slow for many objectives; two or three are no trouble.
    """
    points = objectives[np.all(objectives > reference, axis=1)]
    if len(points) == 0:
        return 0.0
    if points.shape[1] == 1:
        return float(points.max() - reference[0])
    points = points[np.argsort(-points[:, -1], kind="stable")]
    levels = np.append(points[:, -1], reference[-1])
    volume = 0.0
    for count in range(1, len(points) + 1):
        thickness = levels[count - 1] - levels[count]
        if thickness > 0:
            volume += thickness * hypervolume(points[:count, :-1], reference[:-1])
    return float(volume)
