"""How every command prints its data: as a table for people, as JSON, JSON lines or CSV for programs."""

from __future__ import annotations

import csv
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cli.text import json_text, visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Row: TypeAlias = "Mapping[str, Any]"

FORMATS: Final = ("table", "json", "jsonl", "csv")
_GAP: Final = "  "


def write_rows(
    rows: Iterable[Row],
    columns: Sequence[str],
    output_format: str,
    as_text: Callable[[Row], str] | None = None,
) -> None:
    """Print rows to stdout. A command whose rows make a poor table gives `as_text` for that format.

    A reader (`| head`) that closes the pipe ends the printing, not the command: its exit code is still to come.
    """
    try:
        _print_rows(rows, columns, output_format, as_text)
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Drop buffered output: Python would try again to write it, and fail, when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_rows(
    rows: Iterable[Row], columns: Sequence[str], output_format: str, as_text: Callable[[Row], str] | None
) -> None:
    if output_format == "table":
        _write_text([visible_lines(as_text(row)) for row in rows] if as_text else table_lines(list(rows), columns))
    elif output_format == "json":
        print(json_text([_ordered(row, columns) for row in rows], indent=2))
    elif output_format == "jsonl":
        for row in rows:
            print(json_text(_ordered(row, columns)))
    else:
        _write_csv(list(rows), columns)


def _write_csv(rows: Sequence[Row], columns: Sequence[str]) -> None:
    """One column for each member of an object, such as `key.town`."""
    cells = [{name: value for column in columns for name, value in _members(column, row.get(column))} for row in rows]
    found = dict.fromkeys(name for row in cells for name in row)
    names = [name for column in columns for name in _of_column(column, found)]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(visible, names))
    writer.writerows([_csv_cell(row.get(name)) for name in names] for row in cells)


def _members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value under its name, or the members of an object under theirs; nothing for None."""
    if isinstance(value, dict) and value:
        for inner, member in value.items():
            yield from _members(f"{name}.{inner}", member)
    elif value is not None:
        yield name, value


def _of_column(column: str, names: Iterable[str]) -> list[str]:
    """The names that a column was made into; its own when no row has it."""
    return [name for name in names if name == column or name.startswith(f"{column}.")] or [column]


def _csv_cell(value: Any) -> str:
    """A value in one cell. A spreadsheet would run a text that begins like a formula, so that it gets a quote."""
    text = _cell(value)
    return f"'{text}" if isinstance(value, str | list) and text.startswith(("=", "+", "-", "@")) else text


def _write_text(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _ordered(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    return {column: row.get(column) for column in columns}


def _cell(value: Any) -> str:
    """A value in one cell: lists separated by commas, empty text for None, control characters as escapes."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(_cell, value))
    return visible(str(value)) if isinstance(value, str | int | float) else json_text(value)


def table_lines(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Aligned columns under their names; nothing at all for no rows."""
    if not rows:
        return []
    cells = [
        [column.upper() for column in columns],
        *([_cell(row.get(column)) for column in columns] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [_GAP.join(map(str.ljust, line, widths)).rstrip() for line in cells]


def what_and_fix(row: Row) -> str:
    """What is wrong and how to fix it, as sentences."""
    what = str(row["what"])
    return f"{what[:1].upper()}{what[1:]}. {row['mend']}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def wrapped(text: str, indent: str) -> str:
    """A paragraph for people, as wide as their terminal."""
    width = max(40, min(110, shutil.get_terminal_size().columns))
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
