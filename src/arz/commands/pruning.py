"""`arz prune`, and the ending of `arz evolve`: the champion as small as it can be."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from arz import terminal
from arz.cluster.ray_workers import RayWorkers
from arz.commands.common import (
    check_threads,
    own_task,
    policy_and_known_task,
    print_json,
    print_policy,
    refuse_existing,
)
from arz.files import write_whole
from arz.network import Network
from arz.runs.database import is_run
from arz.runs.pruning import Pruned, lines
from arz.runs.pruning import prune as pruned
from arz.runs.run import Run

NAME = "pruned.arz"
"""What a run's pruned champion is called, in its folder."""


def prune(options: argparse.Namespace) -> None:
    """Leaves out what a program does not need, and tunes the rest again."""
    check_threads(options.threads)
    if not 1 <= options.episodes <= 100_000:
        raise ValueError(f"--episodes must be 1 to 100000, not {options.episodes}")
    policy, base = policy_and_known_task(options)
    if isinstance(policy, Network):
        raise ValueError("a network has no lines: arz prune is for programs")
    target = Path(options.output) if options.output else Path(options.source) / NAME
    if not options.output and not is_run(options.source):
        raise ValueError("say where the smaller program of a file shall be written, with --output FILE")
    if options.output:
        refuse_existing(target)
    how: dict[str, Any] = {name: getattr(options, name) for name in ("tolerance", "generations", "episodes", "threads")}
    with terminal.bar(options.json) as show:
        found = pruned(policy, own_task(options, base), show=show, **how)
    keep(found, target)
    if options.json:
        print_json({**told(found, target), "program": str(found.program)})
        return
    print_policy(found.program)
    terminal.say(sentence(found, target))


def ending(run: Run, threads: int | None, hired: RayWorkers | None, is_silent: bool) -> tuple[Pruned, Path] | None:
    """The champion of a run as small as its configuration allows, in the folder of the run; None if it shall not be."""
    tolerance, champion = run.config.limits.prune, run.champion
    if not tolerance or run.folder is None or isinstance(champion, Network):
        return None
    with terminal.bar(is_silent) as show:
        found = pruned(
            champion,
            run.config.task,
            tolerance=tolerance,
            survival=getattr(run.config.search, "survival", 0.0),
            episodes=run.config.search.selection_episodes,
            seed=run.seed,
            threads=threads,
            workers=hired,
            show=lambda share, text: show(share, f"pruning: {text}"),
        )
    keep(found, run.folder / NAME)
    return found, run.folder / NAME


def keep(found: Pruned, path: Path) -> None:
    """Writes the smaller program.

    Raises:
        ValueError: a link is in the way.
    """
    if path.is_symlink():
        raise ValueError(f"{path} is a link, and nothing is written through links: remove it")
    write_whole(path, str(found.program))


def told(found: Pruned, path: Path) -> dict[str, Any]:
    """What there is to say of it, for other programs."""
    return {
        "lines": lines(found.program),
        "whole_lines": lines(found.whole),
        "score": found.score,
        "whole_score": found.whole_score,
        "file": str(path),
    }


def sentence(found: Pruned, path: Path) -> str:
    """The same in words."""
    return (
        f"Pruned: {lines(found.program)} of {lines(found.whole)} lines, with {found.score:.1f} in place of "
        f"{found.whole_score:.1f} on episodes of its own: {path}"
    )
