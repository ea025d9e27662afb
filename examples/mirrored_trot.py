"""Writes examples/mirrored_trot.arz: the open-loop trot as a program, with feedback that treats both sides alike.

    python examples/mirrored_trot.py > mirrored_trot.arz

The action is f(obs) + M f(mirrored obs), where M exchanges left and right. f consists of a pose, a stride (a clock and
two amplitudes; the mirror image is half a stride later) and feedback `dot(m0, obs)`, zero at first: to be tuned by
`arz evolve quadruped-tune --start examples/mirrored_trot.arz --frozen m1,m2`. A policy that learns to go on without its
left front leg then goes on without the right one.
"""

from __future__ import annotations

import numpy as np
from laikago_trot import FREQUENCY, HIP, HIP_REST, KNEE, KNEE_REST, LEAD, PHASES
from numpy.typing import NDArray

from arz.program import Program
from arz.tasks.quadruped import STATE

CODE = """memory(observations=37, actions=12, scalars=4, vectors=8, matrices=3, indices=2, stateful=True)

def GetAction(obs, action):
    s0 = s0 + s1
    s2 = sin(s0)
    s3 = cos(s0)
    v6 = s2 * v5
    v3 = s3 * v7
    v6 = v6 + v3
    v3 = dot(m0, obs)
    v3 = v3 + v2
    v3 = v3 + v6
    obs = dot(m1, obs)
    v0 = dot(m0, obs)
    v0 = v0 + v2
    v0 = v0 - v6
    v0 = dot(m2, v0)
    action = v3 + v0
    return action
"""
OTHER_SIDE = {"FR": "FL", "FL": "FR", "RR": "RL", "RL": "RR"}
CHANGES_SIGN = ("quaternion x", "quaternion z", "position y", "angular velocity x", "angular velocity z", "velocity y")


def mirror_of_observations() -> NDArray[np.float64]:
    """What the mirror image of the robot sees."""
    names = list(STATE)
    matrix = np.zeros((37, 37))
    for row, name in enumerate(names):
        leg, _, rest = name.partition(" ")
        other = f"{OTHER_SIDE[leg]} {rest}" if leg in OTHER_SIDE else name
        matrix[row, names.index(other)] = -1.0 if name in CHANGES_SIGN else 1.0
    return matrix


def mirror_of_actions() -> NDArray[np.float64]:
    """What it does: left and right are exchanged, and abduction is outward on both sides."""
    matrix = np.zeros((37, 37))
    for leg, other in enumerate((1, 0, 3, 2)):
        for joint in range(3):
            matrix[3 * leg + joint, 3 * other + joint] = 1.0
    return matrix


def trot() -> Program:
    """The program. Each of pose and stride is half of the trot's: the other half comes from the mirror image."""
    bare = Program.parse(CODE)
    hip, knee = HIP * np.exp(1j * PHASES), KNEE * np.exp(1j * (PHASES + LEAD))
    stride = np.stack([0 * hip, hip, knee], axis=1).ravel() / 2
    pose = np.tile([0.0, HIP_REST, KNEE_REST], 4) / 2
    starts = {"s1": 2 * np.pi * FREQUENCY * 0.01, "m1": mirror_of_observations(), "m2": mirror_of_actions()}
    starts |= {name: np.pad(part, (0, 25)) for name, part in (("v2", pose), ("v5", stride.real), ("v7", stride.imag))}
    image = bare.image.copy()
    for name, value in starts.items():
        image[bare.memory.image_slice(*bare.memory.register(name))] = np.round(value, 6).ravel() + 0.0
    return Program(bare.memory, bare.functions, image)


if __name__ == "__main__":
    print(trot(), end="")
