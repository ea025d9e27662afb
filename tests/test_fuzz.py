"""The fuzzer of run folders and texts: a few cases here, many under `make soak`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import SOAK

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(("what", "count", "part"), [("runs", 20, 0), ("runs", 20, 1), ("texts", 3000, 0)])
def test_what_strangers_spoil_is_refused_or_read(what: str, count: int, part: int) -> None:
    count *= SOAK
    arguments = [what, "--first", str(part * count), "--count", str(count)]
    done = subprocess.run([sys.executable, "-m", "tests.fuzz", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told, figures = done.stdout.splitlines()
    print(figures)
    found = json.loads(told)
    if what == "runs":
        assert found["exit 0"] > count, "some commands work on what is a little spoilt"
        assert found["exit 2"] > count
    else:
        assert not any("without a sentence" in name for name in found)
        assert all(
            found[f"{kind}: read"] and found[f"{kind}: refused"]
            for kind in ("program", "configuration", "change", "budget")
        )
