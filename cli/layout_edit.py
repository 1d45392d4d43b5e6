"""Changes `shards` and `hot` of one index in the text of a definitions file, and nothing else in it.

Comments, order and style stay: only the value of a key is replaced, or a key added to the index's mapping. `rebalance`
loads the result and compares: an edit that is not possible here, such as one behind an alias, is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def with_layout(text: str, index: str, shards: int | None, hot: Mapping[str, int]) -> str:
    """The text with another number of shards (None: as it is), and these values with their own."""
    if shards is not None:
        text = _with_key(text, index, "shards", str(shards))
    if hot:
        found = _value(_index_node(text, index), "hot")
        before = {} if found is None else {key.value: value.value for key, value in found.value}
        listed = {**before, **hot}
        text = _with_key(text, index, "hot", f"{{{', '.join(f'{_key(value)}: {listed[value]}' for value in listed)}}}")
    return text


def _key(value: str) -> str:
    """A value as a key in YAML; quoted unless it is a plain word."""
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _with_key(text: str, index: str, key: str, value: str) -> str:
    node = _index_node(text, index)
    found = _value(node, key)
    if found is not None:
        start, end = found.start_mark.index, _end(text, found)
        return f"{text[:start]}{value}{text[end:]}"
    last = node.value[-1][1]
    if node.flow_style:
        place = _end(text, last)
        return f"{text[:place]}, {key}: {value}{text[place:]}"
    # Behind the last key of the mapping, and behind what is said about it on its line.
    line_end = text.find("\n", _end(text, last))
    place = len(text) if line_end < 0 else line_end
    indent = " " * node.value[0][0].start_mark.column
    carriage = "\r" if text[place - 1 : place] == "\r" else ""
    place -= len(carriage)
    return f"{text[:place]}{carriage}\n{indent}{key}: {value}{text[place:]}"


def _end(text: str, node: Any) -> int:
    """Where a value ends: a block, where its last value does. Its own end lies where the next value begins."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    start, end = node.start_mark.index, node.end_mark.index
    return int(start + len(text[start:end].rstrip()))


def _index_node(text: str, index: str) -> Any:
    """The mapping of an index; the file is known to have it."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return _value(_value(root, "indexes"), index)


def _value(mapping: Any, key: str) -> Any:
    return next((value for name, value in mapping.value if name.value == key), None)
