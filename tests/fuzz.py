"""A fuzzer of run folders and of texts, by seed: `python -m tests.fuzz runs|texts --first 0 --count 100`.

Each case is a good run, or a good text, with a few things spoilt that a stranger could spoil: tables, values, side files,
links, bytes. Commands must end with exit code 0 or one sentence and 2; nothing outside the folder may change; nothing
reaches the terminal that it would obey; no case may take long or much memory. The process dies where one does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import struct
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arz
from arz.cli import main
from arz.network import Architecture, Network
from arz.ops import OPS
from arz.plain import UNSEEN
from arz.policy import AnyPolicy, parse_policy
from arz.runs import config as configs
from arz.runs.budget import Budget
from arz.runs.database import JOURNAL_MAGIC
from arz.runs.store import TABLES
from arz.tasks.gymnasium.schedule import parse_changes
from tests.runs_support import small

SECONDS, BYTES = 30, 6 * 2**30
"""What one command may take at the most, and the whole process."""
COMMANDS = (
    "show", "show --json", "show --config", "show --digits 3", "plot", "test --episodes 1", "export --to c", "export --to python",
    "explain --json", "trace --json", "ablate --episodes 1 --json", "resume --budget 1100 --no-test --quiet --threads 1",
)  # fmt: skip
SOME = 3
"""So many of them are tried on each run, chosen by its seed, beside show and runs."""
NASTY_TEXT = (
    "", "x" * 5000, "\x1b[2J\x07", "\u202e", "[" * 3000, "{" * 3000, '"', "null", "NaN", "Infinity", "-1", "1e999", "0x10", "[]", "{}", "true",
    "9" * 4000, "../../etc", "a.b" * 500, "\x00", "名前", "module:Thing-v0", "os:system", "'; DROP TABLE facts; --",
)  # fmt: skip
NASTY_NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 1e300, -1e300, 1e-320, float("inf"), float("-inf"), None, 0.5, b"", b"\x00" * 9, "1",
)  # fmt: skip


# ---- runs ----


def spoil_schema(draw: random.Random, folder: Path) -> None:
    table = draw.choice(list(TABLES))
    column = draw.choice(list(TABLES[table]))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    columns = ", ".join(f"x AS {name}" for name in TABLES[table])
    statements = (
        f"DROP TABLE {table}",
        f"ALTER TABLE {table} RENAME TO other",
        f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
        f"DROP TABLE {table}; CREATE VIEW {table} AS {endless} SELECT {columns} FROM n",
        f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM champions; END",
        f"CREATE INDEX other ON {table} ({column})",
        f"CREATE TABLE other AS SELECT * FROM {table}",
        f"DROP TABLE {table}; CREATE TABLE {table} ({', '.join(TABLES[table])})",
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'TEXT', 'BLOB')",
        f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = {draw.randrange(9)} WHERE name = '{table}'",
        f"PRAGMA user_version = {draw.randrange(2**31)}; PRAGMA application_id = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA auto_vacuum = FULL; VACUUM",
        f"PRAGMA page_size = {draw.choice([512, 1024, 65536])}; VACUUM",
        "PRAGMA encoding = 'UTF-16'; VACUUM",
    )
    execute(folder, draw.choice(statements))


def spoil_value(draw: random.Random, folder: Path) -> None:
    table = draw.choice(list(TABLES))
    column = draw.choice(list(TABLES[table]))
    value = draw.choice((*NASTY_NUMBERS, *NASTY_TEXT, draw.randbytes(draw.randrange(64))))
    where = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {draw.randrange(20)})" if draw.random() < 0.7 else "1"
    execute(folder, f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}", value)


def spoil_fact(draw: random.Random, folder: Path) -> None:
    name = draw.choice(
        (
            "arz",
            "preset",
            "config",
            "budget",
            "status",
            "seed",
            "target",
            "seconds",
            "counters",
            "start",
            "format",
            "imports",
        )
    )
    value: Any = draw.choice((*NASTY_NUMBERS[:14], *NASTY_TEXT, [1], {"a": 1}, [[]], True, "all"))
    if name == "counters" and draw.random() < 0.7:
        value = {draw.choice(("evaluations", "steps", "hits", "champion", "champion_score", "restarts")): value}
    text = json.dumps(value) if draw.random() < 0.8 else str(draw.choice(NASTY_TEXT))
    execute(folder, "INSERT OR REPLACE INTO facts VALUES (?, ?)", name, text)


def spoil_config(draw: random.Random, folder: Path) -> None:
    text = str(json.loads(read(folder, "SELECT value FROM facts WHERE name = 'config'")))
    execute(folder, "INSERT OR REPLACE INTO facts VALUES ('config', ?)", json.dumps(spoilt_toml(draw, text)))


def spoil_program(draw: random.Random, folder: Path) -> None:
    text = str(read(folder, "SELECT program FROM champions ORDER BY evaluations DESC"))
    execute(folder, "UPDATE champions SET program = ?", spoilt_program(draw, text))


def spoil_checkpoint(draw: random.Random, folder: Path) -> None:
    name = read(folder, f"SELECT name FROM checkpoint ORDER BY name LIMIT 1 OFFSET {draw.randrange(12)}")
    data = bytearray(read(folder, f"SELECT data FROM checkpoint WHERE name = '{name}'") or b"")
    for _ in range(draw.randrange(1, 9)):
        if data:
            data[draw.randrange(len(data))] = draw.randrange(256)
    change = draw.choice(("bytes", "shape", "type", "gone"))
    if change == "bytes":
        execute(folder, "UPDATE checkpoint SET data = ? WHERE name = ?", bytes(data), name)
    elif change == "shape":
        shape = draw.choice(
            (
                "[]",
                "[0]",
                "[-1]",
                "[1, 1, 1]",
                "[1e9]",
                "[9999999999, 9999999999]",
                "[" * 2000,
                "null",
                "[4294967296, 4294967296]",
            )
        )
        execute(folder, "UPDATE checkpoint SET shape = ? WHERE name = ?", shape, name)
    elif change == "type":
        kind = draw.choice(("uint8", "int64", "float64", "object", "O", "V9", "<U1", "datetime64"))
        execute(folder, "UPDATE checkpoint SET type = ? WHERE name = ?", kind, name)
    else:
        execute(folder, "DELETE FROM checkpoint WHERE name = ?", name)


def spoil_bytes(draw: random.Random, folder: Path) -> None:
    path = folder / "run.sqlite"
    if path.is_symlink() or not path.is_file():
        return
    data = bytearray(path.read_bytes())
    if draw.random() < 0.3:
        del data[draw.randrange(len(data) + 1) :]
    for _ in range(draw.randrange(1, 30)):
        if data:
            at = draw.randrange(min(len(data), 200)) if draw.random() < 0.3 else draw.randrange(len(data))
            data[at : at + 2] = draw.choice((b"\x00\x00", b"\xff\xff", draw.randbytes(2)))[: len(data) - at]
    path.write_bytes(data)


def spoil_beside(draw: random.Random, folder: Path) -> None:
    """Files beside the file: nonsense, what a dead process could have left, links, pipes."""
    path = folder / f"run.sqlite{draw.choice(('-journal', '-wal', '-shm'))}"
    if os.path.lexists(path):
        return
    kind = draw.choice(("nonsense", "journal", "naming", "wal", "link", "dangling", "pipe", "folder", "empty"))
    victim = folder.parent / "elsewhere" / "victim"
    header = JOURNAL_MAGIC + struct.pack(">5I", draw.choice((0, 1, 2**32 - 1)), 1, draw.randrange(99), 512, 4096)
    if kind in ("link", "dangling"):
        path.symlink_to(victim if kind == "link" else victim.with_name("nothing"))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        name = os.fsencode(victim)
        end = struct.pack(">I", 1) + name + struct.pack(">2I", len(name), sum(name)) + JOURNAL_MAGIC
        wal = struct.pack(">6I", 0x377F0682, 3007000, 4096, 0, 1, 1) + draw.randbytes(8 + 4120)
        path.write_bytes(
            {"nonsense": draw.randbytes(600), "journal": header.ljust(512, b"\0") + draw.randbytes(4104), "empty": b""}
            .get(kind, header.ljust(512, b"\0") + end if kind == "naming" else wal)
        )  # fmt: skip


def spoil_inside(draw: random.Random, folder: Path) -> None:
    """What commands would write, as links out of the folder."""
    elsewhere = folder.parent / "elsewhere"
    for name in draw.sample(("trace", "explain", "ablate", "test.png", "progress.png", "front.png", "tensorboard"), 3):
        if not os.path.lexists(folder / name):
            (folder / name).symlink_to(elsewhere if "." not in name else elsewhere / "victim")


RUN_SPOILERS: tuple[Callable[[random.Random, Path], None], ...] = (
    spoil_schema, spoil_value, spoil_value, spoil_fact, spoil_fact, spoil_config, spoil_config, spoil_program, spoil_checkpoint, spoil_bytes,
    spoil_beside, spoil_inside,
)  # fmt: skip


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The file by SQLite as it is, which reads endless views to their end: not here."""
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite", timeout=0.1)) as connection:
        connection.set_progress_handler(lambda: True, 2_000_000)
        yield connection


def execute(folder: Path, statement: str, *values: Any) -> None:
    with contextlib.suppress(sqlite3.Error, OverflowError, OSError):
        odd = [folder / f"run.sqlite{end}" for end in ("-wal", "-journal")]
        if any(path.is_symlink() or path.is_fifo() for path in odd) or odd[1].exists():
            return  # it would follow and delete
        with opened(folder) as connection:
            if values:
                connection.execute(statement, values)
            else:
                connection.executescript(statement)
            connection.commit()


def read(folder: Path, statement: str) -> Any:
    with contextlib.suppress(sqlite3.Error), opened(folder) as connection:
        found = connection.execute(statement).fetchone()
        return found[0] if found else '""'
    return '""'


def outside(folder: Path) -> list[tuple[str, bytes]]:
    """All that is beside the folder."""
    paths = sorted(path for path in (folder.parent / "elsewhere").rglob("*"))
    return [(str(path), path.read_bytes() if path.is_file() else b"") for path in paths]


def fuzz_runs(first: int, count: int) -> Counter[str]:
    """Spoils runs, and tries all commands on each."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        good = Path(place) / "good"
        arz.evolve(small("1000", steps=60), folder=good, threads=1).close()
        for seed in range(first, first + count):
            draw = random.Random(f"runs {seed}")
            with tempfile.TemporaryDirectory(dir=place) as parent:
                folder = Path(shutil.copytree(good, Path(parent) / "run"))
                (Path(parent) / "elsewhere").mkdir()
                (Path(parent) / "elsewhere" / "victim").write_text("precious")
                for _ in range(draw.randrange(1, 4)):
                    spoiler = draw.choice(RUN_SPOILERS)
                    found[spoiler.__name__] += 1
                    with contextlib.suppress(ValueError, TypeError):  # spoilt already
                        spoiler(draw, folder)
                before = outside(folder)
                for command in ("show", "runs", *draw.sample(COMMANDS, SOME)):
                    found[f"exit {try_command(command, folder, seed)}"] += 1
                    assert outside(folder) == before, f"seed {seed}: {command} changed what is beside the folder"
    return found


def try_command(command: str, folder: Path, seed: int) -> int:
    name, *more = command.split()
    source = folder.parent if name == "runs" else folder
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited(f"seed {seed}: arz {command}"):
        code = main([name, str(source), *more])
    told = f"seed {seed}: arz {command}: {code}, {err.getvalue()[-500:]}"
    assert code in (0, 2), told
    assert code == 0 or err.getvalue().splitlines()[-1].strip(), told
    assert "Traceback" not in err.getvalue(), told
    assert not UNSEEN.search(out.getvalue().replace("\r", "")) or name == "export", told
    assert not UNSEEN.search(err.getvalue()), told
    return code


@contextlib.contextmanager
def limited(what: str) -> Iterator[None]:
    """What happens here must not raise, nor take long."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"{what} takes more than {SECONDS} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        yield
    except BaseException as error:
        print(what, file=sys.stderr)
        traceback.print_exception(error)
        raise SystemExit(1) from None
    finally:
        signal.alarm(0)


# ---- texts ----


def spoilt_text(draw: random.Random, text: str) -> str:
    """A text with some letters, pieces or lines changed, doubled or gone."""
    for _ in range(draw.randrange(1, 6)):
        at, to = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        to = min(to, at + draw.choice((1, 5, 40)))
        lines = text.split("\n")
        text = draw.choice(
            (
                lambda at=at, to=to, text=text: text[:at] + text[to:],
                lambda at=at, to=to, text=text: text[:to] + text[at:],
                lambda at=at, text=text: text[:at] + draw.choice((*NASTY_TEXT, "(", ")", "[", "]", "=", ",", "#", "\n", "'", "\\")) + text[at:],
                lambda lines=lines: "\n".join(draw.sample(lines, len(lines))),
                lambda lines=lines: "\n".join(lines + lines),
            )
        )()[:200_000]  # fmt: skip
    return text


def spoilt_program(draw: random.Random, text: str) -> str:
    """A program with a token, a number or a line replaced by another."""
    if draw.random() < 0.3:
        return spoilt_text(draw, text)
    if draw.random() < 0.4:  # other registers: often a program still
        return re.sub(
            r"\b([svi])\d\b", lambda found: f"{found[1]}{draw.randrange(7)}" if draw.random() < 0.1 else found[0], text
        )
    words = [
        "s0",
        "s99",
        "v1",
        "v4[3]",
        "m0",
        "i0",
        "i9",
        "obs",
        "action",
        "f0",
        "f9",
        "nan",
        "inf",
        "-0.0",
        "1e400",
        "9" * 3000,
        "return",
        "def",
        *(op.name for op in OPS),
    ]
    parts = text.split(" ")
    for _ in range(draw.randrange(1, 5)):
        parts[draw.randrange(len(parts))] = draw.choice(words)
    return " ".join(parts)


def spoilt_toml(draw: random.Random, text: str) -> str:
    """A configuration with a value replaced by another of any kind, or with its letters changed."""
    if draw.random() < 0.4:
        return spoilt_text(draw, text)
    lines = text.split("\n")
    values = ["0", "-1", "1e9", "2147483647", "4294967296", "nan", "inf", "-inf", '""', '"gymnasium"', '"quadruped"', "[]", "[1]", "[[1]]", "{}", "{a = 1}", "true",
              "1979-05-27", '"module:X-v0"', '"mlp"', '"nsga2"', '"\\u001b[2J"', "[1, 2, 3, 4]", "0.5", "1" * 400]  # fmt: skip
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(lines))
        if " = " in lines[at]:
            lines[at] = f"{lines[at].split(' = ')[0]} = {draw.choice(values)}"
    return "\n".join(lines)


def fuzz_texts(first: int, count: int) -> Counter[str]:
    """Spoils texts of all kinds, and reads them: an error is a ValueError with a sentence, and what is read is written back."""
    memory = arz.Memory(4, 2, 6, 5, 1, 3)
    programs = [
        str(each)
        for each in arz.random_programs(
            memory, arz.streams.keys(1, "fuzz", range(40)), arz.Variation(length=(3, 25))
        ).unpack()
    ]
    shape = Architecture("lstm", 4, 1, (3,))
    network = str(Network(shape, np.linspace(-1, 1, shape.size)))
    presets = [configs.render(configs.load(name)) for name in configs.preset_names()]
    changes = ["unwrapped.g: 10 -> 5 @ 200..800", "unwrapped.a[0].b: -1 -> 1e3 @ 5 unchecked; unwrapped.c: 0 -> 1 @ 1"]
    kinds: dict[str, Callable[[random.Random], Any]] = {
        "program": lambda draw: _again(parse_policy(spoilt_program(draw, draw.choice(programs)), "fuzz")),
        "network": lambda draw: _again(parse_policy(spoilt_text(draw, network), "fuzz")),
        "configuration": lambda draw: configs.parse(spoilt_toml(draw, draw.choice(presets))),
        "value": lambda draw: configs.parse_value(spoilt_text(draw, '[1, 2, {a = "x"}]')),
        "change": lambda draw: parse_changes(spoilt_text(draw, draw.choice(changes))),
        "budget": lambda draw: Budget.parse(spoilt_text(draw, draw.choice(["2M", "5G steps", "90s", "1.5h"]))),
    }
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        draw = random.Random(f"texts {seed}")
        kind = draw.choice(list(kinds))
        with limited(f"seed {seed}: {kind}"):
            try:
                kinds[kind](draw)
                found[f"{kind}: read"] += 1
            except (ValueError, tomllib.TOMLDecodeError) as error:
                found[f"{kind}: {'refused' if str(error) else 'refused without a sentence'}"] += 1
    return found


def _again(policy: AnyPolicy) -> None:
    assert str(parse_policy(str(policy), "again")) == str(policy)


def run(arguments: list[str]) -> None:
    """Fuzzes, and prints what was reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("runs", "texts"))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    began = time.monotonic()
    found = (fuzz_runs if options.what == "runs" else fuzz_texts)(options.first, options.count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(dict(sorted(found.items()))))
    print(f"{options.count} cases in {time.monotonic() - began:.0f} s, at most {peak} MB")


if __name__ == "__main__":
    run(sys.argv[1:])
