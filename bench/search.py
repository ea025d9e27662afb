"""What makes the search for programs fast: each saving switched off in turn, in searches otherwise the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.program import Batch
from arz.runs.problem import ProgramProblem
from arz.search.regularized import Regularized, RegularizedSettings
from arz.typing import Keys

Row = Callable[..., None]
CONFIG = arz.preset("cartpole-regularized")
SEEDS = (1, 2)
assert isinstance(CONFIG.search, RegularizedSettings)
SETTINGS = CONFIG.search
EVALUATIONS = 30_000 * SETTINGS.islands


@dataclass(frozen=True)
class Measured(ProgramProblem):
    """The problem of a run, with savings that can be switched off, and a clock."""

    only_effective: bool = True
    compact: bool = True
    clock: dict[str, float] = field(default_factory=lambda: {"score": 0.0, "fingerprints": 0.0})

    def score(self, genomes: Batch, episodes: Keys) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As a run scores."""
        began = time.perf_counter()
        how: dict[str, Any] = {"only_effective": self.only_effective, "compact": self.compact}
        result = evaluate(genomes, self.task, episodes, threads=self.threads, **how)
        self.clock["score"] += time.perf_counter() - began
        return result.mean[:, None], result.lengths.sum(axis=1).astype(np.float64)

    def fingerprints(self, genomes: Batch) -> NDArray[np.uint64]:
        """As a run makes them."""
        began = time.perf_counter()
        result = super().fingerprints(genomes)
        self.clock["fingerprints"] += time.perf_counter() - began
        return result


def problem(threads: int = 1, **changes: Any) -> Measured:
    """The default problem."""
    return Measured(CONFIG.registers, CONFIG.variation, CONFIG.task, threads, **changes)


def search(
    made: Measured, settings: RegularizedSettings, seed: int, until: int = EVALUATIONS
) -> tuple[Regularized[Batch], float]:
    """A search, and how long it took."""
    running: Regularized[Batch] = Regularized(made, settings, seed)
    began = time.perf_counter()
    while running.counters.evaluations < until:
        running.advance()
    return running, time.perf_counter() - began


def savings(row: Row) -> None:
    """What each saving gives; the exact ones must leave the search as it is."""
    base = SETTINGS
    half = base.episodes // 2
    contenders: dict[str, tuple[Measured, RegularizedSettings, bool]] = {
        "as it is": (problem(), base, True),
        "without the exact cache": (problem(), replace(base, cache=0), True),
        "with dead code": (problem(only_effective=False), base, True),
        "without moving running episodes together": (problem(compact=False), base, True),
        "with the functional cache": (problem(functional=True), replace(base, functional_cache=True), False),
        "with a hurdle": (problem(), replace(base, hurdle_episodes=half), False),
    }
    times = dict.fromkeys(contenders, 0.0)
    scores: dict[str, list[float]] = {name: [] for name in contenders}
    steps, hits, done = 0, dict.fromkeys(contenders, 0), 0
    search(problem(), base, SEEDS[0])  # the first search of a process takes longer
    for seed in SEEDS:
        ends = {}
        for name, (made, settings, _) in contenders.items():
            found, spent = search(made, settings, seed)
            times[name] += spent
            scores[name].append(found.counters.champion_score)
            hits[name] += found.counters.hits
            ends[name] = found.fitness
            if name == "as it is":
                steps += found.counters.steps
                done += found.counters.evaluations
        for name, (_, _, is_exact) in contenders.items():
            assert not is_exact or np.array_equal(ends[name], ends["as it is"]), f"{name}: another search"
    usual = times["as it is"]
    rates = f"{done / usual / 1e3:.1f}k eval/s, {steps / usual / 1e6:.0f}M steps/s"
    row(f"search, {len(SEEDS)} seeds of {EVALUATIONS // 1000}k evaluations, one thread", rates)
    for name in list(contenders)[1:]:
        row(f"  {name}, against as it is", f"{times[name]:.1f} / {usual:.1f} s", times[name] / usual)
    for name in ("as it is", "with the functional cache"):
        row(f"  {name}: known from the cache", f"{hits[name] / done:.0%}")
    means = [np.mean(scores[name]) for name in ("as it is", "with a hurdle")]
    row("  mean of the best validation scores: as it is; with a hurdle", f"{means[0]:.0f}; {means[1]:.0f}")


def false_hits(row: Row) -> None:
    """How often the functional cache takes programs for equal that are not."""
    found, _ = search(problem(), replace(SETTINGS, cache=0), 1, 10_000)
    everyone: Batch | None = None
    for _ in range(60):
        births, _ = found.advance()
        assert found.population is not None
        newest = found.population.take(np.flatnonzero(found.numbers >= births.first))
        everyone = newest if everyone is None else everyone + newest
    assert everyone is not None
    marks = problem(functional=True).fingerprints(everyone)
    returns = evaluate(everyone, CONFIG.task, fresh_episodes(32), threads=1).mean
    first: dict[bytes, float] = {}
    hits = false = 0
    for mark, value in zip(marks, returns.tolist(), strict=True):
        known = first.setdefault(mark.tobytes(), value)
        hits += 1
        false += abs(known - value) > 1
    row("  false hits of the functional cache (off by more than 1)", f"{false / (hits - len(first)):.2%} of its hits")


def native_share(row: Row) -> None:
    """How much of the wall time is spent in native evaluation at two threads, once episodes are long."""
    made = problem(threads=2)
    settings = replace(SETTINGS, restart_after=0)
    running, _ = search(made, settings, 1)
    before, clock, began = running.counters.steps, dict(made.clock), time.perf_counter()
    evaluations = running.counters.evaluations
    while running.counters.evaluations < evaluations + EVALUATIONS // 2:
        running.advance()
    wall = time.perf_counter() - began
    rollout, marks = (made.clock[name] - clock[name] for name in ("score", "fingerprints"))
    done = running.counters.evaluations - evaluations
    rates = f"{done / wall / 1e3:.1f}k eval/s, {(running.counters.steps - before) / wall / 1e6:.0f}M steps/s"
    row("search with long episodes, two threads", rates)
    shares = f"{rollout / wall:.0%}; {(rollout + marks) / wall:.0%}"
    row("  wall time in rollouts; with fingerprints of programs", shares, None, "goal 90 %")


def rollouts(row: Row, best_times: Callable[..., list[float]]) -> None:
    """The rollout itself."""
    program = arz.Program.load("examples/paper_cartpole.arz")
    keys, one = fresh_episodes(32), Batch.pack([program])
    many = Batch.pack([program] * 64)
    single, alone, both = best_times(
        lambda: evaluate(one, CONFIG.task, keys, threads=1),
        lambda: evaluate(many, CONFIG.task, keys, threads=1),
        lambda: evaluate(many, CONFIG.task, keys, threads=2),
    )
    row("rollout of the paper's program, 32 episodes", f"{single / 32e3 * 1e9:.1f} ns/step")
    row("  64 of them, two threads against one", f"{alone * 1e3:.0f} / {both * 1e3:.0f} ms", alone / both, "goal 1.9x")
