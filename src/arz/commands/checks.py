"""What several commands refuse before anything is made."""

from __future__ import annotations

from pathlib import Path


def check_episode(number: int) -> None:
    """Refuses what cannot be."""
    if not 0 <= number < 2**62:
        raise ValueError("--episode must be 0 or more, and below 2**62")


def check_threads(threads: int | None) -> None:
    """Refuses what cannot be, before anything is made."""
    if threads is not None and not 1 <= threads <= 1024:
        raise ValueError(f"expected 1 to 1024 threads, got {threads}")


def refuse_existing(path: str | Path | None) -> None:
    """Nothing is overwritten."""
    if path and Path(path).exists():
        raise ValueError(f"{path} exists already, and nothing is overwritten: choose another name")
