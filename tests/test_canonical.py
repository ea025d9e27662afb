"""The exact cache's key: shared by programs that differ only in dead code and in the names of registers, by no others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from arz import Memory, Program, Variation, effective, execute_batch, mutate, random_programs
from arz.native import core
from arz.program import Batch
from arz.runs.problem import ProgramProblem
from arz.search.regularized import Regularized, RegularizedSettings
from arz.simplify import _rename
from arz.streams import keys
from arz.tasks.cartpole import Cartpole
from tests.support import same_bits

MEMORIES = [
    Memory(4, 1, scalars=4, vectors=4, matrices=0, indices=0),
    Memory(4, 1, scalars=6, vectors=3, matrices=2, indices=2, stateful=False),
    Memory(3, 5, scalars=5, vectors=6, matrices=1, indices=3),
]
VARIATION = Variation(length=(3, 12), max_cadfs=3, initial_cadfs=0, initial_constants=1.0)


def family(memory: Memory, count: int) -> Batch:
    """Random programs and their descendants over some generations: many of them equal in effect."""
    variation = VARIATION if memory.indices >= 2 else Variation(length=(3, 12), max_cadfs=0, initial_constants=1.0)
    batch = random_programs(memory, keys(1, "start", range(count)), variation)
    everyone = batch
    for generation in range(4):
        batch, _ = mutate(batch, range(count), keys(generation, "child", range(count)), variation)
        everyone += batch
    return everyone


def program_keys(batch: Batch, threads: int = 2) -> NDArray[np.uint64]:
    return core.program_keys(batch.core, threads)


def as_text(batch: Batch) -> list[str]:
    return [str(_rename(program)) for program in Batch(batch.memory, core.effective(batch.core)[0]).unpack()]


@pytest.mark.parametrize("memory", MEMORIES)
def test_equal_keys_mean_equal_code(memory: Memory) -> None:
    """The canonical text of the effective program, made by other code, tells the same programs apart."""
    batch = family(memory, 300)
    by_key: dict[bytes, str] = {}
    texts = as_text(batch)
    for mark, text in zip(program_keys(batch), texts, strict=True):
        assert by_key.setdefault(mark.tobytes(), text) == text
    assert len(set(texts)) == len(by_key) < 0.8 * len(batch)


@pytest.mark.parametrize("memory", MEMORIES)
def test_equal_keys_mean_equal_actions(memory: Memory) -> None:
    batch = family(memory, 200)
    seen = np.random.default_rng(1).normal(size=(6, 16, memory.observations))
    actions = execute_batch(batch, seen)
    first: dict[bytes, int] = {}
    shared = 0
    for number, mark in enumerate(program_keys(batch)):
        other = first.setdefault(mark.tobytes(), number)
        shared += other != number
        assert same_bits(actions[number], actions[other])
    assert shared > 100


@pytest.mark.parametrize("memory", MEMORIES)
def test_dead_code_and_names_do_not_count(memory: Memory) -> None:
    programs = family(memory, 60).unpack()
    plain = program_keys(Batch.pack(programs))
    simple = [effective(program).program for program in programs]
    twice = Batch(memory, core.effective(Batch.pack(programs).core)[0])
    assert np.array_equal(program_keys(twice, 1), program_keys(Batch.pack(twice.unpack())))
    renamed = Batch.pack([_rename(program) for program in simple])
    same = np.all(program_keys(renamed) == program_keys(Batch.pack(simple)), axis=1)
    assert same.all()
    once = np.all(plain == program_keys(twice), axis=1)
    assert once.mean() > 0.95  # a second pass of dead-code removal rarely finds more


def test_constants_start_values_and_statelessness_count() -> None:
    text = (
        "memory(observations=2, actions=1, stateful={})\n"
        "def StartEpisode():\n    s5 = {}\n    s9 = {}\n"
        "def GetAction(obs, action):\n    s5 = s5 + s5\n    action = s5 * {}\n    s9 = s9 + s5\n"
    )
    variants = [("True", 1.0, 0.0, 2.0), ("True", 1.5, 0.0, 2.0), ("True", 1.0, 0.0, 2.5), ("False", 1.0, 0.0, 2.0)]
    marks = {program_keys(Batch.pack([Program.parse(text.format(*variant))])).tobytes() for variant in variants}
    assert len(marks) == 4
    dead = Program.parse(text.format("True", 1.0, 7.0, 2.0))  # the start value of a register that does not matter
    assert program_keys(Batch.pack([dead])).tobytes() in marks


def test_the_exact_cache_changes_no_search_for_programs() -> None:
    results = []
    for cache in (0, 500, 100_000):
        problem = ProgramProblem(MEMORIES[0], Variation(max_cadfs=0), Cartpole(steps=200), threads=2)
        settings = RegularizedSettings(
            population=50, lag=25, episodes=8, cache=cache, validate_every=500, validation_episodes=8
        )
        search = Regularized(problem, settings, seed=3)
        while search.counters.evaluations < 5000:
            search.advance()
        assert search.population is not None
        results.append(
            (search.fitness.tolist(), search.counters.champion, [str(p) for p in search.population.unpack()])
        )
        assert (search.counters.hits > 1500) == (cache > 0)
    assert results[0] == results[1] == results[2]


def test_the_functional_cache_hits_what_acts_alike() -> None:
    exact, functional = (
        ProgramProblem(MEMORIES[0], Variation(max_cadfs=0), Cartpole(), threads=1, functional=is_functional)
        for is_functional in (False, True)
    )
    text = "memory(observations=4, actions=1, scalars=4, vectors=4, indices=0)\ndef GetAction(obs, action):\n    {}\n"
    lines = ["action = sum(obs)", "s0 = sum(obs)\n    action = s0 * 1.0", "action = mean(obs)"]
    batch = Batch.pack([Program.parse(text.format(line)) for line in lines])
    one, two, three = functional.fingerprints(batch)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)
    assert len(np.unique(exact.fingerprints(batch), axis=0)) == 3


@pytest.mark.parametrize("memory", MEMORIES)
def test_prepared_programs_have_the_same_keys_scores_and_bytes(memory: Memory) -> None:
    """What does not matter is looked for once; all that follows takes it from there."""
    batch = family(memory, 60)
    prepared = Batch(memory, core.effective_forms(batch.core, 2))
    assert prepared == Batch(memory, core.effective(batch.core)[0])
    assert np.array_equal(program_keys(prepared), program_keys(batch))
    seen = np.random.default_rng(1).normal(size=(6, 9, memory.observations))
    assert same_bits(execute_batch(prepared, seen), execute_batch(batch, seen))
    assert prepared.encoded(3, 50)["programs"].tobytes() == batch.encoded(3, 50)["programs"].tobytes()
    for chosen in (np.arange(10, 70)[::-1], np.arange(3)):  # few are copied
        assert np.array_equal(program_keys(prepared.take(chosen)), program_keys(batch)[chosen])
    assert (
        len(
            mutate(
                prepared,
                range(60),
                keys(9, "child", range(60)),
                VARIATION if memory.indices >= 2 else Variation(max_cadfs=0),
            )[0]
        )
        == 60
    )
