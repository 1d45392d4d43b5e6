"""Files with facts: JSON (one array, or one fact), JSON lines and CSV, as a stream of facts, each with its line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cli.errors import UsageError
from cli.output import counted
from cli.sources.csv_files import csv_facts
from cli.sources.fact_lines import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    # What is wrong with a fact, None for nothing.
    Check: TypeAlias = "Callable[[dict[str, Any]], str | None]"

_FAULTS_SHOWN: Final = 100
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class FactFiles:
    """How files are read: the types of CSV columns, and the field that is the id of a fact."""

    types: Mapping[str, str] | None = None
    identity: str | None = None

    def facts(self, path: Path) -> Iterator[dict[str, Any]]:
        """The facts of a file; raises `UsageError` with the line of the first that is none."""
        for line in self._lines(path):
            if line.fact is None:
                raise UsageError(f"{path}, line {line.number}: {line.fault}")
            yield line.fact

    def checked(self, files: Sequence[Path], fault_of: Check) -> dict[Path, int]:
        """How many facts each file has; raises `UsageError` with everything that is wrong in any of them."""
        counts, faults = {}, []
        for file in files:
            counts[file] = 0
            for line in self._lines(file):
                counts[file] += 1
                if fault := line.fault if line.fact is None else fault_of(line.fact):
                    faults.append(f"{file}, line {line.number}: {fault}")
        if faults:
            raise UsageError(_listed(faults, sum(counts.values())))
        return counts

    def _lines(self, path: Path) -> Iterator[Line]:
        try:
            for line in self._reader(path)(path):
                yield line if line.fact is None or self.identity is None else _with_id(line, line.fact, self.identity)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None

    def _reader(self, path: Path) -> Callable[[Path], Iterator[Line]]:
        readers: dict[str, Callable[[Path], Iterator[Line]]] = {
            ".json": _json,
            ".jsonl": _json_lines,
            ".ndjson": _json_lines,
            ".csv": lambda file: csv_facts(file, self.types or {}),
        }
        reader = readers.get(path.suffix.lower())
        if reader is None:
            raise UsageError(f"{path} does not end in one of {', '.join(readers)}: rename it to what it is")
        return reader


def facts_in(path: Path) -> Iterator[dict[str, Any]]:
    """The facts of a file as they are; raises `UsageError` with the line of the first that is none."""
    return FactFiles().facts(path)


def _listed(faults: Sequence[str], facts: int) -> str:
    """All faults; the first ones when there are very many."""
    if len(faults) == 1:
        return faults[0]
    more = len(faults) - _FAULTS_SHOWN
    rest = [f"and {more:,} more"] if more > 0 else []
    head = f"nothing was written: {len(faults):,} of {counted(facts, 'fact')} have to be corrected"
    return "\n  ".join([head, *faults[:_FAULTS_SHOWN], *rest])


def _with_id(line: Line, fact: dict[str, Any], name: str) -> Line:
    """The line with the value of a field as its id."""
    value = fact.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return Line(line.number, None, f'it has no "{name}" that can be its id: a text or a whole number')
    return Line(line.number, {"id": str(value), **{key: of for key, of in fact.items() if key != "id"}})


def _json_lines(path: Path) -> Iterator[Line]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, text in enumerate(lines, 1):
            if text.strip():
                # With the line break, what is cut off would be missed on the next line.
                yield _alone(text.rstrip("\n"), number)


def _json(path: Path) -> Iterator[Line]:
    text = path.read_text(encoding="utf-8-sig")
    start = _after_space(text, 0)
    return _array(text, start + 1) if text[start : start + 1] == "[" else iter([_alone(text, 1)])


def _alone(text: str, first_line: int) -> Line:
    """The only value of a text that begins on this line."""
    start = _after_space(text, 0)
    line, end = _parsed(text, start, first_line + text.count("\n", 0, start), first_line)
    return (
        line
        if not text[end:].strip()
        else Line(line.number, None, "there is more text after the fact: write one fact per line")
    )


def _array(text: str, position: int) -> Iterator[Line]:
    """The members of an array. What is no JSON ends it: nobody knows where the next member begins."""
    number, before = 1, 0
    if text.startswith("]", _after_space(text, position)):
        return
    mark = ","
    while mark == ",":
        position = _after_space(text, position)
        number, before = number + text.count("\n", before, position), position
        line, end = _parsed(text, position, number, 1)
        yield line
        if end > len(text):
            return
        position = _after_space(text, end) + 1
        mark = text[position - 1 : position]
    if mark != "]" or text[position:].strip():
        yield Line(number, None, "no comma or end of the array behind this fact")


def _after_space(text: str, position: int) -> int:
    """Where something follows; JSON knows these four kinds of space."""
    while text[position : position + 1] in (" ", "\t", "\n", "\r"):
        position += 1
    return position


def _parsed(text: str, position: int, number: int, first_line: int) -> tuple[Line, int]:
    """The value that begins on a line, and where it ends: behind the end of the text when it is none."""
    try:
        value, end = _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        return Line(first_line + error.lineno - 1, None, f"{error.msg}, column {error.colno}"), len(text) + 1
    except RecursionError:
        return Line(number, None, "it is nested too deeply"), len(text) + 1
    except ValueError:
        # All that is left: an integer of more digits than Python reads.
        digits = sys.get_int_max_str_digits()
        return Line(number, None, f"a whole number has more than {digits:,} digits: write it as a text"), len(text) + 1
    return Line(number, value if isinstance(value, dict) else None, "a fact is a JSON object, with an id"), end
