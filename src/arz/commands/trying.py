"""`arz test`, `arz plot` and `arz replay`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from arz.analysis import figures
from arz.analysis.replay import film
from arz.assess import assess
from arz.commands.common import (
    check_threads,
    print_json,
    print_tests,
    program_at,
    refuse_existing,
    result_rows,
    returns,
    run_folder,
    with_prefix,
)
from arz.evaluate import STATUS, TEST_SEED, evaluate, fresh_episodes, record
from arz.runs.run import Run
from arz.runs.store import RunError, is_run
from arz.tasks.cartpole import NAMED, Cartpole


def test(options: argparse.Namespace) -> None:
    """Tests a program."""
    if not 1 <= options.episodes <= 1_000_000:
        raise ValueError(f"--episodes must be 1 to 1000000, not {options.episodes}")
    if not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed must be 0 or more and below 2**63, not {options.seed}")
    check_threads(options.threads)
    variant = with_prefix(options, "variant_")
    how = {"episodes": options.episodes, "seed": options.seed, "threads": options.threads}
    figure = options.figure
    refuse_existing(figure)
    if is_run(options.source):
        with Run.open(options.source) as run:
            results = run.test(**how, **variant)
        is_usual = (options.episodes, options.seed, variant) == (100, TEST_SEED, {})
        if is_usual and not options.json:
            figure = figure or Path(options.source) / "test.png"
    else:
        results = assess(program_at(options.source), Cartpole(**variant), **how)
    if figure:
        title = f"{options.source}: {options.episodes} test episodes each"
        figures.save(figures.test_figure(returns(results), title), Path(figure))
    if options.json:
        about = {"source": options.source, "episodes": options.episodes, "seed": options.seed, "variant": variant}
        print_json({**about, "tests": result_rows(results)})
        return
    print_tests(results, f"{options.source}: mean return over {options.episodes} test episodes")
    if figure:
        print(f"Figure: {figure}")


def plot(options: argparse.Namespace) -> None:
    """Draws the progress of a run."""
    refuse_existing(options.output)
    with Run.open(run_folder(options.source)) as run:
        metrics = run.metrics
        title = f"{run.folder}: {run.config.task.name}, seed {run.seed}"
    if not metrics:
        raise RunError(f"{options.source} has nothing to plot yet: evolve it for longer")
    path = Path(options.output or Path(options.source) / "progress.png")
    figures.save(figures.progress_figure(metrics, title), path)
    print(f"Figure: {path}")


def replay(options: argparse.Namespace) -> None:
    """Films an episode."""
    if not 0 <= options.episode < 2**62 or not 1 <= options.every <= 1000:
        raise ValueError("--episode must be 0 or more (and below 2**62), and --every 1 to 1000")
    if is_run(options.source):
        with Run.open(options.source) as run:
            program, base = run.champion, run.config.task
        path = Path(options.output or Path(options.source) / "replay.gif")
    else:
        program, base = program_at(options.source), Cartpole()
        path = Path(options.output or "replay.gif")
    strip = path.with_suffix(".png")
    if options.output or not is_run(options.source):
        refuse_existing(path)
        refuse_existing(strip)
    change = options.change or (base.change if base.change != "none" else "continuous")
    task = replace(base, change=change, parameters=NAMED[options.task], **with_prefix(options, "variant_"))
    key = fresh_episodes(1, first=options.episode)
    rows = {name: values[0] for name, values in record(program, task, key).items()}
    result = evaluate(program, task, key)
    ending = STATUS[int(result.statuses[0, 0])]
    title = f"{options.source}: {task.name}, test episode {options.episode}"
    film(rows, path, x_limit=task.x_limit, every=options.every, title=title, ending=ending.text)
    figures.save(figures.strip_figure(rows, title, x_limit=task.x_limit, ending=ending.text), strip)
    print(f"Return {result.returns[0, 0]:.1f} in {result.lengths[0, 0]} steps. {ending.text}")
    print(f"Film: {path}. State, action and changes: {strip}")
