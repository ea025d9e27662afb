"""Cataclysmic Cartpole once more: short, slow and obviously right, to hold the native task against.

Written from the equations of motion alone. What it shares with the native task is the order in which an episode draws its
random numbers, and where the noise on the action comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import Status
from arz.streams import GOLDEN, MASK, Stream, mix

Policy = Callable[[tuple[float, float, float, float]], float]
"""Observation [x, theta, x_dot, theta_dot] -> action."""

FIRST_CHANGE, LAST_CHANGE = 200, 800

RANGES = {
    "force": (1.0, 0.5, 2.0),
    "damping": (0.0, 0.0, 0.15),
    "track_angle": (0.0, math.radians(-15), math.radians(15)),
    "noise": (0.0, -2.0, 2.0),
}
"""Nominal value, least and most of each parameter, in the order in which an episode draws them."""


@dataclass(frozen=True)
class Physics:
    """The constants, in SI units."""

    cart: float = 1.0
    pole: float = 0.1
    length: float = 0.5
    inertia: float = 0.00835
    gravity: float = 9.8
    step: float = 1 / 60
    motor: float = 10.0
    angle_limit: float = math.radians(12)
    start: float = 0.05

    def acceleration(self, state: State, force: float, damping: float, track_angle: float) -> tuple[float, float]:
        """x'' and theta'' under a force on the cart."""
        total, moment = self.cart + self.pole, self.pole * self.length
        sin, cos = math.sin(state.theta), math.cos(state.theta)
        mass = [[total, moment * cos], [moment * cos, self.inertia + self.pole * self.length**2]]
        push = force - damping * state.x_dot + moment * sin * state.theta_dot**2
        push -= total * self.gravity * math.sin(track_angle)
        turn = -damping * state.theta_dot + moment * self.gravity * math.sin(state.theta - track_angle)
        x, theta = np.linalg.solve(mass, [push, turn])
        return float(x), float(theta)

    def energy(self, state: State, track_angle: float = 0.0) -> float:
        """Kinetic and potential energy; damping and motor apart, the motion keeps it."""
        total, moment = self.cart + self.pole, self.pole * self.length
        kinetic = total * state.x_dot**2 / 2 + (self.inertia + self.pole * self.length**2) * state.theta_dot**2 / 2
        kinetic += moment * math.cos(state.theta) * state.x_dot * state.theta_dot
        height = total * state.x * math.sin(track_angle) + moment * math.cos(state.theta - track_angle)
        return kinetic + self.gravity * height


@dataclass(frozen=True)
class State:
    """Where cart and pole are; theta is the angle to the normal of the track."""

    x: float
    theta: float
    x_dot: float
    theta_dot: float

    def after(self, physics: Physics, force: float, damping: float, track_angle: float) -> State:
        """The state one step later: velocities first, then positions with the new velocities."""
        x_accel, theta_accel = physics.acceleration(self, force, damping, track_angle)
        x_dot = self.x_dot + physics.step * x_accel
        theta_dot = self.theta_dot + physics.step * theta_accel
        return State(self.x + physics.step * x_dot, self.theta + physics.step * theta_dot, x_dot, theta_dot)

    def turned(self, angle: float) -> State:
        """The same in the world, seen from a track that has turned by an angle."""
        return State(self.x, self.theta + angle, self.x_dot, self.theta_dot)


@dataclass(frozen=True)
class Schedule:
    """A parameter over time: nominal up to the first step, target from the last on, a straight line between."""

    nominal: float
    target: float
    first: int
    last: int

    def at(self, time: int) -> float:
        if time >= self.last:
            return self.target
        if time <= self.first:
            return self.nominal
        return self.nominal + (self.target - self.nominal) * (time - self.first) / (self.last - self.first)


@dataclass(frozen=True)
class Variant:
    """What `arz.tasks.cartpole.Cartpole` says, said again."""

    change: str = "none"
    parameters: tuple[str, ...] = ()
    x_limit: float = 0.4
    partial_observability: bool = False
    actuator_noise: bool = False
    noise_sigma: float = 0.1
    steps: int = 1000

    def is_changing(self, name: str) -> bool:
        return self.actuator_noise if name == "noise" else self.change != "none" and name in self.parameters


def draw(key: int, change: str, physics: Physics | None = None) -> tuple[State, dict[str, Schedule]]:
    """The start of an episode, and the schedule that each parameter follows if it changes."""
    physics, stream = physics or Physics(), Stream(key)
    x, theta, x_dot, theta_dot = (stream.uniform(-physics.start, physics.start) for _ in range(4))
    schedules = {}
    for name, (nominal, least, most) in RANGES.items():
        target = stream.uniform(least, most)
        one, other = (FIRST_CHANGE + stream.below(LAST_CHANGE - FIRST_CHANGE + 1) for _ in range(2))
        if change == "continuous" or name == "noise":
            schedules[name] = Schedule(nominal, target, min(one, other), max(one, other))
        else:
            schedules[name] = Schedule(nominal, target, one, one)
    return State(x, theta, x_dot, theta_dot), schedules


def noise(key: int, time: int) -> float:
    """The standard normal draw behind the noise on the action of a step."""
    return Stream(mix((key + GOLDEN * (time + 1)) & MASK) ^ 0x6E6F697365).normal()


@dataclass
class Episode:
    """What happened: name -> one number per step. State and parameters are those that the policy met."""

    status: Status = Status.COMPLETED
    rows: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: Mapping[str, float]) -> None:
        for name, value in row.items():
            self.rows.setdefault(name, []).append(value)

    def __len__(self) -> int:
        return len(self.rows["x"])

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return np.array(self.rows[name])

    @property
    def total(self) -> float:
        return math.fsum(self.rows["reward"])


def simulate(
    policy: Policy,
    variant: Variant,
    key: int,
    *,
    physics: Physics | None = None,
    start: State | None = None,
    schedules: Mapping[str, Schedule] | None = None,
) -> Episode:
    """An episode, from its key or from a start and schedules of one's own."""
    physics = physics or Physics()
    drawn_start, drawn_schedules = draw(key, variant.change, physics)
    state, schedules = start or drawn_start, schedules or drawn_schedules
    episode = Episode()
    track_angle = 0.0
    for time in range(variant.steps):
        now = {name: schedules[name].at(time) if variant.is_changing(name) else RANGES[name][0] for name in RANGES}
        state = state.turned(now["track_angle"] - track_angle)
        track_angle = now["track_angle"]
        hidden = variant.partial_observability
        seen = (0.0 if hidden else state.x, 0.0 if hidden else state.theta, state.x_dot, state.theta_dot)
        row = {**vars(state), **now, "theta_vertical": state.theta - track_angle, "action": policy(seen)}
        if not math.isfinite(row["action"]):
            episode.add({**row, "applied": math.nan, "reward": 0.0})
            episode.status = Status.ACTION_NOT_FINITE
            return episode
        disturbance = now["noise"] + variant.noise_sigma * noise(key, time) if variant.actuator_noise else 0.0
        row["applied"] = min(max(row["action"] + disturbance, -1.0), 1.0)
        force = physics.motor * now["force"] * row["applied"]
        state = state.after(physics, force, now["damping"], track_angle)
        tilt = abs(state.theta - track_angle)
        episode.add({**row, "reward": max(0.0, 1 - tilt / physics.angle_limit) ** 2})
        if tilt > physics.angle_limit or abs(state.x) > variant.x_limit:
            episode.status = Status.FELL if tilt > physics.angle_limit else Status.LEFT_TRACK
            return episode
    return episode
