"""Any Gymnasium environment as a task: Box observations, Box or Discrete actions.

Episodes run in Python, all of a program side by side, on a pool of processes. An action beyond the bounds is clipped;
what is not a number counts as the middle of the bounds. With Discrete actions, the program has a number for each, and
the largest is chosen. An episode is named by a key, from which the seed of its reset follows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from arz.native import core
from arz.tasks.base import Evaluation, FinishedEpisode, Policies, Task
from arz.tasks.episodes import RUNNING, Episodes
from arz.tasks.gymnasium.adapter import (
    MOST_NUMBERS,
    About,
    about_environment,
    allow_files,
    check_imported,
    import_module,
    named_files,
    named_modules,
    reward_threshold,
)
from arz.tasks.gymnasium.change_check import Tried, check_changes
from arz.tasks.gymnasium.schedule import ScheduledChange, parse_changes
from arz.tasks.status import Status
from arz.typing import Floats, Keys

AS_IT_IS, CHANGING = "as it is", "changing"
"""The names of tests."""
NO_NETWORKS = "networks are for cartpole and quadruped: in other environments, evolve programs"
SENTENCES = {
    Status.COMPLETED: "The episode lasted to its end.",
    Status.FELL: "The environment ended the episode.",
    Status.ACTION_NOT_FINITE: "The environment gave a reward that is not a finite number.",
}


@dataclass(frozen=True)
class AnyEnvironment(Task):
    """A Gymnasium environment.

    Raises:
        ValueError: a value does not fit.
    """

    env: str = "Pendulum-v1"
    """The name of a Gymnasium environment, such as Pendulum-v1 or mypackage:MyEnv-v0."""
    env_options: dict[str, Any] = field(default_factory=dict)
    """What the environment is made with."""
    change: str = ""
    """Any environment: what changes in it, such as "unwrapped.g: 10 -> 5 @ 200..800" (docs/environments.md)."""
    steps: int = 0
    """Any environment: steps of an episode; 0 for the environment's own limit."""
    env_observations: int = 0
    """How many numbers the environment shows; 0 as long as nobody has asked it."""
    env_actions: int = 0
    """How many a policy gives it; 0 as long as nobody has asked it."""

    kind = "gymnasium"
    title = "environments of Gymnasium"
    cannot: ClassVar[dict[str, str]] = {"networks": NO_NETWORKS}
    lasting = "reached the step limit"
    has_pictures = True

    def __post_init__(self) -> None:
        if not isinstance(self.env, str) or not self.env or not self.env.isprintable():
            raise ValueError("env must be the name of a Gymnasium environment, such as Pendulum-v1")
        if not isinstance(self.change, str):
            raise ValueError(f"change must be a text such as 'unwrapped.g: 10 -> 5 @ 200..800', not {self.change!r}")
        for name, most in (("steps", 10**9), ("env_observations", MOST_NUMBERS), ("env_actions", MOST_NUMBERS)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
                raise ValueError(f"{name} must be 0 to {most}, not {value!r}")
        try:
            json.dumps(self.env_options)
            if not isinstance(self.env_options, dict):
                raise TypeError
        except (TypeError, ValueError):
            said = f"a table of numbers and texts, such as {{g = 9.81}}, not {self.env_options!r}"
            raise ValueError(f"env_options must be {said}") from None
        if "render_mode" in self.env_options:
            raise ValueError("env_options cannot have render_mode: arz draws when it is asked to (arz replay)")
        _ = self.changes

    @cached_property
    def changes(self) -> tuple[ScheduledChange, ...]:
        """What changes."""
        return parse_changes(self.change)

    @property
    def about(self) -> About:
        """What the environment says of itself."""
        return about_environment(self.env, json.dumps(self.env_options))

    def check_imported(self) -> None:
        """Makes sure that making the environment imports nothing that it names.

        Raises:
            ValueError: it would.
        """
        check_imported(self.env, self.env_options)

    def import_modules(self) -> None:
        """Imports what the environment needs, for a process that was told to by one where it was imported."""
        allow_files(named_files(self.env_options))
        for name in named_modules(self.env, self.env_options):
            import_module(name)

    def settled(self) -> AnyEnvironment:
        """The same with all that only the environment knows; it is made and tried here.

        Raises:
            ValueError: the environment cannot be made, or is of a kind that is not supported; or a change in it
                changes nothing.
        """
        about = self.about
        if not (self.steps or about.steps):
            raise ValueError(f"{self.env} has no limit of its own: say how long an episode is (--steps)")
        check_changes(Tried(self.env, self.env_options, self.most_steps), self.changes)
        return replace(self, env_observations=about.observations, env_actions=about.actions)

    @property
    def observations(self) -> int:
        """How many numbers a policy sees; 0 as long as nobody has asked the environment (`settled`)."""
        return self.env_observations

    @property
    def actions(self) -> int:
        """How many it gives: one for each entry of a Box, or for each of the Discrete actions; 0 likewise."""
        return self.env_actions

    @property
    def most_action(self) -> float:
        """The largest bound of the actions."""
        low, high = self.bounds
        return float(max(np.max(np.abs(low)), np.max(np.abs(high)))) if self.about.is_box else 1e300

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Those of its Box; none for the worth of Discrete actions."""
        if self.about.is_box:
            return self.about.low, self.about.high
        return np.full(self.actions, -np.inf), np.full(self.actions, np.inf)

    @property
    def first_choice(self) -> int | None:
        """The first of the Discrete actions."""
        return None if self.about.is_box else int(self.about.low[0])

    def applied(self, actions: Floats) -> Floats:
        """What the environment gets, flat."""
        return np.array(self.about.actions_of(actions), np.float64).reshape(len(actions), -1)

    @property
    def most_steps(self) -> int:
        """How many steps an episode has at most."""
        return self.steps or self.about.steps

    @property
    def name(self) -> str:
        """For people."""
        return self.env + (f", {self.change}" if self.change else "")

    @property
    def variant(self) -> dict[str, Any]:
        """All but what changes."""
        return {name: value for name, value in asdict(self).items() if name != "change"}

    def test_suite(self) -> dict[tuple[str, str], AnyEnvironment]:
        """As it is, and, if something changes, also without that."""
        if not self.change:
            return {(self.env, AS_IT_IS): self}
        return {(self.env, CHANGING): self, (self.env, "unchanged"): replace(self, change="")}

    def test_score(self, means: Mapping[tuple[str, str], float]) -> float | None:
        """The mean return."""
        return means.get((self.env, CHANGING if self.change else AS_IT_IS))

    def rollout(self, policies: Policies, episodes: Keys, threads: int) -> Evaluation:
        """Runs every program through every episode, on so many processes; with one, in this one. There are no options.

        Raises:
            ValueError: the policies are networks, or do not fit; or a process has died.
        """
        from arz.tasks.gymnasium.episodes import rollout

        self.check_imported()
        return rollout(self, _programs(policies), episodes, threads)

    def record(self, policy: Policies, episodes: Keys) -> dict[str, Floats]:
        """What happened: observation, action, reward and what changes."""
        program = _programs(policy)
        names = [
            *(f"obs[{k}]" for k in range(self.observations)),
            *(f"action[{k}]" for k in range(self.actions)),
            "reward",
        ]
        names += [change.path for change in self.changes]
        rows = np.full((len(episodes), self.most_steps, len(names)), np.nan)
        from arz.tasks.gymnasium.episodes import kept_episodes

        stepper, running = core.Stepper(program, index=0, lanes=len(episodes)), kept_episodes(self, len(episodes))
        stepper.reset(np.ascontiguousarray(episodes))
        for lane, key in enumerate(episodes.tolist()):
            running.start(lane, key)
        while np.any(running.statuses == RUNNING):
            alive, at = np.flatnonzero(running.statuses == RUNNING), running.times.copy()
            seen = running.observations()
            actions = stepper.act(seen)
            rewards = running.step(actions)
            truth = [values[:, None] for values in running.truth().values()]
            found = np.hstack([seen, actions, rewards[:, None], *truth])
            rows[alive, at[alive]] = found[alive]
        return {name: rows[:, :, column] for column, name in enumerate(names)}

    def stepped(self, count: int) -> Episodes:
        """So many episodes side by side."""
        from arz.tasks.gymnasium.episodes import AnyEpisodes

        return AnyEpisodes(self, count)

    def easier(self) -> AnyEnvironment:
        """Nothing changes."""
        return replace(self, change="")

    def shorter(self, steps: int, is_early: bool = False) -> AnyEnvironment:
        """With fewer steps: what would change later does not."""
        return replace(self, steps=min(steps, self.most_steps))

    @property
    def success(self) -> float | None:
        """The return from which on the environment counts as solved, if it says so."""
        return reward_threshold(self.env)

    def sentence(self, status: Status) -> str:
        """How an episode ended."""
        return SENTENCES.get(status, status.name)

    # ---- what is shown ----

    @property
    def names_code(self) -> bool:
        """Whether the name has a module in it, or there are options, which may name some."""
        return ":" in self.env or bool(self.env_options)

    def brief(self, steps: int) -> AnyEnvironment:
        """With at most so many steps, without asking the environment how many it has."""
        return replace(self, steps=min(self.steps, steps))

    def shown(self, change: str | None, parameters: str | None) -> AnyEnvironment:
        """With this change, or none, or its own; it is tried here."""
        if parameters:
            raise ValueError("--task is for cartpole; what changes in an environment is said by --change")
        return replace(self, change="" if change == "none" else change or self.change).settled()

    def changing(self, rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """The attributes that change."""
        return {change.path: rows[change.path] for change in self.changes}

    def film(self, episodes: Sequence[FinishedEpisode], path: Path, every: int | None = None, title: str = "") -> None:
        """Films one episode in the pictures that the environment draws."""
        from arz.tasks.gymnasium.film import film

        (episode,) = episodes
        film(self, episode.key, episode.actions, path, every=every or 1)


def _programs(policies: Policies) -> core.Batch:
    """These policies, if they are programs."""
    if not isinstance(policies, core.Batch):
        raise ValueError(NO_NETWORKS)
    return policies
