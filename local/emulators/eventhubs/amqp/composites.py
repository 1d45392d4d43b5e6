"""Performatives to bytes and back.

A peer may leave out trailing fields; what it sends is checked against the type of each field. We write every field of
every performative: azure-eventhub indexes them blindly.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from local.emulators.eventhubs.amqp.encode import NULL, encode, encode_list
from local.emulators.eventhubs.amqp.errors import INVALID_FIELD, AmqpError, MalformedError
from local.emulators.eventhubs.amqp.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    Transfer,
)
from local.emulators.eventhubs.amqp.types import ULong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local.emulators.eventhubs.amqp.fields import FieldType

_TYPES: dict[int, type[Any]] = {
    0x10: Open, 0x11: Begin, 0x12: Attach, 0x13: Flow, 0x14: Transfer, 0x15: Disposition, 0x16: Detach,
    0x17: End, 0x18: Close, 0x40: SaslMechanisms, 0x41: SaslInit, 0x44: SaslOutcome,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Layout:
    """The fields of one performative, in their order on the wire."""

    names: tuple[str, ...]
    kinds: tuple[FieldType, ...]
    mandatory: tuple[bool, ...]
    head: bytes


def _layout(code: int, performative: type[Any]) -> _Layout:
    members = fields(performative)
    return _Layout(
        tuple(member.name for member in members),
        tuple(member.metadata["kind"] for member in members),
        tuple(member.metadata["mandatory"] for member in members),
        b"\x00" + encode(ULong(code)),
    )


_LAYOUTS = {performative: _layout(code, performative) for code, performative in _TYPES.items()}


def encode_performative(performative: object) -> bytes:
    """The bytes of a performative, with every field of its type."""
    layout = _LAYOUTS[type(performative)]
    values = [getattr(performative, name) for name in layout.names]
    written = [NULL if v is None else kind.encode(v) for v, kind in zip(values, layout.kinds, strict=True)]
    return layout.head + encode_list(written)


def performative_from(code: object, values: Sequence[object]) -> Any:
    """The performative with this descriptor and these fields, whose types are checked."""
    performative = _TYPES.get(code) if isinstance(code, int) else None
    if performative is None:
        raise MalformedError(f"There is no performative {code!r}.")
    layout = _LAYOUTS[performative]
    if len(values) > len(layout.names):
        raise MalformedError(f"{performative.__name__} has {len(values)} fields, more than are defined.")
    padded = [*values, *[None] * (len(layout.names) - len(values))]
    for position, value in enumerate(padded):
        if value is None:
            if layout.mandatory[position]:
                raise AmqpError(INVALID_FIELD, f"{performative.__name__} lacks its field {layout.names[position]}.")
        elif not layout.kinds[position].accepts(value):
            kind = layout.kinds[position].name
            raise AmqpError(INVALID_FIELD, f"{performative.__name__}.{layout.names[position]} is not a {kind}.")
    return performative(*padded)
