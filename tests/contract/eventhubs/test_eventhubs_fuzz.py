"""Malformed frames against the running server: it lives on, and the client is told an AMQP condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.frames import AMQP_HEADER, SASL_FRAME, SASL_HEADER, encode_frame
from local.emulators.eventhubs.amqp.performatives import Attach, Begin, Close, Flow, Open, SaslInit, Transfer
from local.emulators.eventhubs.amqp.types import Described, ULong
from tests.contract.eventhubs.wire import WireClient, event
from tests.property.local.amqp_values import VALUES, damaged

if TYPE_CHECKING:
    from tests.contract.eventhubs.server import LocalEventHubs

_HANDSHAKE = SASL_HEADER + encode_frame(0, SaslInit("ANONYMOUS"), kind=SASL_FRAME) + AMQP_HEADER
_CBS = Described(ULong(0x29), ["$cbs"])
_CONVERSATION = [
    encode_frame(0, Open("fuzz")),
    encode_frame(1, Begin(None, 0, 100, 100)),
    encode_frame(1, Attach("l", 0, False, source=_CBS, target=_CBS)),
    encode_frame(1, Flow(0, 100, 0, 100)),
    encode_frame(1, Transfer(0, 0, b"t", 0, False), event(b"not a token")),
]
# The server is shared by all examples: that is the point.
_SHARED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _frame(code: int, fields: list[object]) -> bytes:
    body = encode(Described(ULong(code), fields))
    return (8 + len(body)).to_bytes(4) + b"\x02\x00\x00\x01" + body


def _close_after(server: LocalEventHubs, octets: bytes) -> Close | None:
    """What the server closes with when it has read `octets`, our own close and the end."""
    with WireClient(server.port) as client:
        client.write(octets + encode_frame(0, Close()))
        client.end_of_output()
        return client.until_closed()


def _check(server: LocalEventHubs, close: Close | None) -> None:
    """The client was told an AMQP condition, if anything was wrong, and the server serves."""
    if close is not None and close.error is not None:
        condition = cast(Any, close.error.value)[0]
        assert condition.startswith("amqp:")
        assert condition != "amqp:internal-error"
    with WireClient(server.port) as client:
        client.ready()


@_SHARED
@given(code=st.sampled_from([*range(0x10, 0x19), 0x41, 0x99]), fields=st.lists(VALUES, max_size=14))
def test_performatives_with_any_fields_are_survived(
    local_hubs: LocalEventHubs, code: int, fields: list[object]
) -> None:
    """A frame that is well formed but means nothing is refused, never failed upon."""
    close = _close_after(local_hubs, _HANDSHAKE + b"".join(_CONVERSATION[:3]) + _frame(code, fields))
    assert close is not None
    _check(local_hubs, close)


@_SHARED
@given(st.data())
def test_a_damaged_conversation_is_survived(local_hubs: LocalEventHubs, data: st.DataObject) -> None:
    """Wherever the bytes are wrong, the connection is closed and nothing else happens."""
    octets = data.draw(damaged(b"".join(_CONVERSATION)))
    _check(local_hubs, _close_after(local_hubs, _HANDSHAKE + octets))


@_SHARED
@given(octets=st.binary(max_size=100))
def test_random_bytes_are_survived(local_hubs: LocalEventHubs, octets: bytes) -> None:
    """A client that speaks something else is shown the door."""
    _check(local_hubs, _close_after(local_hubs, octets))
