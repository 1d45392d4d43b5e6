"""What an entry's row carries besides its keys: columns of the Table service, and the way back.

Scalars at the top of the projected document are native columns, for any Table tool to read. Everything else
goes into one JSON text, `_json`: nested values, nulls, names that are no property names, and values that
would not come back as they were. Our own columns begin with `_`:

    _fact   the fact's id and partition key
    _key    the values of the key parts, by name
    _json   the rest of the projected document
    _ref    true when the projection did not fit: fetch the fact instead
    _expires  when the entry goes by itself, in seconds since 1970

The first three are JSON. Long ones are split over `_json`, `_json_1`, `_json_2` and so on.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from shared.definitions.utf16 import CHARACTER_UNITS_MAX, utf16_length
from shared.entries.keys.fact_key import MISSING, encode_fact_key
from shared.entries.keys.limits import KEY_UNITS
from shared.entries.rows.json_text import NotJsonError, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.definitions.model import PartValue
    from shared.entries.keys.fact_key import FactKeyValue

ColumnValue: TypeAlias = str | int | float | bool
Columns: TypeAlias = dict[str, ColumnValue]

FACT: Final = "_fact"
KEY: Final = "_key"
REST: Final = "_json"
REFERENCE: Final = "_ref"
EXPIRES: Final = "_expires"

_PROPERTY_UNITS_MAX: Final = 32 * 1024
# A text of this many characters fits whatever it is made of.
_SHORT: Final = _PROPERTY_UNITS_MAX // CHARACTER_UNITS_MAX
# The service takes 1 MiB; a little is left for what the pipeline adds to a row.
ENTITY_BYTES_MAX: Final = 1024 * 1024 - 1024
# Of the service's 252, so that our own columns and the pieces of long texts always have room.
_NATIVE_COLUMNS_MAX: Final = 200
_INT64: Final = range(-(2**63), 2**63)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,254}")
_SERVICE_COLUMNS: Final = frozenset({"PartitionKey", "RowKey", "Timestamp"})
_SERVICE_NAMES: Final = frozenset({"partitionkey", "rowkey", "timestamp", "etag"})
# Not in XML, which the service also speaks; the surrogates have no UTF-8 either.
_NOT_PLAIN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@lru_cache(maxsize=4096)
def is_column_name(name: str) -> bool:
    """True when a field may be a native column under its own name."""
    return _NAME.fullmatch(name) is not None and name.lower() not in _SERVICE_NAMES


def document_columns(document: Mapping[str, Any]) -> Columns:
    """The columns of a projected document; raises `NotJsonError` for what no service can hold."""
    columns: Columns = {}
    rest: dict[str, Any] = {}
    for name, value in document.items():
        if not is_column_name(name):
            rest[name] = value
        # What `isprintable` calls printable is harmless, and most texts are: the rest is looked at closely.
        elif (type(value) is str and len(value) <= _SHORT and value.isprintable()) or _is_native(value):
            columns[name] = value
        else:
            rest[name] = value
    while len(columns) > _NATIVE_COLUMNS_MAX:
        name, column = columns.popitem()
        rest[name] = column
    if rest:
        put_text(columns, REST, dumps(rest))
    return columns


def _is_native(value: Any) -> bool:
    """True for a scalar that the service gives back as it was."""
    kind = type(value)
    if kind is str:
        return _NOT_PLAIN.search(value) is None and utf16_length(value) <= _PROPERTY_UNITS_MAX
    if kind is int:
        return value in _INT64
    if kind is float:
        # Azurite drops the sign of zero; what is not finite is not JSON, which `dumps` will say.
        return math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)
    return kind is bool


def put_text(columns: Columns, name: str, text: str) -> None:
    """A text of our own under this name, in as many pieces as it takes."""
    if len(text) <= _SHORT:
        columns[name] = text
        return
    size = _PROPERTY_UNITS_MAX if text.isascii() else _SHORT
    for number, start in enumerate(range(0, len(text), size)):
        columns[f"{name}_{number}" if number else name] = text[start : start + size]


def take_text(columns: Mapping[str, ColumnValue], name: str) -> str | None:
    """The text that `put_text` put, or None when there is none."""
    piece = columns.get(name)
    if isinstance(piece, str) and len(piece) < _SHORT:
        return piece  # the first piece of several is longer
    pieces = []
    while isinstance(piece, str):
        pieces.append(piece)
        piece = columns.get(f"{name}_{len(pieces)}")
    return "".join(pieces) if pieces else None


def fact_columns(fact_id: str, partition_key: Sequence[FactKeyValue]) -> Columns:
    """The columns that say which fact an entry is of; the same in every index."""
    columns: Columns = {}
    # Cosmos DB writes a missing value as {} too.
    values: list[Any] = [{} if value is MISSING else value for value in partition_key]
    put_text(columns, FACT, dumps({"id": fact_id, "partitionKey": values}))
    return columns


def entity_bytes(columns: Mapping[str, ColumnValue]) -> int:
    """At most how large a row with these columns is, as the service counts: UTF-16, names included."""
    total = 4 + 2 * 2 * KEY_UNITS
    for name, value in columns.items():
        total += 12 + 2 * len(name) + (2 * utf16_length(value) if isinstance(value, str) else 8)
    return total


class StoredEntry(NamedTuple):
    """An entry as its row tells it. A named tuple, as there is one per row that a lookup reads."""

    id: str
    partition_key: tuple[FactKeyValue, ...]
    key: dict[str, PartValue | None]
    document: dict[str, Any]
    is_reference: bool


def read_columns(columns: Mapping[str, ColumnValue]) -> StoredEntry:
    """The entry that these columns were made from. Keys and columns of the service are passed over."""
    document: dict[str, Any] = {
        name: value for name, value in columns.items() if name[0] != "_" and name not in _SERVICE_COLUMNS
    }
    if (rest := take_text(columns, REST)) is not None:
        document |= loads(rest)
    key = take_text(columns, KEY)
    if key is None:
        raise NotJsonError("the row lacks _key")
    fact_id, partition_key = read_fact(columns)
    return StoredEntry(
        id=fact_id,
        partition_key=partition_key,
        key=loads(key),
        document=document,
        is_reference=columns.get(REFERENCE) is True,
    )


def fact_key_of(columns: Mapping[str, ColumnValue]) -> str:
    """The fact key of the fact that these columns are of."""
    fact_id, partition_key = read_fact(columns)
    return encode_fact_key(partition_key, fact_id)


def read_fact(columns: Mapping[str, ColumnValue]) -> tuple[str, tuple[FactKeyValue, ...]]:
    """The id and partition key of the fact that these columns are of."""
    text = take_text(columns, FACT)
    if text is None:
        raise NotJsonError("the row lacks _fact")
    fact = loads(text)
    return fact["id"], tuple([MISSING if value == {} else value for value in fact["partitionKey"]])
