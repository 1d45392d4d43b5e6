"""Consumers: links that receive the events of one partition from a start position on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from local.emulators.eventhubs.links.links import OutgoingLink
from local.emulators.eventhubs.log import events
from local.emulators.eventhubs.log.owners import GroupPartition
from local.emulators.eventhubs.log.positions import start_position
from local.emulators.eventhubs.namespace import clock_ms

if TYPE_CHECKING:
    from local.emulators.eventhubs.amqp.errors import LinkError
    from local.emulators.eventhubs.amqp.performatives import Attach, Flow
    from local.emulators.eventhubs.links.links import LinkSession
    from local.emulators.eventhubs.log.hubs import Hub, Partition

EPOCH = "com.microsoft:epoch"
RUNTIME_METRICS = "com.microsoft:enable-receiver-runtime-metric"
# What one turn of the loop sends at most, so that one fast reader does not hold up the others.
MAX_EVENTS_PER_TURN = 300
MAX_BYTES_PER_TURN = 1024 * 1024


class ConsumerLink(OutgoingLink):
    """A reader of one partition in one consumer group."""

    def __init__(self, session: LinkSession, attach: Attach, hub: Hub, group: str, partition: Partition) -> None:
        super().__init__(session, attach)
        namespace = session.namespace
        epoch = (attach.properties or {}).get(EPOCH)
        desired = attach.desired_capabilities
        self.epoch = epoch if isinstance(epoch, int) else None
        self.partition = partition
        self._namespace = namespace
        self._wants_metrics = RUNTIME_METRICS in (desired if isinstance(desired, tuple) else (desired,))
        self._next_sequence = start_position(attach.source).sequence(namespace.store, partition)
        self._group_partition = GroupPartition(hub.name, group.lower(), partition.number)
        self._is_draining = False
        self._turn: asyncio.Handle | None = None
        namespace.owners.claim(self._group_partition, self)
        partition.readers.add(self)

    def disconnect(self, error: LinkError) -> None:
        """Another reader has taken the partition."""
        self.session.detach(self, error)

    def release(self) -> None:
        """Leave the partition to others."""
        super().release()
        self.partition.readers.discard(self)
        self._namespace.owners.release(self._group_partition, self)
        if self._turn is not None:
            self._turn.cancel()

    def on_flow(self, flow: Flow) -> None:
        """The client gives credit; a drain is answered when there is nothing more to send for it."""
        self._is_draining = bool(flow.drain)
        super().on_flow(flow)

    def pump(self) -> None:
        """Send what can be sent, in a turn of its own."""
        if self._turn is None and not self.is_closed and self.credit > 0:
            delay_seconds = self._namespace.faults.delay_seconds
            self._turn = asyncio.get_running_loop().call_later(delay_seconds, self._send_events)

    def _drain(self) -> None:
        if self._is_draining and (self.credit == 0 or self._next_sequence >= self.partition.next_sequence):
            self._is_draining = False
            super()._drain()

    def _send_events(self) -> None:
        self._turn = None
        if self.is_closed or not self.session.has_room:
            return
        sent_bytes, metrics = 0, self._metrics()
        for event in self._namespace.store.read(
            self.partition, self._next_sequence, min(self.credit, MAX_EVENTS_PER_TURN)
        ):
            message = metrics + events.delivery(event)
            self.deliver(message)
            self._next_sequence = event.sequence + 1
            sent_bytes += len(message)
            if sent_bytes >= MAX_BYTES_PER_TURN or not self.session.has_room:
                break
        if self._next_sequence < self.partition.next_sequence:
            self.pump()
        self._drain()

    def _metrics(self) -> bytes:
        if not self._wants_metrics:
            return b""
        partition = self.partition
        return events.runtime_metrics(
            partition.last_sequence, partition.last_offset, partition.last_enqueued_ms, clock_ms()
        )
