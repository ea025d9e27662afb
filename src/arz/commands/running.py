"""What `arz evolve`, `arz train` and `arz resume` share: a run goes on, and says what came out."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arz import terminal
from arz.analysis import figures
from arz.commands.backend import workers
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.fields import with_fields
from arz.commands.printing import print_json, print_policy, print_tests, result_rows, returns
from arz.commands.pruned import prune_at_end, pruned_json, pruned_sentence
from arz.commands.sources import policy_at
from arz.commands.standing import summary
from arz.files import folder_inside
from arz.names import install
from arz.plain import duration
from arz.plotting import style
from arz.policy import AnyPolicy
from arz.runs import config as configs
from arz.runs.folder import is_run
from arz.runs.run import Run
from arz.runs.session import Progress
from arz.runs.store import FolderExistsError
from arz.testing import Assessment

if TYPE_CHECKING:
    from arz.cluster.ray_workers import RayWorkers

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
STANDING_STILL = (
    "Nothing better was found since {since:.0%} of the evaluations. Try another --seed, a smaller --restart-after "
    "(now {restart_after} children of an island), more --islands (now {islands}), or a larger --budget."
)


def begin(options: argparse.Namespace, base: configs.Config, name: str) -> int:
    """A new run with some fields of a configuration changed."""
    config = configs.settled(with_fields(base, options))
    start = None
    if options.start is not None:
        config, start = configs.for_start(config, _start(options.start))
    elif configs.needs_start(config):
        raise ValueError("this search finds numbers for the code of a program: say which, with --start RUN_OR_FILE")
    log_class = tensorboard() if options.tensorboard else None
    check_running(options)
    refuse_existing(options.output)
    if options.backend != "local":
        config.search.check("workers")
    with workers(options, shows_nothing(options)) as pool, _create(options, config, name, start) as run:
        return go_on(run, options, log_class, pool)


def _create(options: argparse.Namespace, config: configs.Config, name: str, start: AnyPolicy | None) -> Run:
    """A new run in the folder that is asked for, or in the next one that nobody has, not even a moment ago."""
    while True:
        folder = Path(options.output) if options.output else _free_folder(Path("runs"), name)
        try:
            return Run.create(config, seed=options.seed, folder=folder, preset=name, start=start)
        except FolderExistsError:
            if options.output:
                raise


def _start(source: str) -> AnyPolicy:
    """The policy with which a search shall begin."""
    if not is_run(source):
        return policy_at(source)
    with Run.open(source) as run:
        return run.champion


def check_running(options: argparse.Namespace) -> None:
    """Refuses what cannot be, before anything is made."""
    check_threads(options.threads)
    if not options.save_every >= 0:
        raise ValueError(f"--save-every must be a number of seconds, 0 or more, not {options.save_every}")


def shows_nothing(options: argparse.Namespace) -> bool:
    """Whether only the result is printed, if anything."""
    return bool(options.quiet or options.json)


def go_on(run: Run, options: argparse.Namespace, log_class: Any, pool: RayWorkers | None) -> int:
    """Evolves until the run ends or is stopped, and says what came out; returns the exit code."""
    is_silent, goes_on = shows_nothing(options), "resume" not in run.config.search.CANNOT
    run.lock()
    if not is_silent:
        terminal.note(
            f"{run.folder}: {run.config.task.name}; seed {run.seed}; budget {run.budget}. Ctrl-C stops and saves."
        )
    log = log_class(str(folder_inside(run.folder, "tensorboard"))) if log_class and run.folder else None
    with terminal.stoppable() as should_stop, terminal.showing(options.quiet) as show:
        if pool is not None:
            pool.should_stop = should_stop

        def on_progress(standing: Progress) -> None:
            show(standing)
            if log is not None:
                _log(log, standing)

        try:
            reason = run.evolve(
                threads=options.threads,
                workers=pool,
                on_progress=on_progress,
                should_stop=should_stop,
                checkpoint_seconds=options.save_every,
            )
        except KeyboardInterrupt:  # the second one
            more = f" Go on from the last save with: arz resume {run.folder}" if goes_on else ""
            terminal.note(f"Stopped at once.{more}")
            return terminal.INTERRUPTED
    if log is not None:
        log.close()
    if reason == "stopped":
        terminal.note(f"Look at the best so far with: arz show {run.folder}")
        terminal.note(
            f"Stopped and saved. Go on with: arz resume {run.folder}" if goes_on else "Stopped. It cannot go on."
        )
        return terminal.INTERRUPTED
    if not is_silent:
        spent = duration(run.facts["seconds"])
        more = f" To go on, give arz resume {MORE[reason]}." if goes_on and reason in MORE else ""
        terminal.note(f"Ended: {ENDINGS[reason]}, after {spent}.{more}")
    _report(run, options, reason, pool)
    return 0


def _report(run: Run, options: argparse.Namespace, reason: str, pool: RayWorkers | None) -> None:
    """Says what came out."""
    has_champion = bool(run.champions)
    results = run.test(threads=options.threads, workers=pool) if has_champion and not options.no_test else []
    figures_made = _figures(run, results) if results else []
    if options.json:
        made: dict[str, Any] = {"figures": [str(path) for path in figures_made]}
        smaller = prune_at_end(run, options.threads, pool, is_silent=True) if has_champion else None
        made |= {"pruned": pruned_json(*smaller)} if smaller is not None else {}
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
        if run.config.task.has_pictures:
            terminal.say(f"A film of an episode: arz replay {run.folder}")
    smaller = prune_at_end(run, options.threads, pool, options.quiet)
    if smaller is not None:
        terminal.say(pruned_sentence(*smaller))


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
    title, highest = style.title_of(run.folder, task.name, f"seed {run.seed}"), task.highest_return
    drawn = {
        "test.png": figures.test_figure(returns(results), title, highest=highest),
        "progress.png": figures.progress_figure(run.metrics, title, highest=highest),
    }
    asked = run.config.fitness
    if run.fronts and len(asked.objectives) > 1:
        drawn["front.png"] = figures.front_figure(run.fronts, asked.objectives, title, asked.warm_up_objectives)
    for name, figure in drawn.items():
        style.save(figure, run.folder / name)
    return [run.folder / name for name in drawn]


def tensorboard() -> Any:
    """What logs for TensorBoard.

    Raises:
        ValueError: the extra is not installed.
    """
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
