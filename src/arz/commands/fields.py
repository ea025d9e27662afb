"""The fields of a configuration as options: for commands that make runs."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from arz.commands.sources import with_prefix
from arz.runs import config as configs
from arz.runs.config import Config


def about_presets() -> str:
    """The presets, each with what it is for."""
    wrapped = [
        textwrap.fill(configs.preset_about(name), 96, initial_indent=f"  {name:22}", subsequent_indent=" " * 24)
        for name in configs.preset_names()
    ]
    return "\n".join(wrapped)


def add_fields(parser: argparse.ArgumentParser, preset: str, policy: str = "") -> None:
    """One option for each field of a configuration; the help tells of those that the preset, so changed, has."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    shown = configs.with_policy(configs.load(preset), policy) if policy else configs.load(preset)
    own, plain = configs.own_fields(shown), configs.Config()
    for name, path in configs.field_paths().items():
        table = path[0]
        if table not in groups:
            groups[table] = parser.add_argument_group(f"{table} (in brackets: as in the preset {preset})")
        text = argparse.SUPPRESS
        if name in own:
            usual = configs.toml(configs.field_default(shown, path))
            text = f"{configs.field_help(path)} [{usual}]".replace("%", "%%")
        option = "--" + name.replace("_", "-")
        if isinstance(configs.field_default(plain, path), bool):
            groups[table].add_argument(
                option,
                action=argparse.BooleanOptionalAction,
                default=argparse.SUPPRESS,
                help=text,
                dest=f"field_{name}",
            )
        else:
            names = [option, *(f"--{other}" for other, meant in configs.ALIASES.items() if meant == name)]
            groups[table].add_argument(
                *names, default=argparse.SUPPRESS, help=text, metavar="VALUE", dest=f"field_{name}"
            )


def with_fields(config: Config, options: argparse.Namespace) -> Config:
    """The configuration with those fields changed that options name."""
    given = with_prefix(options, "field_")
    values = {name: _value(name, text) if isinstance(text, str) else text for name, text in given.items()}
    if "budget" in given:
        values["budget"] = given["budget"]  # 2000000 is a number, but a budget is text
    return configs.override(config, values)


def _value(name: str, text: str) -> Any:
    try:
        return configs.parse_value(text)
    except ValueError as error:
        raise ValueError(f"--{name.replace('_', '-')}: {error}") from None
