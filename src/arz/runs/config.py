"""What decides the result of a run: one typed document.

A `Config` is a tree of frozen records; each checks itself. On disk it is TOML with one table per record. Every field
has a name of its own, so that overrides need no path: `override(config, {"population": 400})`.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

from arz.names import did_you_mean
from arz.program import Memory
from arz.runs.budget import Budget
from arz.search.regularized import Settings
from arz.tasks.cartpole import Cartpole
from arz.vary import Variation

R = TypeVar("R")


@dataclass(frozen=True)
class Registers:
    """The memory of the programs."""

    scalars: int = 4
    """Scalar registers."""
    vectors: int = 4
    """Vector registers."""
    matrices: int = 0
    """Matrix registers."""
    indices: int = 0
    """Index registers."""
    stateful: bool = True
    """Memory persists from step to step; if not, every step starts anew."""


@dataclass(frozen=True)
class Limits:
    """When a run ends, and how much of it is kept.

    Raises:
        ValueError: a value is out of range.
    """

    budget: str = "1m"
    """When to end: evaluations (2M), steps of the task (5G steps) or time (90s, 3m, 1h)."""
    target: float = math.inf
    """End early when the champion reaches this score on the selection episodes."""
    lineage: int = 20_000
    """How many individuals to keep with parent and mutation, beside the ancestors of the living and of champions; 0 for
    none."""

    def __post_init__(self) -> None:
        Budget.parse(self.budget)
        if math.isnan(self.target):
            raise ValueError("target must be a number, not nan")
        if self.lineage < 0:
            raise ValueError(f"lineage must be 0 or more, not {self.lineage}")


@dataclass(frozen=True)
class Config:
    """Everything that decides the result of a run, but its seed."""

    task: Cartpole = field(default_factory=Cartpole)
    memory: Registers = field(default_factory=Registers)
    variation: Variation = field(default_factory=lambda: Variation(max_cadfs=0))
    search: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _ = self.registers  # refuses what is out of range

    @property
    def registers(self) -> Memory:
        """The memory of the programs, with room for what the task shows and wants."""
        return Memory(self.task.observations, self.task.actions, **vars(self.memory))


def preset_names() -> list[str]:
    """The presets that come with the package."""
    folder = resources.files("arz") / "presets"
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def load(name: str | Path) -> Config:
    """A preset by its name, or a configuration from a `.toml` file.

    Raises:
        ValueError: there is no such preset, or the file does not say what a configuration can say.
        OSError: the file cannot be read.
    """
    if not str(name).endswith(".toml"):
        if str(name) not in preset_names():
            known = preset_names()
            there = f"there are {', '.join(known)}, or name a .toml file"
            raise ValueError(f"there is no preset {str(name)!r}; {there}.{did_you_mean(str(name), known)}")
        text = (resources.files("arz") / "presets" / f"{name}.toml").read_text("utf-8")
        return parse(text, f"preset {name}")
    try:
        text = Path(name).read_text("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{name}: expected text in UTF-8, found other bytes") from None
    return parse(text, str(name))


def parse(text: str, source: str = "configuration") -> Config:
    """A configuration from TOML; what it does not say is as in `Config()`.

    Raises:
        ValueError: it is not TOML, or a field is unknown or out of range.
    """
    try:
        return _record(Config, tomllib.loads(text), Config(), "")
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from None


def render(config: Config) -> str:
    """The configuration as TOML, complete: `parse(render(config)) == config`."""
    return "".join(_tables(config, "")).strip() + "\n"


def override(config: Config, changes: Mapping[str, Any]) -> Config:
    """The configuration with some fields changed, each known by its own name.

    Raises:
        ValueError: a field is unknown, or a value does not fit.
    """
    paths = field_paths()
    tree: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in paths:
            raise ValueError(f"there is no field {name!r} in a configuration.{did_you_mean(name, paths)}")
        table = tree
        for part in paths[name][:-1]:
            table = table.setdefault(part, {})
        table[name] = value
    return _record(Config, tree, config, "")


def parse_value(text: str) -> Any:
    """A value as TOML writes it; what is not TOML is taken as text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@cache
def field_paths() -> dict[str, tuple[str, ...]]:
    """Where each field of a configuration is: its name -> tables and name."""
    found: dict[str, tuple[str, ...]] = {}
    for path, _ in _leaves(Config(), ()):
        if path[-1] in found:
            raise TypeError(f"two fields of a configuration are called {path[-1]}")
        found[path[-1]] = path
    return found


def field_default(config: Config, path: tuple[str, ...]) -> Any:
    """The value of a field."""
    value: Any = config
    for part in path:
        value = getattr(value, part)
    return value


@cache
def field_help(path: tuple[str, ...]) -> str:
    """What a field means: the docstring that stands below it in its record."""
    record: Any = Config()
    for part in path[:-1]:
        record = getattr(record, part)
    tree = ast.parse(inspect.getsource(type(record)))
    body = cast(ast.ClassDef, tree.body[0]).body
    for line, after in pairwise(body):
        is_named = isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id == path[-1]
        if is_named and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return " ".join(str(after.value.value).split())
    return ""


def _leaves(record: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for item in fields(record):
        value = getattr(record, item.name)
        if is_dataclass(value):
            yield from _leaves(value, (*path, item.name))
        else:
            yield (*path, item.name), value


def _record(kind: type[R], data: Mapping[str, Any], base: R, path: str) -> R:
    """`base` with the fields that `data` names."""
    changes: dict[str, Any] = {}
    known = [item.name for item in fields(cast(Any, kind))]
    for name, value in data.items():
        where = f"{path}{name}"
        if name not in known:
            what = "table" if isinstance(value, dict) and not path else "field"
            raise ValueError(f"there is no {what} {where!r} in a configuration.{did_you_mean(name, known)}")
        old = getattr(base, name)
        if is_dataclass(old):
            if not isinstance(value, dict):
                raise ValueError(f"{where} must be a table, not {value!r}")
            changes[name] = _record(type(old), value, old, f"{where}.")
        else:
            changes[name] = _fitting(where, value, old)
    return cast(R, replace(cast(Any, base), **changes))


def _fitting(where: str, value: Any, old: Any) -> Any:
    """The value in the type of the field."""
    if isinstance(old, bool):
        fits = isinstance(value, bool)
    elif isinstance(old, int):
        fits = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, float) and value.is_integer():
            value, fits = int(value), True
    elif isinstance(old, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        value = float(value) if fits else value
    elif isinstance(old, tuple):
        fits = isinstance(value, list | tuple | str)
        value = tuple(value) if isinstance(value, list) else value
    else:
        fits = isinstance(value, type(old))
    if not fits:
        names = {
            bool: "true or false",
            int: "a whole number",
            float: "a number",
            str: "text",
            tuple: "a list",
            dict: "a table",
        }
        raise ValueError(f"{where} must be {names[type(old)]}, not {value!r}")
    return value


def _tables(record: Any, path: str) -> Iterator[str]:
    nested = []
    lines = []
    for item in fields(record):
        value = getattr(record, item.name)
        if is_dataclass(value):
            nested.append((f"{path}.{item.name}" if path else item.name, value))
        else:
            lines.append(f"{item.name} = {toml(value)}\n")
    if lines:
        yield f"\n[{path}]\n" + "".join(lines)
    for name, value in nested:
        yield from _tables(value, name)


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
    return repr(value)
