"""Files of strangers: only regular ones are opened, no more is read than asked for, and all else is a sentence."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from arz.cli import main
from arz.files import MOST_WIDE, read_bytes, read_stream, read_text
from arz.network import MAX_BYTES, Network
from arz.parser import read
from arz.policy import load_policy
from arz.program import Program
from arz.tokens import MAX_CHARACTERS

READERS = [Program.load, Network.load, load_policy, lambda path: read_text(path, 100)]


class Endless(io.RawIOBase):
    """Zeros without end, and how many of them were taken."""

    taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        self.taken += len(buffer)
        buffer[:] = bytes(len(buffer))
        return len(buffer)


def buffered(endless: Endless, size: int = 8192) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, endless), size))


def test_a_text_comes_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\xc3\xa4\n")
    assert read_text(tmp_path / "a", 10) == "aä\n"
    assert read_text(str(tmp_path / "a"), 7) == "aä\n"


@pytest.mark.parametrize("load", READERS)
@pytest.mark.parametrize("kind", ["fifo", "folder", "device"])
def test_what_is_not_a_regular_file_is_not_even_opened(kind: str, load: object, tmp_path: Path) -> None:
    """To open a pipe that nobody writes to would wait for ever."""
    path = tmp_path / "odd\x1b.arz"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = Path("/dev/zero")
    with pytest.raises(
        ValueError, match="is a folder" if kind == "folder" else "not a regular file.* standard input, -$"
    ) as caught:
        load(path)  # type: ignore[operator]
    assert str(caught.value).isprintable()


def test_what_is_too_large_or_not_text_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 11)
    assert len(read_bytes(path, 5)) == 6
    with pytest.raises(ValueError, match=r"a\.txt, line 1: expected at most 10 bytes, found more"):
        read_text(path, 10)
    path.write_bytes(b"x\n\ny\xff")
    with pytest.raises(ValueError, match=r"a\.txt, line 3: expected text in UTF-8"):
        read_text(path, 10)
    path.write_bytes(b"x" * MOST_WIDE + "ä".encode())
    with pytest.raises(ValueError, match=r"a\.txt, line 1: expected ASCII"):
        read_text(path, 2 * MOST_WIDE)


def test_an_open_file_is_read_no_further_than_its_limit() -> None:
    endless = Endless()
    assert read_stream(buffered(endless, 16), 1000) == bytes(1001)
    assert endless.taken <= 1001 + 16
    with pytest.raises(ValueError, match=f"at most {MAX_CHARACTERS}"):
        read(buffered(Endless()), "odd")


def test_standard_input_is_read_no_further_than_its_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = Endless()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffered(endless)))
    assert main(["show", "-"]) == 2
    assert "standard input, line 1: expected at most" in capsys.readouterr().err
    assert endless.taken <= MAX_BYTES + (1 << 20)
