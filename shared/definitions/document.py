"""YAML as plain values with the line of every key, and with none of YAML 1.1's surprises.

Plain scalars follow YAML 1.2: `no` and `on` are text (`partition: on` is a path), dates stay text. A key that
stands twice is a fault here; YAML itself would silently keep the last.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.definitions.findings import Findings, KeyPath

# libyaml is ten times as fast; PyYAML is sometimes built without it.
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTANTS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,4000}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def parse(text: str, findings: Findings) -> object:
    """The root value of a YAML document; None with a fault when it cannot be read."""
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        _report_syntax(error, findings)
        return None
    value = None if root is None else _Reader(findings).value(root, (), ())
    if value is None and not findings.faults:
        findings.fault((), "the file is empty", "Begin with `version: 1`, `sources:` and `indexes:`.")
    return value


def _report_syntax(error: yaml.YAMLError, findings: Findings) -> None:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "the text is not YAML"
    findings.lines[()] = mark.line + 1 if mark else 1
    findings.fault((), f"YAML cannot be read: {problem}", "Check indentation, colons, quotes and brackets there.")


class _Reader:
    """Turns composed nodes into values and notes their lines."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._lines = findings.lines

    def value(self, node: yaml.Node, path: KeyPath, above: tuple[yaml.Node, ...]) -> object:
        """The value of a node; `above` are the nodes it lies in, so that an alias to one of them is seen."""
        self._lines.setdefault(path, node.start_mark.line + 1)
        if any(node is other for other in above):
            self._findings.fault(path, "the alias refers to what it lies in", "Write the value out.")
            return None
        if isinstance(node, yaml.MappingNode):
            return {key: self.value(item, (*path, key), (*above, node)) for key, item in self._items(node, path)}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, n), (*above, node)) for n, item in enumerate(node.value)]
        return _scalar(cast(yaml.ScalarNode, node))

    def _items(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[str, yaml.Node]]:
        seen: set[str] = set()
        for key_node, item in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._findings.fault(path, f"line {line} has a list or mapping as a key", "Use a plain word as key.")
                continue
            key = key_node.value
            if key in seen:
                self._findings.fault((*path, key), f"the key stands again in line {line}", "Keep one of the two.")
                continue
            seen.add(key)
            self._lines[*path, key] = line
            yield key, item


def _scalar(node: yaml.ScalarNode) -> object:
    text: str = node.value
    # A plain scalar has no style: None in PyYAML's own parser, "" in libyaml's.
    if node.style:
        return text
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
