"""Partial document update: the operations of a PATCH, applied in order to a copy of the document."""

from __future__ import annotations

from typing import Any

from local.emulators.cosmos.data.documents import SYSTEM_PROPERTIES
from local.emulators.cosmos.errors import BadRequestError

MAX_OPERATIONS = 10
_INDEX_DIGITS = 9
_NEED_VALUE = ("add", "set", "replace", "incr")


def apply_patch(document: dict[str, Any], operations: Any) -> dict[str, Any]:
    """Apply the operations to `document`, in place; any fault refuses the whole patch."""
    if not isinstance(operations, list) or not 0 < len(operations) <= MAX_OPERATIONS:
        raise BadRequestError(f'"operations" must be a list of 1 to {MAX_OPERATIONS} operations.')
    for operation in operations:
        _apply(document, operation)
    return document


def _apply(document: dict[str, Any], operation: Any) -> None:
    if not isinstance(operation, dict) or not isinstance(operation.get("op"), str):
        raise BadRequestError('A patch operation must be an object with "op" and "path".')
    name = operation["op"].lower()
    if name in _NEED_VALUE and "value" not in operation:
        raise BadRequestError(f'The patch operation {name!r} needs a "value".')
    path = _segments(operation.get("path"))
    if name == "move":
        source = _segments(operation.get("from"))
        if path[: len(source)] == source:
            raise BadRequestError('"from" of a move must not be a part of its "path".')
        value = _remove(document, source)
        _put(document, path, value, inserting=True)
    elif name in ("add", "set"):
        _put(document, path, operation["value"], inserting=name == "add")
    elif name == "replace":
        _replace(document, path, operation["value"])
    elif name == "remove":
        _remove(document, path)
    elif name == "incr":
        _increment(document, path, operation["value"])
    else:
        raise BadRequestError(
            f"The patch operation {name!r} is not known: use add, set, replace, remove, incr or move."
        )


def _segments(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or not pointer.startswith("/") or len(pointer) < 2:
        raise BadRequestError(f"The path {pointer!r} of a patch operation must look like /name/0/inner.")
    segments = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]
    if segments == ["id"] or segments[0] in SYSTEM_PROPERTIES:
        raise BadRequestError(f"{pointer} cannot be patched.")
    return segments


def _parent(document: dict[str, Any], path: list[str]) -> dict[str, Any] | list[Any]:
    target: Any = document
    for segment in path[:-1]:
        if isinstance(target, dict) and segment in target:
            target = target[segment]
        elif isinstance(target, list):
            target = target[_index(segment, len(target) - 1)]
        else:
            raise _missing(path)
    if not isinstance(target, (dict, list)):
        raise _missing(path)
    return target


def _missing(path: list[str]) -> BadRequestError:
    return BadRequestError(f"/{'/'.join(path)} does not exist in the document.")


def _index(segment: str, last: int) -> int:
    if not (segment.isascii() and segment.isdigit()) or len(segment) > _INDEX_DIGITS or int(segment) > last:
        raise BadRequestError(f"{segment!r} is not an index of the array: it must be a number up to {last}.")
    return int(segment)


def _put(document: dict[str, Any], path: list[str], value: Any, *, inserting: bool) -> None:
    parent, last = _parent(document, path), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    elif inserting:
        parent.insert(_index(last, len(parent)), value)
    else:
        parent[_index(last, len(parent) - 1)] = value


def _replace(document: dict[str, Any], path: list[str], value: Any) -> None:
    parent, last = _parent(document, path), path[-1]
    if isinstance(parent, list):
        parent[_index(last, len(parent) - 1)] = value
    elif last in parent:
        parent[last] = value
    else:
        raise _missing(path)


def _remove(document: dict[str, Any], path: list[str]) -> Any:
    parent, last = _parent(document, path), path[-1]
    if isinstance(parent, list):
        return parent.pop(_index(last, len(parent) - 1))
    if last not in parent:
        raise _missing(path)
    return parent.pop(last)


def _increment(document: dict[str, Any], path: list[str], by: Any) -> None:
    parent, last = _parent(document, path), path[-1]
    if isinstance(parent, list):
        position = _index(last, len(parent) - 1)
        parent[position] = _number(parent[position], path) + _number(by, path)
    else:
        # A field that is not there yet counts as 0, as in the service.
        parent[last] = _number(parent.get(last, 0), path) + _number(by, path)


def _number(value: Any, path: list[str]) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadRequestError(f'"incr" of /{"/".join(path)} needs numbers, not {value!r}.')
    return value
