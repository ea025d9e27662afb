"""`arz evolve`, `arz train` and `arz resume`."""

from __future__ import annotations

import argparse
import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np

from arz import terminal
from arz.analysis import figures
from arz.assess import Assessment
from arz.cluster.ray_workers import RayWorkers
from arz.commands.common import (
    check_threads,
    policy_at,
    print_json,
    print_policy,
    print_tests,
    refuse_existing,
    result_rows,
    returns,
    run_folder,
    summary,
    with_fields,
    workers,
)
from arz.commands.pruning import ending, sentence, told
from arz.files import folder_inside
from arz.names import install
from arz.network import Network
from arz.program import Program
from arz.runs import config as configs
from arz.runs.database import is_run
from arz.runs.run import Run
from arz.runs.session import Progress
from arz.runs.store import FolderExistsError

INTERRUPTED = 130
ENDINGS = {
    "target": "the target is reached",
    "budget": "the budget is spent",
    "diverged": "the numbers of the network are not finite any more",
}

MORE = {"target": "a larger --target", "budget": "a larger --budget"}
"""What lets a run go on that has ended."""
LEAST_REPORTS = 4
LONG = 0.5
"""A search that found nothing better in this share of its evaluations stands still."""


def evolve(options: argparse.Namespace) -> int:
    """Evolves programs in a new run."""
    env: str = getattr(options, "field_env", "")
    if options.preset is None and not env:
        raise ValueError("say what to evolve: a preset, such as cartpole, or --env with the name of an environment")
    if options.preset is None:
        return _begin(options, configs.load("gymnasium"), re.sub(r"[^\w-]+", "-", env))
    return _begin(options, configs.load(options.preset), Path(options.preset).stem)


def train(options: argparse.Namespace) -> int:
    """Trains a network in a new run."""
    source = options.task if options.task.endswith(".toml") else f"{options.method}-{options.task}"
    config = configs.load(source)
    if configs.kind_of(config, "search") != options.method:
        raise ValueError(f"{source} asks for another search, {configs.kind_of(config, 'search')}: use arz evolve")
    if options.policy is not None and configs.kind_of(config, "policy") != options.policy:
        config = configs.with_policy(config, options.policy)
    return _begin(options, config, f"{Path(source).stem}-{configs.kind_of(config, 'policy')}")


def _begin(options: argparse.Namespace, base: configs.Config, name: str) -> int:
    """A new run with some fields of a configuration changed."""
    config = configs.settled(with_fields(base, options))
    start = None
    if options.start is not None:
        config, start = configs.for_start(config, _start(options.start))
    elif configs.needs_start(config):
        raise ValueError("this search finds numbers for the code of a program: say which, with --start RUN_OR_FILE")
    log_class = _tensorboard() if options.tensorboard else None
    _check(options)
    refuse_existing(options.output)
    if options.backend != "local":
        configs.check_workers(config)
    with workers(options, _is_silent(options)) as hired, _create(options, config, name, start) as run:
        return _go_on(run, options, log_class, hired)


def _create(options: argparse.Namespace, config: configs.Config, name: str, start: Program | Network | None) -> Run:
    """A new run in the folder that is asked for, or in the next one that nobody has, not even a moment ago."""
    while True:
        folder = Path(options.output) if options.output else _free_folder(Path("runs"), name)
        try:
            return Run.create(config, seed=options.seed, folder=folder, preset=name, start=start)
        except FolderExistsError:
            if options.output:
                raise


def resume(options: argparse.Namespace) -> int:
    """Goes on with a run."""
    log_class = _tensorboard() if options.tensorboard else None
    _check(options)
    with Run.open(run_folder(options.source)) as run:
        if options.budget is not None or options.target is not None:
            run.extend(options.budget, options.target)
        run.lock()
        with workers(options, _is_silent(options)) as hired:
            return _go_on(run, options, log_class, hired)


def _start(source: str) -> Program | Network:
    """The policy with which a search shall begin."""
    if not is_run(source):
        return policy_at(source)
    with Run.open(source) as run:
        return run.champion


def _check(options: argparse.Namespace) -> None:
    check_threads(options.threads)
    if not options.save_every >= 0:
        raise ValueError(f"--save-every must be a number of seconds, 0 or more, not {options.save_every}")


def _is_silent(options: argparse.Namespace) -> bool:
    return bool(options.quiet or options.json)


def _go_on(run: Run, options: argparse.Namespace, log_class: Any, hired: RayWorkers | None) -> int:
    is_silent = _is_silent(options)
    run.lock()
    if not is_silent:
        terminal.note(
            f"{run.folder}: {run.config.task.name}; seed {run.seed}; budget {run.budget}. Ctrl-C stops and saves."
        )
    log = log_class(str(folder_inside(run.folder, "tensorboard"))) if log_class and run.folder else None
    with terminal.stoppable() as should_stop, terminal.showing(options.quiet) as show:
        if hired is not None:
            hired.should_stop = should_stop

        def on_progress(standing: Progress) -> None:
            show(standing)
            if log is not None:
                _log(log, standing)

        try:
            reason = run.evolve(
                threads=options.threads,
                workers=hired,
                on_progress=on_progress,
                should_stop=should_stop,
                checkpoint_seconds=options.save_every,
            )
        except KeyboardInterrupt:  # the second one
            terminal.note(f"Stopped at once. Go on from the last save with: arz resume {run.folder}")
            return INTERRUPTED
    if log is not None:
        log.close()
    goes_on = configs.kind_of(run.config, "search") != "ppo"
    if reason == "stopped":
        terminal.note(f"Look at the best so far with: arz show {run.folder}")
        terminal.note(
            f"Stopped and saved. Go on with: arz resume {run.folder}" if goes_on else "Stopped. PPO cannot go on."
        )
        return INTERRUPTED
    if not is_silent:
        spent = terminal.duration(run.facts["seconds"])
        more = f" To go on, give arz resume {MORE[reason]}." if goes_on and reason in MORE else ""
        terminal.note(f"Ended: {ENDINGS[reason]}, after {spent}.{more}")
    _report(run, options, reason, hired)
    return 0


def _report(run: Run, options: argparse.Namespace, reason: str, hired: RayWorkers | None) -> None:
    """Says what came out."""
    has_champion = bool(run.champions)
    results = run.test(threads=options.threads, workers=hired) if has_champion and not options.no_test else []
    figures_made = _figures(run, results) if results else []
    if options.json:
        made: dict[str, Any] = {"figures": [str(path) for path in figures_made]}
        smaller = ending(run, options.threads, hired, is_silent=True) if has_champion else None
        made |= {"pruned": told(*smaller)} if smaller is not None else {}
        print_json({**summary(run), "ended": reason, "tests": result_rows(results), **made})
        return
    if not has_champion:
        terminal.say(f"No champion yet. {run.first_champion} Go on with: arz resume {run.folder} --budget ...")
        return
    print_policy(run.champion, f"arz show {run.folder}")
    if (since := _standing_still(run)) is not None and reason != "target":
        terminal.say(STANDING_STILL.format(since=since, **vars(run.config.search)))
    if results:
        print_tests(results, run.config.task, f"Mean return over {len(results[0].returns)} test episodes")
        terminal.say(f"Figures: {', '.join(map(str, figures_made))}")
        terminal.say(f"A film of an episode: arz replay {run.folder}")
    smaller = ending(run, options.threads, hired, options.quiet)
    if smaller is not None:
        terminal.say(sentence(*smaller))


STANDING_STILL = (
    "Nothing better was found since {since:.0%} of the evaluations. Try another --seed, a smaller --restart-after "
    "(now {restart_after} children of an island), more --islands (now {islands}), or a larger --budget."
)


def _standing_still(run: Run) -> float | None:
    """The share of its evaluations after which a search found nothing better, if it was most of the time.

    A search that began anew meanwhile does not stand still.
    """
    metrics = run.metrics
    scores, evaluations = metrics["champion_score"], metrics["evaluations"]
    since = float(evaluations[np.argmax(scores)] / evaluations[-1])
    has_tried = len(scores) > LEAST_REPORTS and run.counters.restarts == 0
    return since if since < LONG and has_tried else None


def _figures(run: Run, results: list[Assessment]) -> list[Path]:
    """Draws what came out, in the folder of the run."""
    assert run.folder is not None
    task = run.config.task
    title, highest = figures.title_of(run.folder, task.name, f"seed {run.seed}"), figures.highest_return(task)
    drawn = {
        "test.png": figures.test_figure(returns(results), title, highest=highest),
        "progress.png": figures.progress_figure(run.metrics, title, highest=highest),
    }
    asked = run.config.fitness
    if run.fronts and len(asked.objectives) > 1:
        drawn["front.png"] = figures.front_figure(run.fronts, asked.objectives, title, asked.warm_up_objectives)
    for name, figure in drawn.items():
        figures.save(figure, run.folder / name)
    return [run.folder / name for name in drawn]


def _tensorboard() -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ValueError(f"--tensorboard needs an extra: {install('tensorboard')}") from None
    return SummaryWriter


def _log(log: Any, standing: Progress) -> None:
    metrics = dataclasses.asdict(standing.metrics)
    at = metrics.pop("evaluations")
    metrics |= {name: getattr(standing, name) for name in ("evaluations_per_second", "steps_per_second")}
    for name, value in metrics.items():
        log.add_scalar(name, value, at)


def _free_folder(parent: Path, name: str) -> Path:
    number = 1
    while (parent / f"{name}-{number:03}").exists():
        number += 1
    return parent / f"{name}-{number:03}"
