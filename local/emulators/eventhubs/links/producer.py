"""Producers: links that send events to a hub, or to one partition of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import DECODE_ERROR, AmqpError, DeliveryError, LinkError, MalformedError
from local.emulators.eventhubs.faults import SERVER_BUSY
from local.emulators.eventhubs.links.links import IncomingLink
from local.emulators.eventhubs.log import events
from local.emulators.eventhubs.log.partition_key import partition_for_key

if TYPE_CHECKING:
    from local.emulators.eventhubs.amqp.performatives import Attach
    from local.emulators.eventhubs.links.links import Delivery, LinkSession
    from local.emulators.eventhubs.log.hubs import Hub, Partition


class ProducerLink(IncomingLink):
    """A sender of events; without a partition in its address, the key decides, or each partition in turn."""

    def __init__(self, session: LinkSession, attach: Attach, hub: Hub, partition: Partition | None) -> None:
        super().__init__(session, attach)
        self._namespace = session.namespace
        self._hub = hub
        self._partition = partition

    def receive(self, delivery: Delivery) -> None:
        """Store the events, now or when the fault switch lets us."""
        delay_seconds = self._namespace.faults.delay_seconds
        if delay_seconds:
            asyncio.get_running_loop().call_later(delay_seconds, self._store_late, delivery)
        else:
            self._store(delivery)

    def _store_late(self, delivery: Delivery) -> None:
        if self.is_closed:
            return
        try:
            self._store(delivery)
        except LinkError as error:
            self.session.detach(self, error)

    def _store(self, delivery: Delivery) -> None:
        refusal: AmqpError | None = None
        try:
            self._append(delivery)
        except MalformedError as error:
            refusal = DeliveryError(DECODE_ERROR, error.description)
        except DeliveryError as error:
            refusal = error
        self.settle(delivery, refusal)

    def _append(self, delivery: Delivery) -> None:
        if self._namespace.faults.takes_server_busy():
            raise DeliveryError(SERVER_BUSY, "The server is busy: its fault switch says so. Wait, then send again.")
        delivered = events.unpack(delivery.message, delivery.message_format)
        self._namespace.store.append(self._partition_for(delivered.partition_key), delivered.events)

    def _partition_for(self, key: str | None) -> Partition:
        if self._partition is not None:
            return self._partition
        if key:
            return self._hub.partitions[partition_for_key(key, len(self._hub.partitions))]
        return self._hub.next_in_turn()
