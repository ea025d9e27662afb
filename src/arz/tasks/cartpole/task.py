"""Cataclysmic Cartpole: a pole on a cart, whose track tilts, motor weakens and joints wear out as it runs.

The paper's task (section "Cataclysmic Cartpole Environment" and its supplement). `docs/cartpole.md` has the physics,
the schedules and how the paper is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.names import did_you_mean
from arz.native import check_same, core
from arz.tasks.base import ActionGroup, FinishedEpisode, TaskOption
from arz.tasks.lanes import LaneTask
from arz.tasks.status import Status
from arz.typing import Floats, Keys

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arz.tasks.episodes import Episodes

PARAMETERS = tuple(name for name, *_ in core.CARTPOLE_CHANGES[:3])
"""What can change: force, damping, track_angle."""

NAMED: dict[str, tuple[str, ...]] = {"stationary": (), **{name: (name,) for name in PARAMETERS}, "all": PARAMETERS}
"""The paper's five tasks: which parameters change."""

CHANGES = ("none", "sudden", "continuous", "both")
check_same("list of changes", CHANGES[1:], "CARTPOLE_CHANGE_KINDS")
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

SENTENCES = {
    Status.COMPLETED: "The episode lasted to its end.",
    Status.FELL: f"The pole fell beyond {math.degrees(ANGLE_LIMIT):.0f} degrees.",
    Status.LEFT_TRACK: "The cart left the track.",
    Status.ACTION_NOT_FINITE: "The policy gave an action that is not a finite number.",
}


@dataclass(frozen=True)
class Cartpole(LaneTask):
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

    kind = "cartpole"
    title = "cartpole"
    truth = TRUTH
    stepper = core.CartpoleStepper
    make_settings = staticmethod(core.cartpole_settings)
    has_pictures = True
    seconds_per_step = STEP
    environments: ClassVar[dict[str, str]] = {
        "ARZ/CataclysmicCartpole-v0": "arz.tasks.cartpole.environment:CataclysmicCartpole"
    }

    test_options = (
        TaskOption("x_limit", "how far the cart may go (default: as in the run, else 0.4)", float, metavar="METRES"),
        TaskOption("partial_observability", kind=bool),
        TaskOption("actuator_noise", kind=bool),
    )

    observations = 4
    actions = 1
    most_action = 1.0
    observation_names = ("x", "theta", "x_dot", "theta_dot")
    action_groups = (ActionGroup("action (1: full force)", ("action[0]",)),)
    success = 900.0

    @property
    def settings(self) -> dict[str, Any]:
        """For the native core."""
        return {
            "change": CHANGES.index(self.change) - 1 if self.change != "none" else 0,
            "changes": [self.change != "none" and name in self.parameters for name in PARAMETERS],
            "hides_positions": self.partial_observability,
            "has_noise": self.actuator_noise,
            "noise_sigma": float(self.noise_sigma),
            "x_limit": float(self.x_limit),
            "steps": self.steps,
        }

    @property
    def name(self) -> str:
        """For people: what changes, and how."""
        changing = self.parameters if self.change != "none" else ()
        what = next((name for name, chosen in NAMED.items() if chosen == changing), " + ".join(changing))
        parts = [what if not changing else f"{what}, {self.change}"]
        parts += ["partial observability"] * self.partial_observability + ["actuator noise"] * self.actuator_noise
        return ", ".join(parts) + (f", x limit {self.x_limit:g}" if self.x_limit != Cartpole.x_limit else "")

    @property
    def full_name(self) -> str:
        """With the name of the task before it."""
        return f"{self.title}, {self.name}"

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

    def stepped(self, count: int) -> Episodes:
        """So many episodes side by side."""
        from arz.tasks.cartpole.episodes import CartpoleEpisodes

        return CartpoleEpisodes(self, count)

    @classmethod
    def probe(cls) -> Cartpole:
        """As it is: its episodes cost little."""
        return cls()

    def stratified(self, episodes: Keys) -> Keys:
        """These episodes themselves; where both kinds of changes happen, one after the other in turn."""
        if self.change != "both":
            return episodes
        return (episodes & ~np.uint64(1)) | (np.arange(len(episodes), dtype=np.uint64) & np.uint64(1))

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

    @property
    def highest_return(self) -> float:
        """A reward of 1 in each step."""
        return float(self.steps)

    def sentence(self, status: Status) -> str:
        """How an episode ended."""
        return SENTENCES[status]

    # ---- what is shown ----

    def shown(self, change: str | None, parameters: str | None) -> Cartpole:
        """As it is or as these say; something changes."""
        how = change or (self.change if self.change != "none" else "continuous")
        return replace(self, change=how, parameters=NAMED[parameters or "all"])

    def changing(self, rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """The parameters."""
        return {name.replace("_", " "): rows[name] for name in PARAMETERS}

    def film(self, episodes: Sequence[FinishedEpisode], path: Path, every: int | None = None, title: str = "") -> None:
        """Films one episode."""
        from arz.tasks.cartpole.film import film

        (episode,) = episodes
        film(episode.recorded, path, x_limit=self.x_limit, every=every or 3, title=title, ending=episode.ending)

    def over_time(self, episode: FinishedEpisode, title: str) -> Figure:
        """Position, angles, actions, and the parameters that change."""
        from arz.tasks.cartpole.strip import strip_figure

        return strip_figure(episode.recorded, title, x_limit=self.x_limit, ending=episode.ending)
