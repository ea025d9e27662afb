"""`arz trace`: an episode from inside."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from arz import terminal
from arz.analysis import trace_figures
from arz.commands.checks import check_episode
from arz.commands.options import add_episode, add_import, add_json, add_source
from arz.commands.printing import print_json
from arz.commands.sources import output_folder, own_task, policy_and_known_task, test_episode
from arz.commands.tables import table_text
from arz.explain.traces import LEAST_STEPS, Inside, look_inside
from arz.files import write_whole
from arz.plotting import style
from arz.runs.folder import is_run


def add_options(parser: argparse.ArgumentParser, _: Sequence[str]) -> None:
    """The options of the command."""
    add_import(parser)
    add_source(parser)
    parser.add_argument("--output", metavar="FOLDER", help="a new folder (default for a run: trace in it)")
    add_episode(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Shows an episode from inside."""
    check_episode(options.episode)
    policy, base = policy_and_known_task(options)
    task = own_task(options, base)
    if not options.output and not is_run(options.source):
        raise ValueError("say where to write the trace: --output FOLDER")
    folder = output_folder(options, "trace")
    assert folder is not None
    seen = look_inside(test_episode(policy.for_reading(), task, options.episode))
    periods = {phase: seen.periods(*steps) for phase, steps in seen.phases.items()}
    tables = {"trace.csv": seen.csv(), "periods.csv": _period_table(periods), **seen.listings}
    folder.mkdir(parents=True, exist_ok=True)
    facts = (task.name, f"test episode {options.episode}")
    drawn = {"actions": trace_figures.actions_figure}
    if trace_figures.varying(seen):
        drawn[seen.held] = trace_figures.registers_figure
    if seen.calls:
        drawn["calls"] = trace_figures.calls_figure
    if seen.observing:
        drawn["states"] = trace_figures.states_figure
    for stale in {"registers", "units", "calls", "states"} - drawn.keys():  # of an earlier trace of this run
        (folder / f"{stale}.png").unlink(missing_ok=True)
    for name, draw in drawn.items():
        style.save(draw(seen, style.title_of(options.source, *facts, name)), folder / f"{name}.png")
    for name, text in tables.items():
        write_whole(folder / name, text)
    if options.json:
        told = {phase: {name: asdict(found) for name, found in of.items()} for phase, of in periods.items()}
        about = {"steps": seen.steps, "return": float(seen.episode.rewards.sum()), "ending": seen.episode.ending}
        changes = [asdict(change) for change in seen.changes]
        print_json(
            {**about, "changes": changes, "periods": told, "states": int(seen.states.max()) + 1, "folder": str(folder)}
        )
        return
    terminal.say(f"Return {seen.episode.rewards.sum():.1f} in {seen.steps} steps. {seen.episode.ending}")
    for change in seen.changes:
        when = (
            f"at step {change.first}" if change.first == change.last else f"from step {change.first} to {change.last}"
        )
        terminal.say(f"{change.name}: {when}")
    _print_periods(seen, periods)
    if seen.observing:
        count = int(seen.states.max()) + 1
        terminal.say(f"Conditions that look at the observation: {len(seen.observing)}, in {count} combinations.")
    terminal.say(f"Figures ({', '.join(drawn)}), trace.csv and periods.csv: {folder}")


def _period_table(periods: dict[str, Any]) -> str:
    rows = [
        (phase, name, period.steps, period.likeness) for phase, of in periods.items() for name, period in of.items()
    ]
    return table_text(["phase", "register", "steps", "likeness"], rows)


def _print_periods(seen: Inside, periods: dict[str, Any]) -> None:
    names = list(dict.fromkeys(name for of in periods.values() for name in of))
    if not names:
        return
    columns = ["register", *(f"period {phase} ({seen.unit})".replace("  ", " ") for phase in periods)]
    missing = {
        phase: "" if last - first >= LEAST_STEPS else "too short" for phase, (first, last) in seen.phases.items()
    }
    rows = [
        [n, *(f"{of[n].steps * seen.seconds:.3f}" if n in of else missing[phase] for phase, of in periods.items())]
        for n in names
    ]
    terminal.show_table("What repeats itself", columns, rows)
