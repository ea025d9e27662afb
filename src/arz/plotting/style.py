"""The looks of figures: colours, titles, panels; and how a figure is saved."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arz.files import whole_file
from arz.plotting.film import kind_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The colours of Okabe and Ito, which people with any common colour blindness tell apart.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#000000 #E69F00 #56B4E9 #009E73 #0072B2 #D55E00 #CC79A7".split()
GREY = "#8C8C8C"

DPI = 150
WIDTH = 1590 / DPI
TITLE_WIDTH = 95
"""So many characters of a title fit on a line."""
TITLE_LINES, TITLE_SIZE = 2, 14.0
MOST_NAME = 40
"""Longer names of runs and files are cut in titles."""
FIGURE_KINDS = ("png", "svg", "pdf")


def check_name(path: str | Path | None) -> None:
    """Refuses the name of a figure that cannot be written, before anything is done for it.

    Raises:
        ValueError: its suffix is of no kind that there is.
    """
    if path is not None:
        kind_of(Path(path), FIGURE_KINDS, "figure")


def title_of(source: str | Path, *facts: str) -> str:
    """A title: the name of a run's folder or of a file, without the way to it, and what there is to say of it."""
    name = "standard input" if str(source) == "-" else Path(source).name or Path(source).resolve().name
    return f"{shortened(name, MOST_NAME)}: {', '.join(facts)}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many letters, all of them printable: `a long na… its end`, if it has more."""
    plain_text = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(plain_text) <= most:
        return plain_text
    return f"{plain_text[: most // 2]}…{plain_text[len(plain_text) - (most - 1 - most // 2) :]}"


def save(figure: Figure, path: str | Path) -> None:
    """Writes a figure as PNG, SVG or PDF, by the suffix of the path; all of it or nothing.

    Raises:
        ValueError: the suffix is another, or the folder does not exist.
    """
    path = Path(path)
    kind = kind_of(path, FIGURE_KINDS, "figure")
    dates = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}  # no date: what is equal looks equal
    with whole_file(path) as beside:
        figure.savefig(beside, format=kind, dpi=DPI, metadata=dates[kind])


def new_figure(height: float, title: str) -> Figure:
    """An empty figure of the usual width; a title that does not fit on two lines is cut in the middle."""
    from matplotlib.figure import Figure

    lines = _title_lines(title)
    figure = Figure(figsize=(WIDTH, height + 0.25 * (len(lines) - 1)), dpi=DPI, layout="constrained")
    figure.suptitle("\n".join(lines), fontsize=_title_size(lines), parse_math=False)
    return figure


def _title_size(lines: Sequence[str]) -> float:
    """The size of letters with which the longest line fits into the width."""
    from matplotlib.textpath import TextPath

    drawn = [TextPath((0, 0), line.replace("$", "S"), size=TITLE_SIZE).get_extents().width for line in lines if line]
    return TITLE_SIZE * min(1.0, 0.97 * 72 * WIDTH / max([*drawn, 1.0]))


def _title_lines(title: str) -> list[str]:
    """A title on as few lines as it needs."""
    for most in range(TITLE_LINES * TITLE_WIDTH, 0, -1):
        cut = "\n".join(shortened(line, most) for line in title.split("\n"))
        lines = [part for line in cut.split("\n") for part in textwrap.wrap(line, TITLE_WIDTH) or [""]]
        if len(lines) <= max(TITLE_LINES, cut.count("\n") + 1):
            break
    return lines


def plain(panel: Axes, label: str = "") -> None:
    """Gives a panel our looks: no frame, a faint grid, the legend beside it."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)
    if label:
        panel.set_ylabel(label, rotation=0, ha="right", va="center")
    if panel.get_legend_handles_labels()[0]:  # beside the panel, where it cannot cover anything
        panel.legend(loc="center left", bbox_to_anchor=(1.005, 0.5), frameon=False, fontsize=9, borderaxespad=0.0)


def number_text(value: float) -> str:
    """A return for people: whole, unless it is small."""
    return f"{value:.0f}" if abs(value) >= 10 or value == 0 else f"{value:.2g}"
