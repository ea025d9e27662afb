"""What decides the result of a run: one typed document.

A `Config` is a tree of frozen records; each checks itself. On disk it is TOML with one table per record; where there
are several kinds of a record (tasks, searches), the table says which: `kind = "quadruped"`. Every field has a name of
its own, so that overrides need no path: `override(config, {"population": 400})`.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast

from arz.baselines.settings import PpoSettings
from arz.files import read_text
from arz.names import did_you_mean
from arz.plain import UNSEEN
from arz.policy import AnyPolicy, PolicyShape
from arz.program import Memory
from arz.runs.budget import Budget
from arz.runs.policies import POLICIES, PolicySettings, Programs
from arz.search import SEARCHES, SearchSettings
from arz.search.regularized import RegularizedSettings
from arz.tasks import TASKS, Task
from arz.tasks.cartpole import Cartpole
from arz.vary import Variation

R = TypeVar("R")


RECORD_KINDS: dict[str, dict[str, type[Any]]] = {
    "task": dict(TASKS),
    "policy": dict(POLICIES),
    "search": {**{kind: settings for kind, (settings, _) in SEARCHES.items()}, "ppo": PpoSettings},
}
"""The kinds of records that a table can hold; the first is meant where a table does not say."""

ALIASES = {"cadfs": "max_cadfs"}
"""Other names of fields, as a person may write them."""

RENAMED = {
    "selection_episodes": "validation_episodes",
    "select_every": "validate_every",
    "select_top": "validate_top",
    "children": "offspring",
}
"""Fields that once had another name: that, and the present one. Runs that kept the first are read; people are told."""

HUGE = 2**1000
"""Whole numbers beyond this do not become others."""
LONGEST, MOST_DOTS = 2**16, 2000
"""Of a configuration that a stranger wrote: characters in all, and dots in a line."""


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
    widens: bool = False
    """A program with which a search begins gets this memory where its own is smaller; if not, it keeps its own."""


@dataclass(frozen=True)
class Limits:
    """When a run ends, and how much of it is kept.

    Raises:
        ValueError: a value is out of range.
    """

    budget: str = "1m"
    """When to end: evaluations (2M), steps of the task (5G steps) or time (90s, 3m, 1h)."""
    target: float = math.inf
    """End early when the champion reaches this score on the validation episodes."""
    prune: float = 0.0
    """When `arz evolve` or `arz resume` ends, the champion is made smaller, as long as it loses no more than this share
    of its score; 0 for no such ending."""
    lineage: int = 20_000
    """How many individuals to keep with parent and mutation, beside the ancestors of the living and of champions; 0 for
    none."""

    def __post_init__(self) -> None:
        Budget.parse(self.budget)
        if math.isnan(self.target):
            raise ValueError("target must be a number, not nan")
        if not 0 <= self.prune <= 1:
            raise ValueError(f"prune must lie in 0 to 1, not {self.prune}")
        if self.lineage < 0:
            raise ValueError(f"lineage must be 0 or more, not {self.lineage}")


@dataclass(frozen=True)
class Fitness:
    """What children are scored by, and how many mutations they get.

    Raises:
        ValueError: a value is out of range.
    """

    objectives: tuple[str, ...] = ("return",)
    """What to look for: return, length; for the quadruped also distance, worst_leg, FR, FL, RR, RL. Regularized
    evolution takes only the first; champions are chosen by it."""
    warm_up_objectives: tuple[str, ...] = ("return", "length")
    """What to look for during a warm-up, if there is one."""
    mutations: int = 1
    """Each child gets one mutation up to this many."""
    sighted: bool = False
    """Do not try programs whose actions do not depend on the observation."""

    def __post_init__(self) -> None:
        for name in ("objectives", "warm_up_objectives"):
            given = getattr(self, name)
            is_list = isinstance(given, tuple) and all(isinstance(item, str) for item in given)
            if not is_list or not given or len(set(given)) < len(given):
                raise ValueError(f"{name} must be a list of different names, not {given!r}")
        if not 1 <= self.mutations <= 1000:
            raise ValueError(f"mutations must be a whole number from 1 to 1000, not {self.mutations}")


@dataclass(frozen=True)
class Config:
    """Everything that decides the result of a run, but its seed."""

    task: Task = field(default_factory=Cartpole)
    policy: PolicySettings = field(default_factory=Programs)
    memory: Registers = field(default_factory=Registers)
    variation: Variation = field(default_factory=lambda: Variation(max_cadfs=0))
    fitness: Fitness = field(default_factory=Fitness)
    search: SearchSettings = field(default_factory=RegularizedSettings)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _ = self.policy.shape(self)  # refuses what is out of range
        if self.search.needs_sums and not self.task.adds_up:
            title = self.task.title
            raise ValueError(f"hurdle_episodes must be 0 for {title}: its objectives are not sums over episodes")
        known = self.task.objective_names
        for name in (*self.fitness.objectives, *self.fitness.warm_up_objectives):
            if name not in known:
                hint = did_you_mean(str(name), known)
                raise ValueError(f"objectives must be among {', '.join(known)} for this task, not {name!r}.{hint}")
        self.search.check(self.policy.plural)
        self.task.check(self.policy.plural)
        self.search.check_problem(self.task, self.memory.stateful)

    @property
    def shape(self) -> PolicyShape:
        """What the policies have in common, with what the task shows and wants: the memory of programs, or layers.

        Raises:
            ValueError: nobody has asked the environment yet what that is.
        """
        if not (self.task.observations and self.task.actions):
            raise ValueError(f"what {self.task.name} shows and takes is not known yet: ask it with settled(config)")
        return self.policy.shape(self)

    @property
    def registers(self) -> Memory:
        """The memory of the programs, where policies are programs.

        Raises:
            ValueError: nobody has asked the environment yet what it shows and takes.
        """
        _ = self.shape
        return Programs().shape(self)


def settled(config: Config) -> Config:
    """The configuration with all that only its environment knows, which is made for that.

    Nothing else makes or imports an environment that a configuration names: it may come from a stranger.

    Raises:
        ValueError: the environment cannot be made, or names a module that was not imported.
    """
    return replace(config, task=config.task.settled())


def preset_names() -> list[str]:
    """The presets that come with the package."""
    folder = resources.files("arz") / "presets"
    return sorted(path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml"))


def preset_about(name: str) -> str:
    """What a preset is for: the comment with which its file begins."""
    lines = itertools.takewhile(lambda line: line.startswith("# "), _preset_text(name).splitlines())
    return " ".join(line.removeprefix("# ") for line in lines)


def _preset_text(name: str) -> str:
    return (resources.files("arz") / "presets" / f"{name}.toml").read_text("utf-8")


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
        return parse(_preset_text(str(name)), f"preset {name}")
    return parse(read_text(name, 4 * LONGEST), str(name))


def parse(text: str, source: str = "configuration", *, is_kept: bool = False) -> Config:
    """A configuration from TOML; what it does not say is as in `Config()`. One that a run kept may have older names.

    Raises:
        ValueError: it is not TOML, or a field is unknown or out of range.
    """
    try:
        tables = loaded(text)
        if is_kept:
            tables = {name: _renamed(table) if isinstance(table, dict) else table for name, table in tables.items()}
        chosen = {}
        for table, kinds in RECORD_KINDS.items():
            given = tables.get(table)
            if isinstance(given, dict) and "kind" in given:
                kind = given.pop("kind")
                if not isinstance(kind, str) or kind not in kinds:
                    hint = did_you_mean(str(kind), kinds)
                    raise ValueError(f"{table}.kind must be one of {', '.join(kinds)}, not {kind!r}.{hint}")
                chosen[table] = kinds[kind]()
        return _record(Config, tables, Config(), "", chosen)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def _renamed(table: dict[str, Any]) -> dict[str, Any]:
    return {RENAMED.get(name, name): value for name, value in table.items()}


def loaded(text: str) -> dict[str, Any]:
    """The tables of a TOML text, if reading it does not take more than it should.

    Raises:
        ValueError: it is too long, too deep, or not TOML.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a configuration has at most {LONGEST} characters, this one {len(text)}")
    # Reading a dotted key takes memory by the square of its parts.
    if sum(line.count(".") ** 2 for line in text.splitlines()) > MOST_DOTS**2:
        raise ValueError("a line has too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def render(config: Config) -> str:
    """The configuration as TOML, complete: `parse(render(config)) == config`."""
    text = "".join(_tables(config, "")).strip() + "\n"
    for table in RECORD_KINDS:
        text = text.replace(f"[{table}]\n", f"[{table}]\nkind = {toml(kind_of(config, table))}\n", 1)
    return text


def for_start(config: Config, policy: AnyPolicy) -> tuple[Config, AnyPolicy]:
    """The configuration for a search that begins with a policy, and this as it begins: with its memory, or its sizes.

    Raises:
        ValueError: such a policy cannot do the task, or the search is for the other kind.
    """
    wanted = (config.task.observations, config.task.actions)
    if (policy.observations, policy.actions) != wanted:
        given = f"{policy.observations} observations and gives {policy.actions} actions"
        raise ValueError(f"the start takes {given}, but the task wants {wanted[0]} and {wanted[1]}")
    return config.policy.begun_with(policy, config)


def needs_start(config: Config) -> bool:
    """Whether a search only finds numbers, so that it makes no sense without the code of a program."""
    weights, custom = vars(config.variation.weights), config.variation.custom
    is_fixed = not any(custom.values()) and all(not weights[name] for name in weights if name != "randomize_constants")
    return isinstance(config.policy, Programs) and (config.search.NEEDS_CODE or is_fixed)


def with_policy(config: Config, kind: str) -> Config:
    """The configuration with another kind of policy, of the sizes that the paper has for its search."""
    return replace(config, policy=POLICIES[kind](**config.search.NETWORKS.get(kind, {})))


def override(config: Config, changes: Mapping[str, Any]) -> Config:
    """The configuration with some fields changed, each known by its own name.

    Raises:
        ValueError: a field is unknown, or a value does not fit.
    """
    paths = field_paths()
    own = own_fields(config)
    tree: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in paths:
            raise ValueError(_unknown("field", name, name, paths))
        if name not in own:
            where = paths[name][0]
            raise ValueError(f"{name} belongs to another kind of {where} than {kind_of(config, where)}")
        table = tree
        for part in paths[name][:-1]:
            table = table.setdefault(part, {})
        table[name] = value
    return _record(Config, tree, config, "")


def unusual(config: Config) -> dict[str, str]:
    """What a configuration says beyond the usual: its kinds, and each field that has another value than its record.

    A field that is new in a later version has its usual value in every older configuration, and one that was renamed is
    told by its first name, so this stays the same.
    """
    first = {present: name for name, present in RENAMED.items()}
    found = {f"{table}.kind": kind_of(config, table) for table in RECORD_KINDS}
    for item in fields(config):
        record = getattr(config, item.name)
        usual = dict(_leaves(type(record)(), (item.name,)))
        found |= {
            ".".join(first.get(part, part) for part in path): toml(value)
            for path, value in _leaves(record, (item.name,))
            if value != usual[path]
        }
    return found


def _unknown(what: str, name: str, where: str, known: Iterable[str]) -> str:
    """What is wrong with a name that is none of those known."""
    if name in RENAMED:
        return f"{name} is now called {RENAMED[name]}"
    return f"there is no {what} {where!r} in a configuration.{did_you_mean(name, known)}"


def own_fields(config: Config) -> set[str]:
    """The names of the fields that a configuration of these kinds has."""
    return {path[-1] for path, _ in _leaves(config, ())}


def parse_value(text: str) -> Any:
    """A value as TOML writes it; what is not TOML is taken as text."""
    try:
        return loaded(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def kind_of(config: Config, table: str) -> str:
    """Which kind of record a table holds."""
    record = getattr(config, table)
    found = [name for name, kind in RECORD_KINDS[table].items() if type(record) is kind]
    if not found:
        known = ", ".join(RECORD_KINDS[table])
        raise ValueError(f"a configuration knows the kinds of {table} {known}, not {type(record).__name__}")
    return found[0]


@cache
def field_paths() -> dict[str, tuple[str, ...]]:
    """Where each field of a configuration, of any kind, is: its name -> tables and name."""
    found: dict[str, tuple[str, ...]] = {}
    for table, records in _records().items():
        for record in records:
            for path, _ in _leaves(record, (table,)):
                if found.setdefault(path[-1], path) != path:
                    raise TypeError(f"two fields of a configuration are called {path[-1]}")
    return found


@cache
def _records() -> dict[str, list[Any]]:
    """Each table of a configuration in all its kinds, with the usual values."""
    usual = Config()
    return {
        item.name: [kind() for kind in RECORD_KINDS.get(item.name, {}).values()] or [getattr(usual, item.name)]
        for item in fields(Config)
    }


def field_default(config: Config, path: tuple[str, ...]) -> Any:
    """The value of a field; of a kind that the configuration does not hold, its usual value."""
    for record in (getattr(config, path[0]), *_records()[path[0]]):
        value: Any = record
        for part in path[1:]:
            value = getattr(value, part, None)
        if value is not None:
            return value
    raise KeyError(path[-1])


@cache
def field_help(path: tuple[str, ...]) -> str:
    """What a field means: the docstring that stands below it in its record."""
    texts = []
    for record in _records()[path[0]]:
        for part in path[1:-1]:
            record = getattr(record, part)
        found = [_docstrings(kind).get(path[-1]) for kind in type(record).__mro__[:-1]]
        texts += [text for text in found if text][:1]
    return " ".join(dict.fromkeys(texts))


@cache
def _docstrings(kind: type[Any]) -> dict[str, str]:
    """What stands below the fields of a record."""
    body = cast(ast.ClassDef, ast.parse(inspect.getsource(kind)).body[0]).body
    found = {}
    for line, after in itertools.pairwise(body):
        is_field = isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if is_field and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            name = cast(ast.Name, cast(ast.AnnAssign, line).target).id
            found[name] = " ".join(str(after.value.value).split())
    return found


def _leaves(record: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for item in fields(record):
        value = getattr(record, item.name)
        if is_dataclass(value):
            yield from _leaves(value, (*path, item.name))
        else:
            yield (*path, item.name), value


def _record(kind: type[R], data: Mapping[str, Any], base: R, path: str, chosen: Mapping[str, Any] | None = None) -> R:
    """`base`, with some fields chosen anew, with the fields that `data` names."""
    changes: dict[str, Any] = dict(chosen or {})
    known = [item.name for item in fields(cast(Any, kind))]
    for name, value in data.items():
        where = f"{path}{name}"
        if name not in known:
            what = "table" if isinstance(value, dict) and not path else "field"
            raise ValueError(_unknown(what, name, where, known))
        old = changes.get(name, getattr(base, name))
        if is_dataclass(old):
            if not isinstance(value, dict):
                raise ValueError(f"{where} must be a table, not {_shown(value)}")
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
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = is_number and (isinstance(value, float) or abs(value) < HUGE)
        value = float(value) if fits else value
    elif isinstance(old, tuple):
        fits = isinstance(value, list | tuple | str)
        value = tuple(value) if isinstance(value, list) else value
        if isinstance(value, str) and old and isinstance(old[0], str):
            value = tuple(part.strip() for part in value.split(","))  # one name, or several with commas
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
        raise ValueError(f"{where} must be {names[type(old)]}, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    """A value in an error, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


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
        return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
    return repr(value)
