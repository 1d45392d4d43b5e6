"""The Cosmos DB trigger gives a function every change of a container, in order, at least once, across every death."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.cosmos.server import LocalCosmos
from tests.functions.apps import STOP_THE_FIRST_TIME, serving, started, write_app
from tests.functions.cosmos_shop import TWICE, Shop, functions, ids, seen, seen_ids, shop_on
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path


def test_every_change_arrives_with_its_sequence_number(shop: Shop, tmp_path: Path) -> None:
    """From the beginning, then as it happens; in the order of each partition."""
    shop.write(range(50))
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
        wait_until(lambda: len(seen(tmp_path)) == 50, "the first 50")
        shop.write(range(10), town="Redmond")
        wait_until(lambda: len(seen(tmp_path)) == 60, "10 more")
    last = [document for document in seen(tmp_path) if document.get("town")]
    assert {document["id"] for document in last} == ids(range(10))
    for key in {document["pk"] for document in seen(tmp_path)}:
        numbers = [document["_lsn"] for document in seen(tmp_path) if document["pk"] == key]
        assert numbers == sorted(numbers)


def test_a_restarted_host_goes_on_where_it_was(shop: Shop, tmp_path: Path) -> None:
    """Nothing is given twice when the host stops in order."""
    app = write_app(tmp_path / "app", functions())
    shop.write(range(30))
    with serving(app, shop.settings(tmp_path)):
        wait_until(shop.is_checkpointed, "the first 30")
    shop.write(range(30, 40))
    with serving(app, shop.settings(tmp_path)):
        wait_until(lambda: seen_ids(tmp_path) == ids(range(40)), "the rest")
    assert len(seen(tmp_path)) == 40


def test_a_feed_that_starts_now_leaves_out_what_was_there(shop: Shop, tmp_path: Path) -> None:
    """`startFromBeginning: false`."""
    shop.write(range(5))
    with serving(write_app(tmp_path / "app", functions(beginning=False)), shop.settings(tmp_path)):
        shop.write(range(5, 10))
        wait_until(lambda: seen_ids(tmp_path) == ids(range(5, 10)), "the new ones only")


def test_a_feed_starts_at_a_time(shop: Shop, tmp_path: Path) -> None:
    """`startFromTime`: what was written before it is left out."""
    shop.write(range(5))
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    wait_until(lambda: datetime.now(UTC) > moment + timedelta(seconds=1), "the time: `_ts` counts whole seconds")
    shop.write(range(5, 10))
    binding = functions().replace("start_from_beginning=True", f'start_from_time="{moment.isoformat()}"')
    with serving(write_app(tmp_path / "app", binding), shop.settings(tmp_path)):
        wait_until(lambda: seen_ids(tmp_path) == ids(range(5, 10)), "the later ones only")


def test_a_batch_that_ends_after_the_stop_began_comes_again(shop: Shop, tmp_path: Path) -> None:
    """It is not checkpointed, as in Azure."""
    stopping = functions().replace("    for doc in docs:", STOP_THE_FIRST_TIME + "    for doc in docs:", 1)
    app = write_app(tmp_path / "app", stopping)
    shop.write(range(1))
    with serving(app, shop.settings(tmp_path)) as host:
        assert host.program.wait() == 0
    assert [document["id"] for document in seen(tmp_path)] == ["0"]
    with serving(app, shop.settings(tmp_path)):
        wait_until(shop.is_checkpointed, "the checkpoint")
    assert [document["id"] for document in seen(tmp_path)] == ["0", "0"]


def test_all_versions_and_deletes_arrive(shop: Shop, tmp_path: Path) -> None:
    """Each version of a document, and its end."""
    with serving(write_app(tmp_path / "app", functions(mode="AllVersionsAndDeletes")), shop.settings(tmp_path)):
        shop.write(range(1))
        shop.write(range(1), town="Redmond")
        shop.container.delete_item("0", "p0")
        wait_until(lambda: len(seen(tmp_path)) == 3, "three versions")
    kinds = [item["metadata"]["operationType"] for item in seen(tmp_path)]
    assert kinds == ["create", "replace", "delete"]


def test_clocks_and_numeric_partition_keys_of_all_versions_are_doubles(shop: Shop, tmp_path: Path) -> None:
    """As the real extension hands them over; what it can read as a whole number here it cannot in Azure."""
    with serving(write_app(tmp_path / "app", functions(mode="AllVersionsAndDeletes")), shop.settings(tmp_path)):
        shop.container.create_item({"id": "a", "pk": 7, "number": 1})
        shop.container.delete_item("a", 7)
        wait_until(lambda: len(seen(tmp_path)) == 2, "both")
    created, deleted = seen(tmp_path)
    assert type(created["metadata"]["crts"]) is type(deleted["metadata"]["crts"]) is float
    assert type(deleted["metadata"]["partitionKey"]["pk"]) is float
    assert type(created["current"]["number"]) is type(created["current"]["_ts"]) is int
    assert type(created["metadata"]["lsn"]) is int


def test_a_missing_container_is_named(shop: Shop, tmp_path: Path) -> None:
    """Before the host serves anything."""
    app = write_app(tmp_path / "app", functions())
    with started(app, tmp_path / "host.log", shop.settings(tmp_path, CONTAINER="nowhere")) as program:
        assert program.wait() == 1
        assert "there is no container nowhere in the database shop" in program.output


def test_a_failing_batch_is_retried_until_it_succeeds(shop: Shop, tmp_path: Path) -> None:
    """An unlimited policy: the lease waits for the function."""
    shop.write(range(1), poison=True)
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)) as app:
        wait_until(lambda: "poison, retry 2" in app.program.output, "the second retry")
        assert seen_ids(tmp_path) == set()


def test_a_batch_whose_retries_are_used_up_is_lost(shop: Shop, tmp_path: Path) -> None:
    """The real extension advances its lease then, and so does ours: that is why our functions never give up."""
    shop.write(range(1), poison=True)
    with serving(write_app(tmp_path / "app", functions(retry=TWICE)), shop.settings(tmp_path)) as app:
        wait_until(lambda: "gave up a batch of 1" in app.program.output, "the batch is given up")
        shop.write(range(7, 8))
        wait_until(lambda: seen_ids(tmp_path) == {"7"}, "the feed goes on")


def test_throttling_and_broken_connections_only_delay(shop: Shop, tmp_path: Path) -> None:
    """The host tries again."""
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
        path = f"/colls/{shop.container.id}/docs"
        shop.server.order(kind="throttle", times=20, retryAfterMs=1, method="GET", path=path)
        shop.server.order(kind="drop", times=5, method="GET", path=path)
        shop.write(range(20))
        wait_until(lambda: seen_ids(tmp_path) == ids(range(20)), "all 20")


NO_DATES = {
    "version": "2.0",
    "extensions": {"cosmosDB": {"serializerSettings": {"dateParseHandling": "None"}}},
}
TIME, REWRITTEN = "2026-01-01T02:00:00.500+02:00", "2026-01-01T00:00:00.5+00:00"


@pytest.mark.parametrize(
    ("host_json", "settings", "expected"),
    [
        ({"version": "2.0"}, {}, REWRITTEN),
        (NO_DATES, {}, TIME),
        (NO_DATES, {"LOCAL_AZURE_DEFAULTS": "true"}, REWRITTEN),
    ],
    ids=["default", "none", "none, but as by default"],
)
def test_times_are_rewritten_unless_host_json_forbids_it(
    shop: Shop, tmp_path: Path, host_json: dict[str, Any], settings: dict[str, str], expected: str
) -> None:
    """The real extension does it to documents on their way; the instant stays."""
    shop.write(range(1), at=TIME)
    app = write_app(tmp_path / "app", functions(), host_json)
    with serving(app, shop.settings(tmp_path, TZ="UTC", **settings)):
        wait_until(lambda: bool(seen(tmp_path)), "the document")
    assert seen(tmp_path)[0]["at"] == expected


def test_offsets_become_those_of_the_machine(shop: Shop, tmp_path: Path) -> None:
    """In Azure that is UTC."""
    shop.write(range(1), at=TIME)
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path, TZ="XYZ-03:30")):
        wait_until(lambda: bool(seen(tmp_path)), "the document")
    assert seen(tmp_path)[0]["at"] == "2026-01-01T03:30:00.5+03:30"


def test_another_way_of_reading_dates_is_refused(shop: Shop, tmp_path: Path) -> None:
    """With the values that the host knows."""
    section = {"serializerSettings": {"dateParseHandling": "DateTimeOffset"}}
    app = write_app(tmp_path / "app", functions(), {"version": "2.0", "extensions": {"cosmosDB": section}})
    with started(app, tmp_path / "host.log", shop.settings(tmp_path)) as program:
        assert program.wait() == 1
        assert 'dateParseHandling is \'DateTimeOffset\'; write "None" or "DateTime"' in program.output


def nested(levels: int) -> Any:
    """A value that makes a document of so many levels."""
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (nested(64), "is nested 64 levels deep"),
        ("/Date(-80330870785908)/", "has the text '/Date(-80330870785908)/'"),
    ],
    ids=["depth", "no such year"],
)
def test_a_document_that_the_extension_fails_on_stops_its_range(
    shop: Shop, tmp_path: Path, field: Any, reason: str
) -> None:
    """No function is called; the range goes on when the document is another."""
    shop.write(range(7), deepest=nested(63))
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)) as app:
        wait_until(lambda: len(seen(tmp_path)) == 7, "what is not too deep")
        shop.write(range(7, 8), field=field)
        wait_until(lambda: reason in app.program.output, "the reason")
        shop.write(range(14, 15))
        wait_until(lambda: app.program.output.count("changed is not called") >= 2, "another try")
        assert seen_ids(tmp_path) == ids(range(7))
        shop.write(range(7, 8), field="shallow")
        wait_until(lambda: {"7", "14"} <= seen_ids(tmp_path), "both")


def test_a_killed_server_loses_no_change(tmp_path: Path) -> None:
    """The host goes on when the server is back; what was acknowledged arrives."""
    server = LocalCosmos(tmp_path).start()
    try:
        shop = shop_on(server)
        with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
            shop.write(range(40))
            server.kill()
            server.start()
            shop.write(range(40, 80))
            wait_until(lambda: seen_ids(tmp_path) == ids(range(80)), "all 80")
    finally:
        server.stop()
