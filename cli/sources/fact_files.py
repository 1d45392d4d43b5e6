"""Files with facts: JSON (one array, or one fact), JSON lines and CSV, as a stream of facts."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def facts_in(path: Path, fault_of: Callable[[dict[str, Any]], str | None] = lambda _: None) -> Iterator[dict[str, Any]]:
    """The facts of a file, by its ending; raises `UsageError` with the place of what is no fact or has a fault."""
    readers = {".json": _json, ".jsonl": _json_lines, ".ndjson": _json_lines, ".csv": _csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path} does not end in one of {', '.join(readers)}: rename it to what it is")
    try:
        for line, fact in reader(path):
            yield _checked(fact, fault_of, path, line)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, _parsed(line, path, number)


def _json(path: Path) -> Iterator[tuple[int, Any]]:
    content = _parsed(path.read_text(encoding="utf-8-sig"), path, 1)
    yield from enumerate(content if isinstance(content, list) else [content], 1)


def _csv(path: Path) -> Iterator[tuple[int, Any]]:
    """Cells are text: a definition's `type` turns them into numbers. An empty cell is a field that is not there."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines, strict=True)
        try:
            _check_names(reader.fieldnames or (), path, reader.line_num)
            for row in reader:
                if None in row:
                    raise UsageError(f"{path}, line {reader.line_num}: more cells than the first line has names")
                yield reader.line_num, {name: cell for name, cell in row.items() if cell}
        except csv.Error as error:
            raise UsageError(f"{path}, line {reader.line_num}: {error}") from None


def _check_names(names: Sequence[str], path: Path, line: int) -> None:
    """A fact has one field of a name, so the cells of all but one such column would be lost."""
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(f"{path}, line {line}: the column {name!r} is there twice: give each a name of its own")


def _parsed(text: str, path: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}, line {line + error.lineno - 1}: {error.msg}, column {error.colno}") from None
    except RecursionError:
        raise UsageError(f"{path}, line {line}: it is nested too deeply") from None
    except ValueError:
        # All that is left: an integer of more digits than Python reads.
        digits = sys.get_int_max_str_digits()
        raise UsageError(
            f"{path}, line {line}: a whole number has more than {digits:,} digits: write it as a text"
        ) from None


def _checked(fact: Any, fault_of: Callable[[dict[str, Any]], str | None], path: Path, place: int) -> dict[str, Any]:
    if not isinstance(fact, dict):
        raise UsageError(f"{path}, fact at {place}: a fact is a JSON object, with an id")
    if fault := fault_of(fact):
        raise UsageError(f"{path}, fact at {place}: {fault}")
    return fact
