"""What the analysis of a program shows, in plain words. Each sentence follows from numbers; none guesses a purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from arz.complexity import complexity, lstm_complexity, mlp_complexity
from arz.explain.dual import BENDS, DRAWS
from arz.explain.flow import LAST_ACTION, OBSERVATION, RANDOM, Flow
from arz.explain.linear import Reading
from arz.program import Program
from arz.typing import Floats

NOTHING = 1e-9
"""An error below this share is rounding."""
TELLING = 0.1
"""A filter whose error is below this share of the action's spread describes a program."""
LAGS = (0, 1, 2, 5, 10, 50)
"""The steps after which the weights of inputs are told."""


def costs(program: Program) -> list[tuple[str, int, int]]:
    """Name, parameters and FLOPs per step: of the program, and of the paper's networks for the same task.

    The program is the whole one: its constants count as it has them, whatever is folded in its form for reading.
    """
    memory, cost = program.memory, complexity(program)
    sizes = (memory.observations, memory.actions)
    return [
        ("this program", cost.parameters, cost.flops),
        ("MLP of 32 and 32 units", *mlp_complexity(*sizes)),
        ("LSTM of 32 units", *lstm_complexity(*sizes)),
    ]


def sentences(
    flow: Flow, reading: Reading | None, why: str = "", where: str = "an episode", whole: Program | None = None
) -> list[str]:
    """What there is to say.

    Args:
        flow: of the program, in its form for reading.
        reading: the program as a filter, if there is one,
        why: and why not, if there is none.
        where: the episode that was looked at for it.
        whole: the program itself, whose cost is told; that of the flow by default.
    """
    return [
        _size(flow.program, whole or flow.program),
        *_sources(flow),
        *_functions(flow),
        *_filter(reading, why, where),
    ]


def _size(listed: Program, whole: Program) -> str:
    own, mlp, lstm = costs(whole)
    count, shown = complexity(whole).lines, sum(len(code) for code in listed.functions)
    lines = _count(count, "line") + ("" if count == shown else f" ({shown} as listed, with constants folded)")
    return (
        f"It has {lines}, {_count(own[1], 'parameter')} and takes {own[2]} FLOPs per step; "
        f"an MLP of the paper's size has {mlp[1]} parameters and takes {mlp[2]} FLOPs, an LSTM {lstm[1]} and {lstm[2]}."
    )


def _sources(flow: Flow) -> list[str]:
    found = []
    if flow.depends(OBSERVATION, over_time=False):
        found.append("Its action is computed from the observation of the same step.")
    elif flow.depends(OBSERVATION):
        found.append(
            "Its action is computed from earlier observations, through memory; that of the same step has no part in it."
        )
    else:
        found.append("No observation has any part in its action: it is open loop.")
    if not flow.program.memory.stateful:
        found.append("It remembers nothing: every step begins with the same memory.")
    elif flow.remembered:
        found.append(f"From step to step it remembers {_list(flow.remembered)}.")
    else:
        found.append("No register carries a number from step to step.")
    if flow.may_repeat:
        found.append("Its action may stay, all or in part, as it was in the step before.")
    elif flow.depends(LAST_ACTION):
        found.append("It uses its last action.")
    if flow.depends(RANDOM):
        found.append("It draws random numbers.")
    return found


def _functions(flow: Flow) -> list[str]:
    if not flow.program.cadfs:
        return []
    names = [f"f{k}" for k in range(flow.program.cadfs)]
    looking = [line for line in flow.calls if OBSERVATION in flow.condition_sources(line)]
    return [
        f"It calls {_list(names)} in {_count(len(flow.calls), 'place')}, each on a condition; "
        f"the observation of the same step has a part in {len(looking)} of these conditions."
    ]


def _filter(reading: Reading | None, why: str, where: str) -> list[str]:
    if reading is None:
        return [f"Nothing is said about a linear form: {why or 'it was not looked for'}."]
    size = f"a linear filter with {_count(len(reading.state), 'number')} of state"
    size = size if reading.state else "a linear function"
    if reading.is_exact:
        return [
            f"It is exactly {size} of {_inputs(reading)}.",
            *_modes(reading),
        ]
    if is_on_path(reading):
        found = [
            f"In {where}, which was looked at, every step of it is that of {size}, to rounding; where it takes other "
            "ways (conditions, absolute values and the like), it is another."
        ]
        return [*found, *_modes(reading)]
    lines = {(function, line) for function, line, reason in reading.reasons if reason in (BENDS, DRAWS)}
    why = f"{_count(len(lines), 'line')} of it bend" + ("s" if len(lines) == 1 else "")
    if not lines:
        why = "it takes different ways"
    ahead, free = rms(reading.errors), rms(reading.free_errors)
    figures = (
        f"one step ahead its action is off by {ahead:.2g}, on its own all the way by {free:.2g} "
        f"(root mean square; the action's own spread is {spread_of(reading):.2g})"
    )
    if not is_telling(reading):
        return [f"It is not linear: {why}. Nor is {size}, as it is near a typical step of {where}, like it: {figures}."]
    found = [f"It is not linear: {why}. But near a typical step of {where} it is like {size}: {figures}."]
    return [*found, *_modes(reading)]


def _inputs(reading: Reading) -> str:
    """What the filter is one of."""
    matters = np.any(reading.P != 0, axis=0) | np.any(reading.W != 0, axis=0)
    seen, last = matters[: reading.observed], matters[reading.observed :]
    parts = [name for name, is_one in (("the observation", seen), ("its last action", last)) if np.any(is_one)]
    return _list(parts) if parts else "nothing: its action follows from its start"


def is_on_path(reading: Reading) -> bool:
    """Whether every step of the episode, with all its state, is the filter's to rounding."""
    is_same = rms(reading.errors) <= NOTHING * spread_of(reading) and reading.state_error <= NOTHING
    return reading.is_on_path and is_same


def is_telling(reading: Reading) -> bool:
    """Whether the filter says something about the program: on its own it follows the program through the episode."""
    return reading.is_exact or is_on_path(reading) or rms(reading.free_errors) < TELLING * spread_of(reading)


def _modes(reading: Reading) -> list[str]:
    found = []
    values = reading.closed.eigenvalues if reading.uses_last_action else reading.eigenvalues
    for value in values:
        size = abs(value)
        if size < NOTHING or value.imag < -NOTHING:  # with its twin
            continue
        shape = ""
        if abs(value.imag) > NOTHING:
            shape = f", turning once in {2 * math.pi / abs(np.angle(value)):.1f} steps"
        elif value.real < 0:
            shape = ", changing its sign in every step"
        if abs(size - 1) < NOTHING:
            is_alone = np.sum(np.abs(values - value) < 1e-6) == 1
            fate = "stays for ever" if is_alone else "stays for ever, or grows slowly, as there are several alike"
        elif size > 1:
            fate = f"doubles in {math.log(2) / math.log(size):.1f} steps, unless what it sees holds it"
        else:
            fate = f"fades to half in {math.log(0.5) / math.log(size):.1f} steps"
        found.append(f"{_shown(value)}: {fate}{shape}")
    what = "Its state and its last action together have" if reading.uses_last_action else "Its state has"
    return [f"{what} these modes (eigenvalues): {'; '.join(found)}."] if found else []


def _shown(value: complex) -> str:
    if abs(value.imag) <= NOTHING:
        return f"{round(value.real, 3) + 0.0:.3f}"  # never -0.000
    return f"{value.real:.3f} ± {abs(value.imag):.3f}i"


def spread_of(reading: Reading) -> float:
    """How much the actions vary over the steps in which they are finite (root mean square)."""
    if reading.actions is None:
        return 0.0
    finite = reading.actions[np.all(np.isfinite(reading.actions), axis=1)]
    return float(np.sqrt(np.mean(np.var(finite, axis=0)))) if len(finite) else 0.0


def rms(errors: Floats | None) -> float:
    """The root mean square; infinite if it is not known."""
    if errors is None or not len(errors) or not np.all(np.isfinite(errors)):
        return math.inf
    return float(np.sqrt(np.mean(np.square(errors))))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def matrices(reading: Reading, names: Sequence[str] | None = None) -> str:
    """The matrices of a filter as Markdown tables; `names` for the entries of the observation."""
    inputs = [*(names or reading.inputs[: reading.observed]), *reading.inputs[reading.observed :]]
    actions = ["action"] if len(reading.A) == 1 else [f"action[{k}]" for k in range(len(reading.A))]
    state = list(reading.state)
    blocks = [
        "Z' = U Z + P s + z and action = A Z' + W s + c, where Z is the state, s the input.\n",
        _table("U", state, state, reading.U),
        _table("P", state, inputs, reading.P),
        _table("A", actions, state, reading.A),
        _table("W", actions, inputs, reading.W),
    ]
    if np.any(reading.z != 0) or np.any(reading.c != 0):
        blocks.append(f"z = {_row(reading.z)}, c = {_row(reading.c)}\n")
    eigenvalues = ", ".join(_shown(value) for value in reading.eigenvalues) or "none"
    closed = ", ".join(_shown(value) for value in reading.closed.eigenvalues)
    blocks.append(f"Eigenvalues of U: {eigenvalues}. With the last action as part of the state: {closed}.\n")
    return "\n".join(blocks)


def sum_form(reading: Reading, names: Sequence[str] | None = None) -> str:
    """How each input counts now, later and in total: the filter as a sum over the past, as a PID controller is one."""
    seen = list(names or reading.inputs[: reading.observed])
    closed, last = reading.closed, reading.inputs[reading.observed :]
    blocks = [
        "As a sum over all that was seen, action(n) = sum over i of K(n - i) observation(i), and what the start and "
        "constants add:\n",
        *_weights(closed.kernel(max(LAGS) + 1), seen, closed.total),
    ]
    if reading.uses_last_action:
        blocks += [
            "The paper's form takes the last action as one more input s, action(n) = sum over i of K(n - i) s(i), with "
            "K(n) = A U^n P, and W at n = 0:\n",
            *_weights(reading.kernel(max(LAGS) + 1), [*seen, *last], None),
        ]
    return "\n".join(blocks)


def _weights(kernel: Floats, inputs: Sequence[str], total: Floats | None) -> list[str]:
    """A table for each action; `total` is the weight of what stays for ever."""
    columns = [
        "now",
        *(f"after {_count(lag, 'step')}" for lag in LAGS[1:]),
        *(["all together"] if total is not None else []),
    ]
    found = []
    for k in range(kernel.shape[1]):
        rows = [kernel[list(LAGS), k].T] + ([total[k][:, None]] if total is not None else [])
        found.append(_table("input" if kernel.shape[1] == 1 else f"action[{k}]", inputs, columns, np.hstack(rows)))
    return found


def _table(corner: str, rows: Sequence[str], columns: Sequence[str], values: Floats) -> str:
    if not len(rows) or not len(columns):
        return f"{corner}: empty\n"
    lines = [[corner, *columns], ["---", *["---:"] * len(columns)]]
    lines += [[name, *(f"{value:.4g}" for value in row)] for name, row in zip(rows, values, strict=True)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _row(values: Floats) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
