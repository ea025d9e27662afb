"""The numbers of an item: rows of plain values, kept as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]


def to_csv(rows: Rows) -> str:
    """Rows as CSV: the columns of the first that has each, empty where a row has none."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return out.getvalue()


def from_csv(text: str) -> Rows:
    """Rows from CSV; what looks like a number is one, and what is empty is None."""
    return [{name: _value(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]


def _value(cell: str) -> Any:
    if not cell:
        return None
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def matching(rows: Rows, **wanted: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def values(rows: Iterable[Row], column: str) -> list[Any]:
    """The different values of a column, in the order in which they are met."""
    return list(dict.fromkeys(row[column] for row in rows if row.get(column) is not None))


def rounded(value: float, digits: int = 2) -> float | None:
    """For the table; None for what is no number."""
    return round(float(value), digits) if math.isfinite(value) else None


def markdown(columns: Sequence[str], cells: Iterable[Sequence[object]], text: int = 1) -> str:
    """A table for a page; so many columns, from the left, are text."""
    rules = ["---" if k < text else "---:" for k in range(len(columns))]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in (columns, rules, *cells))
