"""What a cluster of many cores would do with a search: measured here, simulated for 1000 workers.

`python -m bench.idle measure` runs the quadruped's search on one thread with a stopwatch, for random programs and
for descendants of one that walks: how long each program takes, and how long the driver takes beside that. It writes
results/cluster/times.json. `python -m bench.idle simulate` shares such batches out among 10 to 1000 workers, by
the same rule as `arz evolve --backend ray`, and draws docs/images/cluster.png.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import arz
from arz.cluster import worker_pool
from arz.cluster.scheduling import simulate
from arz.plotting import style
from arz.policy import PolicyBatch
from arz.program import Memory, Program
from arz.streams import keys
from arz.tasks.base import Evaluation, Task

ROOT = Path(__file__).parent.parent
TIMES = ROOT / "results" / "cluster" / "times.json"
FIGURE = ROOT / "docs" / "images" / "cluster.png"
WALKER = ROOT / "results" / "reproduction" / "hour" / "champions" / "quadruped-published-1.arz"
PHASES = {"random programs": None, "children of a program that walks": WALKER}
KEPT = 4000
"""Times that are kept of each phase."""
SHARE, SHARES = 50, 300
"""Programs in a share whose cost is measured, and how often."""
SHAPES = {"10 workers": 10, "100 workers": 100, "1000 workers": 1000, "1000 workers, 20 searches": 50}
"""The workers of a search."""
BATCHES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000)
"""Children that are bred from one population: the lag."""


@dataclass(frozen=True)
class Done:
    """What was evaluated already."""

    found: Evaluation

    def result(self) -> Evaluation:
        """See `arz.evaluate.Pending`."""
        return self.found


class Stopwatch:
    """Evaluates on one thread, and remembers how long each policy took: its part of the steps of all.

    As if a step took as long for each: programs with more lines take a little longer than that.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.total = 0.0

    def submit(
        self, policies: PolicyBatch, task: Task, episodes: NDArray[np.uint64], options: dict[str, Any], /
    ) -> Done:
        """See `arz.evaluate.Workers`."""
        began = time.perf_counter()
        found = task.rollout(policies.core, episodes, 1, **options)
        took = time.perf_counter() - began
        steps = found.lengths.sum(axis=1)
        self.total += took
        if len(policies) >= 100:  # not the tests of champions
            self.seconds += (took * steps / steps.sum()).tolist()
        return Done(found)


def measure() -> None:
    """Writes the times."""
    found: dict[str, Any] = {}
    for phase, path in PHASES.items():
        start = None if path is None else Program.load(path)
        config = arz.preset("quadruped-nsga2", budget="16000", warm_up=0.0)
        watch, began = Stopwatch(), time.perf_counter()
        with arz.evolve(config, threads=1, workers=watch, start=start) as run:
            evaluations = run.counters.evaluations
        passed = time.perf_counter() - began
        last = watch.seconds[-KEPT:]
        found[phase] = {
            "driver_seconds_each": (passed - watch.total) / evaluations,
            "microseconds": [round(1e6 * each) for each in last],
        }
        print(f"{phase}: {1e3 * np.mean(last):.2f} ms each, driver {1e6 * (passed - watch.total) / evaluations:.0f} us")
    found["share"] = share_costs()
    TIMES.parent.mkdir(exist_ok=True)
    TIMES.write_text(json.dumps(found) + "\n")


def share_costs() -> dict[str, float]:
    """What a share of programs that take no time costs: seconds until it is back, and seconds of the driver.

    The first with one share at a time, the second with one after the other, as fast as they go.
    """
    task = arz.Quadruped(steps=1, break_step=0)
    many = arz.random_programs(Memory(task.observations, task.actions), keys(1, "share", np.arange(SHARE * SHARES)))
    few, episodes, took = many.take(np.arange(SHARE)), arz.fresh_episodes(8), []
    with arz.RayWorkers() as workers, patch.object(worker_pool, "share_size", lambda left, *_: min(left, SHARE)):
        for _ in range(SHARES):
            began = time.perf_counter()
            arz.evaluate(few, task, episodes, workers=workers)
            took.append(time.perf_counter() - began)
        busy_before = time.process_time()
        arz.evaluate(many, task, episodes, workers=workers)
        driver = (time.process_time() - busy_before) / SHARES
    print(f"a share of {SHARE}: back after {1e3 * np.median(took):.2f} ms, {1e3 * driver:.2f} ms of the driver")
    return {"overhead": float(np.median(took)), "driver": driver}


def busy(seconds: NDArray[np.float64], batch: int, workers: int, driver_each: float, costs: dict[str, float]) -> float:
    """The share of the workers' time in which they evaluate, if batches of this size follow each other."""
    drawn = np.random.default_rng(1).choice(seconds, batch).tolist()
    took = simulate(drawn, workers, costs["overhead"], costs["driver"]) + driver_each * batch
    return float(sum(drawn) / (workers * took))


def simulated() -> None:
    """Draws the figure and prints the table."""
    import matplotlib.pyplot as plt

    known = json.loads(TIMES.read_text())
    costs = known.pop("share")
    figure, panels = plt.subplots(1, len(known), figsize=(11, 4.5), sharey=True, layout="constrained")
    for panel, (phase, about) in zip(panels, known.items(), strict=True):
        seconds = 1e-6 * np.array(about["microseconds"])
        for shape, workers in SHAPES.items():
            shares = [1 - busy(seconds, batch, workers, about["driver_seconds_each"], costs) for batch in BATCHES]
            panel.plot(BATCHES, shares, marker="o", markersize=4, label=shape)
            shown = "  ".join(f"{batch}: {share:.0%}" for batch, share in zip(BATCHES, shares, strict=True))
            print(f"{phase}, {shape}, idle by batch: {shown}")
        panel.set(xscale="log", ylim=(0, 1), xlabel="children bred from one population (lag)")
        panel.set_title(f"{phase}: {1e3 * seconds.mean():.1f} ms each", fontsize=11)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("share of the workers' time that is idle")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SHAPES), frameon=False)
    figure.suptitle("Laikago on many workers: lag against idle time (simulated with times measured on one core)")
    style.save(figure, FIGURE)


if __name__ == "__main__":
    {"measure": measure, "simulate": simulated}[sys.argv[1]]()
