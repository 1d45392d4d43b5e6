"""Rows as a table for people: a column for each field, as wide as the terminal, and no wider.

Where the output goes to a file or a pipe there is no terminal, and lines are as long as they are.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_GAP: Final = "  "
# Columns that are narrower than that break every word; then each row becomes a record of lines.
_NARROWEST: Final = 10


def flattened(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Rows with a value for each member of an object, such as `key.town`, and the names in order with their titles."""
    flat = [{name: value for column in columns for name, value in members(column, row.get(column))} for row in rows]
    found = dict.fromkeys(name for row in flat for name in row)
    names = [name for column in columns for name in _of_column(column, found)]
    last = [name.rpartition(".")[2] for name in names]
    return flat, {
        name: name.upper() if "." not in name else short if last.count(short) == 1 else name
        for name, short in zip(names, last, strict=True)
    }


def members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value under its name, or the members of an object under theirs; nothing for None."""
    if isinstance(value, dict) and value:
        for inner, member in value.items():
            yield from members(f"{name}.{inner}", member)
    elif value is not None:
        yield name, value


def lines_of(cells: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose first row has the titles; nothing at all for no rows."""
    if len(cells) < 2:
        return []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sum(widths) + len(_GAP) * len(widths)
    return fitted(cells, widths, width)


def fitted(cells: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> list[str]:
    """The lines in so many columns: aligned if they fit, else with folded cells, or as records of a line per field."""
    gaps = len(_GAP) * (len(widths) - 1)
    if sum(widths) + gaps <= width:
        return [_GAP.join(map(str.ljust, row, widths)).rstrip() for row in cells]
    if sum(min(each, _NARROWEST) for each in widths) + gaps > width:
        return _records(cells, width)
    return _folded(cells, width)


def _of_column(column: str, names: Mapping[str, Any]) -> list[str]:
    """The names that a column was made into; its own when no row has it."""
    return [name for name in names if name == column or name.startswith(f"{column}.")] or [column]


def _records(cells: Sequence[Sequence[str]], width: int) -> list[str]:
    titles, *rows = cells
    longest = max(map(len, titles))
    room = max(width - longest - len(_GAP), 1)
    records = [
        f"{(title if start == 0 else '').ljust(longest)}{_GAP}{cell[start : start + room]}"
        for row in rows
        for title, cell in [*zip(titles, row, strict=True), ("", " ")]
        for start in range(0, len(cell), room)
    ]
    return [line.rstrip() for line in records[:-1]]


def _folded(cells: Sequence[Sequence[str]], width: int) -> list[str]:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    titles, *rows = cells
    table = Table(box=None, padding=(0, len(_GAP), 0, 0), pad_edge=False, header_style="")
    for title in titles:
        table.add_column(Text(title), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]
