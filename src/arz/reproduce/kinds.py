"""How each kind of item is measured, drawn, tabulated and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arz.reproduce import episodes, printed, scores, searches
from arz.reproduce.plan import Claim, Item
from arz.reproduce.table import Rows
from arz.reproduce.verdict import NOT_CONFIRMED, NOT_TESTABLE, Finding, untestable
from arz.reproduce.work import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Kind:
    """From runs to rows; from rows to everything else."""

    measure: Callable[[Work], Rows]
    draw: Callable[[Item, Rows], Figure]
    tables: Callable[[Item, Rows], str]
    rules: Mapping[str, Callable[..., Finding]]
    """By the names that claims call them by."""


def _named(*rules: Callable[..., Finding]) -> dict[str, Callable[..., Finding]]:
    return {rule.__name__: rule for rule in rules}


ITEM_KINDS = {
    "scores": Kind(
        scores.measure,
        scores.draw,
        scores.tables,
        _named(scores.reaches, scores.stays_below, scores.is_better, scores.is_only, scores.has_best_run),
    ),
    "progress": Kind(
        searches.measure_progress,
        searches.draw_progress,
        searches.progress_tables,
        _named(searches.is_faster, searches.has_best, searches.exceeds),
    ),
    "fronts": Kind(searches.measure_fronts, searches.draw_fronts, searches.front_tables, _named(searches.is_varied)),
    "constraint": Kind(
        searches.measure_constraint,
        searches.draw_constraint,
        searches.constraint_tables,
        _named(searches.eliminates, searches.is_no_loss),
    ),
    "trajectories": Kind(
        episodes.measure_trajectories,
        episodes.draw_trajectories,
        episodes.trajectory_tables,
        _named(episodes.stays_up, episodes.falls),
    ),
    "states": Kind(
        episodes.measure_states,
        episodes.draw_states,
        episodes.state_tables,
        _named(episodes.has_rhythm, episodes.is_disrupted, episodes.are_different),
    ),
    "registers": Kind(
        episodes.measure_registers,
        episodes.draw_registers,
        episodes.register_tables,
        _named(episodes.keeps_rhythm, episodes.is_shaken),
    ),
    "actions": Kind(
        episodes.measure_actions,
        episodes.draw_actions,
        episodes.action_tables,
        _named(episodes.acts_at_once, episodes.calls_change),
    ),
    "costs": Kind(
        printed.measure_costs,
        printed.draw_costs,
        printed.cost_tables,
        _named(printed.are_as_printed, printed.have_factors, printed.are_short),
    ),
    "linear": Kind(
        printed.measure_linear,
        printed.draw_linear,
        printed.linear_tables,
        _named(printed.adapts, printed.is_exact, printed.agree, printed.have_eigenvalues),
    ),
    "schedules": Kind(
        printed.measure_schedules,
        printed.draw_schedules,
        printed.schedule_tables,
        _named(printed.are_in_time, printed.are_in_range, printed.are_independent),
    ),
}

WITHOUT_RUNS = {
    "are_as_printed",
    "adapts",
    "is_exact",
    "agree",
    "have_eigenvalues",
    "are_in_time",
    "are_in_range",
    "are_independent",
}
"""Rules that do not depend on how long anything ran: they hold at every scale."""


def judge(item: Item, claim: Claim, scale: str, rows: Rows) -> Finding:
    """What the rows of an item say about one of its claims."""
    if scale == "smoke" and claim.check not in WITHOUT_RUNS:
        return untestable("a smoke run only shows that the command works: --scale hour or more gives numbers")
    found = ITEM_KINDS[item.kind].rules[claim.check](rows, **claim.options)
    if found.verdict == NOT_CONFIRMED and not claim.refutable:
        return Finding(NOT_TESTABLE, found.ours, f"{found.why}; what is run here could confirm it, but not refute it")
    return found
