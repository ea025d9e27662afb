"""The settings of Proximal Policy Optimization. `ppo.py` trains; here is only what a configuration says.

It is not a search: torch holds its state, so it cannot be interrupted, nor share its work with others.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

from arz.names import install
from arz.search.base import MOST, SearchSettings


@dataclass(frozen=True)
class PpoSettings(SearchSettings):
    """How to train. What is not said here is as Stable-Baselines3 has it.

    Raises:
        ValueError: a number is out of range.
    """

    islands: int = 1
    population: int = 2
    restart_after: int = 0
    cache: int = 0
    validate_every: int = 4
    """After this many iterations the network is tried as champion."""
    validation_episodes: int = 48
    sequence: int = 256
    """Steps of each environment between two updates: the paper's collect sequence length."""
    learning_rate: float = 5e-4
    """How fast it learns."""
    entropy: float = 0.0
    """How much the entropy of the actions counts."""
    environments: int = 32
    """Episodes side by side."""
    batch: int = 1024
    """Steps that are learned from at a time."""
    epochs: int = 10
    """How often all steps of an iteration are learned from."""

    CANNOT: ClassVar[dict[str, str]] = {
        "programs": "ppo trains networks: the kind of the policy must be mlp or lstm",
        "workers": "PPO learns in one process: workers (--backend) are for the other searches",
        "start": "PPO begins with a network of its own: it takes no start",
        "resume": "PPO keeps its state in memory; begin a new run",
        "jobs": "runs of PPO share torch's random numbers: one job at a time",
    }
    NETWORKS: ClassVar[dict[str, dict[str, Any]]] = {
        "mlp": {"layers": (256, 256), "activation": "relu"},
        "lstm": {"units": 256},
    }
    LEAST: ClassVar[dict[str, int]] = {
        **SearchSettings.LEAST,
        "sequence": 2,
        "environments": 1,
        "batch": 2,
        "epochs": 1,
    }
    MOST: ClassVar[dict[str, tuple[int, str]]] = {
        **SearchSettings.MOST,
        "sequence": (MOST, "no episode has more steps"),
        "environments": (10_000, "more do not fit into memory"),
        "batch": (100_000_000, "more do not fit into memory"),
        "epochs": (10_000, "more take days"),
    }

    def check_installed(self) -> None:
        """Refuses to train without Stable-Baselines3."""
        if any(find_spec(name) is None for name in ("torch", "stable_baselines3", "sb3_contrib")):
            raise ValueError(f"PPO needs an extra: {install('baselines')}")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sequence * self.environments > self.MOST["batch"][0]:
            most = f"{self.MOST['batch'][0] // self.environments} for {self.environments} environments"
            raise ValueError(f"sequence must be at most {most}, not {self.sequence}: more do not fit into memory")
        if not 0 < self.learning_rate < 1e6:
            raise ValueError(f"learning_rate must be above 0, not {self.learning_rate}")
        if not 0 <= self.entropy < 1e6:
            raise ValueError(f"entropy must be 0 or more, not {self.entropy}")
