"""One run, one folder, one SQLite file: what is on disk.

Everything that belongs together is written in one transaction: a checkpoint, and all rows up to it. So the file is
always consistent, whatever happens at whatever moment, and a run that is killed goes on from its last checkpoint. The
file holds numbers and text, no code: a run from a stranger is safe to open. While a process evolves a run it holds a
lock on the folder; readers need none.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.runs.lineage import Difference, as_rows

FILE = "run.sqlite"
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
TYPES = {"uint8", "int64", "uint64", "float64"}


class RunError(ValueError):
    """A run that cannot be used, with the reason as a sentence."""


class Store:
    """The file of a run. Use `create` or `open`."""

    def __init__(self, connection: sqlite3.Connection, folder: Path | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock: int | None = None
        self.is_writable = True

    # ---- opening and closing ----

    @classmethod
    def create(cls, folder: str | Path | None, facts: Mapping[str, Any]) -> Store:
        """A new run in a new folder; in memory only, if there is no folder.

        Raises:
            RunError: the folder exists. Nothing is overwritten.
        """
        if folder is None:
            store = cls(_connect(":memory:"), None)
            store._write_schema(facts)
            return store
        path = Path(folder)
        if os.path.lexists(path):
            raise RunError(
                f"{path} exists already, and nothing is overwritten: choose another folder"
                + (f", or go on with arz resume {path}" if is_run(path) else "")
            )
        # Made aside and then renamed, so that a run is there as a whole or not at all.
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as aside:
            made = Path(aside) / path.name
            made.mkdir()
            store = cls(_connect(str(made / FILE)), path)
            try:
                store._write_schema(facts)
            finally:
                store._connection.close()
            made.rename(path)
        store = cls.open(path)
        store.lock()
        return store

    def _write_schema(self, facts: Mapping[str, Any]) -> None:
        with self.transaction():
            for table, columns in TABLES.items():
                lines = [
                    f"{name} {kinds[0]}{'' if 'NULL' in kinds else ' NOT NULL'}" for name, kinds in columns.items()
                ]
                self._connection.execute(f"CREATE TABLE {table} ({', '.join(lines)}, PRIMARY KEY ({KEYS[table]}))")
            self.set_facts({"format": FORMAT, **facts})

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """The file of an existing run.

        Raises:
            RunError: there is none, or it is damaged, or another version of arz wrote it.
        """
        path = Path(folder)
        if not path.exists():
            raise RunError(f"there is no run {path}")
        if not (path / FILE).is_file():
            raise RunError(f"{path} is not a run: there is no {FILE} in it")
        mode = "rw" if os.access(path / FILE, os.W_OK) and os.access(path, os.W_OK) else "ro"
        store = cls(_connect((path / FILE).resolve().as_uri() + f"?mode={mode}", uri=True), path)
        written = store.facts().get("format")
        if not isinstance(written, int):
            raise store.damage("it does not say which format it has")
        if written > FORMAT:
            raise RunError(f"{path} was written by a newer version of arz (format {written}, this one reads {FORMAT})")
        if written < FORMAT:
            raise RunError(f"{path} was written by an older version of arz (format {written}, this one reads {FORMAT})")
        store.is_writable = mode == "rw"
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
        with self.explaining():  # readers and the writer do not wait for each other
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Closes the file. After evolution has ended in order it is one single file, without a journal beside it."""
        if self._lock is not None:
            with contextlib.suppress(sqlite3.Error):  # not while somebody reads
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # ---- reading and writing ----

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing."""
        with self.explaining():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Turns what SQLite has to say into a sentence."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            where = self.folder or "the run"
            text = str(error)
            if "full" in text:
                reason = f"the disk of {where} is full; free some space, then continue with arz resume {where}"
            elif "locked" in text:
                reason = f"{where} is in use by another process"
            elif "readonly" in text:
                reason = f"{where} cannot be written to"
            elif isinstance(error, sqlite3.OperationalError) and ("disk I/O" in text or "unable to open" in text):
                reason = f"{where} cannot be read or written ({text})"
            else:
                reason = f"{where} is damaged or not a run of arz ({text})"
            raise RunError(reason) from error

    def set_facts(self, facts: Mapping[str, Any]) -> None:
        """Writes facts about the run."""
        rows = [(name, json.dumps(value)) for name, value in facts.items()]
        self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)

    def facts(self) -> dict[str, Any]:
        """What is known about the run."""
        found = {}
        for row in self.rows("facts"):
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
        with self.explaining():
            found = list(self._connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"))
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

    def change_lineage(self, change: Difference, names: tuple[str, ...]) -> None:
        """Writes and forgets individuals."""
        self._connection.executemany("DELETE FROM individuals WHERE number = ?", [(n,) for n in change.gone.tolist()])
        rows = [
            (number, None if parent < 0 else parent, None if parent < 0 else _name(names, mutation), life, fitness)
            for number, parent, mutation, life, fitness in change.new.tolist()
        ]
        self._connection.executemany("INSERT OR REPLACE INTO individuals VALUES (?, ?, ?, ?, ?)", rows)

    def lineage(self, names: tuple[str, ...]) -> NDArray[np.void]:
        """The individuals that are kept."""
        number = {name: n for n, name in enumerate(names)}
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


def is_run(path: str | Path) -> bool:
    """Whether a path is the folder of a run."""
    return (Path(path) / FILE).is_file()


def _name(names: tuple[str, ...], mutation: int) -> str:
    return names[mutation] if mutation < len(names) else "copy"


def _connect(name: str, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(name, uri=uri, isolation_level=None, timeout=30.0, check_same_thread=False)
