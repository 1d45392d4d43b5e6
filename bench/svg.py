"""A small writer of charts as SVG: bars, and lines on logarithmic axes. Readable on light and on dark pages.

Colours are chosen by the reader's own setting; where that is not known, they are dark enough for white and light
enough for black.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 760
_ROW, _BAR, _TITLE = 26, 16, 44
_STYLE = """\
  <style>
    text { font: 13px system-ui, sans-serif; fill: #57606a; }
    .title { font-weight: 600; font-size: 15px; }
    .axis { stroke: #8c959f; stroke-width: 1; fill: none; }
    .grid { stroke: #8c959f; stroke-opacity: .25; }
    .c0 { fill: #2f81f7; stroke: #2f81f7; } .c1 { fill: #8c959f; stroke: #8c959f; }
    .c2 { fill: #d4762c; stroke: #d4762c; } .c3 { fill: #3fa75a; stroke: #3fa75a; }
    .line { fill: none; stroke-width: 2; }
    @media (prefers-color-scheme: dark) { text { fill: #c9d1d9; } }
    @media (prefers-color-scheme: light) { text { fill: #24292f; } }
  </style>"""


@dataclass(frozen=True, slots=True)
class Bar:
    """A length with what it says; bars of one colour are one kind of thing."""

    label: str
    value: float
    text: str
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """Points in the order of x, both above 0."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: int = 0


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars from zero, one below the other."""
    left = 12 + 7 * max(len(row.label) for row in rows)
    room = WIDTH - left - 12 - 7 * max(len(row.text) for row in rows)
    longest = max(row.value for row in rows)
    parts = []
    for number, row in enumerate(rows):
        y = _TITLE + number * _ROW
        width = max(1.0, row.value / longest * room)
        parts += [
            f'  <text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(row.label)}</text>',
            f'  <rect x="{left}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2" class="c{row.colour}"/>',
            f'  <text x="{left + width + 6:.1f}" y="{y + 13}">{escape(row.text)}</text>',
        ]
    return _document(title, parts, _TITLE + len(rows) * _ROW + 8)


def lines(title: str, x_title: str, y_title: str, drawn: Sequence[Line]) -> str:
    """Lines on two logarithmic axes that span whole powers of ten."""
    height, left, top, bottom = 360, 84, 64, 50
    xs = _span([x for line in drawn for x, _ in line.points])
    ys = _span([y for line in drawn for _, y in line.points])
    plot_width, plot_height = WIDTH - left - 40, height - top - bottom

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + plot_width * (math.log10(x) - xs[0]) / (xs[1] - xs[0]),
            top + plot_height * (1 - (math.log10(y) - ys[0]) / (ys[1] - ys[0])),
        )

    parts = [f'  <text x="{left}" y="{top - 12}">{escape(y_title)}</text>']
    parts += [f'  <text x="{WIDTH - 40}" y="{height - 8}" text-anchor="end">{escape(x_title)}</text>']
    for power in range(xs[0], xs[1] + 1):
        x, y = at(10.0**power, 10.0 ** ys[0])
        parts.append(f'  <line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'  <text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{_power(power)}</text>')
    for power in range(ys[0], ys[1] + 1):
        x, y = at(10.0 ** xs[0], 10.0**power)
        parts.append(f'  <line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - 40}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'  <text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>')
    for line in drawn:
        parts += _line(line, [at(*point) for point in line.points])
    return _document(title, [*parts, *_key(drawn)], height)


def _line(line: Line, places: Sequence[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'  <circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="c{line.colour}"/>' for x, y in places]
    return [f'  <polyline points="{path}" class="c{line.colour} line" style="fill:none"/>', *dots]


def _key(drawn: Sequence[Line]) -> list[str]:
    """Which colour is which, in the line below the title."""
    parts, x = [], WIDTH - 40.0
    for line in reversed(drawn):
        x -= 7 * len(line.label)
        parts.append(f'  <text x="{x:.1f}" y="52">{escape(line.label)}</text>')
        parts.append(f'  <rect x="{x - 16:.1f}" y="42" width="10" height="10" class="c{line.colour}"/>')
        x -= 30
    return parts


def _span(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _power(power: int) -> str:
    names = {6: "1 M", 7: "10 M", 8: "100 M", 9: "1 G", 10: "10 G"}
    return names.get(power) or f"{10.0**power:,.{max(0, -power)}f}"


def _document(title: str, parts: Sequence[str], height: int) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'{head} role="img" aria-label="{escape(title)}">',
            _STYLE,
            f'  <text x="12" y="24" class="title">{escape(title)}</text>',
            *parts,
            "</svg>\n",
        ]
    )
