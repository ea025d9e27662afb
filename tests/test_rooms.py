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
    "plain": set(),
    "tokens": {"plain"} | set(),
    "files": {"plain"} | {"tokens"},
    "program": {"ops", "native", "text", "parser"},  # the last two inside methods: a program prints and loads itself
    "text": {"ops", "program"},
    "parser": {"files", "names", "ops", "program", "text", "tokens"},
    "elementary": set(),
    "machine": {"elementary", "ops", "program", "streams"},
    "interpreter": {"native", "program", "streams", "text"},
    "simplify": {"machine", "native", "ops", "program"},
    "complexity": {"network", "program", "simplify"},
    "vary": {"names", "native", "ops", "program", "streams"},
    "listing": {"ops", "program", "text"},
    "network": {"files", "native"},
    "policy": {"files", "interpreter", "network", "parser", "program", "streams"},
    # tasks -> evaluate
    "tasks.__init__": set(),
    "tasks.status": set(),
    "tasks.task": {"native", "tasks.status"},
    "tasks.cartpole": {"names", "native", "tasks.status", "tasks.task"},
    "tasks.quadruped": {"names", "native", "streams", "tasks", "tasks.status", "tasks.task"},
    "tasks.screen": set(),
    "tasks.mujoco_model": {"names"} | {"native", "tasks.screen"},
    "tasks.rendering": {"tasks.foreign", "tasks.mujoco_model", "tasks.screen"},
    "tasks.registration": set(),
    "tasks.drawing": {"names"} | {"native", "tasks.cartpole"},
    "tasks.environment": {"names", "streams", "tasks.drawing", "tasks.status", "tasks.task"},
    "tasks.cartpole_environment": {"native", "tasks.cartpole", "tasks.drawing", "tasks.environment", "tasks.task"},
    "tasks.quadruped_environment": {"native", "tasks.environment", "tasks.quadruped", "tasks.rendering", "tasks.task"},
    "evaluate": {"tasks.any_environment", "interpreter", "native", "network", "program", "streams"}
    | {"tasks.cartpole", "tasks.quadruped", "tasks.status", "tasks.task"},
    "assess": {"evaluate", "network", "program", "tasks.task"},
    # evaluation elsewhere
    "cluster.__init__": set(),
    "cluster.scheduling": set(),
    "cluster.packing": {"native", "network", "program", "tasks.any_environment", "tasks.cartpole", "tasks.quadruped"}
    | {"tasks.task"},
    "cluster.worker": {"cluster.packing", "evaluate", "interpreter", "program", "streams", "tasks.cartpole"}
    | {"tasks.quadruped", "tasks.task", "vary"},
    "cluster.crew": {"cluster.packing", "cluster.scheduling", "cluster.worker", "network", "program", "tasks.task"},
    "cluster.ray_workers": {"files"}
    | {"names"}
    | {"cluster.crew", "cluster.packing", "cluster.scheduling", "cluster.worker", "interpreter"},
    "tasks.schedule": {"streams"},
    "tasks.foreign": set(),
    "tasks.change_check": {"tasks.foreign", "tasks.schedule"},
    "tasks.any_environment": {"files"}
    | {"native", "tasks.change_check", "tasks.environment", "tasks.foreign", "tasks.schedule"}
    | {"tasks.status", "tasks.task"},
    "watch": {"tasks.any_environment"}
    | {"evaluate", "interpreter", "network", "program", "tasks.cartpole", "tasks.cartpole_environment"}
    | {"tasks.environment", "tasks.quadruped", "tasks.quadruped_environment", "tasks.status"},
    "export.__init__": set(),
    "export.formulas": {"ops", "program"},
    "export.parts": {"complexity", "interpreter", "ops", "program", "simplify", "streams", "text"},
    "export.python": {"elementary", "export.formulas", "export.parts", "ops", "program", "streams"},
    "export.c": {"elementary", "export.formulas", "export.parts", "ops", "program", "streams"},
    "explain.__init__": set(),
    "explain.flow": {"ops", "program", "text"},
    "explain.diagram": {"plain"} | {"explain.flow", "tokens"},
    "explain.dual": {"elementary", "ops", "program"},
    "explain.linear": {"explain.dual", "interpreter", "ops", "program", "text"},
    "explain.ablation": {
        "evaluate",
        "explain.flow",
        "ops",
        "program",
        "simplify",
        "tasks.status",
        "tasks.task",
        "text",
    },
    "explain.traces": {
        "explain.flow",
        "network",
        "program",
        "tasks.any_environment",
        "tasks.cartpole",
        "tasks.quadruped",
        "text",
        "watch",
    },
    "explain.words": {"complexity", "explain.dual", "explain.flow", "explain.linear", "program"},
    # a search knows neither programs nor tasks
    "search.__init__": set(),
    "search.problem": set(),
    "search.cache": {"native"},
    "search.evolution": {"search.cache", "search.problem", "streams"},
    "search.regularized": {"native", "search.evolution", "search.problem", "streams"},
    "search.pareto": set(),
    "search.nsga2": {"native", "search", "search.evolution", "search.problem", "streams"},
    "search.draws": {"streams"},
    "search.cloud": set(),
    "search.tuning": {"search.cloud", "search.draws", "search.evolution", "search.problem", "streams"},
    "search.grow": {"search.cloud", "search.draws", "search.evolution", "search.problem", "streams"},
    "search.ppo": {"search.evolution"},
    "baselines.__init__": set(),
    "baselines.ppo": {"network", "search.ppo", "tasks.cartpole", "tasks.cartpole_environment", "tasks.environment"}
    | {"tasks.quadruped", "tasks.quadruped_environment"},
    "search.ars": {"search.draws", "search.evolution", "search.problem", "streams"},
    # where they meet
    "runs.__init__": set(),
    "runs.budget": set(),
    "runs.config": {"files"}
    | {"plain"}
    | {
        "tasks.any_environment",
        "names",
        "network",
        "program",
        "search.ars",
        "search.ppo",
        "runs.budget",
        "search.evolution",
        "search.nsga2",
        "search.regularized",
    }
    | {"search.grow", "search.tuning", "tasks", "tasks.cartpole", "tasks.quadruped", "vary"},
    "runs.senses": set(),
    "runs.problem": {"runs.senses", "search.cloud", "search.draws", "search.problem"}
    | {"", "streams", "evaluate", "interpreter", "native", "program", "tasks.status", "tasks.task", "vary"},
    "runs.networks": {"", "streams", "evaluate", "native", "network", "search.draws", "tasks.task", "vary"},
    "runs.lineage": {"search.evolution"},
    "runs.database": set(),
    "runs.store": {"runs.database", "runs.lineage"},
    "runs.pruning": {"evaluate", "explain.ablation", "interpreter", "program", "runs.problem", "search.cloud", "vary"}
    | {"search.draws", "search.problem", "simplify", "streams", "tasks.task"},
    "commands.pruning": {"", "cluster.ray_workers", "commands.common", "files", "network", "runs.database", "terminal"}
    | {"runs.pruning", "runs.run"},
    "runs.session": {
        "evaluate",
        "native",
        "network",
        "program",
        "runs.networks",
        "search.ars",
        "runs.budget",
        "runs.config",
        "runs.lineage",
        "runs.problem",
        "runs.store",
    }
    | {"search.evolution", "search.grow", "search.nsga2", "search.regularized", "search.tuning"},
    "runs.run": {"runs.database"}
    | {"vary"}
    | {
        "tasks.any_environment",
        "assess",
        "evaluate",
        "interpreter",
        "native",
        "network",
        "policy",
        "program",
        "streams",
    }
    | {"runs", "runs.budget", "runs.config", "runs.session", "runs.learning", "search.ppo", "runs.store"}
    | {"search.evolution", "search.nsga2"},
    "runs.entries": {"runs.database"}
    | {"analysis.comparison", "assess", "complexity", "network", "policy", "program", "runs.config"}
    | {"runs.run", "runs.store", "tasks.quadruped"},
    "runs.learning": {"runs.database"}
    | {"names"}
    | {
        "tasks.cartpole",
        "tasks.quadruped",
        "baselines.ppo",
        "evaluate",
        "runs.budget",
        "runs.config",
        "runs.session",
        "runs.store",
    }
    | {"search.evolution", "search.ppo", "streams"},
    "runs.sweep": {"files"}
    | {"runs.database"}
    | {"names"}
    | {
        "evaluate",
        "program",
        "runs",
        "runs.config",
        "runs.run",
        "runs.session",
        "runs.store",
        "search.ppo",
        "streams",
    },
    "runs.api": {"evaluate", "network", "program", "runs", "runs.config", "runs.run", "runs.session"},
    # pure functions from results to pictures
    "analysis.__init__": set(),
    "analysis.film": {"names"} | {"files"},
    "analysis.replay": {"analysis.film", "tasks.cartpole", "tasks.drawing"},
    "analysis.figures": {"analysis.film", "analysis.replay", "files", "search.nsga2", "tasks.cartpole"},
    "analysis.frames": {"analysis.film", "tasks.any_environment", "tasks.screen"},
    "analysis.inside": {
        "analysis.figures",
        "explain.ablation",
        "explain.linear",
        "explain.traces",
        "tasks.any_environment",
        "tasks.cartpole",
        "tasks.quadruped",
        "watch",
    },
    "analysis.walk": {"analysis.figures", "analysis.film", "tasks.quadruped", "tasks.rendering"},
    "analysis.statistics": set(),
    "analysis.comparison": {"analysis", "analysis.statistics"},
    # the paper's results: from runs to rows, from rows to figures and verdicts
    "reproduce.__init__": set(),
    "reproduce.table": set(),
    "reproduce.verdict": set(),
    "reproduce.plan": {"names", "program", "runs", "runs.budget", "runs.config"},
    "reproduce.work": {"runs.database"}
    | {"evaluate", "files", "interpreter", "native", "network", "program", "reproduce.plan"}
    | {"runs.config", "runs.entries", "runs.run", "runs.store", "runs.sweep", "simplify"},
    "reproduce.scores": {"analysis", "analysis.comparison", "assess", "complexity", "reproduce.plan"}
    | {"reproduce.table", "reproduce.verdict", "reproduce.work", "runs.run", "tasks.cartpole", "tasks.quadruped"},
    "reproduce.searches": {"analysis", "analysis.comparison", "reproduce.plan", "reproduce.scores", "reproduce.table"}
    | {"reproduce.verdict", "reproduce.work", "runs.run", "search.pareto", "tasks.quadruped"},
    "reproduce.episodes": {"analysis", "analysis.comparison", "evaluate", "explain.traces", "network", "program"}
    | {"reproduce.plan", "reproduce.table", "reproduce.verdict", "reproduce.work", "tasks.quadruped", "watch"},
    "reproduce.printed": {"analysis", "analysis.replay", "assess", "complexity", "evaluate", "explain.linear"}
    | {"explain.words", "program", "reproduce.plan", "reproduce.table", "reproduce.verdict", "reproduce.work"}
    | {"simplify", "tasks.cartpole", "watch"},
    "reproduce.kinds": {"reproduce", "reproduce.plan", "reproduce.table", "reproduce.verdict", "reproduce.work"},
    "reproduce.pages": {
        "analysis",
        "files",
        "reproduce.kinds",
        "reproduce.plan",
        "reproduce.table",
        "reproduce.verdict",
    }
    | {"reproduce.work"},
    "reproduce.summary": {"reproduce.pages", "reproduce.plan", "reproduce.table", "reproduce.verdict"},
    # what a person sees
    "terminal": {"plain", "runs.session"},
    "commands.__init__": {"commands.common"}
    | {
        "commands.comparing",
        "commands.evolving",
        "commands.explaining",
        "commands.exporting",
        "commands.looking",
        "commands.pruning",
        "commands.reproducing",
        "commands.sweeping",
    }
    | {"commands.trying"},
    "commands.common": {"runs.database"}
    | {"tasks.foreign"}
    | {
        "cluster.crew",
        "cluster.ray_workers",
        "tasks.any_environment",
        "assess",
        "complexity",
        "evaluate",
        "network",
        "policy",
        "program",
        "runs",
        "runs.config",
        "runs.run",
        "runs.store",
        "simplify",
    }
    | {"tasks.cartpole", "tasks.quadruped", "terminal"},
    "commands.evolving": {"runs.database"}
    | {"commands.pruning", "files"}
    | {"assess", "names"}
    | {
        "cluster.ray_workers",
        "analysis",
        "commands.common",
        "network",
        "program",
        "runs",
        "runs.run",
        "runs.session",
        "runs.store",
    }
    | {"terminal"},
    "commands.looking": {"runs.database"}
    | {
        "commands.common",
        "commands.rounding",
        "complexity",
        "evaluate",
        "listing",
        "ops",
        "network",
        "program",
        "runs",
        "runs.run",
        "runs.store",
    }
    | {"simplify", "terminal"},
    "commands.explaining": {"runs.database"}
    | {"plain"}
    | {
        "analysis",
        "commands.common",
        "commands.rounding",
        "evaluate",
        "files",
        "explain",
        "explain.ablation",
    }
    | {"explain.diagram", "explain.flow", "explain.linear", "explain.traces", "network", "program", "runs.store"}
    | {"simplify", "tasks.cartpole", "tasks.quadruped", "terminal", "tokens", "watch"},
    "commands.rounding": {"commands.common", "evaluate", "program", "simplify"},
    "commands.exporting": {"plain"}
    | {"terminal"}
    | {"commands.common", "evaluate", "export", "export.c", "export.parts", "export.python"}
    | {"network", "program", "tasks.any_environment", "tokens", "watch"},
    "commands.trying": {"runs.database"}
    | {"terminal"}
    | {
        "watch",
        "tasks.any_environment",
        "analysis",
        "analysis.replay",
        "assess",
        "commands.common",
        "evaluate",
        "network",
        "program",
        "runs.run",
        "runs.store",
    }
    | {"tasks.cartpole", "tasks.quadruped"},
    "commands.comparing": {"runs.database"}
    | {"tasks.any_environment", "tasks.cartpole", "tasks.quadruped"}
    | {"", "analysis", "analysis.comparison", "analysis.statistics", "commands.common", "files"}
    | {"runs.entries", "runs.run", "runs.store", "terminal"},
    "commands.reproducing": {
        "",
        "commands.common",
        "evaluate",
        "files",
        "interpreter",
        "reproduce.pages",
        "reproduce.plan",
    }
    | {"reproduce.summary", "reproduce.work", "terminal"},
    "commands.sweeping": {"", "analysis", "commands.common", "runs", "runs.config", "runs.sweep", "terminal"},
    "cli": {"files"}
    | {"terminal"}
    | {"cluster.crew", "export", "", "commands", "names", "network", "reproduce.plan", "runs", "runs.run"}
    | {"tasks.cartpole", "tasks.quadruped"},
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
