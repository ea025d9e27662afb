"""C++ beside this page as a library, compiled as the native core is."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arz.native import core

HERE = Path(__file__).parent
ROOT = HERE.parent
PROCESSOR = {
    "baseline": [],
    "x86-64-v3": ["-march=x86-64-v3"],
    "x86-64-v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}[core.INSTRUCTION_SET]
FLAGS = ["-std=gnu++20", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi", "-shared", "-fPIC", *PROCESSOR]


def compiled(name: str, level: str = "-O3", *flags: str) -> ctypes.CDLL:
    """`name`.cpp at an optimisation level, with more flags."""
    build = ROOT / "build" / "bench"
    build.mkdir(parents=True, exist_ok=True)
    library = build / f"{name}{level}-{core.INSTRUCTION_SET}.so"
    generate = [sys.executable, f"{ROOT}/native/generate.py", f"{ROOT}/src/arz/ops.py", f"{build}/ops.generated.hpp"]
    subprocess.run(generate, check=True)
    sources = [f"-I{ROOT}/native", f"-I{build}", f"{HERE}/{name}.cpp"]
    subprocess.run(["c++", level, *FLAGS, *flags, *sources, "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    """Where an array lies, for C."""
    return array.ctypes.data_as(ctypes.c_void_p)
