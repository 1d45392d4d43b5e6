"""The limits of the Table service, checked before anything is sent.

Azurite accepts much that Azure refuses, and answers some of the rest with an endless or malformed answer; and
no 400 or 413 may ever reach a retry policy. Sizes are counted as the service counts them, in UTF-16.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.definitions.utf16 import CHARACTER_UNITS_MAX, utf16_length
from shared.errors import LimitError
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Replace, key_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.tables.port import EntityValue, Operation, RowRange

OPERATIONS_MAX: Final = 100
REQUEST_BYTES_MAX: Final = 4 * 1024 * 1024
ENTITY_BYTES_MAX: Final = 1024 * 1024
PROPERTIES_MAX: Final = 252
PROPERTY_BYTES_MAX: Final = 64 * 1024
PROPERTY_NAME_UNITS_MAX: Final = 255
KEY_UNITS_MAX: Final = 512
PAGE_ROWS_MAX: Final = 1000

_RESERVED_NAME: Final = "Timestamp"
_BAD_IN_KEY: Final = re.compile("[/\\\\#?\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_GOOD_TABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{2,62}")
_GOOD_ETAG: Final = re.compile(r"\*|W/\"[!#-~]*\"")


def check_table(table: str) -> None:
    """Table names are letters and digits, 3 to 63 of them, and start with a letter."""
    if not _GOOD_TABLE.fullmatch(table) or table.lower() == "tables":
        raise LimitError(f"{table!r} is not a table name: use 3 to 63 letters and digits, a letter first.")


def check_key(key: object, which: str) -> None:
    """Keys are texts of at most 1 KiB without the characters that the service forbids."""
    if not isinstance(key, str):
        raise LimitError(f"An entity's {which} is a {type(key).__name__}: give it a text.")
    if len(key) * CHARACTER_UNITS_MAX > KEY_UNITS_MAX and utf16_length(key) > KEY_UNITS_MAX:
        raise LimitError(f"A {which} has more than {KEY_UNITS_MAX} UTF-16 units: shorten it.")
    if bad := _BAD_IN_KEY.search(key):
        raise LimitError(f"A {which} contains {bad.group()!r}, which the Table service forbids: encode it.")


def check_query(rows: RowRange | None, limit: int | None, select: Sequence[str]) -> None:
    """A query has good keys and names, and asks for 1 to 1000 rows; for 0, Azurite would page for ever."""
    if rows is not None:
        for key, which in ((rows.partition, PARTITION_KEY), (rows.lower, ROW_KEY), (rows.upper, ROW_KEY)):
            if key is not None:
                check_key(key, which)
    for name in select:
        _check_name(name)
    if limit is not None and not 1 <= limit <= PAGE_ROWS_MAX:
        raise LimitError(f"A query asks for {limit} rows: ask for 1 to {PAGE_ROWS_MAX}.")


def check_transaction(operations: Sequence[Operation]) -> None:
    """1 to 100 operations on different entities of one partition. The entities are checked as they are encoded."""
    if not 1 <= len(operations) <= OPERATIONS_MAX:
        raise LimitError(f"A transaction has {len(operations)} operations: send 1 to {OPERATIONS_MAX}.")
    partition, _ = key_of(operations[0])
    check_key(partition, PARTITION_KEY)
    seen = set()
    for operation in operations:
        other, row = key_of(operation)
        if other != partition:
            raise LimitError("A transaction spans two partitions: send one transaction for each partition.")
        check_key(row, ROW_KEY)
        if row in seen:
            raise LimitError("A transaction names one entity twice: name each entity once.")
        seen.add(row)
        if isinstance(operation, (Replace, Delete)):
            _check_etag(operation.etag)


def _check_etag(etag: str) -> None:
    if not _GOOD_ETAG.fullmatch(etag):
        raise LimitError(f"{etag!r} is not an ETag: use one that the Table service gave, or '*'.")


def check_entity(entity: Mapping[str, EntityValue], json_bytes: int) -> None:
    """At most 252 own properties with good names, 64 KiB each, 1 MiB together, given how long its JSON is. The keys are
    checked apart."""
    _check_names(tuple(entity))
    # A character takes at most twice as many bytes in UTF-16 as in JSON. An entity below this size fits, so most
    # entities need no exact count.
    if json_bytes > PROPERTY_BYTES_MAX // 2:
        _check_sizes(entity)


@lru_cache(maxsize=1024)
def _check_names(names: tuple[str, ...]) -> None:
    """Looked up: the rows of one index have the same few names over and over."""
    own = len(names) - 2
    if own > PROPERTIES_MAX:
        raise LimitError(f"An entity has {own} properties: the Table service takes {PROPERTIES_MAX}.")
    for name in names:
        _check_name(name)


def _check_name(name: str) -> None:
    if not name.isidentifier() or len(name) > PROPERTY_NAME_UNITS_MAX or name == _RESERVED_NAME:
        raise LimitError(
            f"{name!r} is not a property name: use letters, digits and '_', no digit first, not Timestamp."
        )


def _check_sizes(entity: Mapping[str, EntityValue]) -> None:
    """By the service's own formula: 4, the keys, and for each property 8, its name and its value, and 4 more for the
    length of a text or of bytes."""
    total = 4
    for name, value in entity.items():
        size = _value_bytes(value)
        if name != PARTITION_KEY and name != ROW_KEY:
            if size > PROPERTY_BYTES_MAX:
                raise LimitError(f"Property {name} takes {size} bytes: the limit is {PROPERTY_BYTES_MAX}; split it.")
            size += 2 * len(name) + (12 if isinstance(value, (str, bytes)) else 8)
        total += size
    if total > ENTITY_BYTES_MAX:
        raise LimitError(f"An entity takes {total} bytes: the limit is {ENTITY_BYTES_MAX}; project less of it.")


def _value_bytes(value: EntityValue) -> int:
    if isinstance(value, str):
        return 2 * utf16_length(value)
    if isinstance(value, bytes):
        return len(value)
    return 1 if isinstance(value, bool) else 8


def check_request(size_bytes: int) -> None:
    """A request has less than 4 MiB."""
    if size_bytes >= REQUEST_BYTES_MAX:
        raise LimitError(f"A transaction takes {size_bytes} bytes: send fewer operations at once.")
