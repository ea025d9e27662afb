"""What happened in an episode: when its parameters changed, and a film of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import degrees
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arz.plotting.film import kind_of, write_film
from arz.tasks.cartpole.task import STEP
from arz.typing import Record

STEPS_PER_SECOND = round(1 / STEP)
RADIAN = degrees(1.0)
SIZE = (480, 300)
TITLE_SHARE = 0.96
"""Of the width, a title has at most this."""


@dataclass(frozen=True)
class Parameter:
    """How a parameter that may change is spoken of."""

    name: str
    while_changing: tuple[str, str]
    """What is happening while it falls, and while it rises."""
    form: str
    """A value of it, in words, in the unit shown."""
    unit: str
    ticks: tuple[float, ...]
    """Of an axis of it, in the unit shown: its range, and its nominal value."""
    scale: float = 1.0
    """From the unit of the record to the unit shown."""

    def value(self, value: float) -> str:
        """A value in words: `138%`."""
        shown = self.scale * value
        return self.form.format(0.0 if abs(shown) < 0.0005 else shown)  # no "-0.0"


PARAMETERS = {
    "force": Parameter(
        "force", ("motor weakens", "motor strengthens"), "{:.0f}%", "% of nominal", (0.0, 100.0, 200.0), 100.0
    ),
    "damping": Parameter("damping", ("damping falls", "damping rises"), "{:.3f}", "N s/m", (0.0, 0.15)),
    "track_angle": Parameter("track angle", ("track tilts",) * 2, "{:.1f}°", "degrees", (-15.0, 0.0, 15.0), RADIAN),
    "noise": Parameter("noise mean", ("noise drifts",) * 2, "{:+.2f}", "of action", (-2.0, 0.0, 2.0)),
}
"""What may change in an episode, in the order in which it is shown."""


def length(rows: Record) -> int:
    """How many steps the episode lasted.

    Raises:
        ValueError: this is not the record of one episode.
    """
    needed = {"x", "theta", "theta_vertical", "action", "applied", "reward", *PARAMETERS}
    if missing := sorted(needed - set(rows)):
        raise ValueError(f"the record of an episode needs {', '.join(missing)}; take it from arz.evaluate.record.")
    shapes = {np.shape(rows[name]) for name in needed}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ValueError(
            f"expected arrays [step] of one episode, equally long, got shapes {', '.join(map(str, sorted(shapes)))}; "
            "take one episode out of the record: {name: values[episode] for name, values in rows.items()}."
        )
    count = int((~np.isnan(rows["x"])).sum())  # an action may be NaN in a step that took place, a position not
    if count == 0:
        raise ValueError("the record of the episode has no step; expected at least one.")
    return count


def changing(rows: Record) -> dict[str, tuple[int, int]]:
    """For each parameter that changes in this episode, the first and the last step at which it has a new value.

    Both are the same for a sudden change.
    """
    steps = length(rows)
    found = {}
    for name in PARAMETERS:
        new = np.flatnonzero(np.diff(rows[name][:steps])) + 1
        if new.size:
            found[name] = (int(new[0]), int(new[-1]))
    return found


def film(
    rows: Record,
    path: str | Path,
    *,
    x_limit: float,
    every: int = 3,
    title: str = "",
    ending: str = "",
    advance: Callable[[int, int], None] | None = None,
) -> None:
    """Writes a film of an episode as GIF or MP4, by the suffix of the path; all of it or nothing.

    It runs in real time and stands still at the end for a moment.

    Args:
        rows: the record of one episode: name -> [step], NaN after the end.
        path: where to.
        x_limit: how far the cart may go from the middle (m).
        every: how many steps there are from picture to picture; 3 gives 20 pictures per second.
        title: on a line of its own at the top; none if empty.
        ending: how the episode ended, shown at the end.
        advance: is told after each picture how many are done, and how many there will be.

    Raises:
        ValueError: the suffix or the folder is wrong, this is not the record of one episode, or MP4 needs an extra.
    """
    path = Path(path)
    kind_of(path, ("gif", "mp4"), "film")
    if every < 1:
        raise ValueError(f"every must be at least 1, a picture of each step, not {every}.")
    steps = [*range(0, length(rows) - 1, every), length(rows) - 1]

    def picture(step: int) -> NDArray[np.uint8]:
        return _picture(rows, step, x_limit, title, ending)

    write_film(path, steps, picture, _samples(rows, steps), STEPS_PER_SECOND / every, advance)


def caption(rows: Record, step: int, ending: str = "") -> tuple[str, bool]:
    """What to say about an episode at the start of a step, and whether something is changing.

    The last step stands for the end of the episode and has the whole return. A sudden change counts for a second.
    """
    is_last = step == length(rows) - 1
    passed = step + 1 if is_last else step
    words = [f"{passed / STEPS_PER_SECOND:4.1f} s", f"return {np.sum(rows['reward'][:passed]):.0f}"]
    is_changing = False
    for name, (first, last) in changing(rows).items():
        shown, values = PARAMETERS[name], rows[name]
        if first <= step < (first + STEPS_PER_SECOND if first == last else last):
            words.append(shown.while_changing[int(values[last] > values[first - 1])])
            is_changing = True
        elif step >= last:
            words.append(f"{shown.name} {shown.value(values[last])}")
    if is_last and ending:
        words[2:] = [ending]  # there is no room for both
    return "   ".join(words), is_changing


def _picture(rows: Record, step: int, x_limit: float, title: str, ending: str) -> NDArray[np.uint8]:
    from PIL import Image, ImageDraw, ImageFont

    from arz.tasks.cartpole.drawing import frame

    width, height = SIZE
    band = height // 12 if title else 0
    x, theta, track_angle = (float(rows[name][step]) for name in ("x", "theta", "track_angle"))
    push = float(np.nan_to_num(rows["applied"][step]) * rows["force"][step])
    words, changed = caption(rows, step, ending)
    size = (width, height - band)
    drawn = frame(x, theta, track_angle, x_limit, caption=words, force=push, changed=changed, size=size)
    if not title:
        return drawn
    head = Image.new("RGB", (width, band), "white")
    font = ImageFont.load_default(0.62 * band)
    wide = font.getlength(title)
    if wide > TITLE_SHARE * width:
        font = ImageFont.load_default(0.62 * band * TITLE_SHARE * width / wide)
    ImageDraw.Draw(head).text((width / 2, band / 2), title, fill="black", font=font, anchor="mm")
    return np.concatenate([np.asarray(head, np.uint8), drawn])


def _samples(rows: Record, steps: list[int]) -> list[int]:
    """Steps whose pictures together have all the colours of the film: some of all, and one of each change."""
    middles = [(first + last) // 2 for first, last in changing(rows).values()]
    return [*steps[:: max(1, len(steps) // 6)], *middles, steps[-1]]
