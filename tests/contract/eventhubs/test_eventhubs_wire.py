"""The AMQP of the local Event Hubs where no SDK shows it: credit, windows, settlement, epochs, refusals, idleness."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.frames import (
    AMQP_HEADER,
    HEARTBEAT,
    SASL_FRAME,
    SASL_HEADER,
    ProtocolHeader,
    encode_frame,
)
from local.emulators.eventhubs.amqp.performatives import (
    Attach,
    Begin,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslInit,
    SaslMechanisms,
    Transfer,
)
from local.emulators.eventhubs.amqp.types import Described, Symbol, ULong
from tests.contract.eventhubs.server import LocalEventHubs
from tests.contract.eventhubs.wire import CHANNEL, WireClient, event, sas_token

if TYPE_CHECKING:
    from pathlib import Path

ACCEPTED, REJECTED = 0x24, 0x25
READER = "other/ConsumerGroups/$Default/Partitions/0"
LATEST = {Symbol("apache.org:selector-filter:string"): "amqp.annotation.x-opt-offset > '@latest'"}


def condition(error: Any) -> str:
    """The condition of an `error` composite."""
    fields: Any = error.value
    return str(fields[0])


def at_the_end(wire: WireClient, handle: int, **options: Any) -> Attach:
    """A reader of partition 0 of `other` that starts now."""
    return wire.attach(handle, READER, receiver=True, filters=LATEST, **options)


def test_a_message_arrives_in_frames_of_the_size_that_the_client_takes(local_hubs: LocalEventHubs) -> None:
    """A client with frames of 512 bytes receives 5 000 bytes in several, whole and in order."""
    body = uuid.uuid4().bytes * 300
    with WireClient(local_hubs.port) as wire:
        wire.open(max_frame_size=512)
        wire.begin()
        wire.authorize()
        at_the_end(wire, 0)
        wire.attach(1, "other", receiver=False)
        message = event(body)
        for start in range(0, len(message), 400):
            more = start + 400 < len(message)
            wire.send(Transfer(1, 0, b"t", 0, False, more), message[start : start + 400])
        assert wire.expect(Disposition).state == Described(ULong(ACCEPTED), [])
        wire.credit(0, 1)
        assert wire.delivered(1) == [body]


def test_no_more_is_sent_than_the_credit_allows(wire: WireClient) -> None:
    """Two credits are two messages, and the third comes with the next credit."""
    wire.authorize()
    at_the_end(wire, 0)
    wire.attach(1, "other", receiver=False)
    batch = b"".join(encode(Described(ULong(messages.DATA), event(body))) for body in (b"1", b"2", b"3"))
    assert wire.publish(1, batch, messages.BATCH_FORMAT).descriptor == ACCEPTED
    wire.credit(0, 2)
    assert wire.delivered(2) == [b"1", b"2"]
    assert wire.is_silent(0.2)
    wire.credit(0, 1, delivery_count=2)
    assert wire.delivered(1) == [b"3"]


def test_no_more_frames_are_sent_than_the_session_window_allows(local_hubs: LocalEventHubs) -> None:
    """A window of two frames holds back the rest of a message until the client opens it."""
    body = uuid.uuid4().bytes * 100
    with WireClient(local_hubs.port) as wire:
        wire.open(max_frame_size=512)
        wire.begin(incoming_window=1000)
        wire.authorize()
        at_the_end(wire, 0)
        wire.attach(1, "other", receiver=False)
        wire.publish(1, event(body))
        replies = 1  # the transfer that answered the token
        wire.credit(0, 1, next_incoming_id=replies, incoming_window=2)
        first = [wire.expect_frame(Transfer) for _ in range(2)]
        assert wire.is_silent(0.2)
        wire.send(Flow(replies + 2, 100, 0, 100))
        rest = wire.expect_frame(Transfer)
        while rest.performative.more:
            first.append(rest)
            rest = wire.expect_frame(Transfer)
        payload = b"".join(frame.payload for frame in [*first, rest])
        assert body in payload


def test_a_drain_gives_unused_credit_back(wire: WireClient) -> None:
    """A client that drains is told that its credit is used up, when there is nothing to send."""
    wire.authorize()
    at_the_end(wire, 0)
    wire.credit(0, 10, drain=True)
    flow = wire.expect(Flow)
    assert (flow.handle, flow.delivery_count, flow.link_credit, flow.drain) == (0, 10, 0, True)


def test_an_echo_is_answered(wire: WireClient) -> None:
    """A flow that asks for one gets a flow."""
    wire.send(Flow(0, 100, 0, 100, echo=True))
    assert wire.expect(Flow).handle is None


def test_a_client_that_insists_receives_unsettled_messages(wire: WireClient) -> None:
    """With snd-settle-mode unsettled, a delivery is settled when both sides have said so."""
    wire.authorize()
    at_the_end(wire, 0, snd_settle_mode=0, rcv_settle_mode=1)
    wire.attach(1, "other", receiver=False)
    wire.publish(1, event(b"x"))
    wire.credit(0, 1)
    transfer = wire.expect(Transfer)
    assert transfer.settled is False
    assert transfer.delivery_id is not None
    wire.send(Disposition(True, transfer.delivery_id, None, False, Described(ULong(ACCEPTED), [])))
    assert wire.expect(Disposition).settled is True


def test_a_settled_message_is_stored_without_an_answer(wire: WireClient) -> None:
    """A client that does not wait gets no disposition."""
    wire.authorize()
    at_the_end(wire, 0)
    wire.attach(1, "other", receiver=False)
    wire.expect(Flow)
    wire.send(Transfer(1, 0, b"t", 0, True), event(b"quick"))
    assert wire.is_silent(0.2)
    wire.credit(0, 1)
    assert wire.delivered(1) == [b"quick"]


def test_an_aborted_message_is_forgotten(wire: WireClient) -> None:
    """The parts of a delivery that the client gives up are not stored."""
    wire.authorize()
    at_the_end(wire, 0)
    wire.attach(1, "other", receiver=False)
    wire.send(Transfer(1, 0, b"t", 0, False, True), event(b"half")[:5])
    wire.send(Transfer(1, 0, b"t", 0, False, False, aborted=True))
    wire.publish(1, event(b"whole"), delivery_id=1)
    wire.credit(0, 5)
    assert wire.delivered(1) == [b"whole"]


def test_a_message_over_one_mebibyte_is_refused(wire: WireClient) -> None:
    """The delivery is rejected with the condition that clients know."""
    wire.authorize()
    wire.attach(1, "other", receiver=False)
    for number in range(17):
        wire.send(Transfer(1, 0, b"t", 0, False, number < 16), bytes(65000))
    state: Any = wire.expect(Disposition).state
    assert condition(state.value[0]) == "amqp:link:message-size-exceeded"


def test_a_message_that_cannot_be_read_is_rejected_and_the_link_goes_on(wire: WireClient) -> None:
    """One bad message is rejected with amqp:decode-error; the next one is accepted."""
    wire.authorize()
    wire.attach(1, "other", receiver=False)
    state = wire.publish(1, b"\x00\x53\x99\x40")
    assert state.descriptor == REJECTED
    assert condition(state.value[0]) == "amqp:decode-error"
    assert wire.publish(1, event(b"good"), delivery_id=1).descriptor == ACCEPTED


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("nope", "amqp:not-found"),
        ("orders/ConsumerGroups/nope/Partitions/0", "amqp:not-found"),
        ("orders/Publishers/me", "amqp:not-found"),
        ("", "amqp:not-found"),
        ("orders/ConsumerGroups/$Default/Partitions/9", "com.microsoft:argument-out-of-range"),
        ("orders/ConsumerGroups/$Default/Partitions/x", "com.microsoft:argument-out-of-range"),
        ("orders/ConsumerGroups/$Default", "amqp:not-allowed"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(wire: WireClient, address: str, expected: str) -> None:
    """The attach is answered without a source, and the detach says why."""
    wire.authorize()
    assert wire.attach(0, address, receiver=True).source is None
    assert condition(wire.expect(Detach).error) == expected


@pytest.mark.parametrize("selector", ["amqp.annotation.x-opt-color > '1'", "x", "amqp.annotation.x-opt-offset > ''"])
def test_a_filter_that_is_no_start_position_is_refused(wire: WireClient, selector: str) -> None:
    """The detach quotes the filter."""
    wire.authorize()
    wire.attach(0, READER, receiver=True, filters={Symbol("selector"): selector})
    assert condition(wire.expect(Detach).error) == "com.microsoft:argument-error"


def test_a_position_that_the_partition_has_not_reached_is_refused(wire: WireClient) -> None:
    """A checkpoint of other data is an error, not a silent gap."""
    wire.authorize()
    selector = "amqp.annotation.x-opt-sequence-number > '1000000'"
    wire.attach(0, READER, receiver=True, filters={Symbol("selector"): selector})
    assert condition(wire.expect(Detach).error) == "com.microsoft:argument-error"


def test_a_hub_is_closed_to_a_client_without_a_token(wire: WireClient) -> None:
    """Before put-token every link to a hub is refused."""
    wire.attach(0, "other", receiver=False)
    assert condition(wire.expect(Detach).error) == "amqp:unauthorized-access"


def test_a_token_opens_only_the_hub_that_it_names(wire: WireClient) -> None:
    """A token for one hub does not open another."""
    assert wire.authorize("sb://localhost/other") == 202
    wire.attach(0, "orders", receiver=False)
    assert condition(wire.expect(Detach).error) == "amqp:unauthorized-access"
    assert wire.attach(1, "other", receiver=False).target is not None


@pytest.mark.parametrize(
    "token",
    [
        "",
        "SharedAccessSignature sr=x",
        "Bearer abc",
        sas_token("sb://localhost/", key="wrong"),
        sas_token("sb://localhost/", name="SomeoneElse"),
        sas_token("sb://localhost/", expires_in_seconds=-1),
    ],
)
def test_a_wrong_token_is_answered_with_401(wire: WireClient, token: str) -> None:
    """Malformed, forged, foreign and expired tokens open nothing."""
    assert wire.authorize(token=token or "-") == 401


@pytest.mark.parametrize(
    ("properties", "status"),
    [
        ({"operation": "READ", "type": "com.microsoft:eventhub", "name": "other"}, 200),
        ({"operation": "READ", "type": b"com.microsoft:partition", "name": "other", "partition": "0"}, 200),
        ({"operation": "READ", "type": "com.microsoft:partition", "name": "other", "partition": "1"}, 400),
        ({"operation": "READ", "type": "com.microsoft:eventhub", "name": "nope"}, 404),
        ({"operation": "DELETE", "type": "com.microsoft:eventhub", "name": "other"}, 400),
        ({}, 400),
    ],
)
def test_management_answers_what_it_knows(wire: WireClient, properties: dict[str, object], status: int) -> None:
    """READ of a hub or a partition, and a status that says what is wrong with anything else."""
    wire.authorize()
    wire.attach(0, "$management", receiver=True)
    wire.attach(1, "$management", receiver=False)
    wire.credit(0, 1)
    assert wire.ask(1, properties)["status-code"] == status


def test_an_equal_epoch_takes_the_partition_over(wire: WireClient) -> None:
    """The old reader is detached with amqp:link:stolen, the new one goes on."""
    wire.authorize()
    epoch: dict[object, object] = {Symbol("com.microsoft:epoch"): 3}
    at_the_end(wire, 0, properties=epoch)
    wire.send(Attach("thief", 1, True, source=_source(READER), properties=epoch))
    detach = wire.expect(Detach)
    assert (detach.handle, condition(detach.error)) == (0, "amqp:link:stolen")
    assert wire.expect(Attach).source is not None


@pytest.mark.parametrize("properties", [{Symbol("com.microsoft:epoch"): 2}, None])
def test_a_lower_epoch_or_none_is_refused_while_an_owner_reads(
    wire: WireClient, properties: dict[object, object] | None
) -> None:
    """The owner stays."""
    wire.authorize()
    at_the_end(wire, 0, properties={Symbol("com.microsoft:epoch"): 3})
    assert at_the_end(wire, 1, properties=properties).source is None
    detach = wire.expect(Detach)
    assert (detach.handle, condition(detach.error)) == (1, "amqp:link:stolen")


def test_a_sixth_reader_without_epoch_is_refused(wire: WireClient) -> None:
    """Five may share a partition of a consumer group; one that leaves makes room."""
    wire.authorize()
    for handle in range(5):
        assert at_the_end(wire, handle).source is not None
    assert at_the_end(wire, 5).source is None
    assert condition(wire.expect(Detach).error) == "amqp:resource-limit-exceeded"
    wire.send(Detach(0, True))
    assert wire.expect(Detach).error is None
    assert at_the_end(wire, 6).source is not None


def test_another_consumer_group_has_readers_of_its_own(wire: WireClient) -> None:
    """Epochs of one group do not concern another."""
    wire.authorize()
    at_the_end(wire, 0, properties={Symbol("com.microsoft:epoch"): 3})
    assert wire.attach(1, READER.replace("$Default", "audit"), receiver=True).source is not None


@pytest.mark.parametrize(
    ("performative", "expected"),
    [
        (Transfer(9, 0), "amqp:session:unattached-handle"),
        (Detach(9), "amqp:session:unattached-handle"),
        (Attach("x", 5000, True), "amqp:session:handle-in-use"),
    ],
)
def test_a_session_that_breaks_its_rules_ends_alone(wire: WireClient, performative: object, expected: str) -> None:
    """The session is ended with a condition; a new one can begin on the same connection."""
    wire.send(performative)
    assert condition(wire.expect(End).error) == expected
    wire.begin()
    assert wire.authorize() == 202


def test_frames_on_a_channel_that_has_ended_are_passed_over(wire: WireClient) -> None:
    """azure-eventhub detaches its links after the end of their session."""
    wire.send(End())
    wire.expect(End)
    wire.send(Detach(0, True))
    wire.begin()
    assert wire.authorize() == 202


@pytest.mark.parametrize(
    ("performative", "channel", "expected"),
    [
        (Detach(0), 7, "amqp:illegal-state"),
        (Open("again"), 0, "amqp:illegal-state"),
        (Begin(None, 0, 1, 1), CHANNEL, "amqp:not-allowed"),
        (Begin(None, 0, 1, 1), 5000, "amqp:not-allowed"),
    ],
)
def test_a_connection_that_breaks_its_rules_is_closed(
    wire: WireClient, performative: object, channel: int, expected: str
) -> None:
    """The close says which rule."""
    wire.send(performative, channel=channel)
    close = wire.until_closed()
    assert close is not None
    assert condition(close.error) == expected


@pytest.mark.parametrize("mechanism", ["PLAIN", "EXTERNAL"])
def test_only_anonymous_logins_are_taken(local_hubs: LocalEventHubs, mechanism: str) -> None:
    """Who a client is, it proves with a token; another mechanism is refused with the ones that are offered."""
    with WireClient(local_hubs.port) as wire:
        wire.write(SASL_HEADER + encode_frame(0, SaslInit(mechanism), kind=SASL_FRAME))
        assert wire.expect(SaslMechanisms).mechanisms == ("MSSBCBS", "ANONYMOUS")
        close = wire.until_closed()
        assert close is not None
        assert condition(close.error) == "amqp:illegal-state"


def test_another_version_of_the_protocol_is_refused(local_hubs: LocalEventHubs) -> None:
    """A client that starts with AMQP 0-9-1 is answered with the version that is spoken here, and closed."""
    with WireClient(local_hubs.port) as wire:
        wire.write(b"AMQP\x00\x00\x09\x01")
        assert wire.next() == ProtocolHeader(AMQP_HEADER)
        close = wire.until_closed()
        assert close is not None
        assert condition(close.error) == "amqp:connection:framing-error"


def test_a_silent_connection_is_closed_and_a_beating_one_is_not(tmp_path: Path) -> None:
    """The server says how long a client may be silent, keeps to it, and beats as often as the client wishes."""
    server = LocalEventHubs(tmp_path, ["--hub", "h:1", "--idle-timeout", "0.5"]).start()
    with WireClient(server.port) as silent, WireClient(server.port) as beating:
        assert silent.open().idle_time_out_ms == 500
        beating.open(idle_time_out_ms=200)
        for _ in range(10):
            unit = beating.next()
            assert unit is not None
            beating.write(HEARTBEAT)
        close = silent.until_closed()
        assert close is not None
        assert condition(close.error) == "amqp:resource-limit-exceeded"
    assert server.stop() == 0


def test_a_server_that_stops_tells_its_clients(tmp_path: Path) -> None:
    """Every connection gets a close with amqp:connection:forced."""
    server = LocalEventHubs(tmp_path, ["--hub", "h:1"]).start()
    with WireClient(server.port) as wire:
        wire.open()
        assert server.process is not None
        server.process.terminate()
        close = wire.until_closed()
        assert close is not None
        assert condition(close.error) == "amqp:connection:forced"
    assert server.stop() == 0


def _source(address: str) -> Described:
    return Described(ULong(0x28), [address, *[None] * 6, LATEST])
