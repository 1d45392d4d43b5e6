"""What the stored app went through: a first deployment with facts of every kind, and two more that are half way."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.stored.app import ReceivedEvent, StoredApp
from tests.stored.snapshot import noise
from tests.stored.texts import FIRST, SECOND, THIRD
from tests.worlds.building import BUILD_DELAY_SECONDS, GRACE_SECONDS

if TYPE_CHECKING:
    from tests.stored.app import Worker

# 2027-01-15T08:00:00Z, at which the app starts.
START_SECONDS = 1_800_000_000


def customer(name: str, town: str, **more: Any) -> dict[str, Any]:
    """A customer with an entry in most indexes."""
    return {"name": name, "town": town, "phone": f"1-{name}", "email": f"{name}@x", "kind": "vip", "age": 40, **more}


def event(number: int, body: dict[str, Any] | bytes) -> ReceivedEvent:
    """An event that the hub took one second after the one before."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ReceivedEvent(raw, datetime.fromtimestamp(START_SECONDS + number, UTC), number)


def order(number: int, fact: str, op: str = "upsert", **document: Any) -> ReceivedEvent:
    """One version of an order."""
    body: dict[str, Any] = {"op": op, "id": fact, "partitionKey": "c-1"}
    if op == "upsert":
        body["document"] = {"id": fact, "customer": {"id": "c-1"}, **document}
    return event(number, body)


def price(number: int, fact: str, revision: str, amount: float) -> ReceivedEvent:
    """One version of a price, as a CloudEvent."""
    data = {"id": fact, "shop": 7, "item": "pen", "price": amount, "revision": revision, "tags": ["a", None]}
    named = {"specversion": "1.0", "type": "shop.price.upserted", "source": "/prices"}
    return event(number, {**named, "subject": fact, "data": data})


def device(lsn: int, fact: str, operation: str, **document: Any) -> dict[str, Any]:
    """An item of an all versions and deletes feed."""
    metadata: dict[str, Any] = {"operationType": operation, "lsn": lsn, "crts": 1_700_000_500 + lsn}
    if operation == "delete":
        return {"metadata": {**metadata, "id": fact, "partitionKey": {"site": "s", "room": 1}}}
    current = {"id": fact, "site": "s", "room": 1, **document, "_ts": 1_700_000_500 + lsn, "_etag": f"d-{lsn}"}
    return {"current": current, "metadata": metadata}


async def write_history(app: StoredApp) -> None:
    """All of it, in order."""
    parts = await app.parts(FIRST)
    worker = parts.worker
    await _write_customers(app, worker)
    await _write_devices(app, worker)
    await _write_visits(app, worker)
    await _write_events(app, worker)
    await _write_unreadable(app, worker)
    app.seconds += 200
    await parts.maintenance.find_expired()
    await parts.maintenance.forget_deleted_facts()
    await app.worker(SECOND)
    await _retire_former(app)
    await _switch_town(app)
    await _leave_builds_half_way(app)
    await _verify(app)
    await app.write_status()


async def _write_customers(app: StoredApp, worker: Worker) -> None:
    """Some that stay, one that moves, one that comes back, one that is deleted, and one that does not fit."""
    await app.write(worker, "ann", **customer("Ann", "Redmond", teams=["red", "blue"], nick="A"))
    await app.write(worker, "bob", **customer("Bob", "Redmond", teams=["red"], kind="plain", notes={"a": [1, None]}))
    await app.write(worker, "cid", **customer("Cid", "Oslo", teams=["blue"], hidden=True, seen="2026-12-20T00:00:00Z"))
    await app.write(worker, "ann", **customer("Ann", "Oslo", teams=["blue", "green"], nick="A"))
    await app.write(worker, "bob", **customer("Bob", "Oslo", kind="plain"))
    await app.write(worker, "bob", **customer("Bob", "Redmond", teams=["red"], kind="plain", notes={"a": [1, None]}))
    await app.write(worker, "dan", **customer("Dan", "Oslo", teams=["red"]))
    await app.write(worker, "dan", **customer("Dan", "Oslo", teams=["red"], gone=True))
    await app.write(worker, "eva", **customer("Eva", "Zürich ☃", teams=["red"], until="2027-01-15T07:01:40Z"))
    await app.write(worker, "fay", **customer("Fay", "Oslo", seen="2026-10-01T00:00:00Z", score=1.5, size=2**40))
    await app.write(worker, "gus", **customer("Gus", "Oslo", age="old"))
    await app.write(worker, "a/b #?", **customer("Odd", "x" * 600, kind="", until="2027-01-20T00:00:00Z"))
    await app.write(worker, "nil", phone="none")


async def _write_devices(app: StoredApp, worker: Worker) -> None:
    items = [
        device(1, "lamp", "create", model="L", on=True, place={"floor": 1}),
        device(2, "fan", "create", model="F", on=False),
        device(3, "lamp", "replace", model="L", on=False, place={"floor": 2}),
        device(4, "fan", "delete"),
    ]
    for item in items:
        await worker.apply_all_versions("devices", [item])
    app.source = "devices"
    await app.put("lamp", **{name: value for name, value in items[2]["current"].items() if name != "id"})
    app.source = "customers"


async def _write_visits(app: StoredApp, worker: Worker) -> None:
    """One that will expire, and one that had expired before it came."""
    app.source = "visits"
    await app.write(worker, "new", page="home", at="2027-01-15T07:00:00Z")
    await app.write(worker, "old", page="home", at="2027-01-01T07:00:00Z")
    app.source = "customers"


async def _write_events(app: StoredApp, worker: Worker) -> None:
    """The hub of orders keeps all that was sent; one order fits in no row and not into its index."""
    orders = [
        order(1, "o-1", status="new", placedAt="2027-01-15T07:00:00Z", total=10),
        order(2, "o-2", status="new", placedAt="2027-01-15T08:00:00+01:00", total=20.5, note="n"),
        order(3, "o-1", status="paid", placedAt="2027-01-15T07:00:00Z", total=10),
        order(4, "o-3", status="new", placedAt="2027-01-15T07:30:00Z", total=30),
        order(5, "o-3", "delete"),
    ]
    for event in orders:
        app.events.events.append(app.hub_event(event))
        await worker.apply_events("orders", [event])
    await worker.apply_events("orders", [order(6, "o-4", status="new", placedAt="yesterday", scan=noise())])
    await worker.apply_events("prices", [price(1, "p-1", "2", 1.25), price(2, "p-2", "2027-01-01T00:00:00Z", 2)])
    await worker.apply_events("prices", [price(3, "p-1", "3", 0.5), price(4, "p-1", "1", 9)])


async def _write_unreadable(app: StoredApp, worker: Worker) -> None:
    await worker.apply_latest("customers", [{"name": "no id", "_ts": 1, "_lsn": 1}])
    await worker.apply_events("orders", [event(7, b"\xff\xfe"), event(8, {"op": "nonsense"})])


async def _retire_former(app: StoredApp) -> None:
    """The index that the second deployment lacks is unwanted, retired and dropped."""
    lifecycle = app.lifecycle(SECOND)
    await lifecycle.retire_unwanted(app.accounts)
    app.seconds += GRACE_SECONDS + 1
    await lifecycle.retire_unwanted(app.accounts)
    app.seconds += BUILD_DELAY_SECONDS + 1
    await lifecycle.retire_unwanted(app.accounts)


async def _switch_town(app: StoredApp) -> None:
    """Built, verified, switched to; the one before can be rolled back to."""
    build = await app.start_build(SECOND, "by-town")
    assert (await app.run(app.runner(), build.task.id)).task.state == "done"
    await app.verify(SECOND, "by-town")
    await app.lifecycle(SECOND).switch("by-town")
    app.seconds += 100


async def _leave_builds_half_way(app: StoredApp) -> None:
    """One that reads facts, one that catches up with a fact that a worker did not write, and one that is done."""
    stepwise = app.runner(window=2, page_facts=2, slice_seconds=0)
    in_facts = await app.start_build(SECOND, "by-team", stepwise)
    await stepwise.work(in_facts.task.id, "1-facts:000")
    unaware = await app.unaware_worker(SECOND)
    await app.worker(THIRD)
    in_rest = await app.start_build(THIRD, "by-kind")
    await app.runner().work(in_rest.task.id, "1-facts:000")
    await app.write(unaware, "hal", **customer("Hal", "Oslo", teams=["red"]))
    for number in range(4):
        await stepwise.work(in_rest.task.id, f"2-rest:{number:03d}")
    await app.lifecycle(THIRD).make_read_only("by-kind")
    done = await app.start_build(THIRD, "orders-by-status")
    await app.run(app.runner(), done.task.id)


async def _verify(app: StoredApp) -> None:
    """One that repaired a row that was lost, a sample, and one half way."""
    table = await _table(app, "devices-by-model")
    (row,) = await app.shown(table)
    await app.lose(table, row)
    await app.verify(THIRD, "devices-by-model", repairs=True)
    await app.verify(THIRD, "by-name", sample=3)
    stepwise = app.runner(page_facts=3, slice_seconds=0)
    half_way = await app.verification_service(THIRD, stepwise).start("placed", budget=50)
    for _ in range(2):
        await stepwise.work(half_way.task.id, "1-verify:all")
        app.seconds += 100


async def _table(app: StoredApp, index: str) -> str:
    serving = (await app.catalog.read()).serving(index, app.seconds)
    assert serving is not None
    return serving.table
