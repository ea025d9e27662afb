"""`arz replay`: an episode, filmed and drawn."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arz import terminal
from arz.commands.checks import check_episode, refuse_existing
from arz.commands.options import add_episode, add_import, add_source
from arz.commands.sources import checked_variant, policy_and_known_task, with_prefix
from arz.episode import run_episode
from arz.evaluate import fresh_episodes
from arz.plotting import style
from arz.runs.folder import is_run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser)
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="GIF or MP4 (default for a run: replay.gif in its folder); the drawing goes beside it",
    )
    parser.add_argument("--every", type=int, help="draw every so many steps (default: what suits the task)")
    parser.add_argument(
        "--viewer", action="store_true", help="quadruped: play it in MuJoCo's interactive viewer, and write nothing"
    )
    add_episode(parser, is_filmed=True)


def run(options: argparse.Namespace) -> None:
    """Films an episode."""
    check_episode(options.episode)
    if options.every is not None and not 1 <= options.every <= 1000:
        raise ValueError("--every must be 1 to 1000")
    policy, base = policy_and_known_task(options)
    path = Path(options.output or (Path(options.source) / "replay.gif" if is_run(options.source) else "replay.gif"))
    strip = path.with_suffix(".png")
    if options.output or not is_run(options.source):
        refuse_existing(path)
        refuse_existing(strip)
    variants = base.side_by_side(checked_variant(base, with_prefix(options, "variant_")))
    if options.viewer and len(variants) > 1:
        raise ValueError(f"--viewer shows one episode at a time, not {len(variants)}")
    if options.viewer and not base.has_viewer:
        raise ValueError(f"there is no viewer (--viewer) for {base.title}")
    if not options.viewer and not base.has_pictures:
        raise ValueError(f"there are no pictures of {base.title}")
    key = int(fresh_episodes(1, first=options.episode)[0])
    episodes = []
    for special, varied in variants.items():
        if special:
            terminal.say(f"{special}.", end=" ")
        episode = run_episode(policy, replace(base, **varied).shown(options.change, options.task), key)
        terminal.say(f"Return {episode.total_reward:.1f} in {len(episode.actions)} steps. {episode.ending}")
        episodes.append(episode)
    task = episodes[0].task
    title = style.title_of(options.source, task.name, f"test episode {options.episode}")
    if options.viewer:
        task.view(episodes[0])
        return
    task.film(episodes, path, options.every, title)
    figure = task.over_time(episodes[0], title) if len(episodes) == 1 else None
    if figure is not None:
        style.save(figure, strip)
    terminal.say(f"Film: {path}." + (f" State, action and changes: {strip}" if figure is not None else ""))
