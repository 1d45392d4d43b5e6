"""The fact key: partition key values with their JSON types, then the id, as one piece of key text.

Strings are written as they are; other values are marked, so that "1", 1, true, null and "missing" stay five
different partitions, as they are in Cosmos DB. Order means nothing here, only that no two facts share a key.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias

from shared.definitions.values import plain_number
from shared.entries.keys.limits import FACT_UNITS, after_cut, cut_to_fit, is_cut
from shared.entries.keys.strings import END, escape, unescape

if TYPE_CHECKING:
    from collections.abc import Sequence


class Missing(Enum):
    """A partition key value that the fact does not have. Cosmos DB tells it from null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
FactKeyValue: TypeAlias = str | int | float | bool | Missing | None

_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MARK: Final = ' "='
_CONSTANTS: Final[dict[FactKeyValue, str]] = {
    None: _MARK + "null" + END,
    MISSING: _MARK + "none" + END,
}
_VALUES: Final[dict[str, FactKeyValue]] = {"null": None, "none": MISSING, "true": True, "false": False}


def encode_fact_key(partition_key: Sequence[FactKeyValue], fact_id: str) -> str:
    """The fact key of a fact, within its budget. Every value must be `is_fact_key_value`."""
    if len(partition_key) == 1 and type(partition_key[0]) is str:
        encoded = escape(partition_key[0]) + END + escape(fact_id) + END
    else:
        encoded = "".join([*map(_encode, partition_key), escape(fact_id), END])
    return cut_to_fit(encoded, FACT_UNITS)


def decode_fact_key(fact_key: str) -> tuple[tuple[FactKeyValue, ...], str] | None:
    """The partition key and id that a fact key was made of; None when it was cut. 12 and 12.0 are the same key."""
    if is_cut(fact_key):
        return None
    *values, fact_id = fact_key.removesuffix(END).split(END)
    return tuple(map(_decode, values)), unescape(fact_id)


def fact_key_in(entry_key: str, levels: int) -> str | None:
    """The fact key that an entry key ends with, of a fact with so many partition key values; None when it was cut."""
    if is_cut(entry_key):
        return None
    parts = entry_key.removesuffix(END).split(END)[-levels - 1 :]
    # Sort parts that were cut have no end of their own.
    parts[0] = after_cut(parts[0])
    return END.join(parts) + END


def is_fact_key_value(value: object) -> bool:
    """True for what may be a partition key value: a scalar that some service can hold."""
    if isinstance(value, str):
        return is_encodable(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int, Missing))


def is_encodable(text: str) -> bool:
    """False for a text with a lone surrogate: it has no UTF-8, so no service can hold it."""
    return text.isascii() or _LONE_SURROGATE.search(text) is None


def fact_hash(fact_key: str) -> int:
    """The first 8 bytes of SHA-256 of the fact key: decides shards and ledger buckets."""
    return int.from_bytes(sha256(fact_key.encode()).digest()[:8], "big")


def _encode(value: FactKeyValue) -> str:
    if isinstance(value, str):
        return escape(value) + END
    if isinstance(value, bool):
        return f"{_MARK}{'true' if value else 'false'}{END}"
    if isinstance(value, (int, float)):
        return f"{_MARK}{plain_number(value)}{END}"
    return _CONSTANTS[value]


def _decode(encoded: str) -> FactKeyValue:
    if not encoded.startswith(_MARK):
        return unescape(encoded)
    text = encoded.removeprefix(_MARK)
    if text in _VALUES:
        return _VALUES[text]
    return float(text) if set(text) & set(".en") else int(text)
