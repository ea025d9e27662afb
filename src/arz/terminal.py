"""What a person sees in the terminal: results, notes, tables, and progress while a run runs.

All text goes through `clean`, and everything is printed here: names, statuses and paths may come from a stranger, and a
terminal obeys what it is sent.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from arz.plain import clean
from arz.runs.session import Progress as Standing

PLAIN_SECONDS = 10.0
SETTLING_SECONDS = 2.0


def say(text: object = "", end: str = "\n") -> None:
    """Prints a result."""
    _print(text, end, sys.stdout)


def note(text: object, is_silent: bool = False) -> None:
    """A line for people who wait, apart from the results."""
    if not is_silent:
        _print(text, "\n", sys.stderr)
        sys.stderr.flush()


def _print(text: object, end: str, stream: TextIO) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(clean(text).encode(encoding, "backslashreplace").decode(encoding) + end)


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[str] = ()) -> None:
    """Prints a table."""
    console().print(table(title, columns, rows, text))


def console() -> Console:
    """Where results go. A file or a pipe has no width: nothing is cut off there."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[str] = ()) -> Table:
    """A table of numbers; the first column, and those named, are text."""
    made = Table(title=Text(clean(title)) if title else None, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        made.add_column(name, justify="left" if number == 0 or name in text else "right", overflow="fold")
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    return made


@contextlib.contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Lets Ctrl-C (or a termination signal) end the work in an orderly way: gives what to ask between batches.

    The second Ctrl-C ends it at once.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(number: int, _: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def bar(quiet: bool) -> Iterator[Callable[[float, str], None]]:
    """Shows how much of some work is done, and a line about it: a bar on a terminal, a line now and then elsewhere."""
    if quiet:
        yield lambda share, text: None
        return
    out = Console(stderr=True, highlight=False, soft_wrap=True)
    if not out.is_terminal:
        yield _plain(out)
        return
    shown = Progress(
        BarColumn(bar_width=10),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        console=out,
        transient=True,
        refresh_per_second=4,
    )
    with shown:
        task = shown.add_task("", total=1.0, state="starting")
        yield lambda share, text: shown.update(task, completed=min(share, 1.0), state=text)


def timed(show: Callable[[float, str], None]) -> Callable[[float, str], None]:
    """The same, with the time left before each line, as soon as it can be told.

    What is done within the first seconds may have been done before, and says nothing about the speed.
    """
    began = time.monotonic()
    first: list[float] = []

    def show_left(share: float, text: str) -> None:
        now = time.monotonic()
        if not first and now - began >= SETTLING_SECONDS:
            first.extend((now, share))
        gained = share - first[1] if first else 0.0
        left = f"left {duration((now - first[0]) * (1 - share) / gained)}  " if gained > 0 else ""
        show(share, left + text)

    return show_left


@contextlib.contextmanager
def showing(quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """Shows how a run stands."""
    with bar(quiet) as show:
        yield lambda standing: show(standing.spent, describe(standing))


def _plain(out: Console) -> Callable[[float, str], None]:
    last = time.monotonic() - PLAIN_SECONDS + 2.0

    def show(share: float, text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_SECONDS:
            last = time.monotonic()
            out.print(f"{100 * share:3.0f} %  {text}", markup=False)

    return show


def describe(standing: Standing) -> str:
    """One line on how a run stands."""
    metrics = standing.metrics
    left = standing.seconds * (1 / standing.spent - 1) if standing.spent > 0 else 0.0
    return (
        f"left {duration(left)}  best {metrics.champion_score:.0f}  living {metrics.life_score:.0f}  "
        f"mean {metrics.mean_fitness:.0f}  restarts {metrics.restarts}  "
        f"{short(standing.evaluations_per_second)} eval/s  hits {metrics.hits / max(metrics.evaluations, 1):.0%}  "
        f"{short(standing.steps_per_second)} steps/s"
    )


def duration(seconds: float) -> str:
    """A time for people."""
    seconds = max(0, round(seconds))
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"


def short(number: float) -> str:
    """A large number for people."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f}"
