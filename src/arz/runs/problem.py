"""Programs that shall do a task, as a problem for a search: here the chains of programs, tasks and searches meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arz import streams
from arz.evaluate import evaluate
from arz.interpreter import execute_batch
from arz.native import core
from arz.program import Batch, Memory
from arz.streams import Stream, key
from arz.tasks.task import Task
from arz.vary import Variation, crossover, mutate, random_programs

Keys = NDArray[np.uint64]

PROBE_LANES, PROBE_STEPS = 8, 64


@dataclass(frozen=True)
class ProgramProblem:
    """Finds programs for a task."""

    memory: Memory
    variation: Variation
    task: Task
    threads: int
    functional: bool = False
    """Fingerprints are actions on fixed observations, not code."""
    asked: tuple[str, ...] = ("return",)
    """The names of the objectives."""
    asked_at_first: tuple[str, ...] = ("return", "length")
    """Those of the warm-up; as many as there are, the rest is the return."""
    mutations: int = 1
    """Children get one mutation up to this many."""

    @property
    def objectives(self) -> int:
        """How many there are."""
        return len(self.asked)

    def random(self, keys: Keys) -> Batch:
        """Random programs."""
        return random_programs(self.memory, keys, self.variation, threads=self.threads)

    def vary(self, genomes: Batch, parents: NDArray[np.int64], keys: Keys) -> tuple[Batch, NDArray[np.uint8]]:
        """One mutation each, or several; the number is that of the first."""
        children, first = mutate(genomes, parents, keys, self.variation, threads=self.threads)
        if self.mutations == 1:
            return children, first
        counts = 1 + (streams.keys(0, "how many mutations", keys) >> np.uint64(32)) % np.uint64(self.mutations)
        for more in range(1, self.mutations):
            who = np.flatnonzero(counts > more)
            new_keys = streams.keys(more, "one more mutation", keys[who])
            again, _ = mutate(children, who, new_keys, self.variation, threads=self.threads)
            order = np.arange(len(children))
            order[who] = len(children) + np.arange(len(who))
            children = (children + again).take(order)
        return children, first

    def cross(self, genomes: Batch, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys) -> Batch:
        """The paper's crossover."""
        return crossover(genomes, first, second, keys, threads=self.threads)

    def spread(self, episodes: Keys) -> Keys:
        """Episodes that show the task evenly."""
        return self.task.spread(episodes)

    def fingerprints(self, genomes: Batch) -> NDArray[np.uint64]:
        """What programs of the same behaviour share: their effective code, or the bits of their actions."""
        if not self.functional:
            return core.program_keys(genomes.core, self.threads)
        lanes = np.arange(PROBE_LANES, dtype=np.uint64)
        actions = execute_batch(genomes, self.probe, keys=lanes, threads=self.threads)
        return core.row_keys(actions.reshape(len(genomes), -1))

    @cached_property
    def probe(self) -> NDArray[np.float64]:
        """Fixed observations [step, lane, entry]: smooth at random, of the size that a task shows."""
        stream = Stream(key(0, "probe"))
        shape = (PROBE_STEPS, PROBE_LANES, self.memory.observations)
        numbers = np.array([stream.normal() for _ in range(int(np.prod(shape)))]).reshape(shape)
        return np.ascontiguousarray(0.02 * np.cumsum(numbers, axis=0))

    def score(self, genomes: Batch, episodes: Keys) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The objectives over the episodes, and the steps that they took."""
        result = evaluate(genomes, self.task, episodes, threads=self.threads, **self.task.scoring)
        objectives = self.task.objectives(self.asked, result, episodes)
        return objectives, result.lengths.sum(axis=1).astype(np.float64)

    def score_easier(self, genomes: Batch, episodes: Keys) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The objectives of the warm-up, in one episode of the easier task."""
        task = self.task.easier()
        result = evaluate(genomes, task, episodes[:1], threads=self.threads, **task.scoring)
        names = (*self.asked_at_first, *["return"] * self.objectives)[: self.objectives]
        return task.objectives(names, result, episodes[:1]), result.lengths.sum(axis=1).astype(np.float64)
