"""How every command prints its data: as a table for people, as JSON, JSON lines or CSV for programs."""

from __future__ import annotations

import csv
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cli.tables import flattened, lines_of
from cli.text import json_text, visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Row: TypeAlias = "Mapping[str, Any]"

FORMATS: Final = ("table", "json", "jsonl", "csv")


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


def tell(text: str, *, end: str = "\n") -> None:
    """A message for people, beside the data."""
    print(visible_lines(text), end=end, file=sys.stderr, flush=True)


def agrees(question: str) -> bool:
    """Whether the person at the terminal agrees; a script is not asked."""
    if not sys.stdin.isatty():
        return True
    tell(f"{question} [y/N] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
    flat, names = flattened(rows, columns)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(visible, names))
    writer.writerows([_csv_cell(row.get(name)) for name in names] for row in flat)


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
    """Aligned columns under their titles, as wide as the terminal; nothing at all for no rows."""
    flat, titles = flattened(rows, columns)
    return lines_of(
        [[visible(title) for title in titles.values()], *([_cell(row.get(name)) for name in titles] for row in flat)]
    )


def what_and_fix(row: Row) -> str:
    """What is wrong and how to fix it, as sentences."""
    what = str(row["what"])
    return f"{what[:1].upper()}{what[1:]}. {row['mend']}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {noun(number, singular, plural)}"


def noun(number: int, singular: str, plural: str | None = None) -> str:
    """What so many are called."""
    return singular if number == 1 else plural or f"{singular}s"


def wrapped(text: str, indent: str) -> str:
    """A paragraph for people, as wide as their terminal."""
    width = max(40, min(110, shutil.get_terminal_size().columns))
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
