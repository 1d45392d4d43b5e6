"""What an event costs the local Event Hubs that a client sends in a batch, against decoding the same frames alone."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.case import Case
from bench.measurement import Bar
from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.frames import AMQP_HEADER, Frame, FrameReader, encode_frame
from local.emulators.eventhubs.amqp.performatives import Attach, Begin, Open, Transfer
from local.emulators.eventhubs.amqp.types import Described, Symbol, ULong
from local.emulators.eventhubs.links.connection import MAX_FRAME_BYTES, Connection
from local.emulators.eventhubs.links.tokens import Grant, SharedAccessKey
from local.emulators.eventhubs.log.hubs import HubSpec
from local.emulators.eventhubs.log.store import Store
from local.emulators.eventhubs.namespace import Namespace, clock_ms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "eventhubs-send"
BATCHES = 20
EVENTS_PER_BATCH = 500
BODY = b"x" * 460
AT_MOST = 1.5
# Room for the transfer itself in a frame of the largest size.
_PAYLOAD_BYTES = MAX_FRAME_BYTES - 100
_ANNOTATIONS = {Symbol("x-opt-partition-key"): "tenant-1"}


class _Sink(asyncio.Transport):
    """A client that takes every answer and says nothing."""

    def writelines(self, list_of_data: Iterable[object]) -> None:
        pass

    def is_closing(self) -> bool:
        return False


def _section(code: int, value: object) -> bytes:
    return encode(Described(ULong(code), value))


def _event(number: int) -> bytes:
    properties = [f"m{number}", *[None] * 4, "c", *[None] * 7]  # all thirteen, as azure-eventhub writes them
    return b"".join(
        (
            _section(messages.MESSAGE_ANNOTATIONS, _ANNOTATIONS),
            _section(messages.PROPERTIES, properties),
            _section(messages.APPLICATION_PROPERTIES, {"type": "upsert", "n": number}),
            _section(messages.DATA, BODY),
        )
    )


def _frames_of_a_batch() -> bytes:
    inner = b"".join(_section(messages.DATA, _event(number)) for number in range(EVENTS_PER_BATCH))
    message = _section(messages.MESSAGE_ANNOTATIONS, _ANNOTATIONS) + inner
    starts = range(0, len(message), _PAYLOAD_BYTES)
    transfers = ((Transfer(0, 0, b"t", messages.BATCH_FORMAT, False, start != starts[-1]), start) for start in starts)
    return b"".join(encode_frame(1, t, message[start : start + _PAYLOAD_BYTES]) for t, start in transfers)


def _connected(store: Store) -> Connection:
    """A connection with a sender link to the hub `h`."""
    connection = Connection(Namespace(store, SharedAccessKey("name", "key"), idle_timeout_seconds=600))
    connection.grants["h"] = Grant("h", expires_s=1 << 40)
    connection.connection_made(_Sink())
    target = Described(ULong(0x29), ["h"])
    for octets in (
        AMQP_HEADER,
        encode_frame(0, Open("bench")),
        encode_frame(1, Begin(None, 0, 1000, 1000)),
        encode_frame(1, Attach("link", 0, False, source=target, target=target)),
    ):
        connection.data_received(octets)
    return connection


def decoding(batch: bytes, batches: int) -> Case:
    """Every frame and every section of every event."""

    def run() -> None:
        reader = FrameReader(MAX_FRAME_BYTES)
        for _ in range(batches):
            message = b"".join(unit.payload for unit in reader.feed(batch) if isinstance(unit, Frame))
            for section in messages.sections(message):
                if section.code == messages.DATA:
                    list(messages.sections(section.value))

    return Case("decoding alone", batches * EVENTS_PER_BATCH, run)


def sending(store: Store, connection: Connection, batch: bytes, batches: int) -> Case:
    """The server takes the frames from its socket on, stores the events and answers."""

    async def run() -> dict[str, int]:
        (partition,) = store.hubs[0].partitions
        before = partition.next_sequence
        for _ in range(batches):
            for start in range(0, len(batch), MAX_FRAME_BYTES):
                connection.data_received(batch[start : start + MAX_FRAME_BYTES])
            await asyncio.sleep(0)
        return {"events": partition.next_sequence - before}

    return Case("local Event Hubs", batches * EVENTS_PER_BATCH, run)


async def measure(meter: Meter) -> list[Measurement]:
    """By the processor's clock: the sockets of both sides are left out."""
    batch, batches = _frames_of_a_batch(), meter.scaled(BATCHES)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), clock_ms)
        store.create([HubSpec("h", 1)], [])
        connection = _connected(store)
        try:
            return [
                await meter.compare(
                    "batches of 500 events",
                    unit="event",
                    subject=sending(store, connection, batch, batches),
                    yardsticks=[decoding(batch, batches)],
                    bars=[Bar(AT_MOST, against="decoding alone", clock="cpu")],
                )
            ]
        finally:
            connection.connection_lost(None)
            store.close()
