"""The compiled core as a part: which build is picked, and what a program of another build or a fork does."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arz import Cartpole, Interpreter, Memory, Program, Quadruped, Status, _cpu, execute_batch, machine, native, record
from arz.native import core, load, runs_here
from arz.ops import digest
from arz.tasks import TASKS
from tests.support import random_batch, same_bits, tame_observations

ROOT = Path(__file__).parent.parent
TROT = Program.load(ROOT / "examples" / "reflex_trot.arz")
PICK = "from arz.native import core; print(core.INSTRUCTION_SET)"


def picked(**environment: str) -> str:
    run = subprocess.run([sys.executable, "-c", PICK], env=os.environ | environment, capture_output=True, text=True)
    return (run.stdout or run.stderr.splitlines()[-1]).strip()


def test_the_build_can_be_chosen_by_hand() -> None:
    assert picked(ARZ_INSTRUCTION_SET="") == core.INSTRUCTION_SET
    assert picked(ARZ_INSTRUCTION_SET="baseline") == "baseline"
    assert (
        picked(ARZ_INSTRUCTION_SET="mmx")
        == "ImportError: ARZ_INSTRUCTION_SET must be one of baseline, x86-64-v3, x86-64-v4, not 'mmx'."
    )


def test_a_build_from_another_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert digest() == core.OPS_DIGEST
    monkeypatch.setattr("arz.ops.digest", lambda: "another")
    with pytest.raises(ImportError, match="built from another op table"):
        load("baseline")


def test_a_build_for_another_instruction_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(native.BUILDS, "another", native.BUILDS["baseline"])
    with pytest.raises(ImportError, match="build for another is one for baseline: make build"):
        load("another")


TABLES = {
    "MUTATIONS": "list of mutations",
    "REGISTER_KINDS": "order of registers",
    "FIXED_REGISTERS": "place for observation and action",
    "INSTRUCTION_OFFSETS": "layout of instructions",
    "STATUSES": "list of endings",
    "CARTPOLE_CHANGE_KINDS": "list of changes",
}
"""What Python and C++ both state, and what an error calls it."""

CHANGED = """
import sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("arz._native_baseline", sys.argv[1])
module = module_from_spec(spec)
spec.loader.exec_module(module)
if sys.argv[3] == "gone":
    delattr(module, sys.argv[2])
else:
    table = getattr(module, sys.argv[2])
    setattr(module, sys.argv[2], {} if isinstance(table, dict) else table[:-1])
sys.modules[spec.name] = module
from arz import *
"""


@pytest.mark.parametrize(("table", "how"), [*((table, "shorter") for table in TABLES), ("MUTATIONS", "gone")])
def test_what_both_languages_state_is_compared_at_import(table: str, how: str) -> None:
    command = [sys.executable, "-c", CHANGED, str(load("baseline").__file__), table, how]
    run = subprocess.run(command, env=os.environ | {"ARZ_INSTRUCTION_SET": "baseline"}, capture_output=True, text=True)
    said = run.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: The compiled core has another {TABLES[table]}: ")
    assert said.endswith(" Build it again: make build.")


def test_names_of_tasks_are_those_of_the_core() -> None:
    """In the order of their numbers."""
    assert tuple(name.lower() for name in Status.__members__) == core.STATUSES[1:]
    assert [status.number for status in Status] == list(range(1, len(core.STATUSES)))
    assert core.STATUSES[0] == "running"
    for change in core.CARTPOLE_CHANGE_KINDS:
        assert Cartpole(change=change).change == change
    assert [*record(TROT, Quadruped(steps=1), [0])] == [*core.QUADRUPED_TRUTH]
    assert core.LAIKAGO["state"] == core.QUADRUPED_TRUTH[:37]


@pytest.mark.parametrize("name", ["_native", "_cpu"])
def test_the_types_of_the_core_are_those_that_were_compiled(name: str, tmp_path: Path) -> None:
    pytest.importorskip("nanobind")
    module = load("baseline") if name == "_native" else _cpu
    command = [sys.executable, str(ROOT / "native" / "stub.py"), str(module.__file__), str(tmp_path / "found.pyi")]
    subprocess.run(command, check=True)
    found = (tmp_path / "found.pyi").read_text()
    kept = (ROOT / "src" / "arz" / f"{name}.pyi").read_text()
    assert kept == found, f"src/arz/{name}.pyi is not what the core offers: run make stub."


def test_threads_work_after_a_fork() -> None:
    memory = Memory(observations=2, actions=1)
    batch, seen = random_batch(memory, 50), tame_observations(memory, 20, 8)
    expected = execute_batch(batch, seen, threads=3)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        same = same_bits(execute_batch(batch, seen, threads=3), expected)
        os.write(write, b"y" if same else b"n")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1) == b"y"


@pytest.mark.parametrize("build", runs_here())
def test_wrong_types_at_the_boundary_are_errors(build: str) -> None:
    module: Any = load(build)
    shape = module.memory_shape(2, 1, 4, 2, 0, 0, True)
    good: list[Any] = [np.zeros((0, 48), np.uint8), np.zeros((1, 7), np.int64), np.zeros(1, np.uint8), np.zeros((1, 8))]
    assert len(module.batch(shape, *good)) == 1
    for place in range(4):
        for wrong in (None, "text", good[place].astype(np.float32), good[place][..., None], np.zeros(3, object)):
            arguments: list[Any] = list(good)
            arguments[place] = wrong
            with pytest.raises((TypeError, ValueError)):
                module.batch(shape, *arguments)
    with pytest.raises(TypeError):
        module.batch(None, *good)
    with pytest.raises(TypeError):
        module.run(module.batch(shape, *good), np.zeros((1, 1, 2)), np.zeros(1, np.int64), 1, True)
    with pytest.raises(ValueError, match="policy 7 is not in a batch of 1"):
        module.trace(module.batch(shape, *good), 7, np.zeros((1, 1, 2)), np.zeros(1, np.uint64))


def test_arrays_that_are_not_contiguous_are_copied_by_the_face() -> None:
    memory = Memory(observations=2, actions=1)
    batch, seen = random_batch(memory, 10), tame_observations(memory, 20, 8)
    assert same_bits(execute_batch(batch, seen[:, ::2]), execute_batch(batch, seen[:, ::2].copy()))
    turned = np.asfortranarray(seen)
    assert same_bits(execute_batch(batch, turned), execute_batch(batch, seen))


def test_a_program_in_use_may_be_forgotten_by_python() -> None:
    """An interpreter keeps its own copy."""
    memory = Memory(observations=3, actions=2)
    seen = tame_observations(memory, 20, 5)
    programs = random_batch(memory, 30).unpack()
    expected = [machine.execute(program, seen) for program in programs]
    interpreters = [Interpreter(program, lanes=5) for program in programs]
    for interpreter in interpreters:
        del interpreter.program
    del programs
    gc.collect()
    random_batch(memory, 200)  # reuses the memory that was freed
    for interpreter, actions in zip(interpreters, expected, strict=True):
        assert same_bits([interpreter.act(row) for row in seen], actions)


WALKED = """
import sys
import arz
robot = arz.Quadruped(engine=sys.argv[1], contact_iterations=int(sys.argv[2]), steps=60, leg="FR", break_step=30)
rows = arz.record(arz.Program.load(sys.argv[3]), robot, arz.fresh_episodes(3))
sys.stdout.buffer.write(b"".join(values.tobytes() for values in rows.values()))
"""


@pytest.mark.parametrize(("engine", "sweeps"), [("batched", 1), ("batched", 5), ("double", 1), ("double", 5)])
def test_robots_walk_alike_in_every_build(engine: str, sweeps: int) -> None:
    """In double precision GCC 12 once fused operations, and the last bits were others where a processor can do that."""
    command = [sys.executable, "-c", WALKED, engine, str(sweeps), str(ROOT / "examples" / "reflex_trot.arz")]
    found = {
        build: subprocess.run(command, env=os.environ | {"ARZ_INSTRUCTION_SET": build}, capture_output=True, check=True)
        for build in runs_here()
    }
    assert len({run.stdout for run in found.values()}) == 1
    assert all(run.stdout for run in found.values())


PLAYED = """
import sys
import arz
from arz.tasks import TASKS
from tests.support import random_batch
task = TASKS[sys.argv[1]].probe()
batch = random_batch(arz.Memory(task.observations, task.actions), 40)
found = [arz.record(program, task, arz.fresh_episodes(2)) for program in batch.unpack()]
sys.stdout.buffer.write(b"".join(values.tobytes() for rows in found for values in rows.values()))
"""


@pytest.mark.parametrize("kind", [kind for kind, task in TASKS.items() if task.probe() is not None])
def test_tasks_are_alike_in_every_build(kind: str) -> None:
    found = set()
    for build in runs_here():
        environment = os.environ | {"ARZ_INSTRUCTION_SET": build, "PYTHONPATH": str(ROOT)}
        run = subprocess.run([sys.executable, "-c", PLAYED, kind], env=environment, capture_output=True, check=True)
        found.add(run.stdout)
    assert len(found) == 1
    assert found != {b""}
