"""Options that several commands have."""

from __future__ import annotations

import argparse
from typing import Any

from arz.cluster.scheduling import TIME_LIMIT
from arz.commands.sources import import_named
from arz.tasks import TASKS
from arz.tasks.base import TaskOption
from arz.tasks.cartpole import NAMED, TESTED

BACKENDS = ("local", "ray")
"""Who evaluates policies."""
"""Shorter names of options."""


def add_source(
    parser: argparse.ArgumentParser, text: str = "a run or an .arz file", metavar: str = "RUN_OR_FILE"
) -> None:
    """What the command is about."""
    parser.add_argument("source", metavar=metavar, help=text)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """How many threads to use."""
    parser.add_argument("--threads", type=int, help="how many to use (default: all)")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Where the random numbers of a run come from."""
    parser.add_argument("--seed", type=int, default=1, help="what all random numbers come from (default: 1)")


def add_new_run(parser: argparse.ArgumentParser, start: str) -> None:
    """Where a new run is, and what it begins with: `start` says that for people."""
    add_seed(parser)
    parser.add_argument(
        "--output", metavar="FOLDER", help="the folder of the run (default: the next free one in runs/)"
    )
    parser.add_argument("--start", metavar="RUN_OR_FILE", help=start)


def add_import(parser: argparse.ArgumentParser) -> None:
    """Code of others that the command may need."""
    parser.set_defaults(prepare=import_named)
    parser.add_argument(
        "--import",
        action="append",
        default=[],
        dest="imports",
        metavar="MODULE",
        help="import this module first, whose code then runs: one with operators or environments of yours",
    )
    parser.add_argument(
        "--allow-file",
        action="append",
        default=[],
        dest="files",
        metavar="FILE",
        help="let the environment of a run or configuration open this file, which its options name",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Output for scripts."""
    parser.add_argument("--json", action="store_true", help="for scripts")


def add_digits(parser: argparse.ArgumentParser) -> None:
    """Rounded listings."""
    parser.add_argument("--digits", type=int, help="round numbers in the listing so, and score what that costs")


def add_running(parser: argparse.ArgumentParser) -> None:
    """How a run goes on; the result does not depend on it."""
    from arz.runs.run import CHECKPOINT_SECONDS

    parser.add_argument("--threads", type=int, help="how many to use (default: all); the result does not depend on it")
    parser.add_argument(
        "--tensorboard", action="store_true", help="log the metrics for TensorBoard too, in the folder of the run"
    )
    parser.add_argument("--no-test", action="store_true", help="do not test the champion at the end")
    parser.add_argument(
        "--save-every",
        type=float,
        default=CHECKPOINT_SECONDS,
        metavar="SECONDS",
        help=f"how often to save; a run that is killed loses at most this (default: {CHECKPOINT_SECONDS:g})",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_backend(parser)
    add_json(parser)


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Who evaluates policies; the result does not depend on it."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default=BACKENDS[0],
        help="who evaluates: the threads of this process, or workers of a Ray cluster, an extra (default: local)",
    )
    parser.add_argument(
        "--address",
        metavar="auto|HOST:PORT",
        help="with --backend ray: the cluster (default: one is started here, with a worker for each core)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="with --backend ray: how many to use at most, to leave room for others (default: one for each CPU)",
    )
    parser.add_argument(
        "--worker-timeout",
        type=float,
        metavar="SECONDS",
        help=f"with --backend ray: a worker that is silent for longer is given up (default: {TIME_LIMIT:g})",
    )


def add_episode(parser: argparse.ArgumentParser, which: bool = True, is_filmed: bool = False) -> None:
    """In which task a policy is watched."""
    add_environment(parser)
    parser.add_argument("--task", choices=NAMED, help="cartpole: what changes (default: all)")
    parser.add_argument(
        "--change",
        help=f"cartpole: how it changes: {', '.join(TESTED)} (default: as in the run, or continuous); any "
        "environment: what changes, such as 'unwrapped.g: 10 -> 5 @ 200..800', or none",
    )
    if which:
        parser.add_argument("--episode", type=int, default=0, help="which of the test episodes (default: 0)")
    add_variant(parser)
    for task in TASKS.values():
        for option in task.episode_options:
            _add_task_option(parser, task.kind, option, is_filmed)


def add_environment(parser: argparse.ArgumentParser) -> None:
    """For which environment the program of a file is."""
    parser.add_argument(
        "--env", metavar="NAME", help="for an .arz file: the environment of Gymnasium that its policy is for"
    )
    parser.add_argument(
        "--env-options", metavar="TABLE", help="what that environment is made with, such as '{g = 9.81}'"
    )
    parser.add_argument(
        "--steps", type=int, dest="env_steps", help="how long its episodes are, if not as long as it says itself"
    )


def add_variant(parser: argparse.ArgumentParser) -> None:
    """What of the task can be changed on which a policy is tried."""
    for task in TASKS.values():
        for option in task.test_options:
            _add_task_option(parser, task.kind, option)


def _add_task_option(parser: argparse.ArgumentParser, task: str, option: TaskOption, is_filmed: bool = False) -> None:
    name, text = "--" + option.field.replace("_", "-"), option.text
    if not text:
        from arz.runs import config as configs

        text = configs.field_help(("task", option.field))
        text = text[0].lower() + text[1:]
    common: dict[str, Any] = {"dest": f"variant_{option.field}", "default": argparse.SUPPRESS}
    common["help"] = f"{task}: {text}"
    if option.kind is bool:
        parser.add_argument(name, action=argparse.BooleanOptionalAction, **common)
    elif option.choices:
        parser.add_argument(name, choices=(*option.choices, *(option.films if is_filmed else ())), **common)
    else:
        parser.add_argument(name, type=option.kind, metavar=option.metavar, **common)
