"""Where a command finds what it works on: policies, runs, tasks, and what options say of them."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from arz.commands.checks import check_episode
from arz.episode import Episode, run_episode
from arz.evaluate import fresh_episodes
from arz.files import folder_inside
from arz.plain import printable
from arz.policy import AnyPolicy, load_policy, read_policy
from arz.program import Program
from arz.runs.folder import RunError, is_run
from arz.tasks import TASKS, Task
from arz.tasks.gymnasium import NO_NETWORKS, AnyEnvironment
from arz.tasks.gymnasium.adapter import allow_files, import_module, named_files, named_modules

LOOKING_STEPS = 2000
"""Episodes are not longer for who only looks."""


def with_prefix(options: argparse.Namespace, prefix: str) -> dict[str, Any]:
    """The options whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): value for name, value in vars(options).items() if name.startswith(prefix)}


def import_named(options: argparse.Namespace) -> None:
    """Imports the modules, and allows the files, that a person named: by options, or with an environment."""
    env = str(getattr(options, "env", None) or getattr(options, "field_env", ""))
    for name in [*getattr(options, "imports", []), *named_modules(env, {})]:
        import_module(name)
    typed = str(getattr(options, "env_options", None) or getattr(options, "field_env_options", ""))
    made_with = _table(typed)
    allow_files([*getattr(options, "files", []), *(named_files(made_with) if isinstance(made_with, dict) else ())])


def _table(typed: str | None) -> Any:
    """What `--env-options` says, which should be a table."""
    if not typed:
        return {}
    from arz.runs.config import parse_value

    return parse_value(typed)


def run_folder(name: str) -> Path:
    """The folder of a run."""
    if name.endswith(".arz"):
        raise ValueError(f"{name} is a program, not a run")
    return Path(name)


def policy_at(source: str) -> AnyPolicy:
    """A program or a network from a file or from standard input."""
    if source == "-":
        return read_policy(sys.stdin.buffer, "standard input")
    if Path(source).is_dir():
        raise RunError(f"{source} is not a run: there is no run.sqlite in it")
    return load_policy(source)


def policy_and_task(options: argparse.Namespace) -> tuple[AnyPolicy, Task | None]:
    """The champion of a run or the policy of a file, and the task that it was made for; None if nobody knows."""
    if is_run(options.source):
        check_own_environment(options)
        from arz.runs.run import Run

        with Run.open(options.source) as run:
            return run.champion, run.config.task
    policy = policy_at(options.source)
    if options.env:
        _ = program_of(policy, NO_NETWORKS)
        made_with = _table(options.env_options)
        task = AnyEnvironment(options.env, made_with, steps=options.env_steps or 0).settled()
        if (task.observations, task.actions) != _seen_and_done(policy):
            seen, done = _seen_and_done(policy)
            shown = f"{options.env} shows {task.observations} numbers and takes {task.actions}"
            raise ValueError(f"{shown}, but the policy of {options.source} sees {seen} and gives {done}")
        return policy, task
    if options.env_options or options.env_steps:
        raise ValueError("--env-options and --steps are for the environment that --env names: name one")
    return policy, task_by_size(policy)


def task_by_size(policy: AnyPolicy) -> Task | None:
    """The task with as many observations and actions as a policy; None if there is none."""
    usual = [kind() for kind in TASKS.values()]
    fitting = [task for task in usual if (task.observations, task.actions) == _seen_and_done(policy)]
    return fitting[0] if fitting else None


def check_own_environment(options: argparse.Namespace) -> None:
    """Refuses to name another environment than a run has."""
    if options.env or options.env_options or options.env_steps:
        raise ValueError(f"--env and what belongs to it are for .arz files: {options.source} is a run with its own")


def policy_and_known_task(options: argparse.Namespace) -> tuple[AnyPolicy, Task]:
    """The same where a task is needed.

    Raises:
        ValueError: nobody knows which.
    """
    policy, task = policy_and_task(options)
    if task is None:
        seen, done = _seen_and_done(policy)
        raise ValueError(
            f"there is no task with {seen} observations and {done} actions, as the policy has: "
            "if it is for an environment of Gymnasium, name that (--env)"
        )
    return policy, task


def _seen_and_done(policy: AnyPolicy) -> tuple[int, int]:
    return policy.observations, policy.actions


def program_of(policy: AnyPolicy, why_not: str) -> Program:
    """A policy that must be a program.

    Raises:
        ValueError: it is another, for which this sentence says why that does not do.
    """
    if not isinstance(policy, Program):
        raise ValueError(why_not)
    return policy


def without_foreign_code(options: argparse.Namespace, task: Task | None) -> Task | None:
    """The task for who only looks, unless to make it could run code that a run names: a run may come from a stranger.

    Its episodes are not longer than it takes to see something.
    """
    if task is None or (task.names_code and not getattr(options, "env", "")):
        return None
    return task.brief(LOOKING_STEPS)


def checked_variant(task: Task, given: dict[str, Any]) -> dict[str, Any]:
    """The options that vary a task, if it is one that has them."""
    known = {item.name for item in fields(task)}
    for name in given:
        if name not in known:
            raise ValueError(f"--{name.replace('_', '-')} is not for this task ({task.name})")
    return given


def own_task(options: argparse.Namespace, base: Task) -> Task:
    """The task of a run as it is, but for what options say; for a file, as `episode_task`."""
    if is_run(options.source) and not options.change and not options.task:
        return replace(base, **checked_variant(base, with_prefix(options, "variant_")))
    return episode_task(options, base)


def episode_task(options: argparse.Namespace, base: Task) -> Task:
    """The task of an episode to show: a run's own, or as options say; something changes in it."""
    varied = replace(base, **checked_variant(base, with_prefix(options, "variant_")))
    return varied.shown(options.change, options.task)


def program_with_parts(source: str, policy: AnyPolicy) -> Program:
    """A policy whose parts can be looked at.

    Raises:
        ValueError: it has none.
    """
    why_not = f"{printable(source)} is {policy.title}, whose parts say nothing: arz show and arz trace take it"
    return program_of(policy, why_not)


def output_folder(options: argparse.Namespace, name: str) -> Path | None:
    """Where to write, once there is something to write: a new folder, or one of the run."""
    if options.output:
        folder = Path(options.output)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(
                f"{printable(str(folder))} exists already, and nothing is overwritten: choose another name"
            )
    elif is_run(options.source):
        folder = folder_inside(Path(options.source), name)
    else:
        return None
    return folder


def test_episode(policy: AnyPolicy, task: Task, episode: int) -> Episode:
    """What happens in the test episode of this number."""
    check_episode(episode)
    return run_episode(policy, task, int(fresh_episodes(1, first=episode)[0]))
