"""The code lies in layers: what is above may import what is below, and some may not even that (CONTRIBUTING.md)."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "arz"
ROW = re.compile(r"^\| \d+ \|([^|]+)\|[^|]+\|([^|]*)\|$", re.MULTILINE)
"""A row of the table of layers: its number, its modules, what they are, the layers of which they know nothing."""


def names(cell: str) -> list[str]:
    return re.findall(r"`([\w/]+?)/?`", cell)


LAYERS = [(names(modules), names(unknown)) for modules, unknown in ROW.findall((ROOT / "CONTRIBUTING.md").read_text())]
LAYER = {name: number for number, (modules, _) in enumerate(LAYERS) for name in modules}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def imported(source: str) -> set[str]:
    """The modules of ours that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {"cli" for name in node.names if name.name.split(".")[0] == "arz"}  # all of it: from the top only
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "say in full from where it is imported"
            if node.module and node.module.split(".")[0] == "arz":
                module = node.module.removeprefix("arz").lstrip(".")
                found |= {module} if module else {name.name for name in node.names}
    return found


def broken(module: str, others: set[str]) -> list[str]:
    """The imports of a module that no module of its layer may have."""
    own = LAYER[module.split(".")[0]]
    unknown = LAYERS[own][1]
    there = {other: LAYER[other.split(".")[0]] for other in others}
    up = [f"{module} imports {other}, which is above it" for other, number in there.items() if number > own]
    walls = [other for other in others if other.split(".")[0] in unknown]
    return up + [f"{module} imports {other}, of which its layer knows nothing" for other in walls]


MODULES = {
    module_of(path): imported(path.read_text()) for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"
}


def test_there_is_a_layer_for_each_module() -> None:
    assert 10 <= len(LAYERS) <= 16
    assert {module.split(".")[0] for module in MODULES} <= LAYER.keys(), "a new module needs a layer (CONTRIBUTING.md)"
    there = {path.stem for path in SOURCE.iterdir()} | {"_native"}
    assert set(LAYER) <= there, "a module that is gone still has a layer (CONTRIBUTING.md)"
    assert {name for _, unknown in LAYERS for name in unknown} <= LAYER.keys()


def test_no_import_goes_up_or_through_a_wall() -> None:
    assert [each for module, others in MODULES.items() for each in broken(module, others)] == []


@pytest.mark.parametrize(
    ("module", "other"),
    [("program", "tasks"), ("search.grow", "program"), ("tasks.base", "network"), ("runs.run", "analysis.figures")],
)
def test_what_goes_up_or_through_a_wall_is_seen(module: str, other: str) -> None:
    (said,) = broken(module, {other})
    assert module in said
    assert other in said


FOLDERS = sorted(path.parent.name for path in SOURCE.glob("tasks/*/__init__.py"))
KNOW_TASKS = {
    "commands.options",
    "commands.sources",
    "reproduce.episodes",
    "reproduce.groups.notes",
    "reproduce.groups.tables",
    "reproduce.printed",
    "reproduce.searches",
    "reproduce.scores",
    "runs.config",
}
"""Those that may name a task: options that only it has, the usual one, and the paper's items, which are about it."""


def test_tasks_do_not_know_each_other_and_few_know_them() -> None:
    assert {"cartpole", "quadruped", "gymnasium"} <= set(FOLDERS)
    knowing = {}
    for module, others in MODULES.items():
        own = module.split(".")[1] if module.startswith("tasks.") else ""
        if known := {other.split(".")[1] for other in others if other.startswith("tasks.")} & set(FOLDERS) - {own}:
            knowing[module] = known
    assert knowing.pop("tasks.__init__") == set(FOLDERS)
    assert knowing.keys() == KNOW_TASKS


def test_nobody_asks_a_task_which_one_it_is() -> None:
    """Who knows a thing answers for it: outside its folder, no code depends on which task it has."""
    asked = re.compile(r"isinstance\([^()]*\b(Cartpole|Quadruped|AnyEnvironment)\b|type\([\w.]*task\)|\btask\.kind ==")
    found = [
        f"{module_of(path)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        if "tasks" not in path.parts
        for line in path.read_text().splitlines()
        if asked.search(line)
    ]
    assert found == []


def test_the_op_table_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse((SOURCE / "ops.py").read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert set(modules) == {"__future__", "dataclasses", "functools", "hashlib", "re"}
