"""Random numbers as pure functions of a key and a counter (SplitMix64).

Every random draw of a run comes from a stream whose key is made from the run's seed, a purpose and an index.
So results do not depend on the number of threads or machines, on the order in which work ends, or on
interruptions; and changing one mutation cannot move another's numbers. `native/machine/random.hpp` has the same
functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arz import elementary
from arz.native import core

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    """SplitMix64's finaliser: scatters the bits of a 64-bit number."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def unit(bits: int) -> float:
    """A number in [0, 1) from the upper 53 of 64 bits."""
    return (bits >> 11) * 2.0**-53


def episode_uniform(key: int, tick: int, stream: int) -> float:
    """The number that a program's random stream gives in execution number `tick` of its function."""
    return unit(mix((mix((key + GOLDEN * (tick + 1)) & MASK) + GOLDEN * (stream + 1)) & MASK))


def key(seed: int, purpose: str, index: int = 0) -> int:
    """The key of the stream for one purpose and index of a run."""
    return int(keys(seed, purpose, [index])[0])


def keys(seed: int, purpose: str, indices: ArrayLike) -> NDArray[np.uint64]:
    """The keys of many indices at once: one-dimensional."""
    return core.stream_keys(_base(seed, purpose), as_keys(indices).ravel())


@lru_cache(1024)
def _base(seed: int, purpose: str) -> int:
    base = mix((seed + GOLDEN) & MASK)
    for byte in purpose.encode():
        base = mix((base + GOLDEN * (byte + 1)) & MASK)
    return base


def as_keys(values: ArrayLike) -> NDArray[np.uint64]:
    """Keys as the native core takes them.

    Raises:
        ValueError: they are not whole numbers from 0 to 2**64 - 1.
    """
    given = np.asarray(values)
    if given.dtype.kind in "fO" and not isinstance(values, np.ndarray):
        # NumPy makes floats of whole numbers on both sides of 2**63.
        whole = np.array(values, object)
        if all(isinstance(value, int | np.integer) and 0 <= value <= MASK for value in whole.ravel()):
            given = whole.astype(np.uint64)
    if given.size and (given.dtype.kind not in "iu" or (given.dtype.kind == "i" and np.any(given < 0))):
        raise ValueError("expected keys that are whole numbers from 0 to 2**64 - 1")
    return np.ascontiguousarray(given, np.uint64)


class Stream:
    """A sequence of random draws, the same as the native core's for the same key."""

    def __init__(self, key: int) -> None:
        self.state = int(key) & MASK

    def bits(self) -> int:
        """The next 64 bits."""
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """A number in [low, high)."""
        return low + (high - low) * unit(self.bits())

    def below(self, n: int) -> int:
        """A whole number in [0, n)."""
        return (self.bits() * n) >> 64

    def normal(self) -> float:
        """A draw from the standard normal distribution."""
        radius = math.sqrt(-2.0 * elementary.log(1.0 - self.uniform()))
        return radius * elementary.cos(2.0 * math.pi * self.uniform())

    def choice(self, items: Sequence[int]) -> int:
        """One of the items."""
        return items[self.below(len(items))]
