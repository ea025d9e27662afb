"""Writes the types of a compiled module: `stub.py MODULE_SO OUTPUT_PYI`. Run by the build.

nanobind's own generator does the work; constants get the types of their values, and long lines are broken. The shapes
of arrays stand in the docstrings.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from nanobind.stubgen import StubGen

WIDTH = 120
HEAD = '"""Made from the compiled module `{name}` by native/stub.py. Do not edit: `make stub`."""\n'
ARRAY = re.compile(r"Annotated\[(NDArray\[numpy\.\w+\]), dict\([^\]]*?\)\]")
CONSTANT = re.compile(r"^([A-Z][A-Z_0-9]*): .*$", re.M)
FUNCTION = re.compile(r"( *def \w+\()(.*)(\) -> .*)")
DOCSTRING = re.compile(r'( *)"""(.*)"""')
SPREAD = re.compile(r'( *)"""\n *(.*)\n *"""')


def load_module(path: Path) -> ModuleType:
    """The compiled module in a file, without the package around it."""
    spec = importlib.util.spec_from_file_location(path.name.split(".")[0], path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def type_of(value: Any) -> str:
    """The type of a constant."""
    if isinstance(value, dict):
        kinds = {type_of(item) for item in value.values()}
        return f"dict[str, {kinds.pop() if len(kinds) == 1 else 'Any'}]"
    if isinstance(value, tuple):
        found = [type_of(item) for item in value]
        return f"tuple[{found[0]}, ...]" if len(set(found)) == 1 else f"tuple[{', '.join(found)}]"
    return type(value).__name__


def split(arguments: str) -> list[str]:
    """The arguments of a function."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(arguments):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(arguments[start:place].strip())
            start = place + 1
    return [*parts, arguments[start:].strip()]


def broken(line: str) -> str:
    """A line, or several where it is too long."""
    if len(line) <= WIDTH:
        return line
    if found := DOCSTRING.fullmatch(line):
        indent, text = found.groups()
        return textwrap.fill(f'"""{text}"""', WIDTH, initial_indent=indent, subsequent_indent=indent)
    if found := FUNCTION.fullmatch(line):
        first, arguments, last = found.groups()
        indent = " " * (len(line) - len(line.lstrip()))
        if len(indent) + 4 + len(arguments) <= WIDTH:
            return f"{first}\n{indent}    {arguments}\n{indent}{last}"
        rows = "".join(f"{indent}    {argument},\n" for argument in split(arguments))
        return f"{first}\n{rows}{indent}{last}"
    return line


def stub(module: ModuleType) -> str:
    """The types of a module."""
    generator = StubGen(module)
    generator.put(module)
    text = ARRAY.sub(r"\1", generator.get())
    text = SPREAD.sub(r'\1"""\2"""', text)
    text = CONSTANT.sub(lambda found: f"{found[1]}: {type_of(getattr(module, found[1]))}", text)
    if "Annotated[" not in text:
        text = text.replace("Annotated, ", "").replace("from typing import Annotated\n", "")
    if re.search(r"\bAny\b", text):
        text = text.replace("from typing import ", "from typing import Any, ", 1)
    body = "\n".join(broken(line) for line in text.strip().splitlines())
    return f"{HEAD.format(name=module.__name__)}\n{body}\n"


def main() -> None:
    """Reads the module and writes the stub."""
    source, output = Path(sys.argv[1]), Path(sys.argv[2])
    output.write_text(stub(load_module(source)))


if __name__ == "__main__":
    main()
