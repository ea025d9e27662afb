"""What a person sees in the terminal: results, notes, tables, and progress while a run runs.

All text goes through `clean`, and everything is printed here: names, statuses and paths may come from a stranger, and a
terminal obeys what it is sent.
"""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from arz.plain import clean, duration, short

if TYPE_CHECKING:
    from rich.console import Console

    from arz.runs.session import Progress as Standing

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
PLAIN_SECONDS = 10.0
SETTLING_SECONDS = 2.0
STILL_SECONDS = 60.0
"""It is told when there was nothing better for longer than this."""
BAR_WIDTH = 10
MARGIN = 3
"""What a column of a table takes beside its text."""
PREFERRED = 24
"""Text in a table wraps where it would be wider."""


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
    """Prints a table of numbers; the first column, and those named, are text, which may take several lines.

    What does not fit beside each other follows below, with the first column again: no word or number is broken.
    """
    from rich.table import Table
    from rich.text import Text

    out = console()
    cleaned = [[clean(cell) for cell in row] for row in rows]
    is_text = [number == 0 or name in text for number, name in enumerate(columns)]
    widths = [_width([name, *(row[number] for row in cleaned)], is_text[number]) for number, name in enumerate(columns)]
    if title:
        out.print(Text(clean(title), style="bold"))
    for part in _side_by_side(widths, out.width):
        made = Table()
        for number in part:
            made.add_column(
                Text(clean(columns[number])),
                justify="left" if is_text[number] else "right",
                no_wrap=not is_text[number],
                min_width=min(widths[number], out.width - MARGIN),
                overflow="fold",
            )
        for row in cleaned:
            made.add_row(*(Text(row[number]) for number in part))
        out.print(made)


def _width(cells: Sequence[str], is_text: bool) -> int:
    """How wide a column must be: text wraps between words, and prefers not to."""
    longest = max(map(len, cells))
    if not is_text:
        return max(longest, *(len(word) for word in cells[0].split()), 1)
    words = max(len(word) for cell in cells for word in cell.split() or [""])
    return max(words, min(longest, PREFERRED))


def _side_by_side(widths: Sequence[int], most: int) -> list[list[int]]:
    """Columns that fit beside each other, each part with the first one."""
    parts = [[0]]
    for number in range(1, len(widths)):
        used = sum(widths[k] + MARGIN for k in [*parts[-1], number]) + 1
        if used > most and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(number)
    return parts


def console() -> Console:
    """Where results go. A file or a pipe has no width: nothing is cut off there."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200)


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
        if not asked.is_set() and number == signal.SIGINT:
            note("Stopping as soon as what is under way is done; Ctrl-C once more stops at once.")
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
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    out = Console(stderr=True, highlight=False, soft_wrap=True)
    if not out.is_terminal:
        yield _plain(out)
        return
    shown = Progress(
        BarColumn(bar_width=BAR_WIDTH),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}", markup=False),
        console=out,
        transient=True,
        refresh_per_second=4,
    )
    with shown:
        task = shown.add_task("", total=1.0, state="starting")
        yield lambda share, text: shown.update(
            task, completed=min(share, 1.0), state=fitted(clean(text), out.width - BAR_WIDTH - 8)
        )


def fitted(text: str, width: int) -> str:
    """A line of parts with two spaces between them, without the last ones where it is too wide."""
    parts = text.split("  ")
    while len(parts) > 1 and len("  ".join(parts)) > width:
        parts.pop()
    return "  ".join(parts)[: max(width, 1)]


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
    best, since = -math.inf, 0.0

    def show_standing(standing: Standing) -> None:
        nonlocal best, since
        if standing.metrics.champion_score > best or not since:
            best, since = standing.metrics.champion_score, standing.seconds
        show(standing.spent, describe(standing, standing.seconds - since))

    with bar(quiet) as show:
        yield show_standing


def _plain(out: Console) -> Callable[[float, str], None]:
    last = time.monotonic() - PLAIN_SECONDS + 2.0

    def show(share: float, text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_SECONDS:
            last = time.monotonic()
            out.print(f"{100 * share:3.0f} %  {text}", markup=False)

    return show


def describe(standing: Standing, still: float = 0.0) -> str:
    """One line on how a run stands, what matters most first.

    Args:
        standing: where it stands.
        still: for how many seconds nothing better was found.
    """
    metrics = standing.metrics
    left = standing.seconds * (1 / standing.spent - 1) if standing.spent > 0 else 0.0
    parts = [
        f"left {duration(left)}",
        f"best {_score(metrics.champion_score)}" + (f" for {duration(still)}" if still > STILL_SECONDS else ""),
        *filter(None, [standing.doing]),
        f"mean {_score(metrics.mean_fitness)}",
        f"restarts {metrics.restarts}",
        f"{short(standing.evaluations_per_second)} eval/s",
        f"hits {metrics.hits / max(metrics.evaluations, 1):.0%}",
        f"living {_score(metrics.life_score)}",
        f"{short(standing.steps_per_second)} steps/s",
    ]
    return "  ".join(parts)


def _score(value: float) -> str:
    return f"{value:.0f}" if math.isfinite(value) else "none"
