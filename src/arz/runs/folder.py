"""The folder of a run, as those know it who do not open it."""

from __future__ import annotations

import os
from pathlib import Path

FILE = "run.sqlite"


class RunError(ValueError):
    """A run that cannot be used, with the reason as a sentence."""


def is_run(path: str | Path) -> bool:
    """Whether a path is the folder of a run, be it damaged or not; where nobody may look, opening it will tell."""
    try:
        os.lstat(Path(path) / FILE)
    except PermissionError:
        return True
    except (OSError, ValueError):  # it is not there, or cannot be: a name too long, a null character
        return False
    return True
