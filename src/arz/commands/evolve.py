"""`arz evolve`: programs for a task, in a new run."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from arz.commands.fields import about_presets, add_fields
from arz.commands.options import add_import, add_new_run, add_running
from arz.commands.running import begin
from arz.runs import config as configs


def add_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    presets = configs.preset_names()
    parser.add_argument(
        "preset",
        nargs="?",
        help=f"{', '.join(presets)}, or a .toml file (default with --env: gymnasium)",
    )
    add_new_run(parser, "begin with the champion of a run, or the program of an .arz file, in place of random programs")
    parser.usage = "arz evolve PRESET [--option VALUE ...], or arz evolve --env NAME [--option VALUE ...]"
    add_running(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        f"{parser.description}\n\npresets (arz evolve PRESET --help shows their values):\n{about_presets()}"
    )
    shown = "gymnasium" if any(word.startswith("--env") for word in words) else "cartpole"
    add_fields(parser, next((word for word in words if word in presets), shown))


def run(options: argparse.Namespace) -> int:
    """Evolves programs in a new run."""
    env: str = getattr(options, "field_env", "")
    if options.preset is None and not env:
        raise ValueError("say what to evolve: a preset, such as cartpole, or --env with the name of an environment")
    if options.preset is None:
        return begin(options, configs.load("gymnasium"), re.sub(r"[^\w-]+", "-", env))
    return begin(options, configs.load(options.preset), Path(options.preset).stem)
