"""The frames' bodies: SASL, connection, session and link performatives, field by field in the order of the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.fields import (
    ANY,
    BINARY,
    BOOLEAN,
    COMPOSITE,
    MAP,
    STRING,
    SYMBOL,
    SYMBOLS,
    UBYTE,
    UINT,
    ULONG,
    USHORT,
    wire,
)

if TYPE_CHECKING:
    from local.emulators.eventhubs.amqp.types import Array, Described, Symbol


@dataclass(frozen=True, slots=True)
class SaslMechanisms:
    """What the server offers."""

    mechanisms: Array = wire(SYMBOLS, mandatory=True)


@dataclass(frozen=True, slots=True)
class SaslInit:
    """What the client chose."""

    mechanism: str = wire(SYMBOL, mandatory=True)
    initial_response: bytes | None = wire(BINARY)
    hostname: str | None = wire(STRING)


@dataclass(frozen=True, slots=True)
class SaslOutcome:
    """Whether the client may go on."""

    code: int = wire(UBYTE, mandatory=True)
    additional: bytes | None = wire(BINARY)


@dataclass(frozen=True, slots=True)
class Open:
    """The start of a connection."""

    container_id: str = wire(STRING, mandatory=True)
    hostname: str | None = wire(STRING)
    max_frame_size: int | None = wire(UINT)
    channel_max: int | None = wire(USHORT)
    idle_time_out_ms: int | None = wire(UINT)
    outgoing_locales: object = wire(ANY)
    incoming_locales: object = wire(ANY)
    offered_capabilities: object = wire(ANY)
    desired_capabilities: object = wire(ANY)
    properties: dict[object, object] | None = wire(MAP)


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a session."""

    remote_channel: int | None = wire(USHORT)
    next_outgoing_id: int = wire(UINT, mandatory=True)
    incoming_window: int = wire(UINT, mandatory=True)
    outgoing_window: int = wire(UINT, mandatory=True)
    handle_max: int | None = wire(UINT)
    offered_capabilities: object = wire(ANY)
    desired_capabilities: object = wire(ANY)
    properties: dict[object, object] | None = wire(MAP)


@dataclass(frozen=True, slots=True)
class Attach:
    """The start of a link; `is_receiver` is the role of who sends this frame."""

    name: str = wire(STRING, mandatory=True)
    handle: int = wire(UINT, mandatory=True)
    is_receiver: bool = wire(BOOLEAN, mandatory=True)
    snd_settle_mode: int | None = wire(UBYTE)
    rcv_settle_mode: int | None = wire(UBYTE)
    source: Described | None = wire(COMPOSITE)
    target: Described | None = wire(COMPOSITE)
    unsettled: dict[object, object] | None = wire(MAP)
    incomplete_unsettled: bool | None = wire(BOOLEAN)
    initial_delivery_count: int | None = wire(UINT)
    max_message_size: int | None = wire(ULONG)
    offered_capabilities: Symbol | Array | None = wire(SYMBOLS)
    desired_capabilities: Symbol | Array | None = wire(SYMBOLS)
    properties: dict[object, object] | None = wire(MAP)


@dataclass(frozen=True, slots=True)
class Flow:
    """How much may be sent, in the session and on a link."""

    next_incoming_id: int | None = wire(UINT)
    incoming_window: int = wire(UINT, mandatory=True)
    next_outgoing_id: int = wire(UINT, mandatory=True)
    outgoing_window: int = wire(UINT, mandatory=True)
    handle: int | None = wire(UINT)
    delivery_count: int | None = wire(UINT)
    link_credit: int | None = wire(UINT)
    available: int | None = wire(UINT)
    drain: bool | None = wire(BOOLEAN)
    echo: bool | None = wire(BOOLEAN)
    properties: dict[object, object] | None = wire(MAP)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A message or a part of one, which follows as the frame's payload."""

    handle: int = wire(UINT, mandatory=True)
    delivery_id: int | None = wire(UINT)
    delivery_tag: bytes | None = wire(BINARY)
    message_format: int | None = wire(UINT)
    settled: bool | None = wire(BOOLEAN)
    more: bool | None = wire(BOOLEAN)
    rcv_settle_mode: int | None = wire(UBYTE)
    state: object = wire(ANY)
    resume: bool | None = wire(BOOLEAN)
    aborted: bool | None = wire(BOOLEAN)
    batchable: bool | None = wire(BOOLEAN)


@dataclass(frozen=True, slots=True)
class Disposition:
    """What became of deliveries `first` to `last`."""

    is_receiver: bool = wire(BOOLEAN, mandatory=True)
    first: int = wire(UINT, mandatory=True)
    last: int | None = wire(UINT)
    settled: bool | None = wire(BOOLEAN)
    state: Described | None = wire(COMPOSITE)
    batchable: bool | None = wire(BOOLEAN)


@dataclass(frozen=True, slots=True)
class Detach:
    """The end of a link."""

    handle: int = wire(UINT, mandatory=True)
    closed: bool | None = wire(BOOLEAN)
    error: Described | None = wire(COMPOSITE)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a session."""

    error: Described | None = wire(COMPOSITE)


@dataclass(frozen=True, slots=True)
class Close:
    """The end of a connection."""

    error: Described | None = wire(COMPOSITE)
