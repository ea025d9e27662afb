"""What every task offers to those who evaluate, search, test and show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from arz.native import ByFields, core
from arz.tasks.status import Status
from arz.typing import Floats, Keys

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arz.tasks.episodes import Episodes

Policies = core.Batch | core.NetworkBatch
"""As the native core knows them."""


@dataclass(frozen=True)
class Evaluation:
    """How policies did in episodes: one row per policy, one column per episode."""

    returns: NDArray[np.float64]
    """The sum of rewards."""
    lengths: NDArray[np.int32]
    """How many steps the episode lasted."""
    statuses: NDArray[np.uint8]
    """How it ended: the number of a `Status`; 0 if it was stopped, because its program was worth nothing."""
    sums: NDArray[np.float64]
    """Of networks: what they saw, added up [network, part, number] (native/policies/network.hpp); a step that episodes
    share counts once."""
    distances: NDArray[np.float64] | None = None
    """How far forward it went (m), where that means something."""

    @classmethod
    def joined(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """The policies of all parts, one after the other; they played as many episodes."""
        distances = [part.distances for part in parts if part.distances is not None]
        return cls(
            np.concatenate([part.returns for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.statuses for part in parts]),
            np.concatenate([part.sums for part in parts]),
            np.concatenate(distances) if len(distances) == len(parts) else None,
        )

    def take(self, indices: NDArray[np.int64]) -> Evaluation:
        """The policies at these positions."""
        distances = None if self.distances is None else self.distances[indices]
        return Evaluation(
            self.returns[indices], self.lengths[indices], self.statuses[indices], self.sums[indices], distances
        )

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean return of each program; 0 if there are no episodes."""
        return _mean(self.returns)

    @property
    def mean_length(self) -> NDArray[np.float64]:
        """The mean length of the episodes of each program."""
        return _mean(self.lengths)

    @property
    def mean_distance(self) -> NDArray[np.float64]:
        """The mean distance of each program; NaN where there is none."""
        return np.full(len(self.returns), np.nan) if self.distances is None else _mean(self.distances)

    def share(self, status: Status) -> NDArray[np.float64]:
        """The share of episodes that ended in this way, for each program."""
        return _mean(self.statuses == status.number)


def _mean(values: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(values.sum(axis=1) / max(values.shape[1], 1), np.float64)


class FinishedEpisode(Protocol):
    """An episode that is over, with what there is to show of it."""

    @property
    def key(self) -> int:
        """Names the episode."""
        ...

    @property
    def actions(self) -> Floats:
        """As the policy gave them [step, entry]."""
        ...

    @property
    def recorded(self) -> dict[str, Floats]:
        """Everything that happened, by name, NaN after the end: `Task.record` of this one episode [step]."""
        ...

    @property
    def ending(self) -> str:
        """How it ended, in a sentence."""
        ...


@dataclass(frozen=True)
class TaskOption:
    """A field of a task that commands let a person change for a test or an episode."""

    field: str
    text: str = ""
    """What it means; the words that stand below the field if there are none."""
    kind: type = str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    """What it can be, if that is a few words."""
    films: tuple[str, ...] = ()
    """What it can be besides, where episodes are filmed."""


@dataclass(frozen=True)
class ActionGroup:
    """Entries of the action that are drawn together."""

    label: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Task(ByFields, ABC):
    """A variant of a task: a frozen record of its settings, which answers for all that only this task knows.

    A new task says what is abstract here; what has a body is what most tasks want.
    """

    kind: ClassVar[str]
    """The name of the task in a configuration."""
    title: ClassVar[str]
    """For sentences: what tasks of this kind are called."""
    objective_names: ClassVar[tuple[str, ...]] = ("return", "length")
    """What a search can ask for."""
    seconds_per_step: ClassVar[float | None] = None
    """How long a step is; None where nobody knows."""
    adds_up: ClassVar[bool] = True
    """Whether objectives are means over episodes, so that some of these tell of the rest."""
    cannot: ClassVar[dict[str, str]] = {}
    """The kinds of policies that it does not take, and the sentence that says so."""
    test_groups: ClassVar[str] = "change"
    """What the groups of its tests differ in."""
    has_pictures: ClassVar[bool] = False
    """Whether `film` can film an episode."""
    has_viewer: ClassVar[bool] = False
    """Whether `view` can play an episode."""
    test_options: ClassVar[tuple[TaskOption, ...]] = ()
    """What can be changed for its tests..."""
    episode_options: ClassVar[tuple[TaskOption, ...]] = ()
    """...and besides, for an episode that is looked at."""
    environments: ClassVar[dict[str, str]] = {}
    """Names under which Gymnasium can make it, and where these environments are."""

    def check(self, policies: str) -> None:
        """Refuses kinds of policies, "programs" or "networks", that it does not take; see `cannot`.

        Raises:
            ValueError: it does not take these.
        """
        if policies in self.cannot:
            raise ValueError(self.cannot[policies])

    # ---- what a policy meets ----

    @property
    @abstractmethod
    def observations(self) -> int:
        """How many numbers a policy sees."""

    @property
    @abstractmethod
    def actions(self) -> int:
        """How many it gives."""

    @property
    @abstractmethod
    def most_action(self) -> float:
        """Actions beyond this, in either direction, act like it."""

    @property
    def most_steps(self) -> int:
        """How many steps an episode has at most."""
        steps: int = getattr(self, "steps")  # noqa: B009 - a field of most tasks
        return steps

    @property
    def observation_names(self) -> tuple[str, ...] | None:
        """What the entries of an observation are; None where nobody knows."""
        return None

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the largest of each entry of an action; those beyond act like these."""
        most = np.full(self.actions, self.most_action)
        return -most, most

    @property
    def first_choice(self) -> int | None:
        """If an action is a choice, of which entry is largest, the number of the first; None if it is not."""
        return None

    @property
    def action_groups(self) -> tuple[ActionGroup, ...]:
        """The entries of the action, as they are drawn together."""
        return (ActionGroup("action", tuple(f"action[{k}]" for k in range(self.actions))),)

    def applied(self, actions: Floats) -> Floats:
        """What is done for the actions that a policy gave [step, entry]."""
        return np.clip(actions, *self.bounds)

    # ---- episodes ----

    @abstractmethod
    def rollout(self, policies: Policies, episodes: Keys, threads: int, *args: Any, **options: Any) -> Evaluation:
        """Runs every policy through every episode, on so many threads; each task has options of its own, by name."""
        # (`*args` tells mypy that these differ.)

    @abstractmethod
    def record(self, policy: Policies, episodes: Keys) -> dict[str, Floats]:
        """Everything that happened to one policy: name -> [episode, step], NaN after the end of an episode.

        State and parameters are those at the start of a step, as the policy met them; action, what the motors got of it
        and reward are those of the step.
        """

    @abstractmethod
    def stepped(self, count: int) -> Episodes:
        """So many episodes side by side, which are stepped from outside."""

    def stratified(self, episodes: Keys) -> Keys:
        """As many episodes, made from these, that show the task evenly."""
        return episodes

    @property
    def scoring(self) -> dict[str, Any]:
        """Options of `rollout` that leave the objectives as they are and save time."""
        return {}

    @property
    def simulation(self) -> tuple[Any, ...] | None:
        """What tasks have in common whose episodes can run side by side in one engine; None where there is none."""
        return None

    def shared_engine(self) -> Any:
        """That engine: the option `engine` of `rollout`."""
        raise NotImplementedError

    @classmethod
    def probe(cls) -> Self | None:
        """A short variant whose returns show whether two machines count alike; None where that is not for us to say."""
        return None

    # ---- worlds: what a configuration names, and what only that knows ----

    def settled(self) -> Self:
        """The same with all that is not in its settings; it may be made and tried here.

        Raises:
            ValueError: that is not possible.
        """
        return self

    def check_imported(self) -> None:
        """Makes sure that a rollout imports nothing that only the settings name.

        Raises:
            ValueError: it would.
        """

    def import_modules(self) -> None:
        """Imports what a rollout needs, for a process that was told to by one where it was imported."""

    @property
    def names_code(self) -> bool:
        """Whether making it may run code that its settings name, which may come from a stranger."""
        return False

    # ---- what a search asks ----

    def objectives(self, names: tuple[str, ...], found: Evaluation, episodes: Keys) -> Floats:
        """The objectives of these names [policy, objective]; higher is better."""
        columns = {"return": found.mean, "length": found.mean_length}
        return np.stack([columns[name] for name in names], axis=1)

    @property
    def case_names(self) -> tuple[str, ...]:
        """Kinds of episodes in which a policy may do well or not."""
        return ("as it is",)

    def cases(self, episodes: Keys) -> NDArray[np.int64]:
        """The case of each episode: a position among the names."""
        return np.zeros(len(episodes), np.int64)

    def happens(self, episodes: Keys) -> NDArray[np.int64]:
        """The step before which that happens in each episode which its case is about.

        Raises:
            ValueError: there is no such step.
        """
        raise ValueError(f"fits_senses must be false for {self.title}: what changes there is not a case among others")

    def easier(self) -> Self:
        """The task for beginners."""
        return self

    def shorter(self, steps: int, is_early: bool = False) -> Self:
        """The task with fewer steps, in which as much happens, or early on, where that saves time."""
        return self

    def brief(self, steps: int) -> Self:
        """The task for who only looks: not much longer than so many steps; nothing is made to find out."""
        return self if self.most_steps <= steps else self.shorter(steps)

    def eased(self, eases: Sequence[float]) -> Self:
        """The task where what happens in each case happens only in part: 0 for all of it, 1 for nothing.

        Raises:
            ValueError: it cannot.
        """
        if any(eases):
            raise ValueError(f"ease_rate must be 0 for {self.title}: what changes there, changes as a whole")
        return self

    def varied(self, key: int, amount: float) -> Self:
        """The task in a world that differs from the usual one, by an amount up to 1; the key says how.

        Raises:
            ValueError: there is only one world.
        """
        if amount:
            raise ValueError(f"variety must be 0 for {self.title}: there is only one world")
        return self

    # ---- tests ----

    @property
    @abstractmethod
    def name(self) -> str:
        """For people: which variant."""

    @property
    def full_name(self) -> str:
        """With the name of the task before it, where a reader does not know that."""
        return self.name

    @property
    @abstractmethod
    def variant(self) -> dict[str, Any]:
        """What the tests of a suite share."""

    @abstractmethod
    def test_suite(self) -> Mapping[tuple[str, str], Self]:
        """What `arz test` runs, by (group, name)."""

    @abstractmethod
    def test_score(self, means: Mapping[tuple[str, str], float]) -> float | None:
        """One number for the tests of a suite that were made: what the task itself is about."""

    @property
    def compared_group(self) -> str | None:
        """The group of tests by which methods are compared; None for all of them."""
        return None

    @property
    def lasting(self) -> str:
        """What it means that an episode has as many steps as it can, in few words."""
        return "lasted to the end"

    @property
    def success(self) -> float | None:
        """The mean return, in each test, of a policy that can do the task; None if nobody knows."""
        return None

    @property
    def highest_return(self) -> float | None:
        """The largest return of an episode that there can be; None if nobody knows."""
        return None

    @abstractmethod
    def sentence(self, status: Status) -> str:
        """How an episode ended."""

    # ---- what is shown ----

    def shown(self, change: str | None, parameters: str | None) -> Self:
        """The task of an episode to show: something changes in it, as these say or as it is.

        Args:
            change: how, or what; None for what the task itself says.
            parameters: the name of what changes; None for the usual.

        Raises:
            ValueError: they are for other tasks.
        """
        if change or parameters:
            raise ValueError(f"--change and --task are not for {self.title}")
        return self

    @classmethod
    def side_by_side(cls, variant: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """The variants of episodes that a film shows side by side, by what is special about each; usually it is one."""
        return {"": variant}

    def changing(self, rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """What may change in the world, by name, as the record of an episode has it over time."""
        return {}

    def film(self, episodes: Sequence[FinishedEpisode], path: Path, every: int | None = None, title: str = "") -> None:
        """Films an episode, or several side by side, as GIF or MP4.

        Args:
            episodes: what happened.
            path: where to.
            every: how many steps there are from picture to picture; None for what suits the task.
            title: shown where there is room.

        Raises:
            ValueError: the suffix is of no kind that there is, or nothing can be drawn here.
        """
        raise NotImplementedError

    def over_time(self, episode: FinishedEpisode, title: str) -> Figure | None:
        """What happened in an episode, drawn over time; None where there is no such drawing."""
        return None

    def view(self, episode: FinishedEpisode) -> None:
        """Plays an episode in an interactive viewer, until it is closed; if there is one (`has_viewer`)."""
        raise NotImplementedError
