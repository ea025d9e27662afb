"""What every policy offers, and how it is read: a program, a network, or what comes next.

Who runs, searches, watches, compares or sends policies asks these, and never which kind it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from arz.complexity import Complexity
from arz.files import read_bytes, read_stream
from arz.native import core
from arz.network import HEAD, MAX_BYTES, Network
from arz.parser import decode, parse
from arz.typing import Floats


class PolicyShape(Protocol):
    """What policies that can stand in one batch have in common: the memory of programs, or the layers of networks."""

    @property
    def observations(self) -> int:
        """How many numbers they see."""
        ...

    @property
    def actions(self) -> int:
        """How many they give."""
        ...

    def batch(self, arrays: Mapping[str, NDArray[Any]], /) -> PolicyBatch:
        """The policies of this shape whose arrays these are: what `PolicyBatch.arrays` gave.

        Raises:
            ValueError: they do not fit.
            KeyError: one is missing.
        """
        ...


class PolicyBatch(Protocol):
    """Many policies of one shape, packed side by side: what a search works on."""

    @property
    def shape(self) -> PolicyShape:
        """What they have in common."""
        ...

    @property
    def core(self) -> core.Batch | core.NetworkBatch:
        """For the native core: a batch of one of its kinds."""
        ...

    @property
    def batch(self) -> PolicyBatch:
        """Itself, as a single policy is a batch of one."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> AnyPolicy: ...

    def __add__(self, other: Any, /) -> PolicyBatch: ...

    def take(self, indices: NDArray[np.int64], /) -> PolicyBatch:
        """Those at these positions."""
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that they are, by name; `PolicyShape.batch` takes it back."""
        ...

    def encoded(self, first: int, last: int) -> dict[str, Any]:
        """Some of them, from the first up to before the last, as plain values that travel: what acts, and no more."""
        ...

    @classmethod
    def decoded(cls, values: Mapping[str, Any], /) -> PolicyBatch:
        """The policies that `encoded` gave."""
        ...


class PolicyInterpreter(Protocol):
    """A policy that runs step by step, one episode in each lane."""

    lanes: int

    def reset_lane(self, lane: int, key: int, /) -> None:
        """Starts an episode in one lane; the others go on."""
        ...

    def act(self, observations: Floats, /) -> Floats:
        """Actions [lane, entry] for observations [lane, entry]; memory goes on from the last step."""
        ...


class AnyPolicy(Protocol):
    """A policy. Its text, `str(policy)`, is what files hold; `load_policy` reads it."""

    @property
    def title(self) -> str:
        """For sentences: what such a policy is called."""
        ...

    @property
    def shape(self) -> PolicyShape:
        """What it has in common with those it can be packed with."""
        ...

    @property
    def observations(self) -> int:
        """How many numbers it sees."""
        ...

    @property
    def actions(self) -> int:
        """How many it gives."""
        ...

    @property
    def batch(self) -> PolicyBatch:
        """A batch of it alone."""
        ...

    @classmethod
    def pack(cls, policies: Sequence[Any], /) -> PolicyBatch:
        """A batch of such policies.

        Raises:
            ValueError: there is none, or their shapes differ.
        """
        ...

    def interpreter(self, lanes: int = 1) -> PolicyInterpreter:
        """What runs it step by step."""
        ...

    def complexity(self, as_written: bool = False) -> Complexity:
        """What it costs, without what does nothing or as it is."""
        ...

    def essential(self) -> AnyPolicy:
        """The same without what cannot influence an action."""
        ...

    def for_reading(self) -> AnyPolicy:
        """The same as a person would like to read it: with the same actions."""
        ...

    def describe(self) -> str:
        """What it is and costs, in a sentence."""
        ...


def load_policy(path: str | Path) -> AnyPolicy:
    """A program or a network from an `.arz` file.

    Raises:
        ValueError: it is none, or not a regular file.
        OSError: it cannot be read.
    """
    return _decoded(read_bytes(path, MAX_BYTES), str(path))


def read_policy(file: BinaryIO, source: str) -> AnyPolicy:
    """A program or a network from an open file. `source` names it in errors. Reads no more than either may have."""
    return _decoded(read_stream(file, MAX_BYTES), source)


def _decoded(data: bytes, source: str) -> AnyPolicy:
    is_network = data.removeprefix(b"\xef\xbb\xbf").startswith(HEAD.encode())
    return Network.decode(data, source) if is_network else decode(data, source)


def parse_policy(text: str, source: str) -> AnyPolicy:
    """A program or a network from its text."""
    return Network.parse(text, source) if text.startswith(HEAD) else parse(text, source)
