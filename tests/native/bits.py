"""Whether the core gives the same bits on aarch64 as in its builds for x86: `make test-aarch64`.

Programs that tell what each part of the core computes (bits.cpp) are built for both, those for aarch64 by a compiler
that crosses over, and run, those for aarch64 by qemu.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from arz.native import runs_here

ROOT = Path(__file__).parent.parent.parent
TOOLS = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
INSTALL = "apt install g++-aarch64-linux-gnu qemu-user (in place of the first: pip install ziglang)"


def tool(*names: str) -> str:
    """The first of these that is there.

    Raises:
        SystemExit: none is.
    """
    found = [path for name in names if (path := shutil.which(name, path=TOOLS))]
    if not found:
        sys.exit(f"There is no {' or '.join(names)} here: {INSTALL}")
    return found[0]


def crossing() -> str:
    """A compiler for aarch64, as CMake wants it in `CXX`."""
    cross = "aarch64-linux-gnu-g++"
    if shutil.which(cross, path=TOOLS) is None and importlib.util.find_spec("ziglang"):
        return f"{sys.executable} -m ziglang c++ -target aarch64-linux-musl"
    return tool(cross)


def built(name: str, *options: str, **environment: str) -> Path:
    """The folder with the programs of a build."""
    folder = ROOT / "build" / "bits" / name
    for arguments in (
        ["-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DARZ_BITS=ON", "-DARZ_STRICT=ON", *options],
        ["--build", str(folder)],
    ):
        done = subprocess.run(
            [tool("cmake"), *arguments],
            env={**os.environ, "PATH": TOOLS, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            sys.exit(f"{done.stdout}The build for {name} failed.")
    return folder


def digests(*command: str | Path) -> dict[str, str]:
    """What a program says of each part."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}{command[-1]} ended with {done.returncode}.")
    return dict(line.split() for line in done.stdout.splitlines())


def main() -> None:
    """Builds, runs, compares."""
    if platform.machine() not in ("x86_64", "AMD64"):
        sys.exit("Bits of aarch64 are compared with those of x86: run this on a machine of that kind.")
    compiler, emulator = crossing(), tool("qemu-aarch64", "qemu-aarch64-static")
    print("Building for x86 and aarch64, a few minutes at first ...", flush=True)
    here = built("x86")
    options = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_EXE_LINKER_FLAGS=-static")
    there = built("aarch64", *options, CXX=compiler)
    found = {name: digests(here / f"bits_{name}") for name in runs_here()}
    found["aarch64"] = digests(emulator, there / "bits_baseline")
    print(" " * 12, *(f"{name:16}" for name in found))
    differing = []
    for part in found["baseline"]:
        values = [told.get(part, "nothing") for told in found.values()]
        differing += [part] if len(set(values)) > 1 else []
        print(f"{part:12}", *(f"{value:16}" for value in values))
    if differing:
        sys.exit(f"The bits differ: {', '.join(differing)}.")
    print("The same bits everywhere.")


if __name__ == "__main__":
    main()
