"""What a person sees in the terminal: it fits, it breaks no words, and nothing in it is obeyed."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from arz import terminal
from arz.plain import clean
from arz.runs.session import Progress
from arz.search.base import Metrics
from tests.runs_support import ARZ, small_options


def standing(score: float = 812.4, mean: float = 300.0) -> Progress:
    return Progress(Metrics(1000, 50_000, 300, 2, score, mean, score, score, 17), 90.0, 0.25, 12_345.0, 3.2e6)


def test_a_line_of_progress_loses_its_last_parts_where_there_is_no_room() -> None:
    whole = terminal.describe(standing())
    assert whole == "left 4m30s  best 812  mean 300  restarts 2  12.3k eval/s  hits 30%  living 812  3.2M steps/s"
    for width in range(1, 120):
        line = terminal.fitted(whole, width)
        assert len(line) <= width
        assert whole.startswith(line)
        assert line == whole or whole[len(line)] == " " or width < 10
    assert terminal.fitted(whole, 60).endswith("12.3k eval/s")


def test_what_is_no_score_is_not_shown_as_one() -> None:
    assert "best none  mean none" in terminal.describe(standing(float("-inf"), float("-inf")))


def test_it_is_told_when_nothing_better_was_found_for_long() -> None:
    assert "best 812 for 2m10s  " in terminal.describe(standing(), 130.0)
    assert "best 812  " in terminal.describe(standing(), 30.0)


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, *table: object) -> list[str]:
    monkeypatch.setattr(terminal, "console", lambda: Console(width=width, highlight=False))
    terminal.show_table(*table)  # type: ignore[arg-type]
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_table_fits_and_breaks_no_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    columns = ["method", "stationary", "force", "track_angle", "evaluations", "status"]
    rows = [
        ["a-rather-long-name-001", "970 (952 to 988)", "1", "2", "123,456", "it is damaged, and this is why"],
        ["b", *"12345"],
    ]
    lines = shown(
        monkeypatch, capsys, width, "A title that is longer than the table is wide", columns, rows, ["status"]
    )
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for word in (*columns, "a-rather-long-name-001", "970 (952 to 988)", "123,456", "damaged,"):
        assert word in text
    assert sum("a-rather-long-name-001" in line for line in lines) == {60: 3, 80: 2, 100: 2, 200: 1}[width]


def test_a_word_that_is_wider_than_the_terminal_is_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(monkeypatch, capsys, 40, "", ["run", "x"], [["n" * 100, "1"]], [])
    assert max(map(len, lines)) <= 40
    assert "".join(lines).count("n") == 101


def test_a_terminal_of_eighty_columns_has_a_bar_and_a_percentage(tmp_path: Path) -> None:
    primary, secondary = pty.openpty()
    subprocess.run(["stty", "cols", "80", "rows", "24"], stdin=secondary, check=True)
    command = [
        ARZ,
        "evolve",
        "cartpole-regularized",
        *small_options("20000"),
        "--output",
        str(tmp_path / "run"),
        "--no-test",
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=secondary, env={**os.environ, "TERM": "xterm"}
    )
    os.close(secondary)
    seen = b""
    try:
        while chunk := os.read(primary, 4096):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    assert process.wait(60) == 0
    text = seen.decode()
    assert "━" in text
    assert "%" in text
    assert "best " in text


def test_what_a_terminal_obeys_is_shown_as_an_escape() -> None:
    assert clean("a\tb\nc") == "a\tb\nc"
    assert clean("\x1b[2J\x9b\x07\r\u202e\udcff\u2028\x7f") == r"\x1b[2J\x9b\x07\x0d\u202e\xff\u2028\x7f"
    assert clean("grün ≤ 漢字 😀") == "grün ≤ 漢字 😀"
