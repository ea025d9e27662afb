"""`arz reproduce FOLDER`: experiments of one's own, from a folder with experiments.toml."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from arz import terminal
from arz.commands.backend import workers
from arz.commands.printing import print_json
from arz.interpreter import available_threads
from arz.reproduce.groups import pages
from arz.reproduce.groups.group import FILE, Group, Note
from arz.reproduce.groups.making import Making
from arz.reproduce.groups.reading import is_group, load
from arz.reproduce.work import StoppedError


def chosen(options: argparse.Namespace) -> list[Group]:
    """The groups that the arguments name; none if they name items of the paper.

    Raises:
        ValueError: a folder is none, there are items beside groups, or an option is for the others.
    """
    folders: Sequence[str] = [name for name in options.items if is_group(name)]
    for name in options.items:
        if name not in folders and ("/" in name or Path(name).is_dir()):
            raise ValueError(f"there is no {FILE} in {name}")
    if not folders:
        for option in ("only", "tables"):
            if getattr(options, option):
                raise ValueError(f"--{option} is for folders with {FILE}, such as results/grow: name one")
        return []
    if len(folders) < len(options.items):
        raise ValueError(f"name folders with {FILE}, or items of the paper, not both at once")
    if options.summary is not None:
        raise ValueError(f"--summary is for items of the paper: --tables writes the tables of {folders[0]}")
    found = [load(name) for name in dict.fromkeys(folders)]
    for group in found:
        pages.check(group)
    return found


def run(groups: Sequence[Group], options: argparse.Namespace) -> int:
    """Makes the runs that are not there yet, and writes the tables."""
    made: list[Note] = []
    todo = [Making(group, tuple(options.only), options.jobs or available_threads()) for group in groups]
    for making in todo:
        _ = making.chosen  # refuses names that are not there, before anything is made
    if options.list:
        _list(todo, options.json)
        return 0
    if options.tables and options.only:
        raise ValueError("--tables writes all of them: leave out --only")
    try:
        if not options.tables:
            for making in todo:
                made += _make(making, options)
    except StoppedError:
        terminal.note("Stopped and saved. Go on with the same command.", options.json)
        return terminal.INTERRUPTED
    finally:
        if options.json:
            print_json(made)
    for group in groups:
        written = pages.write(group)
        if not options.json:
            terminal.say(f"Tables: {', '.join(map(str, written))}")
    return 0


def _make(making: Making, options: argparse.Namespace) -> list[Note]:
    is_silent = options.quiet or options.json
    count = len(making.todo)
    if not count:
        return []
    terminal.note(f"{making.group.folder}: {count} runs, {making.jobs} at a time. Ctrl-C stops and saves.", is_silent)
    with workers(options, is_silent) as pool, terminal.stoppable() as should_stop, terminal.bar(is_silent) as show:
        if pool is not None:
            pool.should_stop = should_stop
        group, only, jobs = making.group, making.only, making.jobs
        return Making(group, only, jobs, terminal.timed(show), should_stop, pool).make()


def _list(todo: Sequence[Making], is_json: bool) -> None:
    about = [
        {
            "experiment": series.name,
            "title": series.label,
            "seeds": len(series.seeds),
            "noted": len(series.seeds) - len(making.missing(series)),
            "command": making.group.told(series),
        }
        for making in todo
        for series in making.chosen
    ]
    if is_json:
        print_json(about)
        return
    rows = [[str(row["experiment"]), f"{row['noted']} of {row['seeds']}", str(row["title"])] for row in about]
    terminal.show_table("Experiments, and how many of their runs are noted", ["name", "noted", "what"], rows, ["what"])
