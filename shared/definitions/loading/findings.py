"""What checking finds: faults that must be fixed and advice that may be taken, each with its place.

A `Findings` collects all of them before any is shown: a file is fixed once, not fault by fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a definitions file: where, what, and what to do."""

    file: str
    line: int
    key: str
    what: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        subject = f"{self.key}: " if self.key else ""
        return f"{place}: {subject}{self.what}. {self.fix}"


def dotted_key(path: KeyPath) -> str:
    """A key path as people write it: `indexes.by-town.sort[0].type`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


@dataclass(slots=True)
class Findings:
    """Collects faults and advice about one file; knows the line of every key path in it."""

    file: str
    lines: dict[KeyPath, int] = field(default_factory=dict)
    faults: list[Finding] = field(default_factory=list)
    advice: list[Finding] = field(default_factory=list)

    def fault(self, path: KeyPath, what: str, fix: str) -> None:
        """Something that must be fixed."""
        self.faults.append(self._finding(path, what, fix))

    def advise(self, path: KeyPath, what: str, fix: str) -> None:
        """Something that works, and that the pattern warns about."""
        self.advice.append(self._finding(path, what, fix))

    def _finding(self, path: KeyPath, what: str, fix: str) -> Finding:
        written = self.as_written(path)
        return Finding(self.file, self.line_of(written), dotted_key(written), what, fix)

    def as_written(self, path: KeyPath) -> KeyPath:
        """The path without the numbers of items that the file does not list: one part may stand alone."""
        written: KeyPath = ()
        for step in path:
            if isinstance(step, str) or (*written, step) in self.lines:
                written = (*written, step)
        return written

    def line_of(self, path: KeyPath) -> int:
        """The line of the longest part of the path that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)
