"""Folders of runs that strangers send: looking at them deletes, writes, runs and hangs nothing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import arz
from arz.cli import main
from arz.explain import linear
from arz.export.exported_program import Exported
from arz.runs import config as configs
from arz.runs import database
from arz.runs.folder import RunError
from arz.runs.run import Run
from arz.runs.store import CREATING
from arz.search.cache import ScoreCache
from arz.tasks.gymnasium import adapter
from tests.runs_support import ARZ, arz_here, content, small

LOOKING = ("show", "runs")
USING = ("test", "resume", "plot", "trace")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run."""
    folder = tmp_path_factory.mktemp("strangers") / "honest"
    with arz.evolve(small("1000"), folder=folder, threads=1):
        pass
    return folder


@pytest.fixture
def sent(honest: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(honest, tmp_path / "sent"))


def spoil(folder: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as connection:
        connection.executescript("; ".join(statements))
        connection.commit()


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one sentence that a command ends with."""
    code = main([str(word) for word in arguments])
    err = capsys.readouterr().err
    assert code == 2
    assert err.count("\n") == 1
    assert err.startswith("arz: ")
    return err


# ---- what lies beside the file ----


def journal_naming(victim: Path) -> bytes:
    """A journal of a process that died, which says: when I am undone, delete this file too."""
    header = database.JOURNAL_MAGIC + struct.pack(">5I", 0, 1, 1, 512, 4096)
    name = os.fsencode(victim)
    end = struct.pack(">I", 1) + name + struct.pack(">2I", len(name), sum(name)) + database.JOURNAL_MAGIC
    return header.ljust(512, b"\0") + end


def test_a_journal_that_names_another_file_is_refused(
    sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim, bait = tmp_path / "victim.txt", tmp_path / "bait.txt"
    for path in (victim, bait):
        path.write_text("precious")
    other = Path(shutil.copytree(sent, tmp_path / "other"))
    (other / "run.sqlite-journal").write_bytes(journal_naming(bait))
    with (
        contextlib.closing(sqlite3.connect(other / "run.sqlite")) as connection,
        contextlib.suppress(sqlite3.DatabaseError),
    ):
        connection.execute("SELECT * FROM sqlite_master").fetchall()
    assert not bait.exists(), "the attack is real: SQLite itself falls for it"

    (sent / "run.sqlite-journal").write_bytes(journal_naming(victim))
    for command in ("show", *USING):
        assert "its journal names another file" in complaint(capsys, command, sent)
    assert main(["runs", str(tmp_path)]) == 0
    assert victim.read_text() == "precious"


def test_what_a_killed_test_left_is_undone(sent: Path) -> None:
    """An honest journal: a process died while it wrote, outside of evolution."""
    before = content(sent)
    script = (
        "import sqlite3, os, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('PRAGMA cache_size = 1');"
        "c.execute('BEGIN'); c.execute('DELETE FROM individuals'); c.execute('DELETE FROM metrics'); c.execute('PRAGMA cache_spill = 1');"
        'c.execute("INSERT INTO facts SELECT hex(randomblob(9)), hex(zeroblob(13000000))"); os.kill(os.getpid(), 9)'
    )
    subprocess.run([Path(ARZ).parent / "python", "-c", script, str(sent / "run.sqlite")])
    assert (sent / "run.sqlite-journal").stat().st_size > 512
    with Run.open(sent) as run:
        assert len(run.metrics["evaluations"])
    assert content(sent) == before


@pytest.mark.parametrize("name", ["run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"])
def test_links_are_not_followed_out_of_the_folder(
    sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if name == "run.sqlite":
        (sent / name).rename(elsewhere)
    else:
        elsewhere.write_bytes(b"\x37\x7f\x06\x82" + bytes(28))
    before = elsewhere.read_bytes()
    (sent / name).symlink_to(elsewhere)
    for command in ("show", *USING):
        assert f"{name} is a link" in complaint(capsys, command, sent)
    assert elsewhere.read_bytes() == before


def test_a_file_with_two_names_is_not_evolved(sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each folder has a lock of its own: two processes could evolve one file."""
    (tmp_path / "twin").mkdir()
    os.link(sent / "run.sqlite", tmp_path / "twin" / "run.sqlite")
    assert "a hard link" in complaint(capsys, "resume", tmp_path / "twin", "--budget", "2000")
    assert main(["show", str(tmp_path / "twin")]) == 0


def test_the_file_of_a_sweep_is_looked_at_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, victim = tmp_path / "sweep", tmp_path / "victim.txt"
    arguments = (
        "sweep",
        "cartpole-regularized",
        "--output",
        str(folder),
        "--grid",
        "tournament=2,3",
        "--budget",
        "400",
        "--json",
    )
    folder.mkdir()
    victim.write_text("precious")
    (folder / "sweep.sqlite-journal").write_bytes(journal_naming(victim))
    (folder / "sweep.sqlite").write_bytes(b"")
    assert "its journal names another file" in complaint(capsys, *arguments)
    (folder / "sweep.sqlite-journal").unlink()
    with contextlib.closing(sqlite3.connect(folder / "sweep.sqlite")) as connection:
        connection.executescript(f"CREATE VIEW studies (study_id) AS {FOREVER} SELECT x FROM n")
    assert "it has views or triggers" in complaint(capsys, *arguments)
    (folder / "sweep.sqlite").unlink()
    (folder / "sweep.sqlite").symlink_to(victim)
    assert "is a link" in complaint(capsys, *arguments)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["run.sqlite", "run.sqlite-wal"])
def test_pipes_in_place_of_files_do_not_hang(sent: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (sent / name).unlink(missing_ok=True)
    os.mkfifo(sent / name)
    assert "not a" in complaint(capsys, "show", sent)


# ---- what is in the file ----

FOREVER = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE facts", f"CREATE VIEW facts (name, value) AS {FOREVER} SELECT 'a' || x, '1' FROM n"),
        ("DROP TABLE tests", "CREATE VIEW tests AS SELECT randomblob(1000000000) AS champion"),
        ("CREATE TRIGGER t BEFORE INSERT ON tests BEGIN DELETE FROM champions; END",),
        ("CREATE TRIGGER t AFTER UPDATE ON facts BEGIN DELETE FROM champions; END",),
        ("CREATE TABLE more (x)",),
        ("CREATE INDEX more ON metrics (steps)",),
        ("ALTER TABLE metrics ADD COLUMN more DEFAULT 1",),
        (
            "ALTER TABLE tests RENAME TO old",
            "CREATE TABLE tests (change TEXT NOT NULL, task TEXT, variant TEXT AS (hex(zeroblob(100000000))), champion, seed, "
            "episodes, mean, completed, distance, returns)",
            "DROP TABLE old",
        ),
    ],
)
def test_only_the_tables_of_a_run_are_accepted(
    sent: Path, capsys: pytest.CaptureFixture[str], statements: tuple[str, ...]
) -> None:
    spoil(sent, *statements)
    champions = sqlite3.connect(sent / "run.sqlite").execute("SELECT count(*) FROM champions").fetchone()
    for command in ("show", *USING):
        assert "its tables are not those of a run" in complaint(capsys, command, sent)
    assert sqlite3.connect(sent / "run.sqlite").execute("SELECT count(*) FROM champions").fetchone() == champions


def share_pages(path: Path, depth: int = 3) -> None:
    """Makes the table of metrics a tree whose branches are all the same leaf: endless rows in a small file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'metrics'").fetchone()[0]
    pages = bytearray(path.read_bytes())
    leaf = bytes(pages[(root - 1) * size : root * size])
    count = len(pages) // size
    pages += leaf
    below = count + 1
    for level in range(depth):
        cells = (size - 12) // 7
        page = bytearray(size)
        page[0:12] = struct.pack(">BHHHBI", 5, 0, cells, size - 5 * cells, 0, below)
        for cell in range(cells):
            at = size - 5 * (cell + 1)
            page[12 + 2 * cell : 14 + 2 * cell] = struct.pack(">H", at)
            page[at : at + 5] = struct.pack(">I", below) + b"\x7f"
        if level == depth - 1:
            pages[(root - 1) * size : root * size] = page
        else:
            pages += page
            below = len(pages) // size
    pages[28:32] = struct.pack(">I", len(pages) // size)
    path.write_bytes(pages)


def test_a_small_file_with_endless_rows_is_refused(sent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    share_pages(sent / "run.sqlite")
    assert "it holds more than its file can" in complaint(capsys, "plot", sent)
    assert "is damaged" in complaint(capsys, "resume", sent, "--budget", "2000")


def test_holes_do_not_make_a_file_large(sent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that seems to have a terabyte could explain any number of rows."""
    share_pages(sent / "run.sqlite")
    os.truncate(sent / "run.sqlite", 2**40)
    assert "it holds more than its file can" in complaint(capsys, "plot", sent)
    assert "mostly holes" in complaint(capsys, "resume", sent, "--budget", "2000")


def test_a_fact_is_not_a_book(sent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(sent, "INSERT INTO facts VALUES ('more', '[' || replace(hex(zeroblob(13000000)), '00', '0, ') || '0]')")
    assert "the fact 'more' is too long" in complaint(capsys, "show", sent)


def test_one_bad_run_does_not_hide_the_others(
    sent: Path, honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(honest, tmp_path / "good")
    spoil(sent, "UPDATE facts SET value = '1' || substr(hex(zeroblob(2000)), 1, 4000) WHERE name = 'target'")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "run.sqlite").symlink_to("/dev/zero")
    (tmp_path / "looping").mkdir()
    (tmp_path / "looping" / "run.sqlite").symlink_to("run.sqlite")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "run.sqlite")
    assert main(["runs", str(tmp_path), "--json"]) == 0
    rows = {Path(row["run"]).name: row for row in json.loads(capsys.readouterr().out)}
    assert rows["good"]["evaluations"] == 1000
    assert set(rows) == {"good", "sent", "linked", "looping", "pipe"}
    assert all("seed" not in row for name, row in rows.items() if name != "good")


def test_ctrl_c_ends_a_query(sent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LEAST_STEPS", 10**12)
    with Run.open(sent) as run:
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            with pytest.raises(KeyboardInterrupt):
                run._store._database.rows(f"{FOREVER} SELECT count(*) FROM n")
        finally:
            signal.signal(signal.SIGALRM, previous)


# ---- odd places ----


def test_a_file_that_may_not_be_read_gets_a_sentence(
    sent: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    look = os.lstat

    def deny(path: str | Path, **more: int) -> os.stat_result:
        if Path(path).name == "run.sqlite":
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", refuse)
        assert "cannot be read or written (unable to open database file)" in complaint(capsys, "show", sent)
        assert main(["runs", str(sent.parent)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", deny)
        assert "cannot be read (Permission denied)" in complaint(capsys, "show", sent)


def test_a_path_that_is_too_long_for_sqlite_gets_a_sentence(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = tmp_path / ("d" * 200) / ("e" * 200) / ("f" * 200)
    shutil.copytree(honest, deep / "run")
    assert "is longer than" in complaint(capsys, "show", deep / "run")
    assert main(["runs", str(deep)]) == 0


# ---- leftovers ----


def test_what_a_killed_creation_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / f"{CREATING}abc"
    (left / "run").mkdir(parents=True)
    (left / "run" / "run.sqlite").write_bytes(b"half")
    young, busy = tmp_path / f"{CREATING}young", tmp_path / f"{CREATING}kept"
    young.mkdir()
    (busy / "run").mkdir(parents=True)
    (busy / "run" / "notes.txt").write_text("not ours")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "run.sqlite").write_text("precious")
    trap = tmp_path / f"{CREATING}trap"
    trap.mkdir()
    (trap / "run").symlink_to(victim)
    (tmp_path / f"{CREATING}link").symlink_to(victim)
    for path in (left, busy, trap):
        os.utime(path, (time.time() - 1000,) * 2)
    Run.create(small(), folder=tmp_path / "run").close()
    assert not left.exists()
    assert young.exists()
    assert (busy / "run" / "notes.txt").exists()
    assert (victim / "run.sqlite").read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith(CREATING)} == {"run", "victim"}


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = Path.rename

    def late(self: Path, target: Path) -> Path:
        target.mkdir()
        (target / "theirs").write_text("precious")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(RunError, match="exists already, and nothing is overwritten"):
        Run.create(small(), folder=tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "theirs").read_text() == "precious"


# ---- code that a run names ----

MODULE = """
import pathlib, sys
pathlib.Path(__file__).with_name("ran").write_text("the code ran")
import gymnasium
from tests.gymnasium_support import Follow
if "Trap-v0" not in gymnasium.registry:
    gymnasium.register("Trap-v0", Follow, max_episode_steps=10)
"""
TRAP = '[task]\nkind = "gymnasium"\nenv = "trap_module:Trap-v0"\n'
SIZES = "env_observations = 4\nenv_actions = 1\n"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that can be imported; the file that shows that somebody did."""
    place = tmp_path / "path"
    place.mkdir()
    (place / "trap_module.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", f"{place}{os.pathsep}{Path(__file__).parent.parent}")
    return place / "ran"


@pytest.mark.parametrize(
    "text",
    [
        TRAP,
        TRAP + SIZES,
        TRAP.replace('"trap_module:Trap-v0"', '"Pendulum-v1"\nenv_options = {id = ["trap_module:Trap-v0"]}') + SIZES,
    ],
)
def test_a_run_does_not_make_anybody_import_what_it_names(sent: Path, trap: Path, tmp_path: Path, text: str) -> None:
    spoil(sent, f"UPDATE facts SET value = '{json.dumps(text)}' WHERE name = 'config'")
    for command in (
        "show",
        "runs",
        "plot",
        "explain",
        "export --to c",
        "test",
        "trace",
        "replay",
        "ablate",
        "resume --budget 2000",
        "compare",
    ):
        name, *more = command.split()
        source = tmp_path if name == "runs" else sent
        done = arz_here(name, source, *more)
        assert "Traceback" not in done.stderr, command
        assert not trap.exists(), f"{command} ran the code"
        if name not in ("show", "runs", "plot", "explain", "export") and text != TRAP:
            assert done.returncode == 2
            assert "--import trap_module" in done.stderr, command
    (tmp_path / "strange.toml").write_text(text)
    done = arz_here("evolve", tmp_path / "strange.toml", "--output", tmp_path / "new")
    assert "--import trap_module" in done.stderr
    assert not trap.exists()
    assert not (tmp_path / "new").exists()


def test_who_names_the_module_may_use_it(trap: Path, tmp_path: Path) -> None:
    def arz_runs(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([ARZ, *arguments], capture_output=True, text=True, timeout=120)

    folder, few = tmp_path / "run", ("--budget", "600", "--threads", "2", "--no-test", "--quiet")
    made = arz_runs("evolve", "--env", "trap_module:Trap-v0", "--output", folder, "--validate-every", "100", *few)
    assert made.returncode == 0, made.stderr
    assert trap.exists()
    assert arz_runs("show", folder).returncode == 0
    assert arz_runs("resume", folder, *few[:1], "900", *few[2:]).returncode == 2
    again = arz_runs("resume", folder, "--import", "trap_module", *few[:1], "900", *few[2:])
    assert again.returncode == 0, again.stderr
    missing = arz_runs("test", folder, "--import", "no_such_module")
    assert missing.returncode == 2
    assert missing.stderr.startswith("arz: the module no_such_module cannot be imported")


def test_the_working_directory_is_not_searched_for_modules(
    trap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    python = str(Path(ARZ).parent / "python")
    done = subprocess.run(
        [python, "-m", "arz", "evolve", "--env", "trap_module:Trap-v0", "--output", tmp_path / "new"],
        cwd=trap.parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert not trap.exists()


OPERATOR = """
import numpy as np
import arz
from arz import Program

@arz.operator("trap negate")
def negate(program, stream):
    return Program(program.memory, program.functions, -program.image + 0.5)
"""


def test_a_run_with_an_operator_can_be_looked_at_without_and_resumed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_operators.py").write_text(OPERATOR)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    script = (
        "import arz, my_operators; from dataclasses import replace; from tests.runs_support import small;"
        "c = small('600'); arz.evolve(replace(c, variation=replace(c.variation, custom={'trap negate': 5.0})), folder='run')"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(__file__).parent.parent}")
    subprocess.run([str(Path(ARZ).parent / "python"), "-c", script], cwd=tmp_path, check=True)
    folder = tmp_path / "run"
    for command in ("show", "test --episodes 2", "plot", "export --to c", "trace"):
        name, *more = command.split()
        done = arz_here(name, folder, *more)
        assert done.returncode == 0, done.stderr
    refused = arz_here("resume", folder, "--budget", "900")
    assert refused.returncode == 2
    assert "no operator called 'trap negate'" in refused.stderr
    assert "--import my_operators" in refused.stderr
    asked = ("--budget", "900", "--no-test", "--quiet", "--import", "my_operators")
    done = subprocess.run([ARZ, "resume", folder, *asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "trap negate" in {row["mutation"] for row in content(folder)["individuals"]}


# ---- bombs ----


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = " + "[" * 5000, "nested too deeply"),
        ("x = " + "{a = " * 5000, "nested too deeply"),
        (".".join(["a"] * 20_000) + " = 1", "too many dots"),
        ("[" + ".".join(["a"] * 20_000) + "]", "too many dots"),
        ("# " + "a" * 2**17, "at most 65536 characters"),
        ('[task]\nx_limit = "' + "a" * 60_000 + '"', "must be a number"),
    ],
)
def test_configurations_that_would_eat_memory_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sent: Path, text: str, sentence: str
) -> None:
    (tmp_path / "bomb.toml").write_text(text)
    spoil(sent, f"UPDATE facts SET value = '{json.dumps(text)}' WHERE name = 'config'")
    for command, source in (("evolve", tmp_path / "bomb.toml"), ("show", sent)):
        error = complaint(capsys, command, source)
        assert sentence in error
        assert len(error) < 500


def test_an_option_that_is_nested_too_deeply_gets_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        complaint(capsys, "evolve", "cartpole-regularized", "--length", "[" * 5000)
        == "arz: --length: it is nested too deeply\n"
    )


def test_a_folder_whose_name_is_not_utf_8_is_a_folder(honest: Path, tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/odd-\xff\x1b[31m"
    shutil.copytree(honest, os.fsdecode(place))
    for command in (["test", "--episodes", "2"], ["show", "--json"], ["plot"], ["resume", "--budget", "1200"]):
        here = arz_here(command[0], os.fsdecode(place), *command[1:])
        assert here.returncode == 0, here.stderr
        assert "\x1b" not in here.stdout + here.stderr
    done = subprocess.run([ARZ, "show", place], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    listed = subprocess.run([ARZ, "runs", tmp_path], capture_output=True)
    assert listed.returncode == 0
    assert b"odd-" in listed.stdout
    assert b"\x1b[31m" not in listed.stdout


# ---- what the terminal gets ----

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\r"


def test_what_a_stranger_wrote_does_not_reach_the_terminal(sent: Path, tmp_path: Path) -> None:
    spoil(
        sent,
        *(
            f"UPDATE facts SET value = '{json.dumps(ESCAPES)}' WHERE name = '{name}'"
            for name in ("status", "preset", "arz")
        ),
        f"INSERT INTO tests VALUES ('{ESCAPES}', '{ESCAPES}', '{{}}', (SELECT max(number) FROM champions), 0, 100, 1.0, 1.0, NULL, x'')",
    )
    odd = sent.rename(tmp_path / f"odd{ESCAPES}")
    broken = tmp_path / f"broken{ESCAPES}"
    shutil.copytree(odd, broken)
    spoil(
        broken,
        f"UPDATE facts SET value = '{json.dumps('[task]' + chr(10) + 'x = ' + json.dumps(ESCAPES))}' WHERE name = 'config'",
    )
    listed = arz_here("runs", tmp_path, "--json")
    assert {row["status"] for row in json.loads(listed.stdout)} >= {ESCAPES}
    for command in (
        "show",
        "plot",
        "test --episodes 2",
        "show --json",
        "show --config",
        "explain",
        "trace",
        "ablate --episodes 2",
        "resume",
    ):
        for folder in (odd, broken):
            name, *more = command.split()
            done = arz_here(name, folder, *more)
            out = done.stdout + done.stderr
            assert "evil" in out or name == "show", command
            assert not set("\x1b\x9b\x07\r\u202e") & set(out), command
            assert "Traceback" not in out, command
    raw = subprocess.run([ARZ, "runs", tmp_path], capture_output=True).stdout.decode()
    assert "evil" in raw
    assert not set("\x1b\x9b\x07\r\u202e") & set(raw)


def test_a_configuration_is_a_regular_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "huge.toml").write_bytes(b"")
    os.truncate(tmp_path / "huge.toml", 2**40)
    for name, sentence in (
        ("pipe", "not a regular file"),
        ("zero", "not a regular file"),
        ("folder", "is a folder"),
        ("huge", "at most"),
    ):
        assert sentence in complaint(capsys, "evolve", tmp_path / f"{name}.toml")


# ---- a stranger's folder as the working directory ----


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    few = ["--validate-every", "50", "--population", "20", "--lag", "20", "--validation-episodes", "2", "--steps", "20"]
    assert (
        main(
            [
                "evolve",
                "--env",
                "Pendulum-v1",
                *few,
                "--budget",
                "200",
                "--threads",
                "1",
                "--quiet",
                "--no-test",
                "--output",
                str(tmp_path / "pendulum"),
            ]
        )
        == 0
    )
    return tmp_path / "pendulum"


def there(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ARZ, *words], cwd=folder, capture_output=True, text=True, timeout=200)


def test_processes_do_not_look_for_modules_in_the_working_directory(pendulum: Path) -> None:
    for name in ("multiprocessing", "numpy", "gymnasium", "arz"):
        (pendulum / f"{name}.py").write_text("open('ran', 'w').write('the code ran')")
    assert there(pendulum, "show", ".", "--digits", "3").returncode == 0
    done = there(pendulum, "resume", ".", "--budget", "300", "--threads", "2", "--no-test")
    assert done.returncode == 0, done.stderr
    assert not (pendulum / "ran").exists()


def test_settings_of_matplotlib_in_the_working_directory_are_not_obeyed(sent: Path) -> None:
    (sent / "matplotlibrc").write_text("text.usetex: True\nfont.family: no\x1b[31mfont\nbad\x1b[2Jkey: 1\n")
    done = there(sent, "plot", ".")
    assert (done.returncode, done.stderr) == (0, "")


def test_files_that_options_name_are_opened_when_a_person_allows_it(
    pendulum: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "any.xml").write_text("<mujoco/>")
    with Run.open(pendulum) as run:
        text = configs.render(run.config)
    strange = text.replace("env_options = {}", 'env_options = {xml_file = "./any.xml"}')
    assert strange != text
    spoil(pendulum, f"UPDATE facts SET value = '{json.dumps(strange)}' WHERE name = 'config'")
    for command in ("test", "trace", "resume --quiet", "compare --json"):
        name, *more = command.split()
        assert "--allow-file ./any.xml" in complaint(capsys, name, pendulum, *more)
    assert "cannot be made" in complaint(capsys, "test", pendulum, "--allow-file", "./any.xml")
    adapter.ALLOWED.clear()
    spoil(
        pendulum,
        f"UPDATE facts SET value = '{json.dumps(text.replace('env_options = {}', chr(101) + 'nv_options = {render_mode = ' + json.dumps('human') + '}'))}' WHERE name = 'config'",
    )
    assert "cannot have render_mode" in complaint(capsys, "test", pendulum)


def test_looking_does_not_play_for_ever(pendulum: Path) -> None:
    with Run.open(pendulum) as run:
        text = configs.render(run.config).replace("steps = 20\n", "steps = 1000000000\n")
    spoil(pendulum, f"UPDATE facts SET value = '{json.dumps(text)}' WHERE name = 'config'")
    done = arz_here("export", pendulum, "--to", "c")
    assert done.returncode == 0, done.stderr


# ---- found by an attack ----


def test_folders_of_results_are_not_followed_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "README.md").write_text("precious")
    (tmp_path / "rep" / "smoke").mkdir(parents=True)
    (tmp_path / "rep" / "smoke" / "change-schedules").symlink_to(elsewhere)
    assert "is a link" in complaint(capsys, "reproduce", "change-schedules", "--output", tmp_path / "rep", "--quiet")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "point-000").symlink_to(elsewhere)
    (tmp_path / "sweep" / "point-001").symlink_to(elsewhere)
    sweep = (
        "sweep",
        "cartpole-regularized",
        "--output",
        str(tmp_path / "sweep"),
        "--grid",
        "tournament=2,3",
        "--budget",
        "400",
        "--json",
    )
    assert "is a link" in complaint(capsys, *sweep)
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == {"README.md": "precious"}


def test_a_journal_of_another_file_is_not_rolled_back(
    sent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could make a file of a terabyte, or change a file under its other name."""
    header = database.JOURNAL_MAGIC + struct.pack(">5I", 0, 1, 250_000_000, 512, 4096)
    (sent / "run.sqlite-journal").write_bytes(header.ljust(512, b"\0"))
    size = (sent / "run.sqlite").stat().st_size
    assert "its journal is not of this file" in complaint(capsys, "show", sent)
    assert (sent / "run.sqlite").stat().st_size == size
    header = database.JOURNAL_MAGIC + struct.pack(">5I", 0, 1, 1, 512, 4096)
    (sent / "run.sqlite-journal").write_bytes(header.ljust(512, b"\0"))
    os.link(sent / "run.sqlite", tmp_path / "twin")
    assert "a hard link" in complaint(capsys, "show", sent)
    assert (tmp_path / "twin").stat().st_size == size


def test_keys_that_are_in_each_others_way_do_not_slow_a_cache_down() -> None:
    """Made for a table without salt they would all be in one place, and inserting took time by their square."""
    high = np.arange(1, 300_001, dtype=np.uint64)
    keys = np.stack([np.uint64(7) - np.uint64(0x9E3779B97F4A7C15) * high, high], axis=1)
    cache = ScoreCache(400_000)
    cache.restore(keys, np.zeros((len(keys), 1)))
    assert len(cache) == len(keys)


def entry(**changes: object) -> str:
    usual = {
        "method": "a", "seed": 1, "trained_on": "x", "tested_on": "{}", "evaluations": 1, "steps": 1, "seconds": 1.0, "fitness": 1.0,
        "episodes": 1, "scores": {"t x": 1.0}, "parameters": 1, "flops": 1,
        "curve": {"evaluations": [1], "steps": [1], "seconds": [1], "score": [1]},
    }  # fmt: skip
    return json.dumps({**usual, **changes}) + "\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("".join(entry(method=f"m{n}", seed=n) for n in range(60)), "too many to compare"),
        ("".join(entry(seed=n) for n in range(1001)), "there are more than 1000"),
        (entry(scores={f"t {n}": 1.0 for n in range(300)}), "too many to compare"),
        (entry(method="\x1b[2J"), "cannot be printed"),
    ],
)
def test_comparisons_have_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str) -> None:
    (tmp_path / "kept.jsonl").write_text(text)
    assert sentence in complaint(capsys, "compare", tmp_path / "kept.jsonl")


@pytest.mark.parametrize("variant", ["5", "null", "[1]", "[" * 5000, '{"env": ""}', '{"env": "a\\nb"}'])
def test_an_odd_variant_is_no_trouble(tmp_path: Path, variant: str) -> None:
    (tmp_path / "kept.jsonl").write_text(entry(tested_on=variant.replace("\n", " ")))
    assert main(["compare", str(tmp_path / "kept.jsonl"), "--json"]) == 0


def test_a_program_of_much_work_gets_few_test_vectors() -> None:
    lines = "    m1 = matmul(m1, m0)\n" * 12
    text = f"memory(observations=300, actions=1, scalars=4, vectors=2, matrices=5, indices=0)\ndef GetAction(obs, action):\n{lines}    action = norm(m1)\n"
    exported = Exported.of(arz.Program.parse(text), "arz", None)
    assert len(exported.observations) == 3  # eight is the least for programs of little work
    with pytest.raises(ValueError, match="too many to read it as a filter"):
        linear.read(arz.Program.parse(text))
