"""What several commands need."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arz import terminal
from arz.assess import Assessment
from arz.cluster.crew import TIME_LIMIT, check_limits
from arz.cluster.ray_workers import RayWorkers
from arz.complexity import complexity
from arz.evaluate import TEST_SEED
from arz.network import Network
from arz.policy import load_policy, read_policy
from arz.program import Program
from arz.runs import config as configs
from arz.runs.config import Config
from arz.runs.database import RunError, is_run
from arz.runs.run import Run
from arz.simplify import readable
from arz.tasks.any_environment import NO_NETWORKS, AnyEnvironment
from arz.tasks.cartpole import NAMED, Cartpole
from arz.tasks.foreign import allow_files, import_module, named_files, named_modules
from arz.tasks.quadruped import Quadruped

Known = Cartpole | Quadruped | AnyEnvironment
"""The tasks that there are."""
LOOKING_STEPS = 2000
"""Episodes are not longer for who only looks."""
LINE = 120
"""No line of a shortened listing is longer."""


def with_prefix(options: argparse.Namespace, prefix: str) -> dict[str, Any]:
    """The options whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): value for name, value in vars(options).items() if name.startswith(prefix)}


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


def import_named(options: argparse.Namespace) -> None:
    """Imports the modules, and allows the files, that a person named: by options, or with an environment."""
    env = str(getattr(options, "env", None) or getattr(options, "field_env", ""))
    for name in [*getattr(options, "imports", []), *named_modules(env, {})]:
        import_module(name)
    typed = str(getattr(options, "env_options", None) or getattr(options, "field_env_options", ""))
    made_with = configs.parse_value(typed) if typed else {}
    allow_files([*getattr(options, "files", []), *(named_files(made_with) if isinstance(made_with, dict) else ())])


def run_folder(name: str) -> Path:
    """The folder of a run."""
    if name.endswith(".arz"):
        raise ValueError(f"{name} is a program, not a run")
    return Path(name)


def policy_at(source: str) -> Program | Network:
    """A program or a network from a file or from standard input."""
    if source == "-":
        return read_policy(sys.stdin.buffer, "standard input")
    if Path(source).is_dir():
        raise RunError(f"{source} is not a run: there is no run.sqlite in it")
    return load_policy(source)


def policy_and_task(options: argparse.Namespace) -> tuple[Program | Network, Known | None]:
    """The champion of a run or the policy of a file, and the task that it was made for; None if nobody knows."""
    if is_run(options.source):
        check_own_environment(options)
        with Run.open(options.source) as run:
            return run.champion, run.config.task
    policy = policy_at(options.source)
    if options.env:
        if isinstance(policy, Network):
            raise ValueError(NO_NETWORKS)
        made_with = configs.parse_value(options.env_options) if options.env_options else {}
        task = AnyEnvironment(options.env, made_with, steps=options.env_steps or 0).settled()
        if (task.observations, task.actions) != _seen_and_done(policy):
            seen, done = _seen_and_done(policy)
            shown = f"{options.env} shows {task.observations} numbers and takes {task.actions}"
            raise ValueError(f"{shown}, but the policy of {options.source} sees {seen} and gives {done}")
        return policy, task
    if options.env_options or options.env_steps:
        raise ValueError("--env-options and --steps are for the environment that --env names: name one")
    return policy, task_by_size(policy)


def task_by_size(policy: Program | Network) -> Known | None:
    """The task with as many observations and actions as a policy; None if there is none."""
    sizes = _seen_and_done(policy)
    fitting = [task for task in (Cartpole(), Quadruped()) if (task.observations, task.actions) == sizes]
    return fitting[0] if fitting else None


def check_own_environment(options: argparse.Namespace) -> None:
    """Refuses to name another environment than a run has."""
    if options.env or options.env_options or options.env_steps:
        raise ValueError(f"--env and what belongs to it are for .arz files: {options.source} is a run with its own")


def policy_and_known_task(options: argparse.Namespace) -> tuple[Program | Network, Known]:
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


def _seen_and_done(policy: Program | Network) -> tuple[int, int]:
    shape = policy.architecture if isinstance(policy, Network) else policy.memory
    return shape.observations, shape.actions


def without_foreign_code(options: argparse.Namespace, task: Known | None) -> Known | None:
    """The task for who only looks, unless to make it could run code that a run names: a run may come from a stranger.

    Its episodes are not longer than it takes to see something.
    """
    if task is None or not isinstance(task, AnyEnvironment):
        return task if task is None or task.steps <= LOOKING_STEPS else task.shorter(LOOKING_STEPS)
    is_foreign = not getattr(options, "env", "") and (":" in task.env or task.env_options)
    return None if is_foreign else replace(task, steps=min(task.steps, LOOKING_STEPS))


def checked_variant(task: Known, given: dict[str, Any]) -> dict[str, Any]:
    """The options that vary a task, if it is one that has them."""
    known = {item.name for item in fields(task)}
    for name in given:
        if name not in known:
            raise ValueError(f"--{name.replace('_', '-')} is not for this task ({task.name})")
    return given


def own_task(options: argparse.Namespace, base: Known) -> Known:
    """The task of a run as it is, but for what options say; for a file, as `episode_task`."""
    if is_run(options.source) and not options.change and not options.task:
        return replace(base, **checked_variant(base, with_prefix(options, "variant_")))
    return episode_task(options, base)


def episode_task(options: argparse.Namespace, base: Known) -> Known:
    """The task of an episode to show: a run's own, or as options say; something changes in it."""
    varied = replace(base, **checked_variant(base, with_prefix(options, "variant_")))
    if isinstance(varied, AnyEnvironment):
        if options.task:
            raise ValueError("--task is for cartpole; what changes in an environment is said by --change")
        changes = "" if options.change == "none" else options.change or varied.change
        return replace(varied, change=changes).settled()
    if not isinstance(varied, Cartpole):
        if options.change or options.task:
            raise ValueError("--change and --task are for cartpole; the quadruped has --leg and --break-step")
        return varied
    change = options.change or (varied.change if varied.change != "none" else "continuous")
    return replace(varied, change=change, parameters=NAMED[options.task or "all"])


def check_episode(number: int) -> None:
    """Refuses what cannot be."""
    if not 0 <= number < 2**62:
        raise ValueError("--episode must be 0 or more, and below 2**62")


def check_threads(threads: int | None) -> None:
    """Refuses what cannot be, before anything is made."""
    if threads is not None and not 1 <= threads <= 1024:
        raise ValueError(f"expected 1 to 1024 threads, got {threads}")


@contextlib.contextmanager
def workers(options: argparse.Namespace, is_silent: bool = False) -> Iterator[RayWorkers | None]:
    """Those who evaluate policies, if options ask for others than the threads of this process."""
    if options.backend == "local":
        for name in ("address", "workers", "worker_timeout"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name.replace('_', '-')} is for --backend ray: add that")
        yield None
        return
    limit = TIME_LIMIT if options.worker_timeout is None else options.worker_timeout
    check_limits(options.workers, limit)
    terminal.note(f"Waiting for workers of {options.address or 'a Ray cluster on this machine'} ...", is_silent)
    with RayWorkers(options.address, most=options.workers, time_limit=limit, on_note=terminal.note) as made:
        terminal.note(f"{made.describe()}.", is_silent)
        yield made


def refuse_existing(path: str | Path | None) -> None:
    """Nothing is overwritten."""
    if path and Path(path).exists():
        raise ValueError(f"{path} exists already, and nothing is overwritten: choose another name")


def summary(run: Run) -> dict[str, Any]:
    """What there is to say about a run in one line."""
    facts, champions, task = run.facts, run.champions, run.config.task
    counters = run.counters
    variant = json.dumps(task.variant)
    means = {
        (row["change"], row["task"]): row["mean"]
        for row in run.tests
        if champions and row["champion"] == champions[-1]["number"] and row["variant"] == variant and is_usual(row)
    }
    return {
        "run": str(run.folder),
        "preset": run.preset,
        "task": task.name,
        "seed": run.seed,
        "budget": str(run.budget),
        "status": facts.get("status"),
        **{name: getattr(counters, name) for name in ("evaluations", "steps", "hits", "restarts")},
        "seconds": facts.get("seconds"),
        "champion": champions[-1]["number"] if champions else None,
        "score": champions[-1]["score"] if champions else None,
        "test": task.test_score(means),
        "arz": facts.get("arz"),
    }


def is_usual(test: dict[str, Any]) -> bool:
    """Whether a stored test is the one that every run gets: so that runs can be compared."""
    return (test["seed"], test["episodes"]) == (TEST_SEED, 100)


def returns(results: list[Assessment]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """The returns of all episodes, as figures want them."""
    return {(result.change, result.task): result.returns for result in results}


def print_policy(policy: Program | Network, all_in: str = "", rough: tuple[Program, str] | None = None) -> None:
    """Prints a program for reading, and its cost; of a network only the cost.

    Args:
        policy: which.
        all_in: a command that prints all numbers: then long rows of them are cut here.
        rough: its form for reading with fewer digits, and what there is to say about that.
    """
    if isinstance(policy, Network):
        terminal.say(f"# {describe(policy)}")
    else:
        _print_program(policy, all_in, rough)


def describe(network: Network) -> str:
    """A network in a sentence."""
    shape, cost = network.architecture, complexity(network)
    layers = " and ".join(map(str, shape.hidden)) or "no"
    return (
        f"{shape.kind.upper()} of {layers} units: {cost.memory} trained numbers, {cost.parameters} in matrices; "
        f"{cost.flops} FLOPs per step in their products."
    )


def _print_program(program: Program, all_in: str, rough: tuple[Program, str] | None) -> None:
    simple, cost = readable(program), complexity(program)
    terminal.say(f"# For reading ({_lines(simple.removed)} removed, {simple.folded} folded, registers renumbered).")
    listed, said = rough or (simple.program, str(simple.guarantee))
    terminal.say(f"# {said}\n")
    text = str(listed)
    shown = _shortened(text) if all_in else text
    terminal.say(shown)
    if shown != text:
        terminal.say(f"# Long rows of numbers are cut: {all_in} has all.")
    terminal.say(
        f"# Cost without dead code: {_lines(cost.lines)}, {cost.parameters} parameters "
        f"({cost.memory} numbers in memory), {cost.flops} FLOPs per step."
    )


def _shortened(text: str) -> str:
    """A listing without the further rows of matrices, and without the ends of long lines."""
    rows = [line for line in text.split("\n") if not line.startswith(" " * 8)]
    return "\n".join(line if len(line) <= LINE else f"{line[: LINE - 4]} ..." for line in rows)


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def print_tests(results: list[Assessment], task: Known, title: str) -> None:
    """Prints a table of test results."""
    found = {(result.change, result.task): result for result in results}
    tasks = list(dict.fromkeys(result.task for result in results))
    header = "change" if results[0].distance is None else "simulation"
    rows = []
    for change in dict.fromkeys(result.change for result in results):
        here = [found[change, task] for task in tasks]
        rows.append([change, *(f"{result.mean:.1f}" for result in here)])
        rows.append([f"  {task.lasting}", *(f"{result.completed:.0%}" for result in here)])
        if all(result.distance is not None for result in here):
            rows.append(["  distance (m)", *(f"{result.distance:.1f}" for result in here)])
    terminal.show_table(title, [header, *tasks], rows)


def result_rows(results: list[Assessment]) -> list[dict[str, Any]]:
    """Test results for scripts."""
    return [{name: getattr(r, name) for name in ("change", "task", "mean", "completed", "distance")} for r in results]


def print_json(value: Any) -> None:
    """Prints for scripts; null in place of numbers that JSON does not have."""
    terminal.say(json.dumps(_finite(value), indent=2).replace("\x7f", "\\u007f"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
