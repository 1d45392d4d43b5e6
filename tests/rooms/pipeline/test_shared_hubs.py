"""A hub that feeds several sources: each takes what is its own, counts the rest, and holds up no other."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from shared.errors import IncompleteBatchError
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from tests.worlds.hubs import HubWorld, event

if TYPE_CHECKING:
    from shared.entries.changes.received_event import ReceivedEvent
    from shared.pipeline.dead_letters.rows import StoredDeadLetter

TEXT = """
version: 1
sources:
  orders: {eventHub: hub, events: debezium}
  shipments:
    eventHub: hub
    events:
      when: type == 'com.shop.ShipmentChanged'
      id: data.id
      partitionKey: data.customerId
      version: data.revision
      document: data
      delete: data.status == 'removed'
indexes:
  by-town: {source: orders, partition: town, project: [total]}
  by-status: {source: shipments, partition: status, project: [weight]}
"""


def order(number: int, town: str, lsn: int, op: str = "c") -> dict[str, Any]:
    """A row that Debezium saw."""
    row = {"id": number, "town": town, "total": number * 10}
    source = {"connector": "postgresql", "table": "orders", "lsn": lsn, "ts_ms": 1}
    return {"before": row if op == "d" else None, "after": None if op == "d" else row, "op": op, "source": source}


def shipment(identity: str, status: str, revision: int, kind: str = "com.shop.ShipmentChanged") -> dict[str, Any]:
    """A CloudEvent."""
    data = {"id": identity, "customerId": "c-1", "status": status, "revision": revision, "weight": 5}
    return {"specversion": "1.0", "id": f"e-{revision}", "source": "/shop", "type": kind, "data": data}


def in_binary_mode(cloud_event: dict[str, Any], prefix: str = "cloudEvents:") -> ReceivedEvent:
    """The same event with its attributes beside the data."""
    attributes = {f"{prefix}{name}": value for name, value in cloud_event.items() if name != "data"}
    return event(cloud_event["data"], properties=attributes)


async def test_each_source_takes_its_own_from_one_batch() -> None:
    """Nothing becomes a dead letter, and what another takes counts as ignored."""
    world = await HubWorld(TEXT).started()
    bodies = [order(1, "Oslo", 5), shipment("s-1", "sent", 1), order(2, "Kent", 6), shipment("x", "y", 1, "com.shop.Z")]
    await world.deliver([event(body, number) for number, body in enumerate(bodies)])
    assert await world.entries() == [("Kent", "2", 20), ("Oslo", "1", 10)]
    assert await world.entries("by-status") == [("sent", "s-1", 5)]
    assert (world.counted("orders", "ignored"), world.counted("shipments", "ignored")) == (1, 3)
    assert len(await world.dead_letters()) == 1  # of orders: an event that no source knows


async def test_deletes_of_both_forms_remove_their_entries() -> None:
    """Also when they overtake what they delete."""
    world = await HubWorld(TEXT).started()
    await world.deliver([event(order(1, "Oslo", 7, "d")), event(shipment("s-1", "removed", 9))])
    await world.deliver([event(order(1, "Oslo", 5)), event(shipment("s-1", "sent", 8))])
    assert await world.entries() == await world.entries("by-status") == []


@pytest.mark.parametrize("prefix", ["cloudEvents:", "cloudEvents_", "ce_"])
async def test_binary_mode_is_the_same_event(prefix: str) -> None:
    """Attributes are properties of the event, the data is its body."""
    world = await HubWorld(TEXT).started()
    await world.deliver([in_binary_mode(shipment("s-1", "sent", 1), prefix)])
    assert await world.entries("by-status") == [("sent", "s-1", 5)]


async def test_headers_of_kafka_come_in_base64() -> None:
    """As the host in Azure hands over properties that are bytes."""
    world = await HubWorld(TEXT).started()
    headers = {"ce_specversion": "MS4w", "ce_type": "Y29tLnNob3AuU2hpcG1lbnRDaGFuZ2Vk"}
    await world.deliver([event(shipment("s-1", "sent", 1)["data"], properties=headers)])
    assert await world.entries("by-status") == [("sent", "s-1", 5)]


async def test_a_foreign_event_in_binary_mode_may_have_any_body() -> None:
    """Its type says that it is another's, so nobody reads the rest."""
    world = await HubWorld(TEXT.replace("events: debezium", "events: {form: debezium, when: op}")).started()
    properties = {"ce_specversion": "1.0", "ce_type": "com.shop.ImageAdded"}
    await world.deliver([event(gzip.compress(b"{}"), properties=properties)])
    assert await world.dead_letters() == []
    assert world.counted("orders", "ignored") == world.counted("shipments", "ignored") == 1


async def test_foreign_events_cost_no_transaction() -> None:
    """However many there are, and however old the worker's view of the catalog is."""
    text = TEXT.replace("events: debezium", "events: {form: debezium, when: source.table == 'orders'}")
    world = await HubWorld(text).started()
    world.now_seconds += 3600
    before = world.tables.counts.total()
    foreign = [event(shipment("x", "y", 1, "com.shop.Other")), event({"op": "c", "source": {"table": "z"}}), event(b"")]
    await world.deliver(foreign * 100)
    assert world.tables.counts.total() == before
    assert world.counted("orders", "ignored") == world.counted("shipments", "ignored") == 300
    assert world.counted("orders", "received") == 0


async def test_one_event_may_be_a_change_of_several_sources() -> None:
    """Two views of the same documents, each with its own facts."""
    world = await HubWorld(
        """
version: 1
sources:
  orders: {eventHub: hub, events: document}
  customers: {eventHub: hub, events: {id: customer.id, document: customer}}
indexes:
  by-town: {source: orders, partition: town, project: [total]}
  by-name: {source: customers, partition: name, project: [phone]}
"""
    ).started()
    await world.deliver([event({"id": "o-1", "town": "Oslo", "total": 3, "customer": {"id": 7, "name": "Ann"}})])
    assert await world.entries() == [("Oslo", "o-1", 3)]
    assert await world.entries("by-name") == [("Ann", "7")]


async def test_a_dead_letter_of_one_source_is_a_change_of_another() -> None:
    """Two sources that both claim an event judge on their own."""
    world = await HubWorld(
        """
version: 1
sources:
  orders: {eventHub: hub, events: {when: kind == 'order', id: id, version: revision}}
  invoices: {eventHub: hub, events: {when: kind == 'order', id: invoice.number, version: revision}}
indexes:
  by-town: {source: orders, partition: town, project: [total]}
  by-customer: {source: invoices, partition: town}
"""
    ).started()
    await world.deliver([event({"kind": "order", "id": "o-1", "revision": 1, "town": "Oslo", "total": 3})])
    assert await world.entries() == [("Oslo", "o-1", 3)]
    ((source, reason),) = await world.dead_letters()
    assert source == "invoices"
    assert 'there is nothing at "invoice.number"' in reason


ENVELOPES = """
version: 1
sources: {orders: {eventHub: hub}, returns: {eventHub: hub}}
indexes:
  by-town: {source: orders, partition: town, project: [total]}
  by-reason: {source: returns, partition: town, project: [total]}
"""


async def test_an_envelope_names_its_source() -> None:
    """Those of the other one are ignored."""
    world = await HubWorld(ENVELOPES).started()
    document = {"id": "1", "town": "Oslo", "total": 3}
    await world.deliver([event({"op": "upsert", "source": "returns", "document": document})])
    assert (await world.entries(), await world.entries("by-reason")) == ([], [("Oslo", "1", 3)])
    assert world.counted("orders", "ignored") == 1


async def test_an_envelope_without_a_source_is_a_guess_on_a_shared_hub() -> None:
    """So it is a dead letter, for both."""
    world = await HubWorld(ENVELOPES).started()
    await world.deliver([event({"op": "upsert", "document": {"id": "1", "town": "Oslo"}})])
    assert [source for source, _ in await world.dead_letters()] == ["orders", "returns"]
    assert all('names no "source"' in reason for _, reason in await world.dead_letters())


async def test_a_source_that_fails_does_not_hold_up_the_other() -> None:
    """The batch comes again; what was applied is known then."""
    world = await HubWorld(TEXT).started()
    (generation,) = (await world.parts.catalog.read()).of_index("by-town")
    await world.tables.delete_table(generation.table)
    events = [event(order(1, "Oslo", 5)), event(shipment("s-1", "sent", 1))]
    with pytest.raises(IncompleteBatchError, match='of source "orders" were not applied'):
        await world.deliver(events)
    assert await world.entries("by-status") == [("sent", "s-1", 5)]
    await world.deliver(events)
    assert await world.entries() == [("Oslo", "1", 10)]
    assert world.counted("shipments", "redelivered") == 1


async def test_a_dead_letter_keeps_the_raw_event_and_replays_through_the_same_reader() -> None:
    """With its key and its properties: without them nobody could read it again."""
    world = await HubWorld(TEXT.replace("document: data\n", "document: data.fact\n")).started()
    await world.deliver([in_binary_mode(shipment("s-1", "sent", 1))._replace(key="s-1")])
    (found,) = await stored(world)
    assert (found.source, 'there is nothing at "data.fact"' in found.reason) == ("shipments", True)
    service = world.parts.dead_letters
    kept = await service.document(await service.find(found.id))
    assert (kept["key"], kept["properties"]["cloudEvents:type"]) == ("s-1", "com.shop.ShipmentChanged")
    world.text = TEXT
    await world.started()
    (done,) = await world.parts.dead_letters.replay([found])
    assert done.result == "applied"
    assert set(await world.entries("by-status")) == {("sent", "s-1", 5)}
    assert await stored(world) == []


async def test_a_dead_letter_that_its_source_now_ignores_is_closed_by_a_replay() -> None:
    """Somebody has added what chooses the events."""
    world = await HubWorld(TEXT).started()
    await world.deliver([event({"what": "is this"})])
    (found,) = await stored(world)
    world.text = TEXT.replace("events: debezium", "events: {form: debezium, when: source}")
    await world.started()
    (done,) = await world.parts.dead_letters.replay([found])
    assert (done.result, done.detail.startswith("Its source now ignores")) == ("superseded", True)
    assert await stored(world) == []


async def stored(world: HubWorld) -> list[StoredDeadLetter]:
    """All dead letters."""
    return (await world.parts.dead_letters.page(DeadLetterFilter(), 100, None)).dead_letters
