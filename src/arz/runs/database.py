"""The SQLite file of a run that may come from a stranger.

SQLite does what a file says: a journal beside it can name another file to delete, a view can have endless rows, a
trigger can change what is written. So nothing of it is trusted before it was looked at. The files must be files of the
folder itself; a journal must not name another file; the tables must be those that a run has, and nothing beside them.
What is read must not be more than the files on disk can hold. Readers cannot write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arz.runs.folder import FILE, RunError

BESIDE = ("-journal", "-wal", "-shm")
"""What the names of files end in that SQLite keeps beside it."""
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""A journal that ends so names another file, which SQLite deletes. A run has one file: its journals never do."""
LONGEST_PATH = 500
"""SQLite takes no longer paths, in bytes."""
STEPS_AT_ONCE = 20_000
"""After so many steps of its machine SQLite asks whether to go on; Ctrl-C is heard then."""
LEAST_STEPS, STEPS_PER_BYTE = 2_000_000, 20
LEAST_BYTES = 2**20
"""What reading may take, beside what the size of the files explains."""
ROW_BYTES = 4
"""What a row takes in a file beside its values, at the least."""
MOST_HOLES = 64
"""A file may seem larger than the disk space it takes by this factor: some disks compress."""
TOO_MUCH = "is damaged: it holds more than its file can"


class Database:
    """A connection to the file of a run; read-only until `begin_writing`.

    Args:
        folder: of the run; None for one in memory.
        schema: what creates each table. A file with other tables, or with anything beside them, is refused.
    """

    def __init__(self, folder: Path | None, schema: Mapping[str, str]) -> None:
        self.folder = folder
        self._schema = schema
        self._steps_left = 0
        if folder is None:
            self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._is_writing = True
        else:
            self._is_writing = False
            self._connect()

    @property
    def is_writable(self) -> bool:
        """Whether this process may write to it."""
        return self.folder is None or all(os.access(path, os.W_OK) for path in (self.folder, self.folder / FILE))

    def begin_writing(self) -> None:
        """Allows writing from now on.

        Raises:
            RunError: the file must not be written to, or is damaged.
        """
        if self._is_writing or self.folder is None:
            return
        if not self.is_writable:
            raise RunError(f"{self.folder} cannot be written to")
        _check_names(self.folder)
        if os.stat(self.folder / FILE).st_size > _bytes_of(self.folder / FILE):
            raise RunError(f"{self.folder} is damaged (its file is mostly holes)")
        self.connection.close()
        self._is_writing = True
        self._connect()
        found = self.rows("PRAGMA quick_check(1)")
        if found != [("ok",)]:
            raise RunError(f"{self.folder} is damaged ({str(found[0][0]).splitlines()[-1] if found else 'all of it'})")

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            RunError: the file is damaged, or holds more than it can.
        """
        found: list[tuple[Any, ...]] = []
        room = LEAST_BYTES + self._bytes_on_disk()
        with self._bounded(), self.explaining():
            for row in self.connection.execute(statement):
                room -= ROW_BYTES + sum(len(value) if isinstance(value, str | bytes) else 1 for value in row)
                if room < 0 and self.folder is not None:
                    raise RunError(f"{self.folder} {TOO_MUCH}")
                found.append(row)
        return found

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Turns what SQLite has to say into a sentence."""
        try:
            yield
        except sqlite3.Error as error:
            if "interrupted" in str(error) and self._steps_left >= 0:
                raise KeyboardInterrupt from None  # SQLite swallows what is raised while it asks whether to go on
            raise RunError(sentence(error, self.folder)) from error

    # ---- connecting ----

    def _connect(self) -> None:
        assert self.folder is not None
        _check_files(self.folder)
        if not self._is_writing:
            self._roll_back()
        with self.explaining():
            self.connection = _connect(self.folder, "rw" if self._is_writing else _reading_mode(self.folder))
        try:
            self._protect()
            self._check_schema()
        except BaseException:
            self.connection.close()
            raise

    def _roll_back(self) -> None:
        """Lets SQLite undo what a process that died had begun to write: a reader must not, and so could not read."""
        assert self.folder is not None
        if (self.folder / f"{FILE}-journal").exists() and self.is_writable:
            _check_names(self.folder)
            with self.explaining(), contextlib.closing(_connect(self.folder, "rw")) as connection:
                connection.execute("SELECT name FROM sqlite_master").fetchone()

    def _protect(self) -> None:
        if not self._is_writing:
            self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(10**9, LEAST_BYTES + self._bytes_on_disk()))
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        with self._bounded(), self.explaining():
            for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
                self.connection.execute(f"PRAGMA {setting}")
            if not self._is_writing:
                self.connection.execute("PRAGMA query_only = ON")

    def _check_schema(self) -> None:
        expected = {("table", name, name, text) for name, text in self._schema.items()}
        found = self.rows("SELECT type, name, tbl_name, sql FROM sqlite_master")
        own = [row for row in found if row[:2] != ("index", f"sqlite_autoindex_{row[2]}_1") or row[3] is not None]
        if len(own) != len(expected) or set(own) != expected:
            raise RunError(f"{self.folder} is damaged or not a run of arz (its tables are not those of a run)")

    # ---- how much may be read ----

    def _bytes_on_disk(self) -> int:
        if self.folder is None:
            return 0
        return sum(_bytes_of(self.folder / f"{FILE}{end}") for end in ("", "-wal"))

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        """What is asked of SQLite here is stopped when it takes more steps than the size of the files explains."""
        self._steps_left = LEAST_STEPS + STEPS_PER_BYTE * self._bytes_on_disk()
        self.connection.set_progress_handler(self._is_too_much if self.folder else None, STEPS_AT_ONCE)
        try:
            yield
        finally:
            self.connection.set_progress_handler(None, 0)

    def _is_too_much(self) -> bool:
        self._steps_left -= STEPS_AT_ONCE
        return self._steps_left < 0


def sentence(error: sqlite3.Error, folder: Path | None) -> str:
    """What SQLite has to say about the run of a folder."""
    where, text = folder or "the run", str(error)
    if "full" in text:
        return f"the disk of {where} is full; free some space, then continue with arz resume {where}"
    if "locked" in text:
        return f"{where} is in use by another process"
    if "readonly" in text:
        return f"{where} cannot be written to"
    if "interrupted" in text:
        return f"{where} {TOO_MUCH}"
    if isinstance(error, sqlite3.OperationalError) and ("disk I/O" in text or "unable to open" in text):
        return f"{where} cannot be read or written ({text})"
    return f"{where} is damaged or not a run of arz ({text})"


def check_plain(path: Path) -> None:
    """Makes sure that a file of SQLite's that is not a run's can be handed over to who made it.

    Raises:
        RunError: it is not a file of its folder, a journal beside it names another file, or it has views or triggers.
    """
    _check_files(path.parent, path.name)
    if path.exists():
        try:
            with contextlib.closing(_connect(path.parent, _reading_mode(path.parent, path.name), path.name)) as found:
                odd = found.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
        except sqlite3.Error as error:
            raise RunError(f"{path} cannot be used ({error})") from None
        if odd is not None:
            raise RunError(f"{path} is not safe to open: it has views or triggers")


def _check_files(folder: Path, name: str = FILE) -> None:
    """Refuses what SQLite must not see.

    Raises:
        RunError: a file is not a file of the folder, or a journal names another file.
    """
    for end in ("", *BESIDE):
        path = folder / f"{name}{end}"
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise RunError(f"{folder} cannot be read ({reason})") from None
        if stat.S_ISLNK(mode):
            raise RunError(f"{path} is a link, and nothing is followed out of the folder of a run: copy the file there")
        if not stat.S_ISREG(mode):
            raise RunError(f"{path} is not a file")
    if len(os.fsencode(folder.absolute() / name)) > LONGEST_PATH:
        raise RunError(f"the path of {folder} is longer than {LONGEST_PATH} bytes, which SQLite does not take: move it")
    with contextlib.suppress(FileNotFoundError), _opened(folder / f"{name}-journal") as journal:
        header, size = journal.read(28).ljust(28, b"\0"), os.fstat(journal.fileno()).st_size
        journal.seek(max(0, size - len(JOURNAL_MAGIC)))
        if journal.read() == JOURNAL_MAGIC:
            raise RunError(f"{folder} is not safe to open: its journal names another file, and that would be deleted")
        pages, page_size = struct.unpack(">16xI4xI", header)  # what the file had, and will have again
        if pages * page_size > MOST_HOLES * (size + _bytes_of(folder / name)) + LEAST_BYTES:
            raise RunError(f"{folder} is damaged: its journal is not of this file")


def _check_names(folder: Path) -> None:
    if os.stat(folder / FILE).st_nlink > 1:
        raise RunError(f"{folder / FILE} is in other folders too (a hard link): copy the run, then go on")


def _bytes_of(path: Path) -> int:
    """How much a file can hold: its size, but not that of holes, which take no disk space."""
    try:
        found = os.stat(path)
    except OSError:
        return 0
    return min(found.st_size, MOST_HOLES * 512 * found.st_blocks) if found.st_blocks else found.st_size


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror})") from None
    with file:
        yield file


def _reading_mode(folder: Path, name: str = FILE) -> str:
    """Read-only; where nothing can be written and nobody writes, SQLite is told that nothing will change."""
    is_still = not os.access(folder, os.W_OK) and not (folder / f"{name}-wal").exists()
    return "ro&immutable=1" if is_still else "ro"


def _connect(folder: Path, mode: str, name: str = FILE) -> sqlite3.Connection:
    where = f"{(folder.absolute() / name).as_uri()}?mode={mode}"
    return sqlite3.connect(where, uri=True, isolation_level=None, timeout=30.0, check_same_thread=False)
