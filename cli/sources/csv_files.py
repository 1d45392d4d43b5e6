"""CSV files with facts: the first line has the names of the fields. Cells are text unless a type is given for them.

An empty cell is a field that is not there.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from cli.errors import UsageError
from cli.sources.fact_lines import Line
from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

# Stands for all columns: each has the narrowest type that all its cells have.
AUTO: Final = "auto"
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?")
_OTHER_DELIMITERS: Final = ";\t|"
_BOOLEANS: Final = {"true": True, "false": False}


def csv_facts(path: Path, types: Mapping[str, str]) -> Iterator[Line]:
    """A fact for each row, with the line on which the row begins."""
    chosen = types
    if AUTO in types:
        chosen = {**inferred_types(path), **{name: kind for name, kind in types.items() if name != AUTO}}
    names: Sequence[str] = ()
    for number, row in _rows(path):
        if isinstance(row, str):
            yield Line(number, None, row)
        elif not names:
            names = row
            if fault := _names_fault(names, chosen):
                yield Line(number, None, fault)
                return
        elif len(row) > len(names):
            yield Line(number, None, "more cells than the first line has names")
        else:
            yield _line(number, {name: cell for name, cell in zip(names, row, strict=False) if cell}, chosen)


def inferred_types(path: Path) -> dict[str, str]:
    """For each column the narrowest type that all its cells have; an id is a text."""
    names: Sequence[str] = ()
    fits: dict[str, list[str]] = {}
    for _, row in _rows(path):
        if isinstance(row, str):
            break
        if not names:
            names = row
            continue
        for name, cell in zip(names, row, strict=False):
            if cell:
                fits[name] = [kind for kind in fits.get(name, CELL_TYPES) if _typed(cell, kind) is not None]
    return {name: "string" if name == "id" else kinds[0] for name, kinds in fits.items()}


def read_types(texts: Sequence[str]) -> dict[str, str]:
    """The types of `--types NAME=TYPE,NAME=TYPE`, or `--types auto`; raises `UsageError`."""
    types: dict[str, str] = {}
    for text in (part.strip() for given in texts for part in given.split(",")):
        name, equals, kind = text.rpartition("=")
        if text == AUTO:
            types[AUTO] = AUTO
        elif not equals or not name:
            raise UsageError(f"{text!r} is not NAME=TYPE: write for example --types elevation=integer, or --types auto")
        elif kind not in CELL_TYPES:
            raise UsageError(f"{kind!r} is not a type of cells: choose one of {', '.join(CELL_TYPES)}")
        else:
            types[name] = kind
    return types


def _rows(path: Path) -> Iterator[tuple[int, list[str] | str]]:
    """Every row that is not empty with the line on which it begins; a text where the file is no CSV any more."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        begins = 1
        try:
            for row in reader:
                if row:
                    yield begins, row
                begins = reader.line_num + 1
        except csv.Error as error:
            yield begins, str(error)


def _names_fault(names: Sequence[str], types: Mapping[str, str]) -> str | None:
    """A fact has one field of a name, so the cells of all but one such column would be lost; and only commas count."""
    if len(names) == 1 and any(mark in names[0] for mark in _OTHER_DELIMITERS):
        return f"the only column is {names[0]!r}: write commas between the cells"
    for name, count in Counter(names).items():
        if count > 1:
            return f"the column {name!r} is there twice: give each a name of its own"
    for name in types:
        if name not in names:
            return f"there is no column {name!r}, which --types names. {did_you_mean(name, names)}".strip()
    return None


def _line(number: int, cells: Mapping[str, str], types: Mapping[str, str]) -> Line:
    fact: dict[str, Any] = {}
    for name, cell in cells.items():
        kind = types.get(name, "string")
        value = _typed(cell, kind)
        if value is None:
            return Line(number, None, f"{cell!r} in the column {name!r} is not of type {kind}")
        fact[name] = value
    return Line(number, fact)


def _integer(cell: str) -> int | None:
    return int(cell) if _INTEGER.fullmatch(cell) else None


def _number(cell: str) -> float | None:
    whole = _integer(cell)
    return float(cell) if whole is None and _NUMBER.fullmatch(cell) else whole


def _json(cell: str) -> Any:
    """Arrays and objects; whatever else is JSON has a type of its own."""
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "boolean": lambda cell: _BOOLEANS.get(cell.lower()),
    "integer": _integer,
    "number": _number,
    "json": _json,
    "string": str,
}
# From narrow to wide: the last one has every cell.
CELL_TYPES: Final = tuple(_READERS)


def _typed(cell: str, kind: str) -> Any:
    """A cell as a value of a type; None when it is none."""
    return _READERS[kind](cell)
