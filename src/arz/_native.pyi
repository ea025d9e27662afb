"""What the compiled core offers. `arz.native` picks the build; everything else imports `core` from there."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

INSTRUCTION_SET: str
OPS_DIGEST: str
MAX_CADFS: int
NONE: int
NO_MUTATION: int
MUTATIONS: tuple[str, ...]

class MemoryShape: ...

class Batch:
    def __len__(self) -> int: ...
    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.float64]]: ...
    def selected(self, indices: NDArray[np.int64], /) -> Batch: ...
    def joined(self, other: Batch, /) -> Batch: ...

class VariationSettings: ...

class Stepper:
    def __init__(self, batch: Batch, index: int, lanes: int, /) -> None: ...
    def reset(self, keys: NDArray[np.uint64], /) -> None: ...
    def act(self, observations: NDArray[np.float64], /) -> NDArray[np.float64]: ...

def memory_shape(
    observations: int, actions: int, scalars: int, vectors: int, matrices: int, indices: int, stateful: bool, /
) -> MemoryShape: ...
def batch(
    shape: MemoryShape,
    instructions: NDArray[np.uint8],
    lengths: NDArray[np.int64],
    cadfs: NDArray[np.uint8],
    images: NDArray[np.float64],
    /,
) -> Batch: ...
def effective(batch: Batch, /) -> tuple[Batch, NDArray[np.uint8]]: ...
def entry_registers(batch: Batch, index: int, /) -> list[int]: ...
def run(
    batch: Batch,
    observations: NDArray[np.float64],
    keys: NDArray[np.uint64],
    threads: int,
    only_effective: bool,
    /,
) -> NDArray[np.float64]: ...
def trace(
    batch: Batch, index: int, observations: NDArray[np.float64], keys: NDArray[np.uint64], /
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]: ...
def variation_settings(
    weights: Sequence[float],
    op_weights: Sequence[float],
    sigma: float,
    fraction: float,
    initial_constants: float,
    max_cadfs: int,
    initial_cadfs: int,
    least: int,
    most: int,
    cadf_least: int,
    cadf_most: int,
    /,
) -> VariationSettings: ...
def random_batch(shape: MemoryShape, settings: VariationSettings, keys: NDArray[np.uint64], /) -> Batch: ...
def mutated(
    batch: Batch, settings: VariationSettings, parents: NDArray[np.int64], keys: NDArray[np.uint64], /
) -> tuple[Batch, NDArray[np.uint8]]: ...
def crossed(
    batch: Batch, first: NDArray[np.int64], second: NDArray[np.int64], keys: NDArray[np.uint64], /
) -> Batch: ...
def stream_sample(key: int, kind: str, count: int, /) -> list[float]: ...
