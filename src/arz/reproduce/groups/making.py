"""The runs of a group: made some at a time, resumed where they stopped, never made twice; each is noted once."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arz.evaluate import Workers
from arz.files import write_whole
from arz.policy import AnyPolicy, load_policy
from arz.reproduce.groups.group import Group, Note, Series
from arz.reproduce.groups.notes import NOTES, Made
from arz.reproduce.work import StoppedError, Tally, make_all, to_json
from arz.runs import config as configs
from arz.runs.config import Config
from arz.runs.folder import is_run
from arz.runs.pruning import at_end, refuse_link
from arz.runs.run import Run
from arz.runs.sweep import make_run, unbroken


@dataclass(frozen=True)
class Making:
    """Some experiments of a group."""

    group: Group
    only: tuple[str, ...] = ()
    """Their names; all, if there are none."""
    jobs: int = 1
    """Runs at a time, one thread each."""
    show: Callable[[float, str], None] = lambda share, text: None
    """Is told how much is done, and what goes on."""
    should_stop: Callable[[], bool] = lambda: False
    """Is asked now and then."""
    workers: Workers | None = None
    """Who evaluates, in place of threads."""

    @property
    def chosen(self) -> list[Series]:
        """The experiments, in the order of the file: what goes on, or begins with champions, comes after what it needs.

        Raises:
            ValueError: one is not there.
        """
        for name in self.only:
            self.group.find(name)
        return [series for name, series in self.group.series.items() if not self.only or name in self.only]

    def missing(self, series: Series) -> list[int]:
        """The seeds that are not noted yet."""
        known = {note["seed"] for note in self.group.notes(series.name)}
        return [seed for seed in series.seeds if seed not in known]

    @property
    def todo(self) -> list[tuple[Series, int]]:
        """All runs that are not noted yet."""
        return [(series, seed) for series in self.chosen for seed in self.missing(series)]

    def make(self) -> list[Note]:
        """Makes the runs that are not noted yet, and notes them.

        Raises:
            StoppedError: a person wanted that; what was done is saved.
            ValueError: a folder has a run with other settings in it, or what a run begins with is not there.
        """
        tally = Tally({(series.name, seed): 1.0 for series, seed in self.todo}, self.show)
        found = []
        for series in self.chosen:
            seeds = self.missing(series)
            if seeds and series.sweep:
                self._sweep(series.sweep)
            make_all(seeds, self._attempt(series, tally), self._at_once(series), self.should_stop)
            for seed in seeds:
                if self.should_stop():
                    raise StoppedError
                found.append(self._note(series, seed))
        return found

    def _at_once(self, series: Series) -> int:
        """How many of its runs at a time."""
        return 1 if "jobs" in self.group.base(series).own.search.CANNOT else self.jobs

    def _sweep(self, name: str) -> None:
        """Tries the points of a grid, and keeps their scores, if that was not done yet."""
        kept, grid = self.group.sweep_file(name), self.group.sweeps[name]
        if kept.exists():
            return
        sweep = grid.sweep(Path(self.group.sweep_runs.format(name=name)))
        jobs = 1 if "jobs" in sweep.base.search.CANNOT else self.jobs
        tried = sweep.run(jobs=jobs, workers=self.workers, should_stop=self.should_stop)
        if len(tried) < len(sweep.points):
            raise StoppedError
        best = max((t for t in tried if math.isfinite(t.score)), key=lambda each: each.score, default=None)
        if best is None:
            raise ValueError(f"the sweep {name} has no champion: give it a larger budget")
        scores = [{**each.settings, "score": round(each.score, 1)} for each in tried]
        write_whole(kept, to_json({"command": shlex.join(grid.words()), "best": best.settings, "tried": scores}))

    def _attempt(self, series: Series, tally: Tally) -> Callable[[int, Callable[[], bool]], None]:
        base, changes = self.group.base(series), series.changes
        goes_on = series.goes_on and not series.at
        end = (changes.get("budget"), changes.get("target")) if goes_on else (None, None)

        def attempt(seed: int, should_stop: Callable[[], bool]) -> None:
            config, start = begun(self.group, base, seed)
            folder = Path(self.group.run_folder(series, seed))
            folder.parent.mkdir(parents=True, exist_ok=True)
            score = make_run(
                config,
                seed,
                folder,
                base.preset,
                should_stop,
                start=start,
                workers=self.workers,
                on_progress=lambda progress: tally.tell(series.name, seed, progress.spent),
                end=end,
            )
            if score is None:
                raise StoppedError
            tally.end(series.name, seed)

        return attempt

    def _note(self, series: Series, seed: int) -> Note:
        """Tests a run that is done; the line is written last."""
        folder, base = Path(self.group.run_folder(series, seed)), self.group.base(series)
        with Run.open(unbroken(folder) if "resume" in base.own.search.CANNOT else folder) as run:
            if not series.at:
                at_end(run, workers=self.workers)
            found = NOTES[self.group.kind](Made(self.group, series, seed, run))
        file = self.group.file(series)
        refuse_link(file)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(found) + "\n")
        return found


def begun(group: Group, series: Series, seed: int) -> tuple[Config, AnyPolicy | None]:
    """The configuration of a run, and what it starts with."""
    config = configs.settled(group.config(series))
    if not series.start:
        return config, None
    path = Path(series.start.format(seed=seed))
    if is_run(path):
        with Run.open(path) as run:
            return configs.for_start(config, run.champion)
    if not path.exists():
        how = f"{series.made_by.format(seed=seed)} > {path}" if series.made_by else "make the experiment before it"
        raise ValueError(f"{series.name}, seed {seed}, starts with {path}, which is not there: {how}")
    return configs.for_start(config, load_policy(path))
