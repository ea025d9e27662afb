"""Files: what is read may come from a stranger, and what is written appears whole or not at all.

What a file is and how long it is is known before it is read. Nothing that is written into a run leads out of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from arz.plain import printable

MOST_WIDE = 1 << 20
"""Larger texts must be ASCII: one letter beyond it makes all of a text take four times the room."""


class NotTextError(ValueError):
    """Bytes that are not text, and the line where that shows."""

    def __init__(self, problem: str, source: str, line: int) -> None:
        self.problem, self.line = problem, line
        super().__init__(f"{source}, line {line}: {problem}")


def read_text(path: str | Path, most: int) -> str:
    """The text of a file of at most so many bytes, in UTF-8, without a byte order mark.

    Raises:
        ValueError: it is not a regular file, it is too large, or it is not text.
        OSError: it cannot be read.
    """
    return decoded(read_bytes(path, most), printable(str(path)), most)


def read_bytes(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file; one more than `most` if it has more, so that the caller can tell.

    Nothing else is opened: a pipe may never begin, and a device never end.

    Raises:
        ValueError: it is not a regular file.
        OSError: it cannot be read.
    """
    _check_kind(os.stat(path).st_mode, path)
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
        _check_kind(os.fstat(file.fileno()).st_mode, path)  # it may have become another one
        return read_stream(file, most)


def read_stream(file: BinaryIO, most: int) -> bytes:
    """What an open file gives, standard input for instance, at most one byte more than `most`."""
    return file.read(most + 1)


def decoded(data: bytes, source: str, most: int) -> str:
    """Bytes as text. `source` names them in errors.

    Raises:
        NotTextError: there are more than `most`, or they are not text.
    """
    if len(data) > most:
        raise NotTextError(f"expected at most {most} bytes, found more", source, 1)
    if len(data) > MOST_WIDE and not data.isascii():
        raise NotTextError(f"expected ASCII, as in all texts of more than {MOST_WIDE} bytes", source, 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotTextError("expected text in UTF-8, found other bytes", source, line) from None


def _check_kind(mode: int, path: str | Path) -> None:
    name = printable(str(path))
    if stat.S_ISDIR(mode):
        raise ValueError(f"{name} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{name} is not a regular file: hand over what a pipe or a device gives as standard input, -")


@contextmanager
def safe_path() -> Iterator[None]:
    """Processes of Python that start here do not look for modules in the working directory: it may be a stranger's."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextmanager
def out_of_working_directory() -> Iterator[None]:
    """Libraries that look for modules or settings in the working directory when they begin look at the root here."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(os.sep)
        with safe_path():
            yield
    finally:
        os.fchdir(before)
        os.close(before)


# ---- writing ----


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place to write to, which becomes `path` if all goes well, and vanishes otherwise.

    A link of that name is replaced, and not followed.

    Raises:
        ValueError: there is no folder to write into.
        OSError: the folder or the disk refuses; the error names `path`.
    """
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} to write {path.name!r} into; create it first.")
    beside = path.with_name(f".{path.stem}.{os.urandom(4).hex()}{path.suffix}")
    try:
        beside.touch(exist_ok=False)
        yield beside
        os.replace(beside, path)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(beside), beside):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Writes a text, all of it or nothing."""
    with whole_file(path) as beside:
        beside.write_text(text, encoding="utf-8")


def folder_inside(run: Path, name: str) -> Path:
    """The folder of this name inside a run, to write into; it need not be there yet.

    A run may come from a stranger: what is written into it must not end up elsewhere.

    Raises:
        ValueError: what has this name is a link, or no folder.
    """
    folder = run / name
    if folder.is_symlink():
        raise ValueError(
            f"{folder} is a link, and what is written into a run stays there: remove the link, or write elsewhere"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: move it away")
    return folder
