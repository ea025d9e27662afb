"""`arz prune`: a program as small as it can be."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arz import terminal
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.options import add_episode, add_import, add_json, add_source, add_threads
from arz.commands.printing import print_json, print_policy
from arz.commands.pruned import pruned_json, pruned_sentence
from arz.commands.sources import own_task, policy_and_known_task, program_of
from arz.runs.folder import is_run
from arz.runs.pruning import NAME, as_in_run, keep
from arz.runs.pruning import prune as smaller
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
        found = smaller(program, own_task(options, base), show=show, **how)
    keep(found, target)
    if options.json:
        print_json({**pruned_json(found, target), "program": str(found.program)})
        return
    print_policy(found.program)
    terminal.say(pruned_sentence(found, target))
