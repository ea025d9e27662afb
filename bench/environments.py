"""How fast programs run in environments of Gymnasium: what is ours beside what is the environment's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.streams import keys
from arz.tasks.gymnasium import AnyEnvironment
from arz.tasks.gymnasium import episodes as gymnasium_episodes
from arz.tasks.gymnasium.adapter import make

Row = Callable[..., None]
Best = Callable[..., list[float]]
PROGRAMS, EPISODES, STEPS = 24, 4, 200


def environments(row: Row, best: Best) -> None:
    """Random programs in Pendulum, against the environment alone."""
    task = AnyEnvironment("Pendulum-v1").settled()
    config = arz.preset("gymnasium", env=task.env)
    many = arz.random_programs(config.registers, keys(1, "bench", np.arange(PROGRAMS)), config.variation)
    episodes, usual = fresh_episodes(EPISODES), gymnasium_episodes.AT_ONCE
    environment = make(task.env, {})

    def alone() -> None:
        for _ in range(PROGRAMS * EPISODES):
            environment.reset(seed=1)
            for _ in range(STEPS):
                environment.step(np.zeros(1, np.float32))

    def played(at_once: int, threads: int) -> None:
        gymnasium_episodes.AT_ONCE = at_once
        evaluate(many, task, episodes, threads=threads)

    ways = [alone, partial(played, EPISODES, 1), partial(played, usual, 1), partial(played, usual, 2)]
    bare, apart, together, two = best(*ways, rounds=3)
    steps = PROGRAMS * EPISODES * STEPS
    gymnasium_episodes.AT_ONCE = usual
    row(f"Pendulum-v1, {PROGRAMS} programs, {EPISODES} episodes, one process", f"{steps / together / 1e3:.1f}k steps/s")
    row("  the environment alone, against that", f"{bare:.2f} / {together:.2f} s", bare / together)
    row("  one program at a time, against as it is", f"{apart:.2f} / {together:.2f} s", apart / together)
    row("  two processes against one", f"{together:.2f} / {two:.2f} s", together / two)
