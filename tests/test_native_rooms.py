"""The rooms of the C++ core have doors: a header may include only what stands in the row of its room."""

import re
from pathlib import Path

NATIVE = Path(__file__).parent.parent / "native"

DOORS: dict[str, set[str]] = {
    "threads": set(),
    "machine": {"threads"},
    "search": {"machine"},
    "policies": {"machine", "threads"},
    "physics": {"machine", "threads"},
    "tasks": {"machine", "physics", "threads"},
    "bindings": {"machine", "physics", "policies", "search", "tasks", "threads"},
}


def test_rooms_include_only_what_their_doors_open_to() -> None:
    sources = [path for path in NATIVE.rglob("*") if path.suffix in (".hpp", ".cpp")]
    assert {path.relative_to(NATIVE).parts[0] for path in sources} == DOORS.keys()
    for path in sources:
        room = path.relative_to(NATIVE).parts[0]
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            if name == "ops.generated.hpp":
                continue
            assert (NATIVE / name).is_file(), f"{path}: {name} is not named from native/"
            assert name.split("/")[0] in {room} | DOORS[room], f"{path} includes {name}"


def test_every_file_of_bindings_is_called_by_the_module() -> None:
    """Those of tasks register themselves."""
    bindings = NATIVE / "bindings"
    tasks = {path.stem for path in bindings.glob("*.cpp") if f'TaskBinding binding("{path.stem}"' in path.read_text()}
    called = set(re.findall(r"  bind_(\w+)\(m\);", (bindings / "module.cpp").read_text())) - {"all_tasks"}
    assert {"cartpole", "quadruped"} <= tasks
    assert tasks | called == {path.stem for path in bindings.glob("*.cpp")} - {"module", "cpu"}
    assert not tasks & called
