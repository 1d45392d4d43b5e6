"""Numbers, durations and tables as text that a stranger reads."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def number(value: float) -> str:
    """Three digits or all of the whole ones, and never an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{Decimal(f'{value:.3g}'):f}"


def seconds(value: float) -> str:
    """A duration in the unit that reads best."""
    size, unit = time_unit(value)
    return f"{number(value / size)} {unit}"


def time_unit(value: float) -> tuple[float, str]:
    """The unit that reads best for so many seconds: its size in seconds, and its sign."""
    return next(((size, unit) for size, unit in UNITS if value >= size), UNITS[-1])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table in rows of equal width, readable in a terminal as well; the first row is the heading."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
