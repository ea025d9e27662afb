"""What there is to reproduce: items, their claims, and the experiments behind them, from TOML."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from arz.names import did_you_mean
from arz.program import Program
from arz.runs import config as configs
from arz.runs.budget import Budget
from arz.runs.config import Config

SCALES = {
    "smoke": "a minute: shows that the command works, says nothing about a claim",
    "hour": "one to three hours for an item on two cores",
    "day": "about a day for an item on two cores",
    "paper": "as many repeats as the paper has: for many cores",
}
"""How much of an item to do, and what that takes."""


@dataclass(frozen=True)
class Size:
    """How much of an experiment belongs to a scale."""

    repeats: int
    budget: str
    """Empty as in the preset."""
    minutes: float
    """One run takes about so long on one core."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What differs at this scale beside the budget."""


@dataclass(frozen=True)
class Experiment:
    """Runs that differ in their seeds only."""

    name: str
    label: str
    """What its policies are called in figures, as in the paper where it has them."""
    preset: str
    sizes: Mapping[str, Size]
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the preset."""
    policy: str = ""
    """The kind of network; empty as in the preset."""
    start: str = ""
    """The published program with which runs begin; empty for random ones."""

    def config(self, scale: str) -> Config:
        """Of its runs."""
        base = configs.load(self.preset)
        if self.policy:
            base = configs.with_policy(base, self.policy)
        budget = self.sizes[scale].budget
        return configs.override(base, {**self._changes(scale), **({"budget": budget} if budget else {})})

    def _changes(self, scale: str) -> dict[str, Any]:
        return {**self.changes, **self.sizes[scale].changes}

    def command(self, scale: str, seed: int) -> str:
        """What makes such a run by itself."""
        if self.policy:
            task = self.preset.removeprefix("ars-")
            words = ["arz", "train", "ars", "--task", task, "--policy", self.policy]
        else:
            words = ["arz", "evolve", self.preset]
        words += ["--start", f"examples/{self.start}.arz"] if self.start else []
        words += as_options(self._changes(scale))
        return shlex.join([*words, "--seed", str(seed), "--budget", self.sizes[scale].budget])

    def steps(self, scale: str) -> int:
        """Its budget in steps of the task."""
        return int(Budget.parse(self.sizes[scale].budget).amount)


def as_options(changes: Mapping[str, Any]) -> list[str]:
    """What differs from a preset, as the command line says it."""
    words: list[str] = []
    for name, value in changes.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
            continue
        told = value if isinstance(value, str) else configs.toml(value)
        is_option = told.startswith("-") and not told[1:2].isdigit()  # -inf would be taken for one
        words += [f"--{option}={told}"] if is_option else [f"--{option}", told]
    return words


@dataclass(frozen=True)
class Claim:
    """Something that the paper says."""

    name: str
    text: str
    check: str
    """How it is judged: the name of a rule of the item's kind."""
    tried: str = ""
    """Where it fails: what else was tried, and where to read about it."""
    refutable: bool = True
    """Whether what is run here could show that it does not hold."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the rule."""


@dataclass(frozen=True)
class Item:
    """A figure or a table of the paper."""

    name: str
    title: str
    paper: str
    """Where it is in the paper."""
    kind: str
    """How it is measured, drawn and judged."""
    claims: tuple[Claim, ...]
    experiments: tuple[Experiment, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    """What a reader of the figure must know."""

    def runs(self, scale: str) -> list[tuple[Experiment, int]]:
        """All runs: experiment and seed, the first seed of each before the second of any."""
        most = max((experiment.sizes[scale].repeats for experiment in self.experiments), default=0)
        return [(e, seed) for seed in range(1, most + 1) for e in self.experiments if seed <= e.sizes[scale].repeats]

    def minutes(self, scale: str) -> float:
        """What all of them take on one core, about."""
        return sum(experiment.sizes[scale].minutes for experiment, _ in self.runs(scale))

    def equal_steps(self, scale: str) -> int:
        """As many steps as every run has, at the least: where methods are compared."""
        return min((experiment.steps(scale) for experiment in self.experiments), default=0)


def titled(item: Item) -> str:
    """What its figure is called."""
    return f"{item.title} (paper: {item.paper})"


def item_names() -> list[str]:
    """All items, in the order of the paper."""
    return list(_items())


def find_item(name: str) -> Item:
    """The item of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in _items():
        there = f"arz reproduce --list shows what there is.{did_you_mean(name, _items())}"
        raise ValueError(f"there is nothing called {name!r} to reproduce; {there}")
    return _items()[name]


def published(name: str) -> Program:
    """A program that the paper prints: paper_cartpole or paper_quadruped."""
    text = (_folder() / "programs" / f"{name}.arz").read_text("utf-8")
    return Program.parse(text, name)


def _folder() -> Any:
    return resources.files("arz") / "reproduce"


@cache
def experiments() -> dict[str, Experiment]:
    """All experiments, by name."""
    tables = tomllib.loads((_folder() / "experiments.toml").read_text("utf-8"))
    sizes = {
        name: {scale: Size(**about) for scale, about in scales.items()} for name, scales in tables["sizes"].items()
    }
    return {
        name: Experiment(**{**about, "name": name, "sizes": sizes[about["sizes"]]})
        for name, about in tables["experiments"].items()
    }


@cache
def _items() -> dict[str, Item]:
    folder = _folder() / "items"
    texts = {path.name: path.read_text("utf-8") for path in folder.iterdir() if path.name.endswith(".toml")}
    tables = {Path(name).stem: tomllib.loads(text) for name, text in texts.items()}
    ordered = sorted(tables, key=lambda name: tables[name]["place"])
    return {name: _item(name, tables[name]) for name in ordered}


def _item(name: str, table: dict[str, Any]) -> Item:
    claims = [
        Claim(
            **{part: about.pop(part) for part in ("name", "text", "check", "tried", "refutable") if part in about},
            options=about,
        )
        for about in table.pop("claims")
    ]
    table.pop("place")
    chosen = tuple(experiments()[each] for each in table.pop("experiments", ()))
    return Item(name=name, claims=tuple(claims), experiments=chosen, **table)
