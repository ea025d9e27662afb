"""Text of strangers, made harmless for those who look at it."""

from __future__ import annotations

import re

UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What moves the cursor, changes colours or the direction of writing, or cannot be written at all."""


def clean(text: object) -> str:
    r"""The text with what a terminal would obey shown as an escape, such as `\x1b`; lines and tabs stay."""
    return UNSEEN.sub(lambda found: _escape(found[0]), str(text))


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a path that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def printable(text: str) -> str:
    """The text with a sign in place of each character that a terminal would obey: of the same length, for a caret."""
    return "".join(letter if letter.isprintable() else " " if letter == "\t" else "\ufffd" for letter in text)


def first_line(error: Exception) -> str:
    """What an error says, in a line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def duration(seconds: float) -> str:
    """A time for people."""
    seconds = max(0, round(seconds))
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02}m"


def short(number: float) -> str:
    """A large number for people."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{unit}"
    return f"{number:.0f}"
