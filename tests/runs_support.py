"""Small runs for tests, and everything that is in the file of a run but the times."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import arz
from arz.cli import main
from arz.runs.config import Config

ARZ = str(Path(sys.executable).parent / "arz")

SMALL: dict[str, Any] = {
    "islands": 2,
    "population": 40,
    "lag": 20,
    "tournament": 5,
    "episodes": 8,
    "validate_every": 200,
    "validation_episodes": 16,
    "restart_after": 800,
    "steps": 300,
    "lineage": 500,
    "cache": 2000,
}


def small(budget: str = "6000", **changes: Any) -> Config:
    return arz.preset("cartpole-regularized", **{**SMALL, "budget": budget, **changes})


GROWING: dict[str, Any] = {
    "population": 6,
    "samples": 6,
    "rung": 3,
    "offspring": 3,
    "episodes": 4,
    "validate_every": 150,
    "validation_episodes": 8,
    "restart_after": 4000,
    "steps": 200,
    "lineage": 500,
}
"""A small search that grows and tunes."""


def small_options(budget: str = "6000", fields: dict[str, Any] = SMALL) -> list[str]:
    fields = {**fields, "budget": budget}
    return [word for name, value in fields.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def arz_here(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What a command gives, without a process of its own."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def wait_until_busy(process: subprocess.Popen[Any], seconds: float) -> None:
    """Waits until a process has computed for so long, from now on, however slow the machine is; or until it ends."""
    place = Path(f"/proc/{process.pid}/stat")

    def spent() -> float:
        fields = place.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    if not place.exists():  # no Linux
        time.sleep(2 * seconds)
        return
    until = spent() + seconds
    while process.poll() is None and spent() < until:
        time.sleep(0.01)


def content(folder: str | Path) -> dict[str, Any]:
    """Everything in the file of a run but the times."""
    connection = sqlite3.connect(Path(folder) / "run.sqlite")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, Any] = {}
    for table in tables:
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        rows = [{name: value for name, value in zip(names, row, strict=True) if name != "seconds"} for row in cursor]
        if table == "facts":
            rows = [row for row in rows if row["name"] not in ("created", "seconds")]
        found[table] = sorted(rows, key=repr)
    connection.close()
    return found
