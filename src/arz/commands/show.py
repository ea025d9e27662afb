"""`arz show`: a program, and where a run stands."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arz import terminal
from arz.commands.options import add_digits, add_json, add_source
from arz.commands.printing import print_json, print_policy
from arz.commands.rounding import Rounding, rounding
from arz.commands.sources import policy_at, program_of, task_by_size, without_foreign_code
from arz.commands.standing import print_standing, summary
from arz.evaluate import TEST_SEED
from arz.policy import AnyPolicy
from arz.program import Program
from arz.runs.folder import RunError, is_run
from arz.simplify import effective, readable
from arz.tasks import Task

if TYPE_CHECKING:
    from arz.runs.run import Run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_source(parser, "a run, an .arz file, or - for standard input")
    parser.add_argument("--config", action="store_true", help="the configuration of a run, as TOML, and nothing else")
    parser.add_argument("--program", action="store_true", help="the program as it evolved, and nothing else")
    add_digits(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Shows a program, and where a run stands."""
    about: dict[str, Any] = {}
    tests: list[dict[str, Any]] = []
    if is_run(options.source):
        from arz.runs import config as configs
        from arz.runs.run import Run

        with Run.open(options.source) as run:
            if options.config:
                terminal.say(configs.render(run.config), end="")
                return
            about = summary(run)
            if about["champion"] is None:
                _show_beginning(run, about, options)
                return
            policy, own, number = run.champion, json.dumps(run.config.task.variant), about["champion"]
            task: Task | None = run.config.task
            words = {"lasting": run.config.task.lasting}
            tests = [
                {**row, **words, "is_own_variant": row["variant"] == own}
                for row in run.tests
                if row["champion"] == number
            ]
    elif options.config:
        raise ValueError(f"{options.source} is not a run: only runs have a configuration")
    else:
        policy = policy_at(options.source)
        task = task_by_size(policy)
    rough = None
    if options.digits is not None and not options.program:
        code = program_of(policy, f"--digits is for programs, and {options.source} is {policy.title}")
        rough = rounding(readable(code).program, options.digits, without_foreign_code(options, task))
    if options.program:
        terminal.say(policy)
    elif options.json:
        print_json(_everything(policy, about, tests) | ({"rounded": rough.about} if rough is not None else {}))
    else:
        _print_everything(policy, about, tests, rough)


def _show_beginning(run: Run, about: dict[str, Any], options: argparse.Namespace) -> None:
    """Says where a run stands that has no champion yet."""
    if options.program:
        raise RunError(f"{run.folder} has no champion yet. {run.first_champion}")
    if options.json:
        print_json({"run": about, "tests": []})
        return
    print_standing(about)
    terminal.say(f"# No champion yet. {run.first_champion}")


def _everything(policy: AnyPolicy, about: dict[str, Any], tests: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"program": str(policy)}
    forms = {}
    if isinstance(policy, Program):
        forms = {"effective": effective(policy), "readable": readable(policy)}
    found |= {name: str(form.program) for name, form in forms.items()}
    found["guarantees"] = {name: str(form.guarantee) for name, form in forms.items()}
    found["complexity"] = dataclasses.asdict(policy.complexity())
    if about:
        found["run"] = about
        found["tests"] = [
            {name: value for name, value in row.items() if name not in ("returns", "lasting")} for row in tests
        ]
    return found


def _print_everything(
    policy: AnyPolicy, about: dict[str, Any], tests: list[dict[str, Any]], rough: Rounding | None
) -> None:
    if about:
        print_standing(about)
        terminal.say(f"# Champion: number {about['champion']}, {about['score']:.1f} on the validation episodes.\n")
    terminal.say(policy)
    print_policy(policy, rough=(rough.program, str(rough)) if rough is not None else None)
    for row in tests:
        where = f"# Test, {row['change']}, {row['task']}"
        odd = "" if row["is_own_variant"] else f" Variant: {row['variant']}."
        odd += "" if row["seed"] == TEST_SEED else f" Episodes of seed {row['seed']}."
        lasted = f"{row['completed']:.0%} {row['lasting']}.{odd}"
        terminal.say(f"{where}: {row['mean']:.1f} over {row['episodes']} episodes, {lasted}")
