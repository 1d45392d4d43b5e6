"""Data that an earlier tree wrote is served, updated, built on, replayed, swept and verified by this one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.stored.app import Parts, StoredApp, definitions_of, read_totals
from tests.stored.history import customer, device, order, price
from tests.stored.snapshot import load_app, noise, read_snapshot, snapshot_of
from tests.stored.texts import FIXED, THIRD
from tests.worlds.building import GRACE_SECONDS

LONG_TOWN = "x" * 600
# What lookups found when the old tree had written the data, by index and value of its first partition part.
SERVED: dict[tuple[str, str], list[str]] = {
    ("by-town", "Oslo"): ["ann", "cid", "fay", "gus", "hal"],
    ("by-town", "Redmond"): ["bob"],
    ("by-name", "ANN"): ["ann"],
    ("by-name", "gus"): [],
    ("by-team", "red"): ["bob", "eva", "hal"],
    ("by-team", "blue"): ["ann"],
    ("by-team", "green"): ["ann"],
    ("by-kind", "vip"): ["hal", "gus", "fay", "eva", "cid", "ann"],
    ("by-kind", "plain"): ["bob"],
    ("placed", "Oslo"): ["ann", "cid", "fay", "gus", "hal"],
    ("placed", "Redmond"): ["bob"],
    ("listed", "Redmond"): ["bob"],
    ("ranged", "Zürich ☃"): ["eva"],
    ("ranged", LONG_TOWN): ["a/b #?"],
    ("expiring", "Oslo"): ["ann", "cid", "fay", "gus", "hal"],
    ("expiring", "Zürich ☃"): [],
    ("expiring", LONG_TOWN): ["a/b #?"],
    ("by-month", "Oslo"): ["ann", "cid", "gus", "hal"],
    ("devices-by-model", "L"): ["lamp"],
    ("devices-by-model", "F"): [],
    ("orders-by-status", "new"): ["o-2"],
    ("orders-by-status", "paid"): ["o-1"],
    ("prices-by-item", "pen"): ["p-1", "p-2"],
    ("visits-by-page", "home"): ["new"],
}
DEAD_LETTER_OF_GUS = "3bc92ceadaa492eb23cb787faa928e71"
DEAD_LETTER_WITH_BLOB = "34eee43e8b37870a0f70741e5860571f"


@pytest.fixture
async def app() -> StoredApp:
    """An app of this tree over the data of the old one."""
    return await load_app(read_snapshot())


async def ids(app: StoredApp, index: str, value: str, text: str = THIRD) -> list[str]:
    """The facts that a lookup finds."""
    name = definitions_of(text).indexes[index].partition[0].name
    return [str(entry["id"]) for entry in await app.find(text, index, **{name: value})]


async def finish_tasks(app: StoredApp) -> None:
    """Deliver the task messages that wait, and those that follow."""
    runner = app.runner()
    while app.task_messages.messages:
        message, _ = app.task_messages.messages.pop(0)
        await runner.run(message)


async def switch(app: StoredApp, index: str, text: str = THIRD, *, force: bool = False) -> None:
    """Verify what was built and let it serve."""
    assert (await app.verify(text, index))["total"] == 0
    await app.lifecycle(text).switch(index, force=force)
    app.seconds += 100


async def verify_all(app: StoredApp, text: str = THIRD) -> None:
    """No index differs from its facts and its ledger."""
    totals = {}
    for index in definitions_of(text).indexes:
        app.seconds += 1
        totals[index] = (await app.verify(text, index))["total"]
    assert totals == dict.fromkeys(definitions_of(text).indexes, 0)


def state(app: StoredApp) -> dict[str, Any]:
    """What storage holds."""
    shown = snapshot_of(app)
    return {name: shown[name] for name in ("accounts", "blobs", "queues")}


# ---------------------------------------------------------------------------------------------------- served


async def test_the_snapshot_comes_back_as_it_was(app: StoredApp) -> None:
    """Otherwise nothing here says anything about old data."""
    assert snapshot_of(app) == read_snapshot()


@pytest.mark.parametrize(("index", "value"), SERVED)
async def test_lookups_serve_what_was_written(app: StoredApp, index: str, value: str) -> None:
    """Moved, deleted and expired entries are not shown."""
    assert await ids(app, index, value) == SERVED[index, value]


async def test_an_entry_has_its_version_key_and_data(app: StoredApp) -> None:
    """With nested values, nulls and every type."""
    (bob,) = await app.find(THIRD, "by-name", name="bob")
    assert bob == {
        "id": "bob",
        "partitionKey": "bob",
        "version": "00000017000000060000000000000000006049ee6c24",
        "key": {"name": "Bob", "age": 40, "nick": None},
        "data": {
            **customer("Bob", "Redmond", kind="plain", teams=["red"], notes={"a": [1, None]}),
            "id": "bob",
        },
    }
    (price_entry, _) = await app.find(THIRD, "prices-by-item", item="pen")
    assert price_entry["partitionKey"] == 7
    assert price_entry["data"]["tags"] == ["a", None]


async def test_counters_and_lag_are_read(app: StoredApp) -> None:
    """Of the instance that lives and of the sum of those that are gone."""
    totals = await read_totals(app.tables)
    assert (totals.instances, totals.since_seconds) == (1, 1_800_001_702)
    assert dict(totals.of("source", "orders")) == {"received": 16, "applied": 12, "dead_letters": 6}
    assert dict(totals.of("index", "by-name")) == {"entries_written": 22, "entries_removed": 2}
    assert dict(totals.of("table", "Ledger")) == {"lookups": 2}
    assert await app.lag_history() == {"customers": [(1_800_001_702, 0.5)], "orders": [(1_800_001_702, None)]}


# ---------------------------------------------------------------------------------------------------- updated


async def test_changes_move_and_delete_old_entries(app: StoredApp) -> None:
    """No ghost stays, in no index, and after the sweep no tombstone either."""
    await finish_tasks(app)
    parts = await app.parts(THIRD)
    worker = parts.worker
    await app.write(worker, "ann", **customer("Ann", "Redmond", teams=["red"], nick="A"))
    await app.write(worker, "bob", gone=True)
    await worker.apply_all_versions("devices", [device(100, "lamp", "delete")])
    app.source = "devices"
    await app.remove("lamp")
    await worker.apply_events("orders", [order(100, "o-2", "delete"), order(101, "o-1", status="new")])
    await worker.apply_events("prices", [price(5, "p-1", "4", 3)])
    expected = {
        ("by-town", "Oslo"): ["cid", "fay", "gus", "hal"],
        ("by-town", "Redmond"): ["ann"],
        ("by-team", "blue"): [],
        ("by-team", "red"): ["ann", "eva", "hal"],
        ("by-name", "bob"): [],
        ("placed", "Oslo"): ["cid", "fay", "gus", "hal"],
        ("placed", "Redmond"): ["ann"],
        ("listed", "Redmond"): ["ann"],
        ("ranged", "Redmond"): ["ann"],
        ("by-month", "Redmond"): ["ann"],
        ("devices-by-model", "L"): [],
        ("orders-by-status", "new"): [],
        ("orders-by-status", "paid"): [],
        ("prices-by-item", "pen"): ["p-2", "p-1"],
    }
    assert {key: await ids(app, *key) for key in expected} == expected
    await verify_all(app)
    await sweep(app, parts)
    assert {key: await ids(app, *key) for key in expected} == expected
    await verify_all(app)


async def test_old_changes_that_come_again_are_dropped(app: StoredApp) -> None:
    """Nothing that is stored changes."""
    await finish_tasks(app)
    worker = await app.worker(THIRD)
    before = state(app)
    for number, fact, document in (
        (1, "ann", customer("Ann", "Redmond", teams=["red", "blue"], nick="A")),
        (5, "bob", customer("Bob", "Oslo", kind="plain")),
        (7, "dan", customer("Dan", "Oslo", teams=["red"])),
    ):
        system = {"id": fact, "_etag": f"etag-{number}", "_ts": 1_700_000_000 + number, "_lsn": number}
        await worker.apply_latest("customers", [{**document, **system}])
    await worker.apply_all_versions("devices", [device(2, "fan", "create", model="F", on=False)])
    await worker.apply_events("orders", [order(1, "o-1", status="new", placedAt="2027-01-15T07:00:00Z", total=10)])
    await worker.apply_events("prices", [price(1, "p-1", "2", 1.25)])
    assert state(app) == before
    counted = {counter.name: count for counter, count in app.counters.now().items() if counter.what == "dropped"}
    assert counted == {"customers": 3, "devices": 1, "orders": 1, "prices": 1}


async def test_the_newest_changes_that_come_again_show_the_same(app: StoredApp) -> None:
    """Their versions are the ledger's: no second dead letter, and no entry twice."""
    parts = await app.parts(THIRD)
    worker = parts.worker
    for fact in ("ann", "bob", "cid", "dan", "eva", "fay", "gus", "nil", "a/b #?"):
        await worker.apply_latest("customers", [await app.read_fact(fact)])
    assert {key: await ids(app, *key) for key in SERVED} == SERVED
    assert len(await app.dead_letters(parts)) == 5


# ---------------------------------------------------------------------------------------------------- swept


async def sweep(app: StoredApp, parts: Parts) -> None:
    """Deliver every sweep message."""
    messages, app.sweeps.messages = app.sweeps.messages, []
    assert messages
    for message in messages:
        await parts.maintenance.sweep(message)


async def test_sweep_messages_remove_tombstones_and_expired_entries(app: StoredApp) -> None:
    """The ledger lets go of the entry that expired; what is shown stays."""
    parts = await app.parts(THIRD)
    await sweep(app, parts)
    accounts = snapshot_of(app)["accounts"]
    rows = [(table, row) for tables in accounts.values() for table, found in tables.items() for row in found]
    assert [table for table, row in rows if row.get("_gone")] == []
    expiring = [str(row["RowKey"]).split(" ")[0] for table, row in rows if table.startswith("expiring")]
    assert "eva" not in expiring
    (eva,) = [row for row in accounts["INDEX_STORAGE"]["Ledger"] if row["RowKey"] == "eva !eva !"]
    kept = {generation: current for generation, _, _, current, _ in eva["parts"]["deflated"]}
    assert kept["0208975fa78f3abb"] == []
    assert {key: await ids(app, *key) for key in SERVED} == SERVED


# ---------------------------------------------------------------------------------------------------- built


async def test_builds_half_way_are_finished_and_switched_to(app: StoredApp) -> None:
    """By the messages of the old tree, from the positions of the old tree."""
    await finish_tasks(app)
    assert {task.state for task in await app.rows.all()} == {"done"}
    team = await app.rows.read("build-8bfcd2f73f78d9b7-1")
    assert team is not None
    assert team.counts["facts"] == 10
    await switch(app, "by-team")
    await switch(app, "by-kind")
    await switch(app, "orders-by-status", force=True)
    assert await ids(app, "by-team", "blue") == ["ann", "cid"]
    assert await ids(app, "by-kind", "vip") == ["hal", "gus", "fay", "eva", "cid", "ann"]
    assert [entry["data"] for entry in await app.find(THIRD, "orders-by-status", status="new")] == [
        {"note": "n", "total": 20.5}
    ]
    snapshot = await app.catalog.read()
    assert snapshot.served["by-kind"].before == "676bd21cba95f197"


async def test_a_switch_is_rolled_back(app: StoredApp) -> None:
    """To the generation that served before."""
    served = await app.lifecycle(THIRD).rollback("by-town")
    app.seconds += 100
    assert served.serving == "f5fc5c4ef10b898a"
    (bob,) = await app.find(THIRD, "by-town", town="Redmond")
    assert bob["data"] == {"phone": "1-Bob"}


async def test_a_generation_that_was_retired_is_not_brought_back(app: StoredApp) -> None:
    """Its table is gone, and its catalog row says so."""
    former = (await app.catalog.read()).generation("92c33936329cb845")
    assert former is not None
    assert (former.state, former.retired_at, former.dropped_at) == ("retired", 1_800_001_201, 1_800_001_302)
    await app.worker(THIRD)
    assert await app.first.list_tables("former") == ()


# ---------------------------------------------------------------------------------------------------- verified


async def test_a_verification_half_way_counts_everything_once(app: StoredApp) -> None:
    """Its sums and its cursor are those of the old tree."""
    await finish_tasks(app)
    (found,) = await app.verification_service(THIRD).latest("placed")
    assert found.task.state == "done"
    counted = {name: found.report[name] for name in ("facts", "ledgerRows", "rows", "entries", "examined", "total")}
    assert counted == {"facts": 10, "ledgerRows": 10, "rows": 12, "entries": 8, "examined": 0, "total": 0}


async def test_finished_verifications_are_listed(app: StoredApp) -> None:
    """With the difference that was repaired."""
    (found,) = await app.verification_service(THIRD).latest("devices-by-model")
    assert (found.task.state, found.report["differences"]["missing"], found.report["repaired"]) == ("done", 1, 1)
    (example,) = found.report["examples"]
    assert (example["id"], example["PartitionKey"]) == ("lamp", "L !")


async def test_nothing_differs(app: StoredApp) -> None:
    """With the data as it was written, and after everything that waits was done."""
    await finish_tasks(app)
    await verify_all(app)
    await sweep(app, await app.parts(THIRD))
    await verify_all(app)


async def test_a_row_that_is_lost_is_found_and_repaired(app: StoredApp) -> None:
    """A verification of old data can fail."""
    table = "byname7f87798b601cdba2"
    row = (await app.first.query(table, None)).rows[0].entity
    await app.lose(table, row)
    report = await app.verify(THIRD, "by-name", repairs=True)
    assert (report["differences"]["missing"], report["repaired"]) == (1, 1)
    assert await app.first.get(table, str(row["PartitionKey"]), str(row["RowKey"])) is not None


# ---------------------------------------------------------------------------------------------------- dead letters


async def test_dead_letters_are_listed_with_their_documents(app: StoredApp) -> None:
    """Those in rows and the one in a blob."""
    parts = await app.parts(THIRD)
    dead_letters = await app.dead_letters(parts)
    assert [
        (dead_letter.source, dead_letter.index, dead_letter.kind, dead_letter.fact_id, dead_letter.via)
        for dead_letter in dead_letters
    ] == [
        ("customers", "", "unreadable", None, "feed"),
        ("customers", "by-name", "wrongType", "gus", None),
        ("orders", "", "unreadable", None, "event"),
        ("orders", "orders-by-status", "wrongType", "o-4", None),
        ("orders", "", "unreadable", None, "event"),
    ]
    whole = [await parts.dead_letters.find(dead_letter.id) for dead_letter in dead_letters]
    documents = [await parts.dead_letters.document(dead_letter) for dead_letter in whole]
    assert documents[1]["age"] == "old"
    assert documents[2] == {"bodyBase64": "//4=", "enqueued": "2027-01-15T08:00:07+00:00", "sequenceNumber": 7}
    assert documents[3]["scan"] == noise()


async def test_a_dead_letter_that_still_fails_stays(app: StoredApp) -> None:
    """Nothing was fixed."""
    parts = await app.parts(THIRD)
    assert (await app.replay(parts, DEAD_LETTER_OF_GUS)).result == "stillFails"
    assert (await app.replay(parts, DEAD_LETTER_WITH_BLOB)).result == "stillFails"
    assert len(await app.dead_letters(parts)) == 5


async def test_a_dead_letter_is_replayed_after_the_definition_was_fixed(app: StoredApp) -> None:
    """Once the generation that it did not fit is retired."""
    await finish_tasks(app)
    await app.worker(FIXED)
    build = await app.start_build(FIXED, "by-name")
    assert (await app.run(app.runner(), build.task.id)).task.state == "done"
    await switch(app, "by-name", FIXED)
    app.seconds += GRACE_SECONDS
    await app.lifecycle(FIXED).retire_unwanted(app.accounts)
    parts = await app.parts(FIXED)
    assert (await app.replay(parts, DEAD_LETTER_OF_GUS)).result == "applied"
    assert DEAD_LETTER_OF_GUS not in {dead_letter.id for dead_letter in await app.dead_letters(parts)}
    assert await ids(app, "by-name", "gus", FIXED) == ["gus"]


async def test_a_newer_version_closes_an_old_dead_letter_and_its_blob(app: StoredApp) -> None:
    """The fact fits again."""
    parts = await app.parts(THIRD)
    worker = parts.worker
    await worker.apply_events("orders", [order(100, "o-4", status="new", placedAt="2027-01-15T07:10:00Z", total=1)])
    assert DEAD_LETTER_WITH_BLOB not in {dead_letter.id for dead_letter in await app.dead_letters(parts)}
    assert app.blobs.contents == {}
