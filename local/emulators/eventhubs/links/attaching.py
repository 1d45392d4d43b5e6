"""Attaching: which link a client gets for the address that it names, or why none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import ARGUMENT_OUT_OF_RANGE, NOT_ALLOWED, EntityNotFoundError, LinkError
from local.emulators.eventhubs.links.addresses import CBS, MANAGEMENT, hub_address, is_node, path_of
from local.emulators.eventhubs.links.consumer import ConsumerLink
from local.emulators.eventhubs.links.management import no_such_partition
from local.emulators.eventhubs.links.producer import ProducerLink
from local.emulators.eventhubs.links.requests import ReplyLink, RequestLink

if TYPE_CHECKING:
    from local.emulators.eventhubs.amqp.performatives import Attach
    from local.emulators.eventhubs.links.links import Link, LinkSession
    from local.emulators.eventhubs.log.hubs import Hub, Partition


def open_link(session: LinkSession, attach: Attach) -> Link:
    """The server's end of the link that `attach` asks for."""
    terminus = attach.source if attach.is_receiver else attach.target
    fields = terminus.value if terminus is not None else None
    path = path_of(fields[0]) if isinstance(fields, list) and fields else ""
    for node in (CBS, MANAGEMENT):
        if is_node(path, node):
            return ReplyLink(session, attach, node) if attach.is_receiver else RequestLink(session, attach, node)
    return _open_hub_link(session, attach, path)


def _open_hub_link(session: LinkSession, attach: Attach, path: str) -> Link:
    address = hub_address(path)
    hub = session.namespace.open_hub(address.hub, session.grants.values())
    partition = _partition(hub, address.partition) if address.partition is not None else None
    if not attach.is_receiver:
        return ProducerLink(session, attach, hub, partition)
    if partition is None:
        raise LinkError(NOT_ALLOWED, f"A receiver of hub {hub.name} reads one partition: add /Partitions/N.")
    if not hub.has_group(address.group):
        raise EntityNotFoundError(
            path, "The hub has no such consumer group: start the server with --consumer-group NAME."
        )
    return ConsumerLink(session, attach, hub, address.group, partition)


def _partition(hub: Hub, number: str) -> Partition:
    partition = hub.partition(number)
    if partition is None:
        raise LinkError(ARGUMENT_OUT_OF_RANGE, no_such_partition(hub, number))
    return partition
