"""Cataclysmic Cartpole: a pole on a cart, whose track tilts, motor weakens and joints wear out as it runs.

The paper's task (section "Cataclysmic Cartpole Environment" and its supplement). `docs/cartpole.md` has the physics,
the schedules and how the paper is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.names import did_you_mean
from arz.native import ByFields, core
from arz.tasks.status import Status
from arz.tasks.task import Evaluation, Keys

PARAMETERS = tuple(name for name, *_ in core.CARTPOLE_CHANGES[:3])
"""What can change: force, damping, track_angle."""

NAMED: dict[str, tuple[str, ...]] = {"stationary": (), **{name: (name,) for name in PARAMETERS}, "all": PARAMETERS}
"""The paper's five tasks: which parameters change."""

CHANGES = ("none", "sudden", "continuous", "both")
"""How parameters change: not at all, at once, in a straight line over a window of time, or one of both."""

TESTED = ("sudden", "continuous")
"""How they change in tests."""

RANGES = {name: (low, high) for name, _, low, high in core.CARTPOLE_CHANGES}
"""Where a parameter, or the mean of the noise, may go."""

STEP = core.CARTPOLE_STEP
"""Seconds in a step."""

ANGLE_LIMIT = core.CARTPOLE_ANGLE_LIMIT
"""The pole has fallen when it is farther than this from the vertical (rad)."""

TRUTH = core.CARTPOLE_TRUTH
"""What there is to know about an episode at each step; a policy sees only the first four."""

OBJECTIVES = ("return", "length")
"""What a search can ask for: mean return, mean length."""

SENTENCES = {
    Status.COMPLETED: "The episode lasted to its end.",
    Status.FELL: f"The pole fell beyond {math.degrees(ANGLE_LIMIT):.0f} degrees.",
    Status.LEFT_TRACK: "The cart left the track.",
    Status.ACTION_NOT_FINITE: "The policy gave an action that is not a finite number.",
}


@dataclass(frozen=True)
class Cartpole(ByFields):
    """A variant of Cataclysmic Cartpole.

    Raises:
        ValueError: a name is unknown, or a number is out of range.
    """

    change: str = "continuous"
    """How parameters change: none, sudden, continuous, or both: some episodes have one, some the other."""
    parameters: tuple[str, ...] = PARAMETERS
    """Which parameters change: a list of force, damping and track_angle, or the name of a task (stationary, force,
    damping, track_angle, all)."""
    x_limit: float = 0.4
    """The episode ends when the cart is farther than this from the middle (m)."""
    partial_observability: bool = False
    """The policy sees zeros in place of x and theta."""
    actuator_noise: bool = False
    """Noise is added to the action; its mean drifts within [-2, 2] on a continuous schedule of its own."""
    noise_sigma: float = 0.1
    """Standard deviation of the noise on the action."""
    steps: int = 1000
    """Time steps of an episode: of 1/60 s for cartpole."""

    def __post_init__(self) -> None:
        for name in ("x_limit", "noise_sigma"):
            if not isinstance(getattr(self, name), int | float) or not abs(getattr(self, name)) < 1e300:
                raise ValueError(f"{name} must be a number, not {getattr(self, name)!r}")
        for name in ("partial_observability", "actuator_noise"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}")
        if not isinstance(self.steps, int) or isinstance(self.steps, bool) or not 1 <= self.steps <= 1_000_000:
            raise ValueError(f"steps must be a whole number from 1 to 1000000, not {self.steps!r}")
        if self.change not in CHANGES:
            hint = did_you_mean(str(self.change), CHANGES)
            raise ValueError(f"change must be one of {', '.join(CHANGES)}, not {self.change!r}.{hint}")
        chosen = self.parameters
        if isinstance(chosen, str):
            if chosen not in NAMED:
                there = f"there are {', '.join(NAMED)}"
                raise ValueError(f"there is no cartpole task called {chosen!r}; {there}.{did_you_mean(chosen, NAMED)}")
            chosen = NAMED[chosen]
        if not isinstance(chosen, list | tuple | set | frozenset):
            raise ValueError(f"parameters must be a list of names or the name of a task, not {chosen!r}")
        for name in chosen:
            if name not in PARAMETERS:
                known = ", ".join(PARAMETERS)
                hint = did_you_mean(str(name), PARAMETERS)
                raise ValueError(f"parameters must be among {known}, not {name!r}.{hint}")
        object.__setattr__(self, "parameters", tuple(name for name in PARAMETERS if name in chosen))
        _ = self.native  # refuses what is out of range

    observations = 4
    actions = 1
    most_action = 1.0

    @cached_property
    def native(self) -> core.CartpoleSettings:
        """The same, as the native core knows it."""
        changes = [self.change != "none" and name in self.parameters for name in PARAMETERS]
        return core.cartpole_settings(
            ("sudden", "continuous", "both").index(self.change) if self.change != "none" else 0,
            changes,
            self.partial_observability,
            self.actuator_noise,
            float(self.noise_sigma),
            float(self.x_limit),
            self.steps,
        )

    @property
    def name(self) -> str:
        """For people: what changes, and how."""
        changing = self.parameters if self.change != "none" else ()
        what = next((name for name, chosen in NAMED.items() if chosen == changing), " + ".join(changing))
        parts = [what if not changing else f"{what}, {self.change}"]
        parts += ["partial observability"] * self.partial_observability + ["actuator noise"] * self.actuator_noise
        return ", ".join(parts) + (f", x limit {self.x_limit:g}" if self.x_limit != Cartpole.x_limit else "")

    @property
    def variant(self) -> dict[str, Any]:
        """All but what changes and how: what the tests of a suite share."""
        return {name: value for name, value in asdict(self).items() if name not in ("change", "parameters")}

    def test_suite(self) -> dict[tuple[str, str], Cartpole]:
        """What `arz test` runs: the five tasks, changing suddenly and continuously, in this variant otherwise."""
        return {
            (change, name): replace(self, change=change, parameters=chosen)
            for change in TESTED
            for name, chosen in NAMED.items()
        }

    def test_score(self, means: Mapping[tuple[str, str], float]) -> float | None:
        """The mean return on this very task."""
        parameters = self.parameters if self.change != "none" else ()
        name = next((name for name, chosen in NAMED.items() if chosen == parameters), "")
        kinds = {"none": TESTED[:1], "both": TESTED}.get(self.change, (self.change,))
        found = [means.get((change, name)) for change in kinds]
        known = [value for value in found if value is not None]
        return sum(known) / len(known) if len(known) == len(kinds) else None

    def rollout(
        self,
        programs: core.Batch | core.NetworkBatch,
        episodes: Keys,
        threads: int,
        *,
        only_effective: bool = True,
        compact: bool = True,
    ) -> Evaluation:
        """Runs every program through every episode.

        Args:
            programs: what to evaluate.
            episodes: their keys.
            threads: how many to use.
            only_effective: leave out code that cannot influence an action; changes nothing but the time.
            compact: move running episodes together as others end; changes nothing but the time.
        """
        return Evaluation(*core.rollout(programs, self.native, episodes, threads, only_effective, compact))

    def spread(self, episodes: Keys) -> Keys:
        """These episodes themselves; where both kinds of changes happen, one after the other in turn."""
        if self.change != "both":
            return episodes
        return (episodes & ~np.uint64(1)) | (np.arange(len(episodes), dtype=np.uint64) & np.uint64(1))

    def objectives(self, names: tuple[str, ...], found: Evaluation, episodes: Keys) -> NDArray[np.float64]:
        """The objectives of these names."""
        columns = {"return": found.mean, "length": found.mean_length}
        return np.stack([columns[name] for name in names], axis=1)

    @property
    def case_names(self) -> tuple[str, ...]:
        """How parameters change."""
        return TESTED if self.change == "both" else (self.change,)

    def cases(self, episodes: Keys) -> NDArray[np.int64]:
        """The case of each episode."""
        return (episodes & np.uint64(len(self.case_names) - 1)).astype(np.int64)

    def happens(self, episodes: Keys) -> NDArray[np.int64]:
        """There is no such step.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "fits_senses must be false for cartpole: parameters change there at several times, or all the time"
        )

    def easier(self) -> Cartpole:
        """Nothing changes."""
        return replace(self, change="none", parameters=())

    def shorter(self, steps: int, is_early: bool = False) -> Cartpole:
        """Itself: whole episodes are cheap."""
        return self

    def eased(self, eases: Sequence[float]) -> Cartpole:
        """Itself where nothing is spared.

        Raises:
            ValueError: something is.
        """
        if any(eases):
            raise ValueError("ease_rate must be 0 for cartpole: what changes there, changes as a whole")
        return self

    def varied(self, key: int, amount: float) -> Cartpole:
        """Itself: there is only one world.

        Raises:
            ValueError: it shall differ.
        """
        if amount:
            raise ValueError("variety must be 0 for cartpole: only the quadruped's world can differ")
        return self

    @property
    def scoring(self) -> dict[str, Any]:
        """None."""
        return {}

    @property
    def lasting(self) -> str:
        """What it means that an episode has as many steps as it can: all is well."""
        return "lasted to the end"

    @property
    def success(self) -> float:
        """The mean return, in each test, of a policy that can do the task."""
        return 900.0

    def sentence(self, status: Status) -> str:
        """How an episode ended."""
        return SENTENCES[status]
