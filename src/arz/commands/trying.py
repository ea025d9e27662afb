"""`arz test`, `arz plot` and `arz replay`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from arz import terminal
from arz.analysis import figures, frames, walk
from arz.analysis.replay import film
from arz.assess import assess
from arz.commands.common import (
    Known,
    check_episode,
    check_own_environment,
    check_threads,
    checked_variant,
    episode_task,
    policy_and_known_task,
    print_json,
    print_tests,
    refuse_existing,
    result_rows,
    returns,
    run_folder,
    with_prefix,
    workers,
)
from arz.evaluate import STATUS, TEST_SEED, evaluate, fresh_episodes, record
from arz.network import Network
from arz.program import Program
from arz.runs.database import RunError, is_run
from arz.runs.run import Run
from arz.tasks.any_environment import AnyEnvironment
from arz.tasks.cartpole import Cartpole
from arz.tasks.quadruped import EACH, LEGS, Quadruped
from arz.watch import watch


def test(options: argparse.Namespace) -> None:
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
    figures.check_name(figure)
    if options.change and not options.env:
        raise ValueError("--change is for a file with --env; other tests have their own changes")
    if is_run(options.source):
        with Run.open(options.source) as run:
            task: Known = run.config.task
            variant = checked_variant(task, given)
            with workers(options, options.json) as hired:
                results = run.test(**how, workers=hired, **variant)
        is_usual = (options.episodes, options.seed, variant) == (100, TEST_SEED, {})
        if is_usual and not options.json:
            figure = figure or Path(options.source) / "test.png"
        elif not figure and not options.json:
            terminal.note("The figure of the run stays as it is, with the usual test. --figure FILE draws this one.")
    else:
        program, task = policy_and_known_task(options)
        if isinstance(task, AnyEnvironment) and options.change:
            task = replace(task, change=options.change).settled()
        variant = checked_variant(task, given)
        with workers(options, options.json) as hired:
            results = assess(program, replace(task, **variant), **how, workers=hired)
    if figure:
        title = figures.title_of(options.source, f"{options.episodes} test episodes each")
        highest = figures.highest_return(replace(task, **variant))
        figures.save(figures.test_figure(returns(results), title, highest=highest), Path(figure))
    if options.json:
        about = {"source": options.source, "episodes": options.episodes, "seed": options.seed, "variant": variant}
        print_json({**about, "tests": result_rows(results)})
        return
    print_tests(results, task, f"{options.source}: mean return over {options.episodes} test episodes")
    if figure:
        terminal.say(f"Figure: {figure}")


def plot(options: argparse.Namespace) -> None:
    """Draws the progress of a run, and its fronts."""
    refuse_existing(options.output)
    figures.check_name(options.output)
    with Run.open(run_folder(options.source)) as run:
        metrics, fronts, asked = run.metrics, run.fronts, run.config.fitness
        title = figures.title_of(options.source, run.config.task.name, f"seed {run.seed}")
        highest = figures.highest_return(run.config.task)
    if not metrics:
        raise RunError(f"{options.source} has nothing to plot yet: evolve it for longer")
    path = Path(options.output or Path(options.source) / "progress.png")
    beside = path.with_name(f"{path.stem}-front{path.suffix}") if options.output else path.with_name("front.png")
    if fronts and options.output:
        refuse_existing(beside)
    figures.save(figures.progress_figure(metrics, title, highest=highest), path)
    terminal.say(f"Figure: {path}")
    if fronts and len(asked.objectives) > 1:
        figure = figures.front_figure(fronts, asked.objectives, title, asked.warm_up_objectives)
        figures.save(figure, beside)
        terminal.say(f"Figure: {beside}")


def replay(options: argparse.Namespace) -> None:
    """Films an episode."""
    check_episode(options.episode)
    if options.every is not None and not 1 <= options.every <= 1000:
        raise ValueError("--every must be 1 to 1000")
    program, base = policy_and_known_task(options)
    path = Path(options.output or (Path(options.source) / "replay.gif" if is_run(options.source) else "replay.gif"))
    strip = path.with_suffix(".png")
    if options.output or not is_run(options.source):
        refuse_existing(path)
        refuse_existing(strip)
    if getattr(options, "variant_leg", "") == EACH:
        _replay_each_leg(options, program, base, path)
        return
    task = episode_task(options, base)
    if isinstance(task, Quadruped):
        _replay_quadruped(options, program, task, path, strip)
    elif isinstance(task, AnyEnvironment):
        _replay_any(options, program, task, path)
        return
    elif options.viewer:
        raise ValueError("--viewer is for the quadruped: there is no MuJoCo model of the cartpole")
    else:
        _replay_cartpole(options, program, task, path, strip)
    if options.viewer:
        return
    terminal.say(f"Film: {path}. State, action and changes: {strip}")


def _replay_cartpole(
    options: argparse.Namespace, program: Program | Network, task: Cartpole, path: Path, strip: Path
) -> None:
    rows, ending, title = _episode(options, program, task)
    film(rows, path, x_limit=task.x_limit, every=options.every or 3, title=title, ending=ending)
    figures.save(figures.strip_figure(rows, title, x_limit=task.x_limit, ending=ending), strip)


def _replay_quadruped(
    options: argparse.Namespace, program: Program | Network, task: Quadruped, path: Path, strip: Path
) -> None:
    rows, ending, title = _episode(options, program, task)
    if options.viewer:
        walk.view(rows)
        return
    walk.film([rows], path, every=options.every or 4, endings=[ending])
    figures.save(walk.walk_figure(rows, title, ending=ending), strip)


def _replay_each_leg(options: argparse.Namespace, program: Program | Network, base: Known, path: Path) -> None:
    """One film of four episodes side by side, in each of which another leg breaks."""
    if options.viewer:
        raise ValueError(f"--viewer shows one episode at a time: say which leg, not {EACH}")
    if not isinstance(base, Quadruped):
        raise ValueError("--leg is for the quadruped: this policy is for another task")
    episodes = []
    for leg in LEGS:
        options.variant_leg = leg
        terminal.say(f"{leg} breaks.", end=" ")
        episodes.append(_episode(options, program, episode_task(options, base)))
    fallen = [ending if walk.length(rows) < base.steps else "" for rows, ending, _ in episodes]
    walk.film([rows for rows, *_ in episodes], path, every=options.every or 4, endings=fallen)
    terminal.say(f"Film: {path}.")


def _replay_any(options: argparse.Namespace, program: Program | Network, task: AnyEnvironment, path: Path) -> None:
    key = int(fresh_episodes(1, first=options.episode)[0])
    episode = watch(program, task, key)
    frames.film(task, key, episode.actions, path, every=options.every or 1)
    terminal.say(f"Return {episode.rewards.sum():.1f} in {len(episode.actions)} steps. {episode.ending}")
    terminal.say(f"Film: {path}.")


def _episode(options: argparse.Namespace, program: Program | Network, task: Known) -> tuple[dict[str, Any], str, str]:
    """What happened in one test episode, how it ended, and what to call it."""
    key = fresh_episodes(1, first=options.episode)
    rows = {name: values[0] for name, values in record(program, task, key).items()}
    result = evaluate(program, task, key)
    ending = task.sentence(STATUS[int(result.statuses[0, 0])])
    terminal.say(f"Return {result.returns[0, 0]:.1f} in {result.lengths[0, 0]} steps. {ending}")
    return rows, ending, figures.title_of(options.source, task.name, f"test episode {options.episode}")
