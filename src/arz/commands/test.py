"""`arz test`: how a policy does in the tests of its task."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arz import terminal
from arz.analysis import figures
from arz.commands.backend import workers
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.options import (
    add_backend,
    add_environment,
    add_import,
    add_json,
    add_source,
    add_threads,
    add_variant,
)
from arz.commands.printing import print_json, print_tests, result_rows, returns
from arz.commands.sources import check_own_environment, checked_variant, policy_and_known_task, with_prefix
from arz.evaluate import TEST_SEED
from arz.plotting import style
from arz.runs.folder import is_run
from arz.runs.run import Run
from arz.tasks import Task
from arz.testing import assess


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser)
    parser.add_argument("--episodes", type=int, default=100, help="how many of each (default: 100)")
    parser.add_argument(
        "--seed", type=int, default=TEST_SEED, help="which episodes; the same for every program (default: 0)"
    )
    parser.add_argument(
        "--figure",
        metavar="FILE",
        help="where to draw it (default for a run: its test.png)",
    )
    add_threads(parser)
    parser.add_argument("--change", help="with --env: what changes, such as 'unwrapped.g: 10 -> 5 @ 200..800'")
    add_environment(parser)
    add_variant(parser)
    add_backend(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Tests a program."""
    if not 1 <= options.episodes <= 1_000_000:
        raise ValueError(f"--episodes must be 1 to 1000000, not {options.episodes}")
    if not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed must be 0 or more and below 2**63, not {options.seed}")
    check_threads(options.threads)
    given = with_prefix(options, "variant_")
    how = {"episodes": options.episodes, "seed": options.seed, "threads": options.threads}
    figure = options.figure
    refuse_existing(figure)
    if is_run(options.source):
        check_own_environment(options)
    style.check_name(figure)
    if options.change and not options.env:
        raise ValueError("--change is for a file with --env; other tests have their own changes")
    if is_run(options.source):
        with Run.open(options.source) as run:
            task: Task = run.config.task
            variant = checked_variant(task, given)
            with workers(options, options.json) as pool:
                results = run.test(**how, workers=pool, **variant)
        is_usual = (options.episodes, options.seed, variant) == (100, TEST_SEED, {})
        if is_usual and not options.json:
            figure = figure or Path(options.source) / "test.png"
        elif not figure and not options.json:
            terminal.note("The figure of the run stays as it is, with the usual test. --figure FILE draws this one.")
    else:
        program, task = policy_and_known_task(options)
        if options.change:
            task = task.shown(options.change, None)
        variant = checked_variant(task, given)
        with workers(options, options.json) as pool:
            results = assess(program, replace(task, **variant), **how, workers=pool)
    if figure:
        title = style.title_of(options.source, f"{options.episodes} test episodes each")
        highest = replace(task, **variant).highest_return
        style.save(figures.test_figure(returns(results), title, highest=highest), Path(figure))
    if options.json:
        about = {"source": options.source, "episodes": options.episodes, "seed": options.seed, "variant": variant}
        print_json({**about, "tests": result_rows(results)})
        return
    print_tests(results, task, f"{options.source}: mean return over {options.episodes} test episodes")
    if figure:
        terminal.say(f"Figure: {figure}")
