"""One run, one folder, one SQLite file: what is on disk.

Everything that belongs together is written in one transaction: a checkpoint, and all rows up to it. So the file is
always consistent, whatever happens at whatever moment, and a run that is killed goes on from its last checkpoint. The
file holds numbers and text, no code: a run from a stranger is safe to open (`database`). While a process evolves a run
it holds a lock on the folder; readers need none.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.runs.database import Database, sentence
from arz.runs.folder import FILE, RunError, is_run
from arz.runs.lineage import Difference, as_rows

FORMAT = 3
"""Raised when files of older versions cannot be gone on with."""

TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "facts": {"name": ("TEXT",), "value": ("TEXT",)},
    "metrics": {
        **dict.fromkeys(("evaluations", "steps", "hits", "restarts", "champion"), ("INTEGER",)),
        **dict.fromkeys(("best_fitness", "mean_fitness", "life_score", "champion_score", "seconds"), ("REAL",)),
    },
    "individuals": {
        "number": ("INTEGER",),
        "parent": ("INTEGER", "NULL"),
        "mutation": ("TEXT", "NULL"),
        "life": ("INTEGER",),
        "fitness": ("REAL",),
    },
    "champions": {
        "number": ("INTEGER",),
        "evaluations": ("INTEGER",),
        "fitness": ("REAL",),
        "score": ("REAL",),
        "program": ("TEXT",),
    },
    "fronts": {
        **dict.fromkeys(("evaluations", "island", "is_warm"), ("INTEGER",)),
        **dict.fromkeys(("numbers", "objectives"), ("BLOB",)),
    },
    "checkpoint": {"name": ("TEXT",), "type": ("TEXT",), "shape": ("TEXT",), "data": ("BLOB",)},
    "tests": {
        **dict.fromkeys(("change", "task", "variant"), ("TEXT",)),
        **dict.fromkeys(("champion", "seed", "episodes"), ("INTEGER",)),
        **dict.fromkeys(("mean", "completed"), ("REAL",)),
        "distance": ("REAL", "NULL"),
        "returns": ("BLOB",),
    },
}
"""The columns of each table: the type, and whether there may be none."""
KEYS = {
    "facts": "name",
    "metrics": "evaluations",
    "individuals": "number",
    "champions": "evaluations",
    "fronts": "evaluations, island",
    "checkpoint": "name",
    "tests": "champion, change, task, variant, seed, episodes",
}
PYTHON = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,), "NULL": (type(None),)}
MOST_FACT = 2**25
"""Characters of a fact; the longest is a program to start with."""
PUT_FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?)"
TYPES = {"uint8", "int64", "uint64", "float64"}

CREATING = ".arz-creating-"
"""How the names of folders begin in which runs are made, before they get their own..."""
STALE_SECONDS = 60.0
"""...which takes much less than this."""


def _schema() -> dict[str, str]:
    """What creates each table."""
    found = {}
    for table, columns in TABLES.items():
        lines = [f"{name} {kinds[0]}{'' if 'NULL' in kinds else ' NOT NULL'}" for name, kinds in columns.items()]
        found[table] = f"CREATE TABLE {table} ({', '.join(lines)}, PRIMARY KEY ({KEYS[table]}))"
    return found


SCHEMA = _schema()


class Store:
    """The file of a run. Use `create` or `open`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock: int | None = None

    @property
    def folder(self) -> Path | None:
        """Of the run; None if it is in memory."""
        return self._database.folder

    @property
    def is_writable(self) -> bool:
        """Whether this process may write to it."""
        return self._database.is_writable

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._database.connection

    # ---- opening and closing ----

    @classmethod
    def create(cls, folder: str | Path | None, facts: Mapping[str, Any]) -> Store:
        """A new run in a new folder; in memory only, if there is no folder.

        Raises:
            FolderExistsError: the folder exists. Nothing is overwritten.
        """
        if folder is None:
            store = cls(Database(None, SCHEMA))
            _write_schema(store._connection, facts)
            return store
        path = Path(folder)
        if os.path.lexists(path):
            raise _exists(path)
        # Made aside and then renamed, so that a run is there as a whole or not at all.
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        with tempfile.TemporaryDirectory(prefix=CREATING, dir=path.parent) as aside, _locked(aside):
            made = Path(aside) / path.name
            made.mkdir()
            try:
                with contextlib.closing(sqlite3.connect(made / FILE, isolation_level=None)) as connection:
                    _write_schema(connection, facts)
                made.rename(path)
            except sqlite3.Error as error:
                raise RunError(sentence(error, path)) from error
            except OSError:
                if not os.path.lexists(path):
                    raise
                raise _exists(path) from None
        store = cls.open(path)
        store.lock()
        return store

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """The file of an existing run.

        Raises:
            RunError: there is none, or it is damaged, or another version of arz wrote it.
        """
        path = Path(folder)
        if not os.path.lexists(path):
            raise RunError(f"there is no run {path}")
        if not is_run(path):
            raise RunError(f"{path} is not a run: there is no {FILE} in it")
        store = cls(Database(path, SCHEMA))
        try:
            written = store.facts().get("format")
            if not isinstance(written, int):
                raise store.damage("it does not say which format it has")
            if written != FORMAT:
                age = "a newer" if written > FORMAT else "an older"
                raise RunError(f"{path} was written by {age} version of arz (format {written}, this reads {FORMAT})")
        except BaseException:
            store.close()
            raise
        return store

    def damage(self, reason: str) -> RunError:
        """What to raise when something in the file is not as it should be."""
        return RunError(f"{self.folder} is damaged: {reason}")

    def lock(self) -> None:
        """Makes sure that no other process evolves this run. The lock ends with the process, however it ends.

        Raises:
            RunError: another process has it.
        """
        if self.folder is None or self._lock is not None:
            return
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = None
            raise RunError(
                f"{self.folder} is being evolved by another process; wait for it to end, or stop it"
            ) from None
        self._database.begin_writing()
        with self._database.explaining():  # readers and the writer do not wait for each other
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Closes the file. After evolution has ended in order it is one single file, without a journal beside it."""
        if self._lock is not None:
            with contextlib.suppress(sqlite3.Error):  # not while somebody reads
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # ---- reading and writing ----

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        self._database.begin_writing()
        with self._database.explaining():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def set_facts(self, facts: Mapping[str, Any]) -> None:
        """Writes facts about the run."""
        self._connection.executemany(PUT_FACT, _fact_rows(facts))

    def facts(self) -> dict[str, Any]:
        """What is known about the run."""
        found = {}
        for row in self.rows("facts"):
            if len(row["value"]) > MOST_FACT:
                raise self.damage(f"the fact {row['name']!r} is too long")
            try:
                found[row["name"]] = json.loads(row["value"])
            except (ValueError, RecursionError):
                raise self.damage(f"the fact {row['name']!r} cannot be read") from None
        return found

    def add_rows(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Appends rows; one that is there already is replaced."""
        if rows:
            names = ", ".join(rows[0])
            places = ", ".join(f":{name}" for name in rows[0])
            self._connection.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})", rows)

    def rows(self, table: str, order: str = "rowid") -> list[dict[str, Any]]:
        """All rows of a table.

        Raises:
            RunError: a value is not of the type that its column has.
        """
        columns = TABLES[table]
        found = self._database.rows(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}")
        for name, kinds, values in zip(columns, columns.values(), zip(*found, strict=True), strict=False):
            allowed = tuple(kind for one in kinds for kind in PYTHON[one])
            if not all(isinstance(value, allowed) for value in values):
                raise self.damage(f"{name} in {table} holds something that does not belong there")
        return [dict(zip(columns, row, strict=True)) for row in found]

    def columns(self, table: str, order: str) -> dict[str, NDArray[np.float64]]:
        """A table of numbers, as arrays."""
        rows = self.rows(table, order)
        found = {name: np.array([row[name] for row in rows], np.float64) for name in (rows[0] if rows else {})}
        for name, values in found.items():
            if np.any((np.abs(values) > 1e18) & np.isfinite(values)):
                raise self.damage(f"{name} in {table} holds a number that cannot be")
        return found

    def change_lineage(self, change: Difference, origins: Mapping[int, str]) -> None:
        """Writes and forgets individuals; origins are what can make one, by number."""
        self._connection.executemany("DELETE FROM individuals WHERE number = ?", [(n,) for n in change.gone.tolist()])
        rows = [
            (
                number,
                None if parent < 0 else parent,
                None if parent < 0 else origins.get(mutation, "copy"),
                life,
                fitness,
            )
            for number, parent, mutation, life, fitness in change.new.tolist()
        ]
        self._connection.executemany("INSERT OR REPLACE INTO individuals VALUES (?, ?, ?, ?, ?)", rows)

    def lineage(self, origins: Mapping[int, str]) -> NDArray[np.void]:
        """The individuals that are kept."""
        number = {name: n for n, name in origins.items()}
        return as_rows(
            (
                row["number"],
                -1 if row["parent"] is None else row["parent"],
                number.get(row["mutation"], 255 if row["mutation"] else 0),
                row["life"],
                row["fitness"],
            )
            for row in self.rows("individuals", "number")
        )

    def set_checkpoint(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replaces the checkpoint."""
        rows = [
            (name, array.dtype.name, json.dumps(array.shape), np.ascontiguousarray(array).tobytes())
            for name, array in arrays.items()
        ]
        self._connection.execute("DELETE FROM checkpoint")
        self._connection.executemany("INSERT INTO checkpoint VALUES (?, ?, ?, ?)", rows)

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """The arrays of the last checkpoint.

        Raises:
            RunError: one of them is not what it says.
        """
        arrays: dict[str, NDArray[Any]] = {}
        for row in self.rows("checkpoint"):
            try:
                if row["type"] not in TYPES:
                    raise ValueError(row["type"])
                arrays[row["name"]] = np.frombuffer(row["data"], row["type"]).reshape(json.loads(row["shape"])).copy()
            except (TypeError, ValueError, OverflowError, RecursionError):
                raise self.damage(f"the checkpoint's {row['name']} cannot be read") from None
        return arrays


def _fact_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, json.dumps(value)) for name, value in facts.items()]


# ---- making a run ----


class FolderExistsError(RunError):
    """Where a new run should be, there is something already."""


def _exists(path: Path) -> FolderExistsError:
    return FolderExistsError(
        f"{path} exists already, and nothing is overwritten: choose another folder"
        + (f", or go on with arz resume {path}" if is_run(path) else "")
    )


def _write_schema(connection: sqlite3.Connection, facts: Mapping[str, Any]) -> None:
    connection.execute("BEGIN")
    for statement in SCHEMA.values():
        connection.execute(statement)
    connection.executemany(PUT_FACT, _fact_rows({"format": FORMAT, **facts}))
    connection.execute("COMMIT")


@contextlib.contextmanager
def _locked(folder: str | Path) -> Iterator[None]:
    """Holds the lock of a folder, which tells `_sweep` that it is in use.

    Raises:
        BlockingIOError: somebody else holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _sweep(parent: Path) -> None:
    """Removes folders in which processes that died had begun to make a run; nothing else can be in them."""
    for path in parent.glob(f"{CREATING}*"):
        with contextlib.suppress(OSError), _locked(path):
            if time.time() - path.stat().st_mtime < STALE_SECONDS:
                continue
            for made in [Path(entry) for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]:
                for end in ("", "-journal"):
                    (made / f"{FILE}{end}").unlink(missing_ok=True)
                made.rmdir()
            path.rmdir()
