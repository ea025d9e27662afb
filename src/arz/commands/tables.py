"""Tables as text with commas."""

from __future__ import annotations

import csv
import io
from typing import Any


def table_text(columns: list[str], rows: list[Any]) -> str:
    """A table as lines with commas."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()
