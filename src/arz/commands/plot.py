"""`arz plot`: the progress of a run, drawn."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from arz import terminal
from arz.analysis import figures
from arz.commands.checks import refuse_existing
from arz.commands.options import add_source
from arz.commands.sources import run_folder
from arz.plotting import style
from arz.runs.folder import RunError
from arz.runs.run import Run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_source(parser, "the folder of a run", "RUN")
    parser.add_argument(
        "--output", metavar="FILE", help="PNG, SVG or PDF (default: progress.png in the folder of the run)"
    )


def run(options: argparse.Namespace) -> None:
    """Draws the progress of a run, and its fronts."""
    refuse_existing(options.output)
    style.check_name(options.output)
    with Run.open(run_folder(options.source)) as run:
        metrics, fronts, asked = run.metrics, run.fronts, run.config.fitness
        title = style.title_of(options.source, run.config.task.name, f"seed {run.seed}")
        highest = run.config.task.highest_return
    if not metrics:
        raise RunError(f"{options.source} has nothing to plot yet: evolve it for longer")
    path = Path(options.output or Path(options.source) / "progress.png")
    beside = path.with_name(f"{path.stem}-front{path.suffix}") if options.output else path.with_name("front.png")
    if fronts and options.output:
        refuse_existing(beside)
    style.save(figures.progress_figure(metrics, title, highest=highest), path)
    terminal.say(f"Figure: {path}")
    if fronts and len(asked.objectives) > 1:
        figure = figures.front_figure(fronts, asked.objectives, title, asked.warm_up_objectives)
        style.save(figure, beside)
        terminal.say(f"Figure: {beside}")
