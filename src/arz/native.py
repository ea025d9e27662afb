"""The compiled core, in the fastest build that this processor can run.

The wheel holds one build for the baseline instruction set and, on x86, one for x86-64-v3 (AVX2) and one for x86-64-v4
(AVX-512). All give the same bits. Set the environment variable `ARZ_INSTRUCTION_SET` to one of their names to choose it
by hand, for instance to compare them.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

from arz import ops
from arz._cpu import supports_x86_64_v3, supports_x86_64_v4

__all__ = ["BUILDS", "ByFields", "check_same", "core", "load", "runs_here"]

BUILDS = {"baseline": "_native_baseline", "x86-64-v3": "_native_v3", "x86-64-v4": "_native_v4"}
"""The module of each build, slowest first."""


def load(instruction_set: str) -> Any:
    """The compiled module for an instruction set.

    Raises:
        ImportError: the build is not there, or was made from another op table or for another instruction set.
    """
    if instruction_set not in BUILDS:
        raise ImportError(f"ARZ_INSTRUCTION_SET must be one of {', '.join(BUILDS)}, not {instruction_set!r}.")
    module = importlib.import_module(f"arz.{BUILDS[instruction_set]}")
    if ops.digest() != module.OPS_DIGEST:
        raise ImportError("The compiled core was built from another op table. Build it again: make build.")
    if instruction_set != module.INSTRUCTION_SET:
        raise ImportError(f"The build for {instruction_set} is one for {module.INSTRUCTION_SET}: make build.")
    return module


def runs_here() -> list[str]:
    """The instruction sets of builds that this processor can run, slowest first."""
    supported = {"baseline": True, "x86-64-v3": supports_x86_64_v3(), "x86-64-v4": supports_x86_64_v4()}
    return [name for name in BUILDS if supported[name]]


if TYPE_CHECKING:
    from arz import _native as core
else:
    core = load(os.environ.get("ARZ_INSTRUCTION_SET") or runs_here()[-1])


def check_same(what: str, ours: object, name: str) -> None:
    """Makes sure, at import, of what both languages state: names in the order of their numbers, and the like.

    Args:
        what: this is, for people.
        ours: what Python has.
        name: of what the compiled core has.

    Raises:
        ImportError: the compiled core has another.
    """
    compiled = getattr(core, name, None)
    if ours != compiled:
        told = f"{name} is {compiled!r} where Python has {ours!r}"
        raise ImportError(f"The compiled core has another {what}: {told}. Build it again: make build.")


class ByFields:
    """A record that copies and pickles by its fields: what it keeps of the native core is made anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, item.name) for item in fields(cast(Any, self)))
