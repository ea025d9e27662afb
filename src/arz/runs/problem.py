"""Programs that shall do a task, as a problem for a search: here the chains of programs, tasks and searches meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arz.evaluate import evaluate
from arz.interpreter import execute_batch
from arz.native import core
from arz.program import Batch, Memory
from arz.streams import Stream, key
from arz.tasks.cartpole import Cartpole
from arz.vary import Variation, mutate, random_programs

Keys = NDArray[np.uint64]

PROBE_LANES, PROBE_STEPS = 8, 64


@dataclass(frozen=True)
class ProgramProblem:
    """Finds programs for a task."""

    memory: Memory
    variation: Variation
    task: Cartpole
    threads: int
    functional: bool = False
    """Fingerprints are actions on fixed observations, not code."""

    def random(self, keys: Keys) -> Batch:
        """Random programs."""
        return random_programs(self.memory, keys, self.variation, threads=self.threads)

    def vary(self, genomes: Batch, parents: NDArray[np.int64], keys: Keys) -> tuple[Batch, NDArray[np.uint8]]:
        """One mutation each."""
        return mutate(genomes, parents, keys, self.variation, threads=self.threads)

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
        """The mean return over the episodes, and the steps that they took."""
        result = evaluate(genomes, self.task, episodes, threads=self.threads)
        return result.mean, result.lengths.sum(axis=1).astype(np.float64)
