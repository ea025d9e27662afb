"""Writes a trot with reflexes: a program that notices which leg is gone, remembers it, and then walks in another way.

    python examples/reflex_trot.py                # reflex_trot.arz: the open-loop trot; its reflexes never fire
    python examples/reflex_trot.py RUN            # the champion of a run, and when its reflexes fire

A leg is gone when one of its joints is farther from where it should be than in the whole of a healthy episode, and a
bit. That is measured in an episode of the champion (the second command), so the walk comes first.

The action is f(obs) + M f(mirrored obs), where M exchanges left and right: what is learned for a leg on the right is
known for the one on the left. f consists of a pose, a stride (a clock and two amplitudes; the mirror image is half a
stride later) and feedback `dot(m0, obs)`, zero at first. It has 36 rows, 12 for each of three gaits: the healthy one,
what a lost right front leg adds to it, and what a lost right rear leg does. Two vectors of gates say which of them
count, one for f and one for its mirror image. The commands that tune it are in docs/quadruped.md.
"""

from __future__ import annotations

import sys

import numpy as np
from laikago_trot import FREQUENCY, HIP, HIP_REST, KNEE, KNEE_REST, LEAD, PHASES
from numpy.typing import NDArray

import arz
from arz.evaluate import record
from arz.program import Program
from arz.tasks.quadruped import LEGS, STATE, STEP, Quadruped

CODE = """memory(observations=37, actions=12, scalars=8, vectors=16, matrices=6, indices=2, stateful=True)

def GetAction(obs, action):
    v0 = dot(m4, obs)
    v0 = v0 - action
    v0 = v0 - v9
    v0 = abs(v0)
    v0 = v0 - v10
    v0 = heaviside(v0)
    v3 = v11 + v12
    s4 = dot(v3, v13)
    s5 = sum(v3)
    s5 = s6 - s5
    s5 = heaviside(s5)
    v0 = s5 * v0
    v3 = dot(m5, v0)
    v3 = heaviside(v3)
    v11 = maximum(v11, v3)
    v0 = dot(m2, v0)
    v0 = dot(m5, v0)
    v0 = heaviside(v0)
    v12 = maximum(v12, v0)
    s0 = s0 + s1
    s0 = s0 + s4
    s2 = sin(s0)
    s3 = cos(s0)
    v6 = s2 * v5
    v3 = s3 * v7
    v6 = v6 + v3
    obs = obs * v8
    v3 = dot(m0, obs)
    v3 = v3 + v2
    v3 = v3 + v6
    v3 = v3 * v11
    v3 = dot(m3, v3)
    obs = dot(m1, obs)
    v0 = dot(m0, obs)
    v0 = v0 + v2
    v0 = v0 - v6
    v0 = v0 * v12
    v0 = dot(m2, v0)
    action = v3 + v0
    action = minimum(action, v14)
    action = maximum(action, v15)
    return action
"""
"""Where the joints are and where they should be (v9, v10: the centre and the width of what is healthy); which legs are
gone (v11, v12: the gates; m5 says to which gait a joint belongs), unless that is known already (s6); the clock (v13:
how a gait changes its speed); the gaits, without those that do not count, and their sum (m3; m2: the mirror image)."""

HEALTHY, FRONT, REAR = slice(0, 12), slice(12, 24), slice(24, 36)
FELT = ("quaternion x", "quaternion y", "quaternion z", "position y", "position z", "angular velocity", "velocity")
"""What feedback uses: the trunk, not the joints. Fewer numbers are tuned sooner."""
NEVER = 10.0
MARGIN = 1.15
"""How much farther than in a healthy episode."""
LIMIT = Quadruped().most_action
OTHER_SIDE = {"FR": "FL", "FL": "FR", "RR": "RL", "RL": "RR"}
CHANGES_SIGN = ("quaternion x", "quaternion z", "position y", "angular velocity x", "angular velocity z", "velocity y")

Floats = NDArray[np.float64]


def with_starts(program: Program, **starts: Floats | float) -> Program:
    """The same code; these registers start with other values, zero where a vector or a matrix is too small."""
    image = program.image.copy()
    for name, value in starts.items():
        part, whole = np.asarray(value), np.zeros(program.memory.shape(name[0]))
        whole[tuple(slice(size) for size in part.shape)] = np.round(part, 6) + 0.0
        image[program.memory.image_part(name)] = whole.ravel()
    return Program(program.memory, program.functions, image)


def mirror_of_observations() -> Floats:
    """What the mirror image of the robot sees."""
    names = list(STATE)
    matrix = np.zeros((37, 37))
    for row, name in enumerate(names):
        leg, _, rest = name.partition(" ")
        other = f"{OTHER_SIDE[leg]} {rest}" if leg in OTHER_SIDE else name
        matrix[row, names.index(other)] = -1.0 if name in CHANGES_SIGN else 1.0
    return matrix


def mirror_of_actions() -> Floats:
    """What it does: left and right are exchanged, and abduction is outward on both sides."""
    matrix = np.zeros((12, 12))
    for leg, other in enumerate((1, 0, 3, 2)):
        for joint in range(3):
            matrix[3 * leg + joint, 3 * other + joint] = 1.0
    return matrix


def trot() -> Program:
    """The open-loop trot, whose reflexes never fire and do nothing."""
    hip, knee = HIP * np.exp(1j * PHASES), KNEE * np.exp(1j * (PHASES + LEAD))
    stride = np.stack([0 * hip, hip, knee], axis=1).ravel() / 2  # the other half comes from the mirror image
    pose = np.tile([0.0, HIP_REST, KNEE_REST], 4) / 2
    angles, feet = np.zeros((12, 37)), np.zeros((37, 37))
    angles[:, STATE.index("FR abduction") :][:, :12] = np.eye(12)
    feet[FRONT, 3 * LEGS.index("FR") :][:, :3] = 1.0
    feet[REAR, 3 * LEGS.index("RR") :][:, :3] = 1.0
    only_healthy = np.ones(12)
    return with_starts(
        Program.parse(CODE),
        s1=2 * np.pi * FREQUENCY * STEP,
        s6=2 * sum(only_healthy) + 0.5,
        v2=pose,
        v5=stride.real,
        v7=stride.imag,
        v8=np.array([float(name.startswith(FELT)) for name in STATE]),
        v10=np.full(37, NEVER),
        v11=only_healthy,
        v12=only_healthy,
        v14=np.full(37, LIMIT),
        v15=np.full(37, -LIMIT),
        m1=mirror_of_observations(),
        m2=np.tile(mirror_of_actions(), 3),
        m3=np.tile(np.eye(12), 3),
        m4=angles,
        m5=feet,
    )


def with_reflexes(program: Program, contact_iterations: int = 5) -> Program:
    """The program, its reflexes set to fire when a joint does what none did in a healthy episode."""
    task = Quadruped(leg="none", contact_iterations=contact_iterations)
    found = np.stack(list(record(program, task, np.zeros(1, np.uint64)).values()), axis=2)[0]
    found = found[~np.isnan(found).any(axis=1)]
    first = STATE.index("FR abduction")
    angles, actions = found[:, first : first + 12], found[:, len(STATE) : len(STATE) + 12]
    errors = angles - np.vstack([np.zeros(12), actions[:-1]])
    errors = np.vstack([errors, errors @ mirror_of_actions()])  # both sides alike
    low, high = errors.min(axis=0), errors.max(axis=0)
    width = np.pad(MARGIN * (high - low) / 2, (0, 25), constant_values=NEVER)
    return with_starts(program, v9=(low + high) / 2, v10=width)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with arz.Run.open(sys.argv[1]) as run:
            print(with_reflexes(run.program), end="")
    else:
        print(trot(), end="")
