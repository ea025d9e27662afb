"""Pruning: smaller programs that are nearly as good, found in the same way on any number of threads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import arz
from arz.cli import main
from arz.evaluate import evaluate, fresh_episodes
from arz.program import Program
from arz.runs.pruning import lines, prune
from arz.tasks.cartpole import Cartpole

TASK = Cartpole(change="both")
CHAMPION = Path(__file__).parent.parent / "results" / "grow" / "champions" / "cartpole-1.arz"


def call(*words: str, code: int = 0) -> None:
    assert main(words) == code


def score(program: Program) -> float:
    return float(evaluate(program, TASK, TASK.stratified(fresh_episodes(200))).mean[0])


def test_a_champion_gets_smaller_and_stays_nearly_as_good() -> None:
    whole = Program.load(CHAMPION)
    found = prune(whole, TASK, tolerance=0.01, threads=2)
    assert lines(found.program) < lines(found.whole) == lines(whole)
    assert found.score >= 0.99 * found.whole_score
    assert score(found.program) > 0.98 * score(whole)  # on others than those that decided


def test_the_same_on_any_number_of_threads() -> None:
    one, three = (prune(Program.load(CHAMPION), TASK, generations=5, threads=threads) for threads in (1, 3))
    assert one.program == three.program
    assert one.score == three.score


def test_tuning_brings_back_what_leaving_out_lost() -> None:
    whole = Program.load(CHAMPION)
    untuned, tuned = (prune(whole, TASK, tolerance=0.003, generations=count) for count in (0, 60))
    assert lines(tuned.program) <= lines(untuned.program)
    assert tuned.score > untuned.score


def test_nothing_is_lost_with_no_tolerance() -> None:
    found = prune(Program.load(CHAMPION), TASK, tolerance=0.0, generations=2)
    assert found.score >= found.whole_score


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"tolerance": 1.5}, "tolerance must lie in 0 to 1"), ({"generations": -1}, "generations must be 0 or more")],
)
def test_odd_numbers_get_a_sentence(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prune(Program.load(CHAMPION), TASK, **wrong)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "small.arz"
    how = ("--episodes", "20", "--generations", "3", "--change", "continuous")
    call("prune", str(CHAMPION), "--output", str(target), "--json", *how)
    told = json.loads(capsys.readouterr().out)
    assert lines(Program.load(target)) == told["lines"] < told["whole_lines"]
    call("prune", str(CHAMPION), "--output", str(target), *how, code=2)  # nothing is overwritten
    assert "exists already" in capsys.readouterr().err
    call("prune", str(CHAMPION), code=2)
    assert "with --output FILE" in capsys.readouterr().err


def test_the_ending_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    few = ("--budget", "1M steps", "--validate-every", "500", "--validation-episodes", "20", "--quiet", "--no-test")
    call("evolve", "cartpole", "--output", str(folder), "--json", *few)
    told = json.loads(capsys.readouterr().out)["pruned"]
    assert told["whole_lines"] >= told["lines"] == lines(Program.load(folder / "pruned.arz"))
    with arz.Run.open(folder) as run:
        assert lines(run.program) >= told["whole_lines"]  # both are kept
    call("prune", str(folder), code=2)
    assert "exists already" in capsys.readouterr().err
    call("evolve", "cartpole", "--output", str(tmp_path / "other"), "--prune", "0", *few)
    assert not (tmp_path / "other" / "pruned.arz").exists()
    (folder / "pruned.arz").unlink()
    (folder / "pruned.arz").symlink_to(tmp_path / "elsewhere")
    call("prune", str(folder), "--episodes", "5", "--generations", "0", code=2)
    assert "is a link" in capsys.readouterr().err
