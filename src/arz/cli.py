"""The command line: subcommands, no logic."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn

import arz
from arz import commands, terminal
from arz.cluster.crew import TIME_LIMIT
from arz.export import LANGUAGES
from arz.files import out_of_working_directory
from arz.names import did_you_mean
from arz.network import KINDS as NETWORKS
from arz.reproduce.plan import SCALES
from arz.runs import config as configs
from arz.runs.run import CHECKPOINT_SECONDS
from arz.tasks.cartpole import NAMED, TESTED
from arz.tasks.quadruped import CHOICES, EACH, ENGINES

METHODS = ("ars", "ppo")
"""How networks are trained."""
BACKENDS = ("local", "ray")
"""Who evaluates policies."""

IMPORTING = ("evolve", "resume", "sweep", "compare", "test", "replay", "explain", "trace", "ablate", "prune", "export")
"""Commands that may need code of others."""
ALIASES = {"--max-cadfs": ("--cadfs",)}
"""Shorter names of options."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. A person's mistake is one sentence and exit code 2."""
    with _on_our_own():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        options = _parser(words).parse_args(words)
        commands.import_named(options)
        code = options.run(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        _discard_output()
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except OSError as error:
        _discard_output()
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _complain("there is not enough memory for this: use smaller numbers")
    except ValueError as error:
        return _complain(str(error))
    else:
        return int(code)
    return 0


@contextlib.contextmanager
def _on_our_own() -> Iterator[None]:
    """Warnings are notes, and settings for libraries in the working directory, maybe a stranger's, are not obeyed."""
    if os.path.lexists("matplotlibrc"):
        with out_of_working_directory():
            importlib.import_module("matplotlib")
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.showwarning = lambda message, *_, **__: terminal.note(f"arz: {str(message).splitlines()[0]}")
        yield


def _discard_output() -> None:
    """Keeps Python from complaining at exit about output that cannot be written."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(sentence: str, code: int = 2) -> int:
    terminal.note(f"arz: {sentence}")
    return code


class _Parser(argparse.ArgumentParser):
    """Mistakes are one sentence, with a hint where a name is close."""

    def error(self, message: str) -> NoReturn:
        hint = ""
        options = [name for action in self._actions for name in action.option_strings]
        if message.startswith("unrecognized arguments: "):
            word = message.split(": ")[1].split()[0].split("=")[0]
            message = f"there is no option or argument {word} here"
            hint = did_you_mean(word, options)
        elif found := re.match(r"argument COMMAND: invalid choice: '(.*)' \(choose from (.*)\)", message):
            names = re.findall(r"[\w-]+", found[2])
            message, hint = f"there is no command {found[1]!r}", did_you_mean(found[1], names)
        elif found := re.match(r"argument (--[\w-]+).*: expected one argument", message):
            message = f"{found[1]} needs a value; one that begins with a minus is written {found[1]}=-1"
        self.exit(_complain(f"{message}.{hint or f' See {self.prog} --help.'}"))

    def parse_args(self, args: Sequence[str] | None = None, namespace: object = None) -> argparse.Namespace:  # type: ignore[override]
        options, unknown = self.parse_known_args(args)
        if unknown:
            getattr(options, "parser", self).error(f"unrecognized arguments: {' '.join(unknown)}")
        return options


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line.

    Fields of a configuration are options of the command that is asked for, and of no other, as there are many; the
    preset that is named decides which of their values the help shows.
    """
    asked = next((word for word in words if not word.startswith("-")), "")
    presets = configs.preset_names()
    parser = _Parser(prog="arz", description=(arz.__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"arz {arz.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = subparsers.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        made.set_defaults(run=getattr(commands, name), parser=made)
        if name in IMPORTING:
            _add_import(made)
        return made

    evolve = command("evolve", "evolve programs for a task, in a new run")
    evolve.add_argument(
        "preset",
        nargs="?",
        help=f"{', '.join(presets)}, or a .toml file (default with --env: gymnasium)",
    )
    evolve.add_argument("--seed", type=int, default=1, help="what all random numbers come from (default: 1)")
    evolve.add_argument(
        "--output", metavar="FOLDER", help="the folder of the run (default: the next free one in runs/)"
    )
    evolve.add_argument(
        "--start",
        metavar="RUN_OR_FILE",
        help="begin with the champion of a run, or the program of an .arz file, in place of random programs",
    )
    evolve.usage = "arz evolve PRESET [--option VALUE ...], or arz evolve --env NAME [--option VALUE ...]"
    _add_running(evolve)
    if asked == "evolve":
        evolve.formatter_class = argparse.RawDescriptionHelpFormatter
        evolve.description = (
            f"{evolve.description}\n\npresets (arz evolve PRESET --help shows their values):\n{_about()}"
        )
        shown = "gymnasium" if any(word.startswith("--env") for word in words) else "cartpole"
        _add_fields(evolve, next((word for word in words if word in presets), shown))

    train = command("train", "train a neural network for a task, in a new run: what programs are compared with")
    train.add_argument("method", choices=METHODS, help="ars: Augmented Random Search; ppo: an extra")
    train.add_argument("--policy", choices=NETWORKS, help="the kind of network (default: as in the preset: lstm)")
    train.add_argument(
        "--task",
        default="cartpole",
        help="cartpole, quadruped, or a .toml file with a configuration (default: cartpole)",
    )
    train.add_argument("--seed", type=int, default=1, help="what all random numbers come from (default: 1)")
    train.add_argument("--output", metavar="FOLDER", help="the folder of the run (default: the next free one in runs/)")
    train.add_argument(
        "--start", metavar="RUN_OR_FILE", help="begin with the champion of a run, or a network in a file"
    )
    train.usage = "arz train METHOD [--policy KIND] [--task TASK] [--option VALUE ...]"
    _add_running(train)
    if asked == "train":
        method, task = ([each for each in names if each in words] for names in (METHODS, ("cartpole", "quadruped")))
        kinds = [kind for kind in NETWORKS if kind in words]
        _add_fields(train, f"{(method or METHODS)[0]}-{(task or ['cartpole'])[0]}", *kinds[:1])

    sweep = command("sweep", "try a grid of settings, one run each, then repeat the best; goes on where it stopped")
    sweep.add_argument("preset", help=f"{', '.join(presets)}, or a .toml file")
    sweep.add_argument("--output", metavar="FOLDER", required=True, help="the folder of the sweep")
    sweep.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a field and its values; give it several times (default for ars: the paper's 6 x 6)",
    )
    sweep.add_argument("--policy", choices=NETWORKS, help="the kind of network (default: as in the preset)")
    sweep.add_argument("--repeats", type=int, default=0, help="how often to repeat the best, with other seeds")
    sweep.add_argument("--jobs", type=int, default=1, help="runs at a time, one thread each (default: 1)")
    sweep.add_argument("--seed", type=int, default=1, help="what all random numbers come from (default: 1)")
    sweep.usage = "arz sweep PRESET --output FOLDER [--grid NAME=VALUE,... ...] [--option VALUE ...]"
    _add_backend(sweep)
    _add_json(sweep)
    if asked == "sweep":
        _add_fields(sweep, next((word for word in words if word in presets), "cartpole"))

    compare = command("compare", "put methods side by side: scores with intervals, tests, costs, curves")
    compare.add_argument(
        "sources",
        nargs="+",
        metavar="[LABEL=]RUN",
        help="runs, with * for several, or files that --save wrote; runs with one label are repeats of one method",
    )
    compare.add_argument("--episodes", type=int, default=100, help="in each test (default: 100)")
    compare.add_argument("--steps", type=int, help="compare runs as they stood after so many steps of the task")
    compare.add_argument(
        "--success",
        type=float,
        help="a success has this in every test (default: what the task says; cartpole: 900)",
    )
    compare.add_argument("--save", metavar="FILE", help="keep what is known of the runs, as lines of JSON")
    compare.add_argument("--csv", metavar="FILE", help="write the table")
    compare.add_argument("--markdown", action="store_true", help="print tables for a Markdown page")
    compare.add_argument("--figure", metavar="FILE", help="draw scores, performance profiles and curves")
    compare.add_argument("--threads", type=int, help="how many to use (default: all)")
    _add_json(compare)

    resume = command("resume", "go on with a run that was interrupted, or extend one that is finished")
    resume.add_argument("source", metavar="RUN", help="the folder of a run")
    resume.add_argument("--budget", help="a new budget, counted from the beginning of the run")
    resume.add_argument("--target", type=float, help="a new target")
    _add_running(resume)

    runs = command("runs", "list runs")
    runs.add_argument("folder", nargs="?", default="runs", help="where they are (default: runs)")
    _add_json(runs)

    show = command("show", "a program: listing, simplified form, cost; for a run also where it stands")
    show.add_argument("source", metavar="RUN_OR_FILE", help="a run, an .arz file, or - for standard input")
    show.add_argument("--config", action="store_true", help="the configuration of a run, as TOML, and nothing else")
    show.add_argument("--program", action="store_true", help="the program as it evolved, and nothing else")
    _add_digits(show)
    _add_json(show)

    test = command("test", "test a program: on the five cartpole tasks, or with each leg of the quadruped broken")
    test.add_argument("source", metavar="RUN_OR_FILE", help="a run or an .arz file")
    test.add_argument("--episodes", type=int, default=100, help="how many of each (default: 100)")
    test.add_argument(
        "--seed", type=int, default=arz.TEST_SEED, help="which episodes; the same for every program (default: 0)"
    )
    test.add_argument(
        "--figure",
        metavar="FILE",
        help="where to draw it (default for a run: its test.png)",
    )
    test.add_argument("--threads", type=int, help="how many to use (default: all)")
    test.add_argument("--change", help="with --env: what changes, such as 'unwrapped.g: 10 -> 5 @ 200..800'")
    _add_environment(test)
    _add_variant(test)
    _add_backend(test)
    _add_json(test)

    plot = command("plot", "draw the progress of a run against evaluations, steps and time, and its fronts")
    plot.add_argument("source", metavar="RUN", help="the folder of a run")
    plot.add_argument(
        "--output", metavar="FILE", help="PNG, SVG or PDF (default: progress.png in the folder of the run)"
    )

    replay = command("replay", "film an episode, and draw its state, action and changes over time")
    replay.add_argument("source", metavar="RUN_OR_FILE", help="a run or an .arz file")
    replay.add_argument(
        "--output",
        metavar="FILE",
        help="GIF or MP4 (default for a run: replay.gif in its folder); the drawing goes beside it",
    )
    replay.add_argument("--every", type=int, help="draw every so many steps (default: 3 for cartpole, else 4)")
    replay.add_argument(
        "--viewer", action="store_true", help="quadruped: play it in MuJoCo's interactive viewer, and write nothing"
    )
    _add_episode(replay, legs=(*CHOICES, EACH))

    explain = command("explain", "what a program is: annotated listing, flow of numbers, linear form, summary in words")
    explain.add_argument("source", metavar="RUN_OR_FILE", help="a run, an .arz file, or - for standard input")
    explain.add_argument(
        "--output", metavar="FOLDER", help="a new folder for a page and its pictures (default for a run: explain in it)"
    )
    explain.add_argument("--episode", type=int, default=0, help="which test episode to look at (default: 0)")
    _add_digits(explain)
    _add_environment(explain)
    _add_json(explain)

    trace = command(
        "trace", "an episode from inside: registers, calls, actions and states over time; figures and a table"
    )
    trace.add_argument("source", metavar="RUN_OR_FILE", help="a run or an .arz file")
    trace.add_argument("--output", metavar="FOLDER", help="a new folder (default for a run: trace in it)")
    _add_episode(trace)
    _add_json(trace)

    ablate = command("ablate", "what each line, register and function is worth, and the smallest program as good")
    ablate.add_argument("source", metavar="RUN_OR_FILE", help="a run or an .arz file")
    ablate.add_argument("--episodes", type=int, default=100, help="how many test episodes (default: 100)")
    ablate.add_argument(
        "--tolerance", type=float, default=0.02, help="the share of the score that may be lost (default: 0.02)"
    )
    ablate.add_argument("--output", metavar="FOLDER", help="a new folder (default for a run: ablate in it)")
    ablate.add_argument("--threads", type=int, help="how many to use (default: all)")
    _add_episode(ablate, which=False)
    _add_json(ablate)

    prune = command("prune", "leave out what a program does not need, and tune the numbers of the rest again")
    prune.add_argument("source", metavar="RUN_OR_FILE", help="a run or an .arz file")
    prune.add_argument(
        "--tolerance", type=float, help="the share of the score that may be lost (default: as in the run, or 0.01)"
    )
    prune.add_argument("--generations", type=int, help="of tuning, each time lines were left out (default: 40)")
    prune.add_argument("--episodes", type=int, help="how many episodes decide (default: as in the run, or 100)")
    prune.add_argument("--output", metavar="FILE", help="a new file (default for a run: pruned.arz in it)")
    prune.add_argument("--threads", type=int, help="how many to use (default: all)")
    _add_episode(prune, which=False)
    _add_json(prune)

    export = command("export", "write a program as a Python module or a C header that runs without arz")
    export.add_argument("source", metavar="RUN_OR_FILE", help="a run, an .arz file, or - for standard input")
    export.add_argument("--to", choices=LANGUAGES, required=True, help="the language")
    export.add_argument("--output", metavar="FILE", help="where to write it (default: standard output)")
    export.add_argument("--name", default="arz", help="what its names begin with (default: arz)")
    _add_environment(export)

    reproduce = command(
        "reproduce", "make the paper's results anew: runs, figure, numbers, and a verdict for each claim"
    )
    reproduce.add_argument("items", nargs="*", metavar="ITEM", help="what --list shows, or all")
    reproduce.add_argument("--list", action="store_true", help="show what there is, and what it takes")
    reproduce.add_argument(
        "--scale",
        choices=SCALES,
        default="smoke",
        help="how much of it: a minute, an hour, a day, all (default: smoke)",
    )
    reproduce.add_argument("--output", metavar="FOLDER", default="reproduction", help="where (default: reproduction)")
    reproduce.add_argument("--jobs", type=int, help="runs at a time, one thread each (default: as many as cores)")
    reproduce.add_argument("--summary", metavar="FILE", help="write a page on all claims, from what is in FOLDER")
    reproduce.add_argument("--quiet", action="store_true", help="show no progress")
    _add_backend(reproduce)
    _add_json(reproduce)

    ops = command("ops", "the table of operations")
    _add_json(ops)
    ops.add_argument("--markdown", action="store_true", help="as docs/ops.md")
    return parser


def _add_import(parser: argparse.ArgumentParser) -> None:
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


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for scripts")


def _add_digits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--digits", type=int, help="round numbers in the listing so, and score what that costs")


def _add_running(parser: argparse.ArgumentParser) -> None:
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
    _add_backend(parser)
    _add_json(parser)


def _add_backend(parser: argparse.ArgumentParser) -> None:
    """Options that say who evaluates policies; the result does not depend on them."""
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


def _about() -> str:
    """The presets, each with what it is for."""
    wrapped = [
        textwrap.fill(configs.preset_about(name), 96, initial_indent=f"  {name:22}", subsequent_indent=" " * 24)
        for name in configs.preset_names()
    ]
    return "\n".join(wrapped)


def _add_fields(parser: argparse.ArgumentParser, preset: str, policy: str = "") -> None:
    """One option for each field of a configuration; the help tells of those that the preset, so changed, has."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    shown = configs.with_policy(configs.load(preset), policy) if policy else configs.load(preset)
    own = configs.own_fields(shown)
    for name, path in configs.field_paths().items():
        table = path[0]
        if table not in groups:
            groups[table] = parser.add_argument_group(f"{table} (in brackets: as in the preset {preset})")
        usual = configs.field_default(shown, path)
        text = f"{configs.field_help(path)} [{configs.toml(usual)}]".replace("%", "%%")
        text = text if name in own else argparse.SUPPRESS
        option = "--" + name.replace("_", "-")
        if isinstance(configs.field_default(configs.Config(), path), bool):
            groups[table].add_argument(
                option,
                action=argparse.BooleanOptionalAction,
                default=argparse.SUPPRESS,
                help=text,
                dest=f"field_{name}",
            )
        else:
            names = [option, *ALIASES.get(option, ())]
            groups[table].add_argument(
                *names, default=argparse.SUPPRESS, help=text, metavar="VALUE", dest=f"field_{name}"
            )


def _add_episode(parser: argparse.ArgumentParser, which: bool = True, legs: Sequence[str] = CHOICES) -> None:
    """Options that say in which task a policy is watched."""
    _add_environment(parser)
    parser.add_argument("--task", choices=NAMED, help="cartpole: what changes (default: all)")
    parser.add_argument(
        "--change",
        help=f"cartpole: how it changes: {', '.join(TESTED)} (default: as in the run, or continuous); any "
        "environment: what changes, such as 'unwrapped.g: 10 -> 5 @ 200..800', or none",
    )
    if which:
        parser.add_argument("--episode", type=int, default=0, help="which of the test episodes (default: 0)")
    _add_variant(parser)
    for name, kind, text in (("leg", str, "quadruped: which leg breaks"), ("break_step", int, "quadruped: when")):
        parser.add_argument(
            "--" + name.replace("_", "-"),
            type=kind,
            dest=f"variant_{name}",
            default=argparse.SUPPRESS,
            choices=legs if name == "leg" else None,
            metavar=None if name == "leg" else "STEP",
            help=f"{text} (default: as in the run, or random)",
        )


def _add_environment(parser: argparse.ArgumentParser) -> None:
    """Options that say for which environment the program of a file is."""
    parser.add_argument(
        "--env", metavar="NAME", help="for an .arz file: the environment of Gymnasium that its policy is for"
    )
    parser.add_argument(
        "--env-options", metavar="TABLE", help="what that environment is made with, such as '{g = 9.81}'"
    )
    parser.add_argument(
        "--steps", type=int, dest="env_steps", help="how long its episodes are, if not as long as it says itself"
    )


def _add_variant(parser: argparse.ArgumentParser) -> None:
    """Options that change the task on which a program is tried."""
    parser.add_argument(
        "--x-limit",
        type=float,
        dest="variant_x_limit",
        metavar="METRES",
        default=argparse.SUPPRESS,
        help="cartpole: how far the cart may go (default: as in the run, else 0.4)",
    )
    for name in ("partial_observability", "actuator_noise"):
        text = configs.field_help(("task", name))
        parser.add_argument(
            "--" + name.replace("_", "-"),
            action=argparse.BooleanOptionalAction,
            default=argparse.SUPPRESS,
            dest=f"variant_{name}",
            help=f"cartpole: {text[0].lower()}{text[1:]}",
        )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        dest="variant_engine",
        default=argparse.SUPPRESS,
        help="quadruped: who simulates (default: as in the run, else batched)",
    )
    parser.add_argument(
        "--contact-iterations",
        type=int,
        dest="variant_contact_iterations",
        metavar="NUMBER",
        default=argparse.SUPPRESS,
        help="quadruped: sweeps over the contacts in each physics step (default: as in the run, else 1)",
    )


if __name__ == "__main__":
    if not sys.flags.safe_path:  # python -m puts the working directory there, which may be a stranger's
        del sys.path[0]
    sys.exit(main())
