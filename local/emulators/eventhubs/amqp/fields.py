"""The types that fields of performatives have: what a peer may send there, and how we write it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.types import Array, Described, Symbol, UByte, UInt, ULong, UShort

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field: what may stand there, and how it is written."""

    name: str
    accepts: Callable[[Any], bool]
    encode: Callable[[Any], bytes] = encode


def _unsigned(name: str, kind: type[int], bits: int) -> FieldType:
    return FieldType(
        name, lambda v: isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << bits, lambda v: encode(kind(v))
    )


UBYTE = _unsigned("ubyte", UByte, 8)
USHORT = _unsigned("ushort", UShort, 16)
UINT = _unsigned("uint", UInt, 32)
ULONG = _unsigned("ulong", ULong, 64)
BOOLEAN = FieldType("boolean", lambda v: isinstance(v, bool))
STRING = FieldType("string", lambda v: isinstance(v, str))
SYMBOL = FieldType("symbol", lambda v: isinstance(v, str), lambda v: encode(Symbol(v)))
# One symbol may stand for an array of one.
SYMBOLS = FieldType("array of symbols", lambda v: isinstance(v, Symbol | Array))
BINARY = FieldType("binary", lambda v: isinstance(v, bytes))
MAP = FieldType("map", lambda v: isinstance(v, dict))
COMPOSITE = FieldType("composite", lambda v: isinstance(v, Described))
ANY = FieldType("value", lambda _: True)


def wire(kind: FieldType, *, mandatory: bool = False) -> Any:
    """A dataclass field that stands on the wire as `kind`; one that is left out is None."""
    return field(default=None, metadata={"kind": kind, "mandatory": mandatory})
