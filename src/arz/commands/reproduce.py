"""`arz reproduce`: the paper's results anew, and experiments of one's own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arz import terminal
from arz.commands import groups
from arz.commands.backend import workers
from arz.commands.checks import check_threads, refuse_existing
from arz.commands.options import add_backend, add_json
from arz.commands.printing import print_json
from arz.evaluate import Workers
from arz.files import write_whole
from arz.interpreter import available_threads
from arz.plain import duration
from arz.reproduce.pages import Kept, all_kept, is_kept, keep
from arz.reproduce.plan import SCALES, Item, find_item, item_names
from arz.reproduce.summary import MADE, summary
from arz.reproduce.work import StoppedError, Work


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    parser.add_argument(
        "items", nargs="*", metavar="ITEM", help="what --list shows, or all; or folders with experiments"
    )
    parser.add_argument("--list", action="store_true", help="show what there is, and what it takes")
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default="smoke",
        help="how much of it: a minute, an hour, a day, all (default: smoke)",
    )
    parser.add_argument("--output", metavar="FOLDER", default="reproduction", help="where (default: reproduction)")
    parser.add_argument("--jobs", type=int, help="runs at a time, one thread each (default: as many as cores)")
    parser.add_argument("--summary", metavar="FILE", help="write a page on all claims, from what is in FOLDER")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="of the experiments of a folder, these; after the folder"
    )
    parser.add_argument("--tables", action="store_true", help="of a folder, only write the tables anew: makes no run")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_backend(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Makes results of the paper anew."""
    check_threads(options.jobs)
    if found := groups.chosen(options):
        return groups.run(found, options)
    if options.list:
        _list(options)
        return 0
    folder = Path(options.output)
    if options.summary is not None:
        if options.items:
            raise ValueError("--summary sums up what is there: make the items first, and then it, without items")
        return _summarise(folder, Path(options.summary))
    if not options.items:
        raise ValueError("name what to reproduce, or all; arz reproduce --list shows what there is")
    names = item_names() if "all" in options.items else list(dict.fromkeys(options.items))
    items = [find_item(name) for name in names]
    made: list[Kept] = []
    try:
        with workers(options, options.quiet or options.json) as pool, terminal.stoppable() as should_stop:
            if pool is not None:
                pool.should_stop = should_stop
            for item in items:
                made.append(_make(item, folder, options, should_stop, pool))
                if not options.json:
                    _print(made[-1])
    except StoppedError:
        terminal.note("Stopped and saved. Go on with the same command.", options.json)
        return terminal.INTERRUPTED
    finally:
        if options.json:
            print_json([_plain(kept) for kept in made])
    return 0


def _make(
    item: Item, folder: Path, options: argparse.Namespace, should_stop: Callable[[], bool], pool: Workers | None
) -> Kept:
    """The item: what is there already, or made now."""
    is_silent = options.quiet or options.json
    jobs = options.jobs or available_threads()
    with terminal.bar(is_silent) as show:
        work = Work(item, options.scale, folder, jobs, terminal.timed(show), should_stop, pool)
        if not is_kept(work):
            count, minutes = len(item.runs(work.scale)), item.minutes(work.scale) / jobs
            if count:
                terminal.note(
                    f"{item.name}: {count} runs, {jobs} at a time, about {duration(60 * minutes)} "
                    "if none is done yet. Ctrl-C stops and saves.",
                    is_silent,
                )
            work.make()
        return keep(replace(work, show=terminal.timed(show)))  # measuring has a pace of its own


def _print(kept: Kept) -> None:
    rows = []
    for claim in kept.item.claims:
        found = kept.findings[claim.name]
        rows.append([claim.text, found.verdict, found.ours or found.why])
    title = f"{kept.item.title} (paper: {kept.item.paper}; scale {kept.scale})"
    terminal.show_table(title, ["claim", "verdict", "here"], rows, text=["verdict", "here"])
    terminal.say(f"Page, figure and data: {kept.place}")


def _plain(kept: Kept) -> dict[str, Any]:
    claims = {name: vars(finding) for name, finding in kept.findings.items()}
    return {"item": kept.item.name, "scale": kept.scale, "folder": str(kept.place), "claims": claims}


def _list(options: argparse.Namespace) -> None:
    items = [find_item(name) for name in item_names()]
    if options.json:
        print_json([_about(item) for item in items])
        return
    rows = [
        [item.name, item.paper, item.title, str(len(item.claims)), *(_cost(item, scale) for scale in SCALES)]
        for item in items
    ]
    columns = ["item", "paper", "what", "claims", *SCALES]
    terminal.show_table("What can be reproduced: runs, and hours of one core", columns, rows, text=["paper", "what"])


def _cost(item: Item, scale: str) -> str:
    runs = len(item.runs(scale))
    return f"{runs} ({item.minutes(scale) / 60:.1f} h)" if runs else "none"


def _about(item: Item) -> dict[str, Any]:
    return {
        "item": item.name,
        "paper": item.paper,
        "title": item.title,
        "claims": {claim.name: claim.text for claim in item.claims},
        "scales": {scale: {"runs": len(item.runs(scale)), "minutes": item.minutes(scale)} for scale in SCALES},
    }


def _summarise(folder: Path, path: Path) -> int:
    if not all_kept(folder):
        raise ValueError(f"there is nothing in {folder} to sum up: make an item first")
    if path.exists() and not path.read_text("utf-8", errors="replace").startswith(MADE):
        refuse_existing(path)
    write_whole(path, summary(folder, path.parent))
    terminal.say(path)
    return 0
