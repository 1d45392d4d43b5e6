"""What comes before the first frame of a connection: protocol headers and SASL.

SASL lets everyone in, as in Azure: a client proves itself afterwards, with a token that it puts to `$cbs`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import FRAMING_ERROR, ILLEGAL_STATE, AmqpError, MalformedError
from local.emulators.eventhubs.amqp.frames import AMQP_HEADER, SASL_FRAME, SASL_HEADER, ProtocolHeader, encode_frame
from local.emulators.eventhubs.amqp.performatives import SaslInit, SaslMechanisms, SaslOutcome
from local.emulators.eventhubs.amqp.types import Array, Symbol

if TYPE_CHECKING:
    from local.emulators.eventhubs.amqp.frames import Frame

# MSSBCBS is what clients of the Azure SDK for .NET choose.
_MECHANISMS = Array((Symbol("MSSBCBS"), Symbol("ANONYMOUS")))
_OK = 0


class _Stage(Enum):
    START = auto()
    SASL = auto()
    AUTHENTICATED = auto()
    DONE = auto()


class Handshake:
    """The server's side of the start of one connection."""

    def __init__(self) -> None:
        self._stage = _Stage.START

    @property
    def is_done(self) -> bool:
        """Whether AMQP frames may follow."""
        return self._stage is _Stage.DONE

    def answer(self, unit: ProtocolHeader | Frame) -> bytes:
        """What to write in answer to a protocol header or SASL frame."""
        if isinstance(unit, ProtocolHeader):
            return self._answer_header(unit.octets)
        if self._stage is not _Stage.SASL or unit.kind != SASL_FRAME or not isinstance(unit.performative, SaslInit):
            raise AmqpError(ILLEGAL_STATE, "A frame came before the protocol headers and SASL were exchanged.")
        if unit.performative.mechanism not in _MECHANISMS:
            offered = " or ".join(str(mechanism) for mechanism in _MECHANISMS)
            raise AmqpError(ILLEGAL_STATE, f"SASL {unit.performative.mechanism} is not offered; use {offered}.")
        self._stage = _Stage.AUTHENTICATED
        return encode_frame(0, SaslOutcome(_OK), kind=SASL_FRAME)

    def _answer_header(self, header: bytes) -> bytes:
        if header == SASL_HEADER and self._stage is _Stage.START:
            self._stage = _Stage.SASL
            return SASL_HEADER + encode_frame(0, SaslMechanisms(_MECHANISMS), kind=SASL_FRAME)
        if header == AMQP_HEADER and self._stage in (_Stage.START, _Stage.AUTHENTICATED):
            self._stage = _Stage.DONE
            return AMQP_HEADER
        raise MalformedError(f"The protocol header {header.hex()} is not AMQP 1.0, or comes too late.", FRAMING_ERROR)
