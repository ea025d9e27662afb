"""Environments of others: making them, starting them, and what they show and take.

A configuration may come from a stranger, and an environment can name a module, whose import runs its code. So a module
is never imported because somebody named it: it must have been imported already, by the person's own wish.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from arz.plain import first_line
from arz.typing import Floats

FAR = 10.0
MOST_NUMBERS = 1024
"""An observation or action with more numbers is not taken."""
MISSING = ". What environments of Gymnasium need comes with pip install 'gymnasium[classic-control,box2d,mujoco]'"


ALLOWED: set[str] = set()
"""Files that a person allowed environments to open."""
PATH = re.compile(r"[/\\]|\.\w{1,5}$")
NAMED = re.compile(r"([A-Za-z_][\w.]*):[^/\\]")
"""A name with its module, such as mypackage:MyEnv-v0."""


def named_modules(env: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that an environment and its options name."""
    texts = [env, *_texts(options)]
    found = [env.partition(":")[0]] if ":" in env else []
    return tuple(dict.fromkeys(found + [named[1] for text in texts if (named := NAMED.match(text))]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def import_module(name: str) -> None:
    """Imports a module that a person named.

    Raises:
        ValueError: it cannot be imported.
    """
    try:
        importlib.import_module(name)
    except Exception as error:
        where = "is it installed, or its folder in PYTHONPATH?"
        raise ValueError(f"the module {name} cannot be imported ({first_line(error)}): {where}") from None


def named_files(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that options of an environment seem to name."""
    return tuple(dict.fromkeys(text for text in _texts(options) if PATH.search(text)))


def allow_files(names: Iterable[str]) -> None:
    """Lets environments open files that a person named."""
    ALLOWED.update(names)


def check_imported(env: str, options: Mapping[str, Any]) -> None:
    """Makes sure that making an environment imports and opens nothing that only a file names.

    Raises:
        ValueError: it would.
    """
    for name in named_files(options):
        if name not in ALLOWED:
            raise ValueError(
                f"the environment {env} wants the file {name!r}: if you trust it, allow it (on the command line: "
                f"--allow-file {shlex.quote(name)}; in Python: arz.allow_files)"
            )
    for name in named_modules(env, options):
        if name not in sys.modules:
            raise ValueError(
                f"the environment {env} wants the module {name}, whose code would run here: "
                f"if you trust it, import it first (on the command line: --import {name})"
            )


@dataclass(frozen=True)
class About:
    """What an environment shows and takes."""

    observations: int
    actions: int
    is_box: bool
    low: Floats
    high: Floats
    """The bounds of a Box; the first of the Discrete actions is `low`."""
    shape: tuple[int, ...]
    dtype: str
    steps: int
    """The environment's own limit; 0 if it has none."""

    def actions_of(self, given: Floats) -> list[Any]:
        """What environments get of the numbers of policies [lane, entry]."""
        if not self.is_box:
            chosen = np.argmax(np.where(np.isnan(given), -np.inf, given), axis=1) + int(self.low[0])
            return list(chosen.tolist())
        known = np.where(np.isnan(given), self._middle, given)
        return list(np.clip(known, self.low, self.high).astype(self.dtype).reshape(-1, *self.shape))

    def extreme(self, is_high: bool) -> Any:
        """The last action, or the first; of a Box without bounds, one far out."""
        if not self.is_box:
            return int(self.high[0] if is_high else self.low[0])
        return self.actions_of(np.full((1, self.actions), FAR if is_high else -FAR))[0]

    @cached_property
    def _middle(self) -> Floats:
        is_bounded = np.isfinite(self.low) & np.isfinite(self.high)
        return np.where(
            is_bounded, np.where(is_bounded, self.low, 0.0) / 2 + np.where(is_bounded, self.high, 0.0) / 2, 0.0
        )


def make(env: str, options: Mapping[str, Any], **more: Any) -> Any:
    """An environment.

    Raises:
        ValueError: there is none of this name, or it cannot be made; or it names a module that was not imported.
    """
    import gymnasium

    check_imported(env, options)
    try:
        return gymnasium.make(env, disable_env_checker=True, **options, **more)
    except Exception as error:
        is_missing = isinstance(error, ImportError | gymnasium.error.DependencyNotInstalled) and ":" not in env
        hint = MISSING if is_missing else ""
        raise ValueError(f"the environment {env} cannot be made: {first_line(error)}{hint}") from None


def reward_threshold(env: str) -> float | None:
    """The return from which on an environment counts as solved, if Gymnasium knows; nothing is made or imported."""
    import gymnasium

    found = gymnasium.registry.get(env.rpartition(":")[2])
    return None if found is None or found.reward_threshold is None else float(found.reward_threshold)


def closed(environment: Any) -> None:
    """Closes an environment; one that cannot even do that is left alone."""
    with contextlib.suppress(Exception):
        environment.close()


def started(environment: Any, name: str, seed: int) -> Floats:
    """What an environment shows at the start of an episode, flat.

    Raises:
        ValueError: it does not start.
    """
    try:
        observation, _ = environment.reset(seed=seed)
    except Exception as error:
        raise ValueError(f"{name} failed in its reset: {first_line(error)}") from error
    return flat(environment, name, observation)


def stepped(environment: Any, name: str, action: Any) -> tuple[Floats, float, bool, bool]:
    """What an environment shows after a step, flat; the reward; whether it ended, or was cut short.

    Raises:
        ValueError: it fails, or gives something else.
    """
    try:
        observation, reward, terminated, truncated, _ = environment.step(action)
    except Exception as error:
        raise ValueError(f"{name} failed in a step: {first_line(error)}") from error
    try:
        earned = float(reward)
    except (TypeError, ValueError):
        raise ValueError(f"{name} gave {reward!r} as a reward: a number was expected") from None
    return flat(environment, name, observation), earned, bool(terminated), bool(truncated)


def flat(environment: Any, name: str, observation: Any) -> Floats:
    """What an environment shows, as a row of numbers.

    Raises:
        ValueError: it is not what its space says.
    """
    shape = environment.observation_space.shape
    try:
        seen = np.asarray(observation, np.float64)
        if seen.shape == shape and observation is not None:
            return seen.ravel()
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} showed {observation!r}, but its space says numbers of shape {shape}")


@lru_cache(64)
def about_environment(env: str, options: str) -> About:
    """What an environment, with these options as JSON, shows and takes.

    Raises:
        ValueError: it cannot be made, or is of a kind that is not supported.
    """
    from gymnasium.spaces import Box, Discrete

    made = make(env, json.loads(options))
    try:
        seen, done = made.observation_space, made.action_space
        if not isinstance(seen, Box) or seen.dtype is None or np.dtype(seen.dtype).kind not in "fiu":
            raise ValueError(f"{env} shows {type(seen).__name__} observations: only Box, of numbers, is supported")
        if not isinstance(done, Box | Discrete):
            raise ValueError(f"{env} takes {type(done).__name__} actions: only Box and Discrete are supported")
        sizes = (int(np.prod(seen.shape)), int(np.prod(done.shape)) if isinstance(done, Box) else int(done.n))
        if not all(1 <= size <= MOST_NUMBERS for size in sizes):
            raise ValueError(
                f"{env} has {sizes[0]} observations and {sizes[1]} actions: at most {MOST_NUMBERS} are supported"
            )
        if isinstance(done, Discrete) and sizes[1] < 2:
            raise ValueError(f"{env} has a single action: there is nothing to choose")
        steps = made.spec.max_episode_steps if made.spec is not None else None
        if isinstance(done, Box):
            bounds = (done.low.astype(np.float64).ravel(), done.high.astype(np.float64).ravel())
            return About(*sizes, True, *bounds, done.shape, str(done.dtype), steps or 0)
        first = np.array([float(done.start)])
        return About(*sizes, False, first, first + sizes[1] - 1, (), "int64", steps or 0)
    finally:
        closed(made)
