"""The flow of numbers through a program, drawn: its lines from top to bottom, and arcs to those that use their results.

Arcs on the right stay within a step, those on the left go on to the next one: that is the program's memory.
"""

from __future__ import annotations

import math
from html import escape

from arz.explain.flow import LAST_ACTION, OBSERVATION, RANDOM, Flow, FlowLine
from arz.plain import printable

COLOURS = {
    "observation": "#0072b2",
    "memory": "#d55e00",
    "last action": "#009e73",
    "random": "#cc79a7",
    "constant": "#000000",
    "call": "#666666",
}
"""Of a line by what it depends on first; and of the arcs of calls."""
LEGEND = (
    ("observation", "computed from the observation of the same step"),
    ("last action", "computed from the last action, not from the observation"),
    ("memory", "computed from memory only; dashed, left: read in the next step"),
    ("random", "computed from random numbers only"),
    ("constant", "computed from nothing that varies"),
    ("call", "dashed, right: done on the condition of a call"),
)
ROW, LETTER, GAP, FONT = 22, 7.3, 14, 12
"""Height of a line, width of a letter, space beside the texts (pixels); size of the letters."""
MOST_LETTERS = 76
MOST_ARCS = 20_000
"""If there may be more, none is drawn."""


def diagram(flow: Flow, title: str) -> str:
    """An SVG picture."""
    rows = _rows(flow)
    place = {(line.function, line.number): n for n, line in enumerate(rows) if line is not None}
    texts = [_text(flow, line, n, rows) for n, line in enumerate(rows)]
    width = max(min(max(len(text) for text in texts), MOST_LETTERS), 30) * LETTER
    has_arcs = flow.most_uses <= MOST_ARCS
    linked = [(flow.by_place[key], n) for key, n in place.items()] if has_arcs else []
    right = [(place[used], n, "use") for line, n in linked for used in sorted(line.uses)]
    right += [(place[call], n, "call") for line, n in linked for call in sorted(line.conditions)]
    left = [(place[used], n) for line, n in linked for used in sorted(line.carries)]
    reach = {"left": _reach([(a, b) for a, b in left]), "right": _reach([(a, b) for a, b, _ in right])}
    used = {_colour(flow, line) for line in flow.lines}
    used |= {COLOURS["call"]} if any(kind == "call" for *_, kind in right) else set()
    used |= {COLOURS["memory"]} if left else set()
    legend = [(name, text) for name, text in LEGEND if COLOURS[name] in used]
    legend += [] if has_arcs else [("call", f"the arcs between lines are left out: there are more than {MOST_ARCS}")]
    start, top = reach["left"] + 3 * GAP, 44 + 16 * (len(legend) + 1)
    height = top + ROW * len(rows) + 16
    widest = max(len(title) * 9.2, max((len(text) for _, text in legend), default=0) * LETTER + 30)
    total = max(start + width + reach["right"] + 3 * GAP, widest + 2 * GAP)
    parts = [f'<text x="{GAP}" y="24" font-size="15" font-weight="bold">{escape(printable(title))}</text>']
    parts += [
        f'<text x="{GAP}" y="{44 + 16 * n}" fill="{COLOURS[name]}">■ {text}</text>'
        for n, (name, text) in enumerate(legend)
    ]
    for n, (line, text) in enumerate(zip(rows, texts, strict=True)):
        colour = "#000000" if line is None else _colour(flow, line)
        weight = "bold" if line is None else "normal"
        shown = text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
        parts.append(
            f'<text x="{start:.0f}" y="{top + ROW * n + 15}" fill="{colour}" font-weight="{weight}" '
            f'xml:space="preserve">{escape(shown)}</text>'
        )
    ends = [start + min(len(text), MOST_LETTERS) * LETTER + 6 for text in texts]
    for a, b, kind in sorted(set(right)):
        edge = start + width + 8
        parts.append(
            _arc(
                ends[a],
                ends[b],
                edge,
                top,
                a,
                b,
                COLOURS["call"] if kind == "call" else _of(flow, rows[a]),
                kind == "call",
            )
        )
    for a, b in sorted(set(left)):
        parts.append(_arc(start - 6, start - 6, start - 8, top, a, b, COLOURS["memory"], True, -1))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height}" '
        f'viewBox="0 0 {total:.0f} {height}" font-family="monospace" font-size="{FONT}">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{_marker()}\n{body}\n</svg>\n'
    )


def _rows(flow: Flow) -> list[FlowLine | None]:
    """The lines, functions first, each after a row for its head."""
    found: list[FlowLine | None] = []
    for function in (*range(1, len(flow.program.functions)), 0):
        found.append(None)
        found += [line for line in flow.lines if line.function == function]
    return found


def _text(flow: Flow, line: FlowLine | None, row: int, rows: list[FlowLine | None]) -> str:
    if line is not None:
        return "  " + line.text
    heads = [n for n, other in enumerate(rows) if other is None]
    function = heads.index(row) + 1
    return "GetAction:" if function == len(flow.program.functions) else f"f{function - 1}:"


def _colour(flow: Flow, line: FlowLine) -> str:
    found = flow.within[line.function, line.number]
    if OBSERVATION in found:
        return COLOURS["observation"]
    if LAST_ACTION in found:
        return COLOURS["last action"]
    if RANDOM in found:
        return COLOURS["random"]
    return COLOURS["memory"] if found else COLOURS["constant"]


def _of(flow: Flow, line: FlowLine | None) -> str:
    assert line is not None
    return _colour(flow, line)


def _depth(a: int, b: int) -> float:
    return 10.0 + 9.0 * math.pow(abs(a - b), 0.75)


def _reach(arcs: list[tuple[int, int]]) -> float:
    return max((_depth(a, b) for a, b in arcs), default=0.0)


def _arc(
    x_from: float, x_to: float, edge: float, top: int, a: int, b: int, colour: str, is_dashed: bool, side: int = 1
) -> str:
    y_from, y_to = top + ROW * a + 12, top + ROW * b + 10
    out = edge + side * (_depth(a, b) if a != b else 26.0)
    if a == b:
        y_to = y_from + 5
    dash = ' stroke-dasharray="4 3"' if is_dashed else ""
    bow = f"C {out:.0f} {y_from} {out:.0f} {y_to} {edge:.0f} {y_to}"
    path = f"M {x_from:.0f} {y_from} L {edge:.0f} {y_from} {bow} L {x_to:.0f} {y_to}"
    look = f'fill="none" stroke="{colour}" stroke-opacity="0.6" stroke-width="1.3"{dash}'
    return f'<path d="{path}" {look} marker-end="url(#tip)"/>'


def _marker() -> str:
    return (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M 0 0 L 8 4 L 0 8 z" fill="#444444"/></marker></defs>'
    )
