"""`arz prune`, and the ending of `arz evolve`: the champion as small as it can be."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arz import terminal
from arz.cluster.ray_workers import RayWorkers
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.options import add_episode, add_import, add_json, add_source, add_threads
from arz.commands.printing import print_json, print_policy
from arz.commands.sources import own_task, policy_and_known_task, program_of
from arz.runs.database import is_run
from arz.runs.pruning import NAME, Pruned, as_in_run, at_end, keep, lines
from arz.runs.pruning import prune as pruned
from arz.runs.run import Run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser)
    parser.add_argument(
        "--tolerance", type=float, help="the share of the score that may be lost (default: as in the run, or 0.01)"
    )
    parser.add_argument("--generations", type=int, help="of tuning, each time lines were left out (default: 40)")
    parser.add_argument("--episodes", type=int, help="how many episodes decide (default: as in the run, or 100)")
    parser.add_argument("--output", metavar="FILE", help="a new file (default for a run: pruned.arz in it)")
    add_threads(parser)
    add_episode(parser, which=False)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Leaves out what a program does not need, and tunes the rest again."""
    check_threads(options.threads)
    if options.episodes is not None and not 1 <= options.episodes <= 100_000:
        raise ValueError(f"--episodes must be 1 to 100000, not {options.episodes}")
    policy, base = policy_and_known_task(options)
    program = program_of(policy, f"{policy.title} has no lines: arz prune is for programs")
    if not options.output and not is_run(options.source):
        raise ValueError("say where the smaller program of a file shall be written, with --output FILE")
    target = Path(options.output) if options.output else Path(options.source) / NAME
    refuse_existing(target)
    how: dict[str, Any] = {}
    if is_run(options.source):
        with Run.open(options.source) as run:
            how = as_in_run(run)
    asked = {name: getattr(options, name) for name in ("tolerance", "generations", "episodes", "threads")}
    how |= {name: value for name, value in asked.items() if value is not None}
    with terminal.bar(options.json) as show:
        found = pruned(program, own_task(options, base), show=show, **how)
    keep(found, target)
    if options.json:
        print_json({**told(found, target), "program": str(found.program)})
        return
    print_policy(found.program)
    terminal.say(sentence(found, target))


def ending(run: Run, threads: int | None, pool: RayWorkers | None, is_silent: bool) -> tuple[Pruned, Path] | None:
    """The champion of a run as small as its configuration allows, in the folder of the run; None if it shall not be."""
    if not run.config.limits.prune:
        return None
    with terminal.bar(is_silent) as show:
        return at_end(run, threads=threads, workers=pool, show=show)


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
