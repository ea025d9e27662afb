"""Films as GIF or MP4: a row of pictures, in real time, that stands still at the end for a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from arz.files import whole_file
from arz.names import install
from arz.typing import Picture

LAST_SECONDS = 2
GIF_COLOURS = 128
MOST_DRAWN = 3000
"""Colours that a drawing may have, with its smooth edges; a rendered scene has more."""


def write_film(
    path: Path,
    steps: Sequence[int],
    picture: Callable[[int], Picture],
    samples: Sequence[int],
    rate: float,
    advance: Callable[[int, int], None] | None = None,
) -> None:
    """Writes a film by the suffix of the path; all of it or nothing.

    Args:
        path: where to.
        steps: of which the pictures are, equally far apart but for the last.
        picture: the picture [height, width, 3] of a step.
        samples: steps whose pictures together have all the colours of the film.
        rate: pictures per second.
        advance: is told after each picture how many are done, and how many there will be.

    Raises:
        ValueError: the suffix or the folder is wrong, or MP4 needs an extra.
    """
    write = _write_gif if kind_of(path, ("gif", "mp4"), "film") == "gif" else _write_mp4

    def pictures() -> Iterator[Picture]:
        for done, step in enumerate(steps, 1):
            yield picture(step)
            if advance is not None:
                advance(done, len(steps))

    with whole_file(path) as beside:
        write(beside, pictures(), [picture(step) for step in samples], rate)


def kind_of(path: Path, kinds: tuple[str, ...], what: str) -> str:
    """The kind of file that a path asks for by its suffix, in lower case and without the dot.

    Raises:
        ValueError: it is not among the kinds.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in kinds:
        names = ", ".join(f".{name}" for name in kinds[:-1]) + f" or .{kinds[-1]}"
        raise ValueError(f"the name of a {what} must end in {names}, not {path.suffix!r} as in {path.name!r}.")
    return kind


def _write_gif(path: Path, pictures: Iterator[Picture], samples: list[Picture], rate: float) -> None:
    from PIL import Image

    # One palette for all pictures, and no dithering: what stands still stays equal, and costs nothing. Of drawings, the
    # colours that they really have; of rendered scenes, which have thousands, ones that cover them all.
    all_samples = np.concatenate(samples)
    packed = all_samples.reshape(-1, 3).astype(np.uint32) @ np.array([1, 256, 65536], np.uint32)
    colours, counts = np.unique(packed, return_counts=True)
    if len(colours) > MOST_DRAWN:
        palette = Image.fromarray(all_samples).quantize(colors=GIF_COLOURS, method=Image.Quantize.MAXCOVERAGE)
    else:
        common = colours[np.argsort(-counts, kind="stable")[:GIF_COLOURS]].astype("<u4")
        palette = Image.new("P", (1, 1))
        palette.putpalette(common.view(np.uint8).reshape(-1, 4)[:, :3].tobytes())
    reduced = [Image.fromarray(each).quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    # GIF counts in hundredths of a second: rounding the time of each picture, not its duration, keeps time in the long
    # run. Many programs do not show less than two.
    times = [round(100 * number / rate) for number in range(len(reduced))]
    durations = [10 * max(2, after - before) for before, after in pairwise(times)] + [1000 * LAST_SECONDS]
    reduced[0].save(
        path, format="GIF", save_all=True, append_images=reduced[1:], duration=durations, loop=0, optimize=True
    )


def _write_mp4(path: Path, pictures: Iterator[Picture], samples: list[Picture], rate: float) -> None:
    try:
        from imageio_ffmpeg import write_frames
    except ImportError:
        raise ValueError(f"writing MP4 needs imageio-ffmpeg, an extra: {install('video')}") from None
    height, width, _ = samples[0].shape
    writer = write_frames(str(path), (width, height), fps=rate, macro_block_size=2, ffmpeg_log_level="quiet")
    writer.send(None)
    try:
        for each in pictures:
            _send(writer, each)
        for _ in range(round(LAST_SECONDS * rate)):
            _send(writer, each)
    finally:
        writer.close()
    if not path.stat().st_size:
        raise _mp4_failed()


def _send(writer: Any, picture: Picture) -> None:
    """Hands a picture to ffmpeg, whose complaints have many lines and name a file that nobody asked for."""
    try:
        writer.send(np.ascontiguousarray(picture))
    except OSError:
        raise _mp4_failed() from None


def _mp4_failed() -> ValueError:
    return ValueError("ffmpeg could not write the film: is the disk full? A name that ends in .gif does without it.")
