"""How long it takes until a command has said what it has to say, in a fresh process each time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

Row = Callable[..., None]
Best = Callable[..., list[float]]
ROUNDS = 20
ARZ = str(Path(sys.executable).with_name("arz"))
PROGRAM = str(Path(__file__).parent.parent / "examples" / "paper_cartpole.arz")
STARTS = {
    "python -c pass": ([sys.executable, "-c", "pass"], ""),
    "python -c 'import numpy'": ([sys.executable, "-c", "import numpy"], ""),
    "python -c 'import arz'": ([sys.executable, "-c", "import arz"], ""),
    "arz --version": ([ARZ, "--version"], "goal < 100 ms"),
    "arz --help": ([ARZ, "--help"], ""),
    "arz show FILE": ([ARZ, "show", PROGRAM], "goal < 250 ms"),
    "arz explain FILE": ([ARZ, "explain", PROGRAM], ""),
    "arz evolve --help": ([ARZ, "evolve", "--help"], ""),
    "arz runs": ([ARZ, "runs", str(Path(__file__).parent)], ""),
}
"""What is started, and what it is held to."""


def starts(row: Row, best: Best) -> None:
    """Each in turn, with what Python keeps of modules that it has read."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = partial(subprocess.run, stdout=subprocess.DEVNULL, check=True, env=settings)
    times = best(*(partial(start, command) for command, _ in STARTS.values()), rounds=ROUNDS)
    for (name, (_, goal)), spent in zip(STARTS.items(), times, strict=True):
        row(f"a fresh process: {name}", f"{spent * 1e3:.0f} ms", None, goal)
