"""`arz train`: a network for a task, in a new run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from arz.commands.fields import add_fields
from arz.commands.options import add_new_run, add_running
from arz.commands.running import begin
from arz.network import NETWORK_KINDS
from arz.runs import config as configs

METHODS = ("ars", "ppo")
"""How networks are trained."""


def _tasks() -> list[str]:
    """The tasks for which there is a preset METHOD-TASK."""
    found = [name.partition("-") for name in configs.preset_names()]
    return sorted({task for method, _, task in found if method in METHODS})


def add_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The options of the command."""
    parser.add_argument("method", choices=METHODS, help="ars: Augmented Random Search; ppo: an extra")
    parser.add_argument("--policy", choices=NETWORK_KINDS, help="the kind of network (default: as in the preset: lstm)")
    parser.add_argument(
        "--task",
        default="cartpole",
        help=f"{', '.join(_tasks())}, or a .toml file with a configuration (default: cartpole)",
    )
    add_new_run(parser, "begin with the champion of a run, or a network in a file")
    parser.usage = "arz train METHOD [--policy KIND] [--task TASK] [--option VALUE ...]"
    add_running(parser)
    method, task = ([each for each in names if each in words] for names in (METHODS, _tasks()))
    kinds = [kind for kind in NETWORK_KINDS if kind in words]
    add_fields(parser, f"{(method or METHODS)[0]}-{(task or ['cartpole'])[0]}", *kinds[:1])


def run(options: argparse.Namespace) -> int:
    """Trains a network in a new run."""
    source = options.task if options.task.endswith(".toml") else f"{options.method}-{options.task}"
    config = configs.load(source)
    if configs.kind_of(config, "search") != options.method:
        raise ValueError(f"{source} asks for another search, {configs.kind_of(config, 'search')}: use arz evolve")
    if options.policy is not None and configs.kind_of(config, "policy") != options.policy:
        config = configs.with_policy(config, options.policy)
    return begin(options, config, f"{Path(source).stem}-{configs.kind_of(config, 'policy')}")
