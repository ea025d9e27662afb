"""Programs in the loop against the same in C: `python -m bench programs`.

The C is what `arz export` writes, compiled at -O3 (or -O2, where that is faster) for the same processor: one episode
after the other, memory of fixed sizes, no interpreter. Observations are those of the program's own episodes.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import arz
from arz.evaluate import fresh_episodes, record
from arz.export.c import to_c
from arz.native import core
from arz.program import Program
from arz.tasks.base import Task
from bench.compiled import PROCESSOR, ROOT

Row = Callable[..., None]
BestTimes = Callable[..., list[float]]

BUILD = ROOT / "build" / "bench"
LANES, STEPS, ROUNDS = 32, 200, 15
PROGRAMS = {
    "cartpole, the paper's": "examples/paper_cartpole.arz",
    "cartpole, grown": "results/grow/champions/cartpole-1.arz",
    "cartpole, regularized": "results/cartpole/champions/continuous-2.arz",
    "cartpole, stateless": "results/cartpole/champions/stateless-4g-1.arz",
    "quadruped, the paper's code, tuned": "results/reproduction/hour/champions/quadruped-published-1.arz",
    "quadruped, NSGA-II, CADFs": "results/quadruped/champions/default-1.arz",
    "quadruped, six matrices": "results/quadruped/champions/reflexes-2.arz",
    "quadruped, grown 1": "results/grow/champions/quadruped-worlds-4.arz",
    "quadruped, grown 2": "results/grow/champions/quadruped-7.arz",
    "quadruped, pruned": "results/grow/champions/quadruped-1500m-2.pruned.arz",
}
"""Ten programs: small and large memory, with and without CADFs and memory."""
LOOP = """
void many(const double *seen, const uint64_t *keys, int64_t steps, int64_t lanes, double *actions) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    arz_policy policy;
    arz_reset(&policy, keys[lane]);
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t at = step * lanes + lane;
      arz_step(&policy, seen + at * ARZ_OBSERVATIONS, actions + at * ARZ_ACTIONS);
    }
  }
}
"""


def programs(row: Row, best_times: BestTimes) -> None:
    """Every program, the one with the least ratio first."""
    found = []
    for name, file in PROGRAMS.items():
        program = Program.load(ROOT / file)
        seen, keys = _observations(program), np.arange(LANES, dtype=np.uint64)
        native = partial(core.run, program.packed, seen, keys, 1, True)
        in_c = [_in_c(program, seen, keys, level) for level in ("-O2", "-O3")]
        expected = native()[0]
        assert all(np.array_equal(run(), expected, equal_nan=True) for run in in_c)
        ours, *theirs = best_times(native, *in_c, rounds=ROUNDS)
        found.append((min(theirs) / ours, name, ours))
    each = 1e9 / (STEPS * LANES)
    for ratio, name, ours in sorted(found):
        row(f"{name}: {LANES} lanes, against its C", f"{ours * each:.1f} ns/lane-step", ratio, "aim 1x")


def _observations(program: Program) -> NDArray[np.float64]:
    """[step, lane, entry] of its own episodes, from the beginning again where one has ended."""
    task: Task = arz.Cartpole() if program.observations == 4 else arz.Quadruped()
    columns = list(record(program, task, fresh_episodes(LANES)).values())[: program.observations]
    seen = np.stack(columns, axis=2)
    lengths = np.sum(~np.isnan(seen[:, :, 0]), axis=1)
    steps = np.arange(STEPS)[:, None] % lengths
    return np.ascontiguousarray(seen[np.arange(LANES), steps])


def _in_c(
    program: Program, seen: NDArray[np.float64], keys: NDArray[np.uint64], level: str
) -> Callable[[], NDArray[np.float64]]:
    """The program's C on these observations, as a function that returns the actions."""
    BUILD.mkdir(parents=True, exist_ok=True)
    source = to_c(program) + LOOP
    name = hashlib.sha256(" ".join([source, level, *PROCESSOR]).encode()).hexdigest()[:16]
    library = BUILD / f"program-{name}.so"
    flags = ["-std=c99", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", *PROCESSOR]
    command = ["cc", level, *flags, "-x", "c", "-", "-lm", "-o", str(library)]
    subprocess.run(command, input=source.encode(), check=True)
    many = ctypes.CDLL(str(library)).many
    actions = np.zeros((STEPS, LANES, program.actions))

    def run() -> NDArray[np.float64]:
        addresses = [ctypes.c_void_p(array.ctypes.data) for array in (seen, keys, actions)]
        many(addresses[0], addresses[1], ctypes.c_int64(STEPS), ctypes.c_int64(LANES), addresses[2])
        return actions

    return run
