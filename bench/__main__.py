"""Speed, as ratios within one run: `make bench`.

Contenders take turns and the best of several rounds counts, because machines are shared and noisy. Each ratio stands
beside the goal that it is held to, where there is one.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from dataclasses import astuple
from functools import partial

import numpy as np
from numpy.typing import NDArray

from arz import (
    Batch,
    Memory,
    MutationWeights,
    Program,
    Variation,
    crossover,
    effective,
    execute,
    execute_batch,
    mutate,
    random_programs,
)
from arz.native import core, load, runs_here
from arz.streams import keys
from arz.vary import MUTATIONS, grown_programs
from bench import baselines, cluster, environments, grow, physics, programs, quadruped, search, starts
from bench.compiled import HERE, ROOT, compiled, pointer

ROUNDS = 40

Actions = NDArray[np.float64]


def best_times(*contenders: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The best time of each contender in seconds; they take turns."""
    times = [float("inf")] * len(contenders)
    for _ in range(rounds):
        for n, contender in enumerate(contenders):
            started = time.perf_counter()
            contender()
            times[n] = min(times[n], time.perf_counter() - started)
    return times


def row(what: str, measured: str, ratio: float | None = None, goal: str = "") -> None:
    """One line of the table."""
    print(f"{what:58} {measured:>26} {'' if ratio is None else f'{ratio:.2f}x':>9}  {goal}", flush=True)


def twenty(dim: int) -> Program:
    """The benchmark program for a dimension, with start values."""
    memory = Memory(observations=dim, actions=1, scalars=10, vectors=6, matrices=0, indices=0)
    image = np.random.default_rng(0).uniform(-0.3, 0.3, memory.image_size)
    program = Program(memory, Program.load(HERE / "twenty.arz").functions, image)
    assert effective(program).removed == 0
    return program


def observations(memory: Memory, steps: int, lanes: int) -> NDArray[np.float64]:
    """Observations of ordinary size."""
    return np.random.default_rng(1).normal(scale=0.1, size=(steps, lanes, memory.observations))


def interpreters(levels: dict[str, ctypes.CDLL]) -> None:
    """Lanes against the plain scalar interpreter and against the program by hand, each at its better level."""
    lanes = 32
    for dim, steps, goal in ((4, 1000, "goal 4x"), (37, 200, "goal 3x")):
        program = twenty(dim)
        seen, drawn = observations(program.memory, steps, lanes), np.arange(lanes, dtype=np.uint64)
        expected = core.run(program.packed, seen, drawn, 1, True)[0]
        runs: list[Callable[[], object]] = [partial(core.run, program.packed, seen, drawn, 1, True)]
        for library in levels.values():
            for yardstick in (scalar(library, program, seen), by_hand(library, program, seen)):
                assert np.array_equal(yardstick(), expected)
                runs.append(yardstick)
        native, *others = best_times(*runs)
        each = 1e9 / (steps * lanes * 20)
        row(f"dim {dim}: native, 32 lanes, 20 instructions", f"{native * each:.2f} ns/lane-instr.")
        for name, wanted, times in (
            ("plain scalar interpreter", goal, others[0::2]),
            ("by hand in C++", "aim 1x", others[1::2]),
        ):
            best = min(times)
            level = list(levels)[times.index(best)]
            row(f"dim {dim}: {name}, {level}", f"{best * each:.2f} ns/lane-instr.", best / native, wanted)


def calls(levels: dict[str, ctypes.CDLL]) -> None:
    """A program with many conditional calls, half of which fire in some lanes and not in others."""
    lanes, steps = 32, 200
    program = Program.load(ROOT / "examples" / "paper_quadruped.arz")
    start = np.random.default_rng(0).normal(size=program.memory.image_size)
    program = effective(Program(program.memory, program.functions, start)).program
    seen, drawn = 10 * observations(program.memory, steps, lanes), np.arange(lanes, dtype=np.uint64)
    plain = [scalar(library, program, seen) for library in levels.values()]
    expected = core.run(program.packed, seen, drawn, 1, True)[0]
    assert all(np.array_equal(run(), expected, equal_nan=True) for run in plain)
    native, *others = best_times(partial(core.run, program.packed, seen, drawn, 1, True), *plain)
    best, each = min(others), 1e9 / (steps * lanes)
    row("the paper's quadruped program, random start values", f"{native * each:.0f} ns/lane-step")
    level = list(levels)[others.index(best)]
    row(f"  plain scalar interpreter, {level}", f"{best * each:.0f} ns/lane-step", best / native)


def scalar(library: ctypes.CDLL, program: Program, seen: Actions) -> Callable[[], Actions]:
    """The plain scalar interpreter on a program, as a function that returns the actions."""
    memory, (steps, lanes, _) = program.memory, seen.shape
    sizes = np.array(astuple(memory), np.int32)
    code, lengths = np.concatenate(program.functions), np.array([len(function) for function in program.functions])
    cadfs, *extent = (ctypes.c_int64(n) for n in (program.cadfs, steps, lanes))
    actions = np.zeros((steps, lanes, memory.actions))

    def run() -> Actions:
        given = (pointer(sizes), pointer(code), pointer(lengths), cadfs, pointer(program.image), pointer(seen))
        library.scalar_run(*given, *extent, pointer(actions))
        return actions

    return run


def by_hand(library: ctypes.CDLL, program: Program, seen: Actions) -> Callable[[], Actions]:
    """The benchmark program by hand, as a function that returns the actions."""
    steps, lanes, dim = seen.shape
    extent = (ctypes.c_int64(steps), ctypes.c_int64(lanes))
    actions = np.zeros((steps, lanes, 1))

    def run() -> Actions:
        getattr(library, f"hand_run_{dim}")(pointer(program.image), pointer(seen), *extent, pointer(actions))
        return actions

    return run


def widths() -> None:
    """What a lane-instruction costs at several numbers of lanes."""
    program = twenty(4)
    for lanes in (1, 4, 8, 16, 32, 64):
        seen = observations(program.memory, 2000, lanes)
        drawn = np.arange(lanes, dtype=np.uint64)
        (spent,) = best_times(partial(core.run, program.packed, seen, drawn, 1, True))
        row(f"dim 4: native, {lanes} lanes", f"{spent * 1e9 / (2000 * lanes * 20):.2f} ns/lane-instr.")


def builds() -> None:
    """The builds for other instruction sets against the baseline."""
    program = twenty(4)
    seen, drawn = observations(program.memory, 4000, 32), np.arange(32, dtype=np.uint64)
    packed = Batch.pack([program]).core.arrays()
    runs = []
    for name in runs_here():
        build = load(name)
        batch = build.batch(build.memory_shape(4, 1, 10, 6, 0, 0, True), *packed)
        runs.append(partial(build.run, batch, seen, drawn, 1, True))
    baseline, *others = best_times(*runs)
    for name, spent in zip(runs_here()[1:], others, strict=True):
        row(f"dim 4: {name} build against baseline", f"{baseline * 1e3:.1f} / {spent * 1e3:.1f} ms", baseline / spent)


def population(memory: Memory, count: int, length: tuple[int, int]) -> Batch:
    """Random programs with CADFs."""
    variation = Variation(length=length, initial_constants=1.0, initial_cadfs=1, op_weights={"call": 9.0})
    return random_programs(memory, keys(0, "bench", range(count)), variation)


def threads() -> None:
    """Two threads against one, on a population."""
    memory = Memory(observations=4, actions=1)
    batch, seen = population(memory, 400, (20, 20)), observations(memory, 200, 32)
    one, two = best_times(*(partial(execute_batch, batch, seen, threads=count) for count in (1, 2)))
    row("400 programs: two threads against one", f"{one * 1e3:.1f} / {two * 1e3:.1f} ms", one / two, "goal 1.9x")


def overhead() -> None:
    """A whole call from Python, on next to no work."""
    memory = Memory(observations=4, actions=1)
    program = Program.build(memory, twenty(4).lines()[1:6])
    seen = observations(memory, 10, 32)
    (spent,) = best_times(lambda: [execute(program, seen) for _ in range(200)])
    row("10 steps of 5 instructions, 32 lanes, from Python", f"{spent / 200 * 1e6:.1f} us/call", None, "goal < 20 us")


def dead_code() -> None:
    """What running the dead-code-free form gains, and what finding it costs."""
    for name, memory, length in (
        ("cartpole's memory", Memory(observations=4, actions=1), (20, 20)),
        ("quadruped's memory", Memory(observations=37, actions=12), (20, 20)),
    ):
        batch, seen = population(memory, 200, length), observations(memory, 100, 32)
        whole, lean, analysed = best_times(
            partial(execute_batch, batch, seen, threads=1, only_effective=False),
            partial(execute_batch, batch, seen, threads=1),
            partial(core.effective, batch.core),
        )
        row(f"dead code of random programs removed, {name}", f"{whole * 1e3:.1f} / {lean * 1e3:.1f} ms", whole / lean)
        row(f"  the pass itself, {name}", f"{analysed / 200 * 1e6:.2f} us/program")


def variation() -> None:
    """The cost of a child."""
    for name, memory in (
        ("cartpole's memory", Memory(observations=4, actions=1)),
        ("quadruped's memory", Memory(observations=37, actions=12)),
    ):
        batch = random_programs(memory, keys(0, "b", range(100)), Variation(length=(20, 20), initial_cadfs=0))
        parents, drawn = np.tile(np.arange(100), 10), keys(1, "m", range(1000))
        mutated, crossed = best_times(
            partial(mutate, batch, parents, drawn, Variation()),
            partial(crossover, batch, parents, parents[::-1], drawn),
        )
        row(f"mutation, 20 instructions, {name}", f"{mutated * 1e3:.2f} us/child", None, "goal < 1 us")
        row(f"crossover, 20 instructions, {name}", f"{crossed * 1e3:.2f} us/child", None, "goal < 1 us")
        grown = grown_programs(memory, 3, keys(0, "g", range(100)))
        for mutation in ("grow_term", "drop_term"):
            weights = MutationWeights(**{other: float(other == mutation) for other in MUTATIONS})
            (spent,) = best_times(partial(mutate, grown, parents, drawn, Variation(weights=weights)))
            row(f"{mutation}, programs of three terms, {name}", f"{spent * 1e3:.2f} us/child", None, "goal < 2 us")


def main() -> None:
    """Prints the table; with the name of a part, only that."""
    print(f"build: {core.INSTRUCTION_SET}; best of {ROUNDS} rounds in turn; a ratio above 1 is the gain\n")
    if (load_average := os.getloadavg()[0]) > 0.5:
        print(f"note: this machine is or was just busy (load {load_average:.1f}): the ratio of threads suffers most\n")
    parts = {
        "programs": programs.programs,
        "physics": physics.physics,
        "quadruped": quadruped.quadruped,
        "grow": grow.grow,
        "baselines": baselines.baselines,
        "environments": environments.environments,
        "cluster": cluster.cluster,
        "starts": starts.starts,
    }
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            parts[name](row, best_times)
        return
    levels = {level: compiled("scalar", level) for level in ("-O2", "-O3")}
    interpreters(levels)
    calls(levels)
    widths()
    if core.INSTRUCTION_SET != "baseline":
        builds()
    threads()
    overhead()
    dead_code()
    variation()
    search.rollouts(row, best_times)
    search.savings(row)
    search.false_hits(row)
    search.native_share(row)
    for part in parts.values():
        part(row, best_times)


if __name__ == "__main__":
    main()
