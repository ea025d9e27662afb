"""How fast the physics of the Laikago is: against MuJoCo, and where its time goes, against the arithmetic it does."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

import numpy as np

from arz.native import core
from arz.tasks.quadruped import mujoco_model
from bench.compiled import compiled

Row = Callable[..., None]
Best = Callable[..., list[float]]
SUBSTEPS = 10  # physics steps in a control step
GOALS = {"x86-64-v3": "goal 80x", "x86-64-v4": "goal 120x"}
COUNTS = 6  # the numbers of `Counts` (bench/physics.cpp)


def against_mujoco(row: Row, best: Best) -> None:
    """Physics steps per second on one core, robots that stand."""
    usual = core.laikago_world(1.0, 0.0, 1.0, 0, 0.0, 0)
    ours = {f"{n} sweep{'s' * (n > 1)}": core.own_engine(False, n, usual) for n in (1, 5)}
    contenders = [(engine, 32, 200) for engine in ours.values()]
    contenders += [(core.own_engine(True, 1, usual), 8, 100), (mujoco_model.engine(1), 1, 200)]
    times = best(*(partial(core.exercise, *one) for one in contenders), rounds=30)
    rates = [robots * steps * SUBSTEPS / spent for (_, robots, steps), spent in zip(contenders, times, strict=True)]
    row("physics: MuJoCo, C loop, one core", f"{rates[3] / 1e3:.0f}k steps/s")
    for name, rate, goal in zip(ours, rates, (GOALS.get(core.INSTRUCTION_SET, ""), ""), strict=False):
        row(f"physics: floats side by side, {name}", f"{rate / 1e6:.2f}M steps/s", rate / rates[3], goal)
    row("physics: double", f"{rates[2] / 1e6:.2f}M steps/s", rates[2] / rates[3])


def library() -> ctypes.CDLL:
    """bench/physics.cpp, compiled as CMakeLists.txt compiles the physics."""
    loaded = compiled("physics", "-O3", "-fno-tree-slp-vectorize", "-pthread")
    loaded.physics_part.restype, loaded.physics_peak.restype = ctypes.c_char_p, ctypes.c_double
    loaded.physics_times.restype = ctypes.c_bool
    return loaded


def parts(row: Row) -> None:
    """The time of each part of a step, and how much of the core its arithmetic uses."""
    steps = library()
    names: list[str] = []
    while name := steps.physics_part(len(names)):
        names.append(name.decode())
    counts, times = np.zeros((len(names), COUNTS)), np.zeros(len(names) + 1)
    steps.physics_counts(1, counts.ctypes.data_as(ctypes.c_void_p))
    best, peak = np.full(len(times), np.inf), 0.0
    for _ in range(400):
        assert steps.physics_times(1, 2, 40, times.ctypes.data_as(ctypes.c_void_p))
        best, peak = np.minimum(best, times), max(peak, steps.physics_peak())
    operations = counts[:, :4].sum(axis=1)
    rows = np.vstack([np.column_stack([operations, counts[:, 2:4].sum(axis=1), counts[:, 5]]), np.zeros(3)])
    rows[-1] = rows.sum(axis=0)
    for name, spent, (each, roots, idle) in zip([*names, "whole step"], best, rows, strict=True):
        what = f"  {name}: {each:.0f} operations, {roots:.0f} / or roots, {idle:.0f} with 0"
        of_peak = f"{each / spent:.0f} GFLOP/s, {each / spent / peak:.0%} of the peak"
        row(what, f"{spent:.1f} ns {spent / best[-1]:4.0%}", None, of_peak)
    row("  the peak: sums and products in registers", f"{peak:.0f} GFLOP/s")


def physics(row: Row, best: Best) -> None:
    """All of it. `best` gives the best time of each contender in some rounds."""
    against_mujoco(row, best)
    parts(row)
