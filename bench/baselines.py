"""How fast networks are: alone, against what the core can do; in rollouts; and ARS against that of sb3-contrib."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.network import Architecture, NetworkBatch
from arz.tasks.base import Task
from bench.compiled import compiled, pointer

Row = Callable[..., None]
Best = Callable[..., list[float]]


def networks(task: Task, kind: str) -> NetworkBatch:
    """Networks of the paper's sizes with small random numbers."""
    shape = Architecture(kind, task.observations, task.actions, (32, 32) if kind == "mlp" else (32,))
    return NetworkBatch(shape, 0.02 * np.random.default_rng(0).normal(size=(32, shape.size)))


def sizes(shape: Architecture) -> list[tuple[int, int]]:
    """Rows and columns of the matrices."""
    return [part for part in shape.parts.values() if len(part) == 2]


def alone(row: Row, best: Best) -> None:
    """Products with matrices, and whole steps, in 16 lanes: multiply-adds against the core's peak.

    Nothing is fused: each product is rounded, then each sum. So the peak is what a kernel gets that does nothing but
    such products and sums in registers, with the same instructions.
    """
    library, lanes, rounds = compiled("networks"), 16, 300
    library.peak.restype = ctypes.c_double
    done = 0.0

    def peak() -> None:
        nonlocal done
        done = library.peak(ctypes.c_int64(100_000), pointer(np.zeros(1)))

    for task in (arz.Cartpole(), arz.Quadruped()):
        for kind in ("mlp", "lstm"):
            many = networks(task, kind)
            shape, numbers = many.architecture, np.ascontiguousarray(many.numbers[0])
            hidden, pairs = np.array(shape.hidden, np.int32), np.array(sizes(shape), np.int32)
            given = (kind == "lstm", task.observations, task.actions, pointer(hidden), len(hidden), pointer(numbers))
            extent = (lanes, ctypes.c_int64(rounds))
            multiply = partial(library.products, pointer(pairs), len(pairs), pointer(numbers), *extent)
            limit, products, steps = best(peak, multiply, partial(library.steps, *given, *extent))
            work = float(pairs.prod(axis=1).sum()) * lanes * rounds
            for what, spent, goal in (("its products with matrices", products, "goal 50 %"), ("its steps", steps, "")):
                part = work / spent / (done / limit)
                name = f"network alone, {type(task).__name__.lower()}, {kind}: {what}"
                row(name, f"{work / spent / 1e9:.1f}G, {part:.0%} of the peak", None, goal)
    row("  the peak: multiplies and adds in registers alone", f"{done / limit / 1e9:.1f}G multiply-adds/s")


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
    alone(row, best)
    rollouts(row, best)
    ars(row, best)
