"""Runs that begin with a program: tuned, or evolved further."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import arz
from arz.cli import main
from arz.evaluate import fresh_episodes, record
from arz.interpreter import execute_batch
from arz.program import Batch, Memory
from arz.runs.config import Config
from arz.runs.folder import RunError
from arz.runs.problem import ProgramProblem
from arz.search.problem import UNTRIED
from arz.streams import keys
from arz.tasks.gymnasium import AnyEnvironment
from arz.tasks.quadruped import LEGS, Quadruped
from arz.vary import Variation, random_programs
from tests.runs_support import content

EXAMPLES = Path(__file__).parent.parent / "examples"
TROT = EXAMPLES / "reflex_trot.arz"
TUNED = ("s0", "s1", "v2", "v5", "v7", "m0")
PROBLEM = ProgramProblem(arz.Program.load(TROT).memory, Variation(), Quadruped(), 1, sighted=True)


def small(budget: str = "60", **changes: Any) -> Config:
    fields = {"population": 10, "episodes": 4, "resample_every": 10, "validate_every": 20, "validation_episodes": 4}
    return arz.preset("quadruped-tune", **{**fields, "tuned": TUNED, "steps": 150, "budget": budget, **changes})


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned") / "run"
    arz.evolve(small(), start=arz.Program.load(TROT), folder=folder, threads=1).close()
    return folder


def test_the_example_walks_and_every_one_of_its_lines_matters() -> None:
    trot = arz.Program.load(TROT)
    found = arz.evaluate(trot, Quadruped(leg="none", contact_iterations=5), fresh_episodes(1))
    assert found.returns[0, 0] > 500
    units = PROBLEM.units(Batch.pack([trot]), TUNED).sizes
    # The clock and its speed, twelve numbers of rest and of each amplitude, twelve rows of feedback from the trunk.
    assert np.count_nonzero(units) == 2 + 3 * 12 + 12 * 11
    assert np.count_nonzero(PROBLEM.units(Batch.pack([trot])).sizes) > np.count_nonzero(units)


def test_the_example_is_what_its_script_writes() -> None:
    written = subprocess.run([sys.executable, EXAMPLES / "reflex_trot.py"], capture_output=True, text=True, check=True)
    assert written.stdout == TROT.read_text()


@pytest.mark.parametrize("width", [10.0, 2.5])  # reflexes that never fire, and that do
def test_the_mirror_image_does_the_same_half_a_stride_later(width: float) -> None:
    trot = arz.Program.load(TROT)
    memory = trot.memory
    image = trot.image.copy()
    draws = np.random.default_rng(1)
    image[memory.image_slice("m", 0)] = draws.normal(size=37 * 37, scale=0.02)
    image[memory.image_slice("v", 10)][:12] = width
    later = image.copy()
    later[memory.image_slice("s", 0)] += np.pi
    seen = draws.normal(size=(50, 1, 37))
    mirror = trot.start("m", 1)
    assert np.array_equal(mirror @ mirror, np.eye(37))
    programs = [arz.Program(memory, trot.functions, start) for start in (image, later)]
    usual = arz.execute_batch([programs[0]], seen)[0, :, 0]
    mirrored = arz.execute_batch([programs[1]], np.ascontiguousarray(seen @ mirror.T))[0, :, 0]
    assert np.abs(usual).max() > 0.2
    left_and_right = usual.reshape(50, 4, 3)[:, [1, 0, 3, 2]].reshape(50, 12)
    assert np.abs(mirrored - left_and_right).max() < 1e-9
    assert has_fired(programs[0], seen) == (width < 10)


def has_fired(program: arz.Program, seen: NDArray[np.float64]) -> bool:
    """Whether reflexes do anything: without their rows of feedback the actions are others."""
    image = program.image.copy()
    image[program.memory.image_part("m0[12:36]")] = 0.0
    without = arz.Program(program.memory, program.functions, image)
    return bool(np.any(arz.execute_batch([without], seen) != arz.execute_batch([program], seen)))


def test_reflexes_fire_for_the_leg_that_breaks_and_not_before(tmp_path: Path) -> None:
    """The script sets them so that they do not fire in a healthy walk."""
    with arz.evolve(
        small(leg="none", steps=1000), start=arz.Program.load(TROT), folder=tmp_path / "run", threads=2
    ) as run:
        walk = run.program
    written = subprocess.run(
        [sys.executable, EXAMPLES / "reflex_trot.py", tmp_path / "run"], capture_output=True, text=True, check=True
    )
    program = arz.Program.parse(written.stdout)
    image = program.image.copy()
    image[program.memory.image_part("v2[12:36]")] = 1.0  # a reflex that cannot be overlooked
    program = arz.Program(program.memory, program.functions, image)
    for leg in ("none", *LEGS):
        task = Quadruped(leg=leg, contact_iterations=5, break_step=200)
        shown = np.stack(list(record(walk, task, keys(0, "x", [0])).values()), axis=2)[0, :, :37]
        shown = np.ascontiguousarray(shown[~np.isnan(shown).any(axis=1)][:, None, :])
        usual, found = (arz.execute_batch([p], shown)[0, :, 0] for p in (walk, program))
        differs = np.flatnonzero((usual != found).any(axis=1))
        assert not len(differs) if leg == "none" else 200 < differs[0] < 240


def test_units_are_known_for_a_late_break_too() -> None:
    task = Quadruped(break_step=700)
    problem = ProgramProblem(arz.Program.load(TROT).memory, Variation(), task, 1)
    assert np.count_nonzero(problem.units(Batch.pack([arz.Program.load(TROT)]), ("s1",)).sizes) == 1
    assert task.shorter(120).steps == 120


def test_units_of_numbers_that_do_too_much_are_small() -> None:
    """The actions of a Discrete space have no bound: what a number does to them may be as large as a number can be."""
    loud = """memory(observations=4, actions=2, scalars=4, vectors=6, matrices=0, indices=2)
def StartEpisode():
    s0 = 1e300
    v3 = [1.0, 0.5, 0, 0]
def GetAction(obs, action):
    action = s0 * v3
"""
    task = AnyEnvironment("CartPole-v1").settled()
    program = arz.Program.parse(loud)
    with np.errstate(over="raise"):
        units = ProgramProblem(program.memory, Variation(), task, 1).units(Batch.pack([program])).sizes
    assert np.isfinite(units).all()
    assert (units[program.memory.image_part("v3")][:2] < 1e-90).all()


def test_tuning_keeps_the_code_and_moves_only_what_matters(tuned: Path) -> None:
    trot = arz.Program.load(TROT)
    with arz.Run.open(tuned) as run:
        found = run.program
        assert run.start == trot
        assert len(run.individuals) == 60
        assert {row["mutation"] for row in run.individuals} == {None, "randomize_constants"}  # None: no parent
    assert [code.tobytes() for code in found.functions] == [code.tobytes() for code in trot.functions]
    moved = found.image != trot.image
    assert moved.any()
    assert not np.any(moved & (PROBLEM.units(Batch.pack([trot]), TUNED).sizes == 0))


def test_numbers_that_do_little_move_far_where_asked_and_units_take_few_steps() -> None:
    """The car's velocity is small, so its weight does little."""
    text = "memory(observations=2, actions=1, scalars=4, vectors=4, matrices=0, indices=0, stateful=True)\n\n"
    text += "def GetAction(obs, action):\n    action = dot(obs, v0)\n    return action\n"
    program = arz.Program.parse(text)
    problem = ProgramProblem(program.memory, Variation(), AnyEnvironment("MountainCarContinuous-v0").settled(), 1)
    place = program.memory.image_slice("v", 0)
    usual = problem.units(Batch.pack([program]))
    further = problem.units(Batch.pack([program]), small=0.02)
    assert (usual.steps, further.steps) == (8 * 120, 8 * 120)  # not the whole episodes, of 999 steps
    position, velocity = usual.sizes[place]
    assert velocity > position
    assert further.sizes[place][0] == position
    assert further.sizes[place][1] == pytest.approx(10 * velocity)


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_run_at_any_number_of_threads(tuned: Path, tmp_path: Path, threads: int) -> None:
    arz.evolve(small(), start=arz.Program.load(TROT), folder=tmp_path / "run", threads=threads).close()
    assert content(tmp_path / "run") == content(tuned)


def test_interrupted_at_every_generation_it_is_the_same_run(tuned: Path, tmp_path: Path) -> None:
    arz.evolve(small("10"), start=arz.Program.load(TROT), folder=tmp_path / "run", threads=1).close()
    for budget in range(20, 61, 10):
        arz.resume(tmp_path / "run", budget=str(budget), threads=1).close()
    different = {"facts"}  # the budget
    one, other = content(tmp_path / "run"), content(tuned)
    assert {name: one[name] for name in one if name not in different} == {
        name: other[name] for name in other if name not in different
    }


def test_evolution_can_begin_with_a_program(tmp_path: Path) -> None:
    trot = arz.Program.load(TROT)
    fields = {"islands": 2, "population": 10, "offspring": 10, "initial": 20, "episodes": 4, "validate_every": 20}
    config = arz.preset("quadruped-nsga2", **fields, steps=150, validation_episodes=4, budget="40", warm_up=0.0)
    with arz.evolve(config, start=trot, folder=tmp_path / "run", threads=1) as run:
        assert run.config.memory.matrices == 6
        parentless = {row["number"]: row["fitness"] for row in run.individuals if row["parent"] is None}
    assert len(parentless) == 40
    # The first of each life is the program itself, the others are variations of it.
    assert parentless[0] == parentless[20]
    assert len(set(parentless.values())) > 10


def test_cartpole_programs_can_be_tuned_too(tmp_path: Path) -> None:
    found = arz.Program.load(EXAMPLES / "paper_cartpole.arz")
    fields = {"population": 10, "episodes": 4, "budget": "40", "validate_every": 10, "validation_episodes": 4}
    path = tmp_path / "tune.toml"
    path.write_text('[search]\nkind = "tuning"\n')
    with arz.evolve(arz.preset(path, **fields), start=found, threads=1) as run:
        tuned = run.program
        assert len({row["fitness"] for row in run.individuals}) > 5  # samples differ in what they do
    assert [code.tobytes() for code in tuned.functions] == [code.tobytes() for code in found.functions]


def test_the_command_takes_files_and_runs(tuned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--population", "10", "--episodes", "4", "--validate-every", "10", "--validation-episodes", "4"]
    options += ["--steps", "100", "--budget", "20", "--tuned", "s0,s1,v2", "--no-test", "--json", "--quiet"]
    for number, start in enumerate((str(TROT), str(tuned))):
        folder = str(tmp_path / f"run{number}")
        assert main(["evolve", "quadruped-tune", "--start", start, "--output", folder, *options]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cartpole-regularized", "--start", str(TROT)], "the start takes 37 observations and gives 12 actions"),
        (["quadruped-tune", "--start", "nothing.arz"], "nothing.arz"),
        (["quadruped-tune", "--start", str(TROT), "--importance", "[]"], "importance must be a list of numbers"),
        (["quadruped-tune", "--start", str(TROT), "--least-spread", "2"], "the spreads must be"),
        (["quadruped-tune", "--start", str(TROT), "--tuned", "m0,m7"], "there is no register 'm7'"),
        (["quadruped-tune", "--start", str(TROT), "--tuned", "m0[12:38]"], "m0 has no rows 12 to 38"),
        (["quadruped-tune", "--start", str(TROT), "--tuned", "s1[0:1]"], "s1 has no rows 0 to 1"),
        (["quadruped-tune", "--start", str(TROT), "--tuned", "[1]"], "tuned must be a list of registers"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evolve", *arguments, "--output", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


# ---- programs that do not look ----


def test_whether_a_program_looks() -> None:
    memory = Memory(2, 2, scalars=4, vectors=6, matrices=0, indices=0)
    head = "memory(observations=2, actions=2, scalars=4, vectors=6, matrices=0, indices=0, stateful=True)\n\n"
    head += "def StartEpisode():\n    s0 = 0.0\n\ndef GetAction(obs, action):\n"
    bodies = {
        "    action = action + v0\n": False,
        "    action = obs + v0\n": True,
        "    obs = v0 + v0\n    action = obs + v0\n": False,
        "    v5 = obs + v5\n": False,
        "    action = v5 + v0\n    v5 = obs + v5\n": True,
    }
    made = [arz.Program.parse(f"{head}{body}    return action\n") for body in bodies]
    problem = ProgramProblem(memory, Variation(), Quadruped(), 1)
    assert problem.looks(Batch.pack(made)).tolist() == list(bodies.values())


def test_blind_programs_are_worth_nothing_and_others_as_much_as_ever() -> None:
    memory, variation = Memory(37, 12, scalars=4, vectors=5, indices=2), Variation(length=(5, 20))
    programs = random_programs(memory, keys(1, "some", np.arange(60)), variation)
    open_eyes = ProgramProblem(memory, variation, Quadruped(), 1, sighted=True)
    all_eyes = ProgramProblem(memory, variation, Quadruped(), 1)
    looks = open_eyes.looks(programs)
    assert 5 < np.count_nonzero(looks) < 55
    episodes = fresh_episodes(4)
    strict, steps = open_eyes.score(programs, episodes)
    usual, usual_steps = all_eyes.score(programs, episodes)
    assert np.array_equal(strict[looks], usual[looks])
    assert np.array_equal(steps[looks], usual_steps[looks])
    assert (strict[~looks] == UNTRIED).all()
    assert (steps[~looks] == 0).all()


def test_a_search_can_insist_on_looking() -> None:
    found = {}
    for sighted in (False, True):
        with arz.evolve(
            arz.preset("cartpole-regularized", islands=1, sighted=sighted, budget="2000"), threads=1
        ) as run:
            found[sighted] = [row["fitness"] for row in run.individuals]
    assert min(found[False]) > UNTRIED
    assert min(found[True]) == UNTRIED
    assert max(found[True]) > 0


# ---- damaged runs ----


def damaged(tuned: Path, folder: Path, **facts: Any) -> Path:
    shutil.copytree(tuned, folder)
    with closing(sqlite3.connect(folder / "run.sqlite")) as file, file:
        for name, value in facts.items():
            file.execute("update facts set value = ? where name = ?", (json.dumps(value), name))
    return folder


@pytest.mark.parametrize("start", ["def GetAction(", 7, (EXAMPLES / "paper_quadruped.arz").read_text()])
def test_a_damaged_start_is_one_sentence(tuned: Path, tmp_path: Path, start: Any) -> None:
    folder = damaged(tuned, tmp_path / "run", start=start)
    with pytest.raises(RunError, match="its start") as caught:
        arz.Run.open(folder)
    assert "\n" not in str(caught.value)


def test_restarts_begin_with_the_start_again() -> None:
    config = small("200", restart_after=20, restart_improvement=1e9, islands=2, tuned=("s0", "s1", "v2"))
    with arz.evolve(config, start=arz.Program.load(TROT), threads=1) as run:
        assert run.counters.restarts > 1
        firsts = [row["fitness"] for row in run.individuals if row["parent"] is None]
    assert len(firsts) >= 4 * 10


def test_a_run_without_a_start_resumes(tmp_path: Path) -> None:
    whole, parts = (small(budget, islands=2, tuned=()) for budget in ("80", "40"))
    arz.evolve(whole, folder=tmp_path / "whole", threads=1).close()
    arz.evolve(parts, folder=tmp_path / "parts", threads=1).close()
    arz.resume(tmp_path / "parts", budget="80", threads=1).close()
    one, other = content(tmp_path / "whole"), content(tmp_path / "parts")
    assert one["individuals"] == other["individuals"]
    assert one["checkpoint"] == other["checkpoint"]


def test_a_start_keeps_its_memory_or_gets_that_of_the_configuration(tmp_path: Path) -> None:
    start = random_programs(Memory(observations=37, actions=12, scalars=5, vectors=6), keys(1, "p", range(1)))[0]
    memory = replace(start.memory, scalars=9, vectors=6, indices=20)
    wider = start.with_memory(memory)
    assert wider.memory == memory
    shown = np.random.default_rng(1).normal(size=(5, 2, 37))
    lanes = np.zeros(2, np.uint64)
    one, other = (execute_batch(Batch.pack([program]), shown, keys=lanes) for program in (start, wider))
    assert np.array_equal(one, other, equal_nan=True)
    for wrong in (replace(memory, scalars=4), replace(memory, observations=4), replace(memory, stateful=False)):
        with pytest.raises(ValueError, match="does not fit into"):
            start.with_memory(wrong)
    for widens, vectors in ((False, 6), (True, 20)):
        config = small(scalars=2, vectors=20, widens=widens, tuned=())
        with arz.evolve(config, start=start, folder=tmp_path / str(widens), threads=1) as run:
            assert (run.config.registers.scalars, run.config.registers.vectors) == (5, vectors)


def test_reflexes_need_a_memory_that_lasts() -> None:
    start = random_programs(Memory(observations=37, actions=12, stateful=False), keys(1, "p", range(1)))[0]
    with pytest.raises(ValueError, match="reflex_terms must be 0 for programs that are stateless"):
        arz.evolve(arz.preset("quadruped-reflexes"), start=start)
