"""Programs that shall do a task, as a problem for a search: here the chains of programs, tasks and searches meet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arz import streams
from arz.evaluate import Workers, evaluate, record, submit
from arz.interpreter import execute_batch
from arz.native import core
from arz.program import Batch, Memory
from arz.runs.senses import fitted
from arz.search.cma import HUGE
from arz.search.draws import normal_rows
from arz.search.problem import SMALL_EFFECT, UNTRIED, Conditions, Reflex, Trial, Units
from arz.streams import Stream, key
from arz.tasks.base import Evaluation, Task
from arz.tasks.status import Status
from arz.typing import Keys
from arz.vary import (
    MUTATIONS,
    REFLEX,
    TRANSPLANTED,
    Variation,
    crossover,
    grow_reflexes,
    grown_programs,
    mutate,
    random_programs,
    transplant,
)

PROBE_LANES, PROBE_STEPS = 8, 64
GLANCES = 16
"""So many steps tell whether a program looks at the observation."""
GAZE, GAZE_STEPS = 8, 120
"""Episodes on which the effect of start values is measured, and their steps..."""
NUDGE = 1e-3
"""...when each changes by this much, one at a time..."""
AT_ONCE = 128
"""...so many programs side by side."""
WILD, LOUD = 0.2, 50.0
"""How wide numbers are drawn to see what a structure can do; actions beyond the second count as it."""
RHYTHM = 2
"""More ways in which actions move by themselves do not count: a sine and a cosine are a rhythm."""
LISTENING, TURNS = 5 * PROBE_STEPS, 4
"""Actions that turn less often than this in so many steps with the same observation have no rhythm: they drift."""
FREE_STEPS, FREE_LANES = 4, 16
"""Observations on which it is measured in how many ways numbers change what a structure does."""
LEAST_WAY, LEAST_FREEDOM = 0.15, 0.05
"""Directions in which actions change less than this share of the most are none: with observations, with numbers..."""
LEAST_MOVE = 1e-4
"""...nor are those in which they change less than this."""
LEAST_PART = 1e-3
"""Who has less than this share of a change takes no part in it."""
SENSED = 192
"""Episodes in which it is looked for what tells that something has happened."""
LEAST_EFFECT = 1e-6
"""Start values with less effect on the actions than this stay as they are."""


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
    sighted: bool = False
    """Programs whose actions do not depend on the observation are not tried."""
    workers: Workers | None = None
    """Who evaluates, in place of threads."""

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

    # ---- tuning ----

    @property
    def tuned_by(self) -> int:
        """Tuning changes start values."""
        return MUTATIONS.index("randomize_constants")

    def parameters(self, genomes: Batch) -> NDArray[np.float64]:
        """The start values."""
        return np.array(genomes.core.arrays()[3])

    def with_parameters(self, genomes: Batch, parameters: NDArray[np.float64]) -> Batch:
        """The same code with other start values: of each program, or of one with each row."""
        assert len(genomes) in (1, len(parameters))
        copies = genomes if len(genomes) == len(parameters) else genomes.take(np.zeros(len(parameters), np.int64))
        code = copies.core.arrays()[:3]
        return Batch(self.memory, core.batch(self.memory.native, *code, np.ascontiguousarray(parameters)))

    def units(self, genome: Batch, tuned: tuple[str, ...] = (), small: float = SMALL_EFFECT) -> Units:
        """From the change of the actions, on the observations of some episodes, when one start value changes a little.

        What counts is the change in those steps in which there is any: numbers that matter only once something has
        happened are as good as others. With a list of registers, or of rows of them, only these are to change.

        Raises:
            ValueError: there is no such register.
        """
        is_free = np.full(self.memory.image_size, not tuned)
        for name in tuned:
            is_free[self.memory.image_part(name)] = True
        return self._units(genome, is_free & self._is_read(genome), small)

    def _units(self, genome: Batch, is_free: NDArray[np.bool_], small: float) -> Units:
        """The same for start values that are free to change."""
        task = self.task.shorter(GAZE_STEPS)
        episodes = task.stratified(streams.keys(0, "episodes for units", np.arange(GAZE)))
        columns = list(record(genome[0], task, episodes).values())[: self.memory.observations]
        seen = np.stack(columns, axis=2).swapaxes(0, 1)
        is_seen = np.asarray(~np.isnan(seen).any(axis=2))
        shown = np.ascontiguousarray(np.where(is_seen[..., None], seen, 0.0))
        values = self.parameters(genome)
        usual = self._actions(genome, shown)
        effects = np.zeros(values.shape[1])
        free = np.flatnonzero(is_free)
        for first in range(0, len(free), AT_ONCE):
            which = free[first : first + AT_ONCE]
            moved = np.repeat(values, len(which), axis=0)
            moved[np.arange(len(which)), which] += NUDGE
            change = self._actions(self.with_parameters(genome, moved), shown) - usual
            tame = np.clip(np.nan_to_num(change, posinf=0.0, neginf=0.0), -HUGE, HUGE)
            squares = np.mean(tame**2, axis=3)[:, is_seen]
            effects[which] = np.sqrt(squares.sum(axis=1) / np.maximum((squares > 0).sum(axis=1), 1)) / NUDGE
        matters = effects > LEAST_EFFECT
        units = np.zeros(len(effects))
        units[matters] = 1 / np.maximum(effects[matters], small)
        return Units(units / math.sqrt(max(int(matters.sum()), 1)), int(is_seen.sum()))

    def _is_read(self, genome: Batch) -> NDArray[np.bool_]:
        """Which start values belong to registers that can influence an action before they are written."""
        found = np.zeros(self.memory.image_size, bool)
        for kind, bits in zip("svm", core.entry_registers(genome.core, 0), strict=False):
            for number in range(self.memory.count(kind)):
                if bits >> number & 1:
                    found[self.memory.image_slice(kind, number)] = True
        return found

    def _actions(self, genomes: Batch, shown: NDArray[np.float64]) -> NDArray[np.float64]:
        """What they do [program, step, episode, action], within what the motors can do."""
        same = np.zeros(shown.shape[1], np.uint64)
        actions = execute_batch(genomes, shown, keys=same, threads=self.threads)
        return np.asarray(np.clip(actions, -self.task.most_action, self.task.most_action))

    # ---- growing ----

    @property
    def case_names(self) -> tuple[str, ...]:
        """What can happen in an episode of the task."""
        return self.task.case_names

    @property
    def transplanted_by(self) -> int:
        """A number that no mutation has: a transplant takes two parents."""
        return TRANSPLANTED

    def grown(self, keys: Keys, most: int) -> Batch:
        """The smallest program with some terms grown on it."""
        least = (most + 1) // 2
        counts = least + (streams.keys(0, "how many terms", keys) >> np.uint64(32)) % np.uint64(most - least + 1)
        parts = [
            grown_programs(self.memory, terms, keys[counts == terms], self.variation, threads=self.threads)
            for terms in range(least, most + 1)
        ]
        everyone = parts[0]
        for part in parts[1:]:
            everyone = everyone + part
        return everyone.take(np.argsort(np.argsort(counts, kind="stable"), kind="stable"))

    def richness(self, genomes: Batch) -> NDArray[np.float64]:
        """In how many ways the actions of each follow the observation, and in how many they move by themselves.

        Ways are independent directions in which actions change: when entries of the observation change, one at a time;
        and from step to step while it stays the same, to and fro. Numbers are random ones, the same for
        all: what counts is the structure.
        """
        found = [
            self._richness(genomes.take(np.arange(first, min(first + AT_ONCE, len(genomes)))))
            for first in range(0, len(genomes), AT_ONCE)
        ]
        return np.concatenate([np.zeros(0), *found])

    def _richness(self, genomes: Batch) -> NDArray[np.float64]:
        drawn = normal_rows(0, "numbers for richness", np.arange(1), self.memory.image_size)
        wild = self.with_parameters(genomes, np.repeat(WILD * drawn, len(genomes), axis=0))
        seen = self.probe[: GLANCES + 1, :1]
        nudged = np.repeat(seen, 2 * seen.shape[2], axis=1)
        nudged[-1] += NUDGE * np.concatenate([np.eye(seen.shape[2]), -np.eye(seen.shape[2])])
        moved = self._quiet_actions(wild, nudged)[:, -1]
        follows = (moved[:, : seen.shape[2]] - moved[:, seen.shape[2] :]) / (2 * NUDGE)
        same = np.repeat(seen[:1], LISTENING, axis=0)
        moves = np.diff(self._quiet_actions(wild, same)[:, PROBE_STEPS:, 0], n=2, axis=1)
        turns = np.sum(moves[:, 1:] * moves[:, :-1] < 0, axis=1, keepdims=True)
        moves = np.where(turns >= TURNS, moves, 0.0)
        return np.array([_ways(one) + _ways(other, RHYTHM) for one, other in zip(follows, moves, strict=True)])

    def freedom(self, genomes: Batch) -> NDArray[np.float64]:
        """In how many independent ways the actions of each change when its start values do, one at a time.

        A sense of three entries has three, so have two such senses that are added up, and their product has five. Start
        values are random ones, the same for all, and so are observations: what counts is the structure.
        """
        drawn = normal_rows(0, "numbers for freedom", np.arange(1), self.memory.image_size)
        shape = (FREE_STEPS, FREE_LANES, self.memory.observations)
        shown = normal_rows(0, "observations for freedom", np.arange(FREE_STEPS * FREE_LANES), shape[2]).reshape(shape)
        found = np.zeros(len(genomes))
        for place in range(len(genomes)):
            genome = genomes.take(np.array([place]))
            usual = self._quiet_actions(self.with_parameters(genome, drawn), shown).reshape(1, -1)
            free = np.flatnonzero(self._is_read(genome))
            changes = [np.zeros((0, usual.size))]
            for first in range(0, len(free), AT_ONCE):
                which = free[first : first + AT_ONCE]
                moved = np.repeat(drawn, len(which), axis=0)
                moved[np.arange(len(which)), which] += NUDGE
                actions = self._quiet_actions(self.with_parameters(genome, moved), shown)
                changes.append((actions.reshape(len(which), -1) - usual) / NUDGE)
            found[place] = len(_independent(np.concatenate(changes), LEAST_FREEDOM))
        return found

    def _quiet_actions(self, genomes: Batch, shown: NDArray[np.float64]) -> NDArray[np.float64]:
        """What they do [program, step, lane, action], without numbers that are none, or huge."""
        same = np.zeros(shown.shape[1], np.uint64)
        actions = execute_batch(genomes, np.ascontiguousarray(shown), keys=same, threads=self.threads)
        return np.clip(np.nan_to_num(actions, nan=0.0), -LOUD, LOUD)

    def transplant(
        self, genomes: Batch, first: NDArray[np.int64], second: NDArray[np.int64], keys: Keys
    ) -> tuple[Batch, NDArray[np.bool_]]:
        """The first parents with a term of the second ones."""
        return transplant(genomes, first, second, keys, threads=self.threads)

    @property
    def reflex_by(self) -> int:
        """A number that no mutation has: a reflex takes episodes."""
        return REFLEX

    def reflex(
        self, genome: Batch, case: int, name: int, terms: int, eases: NDArray[np.float64] | None, small: float
    ) -> Reflex[Batch]:
        """The program with a reflex for a case; its sense is fitted on recordings, or drawn."""
        drawn = np.array([name], np.uint64)
        parent = np.zeros(1, np.int64)
        child, registers = grow_reflexes(genome, parent, drawn, terms, self.variation, threads=self.threads)
        sense, threshold, latch = registers[0].tolist()
        none, steps = np.zeros(self.memory.image_size), 0
        if latch < 0:
            return Reflex(None, none, steps)
        is_new = self._is_read(child) & ~self._is_read(genome)
        is_new[self.memory.image_slice("s", latch)] = False
        if eases is not None:
            episodes = self.task.stratified(streams.keys(name, "episodes for a sense", np.arange(SENSED)))
            task = self.task.eased(eases.tolist())
            columns = list(record(genome[0], task, episodes).values())[: self.memory.observations]
            seen = np.stack(columns, axis=2)
            steps = int(np.sum(~np.isnan(seen[:, :, 0])))
            is_case = (task.cases(episodes) == case)[:, None]
            found = fitted(seen, is_case & (np.arange(seen.shape[1]) >= task.happens(episodes)[:, None]))
            if found is None:
                return Reflex(None, none, steps)
            numbers = self.parameters(child)
            places = self.memory.image_slice("v", sense), self.memory.image_slice("s", threshold)
            numbers[0, places[0]], numbers[0, places[1]] = 0.0, found[1]
            numbers[0, places[0]][: len(found[0])] = found[0]
            child = self.with_parameters(child, numbers)
            for place in places:
                is_new[place] = False
        units = self._units(child, is_new, small)
        return Reflex(child if units.sizes.any() else None, units.sizes, steps + units.steps)

    def only(self, episodes: Keys, case: int) -> Keys:
        """From evenly spread episodes of all cases, as often as it takes."""
        found, kinds = episodes[:0], len(self.case_names)
        while len(found) < len(episodes):
            more = [streams.keys(len(found) + kind, "episodes of one case", episodes) for kind in range(kinds)]
            drawn = self.task.stratified(np.concatenate(more))
            found = np.concatenate([found, drawn[self.task.cases(drawn) == case]])
        return found[: len(episodes)]

    def lengths(self, genomes: Batch) -> NDArray[np.int64]:
        """Lines that matter."""
        return np.asarray(core.effective(genomes.core)[0].arrays()[1].sum(axis=1), np.int64)

    def try_cases(self, genomes: Batch, episodes: Keys, conditions: Conditions, eases: NDArray[np.float64]) -> Trial:
        """The mean return in each case, and what its steps are worth."""
        task, used = self.task, episodes
        if conditions.is_easy:
            task, used = task.easier(), episodes[:1]
        elif conditions.steps:
            task = task.shorter(conditions.steps, is_early=True)
        task = task.varied(conditions.world, conditions.variety)
        found = self._eased(genomes, task, used, eases)
        cases = np.zeros(1, np.int64) if conditions.is_easy else task.cases(used)
        return Trial(
            self._by_case(found.returns + conditions.survival * found.lengths, cases),
            task.objectives(self.asked, found, used),
            self._by_case((found.statuses == Status.COMPLETED.number).astype(np.float64), cases),
            found.lengths.sum(axis=1).astype(np.float64),
        )

    def _by_case(self, values: NDArray[np.float64], cases: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean of each row in each case; that of all where a case has no episode."""
        found = np.repeat(values.sum(axis=1, keepdims=True) / values.shape[1], len(self.case_names), axis=1)
        for case in np.unique(cases).tolist():
            found[:, case] = values[:, cases == case].sum(axis=1) / np.sum(cases == case)
        return found

    def _eased(self, genomes: Batch, task: Task, episodes: Keys, eases: NDArray[np.float64]) -> Evaluation:
        """Each with its own eases: all that share them at a time."""
        kinds, which = np.unique(eases, axis=0, return_inverse=True)
        if len(kinds) == 1:
            one = task.eased(kinds[0].tolist())
            return evaluate(genomes, one, episodes, threads=self.threads, workers=self.workers)
        places = [np.flatnonzero(which.ravel() == kind) for kind in range(len(kinds))]
        asked = [(genomes.take(place), task.eased(kind.tolist())) for place, kind in zip(places, kinds, strict=True)]
        if self.workers is None:
            found = [evaluate(chosen, one, episodes, threads=self.threads) for chosen, one in asked]
        else:
            pending = [submit(chosen, one, episodes, self.workers) for chosen, one in asked]
            found = [each.result() for each in pending]
        return Evaluation.joined(found).take(np.argsort(np.concatenate(places)))

    def stratified(self, episodes: Keys) -> Keys:
        """Episodes that show the task evenly."""
        return self.task.stratified(episodes)

    def prepared(self, genomes: Batch) -> Batch:
        """Their effective code."""
        return Batch(genomes.memory, core.effective_forms(genomes.core, self.threads))

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
        return self._scored(genomes, self.task, self.asked, episodes)

    def score_easier(self, genomes: Batch, episodes: Keys) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The objectives of the warm-up, in one episode of the easier task."""
        names = (*self.asked_at_first, *["return"] * self.objectives)[: self.objectives]
        return self._scored(genomes, self.task.easier(), names, episodes[:1])

    def _scored(
        self, genomes: Batch, task: Task, names: tuple[str, ...], episodes: Keys
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        objectives, steps = np.full((len(genomes), len(names)), UNTRIED), np.zeros(len(genomes))
        tried = np.flatnonzero(self.looks(genomes)) if self.sighted else np.arange(len(genomes))
        if len(tried):
            chosen = genomes if len(tried) == len(genomes) else genomes.take(tried)
            result = evaluate(chosen, task, episodes, threads=self.threads, workers=self.workers, **task.scoring)
            objectives[tried] = task.objectives(names, result, episodes)
            steps[tried] = result.lengths.sum(axis=1)
        return objectives, steps

    def looks(self, genomes: Batch) -> NDArray[np.bool_]:
        """Whether the actions of each depend on the observation: whether they differ where only that differs."""
        same = np.zeros(PROBE_LANES, np.uint64)
        actions = execute_batch(genomes, self.probe[:GLANCES], keys=same, threads=self.threads)
        differs = (actions != actions[:, :, :1]) & ~(np.isnan(actions) & np.isnan(actions[:, :, :1]))
        return np.asarray(differs.any(axis=(1, 2, 3)))


def _ways(matrix: NDArray[np.float64], most: float = math.inf) -> float:
    """In how many independent ways its columns follow its rows; one that concerns few of them counts in part."""
    ways = 0.0
    for share in _independent(matrix, LEAST_WAY):  # one after the other: sum() rounds in another way since Python 3.12
        ways += share
    return min(ways, most)


def _independent(matrix: NDArray[np.float64], least: float) -> list[float]:
    """The independent ways in which columns follow rows: of each, how many of them it concerns, as a share of all.

    By elimination, elementwise, so that it is the same on every machine.

    Args:
        matrix: how columns follow rows.
        least: ways that are smaller than this share of the largest are none.
    """
    left, largest, ways = matrix.copy(), 0.0, []
    for _ in range(min(left.shape)):
        row, column = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        pivot = float(left[row, column])
        largest = max(largest, abs(pivot))
        if abs(pivot) <= max(least * largest, LEAST_MOVE):
            break
        across, down = (np.abs(line) > LEAST_PART * abs(pivot) for line in (left[row], left[:, column]))
        ways.append(float(np.sum(across)) * float(np.sum(down)) / left.size)
        left = left - left[:, column : column + 1] * (left[row : row + 1] / pivot)
        left[row], left[:, column] = 0.0, 0.0
    return ways
