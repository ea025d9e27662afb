"""The command line: subcommands, no logic."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Sequence

import arz
from arz.listing import op_example, op_label, ops_markdown
from arz.ops import OPS
from arz.parser import read


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. A person's mistake is one sentence and exit code 2."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        _discard_output()
    except OSError as error:
        _discard_output()
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        return _complain(str(error))
    return 0


def _discard_output() -> None:
    """Keeps Python from complaining at exit about output that cannot be written."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(sentence: str) -> int:
    print(f"arz: {sentence}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arz", description=(arz.__doc__ or "").splitlines()[0])
    parser.add_argument("--version", action="version", version=f"arz {arz.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    show = commands.add_parser("show", help="a program: listing, simplified form, cost")
    show.add_argument("file", help="an .arz file, or - for standard input")
    show.add_argument("--json", action="store_true", help="for scripts")
    show.set_defaults(run=_show)

    ops = commands.add_parser("ops", help="the table of operations")
    ops.add_argument("--json", action="store_true", help="for scripts")
    ops.add_argument("--markdown", action="store_true", help="as docs/ops.md")
    ops.set_defaults(run=_ops)
    return parser


def _show(options: argparse.Namespace) -> None:
    is_piped = options.file == "-"
    program = read(sys.stdin.buffer, "standard input") if is_piped else arz.Program.load(options.file)
    effective, readable = arz.effective(program), arz.readable(program)
    cost = arz.complexity(program)
    if options.json:
        forms = {"program": str(program), "effective": str(effective.program), "readable": str(readable.program)}
        guarantees = {"effective": str(effective.guarantee), "readable": str(readable.guarantee)}
        print(json.dumps({**forms, "guarantees": guarantees, "complexity": dataclasses.asdict(cost)}, indent=2))
        return
    print(program)
    print(f"# For reading ({_lines(readable.removed)} removed, {readable.folded} folded, registers renumbered).")
    print(f"# {readable.guarantee}\n")
    print(readable.program)
    print(
        f"# Cost without dead code: {_lines(cost.lines)}, {cost.parameters} parameters "
        f"({cost.memory} numbers in memory), {cost.flops} FLOPs per step."
    )


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _ops(options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps([dataclasses.asdict(op) for op in OPS], indent=2))
        return
    if options.markdown:
        print(ops_markdown(), end="")
        return
    for number, op in enumerate(OPS, 1):
        print(f"{op_label(number):5} {op.name:28} {op.signature:28} {op_example(op)}")


if __name__ == "__main__":
    sys.exit(main())
