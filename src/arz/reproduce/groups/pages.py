"""The pages of a group: its tables, in a page of its own and between marks in others, and its figure."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arz.files import read_text, write_whole
from arz.names import did_you_mean
from arz.plotting import style
from arz.reproduce.groups.figures import FIGURES
from arz.reproduce.groups.group import FILE, MOST_BYTES, PAGE, Group, Table
from arz.reproduce.groups.notes import NOTES
from arz.reproduce.groups.tables import TABLES

DAMAGE = (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError, ZeroDivisionError)
"""What notes that are not what they should be can raise."""


def check(group: Group) -> None:
    """Refuses a group that asks for what there is not.

    Raises:
        ValueError: there are no such notes, tables or options, or is no such figure.
    """
    wanted: list[tuple[str, str, Mapping[str, Any]]] = [("notes", group.kind, NOTES)]
    wanted += [("tables", table.kind, TABLES) for table in group.tables]
    wanted += [("figure", group.figure, FIGURES)] if group.figure else []
    for what, name, known in wanted:
        if name not in known:
            there = f"there are {', '.join(known)}.{did_you_mean(name, known)}"
            raise ValueError(f"{group.folder / FILE}: there is no kind of {what} {name!r}; {there}")
    for table in group.tables:
        try:
            inspect.signature(TABLES[table.kind]).bind(group, **table.options)
        except TypeError as error:
            raise ValueError(f"{group.folder / FILE}: the table {table.kind!r}: {error}") from None


def page(group: Group) -> str:
    """The tables of the group's own page; empty if it has none.

    Raises:
        ValueError: the notes are not what they should be.
    """
    return "\n".join(heading(table) + text_of(group, table) for table in group.tables if PAGE in table.pages)


def heading(table: Table) -> str:
    """Above a table on the group's own page."""
    return f"## {table.title}\n\n" if table.title else ""


def marked(group: Group) -> dict[Path, dict[str, str]]:
    """The tables that stand in other pages: file -> mark -> text."""
    found: dict[Path, dict[str, str]] = {}
    for table in group.tables:
        for name in table.pages:
            file, _, mark = name.partition("#")
            if mark:
                found.setdefault(Path(os.path.normpath(group.folder / file)), {})[mark] = text_of(group, table)
    return found


def text_of(group: Group, table: Table) -> str:
    """A table, without a heading.

    Raises:
        ValueError: the notes are not what they should be.
    """
    try:
        return TABLES[table.kind](group, **table.options)
    except DAMAGE as error:
        raise ValueError(f"{group.folder}: the table {table.kind!r} cannot be made ({error!r})") from None


def with_text(whole: str, mark: str, text: str) -> str:
    """A page with what is between the marks of a name replaced.

    Raises:
        ValueError: there are no such marks.
    """
    between = re.compile(f"(<!-- {re.escape(mark)} -->\n+).*?(\n+<!-- /{re.escape(mark)} -->)", re.DOTALL)
    found = between.search(whole)
    if found is None:
        raise ValueError(f"expected <!-- {mark} --> and <!-- /{mark} --> around a table")
    return whole[: found.end(1)] + text.strip() + whole[found.start(2) :]


def write(group: Group) -> list[Path]:
    """Writes the pages and the figure anew, from the notes alone; returns the files.

    Raises:
        ValueError: nothing is noted yet, the notes are not what they should be, or a page has no marks.
    """
    if not group.notes():
        raise ValueError(f"nothing is kept in {group.folder} yet: make the runs first")
    pages = {group.folder / PAGE: page(group)}
    for file, texts in marked(group).items():
        whole = read_text(file, MOST_BYTES)
        for mark, text in texts.items():
            try:
                whole = with_text(whole, mark, text)
            except ValueError as error:
                raise ValueError(f"{file}: {error}") from None
        pages[file] = whole
    written = [file for file, text in pages.items() if text]
    for file in written:
        write_whole(file, pages[file])
    if group.figure:
        draw, name = FIGURES[group.figure]
        style.save(draw(group), group.folder / name)
        written.append(group.folder / name)
    return written
