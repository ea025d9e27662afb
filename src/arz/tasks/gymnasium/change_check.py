"""A change of an attribute must change what happens: tried out before a run begins."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arz.tasks.gymnasium.adapter import about_environment, closed, make, started, stepped
from arz.tasks.gymnasium.schedule import ScheduledChange, get_attribute, set_attribute
from arz.typing import Floats

CHECK_STEPS = 1000
"""At most so many steps show whether a change changes what happens..."""
CHECK_FROM = 2
"""...that comes after so many."""
PUSHES = ("random", "low", "high")
"""What is done in these steps: actions at random, or always the first or the last."""


@dataclass(frozen=True)
class Tried:
    """An environment in which changes are tried."""

    env: str
    options: Mapping[str, Any]
    limit: int
    """The steps of an episode."""


def check_changes(tried: Tried, changes: Iterable[ScheduledChange]) -> None:
    """Makes sure that each change changes what happens: the same actions lead elsewhere.

    Raises:
        ValueError: one does not, or there is no such attribute.
    """
    for change in changes:
        if change.first >= tried.limit:
            raise ValueError(
                f"{change.path} would change at step {change.first}, but an episode has {tried.limit} steps"
            )
        if not change.is_checked:
            _way(tried, change, change.end, PUSHES[0])  # it must be possible at least
        elif not any(_matters(tried, change, push) for push in PUSHES):
            raise ValueError(
                f"{change.path} from {change.start:g} to {change.end:g} changes nothing in {tried.env}: with both, "
                "the same actions lead to the same steps. If it matters elsewhere only, add the word unchecked"
            )


def _matters(tried: Tried, change: ScheduledChange, push: str) -> bool:
    """Whether the same actions lead elsewhere with both values."""
    one, other = (_way(tried, change, value, push) for value in (change.start, change.end))
    return not np.array_equal(one, other, equal_nan=True)


def _way(tried: Tried, change: ScheduledChange, value: float, push: str) -> Floats:
    """Observations and rewards of an episode in which an attribute gets a value after some steps."""
    environment = make(tried.env, tried.options)
    steps, about = min(CHECK_STEPS, tried.limit), about_environment(tried.env, json.dumps(dict(tried.options)))
    held = None if push == "random" else about.extreme(push == "high")
    try:
        _must_have(environment, change.path)
        for _ in range(2):  # before the reset, as it may be used there, and after it, as it may be set there
            set_attribute(environment, change.path, change.start)
            started(environment, tried.env, 1)
        set_attribute(environment, change.path, change.start)
        environment.action_space.seed(1)
        rows = []
        for step in range(steps):
            if step == min(CHECK_FROM, steps - 1):
                set_attribute(environment, change.path, value)
                if not math.isclose(get_attribute(environment, change.path), value, rel_tol=1e-5, abs_tol=1e-12):
                    raise ValueError(f"{change.path} of {tried.env} cannot be set to {value:g}")
            action = environment.action_space.sample() if held is None else held
            seen, reward, *ends = stepped(environment, tried.env, action)
            rows.append([*seen, reward])
            if any(ends):
                break
        return np.array(rows)
    finally:
        closed(environment)


def _must_have(environment: Any, path: str) -> None:
    """Refuses a path that leads nowhere, and knows what was meant if it begins in the environment itself."""
    try:
        get_attribute(environment, path)
    except ValueError as error:
        inner = f"unwrapped.{path}"
        try:
            get_attribute(environment, inner)
        except ValueError:
            raise error from None
        raise ValueError(f"{error}. Did you mean {inner}?") from None
