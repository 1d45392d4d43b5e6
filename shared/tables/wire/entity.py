"""Entities as the Table service's JSON: our values out, the service's values in.

Every value comes back as it was, with its type, but for the sign of zero, which Azurite drops. Types are
annotated only where JSON does not tell them: Edm.Int64, Edm.Binary, and doubles that are whole or not finite.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final

import orjson

from shared.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.port import Entity, EntityValue

TYPE_SUFFIX: Final = "@odata.type"
ETAG_PROPERTY: Final = "odata.etag"
# Kept by the service, not by us: an entity reads back as it was written.
_SERVICE_PROPERTIES: Final = frozenset({"Timestamp", "odata.metadata", ETAG_PROPERTY})
# Values whose type is clear from their JSON.
_PLAIN: Final = frozenset({str, bool})
_INT64_LOWEST, _INT64_HIGHEST = -(2**63), 2**63 - 1
_NAMES_OF_NON_FINITE: Final = {math.inf: "Infinity", -math.inf: "-Infinity"}


def encode(entity: Mapping[str, EntityValue]) -> bytes:
    """The entity as a JSON object on one line; raises `LimitError` for a value that the service has no type for."""
    fields = entity if _PLAIN.issuperset(map(type, entity.values())) else _typed_fields(entity)
    try:
        return orjson.dumps(fields)
    except TypeError as error:
        # A lone surrogate: it has no UTF-8, so no request can carry it.
        raise LimitError(f"An entity cannot be written as JSON ({error}): take the value out.") from error


def _typed_fields(entity: Mapping[str, EntityValue]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in entity.items():
        kind = value.__class__
        if kind is str or kind is bool:
            fields[name] = value
        else:
            _put_typed(fields, name, value)
    return fields


def _put_typed(fields: dict[str, object], name: str, value: EntityValue) -> None:
    if isinstance(value, int):
        if not _INT64_LOWEST <= value <= _INT64_HIGHEST:
            raise LimitError(f"Property {name} is an integer that 64 bits do not hold: store it as text.")
        fields[name] = str(int(value))
        fields[name + TYPE_SUFFIX] = "Edm.Int64"
    elif isinstance(value, float):
        _put_double(fields, name, float(value))
    elif isinstance(value, bytes):
        fields[name] = b64encode(value).decode("ascii")
        fields[name + TYPE_SUFFIX] = "Edm.Binary"
    elif isinstance(value, str):
        fields[name] = str(value)
    else:
        raise LimitError(f"Property {name} has a {type(value).__name__}: use str, int, float, bool or bytes.")


def _put_double(fields: dict[str, object], name: str, value: float) -> None:
    if not math.isfinite(value):
        fields[name] = _NAMES_OF_NON_FINITE.get(value, "NaN")
    elif value.is_integer():
        fields[name] = value
    else:
        fields[name] = value
        return
    fields[name + TYPE_SUFFIX] = "Edm.Double"


def decode(fields: Mapping[str, Any]) -> Entity:
    """The entity in an answer with minimal metadata. Nulls (a selected property it lacks) are left out."""
    # No property name has an "@": this is a third cheaper than looking for the suffix, and there is one per row read.
    entity: Entity = {
        name: value
        for name, value in fields.items()
        if value is not None and "@" not in name and name not in _SERVICE_PROPERTIES
    }
    for annotation in [name for name in fields if "@" in name]:
        name = annotation.removesuffix(TYPE_SUFFIX)
        if name in entity:
            entity[name] = _typed(fields[annotation], fields[name])
    return entity


def _typed(kind: str, value: Any) -> EntityValue:
    """A value with an annotation; dates and GUIDs, which only others write, stay text."""
    if kind == "Edm.Int64":
        return int(value)
    if kind == "Edm.Double":
        return float(value)
    if kind == "Edm.Binary":
        return b64decode(value)
    plain: EntityValue = value
    return plain
