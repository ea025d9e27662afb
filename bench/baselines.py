"""How fast networks are: in rollouts, and ARS against that of sb3-contrib."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.network import Architecture, NetworkBatch
from arz.tasks.base import Task

Row = Callable[..., None]
Best = Callable[..., list[float]]


def networks(task: Task, kind: str) -> NetworkBatch:
    """Networks of the paper's sizes with small random numbers."""
    shape = Architecture(kind, task.observations, task.actions, (32, 32) if kind == "mlp" else (32,))
    return NetworkBatch(shape, 0.02 * np.random.default_rng(0).normal(size=(32, shape.size)))


def rollouts(row: Row, best: Best) -> None:
    """Steps of the task per second, one thread."""
    for task in (arz.Cartpole(), arz.Quadruped(contact_iterations=5)):
        for kind in ("mlp", "lstm"):
            many, episodes = networks(task, kind), fresh_episodes(16)
            steps = int(evaluate(many, task, episodes, threads=1).sums[:, :, -1].sum())  # that were really done
            (spent,) = best(partial(evaluate, many, task, episodes, threads=1), rounds=5)
            row(f"rollout of networks: {type(task).__name__.lower()}, {kind}", f"{steps / spent / 1e6:.2f}M steps/s")


def ars(row: Row, best: Best) -> None:
    """ARS of MLPs of 32 and 32 on the stationary cartpole: ours on one thread, and sb3-contrib's."""
    try:
        import torch
        from sb3_contrib import ARS
    except ImportError:
        row("ARS against sb3-contrib's", "pip install 'arz[baselines]'")
        return
    torch.set_num_threads(1)
    config = arz.preset("ars-cartpole", change="none", parameters=[], episodes=1, budget="1300")
    config = arz.runs.config.with_policy(config, "mlp")
    started = time.perf_counter()
    with arz.evolve(config, threads=1) as run:
        ours = run.counters.steps / (time.perf_counter() - started)
    env: dict[str, Any] = {"change": "none", "parameters": ()}
    import gymnasium

    theirs = ARS(
        "MlpPolicy", gymnasium.make("ARZ/CataclysmicCartpole-v0", **env), n_delta=32, n_top=16, seed=1,
        policy_kwargs={"net_arch": [32, 32]}, device="cpu",
    )  # fmt: skip
    started = time.perf_counter()
    theirs.learn(20_000)
    rate = theirs.num_timesteps / (time.perf_counter() - started)
    row("ARS: sb3-contrib, one thread", f"{rate / 1e3:.1f}k steps/s")
    row("ARS: ours, one thread", f"{ours / 1e3:.0f}k steps/s", ours / rate)


def baselines(row: Row, best: Best) -> None:
    """All of it."""
    rollouts(row, best)
    ars(row, best)
