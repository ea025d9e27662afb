"""Networks that shall do a task, as a problem for a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arz import streams
from arz.evaluate import Workers, evaluate
from arz.native import core
from arz.network import Architecture, NetworkBatch
from arz.search.draws import normal_rows
from arz.tasks.base import Task
from arz.typing import Floats, Keys
from arz.vary import MUTATIONS

OUTPUT_SCALE = 0.1
"""Networks begin with actions near zero: their last matrix is so much smaller."""
FORGET_BIAS = 1.0
"""LSTMs begin with forget gates that are rather open."""


@dataclass(frozen=True)
class NetworkProblem:
    """Finds the numbers of networks for a task."""

    architecture: Architecture
    task: Task
    threads: int
    asked: tuple[str, ...] = ("return",)
    """The names of the objectives."""
    asked_at_first: tuple[str, ...] = ("return", "length")
    """Those of the warm-up; as many as there are, the rest is the return."""
    sigma: float = 0.05
    """The standard deviation of a mutation."""
    workers: Workers | None = None
    """Who evaluates, in place of threads."""

    @property
    def objectives(self) -> int:
        """How many there are."""
        return len(self.asked)

    @property
    def seen(self) -> int:
        """How many entries an observation has."""
        return self.architecture.observations

    @property
    def tuned_by(self) -> int:
        """All changes are changes of numbers."""
        return MUTATIONS.index("randomize_constants")

    @property
    def structure(self) -> NetworkBatch:
        """A network whose numbers are zero."""
        return NetworkBatch(self.architecture, self.architecture.blank()[None])

    def random(self, keys: Keys) -> NetworkBatch:
        """Networks with normal weights, divided by the root of the number of inputs; biases are zero."""
        numbers = np.repeat(self.architecture.blank()[None], len(keys), axis=0)
        for row, key in zip(numbers, keys.tolist(), strict=True):
            drawn = normal_rows(key, "network", np.zeros(1, np.int64), self.architecture.size)[0]
            random = self.architecture.split(drawn)
            for name, part in self.architecture.split(row).items():
                if part.ndim == 2:
                    part[:] = random[name] * ((OUTPUT_SCALE if name == "output" else 1.0) / np.sqrt(part.shape[1]))
                elif name == "gate_bias":
                    part[len(part) // 4 : len(part) // 2] = FORGET_BIAS
        return NetworkBatch(self.architecture, numbers)

    def vary(
        self, genomes: NetworkBatch, parents: NDArray[np.int64], keys: Keys
    ) -> tuple[NetworkBatch, NDArray[np.uint8]]:
        """Normal noise on all numbers that are trained."""
        numbers, fixed = genomes.numbers[parents], self.architecture.fixed
        for row, key in zip(numbers, keys.tolist(), strict=True):
            row[fixed:] += self.sigma * normal_rows(key, "vary", np.zeros(1, np.int64), len(row) - fixed)[0]
        return NetworkBatch(self.architecture, numbers), np.full(len(keys), self.tuned_by, np.uint8)

    def cross(
        self, genomes: NetworkBatch, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys
    ) -> NetworkBatch:
        """Each number from one of the parents."""
        draws = np.stack([streams.keys(key, "cross", np.arange(self.architecture.size)) for key in keys.tolist()])
        return NetworkBatch(
            self.architecture, np.where(draws >> np.uint64(63), genomes.numbers[first], genomes.numbers[second])
        )

    def parameters(self, genomes: NetworkBatch) -> Floats:
        """All of them."""
        return genomes.numbers.copy()

    def with_parameters(self, genome: NetworkBatch, parameters: Floats) -> NetworkBatch:
        """The same architecture with other numbers."""
        return NetworkBatch(genome.architecture, np.array(parameters))

    def prepared(self, genomes: NetworkBatch) -> NetworkBatch:
        """All of a network matters."""
        return genomes

    def fingerprints(self, genomes: NetworkBatch) -> NDArray[np.uint64]:
        """The bits of their numbers."""
        return core.row_keys(np.ascontiguousarray(genomes.numbers))

    def stratified(self, episodes: Keys) -> Keys:
        """Episodes that show the task evenly."""
        return self.task.stratified(episodes)

    def score(self, genomes: NetworkBatch, episodes: Keys) -> tuple[Floats, Floats]:
        """The objectives over the episodes, and the steps that they took."""
        return self._watched(genomes, self.task, self.asked, episodes)[:2]

    def score_easier(self, genomes: NetworkBatch, episodes: Keys) -> tuple[Floats, Floats]:
        """The same in one episode of the easier task."""
        names = (*self.asked_at_first, *["return"] * self.objectives)[: self.objectives]
        return self._watched(genomes, self.task.easier(), names, episodes[:1])[:2]

    def watch(self, genomes: NetworkBatch, episodes: Keys) -> tuple[Floats, Floats, Floats]:
        """As `score`, and what they saw."""
        return self._watched(genomes, self.task, self.asked, episodes)

    def _watched(
        self, genomes: NetworkBatch, task: Task, names: tuple[str, ...], episodes: Keys
    ) -> tuple[Floats, Floats, Floats]:
        found = evaluate(genomes, task, episodes, threads=self.threads, workers=self.workers, **task.scoring)
        objectives = task.objectives(names, found, episodes)
        return objectives, found.lengths.sum(axis=1).astype(np.float64), found.sums
