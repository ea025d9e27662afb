"""Random numbers that several searches draw."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from arz.streams import keys


def normal_rows(seed: int, purpose: str, numbers: NDArray[np.int64], dim: int) -> NDArray[np.float64]:
    """Draws [individual, number] that are nearly standard normal: sums of four uniform ones, each of 16 bits."""
    indices = numbers[:, None] * dim + np.arange(dim)
    bits = keys(seed, purpose, indices).reshape(indices.shape)
    total = np.zeros(indices.shape)
    for shift in (0, 16, 32, 48):
        total += (bits >> np.uint64(shift)) & np.uint64(0xFFFF)
    return (total - 2 * 0xFFFF) / (0x10000 * math.sqrt(4 / 12))
