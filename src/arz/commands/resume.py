"""`arz resume`: a run goes on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from arz.commands.backend import workers
from arz.commands.options import add_import, add_running, add_source
from arz.commands.running import check_running, go_on, shows_nothing, tensorboard
from arz.commands.sources import run_folder
from arz.runs.run import Run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser, "the folder of a run", "RUN")
    parser.add_argument("--budget", help="a new budget, counted from the beginning of the run")
    parser.add_argument("--target", type=float, help="a new target")
    add_running(parser)


def run(options: argparse.Namespace) -> int:
    """Goes on with a run."""
    log_class = tensorboard() if options.tensorboard else None
    check_running(options)
    with Run.open(run_folder(options.source)) as run:
        if options.budget is not None or options.target is not None:
            run.extend(options.budget, options.target)
        run.lock()
        with workers(options, shows_nothing(options)) as hired:
            return go_on(run, options, log_class, hired)
