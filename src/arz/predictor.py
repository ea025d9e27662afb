"""A policy that other libraries can drive.

`predict` has the signature of Stable-Baselines3, so that its `evaluate_policy` takes a `Policy`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz.policy import AnyPolicy, PolicyInterpreter, load_policy
from arz.streams import key


@dataclass
class PolicyState:
    """The memory of a policy, in one or several episodes that run side by side. `predict` moves it on in place."""

    interpreter: PolicyInterpreter
    episodes: int
    """How many episodes have begun; gives each its own random numbers."""


class Policy:
    """A program, or a network, that acts.

    Args:
        program: what to run.
        seed: what the random numbers of programs that draw any come from.
    """

    def __init__(self, program: AnyPolicy, seed: int = 0) -> None:
        self.program = program
        self.seed = seed

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """A policy from an `.arz` file."""
        return cls(load_policy(path))

    def predict(
        self,
        observation: ArrayLike,
        state: PolicyState | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float64], PolicyState]:
        """The action for an observation, and the state to hand in with the next one.

        Args:
            observation: of one environment [entry], or of several [environment, entry].
            state: what the last call returned; None at the first step.
            episode_start: for each environment, whether this is the first step of an episode: its memory starts anew.
            deterministic: makes no difference: a program draws random numbers only if that is what it does.

        Raises:
            ValueError: the shapes do not fit.
        """
        seen = np.ascontiguousarray(observation, np.float64)
        if seen.ndim not in (1, 2):
            raise ValueError(
                f"expected an observation [entry] or [environment, entry], got an array of shape {seen.shape}"
            )
        rows = np.atleast_2d(seen)
        if state is None:
            state = PolicyState(self.program.interpreter(len(rows)), 0)
            starts = np.ones(len(rows), bool)
        elif episode_start is None:
            starts = np.zeros(len(rows), bool)
        else:
            starts = np.atleast_1d(np.asarray(episode_start, bool))
        if len(rows) != state.interpreter.lanes or len(starts) != len(rows):
            raise ValueError(
                f"expected {state.interpreter.lanes} observations and starts, got {len(rows)} and {len(starts)}"
            )
        for lane in np.flatnonzero(starts).tolist():
            state.interpreter.reset_lane(lane, key(self.seed, "policy", state.episodes))
            state.episodes += 1
        actions = state.interpreter.act(rows)
        return (actions[0] if seen.ndim == 1 else actions), state
