"""The ending of a search: its champion becomes as small as it can be while it stays nearly as good.

Lines that are worth little are left out (`explain.ablation.smallest`), more of them than the score allows; then the
numbers that are left are tuned again. If that brings the score back, the smaller program is taken and the same is tried
on it; if not, fewer lines are left out. Episodes with which this is decided are never test episodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arz.evaluate import Workers, evaluate
from arz.explain.ablation import Show, smallest, tell_nobody
from arz.files import write_whole
from arz.interpreter import available_threads
from arz.program import Batch, Program
from arz.runs.problem import ProgramProblem
from arz.runs.run import Run
from arz.search.cma import SamplingDistribution
from arz.search.draws import normal_rows
from arz.search.problem import Conditions
from arz.simplify import with_own_names
from arz.streams import keys
from arz.tasks.base import Task
from arz.vary import Variation

NAME = "pruned.arz"
"""What a run's pruned champion is called, in its folder."""
REACH = (6.0, 2.0, 1.0)
"""How much more than the tolerance a program may lose at first, before its numbers are tuned again: tried in turn."""
SAMPLES, EPISODES = 24, 8
"""Of a generation of tuning."""
SPREAD = 0.05
"""By how much samples change what the program does at first; no more later."""


@dataclass(frozen=True)
class Pruned:
    """A smaller program, nearly as good as the whole one."""

    program: Program
    score: float
    """On the episodes with which this was decided."""
    whole: Program
    whole_score: float


def prune(
    program: Program,
    task: Task,
    *,
    tolerance: float = 0.01,
    generations: int = 40,
    survival: float = 0.0,
    episodes: int = 100,
    seed: int = 1,
    threads: int | None = None,
    workers: Workers | None = None,
    show: Show | None = None,
) -> Pruned:
    """The smallest program that was found and loses no more than a share of the score.

    Args:
        program: which.
        task: on which it is scored.
        tolerance: the share of the score that may be lost.
        generations: of tuning, after lines were left out.
        survival: what a step is worth beside its reward, in tuning.
        episodes: how many decide.
        seed: of the episodes, and of the samples of tuning.
        threads: how many to use, all by default.
        workers: who evaluates samples, in place of threads.
        show: is told which share of the work is done, about, and how it stands.

    Raises:
        ValueError: a number is out of range.
    """
    if not 0 <= tolerance <= 1:
        raise ValueError(f"tolerance must lie in 0 to 1, not {tolerance}")
    if generations < 0:
        raise ValueError(f"generations must be 0 or more, not {generations}")
    tell = show or tell_nobody
    used = available_threads() if threads is None else threads
    deciding = task.stratified(keys(seed, "pruning episodes", np.arange(episodes)))

    def scored(which: Program) -> float:
        return float(evaluate(which, task, deciding, threads=used, workers=workers).mean[0])

    whole = present = with_own_names(program)
    whole_score = score = scored(whole)
    goal = whole_score - tolerance * abs(whole_score)
    attempts, reach = 0, 0
    while reach < len(REACH):
        text = f"{lines(present)} of {lines(whole)} lines: {score:.1f}"
        allowed = min(1.0, tolerance * REACH[reach])
        done = 1 - lines(present) / (lines(whole) + 1)
        left = (1 - done) / 2

        def told(share: float, _: str, done: float = done, left: float = left, text: str = text) -> None:
            tell(done + left * share, text)

        smaller = smallest(present, task, tolerance=allowed, episodes=episodes, threads=used, show=told).program
        if lines(smaller) == lines(present):
            break  # nothing more can go
        attempts += 1
        tuned = _tuned(smaller, task, generations, survival, seed + attempts, used, workers)
        best, new_score = max(((each, scored(each)) for each in (smaller, tuned)), key=lambda found: found[1])
        if new_score >= goal:
            present, score = best, new_score
        else:
            reach += 1
    tell(1.0, f"{lines(present)} of {lines(whole)} lines: {score:.1f}")
    return Pruned(present, score, whole, whole_score)


def lines(program: Program) -> int:
    """How many lines a program has, with those of its CADFs."""
    return sum(map(len, program.functions))


def _tuned(
    program: Program, task: Task, generations: int, survival: float, seed: int, threads: int, workers: Workers | None
) -> Program:
    """The same code with other numbers: where the centre of a distribution is after some generations."""
    problem = ProgramProblem(program.memory, Variation(), task, threads, workers=workers)
    genome = Batch.pack([program])
    distribution = SamplingDistribution.around(problem.parameters(genome)[0], problem.units(genome).sizes, SPREAD)
    eases = np.zeros((SAMPLES, len(task.case_names)))
    for generation in range(generations):
        numbers = generation * SAMPLES + np.arange(SAMPLES)
        draws = normal_rows(seed, "pruning sample", numbers, len(distribution.centre))
        played = generation * EPISODES + np.arange(EPISODES)
        chosen = task.stratified(keys(seed, "pruning fitness episodes", played))
        samples = problem.with_parameters(genome, distribution.places(draws))
        worth = problem.try_cases(samples, chosen, Conditions(survival), eases).worth
        value = np.add.reduce(worth, axis=1)
        distribution.move(draws[np.argsort(-value, kind="stable")[: SAMPLES // 2]], SPREAD / 10, SPREAD)
    return problem.with_parameters(genome, distribution.centre[None])[0]


def at_end(
    run: Run, *, threads: int | None = None, workers: Workers | None = None, show: Show = tell_nobody
) -> tuple[Pruned, Path] | None:
    """The champion of a run as small as its configuration allows, in the folder of the run; None if it shall not be."""
    champion = run.champion
    if not run.config.limits.prune or run.folder is None or not isinstance(champion, Program):
        return None
    path = run.folder / NAME
    refuse_link(path)
    found = prune(
        champion,
        run.config.task,
        threads=threads,
        workers=workers,
        show=lambda share, text: show(share, f"pruning: {text}"),
        **as_in_run(run),
    )
    keep(found, path)
    return found, path


def as_in_run(run: Run) -> dict[str, Any]:
    """How the champion of a run is pruned."""
    search = run.config.search
    how = {"survival": search.survival_worth, "episodes": search.validation_episodes, "seed": run.seed}
    return how | ({"tolerance": run.config.limits.prune} if run.config.limits.prune else {})


def keep(found: Pruned, path: Path) -> None:
    """Writes the smaller program."""
    refuse_link(path)
    write_whole(path, str(found.program))


def refuse_link(path: Path) -> None:
    """Nothing is written through links.

    Raises:
        ValueError: there is one.
    """
    if path.is_symlink():
        raise ValueError(f"{path} is a link, and nothing is written through links: remove it")
