"""What clients other than Python's put on the wire, byte for byte, and how the local Event Hubs answers."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.performatives import Attach, Detach, Disposition, Transfer
from local.emulators.eventhubs.amqp.types import Described, Symbol, ULong
from tests.contract.eventhubs.wire import CHANNEL, WireClient, event, sas_token

if TYPE_CHECKING:
    from tests.contract.eventhubs.server import LocalEventHubs

ACCEPTED, REJECTED = 0x24, 0x25
READER = "other/ConsumerGroups/$Default/Partitions/0"
LATEST = {Symbol("apache.org:selector-filter:string"): "amqp.annotation.x-opt-offset > '@latest'"}
MEBIBYTE = 1024 * 1024
HUB_TYPE, PARTITION_TYPE = "com.microsoft:eventhub", "com.microsoft:partition"

# The filter of .NET's AmqpFilter: a symbol, and a string described by the number 0x13700000A.
_DOTNET_FILTER_HEAD = b"\xa3\x21apache.org:selector-filter:string" + bytes.fromhex("0080000000137000000a")


def dotnet_attach(handle: int, selector: str) -> bytes:
    """The frame with which .NET attaches a receiver: the selector's value stands without quotes."""
    text = selector.encode()
    pair = _DOTNET_FILTER_HEAD + b"\xa1" + bytes((len(text),)) + text
    filters = b"\xc1" + bytes((len(pair) + 1, 2)) + pair
    address = b"\xa1" + bytes((len(READER),)) + READER.encode()
    fields = address + b"\x40" * 6 + filters
    source = b"\x00\x53\x28\xc0" + bytes((len(fields) + 1, 8)) + fields
    name = b"\xa1\x06reader"
    # name, handle, role: receiver, snd-settle-mode: settled, rcv-settle-mode, source, target
    body = name + bytes((0x52, handle)) + b"\x41\x50\x01\x50\x00" + source + b"\x00\x53\x29\x45"
    performative = b"\x00\x53\x12\xd0" + (len(body) + 4).to_bytes(4) + (7).to_bytes(4) + body
    return (len(performative) + 8).to_bytes(4) + b"\x02\x00" + CHANNEL.to_bytes(2) + performative


def condition(error: Any) -> str:
    """The condition of an `error` composite."""
    return str(error.value[0])


@pytest.fixture
def ready(wire: WireClient) -> WireClient:
    """A connection with a token, and a sender to `other` on link 1."""
    wire.authorize()
    wire.attach(1, "other", receiver=False)
    return wire


def last_event(wire: WireClient) -> dict[str, Any]:
    """Partition 0 of `other` as `$management` describes it."""
    wire.attach(10, "$management", receiver=True)
    wire.attach(11, "$management", receiver=False)
    wire.credit(10, 10)
    request = {"operation": "READ", "type": PARTITION_TYPE, "name": "other", "partition": "0"}
    described: dict[str, Any] = wire.ask(11, dict(request))["value"]
    return described


@pytest.mark.parametrize(
    "selector",
    [
        "amqp.annotation.x-opt-offset > {offset_before}",
        "amqp.annotation.x-opt-offset >= {offset}",
        "amqp.annotation.x-opt-sequence-number > {sequence_before}",
        "amqp.annotation.x-opt-sequence-number >= {sequence}",
        "amqp.annotation.x-opt-enqueued-time > {time_before}",
    ],
)
def test_a_start_position_of_dotnet_stands_without_quotes(ready: WireClient, selector: str) -> None:
    """Offsets, sequence numbers and times, each exclusive or inclusive, as .NET writes them."""
    body = uuid.uuid4().bytes
    assert ready.publish(1, event(body)).descriptor == ACCEPTED
    last = last_event(ready)
    sequence, offset = int(last["last_enqueued_sequence_number"]), int(last["last_enqueued_offset"])
    moment = int(last["last_enqueued_time_utc"])
    places = {
        "offset": offset, "offset_before": offset - 1, "sequence": sequence, "sequence_before": sequence - 1,
        "time_before": moment - 1,
    }  # fmt: skip
    ready.write(dotnet_attach(2, selector.format(**places)))
    assert ready.expect(Attach).source is not None
    ready.credit(2, 100)
    while ready.delivered(1) != [body]:
        pass


def test_dotnet_reads_from_the_beginning_and_from_the_end(ready: WireClient) -> None:
    """`-1` and `@latest`, without quotes."""
    assert ready.publish(1, event(b"before")).descriptor == ACCEPTED
    ready.write(dotnet_attach(2, "amqp.annotation.x-opt-offset > @latest"))
    assert ready.expect(Attach).source is not None
    assert ready.publish(1, event(b"after"), delivery_id=1).descriptor == ACCEPTED
    ready.credit(2, 1)
    assert ready.delivered(1) == [b"after"]
    ready.write(dotnet_attach(3, "amqp.annotation.x-opt-offset > -1"))
    assert ready.expect(Attach).source is not None
    ready.credit(3, 1, next_incoming_id=2)
    transfer = ready.expect_frame(Transfer)
    annotations = next(messages.sections(transfer.payload)).value
    assert annotations[Symbol("x-opt-sequence-number")] == 0


@pytest.mark.parametrize("value", ["'1", "1'", "''", "", "1 or 1=1"])
def test_quotes_stand_on_both_sides_or_not_at_all(ready: WireClient, value: str) -> None:
    """A selector that is neither spelling is refused."""
    ready.write(dotnet_attach(2, f"amqp.annotation.x-opt-offset > {value}"))
    assert condition(ready.expect(Detach).error) == "com.microsoft:argument-error"


def send_in_frames(wire: WireClient, message: bytes, delivery_id: int, *, settled: bool = False) -> None:
    """One delivery in frames of 60 000 bytes."""
    for start in range(0, len(message), 60_000):
        is_more = start + 60_000 < len(message)
        wire.send(Transfer(1, delivery_id, b"t", 0, settled, is_more), message[start : start + 60_000])


def test_a_too_large_message_is_rejected_and_the_link_goes_on(ready: WireClient) -> None:
    """@azure/event-hubs waits for the end of its time-out when the link is detached instead."""
    send_in_frames(ready, event(bytes(MEBIBYTE + 1)), 0)
    state: Any = ready.expect(Disposition).state
    assert state.descriptor == REJECTED
    assert condition(state.value[0]) == "amqp:link:message-size-exceeded"
    body = bytes(MEBIBYTE - len(event(b"")) - 3)  # three more bytes for the length of a long body
    send_in_frames(ready, event(body), 1)
    disposition = ready.expect(Disposition)
    assert (disposition.first, disposition.state) == (1, Described(ULong(ACCEPTED), []))


def test_a_too_large_message_that_is_given_up_is_no_message(ready: WireClient) -> None:
    """An aborted delivery gets no disposition, however large it was."""
    for _ in range(18):
        ready.send(Transfer(1, 0, b"t", 0, False, True), bytes(60_000))
    ready.send(Transfer(1, 0, b"t", 0, False, False, aborted=True))
    assert ready.publish(1, event(b"next"), delivery_id=1).descriptor == ACCEPTED


def test_a_too_large_message_that_is_settled_detaches_the_link(ready: WireClient) -> None:
    """A sender that waits for no disposition learns of it by a detach."""
    send_in_frames(ready, event(bytes(MEBIBYTE + 1)), 0, settled=True)
    assert condition(ready.expect(Detach).error) == "amqp:link:message-size-exceeded"


# As the libraries write them: azure-eventhub puts delivery annotations last, rhea the footer before the body.
PYTHON_ANNOTATIONS_LAST = "005372c10602a3016d5401 005375a00178 005378c10602a301665401 005371c10802a303686f705401"
RHEA_FOOTER_FIRST = "00537045 00537345 005378d10000000900000002a10161 5201 005375a00178"
RHEA_NULL_DATA = "00537045 00537345 00537540"
RHEA_NULL_VALUE = "00537045 00537345 00537740"


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (PYTHON_ANNOTATIONS_LAST, "005375a00178 005378c10602a301665401"),
        (RHEA_FOOTER_FIRST, "00537345 005375a00178 005378d10000000900000002a101615201"),
        (RHEA_NULL_DATA, "00537345 00537540"),
        (RHEA_NULL_VALUE, "00537345 00537740"),
    ],
    ids=["delivery annotations last", "footer first", "null data", "null value"],
)
@pytest.mark.parametrize("is_batch", [False, True])
def test_sections_arrive_in_the_order_of_the_standard(
    ready: WireClient, sent: str, received: str, is_batch: bool
) -> None:
    """Delivery annotations are for the broker and end there; all other sections are delivered, the footer last."""
    ready.attach(0, READER, receiver=True, filters=LATEST)
    message = bytes.fromhex(sent)
    if is_batch:
        batch = encode(Described(ULong(messages.DATA), message))
        state = ready.publish(1, batch, messages.BATCH_FORMAT)
    else:
        state = ready.publish(1, message)
    assert state.descriptor == ACCEPTED, state
    ready.credit(0, 1)
    payload = ready.expect_frame(Transfer).payload
    sections = list(messages.sections(payload))
    assert sections[0].code == messages.MESSAGE_ANNOTATIONS
    assert payload[sections[1].start :] == bytes.fromhex(received)


@pytest.mark.parametrize(
    "message",
    [
        "005371c10802a303686f705401 005375a00178 005371c10802a303686f705401",
        "005378c10602a301665401 005375a00178 005378c10602a301665401",
    ],
    ids=["delivery annotations twice", "footer twice"],
)
def test_a_section_that_stands_twice_is_refused(ready: WireClient, message: str) -> None:
    """Only data and sequence sections may repeat."""
    state = ready.publish(1, bytes.fromhex(message))
    assert state.descriptor == REJECTED
    assert condition(state.value[0]) == "amqp:decode-error"


def test_a_batch_without_a_message_in_it_is_refused(ready: WireClient) -> None:
    """A null in the place of a message is no event that could be stored."""
    state = ready.publish(1, bytes.fromhex("00537540"), messages.BATCH_FORMAT)
    assert condition(state.value[0]) == "amqp:decode-error"


def managed(wire: WireClient, **properties: object) -> dict[str, Any]:
    """The answer of `$management`."""
    wire.attach(10, "$management", receiver=True)
    wire.attach(11, "$management", receiver=False)
    wire.credit(10, 10)
    return wire.ask(11, properties)


@pytest.mark.parametrize(
    ("properties", "status", "expected"),
    [
        ({"type": PARTITION_TYPE, "name": "other", "partition": "9"}, 400, "com.microsoft:argument-out-of-range"),
        ({"type": PARTITION_TYPE, "name": "other", "partition": "XYZ"}, 400, "com.microsoft:argument-out-of-range"),
        ({"type": HUB_TYPE, "name": "nope"}, 404, "amqp:not-found"),
        ({"type": "com.microsoft:nothing", "name": "other"}, 400, "amqp:not-implemented"),
        ({"type": HUB_TYPE, "name": "other", "security_token": "x"}, 401, "amqp:unauthorized-access"),
    ],
)
def test_a_refusal_of_management_has_a_condition(
    ready: WireClient, properties: dict[str, object], status: int, expected: str
) -> None:
    """Clients map `error-condition`, a symbol, and only without one the status."""
    answer = managed(ready, operation="READ", **properties)
    assert (answer["status-code"], answer["error-condition"]) == (status, expected)
    assert isinstance(answer["error-condition"], Symbol)


def test_an_answer_of_management_that_is_no_refusal_has_no_condition(ready: WireClient) -> None:
    """A client would take it for an error."""
    answer = managed(ready, operation="READ", type=HUB_TYPE, name="other")
    assert (answer["status-code"], answer.get("error-condition")) == (200, None)


@pytest.mark.parametrize(
    ("token", "status"),
    [
        (sas_token("sb://localhost/other"), 200),
        (sas_token("sb://localhost/"), 200),
        (sas_token("sb://localhost/orders"), 401),
        (sas_token("sb://localhost/other", key="wrong"), 401),
        (sas_token("sb://localhost/other", expires_in_seconds=-1), 401),
    ],
)
def test_management_checks_the_token_of_a_request(local_hubs: LocalEventHubs, token: str, status: int) -> None:
    """A request brings its own token, and that one counts, with or without another at `$cbs`."""
    for has_token_at_cbs in (False, True):
        with WireClient(local_hubs.port) as wire:
            wire.open()
            wire.begin()
            if has_token_at_cbs:
                wire.authorize()
            answer = managed(wire, operation="READ", type=HUB_TYPE, name="other", security_token=token)
            assert answer["status-code"] == status
