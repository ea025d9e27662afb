"""The command line: finds the command that is asked for; a mistake is one sentence and exit code 2."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn

import arz
from arz import terminal
from arz.commands import COMMANDS
from arz.names import did_you_mean


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. A person's mistake is one sentence and exit code 2."""
    with _on_our_own():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        words = list(sys.argv[1:] if arguments is None else arguments)
        options = _parser(words).parse_args(words)
        if "prepare" in options:
            options.prepare(options)
        code = options.run(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        _discard_output()
    except KeyboardInterrupt:
        return _complain("interrupted", terminal.INTERRUPTED)
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
        from arz.files import out_of_working_directory

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
            hint = _present_name(word) or did_you_mean(word, options)
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


def _present_name(option: str) -> str:
    """What an option of a configuration is called now, if it once had another name."""
    from arz.runs.config import RENAMED

    name = RENAMED.get(option.removeprefix("--").replace("-", "_"))
    return f" It is now called --{name.replace('_', '-')}." if name else ""


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line; only the command that is asked for has its options, as some have many."""
    asked = next((word for word in words if not word.startswith("-")), "")
    parser = _Parser(prog="arz", description=(arz.__doc__ or "").partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"arz {arz.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for name, text in COMMANDS.items():
        made = subparsers.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        if name == asked:
            command = importlib.import_module(f"arz.commands.{name}")
            made.set_defaults(run=command.run, parser=made)
            command.add_options(made, words)
    return parser
