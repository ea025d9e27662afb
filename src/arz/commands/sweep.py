"""`arz sweep`: a grid of settings."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arz import terminal
from arz.analysis import figures
from arz.commands.backend import workers
from arz.commands.fields import add_fields, with_fields
from arz.commands.options import add_backend, add_import, add_json, add_seed
from arz.commands.printing import print_json
from arz.network import NETWORK_KINDS
from arz.plotting import style
from arz.runs import config as configs
from arz.runs.sweep import PAPER, Sweep, Tried


def add_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    presets = configs.preset_names()
    parser.add_argument("preset", help=f"{', '.join(presets)}, or a .toml file")
    parser.add_argument("--output", metavar="FOLDER", required=True, help="the folder of the sweep")
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a field and its values; give it several times (default for ars: the paper's 6 x 6)",
    )
    parser.add_argument("--policy", choices=NETWORK_KINDS, help="the kind of network (default: as in the preset)")
    parser.add_argument("--repeats", type=int, default=0, help="how often to repeat the best, with other seeds")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, one thread each (default: 1)")
    add_seed(parser)
    parser.usage = "arz sweep PRESET --output FOLDER [--grid NAME=VALUE,... ...] [--option VALUE ...]"
    add_backend(parser)
    add_json(parser)
    add_fields(parser, next((word for word in words if word in presets), "cartpole"))


def run(options: argparse.Namespace) -> int:
    """Tries a grid of settings, then repeats the best."""
    if not 1 <= options.jobs <= 1024:
        raise ValueError(f"--jobs must be 1 to 1024, not {options.jobs}")
    if not 0 <= options.repeats <= 10_000:
        raise ValueError(f"--repeats must be 0 to 10000, not {options.repeats}")
    made = Sweep(_config(options), _grid(options), Path(options.output), options.seed, Path(options.preset).stem)
    total = len(made.points)
    made.check_jobs(options.jobs, options.backend != "local")
    with workers(options, options.json) as pool, terminal.stoppable() as should_stop:
        if pool is not None:
            pool.should_stop = should_stop

        def say(tried: Tried) -> None:
            terminal.note(f"{_named(tried.settings)}: {tried.score:.1f}", options.json)

        terminal.note(f"{made.folder}: {total} points, {options.jobs} at a time. Ctrl-C stops and saves.", options.json)
        found = made.run(jobs=options.jobs, workers=pool, on_done=say, should_stop=should_stop)
        is_whole = len(found) == total
        best = max((t for t in found if math.isfinite(t.score)), key=lambda tried: tried.score, default=None)
        repeats: list[dict[str, Any]] = []
        if is_whole and best is not None:
            for seed, score, folder in made.repeat(
                best.settings, options.repeats, jobs=options.jobs, workers=pool, should_stop=should_stop
            ):
                terminal.note(f"best again, seed {seed}: {score:.1f}", options.json)
                repeats.append({"seed": seed, "score": score, "run": str(folder)})
    figure = _draw(made, found)
    if options.json:
        rows = [{"settings": t.settings, "score": t.score, "run": str(t.folder)} for t in found]
        print_json({"points": total, "tried": rows, "best": best.settings if best else None, "repeats": repeats})
    else:
        _print(made, found, best, repeats, figure)
    if not is_whole or (best is not None and len(repeats) < options.repeats):
        terminal.note("Stopped and saved. Go on with the same command.", options.json)
        return terminal.INTERRUPTED
    return 0


def _config(options: argparse.Namespace) -> configs.Config:
    base = configs.load(options.preset)
    if options.policy is not None and configs.kind_of(base, "policy") != options.policy:
        base = configs.with_policy(base, options.policy)
    return with_fields(base, options)


def _grid(options: argparse.Namespace) -> dict[str, tuple[Any, ...]]:
    if not options.grid:
        kind = configs.kind_of(configs.load(options.preset), "search")
        if kind not in PAPER:
            raise ValueError("a sweep needs a grid: --grid NAME=VALUE,VALUE,...")
        return dict(PAPER[kind])
    found: dict[str, tuple[Any, ...]] = {}
    for text in options.grid:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name in found:
            raise ValueError(f"--grid takes NAME=VALUE,VALUE,..., each name once, not {text!r}")
        found[name] = _values(values) if name != "budget" else tuple(values.split(","))
    return found


def _values(text: str) -> tuple[Any, ...]:
    """Values with commas between them, as TOML writes them; what is not TOML is taken as texts."""
    parsed = configs.parse_value(f"[{text}]")
    if isinstance(parsed, str):
        return tuple(configs.parse_value(value.strip()) for value in text.split(","))
    return tuple(tuple(value) if isinstance(value, list) else value for value in parsed)


def _named(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _draw(made: Sweep, found: list[Tried]) -> Path | None:
    """A map of the scores, where the grid has two names."""
    if len(made.grid) != 2 or not found:
        return None
    path = made.folder / "sweep.png"
    scores = {tuple(tried.settings.values()): tried.score for tried in found}
    title = style.title_of(made.folder, "champion's score on validation episodes")
    style.save(figures.heat_figure(made.grid, scores, title), path)
    return path


def _print(
    made: Sweep, found: list[Tried], best: Tried | None, repeats: list[dict[str, Any]], figure: Path | None
) -> None:
    names = list(made.grid)
    if len(names) == 2:
        scores = {tuple(tried.settings.values()): f"{tried.score:.0f}" for tried in found}
        rows = [[str(a), *(scores.get((a, b), "") for b in made.grid[names[1]])] for a in made.grid[names[0]]]
        columns = [f"{names[0]} \\ {names[1]}", *map(str, made.grid[names[1]])]
    else:
        ordered = sorted(found, key=lambda tried: -tried.score)
        rows = [[*map(str, tried.settings.values()), f"{tried.score:.0f}"] for tried in ordered]
        columns = [*names, "score"]
    terminal.show_table("Champion's score on the validation episodes", columns, rows)
    if best is None:
        terminal.say("No run has a champion: give them a larger --budget.")
    else:
        terminal.say(f"Best: {_named(best.settings)}: {best.score:.1f} ({best.folder})")
    if repeats:
        rows = [[str(r["seed"]), f"{r['score']:.0f}", r["run"]] for r in repeats]
        terminal.show_table("The best again", ["seed", "score", "run"], rows, text=["run"])
    if figure is not None:
        terminal.say(f"Figure: {figure}")
