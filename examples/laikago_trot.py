"""An open-loop trot for the Laikago: sinusoids on hips and knees, diagonal legs in phase.

    python examples/laikago_trot.py [--engine batched|double|mujoco] [--leg none|FR|FL|RR|RL]

It walks at about 0.96 m/s as long as all legs work, and falls soon after one breaks: walking is easy, surviving is not.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from numpy.typing import NDArray

import arz  # noqa: F401  (makes the environment known)

FREQUENCY = 3.21  # Hz
HIP, KNEE = 0.077, 0.257  # amplitudes, rad
HIP_REST, KNEE_REST = 0.068, 0.092  # rad from the nominal pose
LEAD = 1.362  # of the knee before the hip, rad
PHASES = np.array([0.0, np.pi, np.pi, 0.0])  # FR, FL, RR, RL: diagonal legs together


def trot(step: int) -> NDArray[np.float64]:
    """The action at a step of 10 ms: abduction, hip and knee of each leg."""
    phase = 2 * np.pi * FREQUENCY * 0.01 * step + PHASES
    hip = HIP_REST + HIP * np.sin(phase)
    knee = KNEE_REST + KNEE * np.sin(phase + LEAD)
    return np.stack([np.zeros(4), hip, knee], axis=1).ravel()


def main() -> None:
    """Walks for an episode and says how far it came."""
    parser = argparse.ArgumentParser(description="An open-loop trot for the Laikago.")
    parser.add_argument("--engine", default="batched", choices=["batched", "double", "mujoco"])
    parser.add_argument("--leg", default="none", choices=["none", "FR", "FL", "RR", "RL"])
    options = parser.parse_args()
    env = gymnasium.make("ARZ/LaikagoLegBreak-v0", engine=options.engine, leg=options.leg, break_step=500)
    observation, _ = env.reset(seed=0)
    total, step, is_over = 0.0, 0, False
    while not is_over:
        observation, reward, terminated, truncated, info = env.step(trot(step))
        total, step, is_over = total + float(reward), step + 1, terminated or truncated
    print(f"{options.engine}, leg {options.leg}: {step} steps, {observation[4]:.2f} m, return {total:.0f}.", end=" ")
    print(f"{observation[4] / (0.01 * step):.2f} m/s. {info['status']}")


if __name__ == "__main__":
    main()
