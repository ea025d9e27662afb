"""Laikago leg-breaking: walk at 1 m/s, and go on when one leg, at some moment, loses all its torque.

The paper's task (section "Quadruped Robot"). `docs/physics.md` has the simulator, `docs/quadruped.md` the task and how
the paper is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arz.names import did_you_mean
from arz.native import core
from arz.streams import Stream
from arz.tasks.base import ActionGroup, Evaluation, FinishedEpisode, Policies, Task, TaskOption
from arz.tasks.quadruped import mujoco_model
from arz.tasks.status import Status
from arz.typing import Floats, Keys

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arz.tasks.episodes import Episodes

NUMBERS: dict[str, Any] = core.LAIKAGO
"""The robot, its motors and the ground in numbers."""

LEGS: tuple[str, ...] = tuple(NUMBERS["legs"])
"""FR, FL, RR, RL: front or rear, right or left."""

CHOICES = ("random", "none", *LEGS)
"""Which leg breaks."""
EACH = "each"
"""For films: four episodes, in each of which another leg breaks."""

ENGINES = ("batched", "double", "mujoco")
"""Who simulates: our simulator, eight robots side by side in single precision; the same in double; MuJoCo."""

RANDOM = -1
"""The step of the break is a random one."""

STEP = NUMBERS["step"] * NUMBERS["substeps"]
"""Seconds in a step of the task."""

STATE: tuple[str, ...] = tuple(NUMBERS["state"])
"""The 37 numbers that a policy sees."""

MOST_DISTANCE = 0.5
"""More than this part of what the wanted speed gives does not count: distance shall help to begin, and no more."""

EASY_STEPS = 400
"""Steps of an episode of the easier task."""

SWEEPS = (5, 20)
"""Sweeps over the contacts with which programs are tested again."""

IDLE_LENGTH, IDLE_RETURN = 400.0, 50.0
"""The paper's constraint: who lasts longer and returns less is worth nothing."""

RANGES = (
    ("friction", 0, 100),
    ("payload", -10, 1000),
    ("motor_strength", 0, 100),
    ("start_pose", 0, 1),
    ("sensor_noise", 0, 1000),
)
"""What the numbers of a world can be."""
MOST_SWEEPS = 1000
WORLDS = 2**31 - 1
"""How many there are."""
ALWAYS_TOLD = ("contact_iterations", "steps")
"""What tests say of the variant that they are of, also where it is as usual."""

CROWD, SMALL_CROWD, LARGE_IMAGE = 32, 16, 2000
"""How many robots move side by side, at least; so many where programs have so many numbers in memory."""

SENTENCES = {
    Status.COMPLETED: "The episode lasted to its end.",
    Status.FELL: "The robot fell.",
    Status.LEFT_TRACK: f"The robot went more than {NUMBERS['most_aside']:g} m aside.",
    Status.ACTION_NOT_FINITE: "The policy gave an action that is not a finite number.",
}


@dataclass(frozen=True)
class Quadruped(Task):
    """A variant of Laikago leg-breaking.

    Raises:
        ValueError: a name is unknown, or a number is out of range.
    """

    leg: str = "random"
    """Which leg breaks: FR, FL, RR, RL, a random one in each episode, or none."""
    break_step: int = RANDOM
    """The step at which it breaks; -1 for a random one in each episode."""
    break_before: int = 0
    """A random step is below this; 0 for any step of the episode."""
    torque_left: tuple[float, ...] = (0.0,) * len(LEGS)
    """What is left of the torque of a leg once it breaks, for FR, FL, RR and RL: 0 for nothing, 1 for all of it."""
    friction: float = float(NUMBERS["friction"])
    """Of the toes on the ground."""
    payload: float = 0.0
    """A mass that the trunk carries (kg)."""
    motor_strength: float = 1.0
    """The torque of all motors, as a share of what it should be."""
    latency: int = 0
    """Milliseconds until the motors hear of an action, below 10."""
    start_pose: float = 0.0
    """Each joint begins off its place by up to this (rad)..."""
    sensor_noise: float = 0.0
    """The errors of sensors, in units: 1 is 0.01 rad for joint angles, 0.05 m/s for velocities, and the like..."""
    world: int = 0
    """...and what both are drawn from."""
    engine: str = "batched"
    """Who simulates: batched, double or mujoco."""
    contact_iterations: int = 1
    """Sweeps over the contacts in each physics step (not with MuJoCo)."""
    steps: int = 1000
    """Time steps of an episode: of 10 ms for the quadruped."""
    constraint: bool = True
    """Programs that stand still (the paper: length above 400, return below 50) get the fitness 0."""
    floor: bool = True
    """So do programs whose mean return is negative: else they would be better than nothing by their length alone."""

    kind = "quadruped"
    title = "the quadruped"
    objective_names = ("return", "length", "distance", "worst_leg", *LEGS)
    seconds_per_step = STEP
    adds_up = False
    test_groups = "simulation"
    has_pictures = True
    has_viewer = True
    environments: ClassVar[dict[str, str]] = {
        "ARZ/LaikagoLegBreak-v0": "arz.tasks.quadruped.environment:LaikagoLegBreak"
    }

    test_options = (
        TaskOption("engine", "who simulates (default: as in the run, else batched)", choices=ENGINES),
        TaskOption(
            "contact_iterations",
            "sweeps over the contacts in each physics step (default: as in the run, else 1)",
            int,
            metavar="NUMBER",
        ),
    )
    episode_options = (
        TaskOption("leg", "which leg breaks (default: as in the run, or random)", choices=CHOICES, films=(EACH,)),
        TaskOption("break_step", "when (default: as in the run, or random)", int, metavar="STEP"),
    )

    observations = 37
    actions = 12
    most_action = float(NUMBERS["action_limit"])
    observation_names = STATE
    action_groups = tuple(ActionGroup(f"{leg}: action (rad)", tuple(NUMBERS["joint_names"])) for leg in LEGS)
    success = 400.0

    def __post_init__(self) -> None:
        for name, known in (("leg", CHOICES), ("engine", ENGINES)):
            given = getattr(self, name)
            if given not in known:
                hint = did_you_mean(str(given), known)
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {given!r}.{hint}")
        for name, low, high in (("steps", 1, 1_000_000), ("contact_iterations", 1, MOST_SWEEPS)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
        step = self.break_step
        if not isinstance(step, int) or isinstance(step, bool) or not RANDOM <= step < self.steps:
            raise ValueError(f"break_step must be a step from 0 to {self.steps - 1}, or -1 for random, not {step!r}")
        before = self.break_before
        if not isinstance(before, int) or isinstance(before, bool) or not 0 <= before <= self.steps:
            raise ValueError(f"break_before must be a step up to {self.steps}, or 0 for any, not {before!r}")
        left = self.torque_left
        is_list = isinstance(left, list | tuple) and len(left) == len(LEGS)
        if not is_list or not all(_is_number(value) and 0 <= value <= 1 for value in left):
            raise ValueError(f"torque_left must be {len(LEGS)} numbers from 0 to 1, as in [0, 0.5, 0, 0], not {left!r}")
        object.__setattr__(self, "torque_left", tuple(map(float, left)))
        for name, low, high in RANGES:
            value = getattr(self, name)
            if not _is_number(value) or not low <= value <= high:
                raise ValueError(f"{name} must be a number from {low} to {high}, not {value!r}")
        if not isinstance(self.world, int) or isinstance(self.world, bool) or not 0 <= self.world < WORLDS:
            raise ValueError(f"world must be a whole number below {WORLDS}, not {self.world!r}")
        most = NUMBERS["substeps"] - 1
        if not isinstance(self.latency, int) or isinstance(self.latency, bool) or not 0 <= self.latency <= most:
            raise ValueError(f"latency must be a whole number from 0 to {most} (ms), not {self.latency!r}")
        for name in ("constraint", "floor"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, not {getattr(self, name)!r}")

    @cached_property
    def native(self) -> core.QuadrupedSettings:
        """The same, as the native core knows it."""
        odd = {"random": core.QUADRUPED_RANDOM, "none": core.QUADRUPED_NO_LEG}
        return core.quadruped_settings(
            leg=odd[self.leg] if self.leg in odd else LEGS.index(self.leg),
            break_step=core.QUADRUPED_RANDOM if self.break_step == RANDOM else self.break_step,
            steps=self.steps,
            break_before=self.break_before or self.steps,
            torque_left=[float(value) for value in self.torque_left],
            sensor_noise=float(self.sensor_noise),
            key=self.world,
        )

    def native_engine(self, threads: int = 1) -> core.Engine:
        """Who simulates, as the native core knows it.

        Raises:
            ValueError: it is MuJoCo, and that is not installed.
        """
        if self.engine == "mujoco":
            return mujoco_model.engine(threads, *self._world)
        return core.own_engine(
            is_double=self.engine == "double",
            contact_iterations=self.contact_iterations,
            world=core.laikago_world(*self._world),
        )

    @property
    def _world(self) -> tuple[float, float, float, int, float, int]:
        """Friction, payload, strength of the motors, latency, the start pose and its key."""
        numbers = float(self.friction), float(self.payload), float(self.motor_strength)
        return *numbers, self.latency, float(self.start_pose), self.world

    @property
    def simulation(self) -> tuple[Any, ...]:
        """What tasks share whose robots move alike."""
        return self.engine, self.contact_iterations, *self._world

    def shared_engine(self) -> core.Engine:
        """For rollouts that several callers ask for: one at a time moves the robots of all, on its thread.

        The last robots of a rollout, which are few, move beside the first of the next.
        """
        return core.shared_engine(self.native_engine())

    @classmethod
    def probe(cls) -> Quadruped:
        """Short, with a leg that breaks."""
        return cls(steps=100, break_step=50)

    @property
    def name(self) -> str:
        """For people: what breaks, and who simulates."""
        which = {"random": "a random leg breaks", "none": "no leg breaks"}.get(self.leg, f"{self.leg} breaks")
        when = "" if self.break_step == RANDOM or self.leg == "none" else f" at step {self.break_step}"
        iterations = f", {self.contact_iterations} contact iterations" if self.contact_iterations != 1 else ""
        return f"Laikago, {which}{when}" + (f", {self.engine}" if self.engine != "batched" else "") + iterations

    @property
    def variant(self) -> dict[str, Any]:
        """All but what the tests of a suite vary, and what only concerns a search."""
        left_out = ("leg", "break_step", "break_before", "engine", "constraint", "floor")
        usual = asdict(Quadruped())
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in left_out and (name in ALWAYS_TOLD or value != usual[name])
        }

    def breaks(self, episodes: Keys) -> NDArray[np.int32]:
        """Which leg breaks in each episode, and when: rows (leg, step); the leg -1 if none does."""
        return core.quadruped_breaks(self.native, episodes)

    def stratified(self, episodes: Keys) -> Keys:
        """As many episodes, in which all legs break equally often, and at times spread over the episode."""
        return core.quadruped_balanced(self.native, episodes)

    def rollout(
        self,
        policies: Policies,
        episodes: Keys,
        threads: int,
        *,
        only_effective: bool = True,
        shares_trunk: bool = True,
        crowd: int | None = None,
        stops_idle: bool = False,
        engine: core.Engine | None = None,
    ) -> Evaluation:
        """Runs every policy through every episode.

        Args:
            policies: what to evaluate.
            episodes: their keys.
            threads: how many to use.
            only_effective: leave out code that cannot influence an action.
            shares_trunk: do what episodes have in common, until a leg breaks, once.
            crowd: how many robots move side by side, at least; fewer by default where programs have much memory.
            stops_idle: stop a program once it is certain that it breaks the constraint. Only this changes a result:
                returns and lengths until then, which break the constraint too, and the status 0.
            engine: who simulates; of this task, by default one for this call. See `shared_engine`.
        """
        idle = (IDLE_LENGTH, IDLE_RETURN) if stops_idle else (np.inf, -np.inf)
        found = core.quadruped_rollout(
            policies,
            self.native,
            engine or self.native_engine(threads),
            episodes,
            constraint_length=idle[0],
            constraint_return=idle[1],
            threads=threads,
            only_effective=only_effective,
            shares_trunk=shares_trunk,
            crowd=crowd or (CROWD if policies.image_size < LARGE_IMAGE else SMALL_CROWD),
        )
        return Evaluation(*found)

    def record(self, policy: Policies, episodes: Keys) -> dict[str, Floats]:
        """The state, the action of each joint, the reward, and whether each leg still works."""
        rows = core.recorded_quadruped(
            policy, index=0, settings=self.native, engine=self.native_engine(), episodes=episodes
        )
        return {name: rows[:, :, column] for column, name in enumerate(core.QUADRUPED_TRUTH)}

    def stepped(self, count: int) -> Episodes:
        """So many episodes side by side."""
        from arz.tasks.quadruped.episodes import QuadrupedEpisodes

        return QuadrupedEpisodes(self, count)

    def objectives(self, names: tuple[str, ...], found: Evaluation, episodes: Keys) -> Floats:
        """The objectives of these names, under the constraint. A leg that breaks in no episode counts as the mean."""
        legs = self.breaks(episodes)[:, 0]
        mean, length = found.mean, found.mean_length
        by_leg = {
            leg: found.returns[:, legs == n].mean(axis=1) if np.any(legs == n) else mean for n, leg in enumerate(LEGS)
        }
        most = MOST_DISTANCE * self.steps * STEP * NUMBERS["speed"]
        distance = np.clip(np.nan_to_num(found.mean_distance, nan=0.0, posinf=0.0, neginf=0.0), 0.0, most)
        columns = {"return": mean, "length": length, "distance": distance}
        columns |= {"worst_leg": np.min(list(by_leg.values()), axis=0), **by_leg}
        objectives = np.stack([columns[name] for name in names], axis=1)
        if self.constraint:
            objectives[(length > IDLE_LENGTH) & (mean < IDLE_RETURN)] = 0.0
        if self.floor:
            objectives[mean < 0.0] = 0.0
        return objectives

    @property
    def case_names(self) -> tuple[str, ...]:
        """Which leg breaks."""
        return LEGS if self.leg == "random" else (self.leg,)

    def cases(self, episodes: Keys) -> NDArray[np.int64]:
        """The case of each episode."""
        if self.leg != "random":
            return np.zeros(len(episodes), np.int64)
        return self.breaks(episodes)[:, 0].astype(np.int64)

    def happens(self, episodes: Keys) -> NDArray[np.int64]:
        """When the leg breaks; after the end if none does."""
        leg, step = self.breaks(episodes).astype(np.int64).T
        return np.where(leg < 0, self.steps, step)

    def easier(self) -> Quadruped:
        """No leg breaks, so that all episodes are the same; and they are shorter."""
        return replace(self, leg="none", break_step=RANDOM, break_before=0, steps=min(self.steps, EASY_STEPS))

    def shorter(self, steps: int, is_early: bool = False) -> Quadruped:
        """With fewer steps, among which the leg breaks, or in the first half of them."""
        steps = min(self.steps, steps)
        when = self.break_step if self.break_step < steps else RANDOM
        before = max(1, steps // 2) if is_early else min(self.break_before, steps)
        return replace(self, steps=steps, break_step=when, break_before=before)

    def eased(self, eases: Sequence[float]) -> Quadruped:
        """Where a leg breaks, so much of what it would lose of its torque is left."""
        if not any(eases):
            return self
        spared = eases if self.leg == "random" else [eases[0] if name == self.leg else 0.0 for name in LEGS]
        left = tuple(left + ease * (1 - left) for left, ease in zip(self.torque_left, spared, strict=True))
        return replace(self, torque_left=left)

    def varied(self, key: int, amount: float) -> Quadruped:
        """In another world: ground, motors, load and sensors differ by so much of what is usual among robots."""
        if not amount:
            return self
        stream = Stream(key)

        def between(low: float, usual: float, high: float) -> float:
            drawn = 2 * stream.uniform() - 1
            most = max(high - usual, 0.0) if drawn > 0 else max(usual - low, 0.0)
            return usual + amount * drawn * most

        sweeps = self.contact_iterations + round(amount * (4 * stream.uniform() - 2))
        return replace(
            self,
            friction=between(0.5, self.friction, 1.25),
            payload=between(-1.0, self.payload, 3.0),
            motor_strength=between(0.8, self.motor_strength, 1.2),
            latency=min(self.latency + int(amount * 10 * stream.uniform()), NUMBERS["substeps"] - 1),
            start_pose=max(self.start_pose, amount * 0.1),
            sensor_noise=max(self.sensor_noise, amount * stream.uniform()),
            world=key % WORLDS,
            contact_iterations=min(max(1, sweeps), MOST_SWEEPS),
        )

    @property
    def scoring(self) -> dict[str, Any]:
        """Programs that are certain to break the constraint stop."""
        return {"stops_idle": self.constraint}

    def test_suite(self) -> dict[tuple[str, str], Quadruped]:
        """What `arz test` runs: no leg breaks, and each leg at random steps.

        With our simulator also with other numbers of sweeps over the contacts: what holds only with one of them is an
        artefact of the simulation.
        """
        variants = {self.engine: self}
        if self.engine == "batched":
            variants |= {
                f"{n} sweeps": replace(self, contact_iterations=n) for n in SWEEPS if n != self.contact_iterations
            }
        return {
            (name, leg): replace(variant, leg=leg, break_step=RANDOM, break_before=0)
            for name, variant in variants.items()
            for leg in ("none", *LEGS)
        }

    def test_score(self, means: Mapping[tuple[str, str], float]) -> float | None:
        """The mean return over the four legs."""
        found = [means.get((self.engine, leg)) for leg in LEGS]
        known = [value for value in found if value is not None]
        return float(np.mean(known)) if len(known) == len(LEGS) else None

    @property
    def compared_group(self) -> str:
        """By its own simulator, and not with other numbers of sweeps."""
        return self.engine

    def sentence(self, status: Status) -> str:
        """How an episode ended."""
        return SENTENCES[status]

    # ---- what is shown ----

    def shown(self, change: str | None, parameters: str | None) -> Quadruped:
        """As it is: which leg breaks, and when, are fields."""
        if change or parameters:
            raise ValueError("--change and --task are for cartpole; the quadruped has --leg and --break-step")
        return self

    @classmethod
    def side_by_side(cls, variant: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Four episodes, if each leg shall break in one of them."""
        if variant.get("leg") != EACH:
            return super().side_by_side(variant)
        return {f"{leg} breaks": {**variant, "leg": leg} for leg in LEGS}

    def applied(self, actions: Floats) -> Floats:
        """What is not a finite number counts as 0."""
        return super().applied(np.where(np.isfinite(actions), actions, 0.0))

    def changing(self, rows: Mapping[str, Floats]) -> dict[str, Floats]:
        """Whether each leg works."""
        return {f"{leg} breaks": rows[f"{leg} works"] for leg in LEGS}

    def film(self, episodes: Sequence[FinishedEpisode], path: Path, every: int | None = None, title: str = "") -> None:
        """Films episodes by MuJoCo; a broken leg is red."""
        from arz.tasks.quadruped.film import film

        is_alone = len(episodes) == 1
        endings = [each.ending if is_alone or len(each.actions) < self.steps else "" for each in episodes]
        film([each.recorded for each in episodes], path, every=every or 4, endings=endings)

    def over_time(self, episode: FinishedEpisode, title: str) -> Figure:
        """Speed, way, height, and what each joint is told, with the break marked."""
        from arz.tasks.quadruped.film import walk_figure

        return walk_figure(episode.recorded, title, ending=episode.ending)

    def view(self, episode: FinishedEpisode) -> None:
        """Plays it in MuJoCo's viewer."""
        from arz.tasks.quadruped.film import view

        view(episode.recorded)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
