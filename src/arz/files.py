"""Writing files: each appears whole or not at all, and nothing inside a run leads out of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
    beside = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
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
