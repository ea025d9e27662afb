"""What is kept of an item, and its page: figure, verdicts and page follow from the data, without the runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from arz.files import read_text, write_whole
from arz.plotting import style
from arz.reproduce.kinds import ITEM_KINDS, judge
from arz.reproduce.plan import SCALES, Item, find_item, item_names, titled
from arz.reproduce.table import Rows, from_csv, to_csv
from arz.reproduce.verdict import VERDICTS, Finding
from arz.reproduce.work import Work, fingerprint, to_json

ABOUT, DATA, FIGURE, PAGE = "about.json", "data.csv", "figure.png", "README.md"
MOST_BYTES = 2**26
"""Of a file that is read."""

DAMAGE = (ValueError, KeyError, TypeError, IndexError, OSError, OverflowError, RecursionError)
"""What reading a damaged file can raise."""


@dataclass(frozen=True)
class Kept:
    """What is kept of an item at a scale.

    Raises:
        ValueError: the folder does not hold what it should.
    """

    item: Item
    scale: str
    place: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """What was run."""
        with self._understood():
            found = json.loads(read_text(self.place / ABOUT, MOST_BYTES))
            if (found["item"], found["scale"]) != (self.item.name, self.scale):
                raise ValueError("it is about another item")
            _ = found["runs"], found["plan"], found["machine"]
        if found["plan"] != fingerprint(self.item, self.scale):
            raise ValueError(
                f"{self.place} was made with other settings than {self.item.name} has now: "
                "make it anew elsewhere (--output), or remove it"
            )
        return dict(found)

    @cached_property
    def rows(self) -> Rows:
        """The numbers."""
        with self._understood():
            return from_csv(read_text(self.place / DATA, MOST_BYTES))

    @cached_property
    def findings(self) -> dict[str, Finding]:
        """By the names of the claims."""
        found = {}
        with self._understood():
            missing = sum(run["champion"] is None for run in self.about["runs"])
            for claim in self.item.claims:
                each = judge(self.item, claim, self.scale, self.rows)
                more = f"; {missing} runs have no champion and do not count" if missing and each.ours else ""
                found[claim.name] = replace(each, why=each.why + more)
        return found

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """What cannot be made sense of is damaged."""
        try:
            yield
        except (*DAMAGE, csv.Error) as error:
            advice = f"remove {self.place} and make the item anew"
            raise ValueError(
                f"what is kept of {self.item.name} in {self.place} is damaged ({error}): {advice}"
            ) from None

    def page(self) -> str:
        """The item as a Markdown page."""
        kind, about = ITEM_KINDS[self.item.kind], self.about
        runs = about["runs"]
        text = f"# {self.item.title}\n\nIn the paper: {self.item.paper}. "
        text += f"Scale: {self.scale} ({SCALES[self.scale]}).\n\n"
        text += f"    arz reproduce {self.item.name} --scale {self.scale}\n\n"
        text += f"![{self.item.title}]({FIGURE})\n\n"
        text += f"{self.item.note}\n\n" if self.item.note else ""
        text += "## Claims\n\n"
        for claim in self.item.claims:
            found = self.findings[claim.name]
            text += f"**{claim.text}** {found.verdict[0].upper()}{found.verdict[1:]}: {found.why}.\n"
            text += f"  Here: {found.ours}.\n" if found.ours else ""
            if claim.tried and found.verdict in VERDICTS[1:3]:
                text += f"  What was tried: {claim.tried}\n"
            text += "\n"
        text += f"## Numbers\n\n{kind.tables(self.item, self.rows)}\nAll numbers: [{DATA}]({DATA}).\n\n"
        return text + self._how(runs)

    def _how(self, runs: Sequence[Mapping[str, Any]]) -> str:
        """Where the numbers come from."""
        about = self.about
        text = f"## How\n\narz {about['arz']}, Python {about['python']}, {about['machine']}; "
        text += f"{about['episodes']} episodes in each test.\n"
        if not runs:
            return text + "No runs are needed.\n"
        hours = sum(run["seconds"] for run in runs) / 3600
        text += f"{len(runs)} runs, {hours:.1f} hours in all, one thread each. Made by themselves:\n\n"
        text += "".join(f"    {run['command']}\n" for run in runs if run["seed"] == 1)
        text += "\nand so on for the other seeds"
        champions = [run for run in runs if run["champion"]]
        missing = len(runs) - len(champions)
        text += (
            f". All champions are in [../champions](../champions), as {Path(champions[0]['champion']).name} is"
            if champions
            else ""
        )
        return text + (f"; {missing} runs have none" if missing else "") + ".\n"

    def write_derived(self) -> None:
        """Draws the figure and writes the page; they follow from the data."""
        with self._understood():
            figure = ITEM_KINDS[self.item.kind].draw(self.item, self.rows) if self.rows else _empty(self.item)
            page = self.page()
        style.save(figure, self.place / FIGURE)
        write_whole(self.place / PAGE, page)


def _empty(item: Item) -> Any:
    """The figure of an item that has nothing to show."""
    figure = style.new_figure(2.0, titled(item))
    figure.text(0.5, 0.4, "nothing to show: no run has a champion", ha="center")
    return figure


def is_kept(work: Work) -> bool:
    """Whether an item was made already."""
    return (work.place / ABOUT).exists()


def keep(work: Work) -> Kept:
    """Measures an item whose runs are done, and keeps what came out; data that are there stay as they are."""
    kept = Kept(work.item, work.scale, work.place)
    if not is_kept(work):
        rows = ITEM_KINDS[work.item.kind].measure(work)
        about = work.about()
        work.place.mkdir(parents=True, exist_ok=True)
        write_whole(work.place / DATA, to_csv(rows))
        write_whole(work.place / ABOUT, to_json(about))  # last: what has it is whole
    _ = kept.about  # refuses what is stale
    kept.write_derived()
    return kept


def all_kept(folder: Path) -> list[Kept]:
    """Of each item, what is kept at the largest scale; in the order of the paper."""
    found = []
    for name in item_names():
        scales = [scale for scale in SCALES if (folder / scale / name / ABOUT).exists()]
        if scales:
            found.append(Kept(find_item(name), scales[-1], folder / scales[-1] / name))
    return found
