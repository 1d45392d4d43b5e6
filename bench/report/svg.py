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
    from collections.abc import Iterator, Sequence

WIDTH = 760
_ROW, _BAR, _TITLE = 26, 16, 44
# Of the plot of lines.
_LEFT, _RIGHT, _PLOT_HEIGHT = 84, WIDTH - 50, 250
_STYLE = """\
  <style>
    text { font: 13px system-ui, sans-serif; fill: #57606a; }
    .title { font-weight: 600; font-size: 15px; }
    .axis { stroke: #8c959f; stroke-width: 1; fill: none; }
    .grid { stroke: #8c959f; stroke-opacity: .25; }
    .c0 { fill: #2f81f7; stroke: #2f81f7; } .c1 { fill: #8c959f; stroke: #8c959f; }
    .c2 { fill: #d4762c; stroke: #d4762c; } .c3 { fill: #3fa75a; stroke: #3fa75a; }
    .c4 { fill: #a475f9; stroke: #a475f9; } .c5 { fill: #d73a49; stroke: #d73a49; }
    .c6 { fill: #1b9aaa; stroke: #1b9aaa; }
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


def lines(title: str, x_title: str, drawn: Sequence[Line]) -> str:
    """Lines on two logarithmic axes that span whole powers of ten."""
    key, key_height = _key(drawn)
    top = _TITLE + key_height
    axes = _Axes(
        _span([x for line in drawn for x, _ in line.points]), _span([y for line in drawn for _, y in line.points]), top
    )
    caption = f'  <text x="{_RIGHT}" y="{top + _PLOT_HEIGHT + 40}" text-anchor="end">{escape(x_title)}</text>'
    curves = [part for line in drawn for part in _line(line, [axes.at(*point) for point in line.points])]
    return _document(title, [*key, *axes.drawn(), *curves, caption], top + _PLOT_HEIGHT + 50)


@dataclass(frozen=True, slots=True)
class _Axes:
    """The powers of ten at both ends of both axes, and where the plot begins."""

    xs: tuple[int, int]
    ys: tuple[int, int]
    top: int

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        (left, right), (bottom, top) = self.xs, self.ys
        return (
            _LEFT + (_RIGHT - _LEFT) * (math.log10(x) - left) / (right - left),
            self.top + _PLOT_HEIGHT * (1 - (math.log10(y) - bottom) / (top - bottom)),
        )

    def drawn(self) -> Iterator[str]:
        """A line of the grid and its number for each power of ten."""
        bottom = self.top + _PLOT_HEIGHT
        for power in range(self.xs[0], self.xs[1] + 1):
            x, _ = self.at(10.0**power, 1)
            yield f'  <line x1="{x:.1f}" y1="{self.top}" x2="{x:.1f}" y2="{bottom}" class="grid"/>'
            yield f'  <text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{_power(power)}</text>'
        for power in range(self.ys[0], self.ys[1] + 1):
            _, y = self.at(1, 10.0**power)
            yield f'  <line x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}" class="grid"/>'
            yield f'  <text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>'


def _line(line: Line, places: Sequence[tuple[float, float]]) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'  <circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="c{line.colour}"/>' for x, y in places]
    return [f'  <polyline points="{path}" class="c{line.colour} line" style="fill:none"/>', *dots]


def _key(drawn: Sequence[Line]) -> tuple[list[str], int]:
    """Which colour is which, in as many lines below the title as it takes; and their height."""
    parts, x, y = list[str](), _LEFT, _TITLE
    for line in drawn:
        width = 40 + 7 * len(line.label)
        if x > _LEFT and x + width > _RIGHT:
            x, y = _LEFT, y + 20
        parts.append(f'  <rect x="{x}" y="{y - 10}" width="10" height="10" class="c{line.colour}"/>')
        parts.append(f'  <text x="{x + 16}" y="{y}">{escape(line.label)}</text>')
        x += width
    return parts, y - _TITLE + 20


def _span(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _power(power: int) -> str:
    names = {6: "1 million", 7: "10 million", 8: "100 million", 9: "1 billion", 10: "10 billion"}
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
