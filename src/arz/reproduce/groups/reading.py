"""A group from `experiments.toml`: what is there becomes records, what cannot be gets a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from arz.files import read_text
from arz.names import did_you_mean
from arz.reproduce.groups.group import ALL, FILE, Grid, Group, Series, Table
from arz.reproduce.plan import Size
from arz.runs import config as configs

R = TypeVar("R")


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
        said = _said(path)
        if "like" in said:
            said = _merged(_said(Path(folder) / str(said.pop("like")) / FILE), said)
        return _group(Path(folder), said)
    except (ValueError, RecursionError) as error:
        why = (str(error).splitlines() or ["it is nested too deeply"])[0]
        raise ValueError(f"{path}: {why}") from None


def _said(path: Path) -> dict[str, Any]:
    return configs.loaded(read_text(path, 4 * configs.LONGEST))


def _merged(first: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """What a group says beside what it says like another one; its experiments are those of both."""
    made = {**first, **said}
    for name in ("experiments", "sweeps"):
        made[name] = {**_tables(first.get(name, {}), name), **_tables(said.get(name, {}), name)}
    return made


def _group(folder: Path, said: dict[str, Any]) -> Group:
    experiments = _tables(said.pop("experiments", {}), "experiments")
    lists = _tables(said.pop("variations", {}), "variations")
    series = {name: _series(name, about) for name, about in experiments.items()}
    variations = {}
    for name, about in lists.items():
        members, made = _variations(name, about)
        series |= made
        variations[name] = members
    given = said.pop("tables", [])
    if not isinstance(given, list):
        raise ValueError("tables must be a list: [[tables]]")
    tables = tuple(_table(about) for about in given)
    sweeps = _tables(said.pop("sweeps", {}), "sweeps")
    said["sweeps"] = {name: _made(Grid, about) for name, about in sweeps.items()}
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
    fitting = {}
    for name, value in values.items():
        if name not in known:
            where = f" {values['name']}" if "name" in values else ""
            hint = did_you_mean(name, [*known, *ALSO])
            raise ValueError(f"there is no field {name!r} in{where or ' a group'}.{hint}")
        wanted = str(known[name].type).partition("[")[0]
        if wanted in WORDS and (not isinstance(value, WORDS[wanted][0]) or isinstance(value, bool)):
            raise ValueError(f"{name} must be {WORDS[wanted][1]}, not {value!r}")
        fitting[name] = tuple(value) if wanted == "tuple" else value
    for missing in [name for name, item in known.items() if _is_needed(item) and name not in values][:1]:
        raise ValueError(f"{missing} is missing")
    if not all(isinstance(each, str) for each in fitting.get("pages", ())):
        raise ValueError("pages must be a list of files")
    if not all(isinstance(each, dict) for each in fitting.get("tests", ())):
        raise ValueError("tests must be a list of tables")
    return kind(**fitting)


def _is_needed(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


WORDS: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"),
    "int": ((int,), "a whole number"),
    "tuple": ((list, tuple), "a list"),
    "Mapping": ((dict,), "a table"),
}
"""What the fields of a record can be."""
ALSO = ("seeds", "title", "experiments", "variations")
"""What experiments.toml says in other words than the records."""
