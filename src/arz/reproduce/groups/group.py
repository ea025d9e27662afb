"""A group: its experiments, its tables and its notes, from a folder with `experiments.toml`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from arz.files import read_text
from arz.names import did_you_mean
from arz.reproduce.plan import Experiment, as_options
from arz.runs import config as configs
from arz.runs.config import Config
from arz.runs.sweep import PAPER, Sweep

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

    def __post_init__(self) -> None:
        if self.episodes < 1 or self.at < 0 or (self.at and not self.goes_on):
            raise ValueError(f"{self.name}: episodes must be 1 or more, and at is for runs that goes_on names")
        if not self.goes_on and not self.preset:
            raise ValueError(f"{self.name} needs a preset, or goes_on with the name of an experiment")
        if self.preset == "gymnasium" and "env" not in self.changes:
            raise ValueError(f"{self.name} needs an environment: changes = {{ env = 'Pendulum-v1' }}")

    @property
    def seeds(self) -> range:
        """All of them, from the first on."""
        return range(1, self.sizes[ALL].repeats + 1)

    sweep: str = ""
    """The sweep whose best settings these have."""

    @property
    def own(self) -> Config:
        """The configuration of a run, but for what a sweep says."""
        changes = {configs.ALIASES.get(name, name): value for name, value in self.changes.items()}
        return replace(self, changes=changes).config(ALL)


@dataclass(frozen=True)
class Grid:
    """A sweep: points of a grid, each for a short time; its best settings are those of some experiments."""

    preset: str
    budget: str
    policy: str = ""
    grid: Mapping[str, Any] = field(default_factory=dict)
    """The paper's, if nothing is said."""

    def __post_init__(self) -> None:
        if not all(isinstance(values, list) for values in self.grid.values()):
            raise ValueError("a grid has a list of values for each name")

    def words(self) -> list[str]:
        """The command, without --output."""
        points = [f"{name}={','.join(map(configs.toml, values))}" for name, values in self.grid.items()]
        given = [*(["--policy", self.policy] if self.policy else []), "--budget", self.budget]
        return ["arz", "sweep", self.preset, *given, *(word for point in points for word in ("--grid", point))]

    def sweep(self, folder: Path) -> Sweep:
        """The sweep itself, in this folder."""
        base = configs.load(self.preset)
        if self.policy and configs.kind_of(base, "policy") != self.policy:
            base = configs.with_policy(base, self.policy)
        grid = self.grid or PAPER[configs.kind_of(base, "search")]
        return Sweep(configs.override(base, {"budget": self.budget}), grid, folder, preset=self.preset)


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
    at: int = 0
    """Runs are told as they stood after so many steps; 0 for their end."""
    sweeps: Mapping[str, Grid] = field(default_factory=dict)
    sweep_runs: str = "runs/sweep-{name}"
    """The folder of a sweep, from where the command is given."""
    sweep_data: str = "sweep-{name}.json"
    """What is kept of it, from the folder of the group."""
    figure: str = ""
    """What is drawn; see `figures.py`. Empty for nothing."""
    tables: tuple[Table, ...] = ()
    variations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Lists of experiments: by the name of the list, what is changed -> the experiment."""

    def __post_init__(self) -> None:
        for name, each in self.series.items():
            if not re.fullmatch(r"[\w.-]+", name):
                raise ValueError(f"{name!r} is no name for a file, as that of an experiment must be")
            before = list(self.series)[: list(self.series).index(name)]
            if each.goes_on and each.goes_on not in before:
                hint = did_you_mean(each.goes_on, before)
                raise ValueError(f"{name} goes on with {each.goes_on!r}, which is not there before it.{hint}")
            if each.sweep and each.sweep not in self.sweeps:
                raise ValueError(f"there is no sweep {each.sweep!r}.{did_you_mean(each.sweep, self.sweeps)}")
            if not each.goes_on:
                _ = each.own  # refuses what does not fit
        for of, members in self.variations.items():
            for name in members.values():
                if name not in self.series:
                    raise ValueError(f"{of} has {name!r}, which is not there.{did_you_mean(name, self.series)}")
        for path in (self.runs, self.sweep_runs, *(each.start for each in self.series.values())):
            _check_path(path, most_up=0)
        for path in (self.data, self.sweep_data):
            _check_path(path, most_up=1)
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
        command, changes = ["evolve", series.preset], dict(series.changes)
        if series.preset == "gymnasium":  # the environment stands for it
            command = ["evolve", "--env", str(changes.pop("env"))]
        elif series.policy:
            method, _, task = series.preset.partition("-")
            others = ["--task", task] if task != "cartpole" else []
            command = ["train", method, *others, "--policy", series.policy]
        budget = {"budget": changes.pop("budget")} if "{budget}" in self.words else {}
        given = {
            "{preset}": command,
            "{changes}": as_options(changes),
            "{budget}": as_options(budget),
            "{best}": as_options(self.best(series)),
            "{start}": ["--start", series.start.format(seed=seed)] if series.start else [],
            "{seed}": [str(seed)],
            "{folder}": [folder],
        }
        return ["arz", *(word for part in self.words.split() for word in given.get(part, [part]))]

    def told(self, series: Series, seed: int | str = "N") -> str:
        """The same, as one types it."""
        return shlex.join(self.command(series, seed))

    def config(self, series: Series) -> Config:
        """Of its runs, with the best settings of its sweep."""
        return configs.override(series.own, self.best(series))

    # ---- what is kept ----

    def best(self, series: Series) -> dict[str, Any]:
        """The best settings of its sweep; none, if there is no sweep, or it was not made yet."""
        if not series.sweep or not self.sweep_file(series.sweep).exists():
            return {}
        best = self.sweep_note(series.sweep)["best"]
        return {str(name): value for name, value in best.items()}

    def sweep_note(self, name: str) -> dict[str, Any]:
        """What is kept of a sweep: its command, the best settings, and what was tried.

        Raises:
            ValueError: the file is damaged.
        """
        file = self.sweep_file(name)
        try:
            note = json.loads(read_text(file, MOST_BYTES))
        except (ValueError, RecursionError):
            note = None
        if not isinstance(note, dict) or not isinstance(note.get("best"), dict) or "command" not in note:
            raise ValueError(f"{file} is not what is kept of a sweep: remove it, and it is made anew")
        return note

    def sweep_file(self, name: str) -> Path:
        """What is kept of a sweep."""
        return self.folder / self.sweep_data.format(name=name)

    def file(self, series: Series) -> Path:
        """Where the notes of an experiment are."""
        return self.folder / self.data.format(name=series.name)

    def called(self, series: Series) -> str:
        """What its notes call an experiment."""
        return {"settings": series.part, "method": series.label}.get(self.named, series.name)

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
