"""How fast the Laikago is with programs in the loop, and what each exact saving gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz import Batch, Memory, Program, evaluate, mutate, random_programs
from arz.evaluate import Evaluation, fresh_episodes
from arz.parser import parse
from arz.streams import keys
from arz.tasks.quadruped import Quadruped

Row = Callable[..., None]
Best = Callable[..., list[float]]
MEMORY = Memory(37, 12, 16, 16, 0, 16)
ROUNDS = 5
TROT = Path(__file__).parent.parent / "examples" / "reflex_trot.arz"


def standing(lines: int) -> Program:
    """A program that stands still, with so many lines that matter, as they come in evolved ones."""
    five = ["s5 = dot(v6, obs)", "s6 = sin(s5)", "s7 = s7 + s6", "v5 = s7 * v6", "v6 = v6 + v5"]
    code = [five[line % 5] for line in range(lines - 1)]
    code += ["action = v6 * v14"] * (lines > 0)  # v14 is zero
    body = "\n    ".join([*code, "return action"])
    memory = "memory(observations=37, actions=12, scalars=16, vectors=16, matrices=0, indices=16, stateful=True)"
    return parse(f"{memory}\n\ndef StartEpisode():\n    s0 = 0.0\n\ndef GetAction(obs, action):\n    {body}\n")


def in_the_loop(row: Row, best: Best) -> None:
    """What part of the time physics takes with a program in the loop, and two threads against one."""
    task, episodes = Quadruped(leg="FR"), fresh_episodes(32)
    empty, full = standing(0), standing(60)
    rollout = partial(evaluate, task=task, episodes=episodes, threads=1)
    alone, both = best(*(partial(rollout, Batch.pack([one] * 4)) for one in (empty, full)), rounds=ROUNDS)
    row("physics' part, 60 instructions in the loop", f"{alone / both:.0%}", None, "goal 70 %")
    trot = Batch.pack([Program.load(TROT)] * 32)
    (spent,) = best(partial(evaluate, trot, Quadruped(leg="none"), episodes[:1], threads=1), rounds=ROUNDS)
    row("a trot with nine products of matrices in the loop", f"{32_000 / spent / 1e3:.0f}k steps/s")
    many = walkers(400)
    one, two = best(*(partial(evaluate, many, Quadruped(), episodes, threads=n) for n in (1, 2)), rounds=3)
    row("rollouts of 400 programs, 2 threads against 1", f"{len(many) / two:.0f} programs/s", one / two, "goal 1.9x")


def walkers(count: int) -> Batch:
    """Programs as they come in a search: children of random programs, as far as they do not stand still at once."""
    variation = arz.preset("quadruped-nsga2").variation
    parents = random_programs(MEMORY, keys(1, "bench", np.arange(count)), variation)
    return mutate(parents, np.arange(count), keys(2, "bench", np.arange(count)), variation)[0]


def savings(row: Row, best: Best) -> None:
    """What each exact saving gives on programs of an early search; all results are the same bit for bit."""
    task, many = Quadruped(), walkers(300)
    episodes = task.stratified(fresh_episodes(32))

    def rollout(**options: Any) -> Evaluation:
        return evaluate(many, task, episodes, threads=1, **options)

    contenders: dict[str, dict[str, Any]] = {
        "one trunk per program": {"shares_trunk": False},
        "robots without gaps in eight lanes": {"crowd": 1},
        "without code that does not matter": {"only_effective": False},
    }
    usual = rollout()
    for options in contenders.values():
        other = rollout(**options)
        assert np.array_equal(usual.returns, other.returns)
        assert np.array_equal(usual.lengths, other.lengths)
    times = best(rollout, *(partial(rollout, **one) for one in contenders.values()), rounds=2)
    for name, spent in zip(contenders, times[1:], strict=True):
        row(f"rollouts: {name}", f"{len(many) / times[0]:.0f} programs/s", spent / times[0])
    names = ("return", "length")
    stopped = rollout(stops_idle=True)
    assert np.array_equal(task.objectives(names, usual, episodes), task.objectives(names, stopped, episodes))
    whole, part = best(rollout, partial(rollout, stops_idle=True), rounds=2)
    row("rollouts: the idle stop as soon as that is certain", f"{len(many) / part:.0f} programs/s", whole / part)


def cache(row: Row) -> None:
    """What the exact cache gives in a search; the result is the same bit for bit."""
    config: dict[str, Any] = {"budget": "8000", "initial": 2000, "population": 100, "offspring": 1000, "islands": 1}
    config |= {"validate_every": 1000, "validation_episodes": 8}
    found, times = [], []
    for size in (100_000, 0):
        began = time.perf_counter()
        run = arz.evolve(arz.preset("quadruped-nsga2", **config, cache=size))
        times.append(time.perf_counter() - began)
        found.append(run)
    assert found[0].champion == found[1].champion
    hits = found[0].counters.hits / found[0].counters.evaluations
    row("search: exact cache, 8,000 programs from scratch", f"{hits:.0%} hits", times[1] / times[0])


def quadruped(row: Row, best: Best) -> None:
    """All of it. `best` gives the best time of each contender in some rounds."""
    in_the_loop(row, best)
    savings(row, best)
    cache(row)
