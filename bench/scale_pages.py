"""What was measured of how cost grows, as tables with fitted exponents and as a figure (`bench.scale`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.plotting import style
from arz.reproduce.groups.pages import with_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "results" / "scale" / "measured.json"
FIGURE = ROOT / "docs" / "images" / "scale.png"
PAGE = ROOT / "docs" / "speed.md"

PARTS = ("rollouts", "fingerprints", "variation", "lineage", "rest")
"""Of the time of a search; the rest is Python: tournaments, who survives, the cache, tuning..."""
SCALES = ("rollouts", "fingerprints", "variation")
"""...and these are shared out among threads."""
CORES = (4, 8, 16, 32, 64)
FLAT = 1.5
"""While it costs less than so many times as much as the least size, a sweep is flat."""
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.VERMILION, style.PURPLE)
MARKS = "osD^v"


# ---- what follows from the numbers ----


def slope(sizes: Sequence[float], costs: NDArray[np.float64]) -> float:
    """The exponent over the upper half of a sweep: least squares of the logarithms."""
    upper = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[upper:]), np.log(costs[upper:]), 1)[0])


def exponent(sizes: Sequence[float], rounds: Any) -> str:
    """That of the best of all rounds, and in brackets its range over rounds."""
    rows = np.asarray(rounds, np.float64)
    each = [slope(sizes, row) for row in rows]
    best, least, most = (round(value, 2) + 0.0 for value in (slope(sizes, rows.min(axis=0)), min(each), max(each)))
    return f"{best:.2f} ({least:.2f} to {most:.2f})"


def flat_until(sizes: Sequence[int], rounds: Any) -> int:
    """The largest size up to which the cost is about that of the least."""
    costs = np.asarray(rounds, np.float64).min(axis=0)
    above = np.flatnonzero(costs > FLAT * costs[0])
    return sizes[int(above[0]) - 1 if len(above) else -1]


def shown(value: float) -> str:
    """A number with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; what is not in the first column is set to the right."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sweep_table(found: Any) -> str:
    """A row for each sweep of a program's cost."""
    rows = []
    for each in found["sweeps"]:
        sizes, best = each["sizes"], np.min(each["microseconds"], axis=0)
        rows.append(
            [
                f"{each['cost']}, against {each['size']}",
                f"{sizes[0]} to {sizes[-1]}",
                f"{shown(best[0])} to {shown(best[-1])}",
                exponent(sizes, each["microseconds"]),
                str(flat_until(sizes, each["microseconds"])),
            ]
        )
    return table(("a program's cost", "sizes", "us", "exponent (range over rounds)", "flat up to"), rows)


def driver(parts: dict[str, float]) -> float:
    """What an evaluation costs beside its rollouts, checkpoints left out."""
    return sum(parts[part] for part in PARTS if part != "rollouts")


def least_parts(each: Any) -> list[dict[str, float]]:
    """What each part took in its best round, at each size: every round does the same work."""
    return [
        {part: min(row[part] for row in column) for part in (*PARTS, "checkpoint")}
        for column in zip(*each["rounds"], strict=True)
    ]


def search_table(found: Any) -> str:
    """A row for each size, and the exponent of the driver under each sweep."""
    rows = []
    for each in found["searches"]:
        for size, parts in zip(each["sizes"], least_parts(each), strict=True):
            spent = [shown(parts[part]) for part in PARTS]
            rows.append([f"{each['size']} {size:,}, {each['fixed']}", *spent, shown(parts["checkpoint"])])
        of_parts = [exponent(each["sizes"], np.maximum(_column(each, part), 1e-3)) for part in (*PARTS, "checkpoint")]
        rows.append([f"exponent of {each['size']} (range over rounds)", *of_parts])
    return table(("us for each evaluation", *PARTS, "a checkpoint, ms"), rows)


def _column(each: Any, part: str) -> NDArray[np.float64]:
    return np.array([[parts[part] for parts in row] for row in each["rounds"]])


def amdahl(serial: float, cores: int) -> float:
    """How much faster so many cores can be, if this share of the time on one is serial."""
    return 1 / (serial + (1 - serial) / cores)


def best_round(each: Any) -> int:
    """The one in which one thread took the least."""
    return int(np.argmin([row[0] for row in each["seconds"]]))


def serial_share(each: Any) -> float:
    """The share of the time of one thread that more of them do not make shorter."""
    best = best_round(each)
    return float(each["serial"][best] / each["seconds"][best][0])


def speed_ups(each: Any) -> list[float]:
    """With each number of threads, of the best rounds."""
    best = np.min(each["seconds"], axis=0)
    return [float(best[0] / value) for value in best]


def thread_table(found: Any) -> str:
    """Measured speed-ups, and Amdahl's bounds where the serial part was measured."""
    counts, rows = found["threads"][0]["threads"], []
    for each in found["threads"]:
        measured = [f"{value:.2f}x" for value in speed_ups(each)[1:]]
        if each["serial"] is None:
            rows.append([each["what"], *measured, *[""] * (3 + len(CORES))])
        else:
            share = serial_share(each)
            begun = f"{each['beginning'][best_round(each)]:.1f}"
            bounds = [f"{amdahl(share, cores):.1f}x" for cores in (counts[-1], *CORES)]
            rows.append([each["what"], *measured, f"{share:.1%}".replace("%", " %"), *bounds, begun])
    head = [f"{count} threads, measured" for count in counts[1:]]
    bound = [f"bound: {counts[-1]}", *(f"{cores} cores" for cores in CORES)]
    return table(("", *head, "serial part", *bound, "the first batch, s"), rows)


def growths(samples: Any, of: str, against: str) -> tuple[float, float]:
    """How much one grows with the other, in the first half of a run and in the second."""
    values = [np.array([sample[name] for sample in samples], np.float64) for name in (against, of)]
    half = len(samples) // 2
    first, second = (_rate(*(column[part] for column in values)) for part in (slice(0, half + 1), slice(half, None)))
    return first, second


def _rate(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    return float(np.polyfit(sizes, values, 1)[0]) if np.ptp(sizes) else 0.0


def run_table(found: Any) -> str:
    """A row for each run."""
    rows = []
    for each in found["runs"]:
        samples = each["samples"]
        last = samples[-1]
        pace = last["evaluations"] / last["seconds"] * 3600 / 1e6
        disk = [f"{value:.1f}" for value in growths(samples, "disk", "evaluations")]  # bytes each are MB per million
        memory = [f"{round(value * 3600 / 1e6) + 0:,}" for value in growths(samples, "memory", "seconds")]
        rows.append(
            [
                f"`{each['preset']}`",
                f"{last['seconds']:.0f}",
                shown(pace),
                f"{last['disk'] / 1e6:.1f}",
                " / ".join(disk),
                f"{last['memory'] / 1e6:.0f}",
                " / ".join(memory),
            ]
        )
    head = (
        "one thread",
        "s",
        "million evaluations per hour",
        "run.sqlite at the end, MB",
        "its growth, MB per million evaluations: first / second half",
        "memory at the end, MB",
        "its growth, MB per hour: first / second half",
    )
    return table(head, rows)


def tables(found: Any) -> str:
    """All that stands between the marks of the page."""
    machine = found["machine"]
    about = f"{machine['processor']}, {machine['threads']} threads, build {machine['instruction_set']}"
    note = f"Measured on: {about}; load before it {machine['load']}."
    if found["is_quick"]:
        note += " **A quick try on a machine that was busy: these are not the figures to go by.**"
    return "\n".join([f"{note}\n", sweep_table(found), search_table(found), thread_table(found), run_table(found)])


# ---- the figure ----


def draw() -> None:
    """Draws the figure, prints the tables and puts them on the page."""
    found = json.loads(MEASURED.read_text())
    figure = style.new_figure(9.0, "How cost grows")
    panels = figure.subplots(3, 2)
    _draw_sweeps(panels[0, 0], found, "episodes")
    _draw_sweeps(panels[0, 1], found, "lines")
    _draw_sweeps(panels[1, 0], found, "observation size")
    _draw_searches(panels[1, 1], found)
    _draw_threads(panels[2, 0], found)
    _draw_runs(panels[2, 1], found)
    for panel in panels.ravel():
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(color=style.GREY, alpha=0.25, linewidth=0.6)
        panel.legend(frameon=False, fontsize=8, loc="upper left" if panel is panels[1, 1] else "best")
    FIGURE.parent.mkdir(exist_ok=True)
    style.save(figure, FIGURE)
    text = tables(found)
    print(text)
    PAGE.write_text(with_text(PAGE.read_text(), "scale", text))


def _draw_sweeps(panel: Axes, found: Any, size: str) -> None:
    for n, each in enumerate(each for each in found["sweeps"] if each["size"] == size):
        best = np.min(each["microseconds"], axis=0)
        panel.plot(each["sizes"], best, color=COLOURS[n], marker=MARKS[n], markersize=4, label=each["cost"])
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:.0f}")
    panel.set(yscale="log", xlabel=size, ylabel="us per program")


def _draw_searches(panel: Axes, found: Any) -> None:
    for n, each in enumerate(found["searches"]):
        best = least_parts(each)
        label = f"{each['size']} ({each['fixed']})"
        lines = (("driver", [driver(parts) for parts in best], "-"), ("rollouts", [p["rollouts"] for p in best], ":"))
        for name, values, line in lines:
            panel.plot(each["sizes"], values, line, color=COLOURS[n], marker=MARKS[n], ms=4, label=f"{name}: {label}")
    panel.set(xscale="log", yscale="log", xlabel="population, or lag", ylabel="us per evaluation")
    panel.set_ylim(top=10 * panel.get_ylim()[1])  # room for the legend


def _draw_threads(panel: Axes, found: Any) -> None:
    cores = 2 ** np.linspace(0, 6, 61)
    panel.plot(cores, cores, color=style.GREY, linewidth=0.8, linestyle="--")
    for n, each in enumerate(each for each in found["threads"] if each["serial"] is not None):
        share = serial_share(each)
        panel.plot(cores, [amdahl(share, count) for count in cores], color=COLOURS[n], label=each["what"])
        panel.plot(each["threads"], speed_ups(each), MARKS[n], color=COLOURS[n], ms=5)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log", base=2)
    panel.xaxis.set_major_formatter("{x:.0f}")
    panel.yaxis.set_major_formatter("{x:g}")
    panel.set(xlabel="cores (points: measured; lines: bound)", ylabel="speed-up")


def _draw_runs(panel: Axes, found: Any) -> None:
    for n, each in enumerate(found["runs"]):
        minutes = [sample["seconds"] / 60 for sample in each["samples"]]
        for name, line in (("disk", "-"), ("memory", ":")):
            values = [sample[name] / 1e6 for sample in each["samples"]]
            panel.plot(minutes, values, line, color=COLOURS[n], label=each["preset"] if name == "disk" else None)
    panel.set(yscale="log", xlabel="minutes (solid: run.sqlite; dotted: memory)", ylabel="MB")
