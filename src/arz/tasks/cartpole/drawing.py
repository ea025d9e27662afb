"""Pictures of the cart and its pole, for films, and for the environment.

On screen +x is to the right. A track with a positive angle has its right end up, and gravity pulls the cart to the
left; a pole with a positive angle to the vertical leans to the right, and gravity pulls it further to the right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from arz.native import core
from arz.tasks.cartpole.task import ANGLE_LIMIT, RANGES, STEP, Cartpole

FRAMES_PER_SECOND = round(1 / STEP)
NOMINAL = {name: nominal for name, nominal, *_ in core.CARTPOLE_CHANGES}

FINE = 4  # drawn this many times larger and then reduced: with 2, a pole that is nearly upright shows steps
POLE = 1.0  # m; its centre of mass is half way up
CART_WIDTH, CART_HEIGHT, WHEEL = 0.24, 0.11, 0.028  # m
MARGIN = 0.3  # of track beyond the limits, m
FARTHEST = 3.0  # limits beyond this do not fit: the view then follows the cart
FALLEN = ANGLE_LIMIT
TRACK_ANGLE = RANGES["track_angle"][1]  # the most by which the task tilts the track

PAPER, STRIP, STRIP_CHANGED, MARK_CHANGED = (251, 251, 249), (238, 239, 240), (255, 232, 190), (226, 122, 20)
INK, TRACK, TICK, FAINT, WEDGE = (38, 44, 52), (92, 100, 110), (186, 191, 196), (208, 212, 215), (240, 243, 244)
CART, POLE_FINE, POLE_FALLEN = (44, 92, 140), (196, 130, 62), (200, 44, 44)
FORCE, STOP = (30, 150, 100), (176, 58, 58)

Point = tuple[float, float]
Colour = tuple[int, int, int]


def scene(truth: Mapping[str, float], task: Cartpole, step: int, *, note: str = "") -> NDArray[np.uint8]:
    """A picture of an episode at a step: `frame` with the parameters in its caption, or a note instead.

    Args:
        truth: a number for each name of `TRUTH`, for instance from a row of `arz.evaluate.record`.
        task: the variant.
        step: how many steps the episode has lasted.
        note: what to say instead of the parameters, for instance how the episode ended.
    """
    caption = [
        f"{step / FRAMES_PER_SECOND:.2f} s",
        f"force {truth['force']:.2f}",
        f"damping {truth['damping']:.3f}",
        f"track {math.degrees(truth['track_angle']):+.1f}°",
        *[f"noise {truth['noise']:+.2f}"] * task.actuator_noise,
    ]
    return frame(
        truth["x"],
        truth["theta"],
        truth["track_angle"],
        task.x_limit,
        caption=note or "   ".join(caption),
        force=truth["force"] * truth["applied"],
        changed=any(truth[name] != nominal for name, nominal in NOMINAL.items()),
    )


def frame(
    x: float,
    theta: float,
    track_angle: float,
    x_limit: float,
    *,
    caption: str = "",
    force: float = 0.0,
    changed: bool = False,
    size: tuple[int, int] = (640, 400),
) -> NDArray[np.uint8]:
    """A picture [height, width, 3] of the cart and its pole.

    Args:
        x: where the cart is, along the track (m).
        theta: the angle of the pole to the normal of the track (rad).
        track_angle: the angle of the track to the horizontal (rad).
        x_limit: where the episode ends, on either side (m).
        caption: text at the top.
        force: what pushes the cart, as a multiple of the nominal motor's full force.
        changed: whether the task is no longer what it was at the start; colours the strip at the top.
        size: width and height in pixels.
    """
    width, height = size
    image = Image.new("RGB", (width * FINE, height * FINE), PAPER)
    draw = ImageDraw.Draw(image)
    view = _View(x, track_angle, x_limit, image.size)
    upright = theta - track_angle
    _limits(draw, view)
    _track(draw, view, x_limit)
    _cart(draw, view, upright)
    _force(draw, view, force)
    _strip(draw, view, caption, changed)
    return np.asarray(image.reduce(FINE), np.uint8)


class _View:
    """From metres along the track and across it, or in the world around the pole's joint, to pixels."""

    def __init__(self, x: float, track_angle: float, x_limit: float, size: tuple[int, int]) -> None:
        self.width, self.height = size
        self.strip = self.height * 0.1
        self.line = self.height / 400.0  # a line of width 1 in a picture of 400 rows, before it is reduced
        self.follows = x_limit > FARTHEST
        self.reach = (FARTHEST if self.follows else x_limit) + MARGIN
        rise = self.reach * math.sin(TRACK_ANGLE)
        # What must fit between the strip and the lower edge: the pole on its cart, above and below it a tilted track.
        self.scale = min(self.width / (2.0 * self.reach), (self.height - self.strip) / (1.45 * POLE + 1.2 * rise))
        self.along: Point = (math.cos(track_angle), math.sin(track_angle))
        self.origin: Point = (self.width / 2.0, self.height - (0.16 * POLE + rise) * self.scale)
        self.centre = x if self.follows else 0.0
        self.x = x
        self.joint = self.on_track(x, WHEEL + CART_HEIGHT)

    def on_track(self, along: float, across: float = 0.0) -> Point:
        """The pixel of a place so far along the track and above it."""
        along -= self.centre
        right = along * self.along[0] - across * self.along[1]
        up = along * self.along[1] + across * self.along[0]
        return (self.origin[0] + right * self.scale, self.origin[1] - up * self.scale)

    def on_pole(self, distance: float, angle: float) -> Point:
        """The pixel of a place so far from the joint, at an angle to the vertical."""
        return (
            self.joint[0] + distance * math.sin(angle) * self.scale,
            self.joint[1] - distance * math.cos(angle) * self.scale,
        )

    def pixels(self, width: float) -> int:
        """The width of a line."""
        return max(1, round(width * self.line))


def _limits(draw: ImageDraw.ImageDraw, view: _View) -> None:
    """The angles that the pole may have, and the vertical."""
    rim = [view.on_pole(1.08 * POLE, FALLEN * step / 12.0) for step in range(-12, 13)]
    draw.polygon([view.joint, *rim], fill=WEDGE)
    for edge in (rim[0], rim[-1]):
        draw.line([view.joint, edge], fill=FAINT, width=view.pixels(1.5))
    for dash in range(0, 27, 2):
        ends = [view.on_pole(0.04 * part * POLE, 0.0) for part in (dash, dash + 1)]
        draw.line(ends, fill=FAINT, width=view.pixels(1.5))


def _track(draw: ImageDraw.ImageDraw, view: _View, x_limit: float) -> None:
    """The track with a scale, and the stops at its ends."""
    first, last = (view.centre + side * (view.reach - 0.4 * MARGIN) for side in (-1, 1))
    first, last = max(first, -x_limit - 0.6 * MARGIN), min(last, x_limit + 0.6 * MARGIN)
    distance = 0.1 if x_limit < 1.0 else 0.5
    for tick in range(math.ceil(first / distance), math.floor(last / distance) + 1):
        depth = view.pixels(22.0 if tick % 5 == 0 else 14.0) / view.scale
        ends = [view.on_track(tick * distance), view.on_track(tick * distance, -depth)]
        draw.line(ends, fill=TICK, width=view.pixels(2.0))
    draw.line([view.on_track(first), view.on_track(last)], fill=TRACK, width=view.pixels(5.0))
    for limit in (-x_limit, x_limit):
        if first <= limit <= last:
            draw.line([view.on_track(limit, -0.05), view.on_track(limit, 0.1)], fill=STOP, width=view.pixels(5.0))


def _cart(draw: ImageDraw.ImageDraw, view: _View, upright: float) -> None:
    """The cart on its wheels, and the pole."""
    half = CART_WIDTH / 2.0
    for wheel in (-0.6 * half, 0.6 * half):
        _disc(draw, view.on_track(view.x + wheel, WHEEL), WHEEL * view.scale, INK)
    corners = [(-half, 0.0), (half, 0.0), (half, CART_HEIGHT), (-half, CART_HEIGHT)]
    draw.polygon([view.on_track(view.x + a, WHEEL + b) for a, b in corners], fill=CART)
    tip, thickness = view.on_pole(POLE, upright), 0.045 * view.scale
    colour = POLE_FALLEN if abs(upright) > FALLEN else POLE_FINE
    draw.line([view.joint, tip], fill=colour, width=max(2, round(thickness)))
    for end in (view.joint, tip):
        _disc(draw, end, thickness / 2.0, colour)
    _disc(draw, view.joint, 0.3 * thickness, INK)


def _force(draw: ImageDraw.ImageDraw, view: _View, force: float) -> None:
    """An arrow from the middle of the cart's side, as long as the force is large."""
    if abs(force) < 0.01:
        return
    side = math.copysign(1.0, force)
    start = view.x + side * (CART_WIDTH / 2.0 + 0.02)
    shaft, head, level = 0.16 * abs(force), 0.07, WHEEL + 0.5 * CART_HEIGHT
    end = start + side * shaft
    draw.line([view.on_track(start, level), view.on_track(end, level)], fill=FORCE, width=view.pixels(6.0))
    corners = [(end, level + 0.045), (end, level - 0.045), (end + side * head, level)]
    draw.polygon([view.on_track(a, b) for a, b in corners], fill=FORCE)


def _strip(draw: ImageDraw.ImageDraw, view: _View, caption: str, changed: bool) -> None:
    """The caption at the top, on a coloured strip once the task has changed."""
    if not caption and not changed:
        return
    edge = view.strip * 0.4
    draw.rectangle((0, 0, view.width, view.strip), fill=STRIP_CHANGED if changed else STRIP)
    if changed:
        draw.rectangle((0, view.strip, view.width, view.strip * 1.08), fill=MARK_CHANGED)
        draw.rectangle((0, 0, edge * 0.5, view.strip), fill=MARK_CHANGED)
    points, room = view.strip * 0.46, view.width - 2.0 * edge
    wide = draw.textlength(caption, _font(points))
    if wide > room:
        points *= room / wide
    draw.text((edge, view.strip / 2.0), caption, fill=INK, font=_font(points), anchor="lm")


def _disc(draw: ImageDraw.ImageDraw, centre: Point, radius: float, colour: Colour) -> None:
    x, y = centre
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


@lru_cache(32)
def _font(points: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(points)
