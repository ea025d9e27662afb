"""What `arz prune` says of a smaller program, and the end of `arz evolve` and `arz resume`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arz import terminal
from arz.runs.pruning import Pruned, at_end, lines
from arz.runs.run import Run

if TYPE_CHECKING:
    from arz.cluster.ray_workers import RayWorkers


def prune_at_end(run: Run, threads: int | None, pool: RayWorkers | None, is_silent: bool) -> tuple[Pruned, Path] | None:
    """The champion of a run as small as its configuration allows, in the folder of the run; None if it shall not be."""
    if not run.config.limits.prune:
        return None
    with terminal.bar(is_silent) as show:
        return at_end(run, threads=threads, workers=pool, show=show)


def pruned_json(found: Pruned, path: Path) -> dict[str, Any]:
    """What there is to say of it, for other programs."""
    return {
        "lines": lines(found.program),
        "whole_lines": lines(found.whole),
        "score": found.score,
        "whole_score": found.whole_score,
        "file": str(path),
    }


def pruned_sentence(found: Pruned, path: Path) -> str:
    """The same in words."""
    return (
        f"Pruned: {lines(found.program)} of {lines(found.whole)} lines, with {found.score:.1f} in place of "
        f"{found.whole_score:.1f} on episodes of its own: {path}"
    )
