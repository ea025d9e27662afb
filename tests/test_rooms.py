"""Rooms have doors: each module may import only what stands in its row."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "arz"

DOORS: dict[str, set[str]] = {
    "ops": set(),
    "_cpu": set(),
    "native": {"ops", "_cpu", "_native"},
    "streams": {"elementary", "native"},
    "names": set(),
    "tokens": set(),
    "program": {"ops", "native", "text", "parser"},  # the last two inside methods: a program prints and loads itself
    "text": {"ops", "program"},
    "parser": {"names", "ops", "program", "text", "tokens"},
    "elementary": set(),
    "machine": {"elementary", "ops", "program", "streams"},
    "interpreter": {"native", "program", "streams", "text"},
    "simplify": {"machine", "native", "ops", "program"},
    "complexity": {"program", "simplify"},
    "vary": {"names", "native", "ops", "program", "streams"},
    "listing": {"ops", "program", "text"},
    "policy": {"interpreter", "program", "streams"},
    # tasks -> evaluate
    "tasks.__init__": set(),
    "tasks.cartpole": {"names", "native"},
    "tasks.registration": set(),
    "tasks.drawing": {"native", "tasks.cartpole"},
    "tasks.status": {"native"},
    "tasks.environment": {"tasks.status", "names", "native", "streams", "tasks.cartpole", "tasks.drawing"},
    "evaluate": {"interpreter", "native", "program", "streams", "tasks.cartpole", "tasks.status"},
    "assess": {"evaluate", "program", "tasks.cartpole"},
    # a search knows neither programs nor tasks
    "search.__init__": set(),
    "search.problem": set(),
    "search.cache": {"native"},
    "search.regularized": {"native", "search.cache", "search.problem", "streams"},
    # where they meet
    "runs.__init__": set(),
    "runs.budget": set(),
    "runs.config": {"names", "program", "runs.budget", "search.regularized", "tasks.cartpole", "vary"},
    "runs.problem": {"evaluate", "interpreter", "native", "program", "streams", "tasks.cartpole", "vary"},
    "runs.lineage": {"search.regularized"},
    "runs.store": {"runs.lineage"},
    "runs.session": {"native", "program", "runs.budget", "runs.config", "runs.lineage", "runs.problem", "runs.store"}
    | {"search.regularized"},
    "runs.run": {"assess", "evaluate", "interpreter", "native", "parser", "policy", "program", "streams"}
    | {"runs", "runs.budget", "runs.config", "runs.session", "runs.store", "search.regularized"},
    "runs.api": {"runs", "runs.config", "runs.run", "runs.session"},
    # pure functions from results to pictures
    "analysis.__init__": set(),
    "analysis.replay": {"tasks.cartpole", "tasks.drawing"},
    "analysis.figures": {"analysis.replay", "tasks.cartpole"},
    # what a person sees
    "terminal": {"runs.session"},
    "commands.__init__": {"commands.evolving", "commands.looking", "commands.trying"},
    "commands.common": {"assess", "complexity", "evaluate", "parser", "program", "runs.run", "runs.store", "simplify"}
    | {"tasks.cartpole", "terminal"},
    "commands.evolving": {"analysis", "commands.common", "runs", "runs.run", "runs.session", "terminal"},
    "commands.looking": {
        "commands.common",
        "complexity",
        "evaluate",
        "listing",
        "ops",
        "program",
        "runs",
        "runs.run",
        "runs.store",
    }
    | {"simplify", "terminal"},
    "commands.trying": {
        "analysis",
        "analysis.replay",
        "assess",
        "commands.common",
        "evaluate",
        "runs.run",
        "runs.store",
    }
    | {"tasks.cartpole"},
    "cli": {"", "commands", "names", "runs", "runs.run", "tasks.cartpole"},
}


def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {
                name.name.removeprefix("arz").lstrip(".") for name in node.names if name.name.split(".")[0] == "arz"
            }
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: say what is imported from where in full"
            if node.module and node.module.split(".")[0] == "arz":
                module = node.module.removeprefix("arz").lstrip(".")
                found |= {module} if module else {name.name for name in node.names}
    return found


def test_no_import_breaks_through_a_wall() -> None:
    paths = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]
    modules = {".".join(path.relative_to(SOURCE).with_suffix("").parts): imported(path) for path in paths}
    assert set(modules) <= set(DOORS), "a new module needs a row in DOORS"
    broken = [f"{name} imports {other}" for name, others in modules.items() for other in others - DOORS[name]]
    assert broken == []


def test_the_op_table_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse((SOURCE / "ops.py").read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert set(modules) == {"__future__", "dataclasses", "functools", "hashlib", "re"}
