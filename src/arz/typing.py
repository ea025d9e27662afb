"""Names for the arrays that are passed around. What their axes mean is said where they are taken or returned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Numbers: observations, actions, scores, parameters."""
Keys = NDArray[np.uint64]
"""Names of episodes or of random draws."""
Picture = NDArray[np.uint8]
"""A picture [height, width, 3]."""
Record = Mapping[str, Floats]
"""The record of one episode: name -> [step], NaN after the end. A row of what `arz.record` returns."""
