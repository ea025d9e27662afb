"""`arz ops`: the table of operations."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from arz import listing, terminal
from arz.commands.options import add_json
from arz.commands.printing import print_json
from arz.ops import OPS


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_json(parser)
    parser.add_argument("--markdown", action="store_true", help="as docs/ops.md")


def run(options: argparse.Namespace) -> None:
    """Prints the table of operations."""
    if options.json:
        print_json([dataclasses.asdict(op) for op in OPS])
    elif options.markdown:
        terminal.say(listing.ops_markdown(), end="")
    else:
        for number, op in enumerate(OPS, 1):
            terminal.say(f"{listing.op_label(number):5} {op.name:28} {op.signature:28} {listing.op_example(op)}")
