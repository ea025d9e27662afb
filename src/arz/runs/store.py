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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz.runs.lineage import Difference, as_rows

FILE = "run.sqlite"
FORMAT = 1

SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE metrics (
    evaluations INTEGER PRIMARY KEY, steps INTEGER, hits INTEGER, restarts INTEGER, best_fitness REAL,
    mean_fitness REAL, life_score REAL, champion_score REAL, champion INTEGER, seconds REAL);
CREATE TABLE individuals (
    number INTEGER PRIMARY KEY, parent INTEGER, mutation TEXT, life INTEGER, fitness REAL);
CREATE TABLE champions (
    number INTEGER, evaluations INTEGER PRIMARY KEY, fitness REAL, score REAL, program TEXT);
CREATE TABLE checkpoint (name TEXT PRIMARY KEY, type TEXT, shape TEXT, data BLOB);
CREATE TABLE tests (
    champion INTEGER, change TEXT, task TEXT, variant TEXT, seed INTEGER, episodes INTEGER, mean REAL, completed REAL,
    returns BLOB, PRIMARY KEY (champion, change, task, variant, seed, episodes));
"""

TYPES = {"uint8", "int64", "uint64", "float64"}


class RunError(ValueError):
    """A run that cannot be used, with the reason as a sentence."""


class Store:
    """The file of a run. Use `create` or `open`."""

    def __init__(self, connection: sqlite3.Connection, folder: Path | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock: int | None = None

    # ---- opening and closing ----

    @classmethod
    def create(cls, folder: str | Path | None, facts: Mapping[str, Any]) -> Store:
        """A new run in a new folder; in memory only, if there is no folder.

        Raises:
            RunError: the folder exists. Nothing is overwritten.
        """
        path = None if folder is None else Path(folder)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                path.mkdir()
            except FileExistsError:
                raise RunError(
                    f"{path} exists already, and nothing is overwritten: "
                    f"choose another --output, or go on with arz resume {path}"
                ) from None
        store = cls(_connect(":memory:" if path is None else str(path / FILE)), path)
        with store.explaining():
            store.lock()
            with store.transaction():
                for statement in SCHEMA.split(";"):
                    store._connection.execute(statement)
                store.set_facts({"format": FORMAT, **facts})
        return store

    @classmethod
    def open(cls, folder: str | Path) -> Store:
        """The file of an existing run.

        Raises:
            RunError: there is none, or it is damaged, or a newer version of arz wrote it.
        """
        path = Path(folder)
        if not (path / FILE).is_file():
            raise RunError(f"{path} is not a run: there is no {FILE} in it")
        mode = "rw" if os.access(path / FILE, os.W_OK) and os.access(path, os.W_OK) else "ro"
        store = cls(_connect((path / FILE).resolve().as_uri() + f"?mode={mode}", uri=True), path)
        with store.explaining():
            written = store.facts().get("format")
        if not isinstance(written, int) or written > FORMAT:
            raise RunError(f"{path} was written by a newer version of arz (format {written}, this one reads {FORMAT})")
        return store

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
        with self.explaining():
            return {name: _json(value) for name, value in self._connection.execute("SELECT name, value FROM facts")}

    def add_rows(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Appends rows; one that is there already is replaced."""
        if rows:
            names = ", ".join(rows[0])
            places = ", ".join(f":{name}" for name in rows[0])
            self._connection.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})", rows)

    def rows(self, table: str, order: str = "rowid") -> list[dict[str, Any]]:
        """All rows of a table."""
        with self.explaining():
            cursor = self._connection.execute(f"SELECT * FROM {table} ORDER BY {order}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def columns(self, table: str, order: str) -> dict[str, NDArray[np.float64]]:
        """A table of numbers, as arrays."""
        rows = self.rows(table, order)
        try:
            return {name: np.array([row[name] for row in rows], np.float64) for name in (rows[0] if rows else {})}
        except (TypeError, ValueError):
            raise RunError(f"{self.folder} is damaged: {table} holds something that is not a number") from None

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
        with self.explaining():
            rows = self._connection.execute(
                "SELECT number, parent, mutation, life, fitness FROM individuals ORDER BY number"
            )
            return as_rows(
                (n, -1 if p is None else p, number.get(m, 255 if m else 0), life, f) for n, p, m, life, f in rows
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
        with self.explaining():
            for name, kind, shape, data in self._connection.execute("SELECT * FROM checkpoint"):
                try:
                    if kind not in TYPES:
                        raise ValueError(kind)
                    arrays[name] = np.frombuffer(data, kind).reshape(json.loads(shape)).copy()
                except (TypeError, ValueError):
                    raise RunError(f"{self.folder} is damaged: the checkpoint's {name} cannot be read") from None
        return arrays


def is_run(path: str | Path) -> bool:
    """Whether a path is the folder of a run."""
    return (Path(path) / FILE).is_file()


def _name(names: tuple[str, ...], mutation: int) -> str:
    return names[mutation] if mutation < len(names) else "copy"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


def _connect(name: str, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(name, uri=uri, isolation_level=None, timeout=30.0, check_same_thread=False)
