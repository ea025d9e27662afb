"""Nobody waits for what they do not use: what a fresh interpreter imports is counted here, as a clock would lie."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import arz

ROOT = Path(__file__).parent.parent
PROGRAM = str(ROOT / "examples" / "paper_cartpole.arz")

COUNTED = """
import sys
bare = set(sys.modules)
try:
    {statement}
except SystemExit:
    pass
print(*sorted(set(sys.modules) - bare), file=sys.stderr)
"""
COMMAND = "from arz.cli import main; main(sys.argv[1:])"

NEVER = {"PIL", "asyncio", "gymnasium", "importlib.metadata", "matplotlib", "mujoco", "pygame", "ray", "torch"}
"""What looking at something never needs."""
ELSEWHERE = {"arz.cluster.worker_pool", "concurrent.futures", "multiprocessing"}
"""What evaluates on other processes and machines."""
RUNS = {"arz.runs.config", "arz.runs.run", "arz.search", "sqlite3"}
NUMBERS = {"arz.native", "arz.tasks", "dataclasses", "numpy"}


def imported(statement: str, *words: str) -> set[str]:
    """The modules that a statement imports in a fresh interpreter, beyond those that Python begins with."""
    run = subprocess.run(
        [sys.executable, "-c", COUNTED.format(statement=statement), *words], capture_output=True, text=True, check=True
    )
    return set(run.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "unused", "ours", "others"),
    [
        (["--version"], {*NEVER, *ELSEWHERE, *RUNS, *NUMBERS, "rich"}, 10, 55),
        (["--help"], {*NEVER, *ELSEWHERE, *RUNS, *NUMBERS, "rich"}, 10, 55),
        (["evolv"], {*NEVER, *ELSEWHERE, *RUNS, *NUMBERS, "rich"}, 10, 55),
        (["show", PROGRAM], {*NEVER, *ELSEWHERE, *RUNS, "arz.analysis", "arz.explain", "rich"}, 60, 110),
        (["explain", PROGRAM], {*NEVER, *ELSEWHERE, *RUNS}, 72, 170),
        (["evolve", "--help"], {*NEVER, *ELSEWHERE, "rich"}, 100, 130),
        (["runs", str(ROOT / "docs")], {*NEVER, *ELSEWHERE, "arz.analysis", "arz.explain", "rich"}, 90, 130),
    ],
)
def test_commands_import_only_what_they_use(words: list[str], unused: set[str], ours: int, others: int) -> None:
    found = imported(COMMAND, *words)
    assert found & unused == set()
    assert len({name for name in found if name.split(".")[0] == "arz"}) <= ours
    assert len({name for name in found if name.split(".")[0] not in ("arz", "numpy")}) <= others


def test_the_package_imports_its_parts_when_they_are_asked_for() -> None:
    found = imported("import arz")
    assert {name for name in found if name.startswith("arz")} == {"arz", "arz.registration", "arz.version"}
    assert found & {*NEVER, *ELSEWHERE, *RUNS, *NUMBERS} == set()
    assert {"arz.ops", "numpy"} & imported("import arz; arz.ops") == {"arz.ops"}
    assert {"arz.program", "gymnasium", "sqlite3"} & imported("from arz import Program") == {"arz.program"}


# ---- what is imported late is the same ----


def test_every_name_is_there_and_type_checkers_know_it() -> None:
    (known,) = (node for node in ast.parse(Path(arz.__file__).read_text()).body if isinstance(node, ast.If))
    listed = [node for node in known.body if isinstance(node, ast.ImportFrom)]
    assert {name.asname: node.module for node in listed for name in node.names} == {
        name: f"arz.{module}" for name, module in arz.MODULES.items()
    }
    assert sorted(arz.__all__) == sorted(arz.MODULES)
    assert set(arz.__all__) <= set(dir(arz))
    for name, module in arz.MODULES.items():
        assert getattr(arz, name) is getattr(sys.modules[f"arz.{module}"], name)


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'arz' has no attribute 'evolv'"):
        getattr(arz, "evolv")  # noqa: B009
    with pytest.raises(ImportError, match="cannot import name 'evolv' from 'arz'"):
        exec("from arz import evolv")


@pytest.mark.parametrize("first", ["arz", "arz.evaluate", "arz.complexity", "arz.testing"])
def test_functions_that_are_called_as_their_modules_stay_functions(first: str) -> None:
    later = "import arz.evaluate, arz.complexity; from arz.evaluate import record"
    script = f"import {first}, arz; print(type(arz.evaluate), type(arz.complexity))\n{later}\n"
    script += "print(type(arz.evaluate), type(arz.complexity)); assert arz.record is record"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == f"{FunctionType} {FunctionType}\n" * 2


@pytest.mark.parametrize("order", ["arz, gymnasium", "gymnasium, arz", "arz, gymnasium.envs.registration, gymnasium"])
def test_gymnasium_knows_the_environments_whichever_is_imported_first(order: str) -> None:
    script = f"""import {order}, importlib, inspect
print(sorted(name for name in gymnasium.registry if name.startswith("ARZ/")))
print(gymnasium.make("ARZ/CataclysmicCartpole-v0").unwrapped.task == arz.Cartpole())
assert "register" in inspect.getsource(gymnasium)  # its loader does what it did
importlib.reload(gymnasium)"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "['ARZ/CataclysmicCartpole-v0', 'ARZ/LaikagoLegBreak-v0']\nTrue\n"
    assert found.stderr == ""


def test_gymnasium_that_is_missing_is_missed_as_ever(tmp_path: Path) -> None:
    script = "import arz, sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; import gymnasium"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert found.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'gymnasium'"


@pytest.mark.parametrize("statement", ["importlib.reload(arz)", "del sys.modules['arz']; import arz"])
def test_the_environments_are_known_after_a_second_import_too(statement: str) -> None:
    code = f"import importlib, sys, arz; {statement}; import gymnasium; assert 'ARZ/CataclysmicCartpole-v0' in gymnasium.registry"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_asking_for_what_is_not_there_runs_nothing() -> None:
    assert not hasattr(arz, "__main__")
    assert getattr(arz, "no.such", None) is None


def test_functions_that_use_the_package_can_be_pickled() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    assert cloudpickle.loads(cloudpickle.dumps(lambda: arz.__version__))() == arz.__version__
