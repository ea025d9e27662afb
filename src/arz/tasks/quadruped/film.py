"""What happened in an episode of the quadruped: a film of it, and a drawing over time, with the break marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arz.plotting.film import kind_of, write_film
from arz.plotting.style import BLACK, BLUE, GREY, ORANGE, VERMILION, new_figure, plain
from arz.tasks.quadruped.rendering import SIZE, Camera, play
from arz.tasks.quadruped.task import LEGS, NUMBERS, STATE, STEP
from arz.typing import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SMALL = (400, 260)
"""The size of the pictures of several episodes side by side."""


def length(rows: Record) -> int:
    """How many steps the episode lasted."""
    return int(np.count_nonzero(~np.isnan(rows["reward"])))


def broken(rows: Record) -> tuple[str, int] | None:
    """Which leg broke, and at which step; nothing if none did."""
    for leg in LEGS:
        steps = np.flatnonzero(rows[f"{leg} works"] == 0.0)
        if len(steps):
            return leg, int(steps[0])
    return None


def film(
    episodes: Sequence[Record],
    path: str | Path,
    *,
    every: int = 4,
    title: str = "",
    endings: Sequence[str] = (),
    advance: Callable[[int, int], None] | None = None,
) -> None:
    """Writes a film of an episode as GIF or MP4, or of several side by side in two columns; a broken leg is red.

    Args:
        episodes: the record of each: name -> [step], NaN after the end.
        path: where to.
        every: how many steps there are from picture to picture; 4 gives 25 pictures per second.
        title: shown at the beginning of the line of words.
        endings: how each episode ended, shown from its end on.
        advance: is told after each picture how many are done, and how many there will be.

    Raises:
        ValueError: the suffix or the folder is wrong, MP4 needs an extra, or MuJoCo is not there.
    """
    path = Path(path)
    kind_of(path, ("gif", "mp4"), "film")
    last = max(map(length, episodes)) - 1
    steps = [*range(0, last, every), last]
    camera = Camera(SMALL if len(episodes) > 1 else SIZE)

    def scene(number: int, step: int) -> NDArray[np.uint8]:
        rows, found = episodes[number], broken(episodes[number])
        now = min(step, length(rows) - 1)
        leg = found[0] if found is not None and now >= found[1] else ""
        words = [title, f"{now * STEP:4.1f} s", f"return {np.sum(rows['reward'][: now + 1]):.0f}"]
        words += [f"{leg} is broken" if leg else "", endings[number] if endings and now == length(rows) - 1 else ""]
        state = np.array([rows[name][now] for name in STATE])
        return camera.picture(state, leg, "   ".join(word for word in words if word))

    def picture(step: int) -> NDArray[np.uint8]:
        scenes = [scene(number, step) for number in range(len(episodes))]
        if len(scenes) == 1:
            return scenes[0]
        scenes += [np.zeros_like(scenes[0])] * (len(scenes) % 2)
        return np.concatenate([np.concatenate(scenes[n : n + 2], axis=1) for n in range(0, len(scenes), 2)])

    first_break = min((found[1] for found in map(broken, episodes) if found is not None), default=last)
    after = [step for step in steps if step >= first_break]
    samples = [*steps[:: max(1, len(steps) // 4)], *after[:: max(1, len(after) // 4)], last]
    try:
        write_film(path, steps, picture, samples, 1 / (STEP * every), advance)
    finally:
        camera.close()


def view(rows: Record) -> None:
    """Plays an episode in MuJoCo's interactive viewer until it is closed."""
    leg, since = broken(rows) or ("", 0)
    states = np.stack([rows[name][: length(rows)] for name in STATE], axis=1)
    play(states, leg, since, STEP)


def walk_figure(rows: Record, title: str, *, ending: str = "") -> Figure:
    """One episode over time: speed, way, height, and what each joint is told, with the break marked."""
    steps, total, found = length(rows), len(rows["reward"]), broken(rows)
    time = np.arange(steps) * STEP
    figure = new_figure(7.2, title)
    speed, way, pose, action = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": [1.2, 1, 1, 2.4]})
    speed.plot(time, rows["velocity x"][:steps], color=GREY, linewidth=0.7, label="at each step")
    speed.plot(time, _smooth(rows["velocity x"][:steps]), color=BLACK, linewidth=1.6, label="over 0.5 s")
    speed.axhline(1.0, color=BLUE, linestyle="--", linewidth=1, label="wanted")
    plain(speed, "forward\nspeed (m/s)")
    way.plot(time, rows["position x"][:steps], color=BLACK, linewidth=1.6, label="forward")
    way.plot(time, rows["position y"][:steps], color=ORANGE, linewidth=1.6, label="aside (left)")
    plain(way, "way (m)")
    pose.plot(time, rows["position z"][:steps], color=BLACK, linewidth=1.4, label="height (m)")
    upright = 1 - 2 * (rows["quaternion x"][:steps] ** 2 + rows["quaternion y"][:steps] ** 2)
    pose.plot(time, upright, color=ORANGE, linewidth=1.4, label="upright (1 is level)")
    pose.set_ylim(0, 1.05)
    plain(pose, "trunk")
    names = [f"{leg} {joint}" for leg in LEGS for joint in NUMBERS["joint_names"]]
    most = NUMBERS["action_limit"]
    given = np.stack([rows[f"{name} action"][:steps] for name in names])
    told = np.clip(np.where(np.isfinite(given), given, 0.0), -most, most)  # as the motors take it
    extent = (0.0, steps * STEP, len(names) - 0.5, -0.5)
    shown = action.imshow(
        told, aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most, extent=extent, interpolation="none"
    )
    action.set_yticks(range(len(names)), names, fontsize=8)
    figure.colorbar(shown, ax=action, label="action (rad)", pad=0.01)
    action.set_xlabel("time (s)")
    if found is not None:
        for panel in (speed, way, pose, action):
            panel.axvline(found[1] * STEP, color=VERMILION, linewidth=1.8)
        speed.text(found[1] * STEP, 1.04, f" {found[0]} breaks", color=VERMILION, transform=speed.get_xaxis_transform())
    if steps < total:
        words = ending or "The episode ended."
        action.text(steps * STEP, 1.02, words, ha="right", va="bottom", transform=action.get_xaxis_transform())
    action.set_xlim(0, steps * STEP)
    return figure


def _smooth(values: NDArray[np.float64], window: int = 50) -> NDArray[np.float64]:
    """The mean over the steps around each."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    at = np.arange(len(values))
    low, high = np.maximum(at - window // 2, 0), np.minimum(at + window // 2, len(values) - 1) + 1
    return np.asarray((sums[high] - sums[low]) / (high - low))
