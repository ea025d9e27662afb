"""A group: its experiments, its tables and its notes, from a folder with `experiments.toml`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from arz.files import read_text
from arz.names import did_you_mean
from arz.reproduce.plan import Experiment, Size, as_options
from arz.runs import config as configs
from arz.runs.config import Config

R = TypeVar("R")
Note = dict[str, Any]

FILE, PAGE = "experiments.toml", "tables.md"
MOST_BYTES = 2**26
"""Of a file that is read."""
ALL = "all"
"""The one scale of these experiments."""


@dataclass(frozen=True)
class Series(Experiment):
    """An experiment of a group."""

    episodes: int = 100
    """Of each test."""
    goes_on: str = ""
    """The experiment whose runs go on here, with what is changed (a larger budget, a target)..."""
    at: int = 0
    """...or, if this is given, whose runs are told as they stood after so many steps."""
    made_by: str = ""
    """The command that makes what these start with, if that is not a run or kept in the repository."""
    part: str = ""
    """What is changed, where the experiment is one of a list of variations."""

    @property
    def seeds(self) -> range:
        """All of them, from the first on."""
        return range(1, self.sizes[ALL].repeats + 1)

    @property
    def own(self) -> Config:
        """The configuration of a run."""
        return self.config(ALL)


@dataclass(frozen=True)
class Table:
    """One that is made from the notes."""

    kind: str
    """Which function makes it; see `tables.py`."""
    title: str = ""
    """The heading above it; empty for none."""
    pages: tuple[str, ...] = (PAGE,)
    """Where it stands: `FILE#MARK`, from the folder of the group, is between the marks of this name in that file."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the function."""


@dataclass(frozen=True)
class Group:
    """Experiments that are noted in one way.

    Raises:
        ValueError: a name is unknown, or a path leads elsewhere.
    """

    folder: Path
    kind: str
    """How a run is noted; see `notes.py`."""
    series: Mapping[str, Series]
    runs: str = "runs/{name}-{seed}"
    """The folder of a run, from where the command is given."""
    words: str = "{preset} {changes} {start} --seed {seed} --output {folder}"
    """In which order the command of a run says what it says."""
    data: str = "runs.jsonl"
    """The file of the notes, from the folder of the group; with {name}, one for each experiment."""
    named: str = "experiment"
    """What a note calls the experiment."""
    tests: tuple[Mapping[str, Any], ...] = ({},)
    """The variants of the task in which champions are tested, where the task has such fields."""
    figure: str = ""
    """What is drawn; see `figures.py`. Empty for nothing."""
    tables: tuple[Table, ...] = ()
    variations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Lists of experiments: by the name of the list, what is changed -> the experiment."""

    def __post_init__(self) -> None:
        for name, each in self.series.items():
            if not re.fullmatch(r"[\w.-]+", name):
                raise ValueError(f"{name!r} is no name for a file, as that of an experiment must be")
            if each.goes_on and each.goes_on not in self.series:
                hint = did_you_mean(each.goes_on, self.series)
                raise ValueError(f"{name} goes on with {each.goes_on!r}, which is not there.{hint}")
            if not each.goes_on:
                _ = each.own  # refuses what does not fit
        for of, members in self.variations.items():
            for name in members.values():
                if name not in self.series:
                    raise ValueError(f"{of} has {name!r}, which is not there.{did_you_mean(name, self.series)}")
        for path in (self.runs, *(each.start for each in self.series.values())):
            _check_path(path, most_up=0)
        _check_path(self.data, most_up=1)
        for table in self.tables:
            for page in table.pages:
                _check_path(page, most_up=2)

    def find(self, name: str) -> Series:
        """The experiment of this name.

        Raises:
            ValueError: there is none.
        """
        if name not in self.series:
            there = f"{self.folder} has {', '.join(self.series)}.{did_you_mean(name, self.series)}"
            raise ValueError(f"there is no experiment {name!r}; {there}")
        return self.series[name]

    def base(self, series: Series) -> Series:
        """The experiment that made the runs of one, which may be itself."""
        return self.base(self.series[series.goes_on]) if series.goes_on else series

    def run_folder(self, series: Series, seed: int | str) -> str:
        """Where a run is."""
        return self.runs.format(name=self.base(series).name, seed=seed)

    def command(self, series: Series, seed: int | str) -> list[str]:
        """The words that make a run, or let it go on; the seed may be a letter."""
        if series.at:
            return self.command(self.series[series.goes_on], seed)
        folder = self.run_folder(series, seed)
        if series.goes_on:
            return ["arz", "resume", folder, *as_options(series.changes)]
        preset, changes = [series.preset], dict(series.changes)
        if series.preset == "gymnasium":  # the environment stands for it
            preset = ["--env", str(changes.pop("env"))]
        given = {
            "{preset}": preset,
            "{changes}": as_options(changes),
            "{start}": ["--start", series.start.format(seed=seed)] if series.start else [],
            "{seed}": [str(seed)],
            "{folder}": [folder],
        }
        return ["arz", "evolve", *(word for part in self.words.split() for word in given.get(part, [part]))]

    def told(self, series: Series, seed: int | str = "N") -> str:
        """The same, as one types it."""
        return shlex.join(self.command(series, seed))

    # ---- what is kept ----

    def file(self, series: Series) -> Path:
        """Where the notes of an experiment are."""
        return self.folder / self.data.format(name=series.name)

    def called(self, series: Series) -> str:
        """What its notes call an experiment."""
        return series.part if self.named == "settings" else series.name

    def notes(self, name: str = "") -> list[Note]:
        """What is known of all runs, or of those of one experiment, in the order in which they were noted."""
        wanted = [self.find(name)] if name else list(self.series.values())
        called = {self.called(series) for series in wanted}
        files = dict.fromkeys(self.file(series) for series in wanted)
        return [note for file in files for note in notes_in(file) if note.get(self.named) in called]


def _check_path(path: str, most_up: int) -> None:
    """Refuses a path that is none once name and seed are filled in, or leads out of so many folders."""
    try:
        parts = PurePosixPath(path.format(name="name", seed=1)).parts
    except (KeyError, IndexError, ValueError):
        raise ValueError(f"{path!r} may have {{name}} and {{seed}} in braces, and nothing else") from None
    if path.startswith("/") or ".." in parts[most_up:]:
        raise ValueError(f"{path!r} leads elsewhere")


def notes_in(file: Path) -> list[Note]:
    """The notes of a file; none if there is no file.

    Raises:
        ValueError: a line is no note.
    """
    found: list[Note] = []
    lines = read_text(file, MOST_BYTES).splitlines() if file.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            note = json.loads(line)
        except (ValueError, RecursionError):
            note = None
        if not isinstance(note, dict) or "seed" not in note:
            raise ValueError(f"{file}, line {number}: not the note of a run")
        found.append(note)
    return found


# ---- from TOML ----


def is_group(name: str) -> bool:
    """Whether a folder holds a group."""
    return (Path(name) / FILE).is_file()


def load(folder: str | Path) -> Group:
    """The group of a folder.

    Raises:
        ValueError: its file is no TOML, or does not say what it can say.
    """
    path = Path(folder) / FILE
    try:
        return _group(Path(folder), configs.loaded(read_text(path, 4 * configs.LONGEST)))
    except (ValueError, RecursionError) as error:
        said = (str(error).splitlines() or ["it is nested too deeply"])[0]
        raise ValueError(f"{path}: {said}") from None


def _group(folder: Path, said: dict[str, Any]) -> Group:
    experiments = _tables(said.pop("experiments", {}), "experiments")
    lists = _tables(said.pop("variations", {}), "variations")
    series = {name: _series(name, about) for name, about in experiments.items()}
    variations = {}
    for name, about in lists.items():
        members, made = _variations(name, about)
        series |= made
        variations[name] = members
    tables = tuple(_table(about) for about in said.pop("tables", []))
    said["tests"] = tuple(said.get("tests", ({},)))
    return _made(Group, {**said, "folder": folder, "series": series, "tables": tables, "variations": variations})


def _tables(given: Any, name: str) -> dict[str, dict[str, Any]]:
    if not isinstance(given, dict) or not all(isinstance(each, dict) for each in given.values()):
        raise ValueError(f"{name} must be tables: [{name}.NAME]")
    return given


def _series(name: str, about: Mapping[str, Any]) -> Series:
    """An experiment; `seeds` says how many there are, `title` what it is called."""
    rest = dict(about)
    seeds = rest.pop("seeds", 1)
    if not isinstance(seeds, int) or not 1 <= seeds <= 10_000:
        raise ValueError(f"seeds of {name} must be a whole number from 1 to 10000, not {seeds!r}")
    if "goes_on" not in rest and "preset" not in rest:
        raise ValueError(f"{name} needs a preset, or goes_on with the name of an experiment")
    fixed = {"label": rest.pop("title", name), "preset": rest.pop("preset", "")}
    return _made(Series, {**rest, **fixed, "name": name, "sizes": {ALL: Size(seeds, "", 1.0)}})


def _variations(name: str, about: dict[str, Any]) -> tuple[dict[str, str], dict[str, Series]]:
    """The experiments NAME-0, NAME-1, ... of a list: pairs of what is changed, in words and as a table.

    In place of the table there may be the name of an experiment that was made anyway. A third is what else differs.
    """
    members, made, common = {}, {}, dict(about)
    each = common.pop("each", [])
    title, changes = common.pop("title", "{part}"), common.pop("changes", {})
    if not isinstance(each, list) or not all(_is_pair(pair) for pair in each):
        raise ValueError(f"each of {name} must be pairs of words and a table: ['stateless', {{ stateful = false }}]")
    for number, (part, changed, *more) in enumerate(each):
        if isinstance(changed, str):
            members[part] = changed
            continue
        members[part] = f"{name}-{number}"
        about_it = {**common, **(more[0] if more else {}), "title": title.format(part=part), "part": part}
        made[members[part]] = _series(members[part], {**about_it, "changes": {**changes, **changed}})
    return members, made


def _is_pair(pair: Any) -> bool:
    kinds: list[type | tuple[type, ...]] = [str, (str, dict), dict]
    is_list = isinstance(pair, list) and 2 <= len(pair) <= 3
    return is_list and all(isinstance(value, kind) for value, kind in zip(pair, kinds, strict=False))


def _table(about: Any) -> Table:
    if not isinstance(about, dict) or "kind" not in about:
        raise ValueError("a table needs a kind")
    known = {item.name for item in fields(Table)} - {"options"}
    options = {name: value for name, value in about.items() if name not in known}
    return _made(Table, {**{name: about[name] for name in known & about.keys()}, "options": options})


def _made(kind: type[R], values: Mapping[str, Any]) -> R:
    """A record, if there are such fields and values are of their types."""
    known = {item.name: item for item in fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in known:
            where = f" {values['name']}" if "name" in values else ""
            hint = did_you_mean(name, [*known, *_ALSO])
            raise ValueError(f"there is no field {name!r} in{where or ' a group'}.{hint}")
        wanted: type = {"str": str, "int": int}.get(str(known[name].type), object)
        if not isinstance(value, wanted) or (name == "changes" and not isinstance(value, dict)):
            raise ValueError(f"{name} must be {_WORDS.get(wanted, 'a table')}, not {value!r}")
    missing = [name for name in _NEEDED & known.keys() if name not in values]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    return kind(**values)


_WORDS: dict[type, str] = {str: "text", int: "a whole number"}
_NEEDED = {"kind"}
_ALSO = ("seeds", "title", "experiments", "variations")
"""What experiments.toml says in other words than the records."""
