"""`arz explain`, `arz trace` and `arz ablate`."""

from __future__ import annotations

import argparse
import csv
import io
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from arz import terminal
from arz.analysis import figures, inside
from arz.commands.common import (
    Known,
    check_episode,
    check_threads,
    own_task,
    policy_and_known_task,
    policy_and_task,
    print_json,
    without_foreign_code,
)
from arz.commands.rounding import Rounding, rounding
from arz.evaluate import fresh_episodes
from arz.explain import words
from arz.explain.ablation import Ablation, Smaller, smallest
from arz.explain.ablation import ablate as ablated
from arz.explain.diagram import diagram
from arz.explain.flow import Flow, flow
from arz.explain.linear import NotAffineError, Reading, read
from arz.explain.traces import LEAST_STEPS, Inside, InsideProgram, look_inside
from arz.files import folder_inside, write_whole
from arz.network import Network
from arz.plain import printable
from arz.program import Program
from arz.runs.database import is_run
from arz.simplify import Guarantee, with_own_names
from arz.tasks.cartpole import Cartpole
from arz.tasks.quadruped import STATE, Quadruped
from arz.watch import Watched, watch

NAMES: dict[type[Any], tuple[str, ...]] = {Cartpole: ("x", "theta", "x_dot", "theta_dot"), Quadruped: tuple(STATE)}
"""What the entries of an observation are."""
MOST_SHOWN = 12
"""Matrices with more rows or columns are not printed."""
Costs = list[tuple[str, int, int]]
"""As `words.costs` has them."""
MOST_USES = 1_000_000
"""Uses of results by other lines, of a program that is written as JSON."""
UNWATCHED = (
    "it is not linear everywhere, and its environment is not known here (for a file: --env), or is made in a way that "
    "only the run names (save the program with arz show --program, and name the environment)"
)


def explain(options: argparse.Namespace) -> None:
    """Says what a program is and does."""
    check_episode(options.episode)
    policy, task = policy_and_task(options)
    program = _program(options.source, policy)
    folder = _folder(options, "explain")
    simple = with_own_names(program)
    found = flow(simple)
    watched = without_foreign_code(options, task)
    reading, why = _reading(simple, watched, options.episode)
    said = words.sentences(found, reading, why, _where(watched, options.episode), program)
    costs = words.costs(program)
    rough = rounding(simple, options.digits, watched)
    listed = flow(rough.program) if rough is not None else found
    names, name = _names(task), printable(options.source)
    title = figures.title_of(options.source, "how its numbers flow")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "flow.svg", diagram(listed, title))
        (folder / "kernel.png").unlink(missing_ok=True)  # of an earlier champion of this run
        if reading is not None and _is_shown(reading) and np.any(reading.closed.U != 0):
            labels = names or reading.inputs[: reading.observed]
            about = figures.title_of(options.source, "how what it sees counts later")
            figures.save(inside.kernel_figure(reading.closed, labels, about), folder / "kernel.png")
        write_whole(folder / "explain.md", _page(name, listed, reading, said, costs, names, folder, rough))
    if options.json:
        rough_too = {} if rough is None else {"rounded": rough.about}
        print_json(_everything(found, reading, said, costs) | rough_too)
        return
    terminal.say(f"# {name}, for reading. {rough or Guarantee.EXACT}\n")
    terminal.say(listed.listing())
    rows = [[name, str(parameters), str(flops)] for name, parameters, flops in costs]
    terminal.show_table("Cost", ["", "parameters", "FLOPs per step"], rows, text=("",))
    terminal.say("\n".join(f"- {sentence}" for sentence in said))
    if folder is not None:
        where = printable(str(folder))
        terminal.say(f"Page: {where}/explain.md. Picture of the flow: {where}/flow.svg.")


def trace(options: argparse.Namespace) -> None:
    """Shows an episode from inside."""
    check_episode(options.episode)
    policy, base = policy_and_known_task(options)
    task = own_task(options, base)
    if not options.output and not is_run(options.source):
        raise ValueError("say where to write the trace: --output FOLDER")
    shown = policy if isinstance(policy, Network) else with_own_names(policy)
    folder = _folder(options, "trace")
    assert folder is not None
    seen = look_inside(_watched(shown, task, options.episode))
    periods = {phase: seen.periods(*steps) for phase, steps in seen.phases.items()}
    tables = {"trace.csv": seen.csv(), "periods.csv": _period_table(periods)}
    if isinstance(seen, InsideProgram):
        tables["program.arz"] = str(seen.program)
    folder.mkdir(parents=True, exist_ok=True)
    facts = (task.name, f"test episode {options.episode}")
    held = "registers" if isinstance(seen, InsideProgram) else "units"
    drawn = {"actions": inside.actions_figure}
    if inside.varying(seen):
        drawn[held] = inside.registers_figure
    if seen.calls:
        drawn["calls"] = inside.calls_figure
    if seen.observing:
        drawn["states"] = inside.states_figure
    for stale in {"registers", "units", "calls", "states"} - drawn.keys():  # of an earlier trace of this run
        (folder / f"{stale}.png").unlink(missing_ok=True)
    for name, draw in drawn.items():
        figures.save(draw(seen, figures.title_of(options.source, *facts, name)), folder / f"{name}.png")
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


def ablate(options: argparse.Namespace) -> None:
    """Says what each part of a program is worth."""
    check_threads(options.threads)
    if not 1 <= options.episodes <= 100_000:
        raise ValueError(f"--episodes must be 1 to 100000, not {options.episodes}")
    if not 0 <= options.tolerance <= 1:
        raise ValueError(f"--tolerance must be 0 to 1, not {options.tolerance}")
    policy, base = policy_and_known_task(options)
    program = _program(options.source, policy)
    task = own_task(options, base)
    folder = _folder(options, "ablate")
    how: dict[str, Any] = {"episodes": options.episodes, "threads": options.threads}
    with terminal.bar(options.json) as show:
        found = ablated(program, task, show=lambda share, text: show(share / 2, text), **how)
        smaller = smallest(
            program, task, tolerance=options.tolerance, show=lambda share, text: show((1 + share) / 2, text), **how
        )
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        title = figures.title_of(options.source, task.name, f"{options.episodes} test episodes")
        figures.save(inside.ablation_figure(found, title), folder / "ablation.png")
        write_whole(folder / "ablation.csv", _ablation_table(found))
        write_whole(folder / "smallest.arz", str(smaller.program))
    if options.json:
        parts = [{**asdict(part), "worth": found.worth(part)} for part in found.parts]
        small = {"program": str(smaller.program), "score": smaller.score, "removed": smaller.removed}
        print_json({"score": found.score, "completed": found.completed, "parts": parts, "smallest": small})
        return
    _print_ablation(found, smaller, task, options)
    if folder is not None:
        terminal.say(f"ablation.png, ablation.csv and smallest.arz: {folder}")


# ---- what they share ----


def _program(source: str, policy: Program | Network) -> Program:
    if isinstance(policy, Network):
        raise ValueError(f"{printable(source)} is a network, whose parts say nothing: arz show and arz trace take it")
    return policy


def _folder(options: argparse.Namespace, name: str) -> Path | None:
    """Where to write, once there is something to write: a new folder, or one of the run."""
    if options.output:
        folder = Path(options.output)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ValueError(
                f"{printable(str(folder))} exists already, and nothing is overwritten: choose another name"
            )
    elif is_run(options.source):
        folder = folder_inside(Path(options.source), name)
    else:
        return None
    return folder


def _watched(policy: Program | Network, task: Known, episode: int) -> Watched:
    check_episode(episode)
    return watch(policy, task, int(fresh_episodes(1, first=episode)[0]))


def _names(task: Known | None) -> tuple[str, ...] | None:
    return NAMES.get(type(task)) if task is not None else None


# ---- explain ----


def _reading(program: Program, task: Known | None, episode: int) -> tuple[Reading | None, str]:
    """The program as a filter, near the path of a test episode, if it has to be; or why there is none."""
    try:
        return read(program), ""
    except NotAffineError:
        if task is None:
            return None, UNWATCHED
    except ValueError as error:
        return None, str(error)
    seen = _watched(program, task, episode).trace
    try:
        return read(program, seen), ""
    except ValueError as error:
        return None, str(error)


def _where(task: Known | None, episode: int) -> str:
    """The episode that was looked at."""
    kind = "cartpole, " if isinstance(task, Cartpole) else ""
    return f"test episode {episode} of {kind}{printable(task.name) if task else ''}"


def _is_shown(reading: Reading | None) -> bool:
    """Whether a filter says something about the program, and is small enough to look at."""
    return (
        reading is not None and max(len(reading.state), len(reading.inputs)) <= MOST_SHOWN and words.is_telling(reading)
    )


def _page(
    source: str,
    found: Flow,
    reading: Reading | None,
    said: list[str],
    costs: Costs,
    names: tuple[str, ...] | None,
    folder: Path,
    rough: Rounding | None,
) -> str:
    rows = "".join(f"| {name} | {parameters} | {flops} |\n" for name, parameters, flops in costs)
    parts = [
        f"# {_markdown(source)}\n",
        "\n".join(f"- {sentence}" for sentence in said) + "\n",
        "## The program\n\nIn its readable form. Behind each line stands what it depends on within a step."
        f"{f' {rough}' if rough is not None else ''}\n",
        f"```\n{found.listing()}```\n",
        "![How its numbers flow](flow.svg)\n",
        f"## Cost\n\n| | parameters | FLOPs per step |\n|---|---:|---:|\n{rows}",
    ]
    if reading is not None and _is_shown(reading):
        kind = "exact" if reading.is_exact else "near the path of one episode"
        parts += [f"## As a linear filter ({kind})\n", words.matrices(reading, names), words.sum_form(reading, names)]
        parts.append("![How what it sees counts later](kernel.png)\n" if (folder / "kernel.png").exists() else "")
    return "\n".join(parts)


def _markdown(text: str) -> str:
    """A text that says in Markdown what it says, whatever letters it has: no code, links or tags."""
    return re.sub(r"([\\`*\[\]<>&|!~$#])", r"\\\1", text)


def _everything(found: Flow, reading: Reading | None, said: list[str], costs: Costs) -> dict[str, Any]:
    if found.most_uses > MOST_USES:
        raise ValueError(f"there are more than {MOST_USES} uses of results to list: without --json they are left out")
    lines = [
        {
            "function": line.function,
            "line": line.number,
            "text": line.text,
            "depends on": sorted(found.within[line.function, line.number]),
            "over time on": sorted(found.over_time[line.function, line.number]),
            "uses": sorted(line.uses),
            "carried from": sorted(line.carries),
        }
        for line in found.lines
    ]
    about: dict[str, Any] = {
        "program": str(found.program),
        "lines": lines,
        "remembered": found.remembered,
        "summary": said,
    }
    about["costs"] = [dict(zip(("name", "parameters", "flops"), row, strict=True)) for row in costs]
    if reading is not None:
        matrices = {name: getattr(reading, name).tolist() for name in ("U", "P", "A", "W", "z", "c", "start")}
        values = [[value.real, value.imag] for value in reading.eigenvalues.tolist()]
        about["linear"] = {
            "is_exact": reading.is_exact,
            "is_on_path": reading.is_on_path,
            "state": reading.state,
            "inputs": reading.inputs,
            **matrices,
            "eigenvalues": values,
            "error": words.rms(reading.errors),
            "free error": words.rms(reading.free_errors),
        }
    return about


# ---- trace ----


def _period_table(periods: dict[str, Any]) -> str:
    rows = [
        (phase, name, period.steps, period.likeness) for phase, of in periods.items() for name, period in of.items()
    ]
    return _table_text(["phase", "register", "steps", "likeness"], rows)


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


def _table_text(columns: list[str], rows: list[Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


# ---- ablate ----


def _ablation_table(found: Ablation) -> str:
    rows = [(p.kind, p.function, p.name, p.score, p.completed, found.worth(p)) for p in found.parts]
    return _table_text(["kind", "function", "name", "score without it", "completed", "worth"], rows)


def _print_ablation(found: Ablation, smaller: Smaller, task: Known, options: argparse.Namespace) -> None:
    rows = [
        [
            part.kind if part.function == 0 or part.kind != "line" else f"line of f{part.function - 1}",
            part.name,
            *(f"{part.score:.1f}", f"{part.completed:.0%}", f"{found.worth(part):.1f}"),
        ]
        for part in found.parts
    ]
    columns = ["part", "what", "score without it", task.lasting, "worth"]
    title = f"{printable(options.source)}: {found.score:.1f} over {found.episodes} test episodes, as it is"
    terminal.show_table(title, columns, rows, text=("part", "what"))
    terminal.say(
        f"\nThe smallest program within {options.tolerance:.0%} that leaving out lines one by one gave: "
        f"{smaller.removed} line{'' if smaller.removed == 1 else 's'} fewer, {smaller.score:.1f} on the test episodes "
        f"(whole: {smaller.whole_score:.1f}).\n"
    )
    terminal.say(flow(smaller.program).listing())
