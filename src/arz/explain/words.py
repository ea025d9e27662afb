"""What the analysis of a program shows, in plain words. Each sentence follows from numbers; none guesses a purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arz.complexity import complexity, lstm_complexity, mlp_complexity
from arz.explain.dual import BENDS, DRAWS
from arz.explain.flow import LAST_ACTION, OBSERVATION, RANDOM, Flow
from arz.explain.linear import Reading
from arz.program import Program

Floats = NDArray[np.float64]
NOTHING = 1e-9
"""An error below this share of the action's spread is rounding."""


def costs(program: Program) -> list[tuple[str, int, int]]:
    """Name, parameters and FLOPs per step: of the program, and of the paper's networks for the same task."""
    memory, cost = program.memory, complexity(program)
    sizes = (memory.observations, memory.actions)
    return [
        ("this program", cost.parameters, cost.flops),
        ("MLP of 32 and 32 units", *mlp_complexity(*sizes)),
        ("LSTM of 32 units", *lstm_complexity(*sizes)),
    ]


def sentences(flow: Flow, reading: Reading | None, why: str = "") -> list[str]:
    """What there is to say; `why` there is no reading, if there is none."""
    return [_size(flow.program), *_sources(flow), *_functions(flow), *_filter(reading, why)]


def _size(program: Program) -> str:
    own, mlp, lstm = costs(program)
    lines = _count(sum(len(code) for code in program.functions), "line")
    return (
        f"It has {lines}, {_count(own[1], 'parameter')} and takes {own[2]} FLOPs per step; "
        f"an MLP of the paper's size has {mlp[1]} parameters and takes {mlp[2]} FLOPs, an LSTM {lstm[1]} and {lstm[2]}."
    )


def _sources(flow: Flow) -> list[str]:
    found = []
    if flow.depends(OBSERVATION, over_time=False):
        found.append("Its action depends on the observation of the same step.")
    elif flow.depends(OBSERVATION):
        found.append(
            "Its action does not depend on the observation of the same step, only on earlier ones, through memory."
        )
    else:
        found.append("Its action never depends on the observation: it is open loop.")
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
    calls = [line for line in flow.lines if line.function == 0 and flow.program.lines()[line.number].op.is_call]
    names = [f"f{k}" for k in range(flow.program.cadfs)]
    looking = [line for line in calls if OBSERVATION in flow.over_time[line.function, line.number]]
    return [
        f"It calls {_list(names)} in {_count(len(calls), 'place')}, each on a condition; "
        f"{len(looking)} of these depend, now or through memory, on the observation."
    ]


def _filter(reading: Reading | None, why: str) -> list[str]:
    if reading is None:
        return [f"Nothing is said about a linear form: {why or 'it was not looked for'}."]
    size = _count(len(reading.state), "number")
    if reading.is_exact:
        found = [f"It is exactly a linear filter of the observation and its last action, with {size} of state."]
        return [*found, *_modes(reading)]
    lines = {(function, line) for function, line, reason in reading.reasons if reason in (BENDS, DRAWS)}
    spread, error = spread_of(reading), error_of(reading)
    if reading.is_on_path and error <= NOTHING * spread:
        found = [
            f"On the path of the episode that was looked at, and only there, it is a linear filter with {size} of "
            f"state: no condition changes, and the action is the filter's to rounding."
        ]
        return [*found, *_modes(reading)]
    why = f"{_count(len(lines), 'line')} of it bend" + ("s" if len(lines) == 1 else "")
    if not lines:
        why = "on its path it takes different ways"
    found = [
        f"It is not linear: {why}. Near a typical step of the episode a linear filter with {size} of state gives the "
        f"next action with an error of {error:.2g} (root mean square; the action's own spread is {spread:.2g})."
    ]
    return [*found, *(_modes(reading) if error < 0.1 * spread else [])]


def _modes(reading: Reading) -> list[str]:
    found = []
    for value in reading.eigenvalues:
        size = abs(value)
        if size < NOTHING:
            continue
        if value.imag < -NOTHING:
            continue  # with its twin
        shape = ""
        if abs(value.imag) > NOTHING:
            shape = f", turning once in {2 * math.pi / abs(np.angle(value)):.1f} steps"
        elif value.real < 0:
            shape = ", changing its sign in every step"
        if abs(size - 1) < NOTHING:
            fate = "stays for ever: it adds up what comes in"
        elif size > 1:
            fate = f"doubles in {math.log(2) / math.log(size):.1f} steps, unless feedback holds it"
        else:
            fate = f"fades to half in {math.log(0.5) / math.log(size):.1f} steps"
        found.append(f"{_shown(value)}: {fate}{shape}")
    return [f"Its memory has these modes (eigenvalues of U): {'; '.join(found)}."] if found else []


def _shown(value: complex) -> str:
    if abs(value.imag) <= NOTHING:
        return f"{value.real:.3f}"
    return f"{value.real:.3f} ± {abs(value.imag):.3f}i"


def spread_of(reading: Reading) -> float:
    """How much the actions vary over the steps in which they are finite (root mean square)."""
    if reading.actions is None:
        return 0.0
    finite = reading.actions[np.all(np.isfinite(reading.actions), axis=1)]
    return float(np.sqrt(np.mean(np.var(finite, axis=0)))) if len(finite) else 0.0


def error_of(reading: Reading) -> float:
    """How far the filter's actions are off (root mean square); infinite if that is not known."""
    if reading.errors is None or not len(reading.errors) or not np.all(np.isfinite(reading.errors)):
        return math.inf
    return float(np.sqrt(np.mean(np.square(reading.errors))))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def matrices(reading: Reading, names: Sequence[str] | None = None) -> str:
    """The matrices of a filter as Markdown tables; `names` for the entries of the observation."""
    observed = reading.P.shape[1] - len(reading.A)
    inputs = [*(names or reading.inputs[:observed]), *reading.inputs[observed:]]
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
    closed = ", ".join(_shown(value) for value in reading.closed_eigenvalues)
    blocks.append(f"Eigenvalues of U: {eigenvalues}. With the last action as part of the state: {closed}.\n")
    return "\n".join(blocks)


def sum_form(reading: Reading, names: Sequence[str] | None = None) -> str:
    """How each input counts now, later and in total: the filter as a sum over the past, as a PID controller is one."""
    observed = reading.P.shape[1] - len(reading.A)
    inputs = [*(names or reading.inputs[:observed]), *reading.inputs[observed:]]
    lags = (0, 1, 2, 5, 10, 50)
    kernel = reading.kernel(max(lags) + 1)
    settles = bool(np.all(np.abs(reading.eigenvalues) < 1 - NOTHING))
    total = reading.kernel(1)[0] + reading.A @ reading.U @ _sum_of_powers(reading) if settles else None
    columns = [*(f"after {lag} steps" if lag else "now" for lag in lags), *(["sum over all"] if settles else [])]
    blocks = []
    for k in range(len(reading.A)):
        rows = [
            [kernel[lag][k, j] for lag in lags] + ([total[k, j]] if total is not None else [])
            for j in range(len(inputs))
        ]
        blocks.append(_table("input" if len(reading.A) == 1 else f"action[{k}]", inputs, columns, np.array(rows)))
    head = "action(n) = sum over i of K(n - i) s(i), and what is left of the start; K(n) = A U^n P, and W at n = 0.\n"
    return "\n".join([head, *blocks])


def _sum_of_powers(reading: Reading) -> Floats:
    """(1 - U)^-1 P: all that ever comes in, at the end of a step."""
    return np.asarray(np.linalg.solve(np.eye(len(reading.U)) - reading.U, reading.P))


def _table(corner: str, rows: Sequence[str], columns: Sequence[str], values: Floats) -> str:
    if not len(rows) or not len(columns):
        return f"{corner}: empty\n"
    lines = [[corner, *columns], ["---", *["---:"] * len(columns)]]
    lines += [[name, *(f"{value:.4g}" for value in row)] for name, row in zip(rows, values, strict=True)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _row(values: Floats) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
