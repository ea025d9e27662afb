"""The summary of all claims, from what is kept of the items."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from arz.reproduce.pages import FIGURE, PAGE, Kept, all_kept
from arz.reproduce.plan import find_item, item_names
from arz.reproduce.table import markdown
from arz.reproduce.verdict import VERDICTS

MADE = "<!-- Made by arz reproduce --summary: do not edit. -->\n"
"""The first line of a summary."""


def summary(folder: Path, root: Path) -> str:
    """All claims on one page.

    Args:
        folder: where the items are kept.
        root: the folder of the page, for its links.
    """
    kept = all_kept(folder)
    parts = {
        "counts": _counts(kept),
        "claims": _claims(kept, root),
        "figures": _figures(kept, root),
        "deviations": _deviations(),
        "runs": _runs(kept),
    }
    text = (resources.files("arz") / "reproduce" / "summary.md").read_text("utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part.strip())
    return MADE + text


def _counts(kept: Sequence[Kept]) -> str:
    verdicts = [finding.verdict for each in kept for finding in each.findings.values()]
    told = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    return f"{len(verdicts)} claims: {', '.join(told)}."


def _claims(kept: Sequence[Kept], root: Path) -> str:
    """A row for each claim, in the order of the paper; items that were not run have one that says so."""
    by_name = {each.item.name: each for each in kept}
    cells = []
    for name in item_names():
        item = find_item(name)
        if name not in by_name:
            cells.append([f"`{name}`", item.paper, "not run here yet", "", ""])
            continue
        link = f"[{name}]({_seen_from(root, by_name[name].place)}/{PAGE})"
        for claim in item.claims:
            found = by_name[name].findings[claim.name]
            here = " ".join(_sentence(words) for words in (found.ours, found.why) if words)
            cells.append([link, item.paper, claim.text, f"**{found.verdict}**", here])
    return markdown(["item", "paper", "the paper's claim", "verdict", "here"], cells, text=5)


def _figures(kept: Sequence[Kept], root: Path) -> str:
    return "\n".join(
        f"### {each.item.name}\n\n`arz reproduce {each.item.name} --scale {each.scale}`\n\n"
        f"![{each.item.title}]({_seen_from(root, each.place)}/{FIGURE})\n"
        for each in kept
    )


def _seen_from(root: Path, path: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _runs(kept: Sequence[Kept]) -> str:
    """What was run for each item."""
    cells = []
    for each in kept:
        runs = each.about["runs"]
        hours = sum(run["seconds"] for run in runs) / 3600
        experiments = dict.fromkeys(run["experiment"] for run in runs)
        what = [f"{name} ({sum(run['experiment'] == name for run in runs)})" for name in experiments]
        cells.append(
            [each.item.name, each.scale, ", ".join(what) or "none needed", f"{hours:.1f}", each.about["machine"]]
        )
    return markdown(["item", "scale", "runs", "hours of one core", "machine"], cells, text=3)


def _deviations() -> str:
    """Where what is run here differs from the paper."""
    text = (resources.files("arz") / "reproduce" / "deviations.toml").read_text("utf-8")
    rows = tomllib.loads(text)["deviations"]
    return markdown(
        ["what", "in the paper", "here", "why"],
        [[row[name] for name in ("what", "paper", "here", "why")] for row in rows],
        text=4,
    )
