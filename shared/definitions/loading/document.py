"""YAML as plain values with the line of every key, and with none of YAML 1.1's surprises.

Plain scalars follow YAML 1.2: `no` and `on` are text (`partition: on` is a path), dates stay text. A key that stands
twice is a fault here; YAML itself would silently keep the last. Built from the parser's events with a stack of our
own, because composing recurses in C: a few thousand brackets would end the process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings, KeyPath

# libyaml is more than ten times as fast; PyYAML is sometimes built without it.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTANTS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,4000}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# No definition nests deeper than a dozen levels; aliases are counted as often as they are used.
_LEVELS_MAX: Final = 50
_VALUES_MAX: Final = 200_000


def parse(text: str, findings: Findings) -> object:
    """The root value of a YAML document; None with a fault when it cannot be read."""
    builder = _Builder(findings)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        _report_syntax(text, error, findings)
        return None
    except _UnusableError:
        return None
    if builder.root is None and not findings.faults:
        findings.fault((), "the file is empty", 'Begin with "version: 1", "sources:" and "indexes:".')
    return builder.root


def _report_syntax(text: str, error: yaml.YAMLError, findings: Findings) -> None:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "the text is not YAML"
    findings.lines[()] = mark.line + 1 if mark else 1
    if mark and "cannot start any token" in problem and text[mark.index : mark.index + 1] == "\t":
        findings.fault((), "YAML cannot be read: there is a tab where only spaces may be", "Write spaces there.")
        return
    findings.fault((), f"YAML cannot be read: {problem}", "Check indentation, colons, quotes and brackets there.")


class _UnusableError(Exception):
    """There is no use in reading on; the fault is already reported."""


@dataclass(slots=True)
class _Open:
    """A list or mapping that has begun and not ended."""

    value: Any
    path: KeyPath
    anchor: str | None
    # Of a mapping: the key whose value comes next; None when a key does.
    key: str | None = None
    # The value that comes next belongs to a key that cannot be used.
    is_dropping: bool = False


class _Builder:
    """Builds the value from events, and notes the line of every place in it."""

    def __init__(self, findings: Findings) -> None:
        self.root: object = None
        self._findings = findings
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._begun_at: list[int] = []
        self._documents = 0
        self._values = 0

    def take(self, event: object) -> None:
        """The next event of the parser."""
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._give_up(event, "there is a second document", 'Keep one, without "---" in between.')
        elif isinstance(event, ScalarEvent):
            self._put(_scalar(event), event, event.anchor, 1)
        elif isinstance(event, AliasEvent):
            self._put_alias(event)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._begin(event)
        elif isinstance(event, CollectionEndEvent):
            done = self._open.pop()
            self._put(done.value, event, done.anchor, self._values - self._begun_at.pop())

    def _begin(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if len(self._open) >= _LEVELS_MAX:
            self._give_up(event, "values are nested too deeply", "No definition needs that.")
        path = self._next_path()
        self._findings.lines.setdefault(path, _line(event))
        value: Any = {} if isinstance(event, MappingStartEvent) else []
        self._open.append(_Open(value, path, event.anchor))
        self._begun_at.append(self._values)

    def _next_path(self) -> KeyPath:
        """The place of the value that comes next."""
        if not self._open:
            return ()
        parent = self._open[-1]
        if isinstance(parent.value, list):
            return (*parent.path, len(parent.value))
        return parent.path if parent.key is None else (*parent.path, parent.key)

    def _put_alias(self, event: AliasEvent) -> None:
        name = str(event.anchor)
        if name not in self._anchors:
            is_open = any(parent.anchor == name for parent in self._open)
            what = f"the alias *{name} refers to what contains it" if is_open else f"there is no anchor &{name}"
            self._give_up(event, what, "Write the value out.")
        value, size = self._anchors[name]
        self._put(value, event, None, size)

    def _put(self, value: object, event: Any, anchor: str | None, size: int) -> None:
        """A finished value, into what it lies in."""
        self._values += 1 if isinstance(event, CollectionEndEvent) else size
        if self._values > _VALUES_MAX:
            self._give_up(event, "the file is too large", "Split it over several apps.")
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        parent = self._open[-1] if self._open else None
        if parent is None:
            self._findings.lines.setdefault((), _line(event))
            self.root = value
        elif isinstance(parent.value, list):
            self._findings.lines.setdefault((*parent.path, len(parent.value)), _line(event))
            parent.value.append(value)
        elif parent.key is None:
            self._put_key(parent, event)
        else:
            if not parent.is_dropping:
                parent.value[parent.key] = value
            parent.key = None

    def _put_key(self, parent: _Open, event: Any) -> None:
        line = _line(event)
        is_text = isinstance(event, ScalarEvent)
        parent.key = event.value if isinstance(event, ScalarEvent) else ""
        parent.is_dropping = not is_text or parent.key in parent.value
        if not is_text:
            what = f"line {line} has a list, mapping or alias as a key"
            self._findings.fault(parent.path, what, "Use a plain word as key.")
        elif parent.is_dropping:
            place = (*parent.path, parent.key)
            self._findings.fault(place, f"the key is repeated in line {line}", "Keep one of the two.")
        else:
            self._findings.lines[*parent.path, parent.key] = line

    def _give_up(self, event: Any, what: str, fix: str) -> None:
        path = self._next_path()
        self._findings.lines[path] = _line(event)
        self._findings.fault(path, what, fix)
        raise _UnusableError


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _scalar(event: ScalarEvent) -> object:
    text: str = event.value
    # A plain scalar has no style: None in PyYAML's own parser, "" in libyaml's.
    if event.style:
        return text
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
