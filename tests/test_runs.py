"""Runs: the same whatever the threads and interruptions, safe on disk, refused when damaged."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arz
from arz.cli import main
from arz.commands import running
from arz.runs import store
from arz.runs.folder import RunError, is_run
from arz.runs.lineage import Lineage
from arz.runs.run import Run
from arz.runs.session import Progress
from arz.runs.store import TABLES, Store
from arz.search.base import NO_PARENT, Births
from arz.streams import keys
from arz.vary import OPERATORS, Variation, mutate, random_programs
from tests.runs_support import ARZ, GROWING, SMALL, arz_here, content, small, small_options, wait_until_busy


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run, evolved on one thread without interruption."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    with arz.evolve(small(), folder=folder, threads=1):
        pass
    return folder


def test_a_run_evolves_and_tells_what_it_found(finished: Path) -> None:
    with Run.open(finished) as run:
        metrics = run.metrics
        count = run.facts["counters"]
        assert 6000 <= count["evaluations"] < 6000 + 2 * 40
        assert count["restarts"] >= 1
        assert np.all(np.diff(metrics["champion_score"]) >= 0)
        champion = run.champions[-1]
        assert champion["score"] == metrics["champion_score"][-1] > 30
        assert str(run.champion) == champion["program"]
        results = run.test(episodes=20)
        assert len(results) == 10
        assert len(run.tests) == 10
        assert run.facts["status"] == "budget"
        assert [path.name for path in finished.iterdir()] == ["run.sqlite"]


def test_the_result_does_not_depend_on_the_number_of_threads(finished: Path, tmp_path: Path) -> None:
    with arz.evolve(small(), folder=tmp_path / "two", threads=2):
        pass
    expected = content(finished)
    found = content(tmp_path / "two")
    expected["tests"] = found["tests"] = []
    assert found == expected


def test_it_does_not_depend_on_how_often_it_was_saved_or_stopped(finished: Path, tmp_path: Path) -> None:
    run = Run.create(small(), folder=tmp_path / "often")
    asked = 0

    def stop_now() -> bool:
        nonlocal asked
        asked += 1
        return asked % 40 == 0

    while run.evolve(threads=1, should_stop=stop_now, checkpoint_seconds=0.0) == "stopped":
        run.close()
        run = Run.open(tmp_path / "often")
    run.close()
    assert asked > 120
    expected, found = content(finished), content(tmp_path / "often")
    expected["tests"] = []
    for table in expected:
        kept = [row for row in expected[table] if row.get("name") != "preset"]
        assert [row for row in found[table] if row.get("name") != "preset"] == kept, table


def test_a_finished_run_can_be_extended(finished: Path, tmp_path: Path) -> None:
    with arz.evolve(small("3000"), folder=tmp_path / "short", threads=2):
        pass
    with arz.resume(tmp_path / "short", budget="6k", threads=2) as run:
        assert run.facts["counters"]["evaluations"] >= 6000
    expected, found = content(finished), content(tmp_path / "short")
    for table in ("metrics", "champions", "individuals", "checkpoint"):
        assert found[table] == expected[table], table


def test_a_budget_that_is_spent_already_is_refused(finished: Path) -> None:
    with Run.open(finished) as run, pytest.raises(ValueError, match="has spent 6k evaluations already"):
        run.extend("5k")


def test_a_target_ends_a_run_early(tmp_path: Path) -> None:
    with arz.evolve(small("1G", target=35.0), folder=tmp_path / "run") as run:
        assert run.facts["status"] == "target"
        assert run.champions[-1]["score"] >= 35


@pytest.mark.parametrize("budget", ["2000", "500k steps"])
def test_budgets_end_a_run_at_the_same_point(budget: str) -> None:
    one, two = (arz.evolve(small(budget), threads=threads) for threads in (1, 2))
    assert one.facts["counters"] == two.facts["counters"]
    kind = "steps" if "steps" in budget else "evaluations"
    amount = 500_000 if "steps" in budget else 2000
    assert amount <= one.facts["counters"][kind] < 1.3 * amount


def test_a_time_budget_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0.0

    def monotonic() -> float:
        """Time passes by being looked at."""
        nonlocal passed
        passed += 0.01
        return passed

    monkeypatch.setattr("arz.runs.session.time", SimpleNamespace(monotonic=monotonic))
    run = arz.evolve(small("1s"))
    assert run.facts["status"] == "budget"
    assert 0.9 < passed < 1.2
    assert run.counters.evaluations > 400


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = arz.evolve(small("1000"))
    assert run.folder is None
    assert run.policy().predict(np.zeros(4))[0].shape == (1,)
    assert list(tmp_path.iterdir()) == []


# ---- killed at any moment ----


SEARCHES: dict[str, dict[str, Any]] = {"cartpole-regularized": SMALL, "cartpole": GROWING}


def evolve_and_kill(folder: Path, delays: list[float], threads: int = 2, preset: str = "cartpole-regularized") -> None:
    """Evolves without end in another process, which is killed again and again, each time after so much computing."""
    for delay in delays:
        start = ["evolve", preset, *small_options("1G", SEARCHES[preset])]
        start = ["resume", str(folder)] if folder.exists() else start
        start += [] if folder.exists() else ["--output", str(folder)]
        extra = ["--quiet", "--no-test", "--save-every", "0.05", "--threads", str(threads)]
        process = subprocess.Popen([ARZ, *start, *extra], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until_busy(process, delay)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def check_kills(tmp_path: Path, count: int, seed: int, preset: str) -> None:
    draw = random.Random(seed)
    evolve_and_kill(tmp_path / "killed", [draw.uniform(0.4, 1.6) for _ in range(count)], preset=preset)
    done, delay = 0, 1.5
    while not done:
        assert delay < 30
        evolve_and_kill(tmp_path / "killed", [delay], preset=preset)
        delay *= 2
        if is_run(tmp_path / "killed"):
            with Run.open(tmp_path / "killed") as run:
                done = run.counters.evaluations
    budget = str(done + 3000)
    with (
        arz.resume(tmp_path / "killed", budget=budget, threads=2),
        arz.evolve(arz.preset(preset, **SEARCHES[preset], budget=budget), folder=tmp_path / "whole", threads=1),
    ):
        pass
    expected, found = content(tmp_path / "whole"), content(tmp_path / "killed")
    for table in ("metrics", "champions", "individuals", "checkpoint"):
        assert found[table] == expected[table], table


@pytest.mark.parametrize("preset", SEARCHES)
def test_kill_9_and_resume_change_nothing(preset: str, tmp_path: Path) -> None:
    check_kills(tmp_path, 4, seed=1, preset=preset)


@pytest.mark.soak
@pytest.mark.skipif(not os.environ.get("ARZ_SOAK"), reason="takes minutes: make soak")
@pytest.mark.parametrize("preset", SEARCHES)
def test_kill_9_at_thirty_moments_changes_nothing(preset: str, tmp_path: Path) -> None:
    check_kills(tmp_path, 30, seed=100, preset=preset)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "run"
    command = [
        ARZ,
        "evolve",
        "cartpole-regularized",
        *small_options("1G"),
        "--output",
        str(folder),
        "--save-every",
        "1000",
        "--threads",
        "1",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (folder / "run.sqlite").exists():
        time.sleep(0.01)
    wait_until_busy(process, 0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"Stopped and saved. Go on with: arz resume {folder}"
    assert "Traceback" not in err
    with Run.open(folder) as run:
        assert run.facts["counters"]["evaluations"] > 0


# ---- two at once, and full disks ----


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Run.create(small("1000"), folder=folder) as run:
        again = subprocess.run([ARZ, "resume", str(folder)], capture_output=True, text=True)
        assert again.returncode == 2
        sentence = f"arz: {folder} is being evolved by another process; wait for it to end, or stop it\n"
        assert again.stderr == sentence
        run.evolve()
    assert arz_here("resume", folder, "--quiet").returncode == 0


def test_an_existing_folder_is_never_overwritten(finished: Path) -> None:
    before = content(finished)
    with pytest.raises(RunError, match="exists already, and nothing is overwritten"):
        Run.create(small(), folder=finished)
    assert content(finished) == before


def test_a_full_disk_loses_nothing(finished: Path, tmp_path: Path) -> None:
    run = Run.create(small(), folder=tmp_path / "run")
    run.evolve(threads=1, should_stop=lambda: len(run.metrics) > 0, checkpoint_seconds=0.0)
    connection = run._store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(RunError, match=r"the disk of .*run is full; free some space, then continue with arz resume"):
        run.evolve(threads=1, checkpoint_seconds=0.0)
    run.close()
    with arz.resume(tmp_path / "run", threads=1):
        pass
    expected, found = content(finished), content(tmp_path / "run")
    for table in ("metrics", "champions", "individuals", "checkpoint"):
        assert found[table] == expected[table], table


# ---- damaged ----


def damaged(finished: Path, tmp_path: Path, statement: str) -> Path:
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    connection = sqlite3.connect(folder / "run.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    return folder


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("DROP TABLE facts", "is damaged or not a run of arz"),
        ("DELETE FROM facts WHERE name = 'seed'", "is damaged: the fact 'seed' is missing or not what it should be"),
        ("UPDATE facts SET value = '99' WHERE name = 'format'", "was written by a newer version of arz"),
        ("UPDATE facts SET value = '1' WHERE name = 'format'", "was written by an older version of arz"),
        ("UPDATE facts SET value = '\"nonsense = [\"' WHERE name = 'config'", "configuration"),
        ("UPDATE checkpoint SET type = 'object'", "is damaged: the checkpoint's"),
        ("UPDATE checkpoint SET data = x'00' WHERE name = 'objectives'", "is damaged: the checkpoint's objectives cannot be read"),
        ("DELETE FROM checkpoint WHERE name = 'numbers'", "is damaged: its checkpoint cannot be used"),
        ("UPDATE checkpoint SET data = zeroblob(length(data)), type = 'float64' WHERE name = 'population_lengths'", "is damaged"),
        ("UPDATE facts SET value = '{\"evaluations\": 1, \"what\": 2}' WHERE name = 'counters'", "is damaged"),
    ],
)  # fmt: skip
def test_a_damaged_run_is_refused_with_a_sentence(
    finished: Path, tmp_path: Path, statement: str, complaint: str
) -> None:
    folder = damaged(finished, tmp_path, statement)

    def go_on() -> None:
        arz.resume(folder, budget="7k")

    with pytest.raises(ValueError, match=r"damaged|newer version") as error:
        go_on()
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("column", "value"),
    [(0, 1e300), (0, -1.0), (0, 0.5), (0, np.nan), (1, 0.5), (1, np.nan), (2, np.nan), (2, np.inf), (3, np.nan),
     (4, -1.0), (4, 0.5), (4, 1e18), (4, np.nan), (5, 0.5), (5, np.nan)],
)  # fmt: skip
def test_odd_lives_in_a_checkpoint_are_refused(finished: Path, tmp_path: Path, column: int, value: float) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    with sqlite3.connect(folder / "run.sqlite") as connection:
        (data,) = connection.execute("SELECT data FROM checkpoint WHERE name = 'lives'").fetchone()
        lives = np.frombuffer(data).reshape(2, 6).copy()
        lives[1, column] = value
        connection.execute("UPDATE checkpoint SET data = ? WHERE name = 'lives'", (lives.tobytes(),))
    with pytest.raises(RunError, match=r"is damaged: its checkpoint cannot be used \(its lives are odd\)"):
        arz.resume(folder, budget="7k")


@pytest.mark.parametrize("command", ["show", "test", "plot", "replay", "resume"])
def test_commands_refuse_garbage_with_one_sentence(finished: Path, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "garbage"
    folder.mkdir()
    (folder / "run.sqlite").write_bytes(b"SQLite format 3\0" + b"garbage" * 1000)
    run = arz_here(command, folder)
    assert run.returncode == 2
    assert run.stderr.startswith(f"arz: {folder} ")
    assert run.stderr.count("\n") == 1
    whole = (finished / "run.sqlite").read_bytes()
    (folder / "run.sqlite").write_bytes(whole[: len(whole) // 2 // 4096 * 4096])
    run = arz_here(command, folder)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"is not a run: there is no run.sqlite in it"):
        Run.open(tmp_path)


# ---- lineage ----


def test_lineage_holds_the_ancestors_of_the_living_and_of_champions(finished: Path) -> None:
    with Run.open(finished) as run:
        kept = {row["number"]: row for row in run.individuals}
        living = np.frombuffer(
            next(r["data"] for r in content(finished)["checkpoint"] if r["name"] == "numbers"), np.int64
        )
        roots = living.tolist() + [row["number"] for row in run.champions]
    assert len(roots) > 40
    for root in roots:
        number = root
        while number is not None:
            assert number in kept
            number = kept[number]["parent"]
    newest = sorted(kept)[-500:]
    assert newest == list(range(5500, 6000))
    assert len(kept) < 3000


def test_programs_follow_from_their_lineage(finished: Path) -> None:
    """Parent, mutation and number say all: the champion can be bred again from its first ancestor."""
    with Run.open(finished) as run:
        kept = {row["number"]: row for row in run.individuals}
        line = [run.champions[-1]["number"]]
        while kept[line[-1]]["parent"] is not None:
            line.append(kept[line[-1]]["parent"])
        line.reverse()
        variation, seed = run.config.variation, run.seed
        batch = random_programs(run.config.registers, keys(seed, "random", [line[0]]), variation)
        for number in line[1:]:
            batch, applied = mutate(batch, [0], keys(seed, "child", [number]), variation)
            assert variation.names[int(applied[0])] == kept[number]["mutation"]
        assert batch[0] == run.champion


def test_what_is_kept_does_not_depend_on_when_it_is_pruned() -> None:
    rng = np.random.default_rng(3)
    often, seldom = Lineage(50), Lineage(50)
    for batch in range(100):
        first = batch * 10
        low = max(0, first - 30)
        parents = rng.integers(low, first, 10) if batch else np.full(10, NO_PARENT)
        births = Births(first, parents, np.zeros(10, np.uint8), rng.normal(size=10), np.zeros(10, np.int64))
        often.add(births)
        seldom.add(births)
        living = np.arange(max(0, first - 20), first + 10)
        often.prune(living)
    change = seldom.difference(living)
    kept = often.difference(living)
    assert np.array_equal(change.new, kept.new)
    assert 50 <= len(change.new) < 400


def test_no_lineage_for_those_who_want_none(tmp_path: Path) -> None:
    with arz.evolve(small("2000", lineage=0), folder=tmp_path / "run") as run:
        assert run.individuals == []
        assert run.champions


def test_custom_mutations_keep_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        OPERATORS, "negate start.v2", lambda program, _: arz.Program(program.memory, program.functions, -program.image)
    )
    config = replace(small("2000"), variation=Variation(max_cadfs=0, custom={"negate start.v2": 1.5}))
    with arz.evolve(config, folder=tmp_path / "run") as run:
        names = {row["mutation"] for row in run.individuals}
    assert names <= {None, *Variation().names, "negate start.v2", "copy"}
    assert "negate start.v2" in names


BAD = ["-1", "Infinity", "NaN", '"x"', "[1]", "true", "[" * 50_000, "not json"]
COMMANDS: list[list[str]] = [["show"], ["runs"], ["resume", "--quiet", "--no-test", "--json"]]


def check_commands(folder: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No command may crash, whatever is in the file."""
    for command in [*COMMANDS, *([["plot"]] if "metrics" in what else [])]:
        code = main([command[0], str(folder), *command[1:]])
        printed = capsys.readouterr()
        assert code in (0, 2), (what, command)
        assert code == 0 or (printed.err.startswith("arz: ") and "Traceback" not in printed.err), (
            what,
            command,
            printed.err,
        )


def test_no_fact_can_crash_a_command(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    connection = sqlite3.connect(folder / "run.sqlite", isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    for name, value in facts.items():
        for bad in BAD:
            connection.execute("UPDATE facts SET value = ? WHERE name = ?", (bad, name))
            check_commands(folder, f"{name} = {bad[:20]}", capsys)
            connection.execute("BEGIN")
            connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
            connection.execute("COMMIT")
        assert value == facts[name]
    counters = json.loads(facts["counters"])
    for name in counters:
        for bad in BAD[:6]:
            changed = json.dumps({**counters, name: json.loads(bad)})
            connection.execute("UPDATE facts SET value = ? WHERE name = 'counters'", (changed,))
            check_commands(folder, f"counters.{name} = {bad}", capsys)
    connection.close()


@pytest.mark.parametrize("table", TABLES)
def test_no_value_in_a_table_can_crash_a_command(
    table: str, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for column in TABLES[table]:
        for number, bad in enumerate(("x", b"\xff\x00", -(2**62), 1e308, float("inf"))):
            folder = tmp_path / f"{table}-{column}-{number}"
            shutil.copytree(finished, folder)
            connection = sqlite3.connect(folder / "run.sqlite", isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            with contextlib.suppress(sqlite3.IntegrityError):  # the file itself refuses
                connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (bad,))
            connection.close()
            check_commands(folder, f"{table}.{column} = {bad!r}", capsys)
            shutil.rmtree(folder)


def test_one_damaged_run_does_not_hide_the_others(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, tmp_path / "good")
    damaged(finished, tmp_path, "DELETE FROM facts WHERE name = 'seconds'")
    assert main(["runs", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "good" in printed
    assert "finished" in printed
    assert "is damaged" in printed


def test_a_run_is_made_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_fact_rows", fail)
        with pytest.raises(RunError, match="is full"):
            Run.create(small(), folder=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
    Run.create(small(), folder=tmp_path / "run").close()


def test_long_lines_of_descent_are_pruned_quickly() -> None:
    lineage = Lineage(10)
    count = 200_000
    births = Births(0, np.arange(-1, count - 1), np.zeros(count, np.uint8), np.zeros(count), np.zeros(count, np.int64))
    lineage.add(births)
    began = time.process_time()
    assert len(lineage.difference([count - 1]).new) == count
    assert time.process_time() - began < 5


def test_a_run_can_be_read_while_it_runs(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Run.create(small("3000"), folder=folder) as run:
        seen = []

        def look(_: arz.Progress) -> None:
            with Run.open(folder) as reader:  # an error if it had to wait for this process to be done
                seen.append((reader.facts["status"], len(reader.champions)))

        run.evolve(on_progress=look, checkpoint_seconds=0.0)
    assert {status for status, _ in seen} == {"running"}
    assert seen[-1][1] > 0
    assert [path.name for path in folder.iterdir()] == ["run.sqlite"]


# ---- those who listen ----


def test_what_a_listener_raises_loses_nothing(tmp_path: Path) -> None:
    class OddError(Exception):
        pass

    def fail(progress: Progress) -> None:
        if progress.metrics.evaluations >= 2000:
            raise OddError

    run = Run.create(small("6000"), folder=tmp_path / "run")
    with pytest.raises(OddError):
        run.evolve(threads=1, on_progress=fail)
    run.close()
    with Run.open(tmp_path / "run") as again:
        assert again.counters.evaluations >= 2000
        assert again.facts["status"] == "stopped"
        assert again.champions


def test_a_listener_can_stop_a_run_which_goes_on_as_if_nothing_had_happened(finished: Path, tmp_path: Path) -> None:
    with arz.evolve(
        small(), folder=tmp_path / "run", threads=1, on_progress=lambda at: at.metrics.evaluations > 2000
    ) as run:
        assert run.facts["status"] == "stopped"
        assert 2000 < run.counters.evaluations < 4000
    with arz.resume(tmp_path / "run", threads=1, on_progress=lambda at: 1) as run:  # only True itself stops
        assert run.facts["status"] == "budget"
    expected, found = content(finished), content(tmp_path / "run")
    for table in ("metrics", "champions", "individuals", "checkpoint"):
        assert found[table] == expected[table], table


def test_five_at_once_get_five_folders(tmp_path: Path) -> None:
    command = [ARZ, "evolve", "cartpole-regularized", *small_options("400"), "--quiet", "--no-test", "--threads", "1"]
    running = [
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(5)
    ]
    assert [process.wait(120) for process in running] == [0] * 5, [
        process.stderr and process.stderr.read() for process in running
    ]
    for process in running:
        assert process.stderr is not None
        process.stderr.close()
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {f"cartpole-regularized-00{n}" for n in range(1, 6)}


def test_a_folder_that_somebody_took_a_moment_ago_is_left_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    free, asked = running._free_folder, []

    def late(parent: Path, name: str) -> Path:
        asked.append(free(parent, name))
        if len(asked) == 1:
            Run.create(small(), folder=asked[0]).close()
        return asked[-1]

    monkeypatch.setattr(running, "_free_folder", late)
    assert main(["evolve", "cartpole-regularized", *small_options("400"), "--quiet", "--no-test"]) == 0
    assert [path.name for path in asked] == ["cartpole-regularized-001", "cartpole-regularized-002"]


def test_a_copy_of_a_run_is_the_run_opened_again(finished: Path) -> None:
    with Run.open(finished) as run, copy.copy(run) as other, pickle.loads(pickle.dumps(run)) as third:
        assert other.folder == third.folder == finished
        assert str(other.champion) == str(third.champion) == str(run.champion)
    with pytest.raises(TypeError, match="a run in memory cannot be copied"):
        copy.deepcopy(Run.create(small()))


# ---- what is said ----


def test_a_run_in_its_first_seconds_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with Run.create(small(), folder=folder):
        assert main(["show", str(folder)]) == 0
        printed = capsys.readouterr().out
        assert "in its first seconds" in printed
        assert "No champion yet. The first is chosen after 400 evaluations, and 0 were saved so far." in printed
        assert main(["show", str(folder), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["run"]["score"] is None
        assert main(["test", str(folder)]) == 2
        assert "has no champion yet. The first is chosen after 400" in capsys.readouterr().err


def test_advice_at_the_end_is_what_lets_it_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    base = ["evolve", "cartpole-regularized", *small_options("1G"), "--no-test", "--output", folder, "--target", "35"]
    assert main(base) == 0
    assert "Ended: the target is reached" in (told := capsys.readouterr().err)
    assert "give arz resume a larger --target" in told
    assert main(["resume", folder, "--budget", "100"]) == 2
    spent = capsys.readouterr().err
    assert re.search(
        r"has spent [\d.]+k? evaluations already: a budget counts from the start, so 100 evaluations is over", spent
    )


def test_a_search_that_stands_still_says_so(finished: Path) -> None:
    with Run.open(finished) as run:
        rows = run.metrics
        assert running._standing_still(run) is None  # it began anew meanwhile
        object.__setattr__(run, "_store", Still(run._store, rows))
        since = running._standing_still(run)
    assert since is not None
    assert since < 0.5
    assert "--restart-after" in running.STANDING_STILL


class Still:
    """The store of a run that found its best at once, and never began anew."""

    def __init__(self, store: Store, rows: dict[str, np.ndarray]) -> None:
        self.store, self.rows = store, rows

    def columns(self, *_: str) -> dict[str, np.ndarray]:
        return {**self.rows, "champion_score": np.full(len(self.rows["evaluations"]), 7.0)}

    def facts(self) -> dict[str, object]:
        return {"counters": {**self.store.facts()["counters"], "restarts": 0}}

    def close(self) -> None:
        self.store.close()


def test_tuning_wants_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    for preset in ("quadruped-tune", "quadruped-numbers", "quadruped-worlds"):
        assert main(["evolve", preset]) == 2
        assert "say which, with --start" in capsys.readouterr().err


def test_another_environment_than_a_runs_own_is_refused(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in (
        ["--env", "Pendulum-v1"],
        ["--env-options", "{}"],
        ["--steps", "5"],
        ["--env", "Pendulum-v1", "--change", "none"],
    ):
        assert main(["test", str(finished), *option]) == 2
        assert "is a run with its own" in capsys.readouterr().err
