"""Under `python -OO` there are no docstrings and no assertions: all commands work alike, and mistakes stay sentences."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.runs_support import ARZ, small_options

PAPER = str(Path(__file__).parent.parent / "examples" / "paper_cartpole.arz")


def run(*command: str) -> tuple[int, str, str]:
    environment = {**os.environ, "PYTHONOPTIMIZE": "2"}
    done = subprocess.run([ARZ, *command], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["--help"], "evolve programs for a task, in a new run"),
        (["evolve", "--help"], "Individuals that are alive at a time on each island."),
        (["show", PAPER], "25 FLOPs per step"),
        (["export", PAPER, "--to", "c"], "#endif"),
        (["ops"], "scalar_add"),
    ],
)
def test_commands_work_without_docstrings(command: list[str], shown: str) -> None:
    code, output, errors = run(*command)
    assert (code, errors) == (0, "")
    assert shown in " ".join(output.split())


def test_a_search_works_without_docstrings(tmp_path: Path) -> None:
    code, output, errors = run(
        "evolve", "cartpole-regularized", *small_options("800"), "--output", str(tmp_path / "run")
    )
    assert code == 0, errors
    assert "Mean return over 100 test episodes" in output


def test_mistakes_are_sentences_without_assertions() -> None:
    assert run("evolve", "cartpole-regularized", "--tournament", "0") == (
        2,
        "",
        "arz: tournament must be a whole number of at least 1, not 0\n",
    )
