"""The leases of the Cosmos DB trigger: shared by hosts, handed over, and the same that the real extension keeps."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.functions.apps import RunningApp, serving, started, write_app
from tests.functions.cosmos_shop import Shop, functions, ids, lease_documents, leases, seen, seen_ids
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two hosts' folders."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    return tmp_path / "one", tmp_path / "two"


@contextlib.contextmanager
def two_hosts(shop: Shop, folders: tuple[Path, Path]) -> Iterator[tuple[RunningApp, RunningApp]]:
    """Two hosts with the same app and the same leases."""
    first, second = folders
    with (
        serving(write_app(first / "app", functions()), shop.settings(first)) as first_host,
        serving(write_app(second / "app", functions()), shop.settings(second)) as second_host,
    ):
        yield first_host, second_host


def owners(shop: Shop) -> set[str]:
    """Who holds the leases of this container."""
    leases = shop.database.get_container_client("leases")
    found = leases.query_items(
        "SELECT VALUE c.Owner FROM c WHERE STARTSWITH(c.id, @prefix)",
        parameters=[{"name": "@prefix", "value": f"{shop.container.id}-"}],
        enable_cross_partition_query=True,
    )
    return {str(owner) for owner in found if owner}


def test_two_hosts_share_the_work(shop: Shop, folders: tuple[Path, Path]) -> None:
    """Each holds some of the leases and sees some of the changes; together they see all."""
    with two_hosts(shop, folders):
        wait_until(lambda: len(owners(shop)) == 2, "both hold leases")
        shop.write(range(100))
        wait_until(lambda: seen_ids(*folders) == ids(range(100)), "all 100")
        assert all(seen_ids(folder) for folder in folders)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_host_hands_over_to_the_other(shop: Shop, folders: tuple[Path, Path], victim: int) -> None:
    """Its leases expire; no change is lost."""
    with two_hosts(shop, folders) as hosts:
        wait_until(lambda: len(owners(shop)) == 2, "both hold leases")
        shop.write(range(60))
        hosts[victim].program.process.kill()
        shop.write(range(60, 120))
        wait_until(lambda: seen_ids(*folders) == ids(range(120)), "all 120")


def test_a_range_split_loses_and_repeats_nothing(shop: Shop, tmp_path: Path) -> None:
    """The children go on where the parent was, each with a lease of its own."""
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
        shop.write(range(100))
        wait_until(lambda: seen_ids(tmp_path) == ids(range(100)), "the first 100")
        for number in range(3):
            shop.server.order(kind="split", container=f"dbs/shop/colls/{shop.container.id}", range=str(number))
        shop.write(range(100, 200))
        wait_until(lambda: seen_ids(tmp_path) == ids(range(200)), "all 200")
        wait_until(lambda: len(leases(shop)) == 6, "a lease for each child")
    assert len(seen(tmp_path)) == 200
    ends = sorted((lease["FeedRange"]["Range"]["min"], lease["FeedRange"]["Range"]["max"]) for lease in leases(shop))
    assert [high for _, high in ends[:-1]] == [low for low, _ in ends[1:]]


def test_ranges_that_split_before_they_were_read_lose_nothing(shop: Shop, folders: tuple[Path, Path]) -> None:
    """Their leases have no token yet, and neither have their children's; two hosts share them."""
    with two_hosts(shop, folders):
        wait_until(lambda: len(leases(shop)) == 3, "the leases")
        for number in (0, 1, 2, 3, 5):
            shop.server.order(kind="split", container=f"dbs/shop/colls/{shop.container.id}", range=str(number))
        shop.write(range(200))
        wait_until(lambda: seen_ids(*folders) == ids(range(200)), "all 200")


def test_leases_of_another_mode_are_refused(shop: Shop, tmp_path: Path) -> None:
    """A lease cannot change its mode."""
    app = write_app(tmp_path / "app", functions())
    with serving(app, shop.settings(tmp_path)):
        pass
    write_app(tmp_path / "app", functions(mode="AllVersionsAndDeletes"))
    with started(app, tmp_path / "second.log", shop.settings(tmp_path)) as program:
        assert program.wait() == 1
        assert "leaseContainerPrefix" in program.output


def test_leases_that_a_dead_host_did_not_make_are_made(shop: Shop, tmp_path: Path) -> None:
    """Whatever range has none gets one at the next start."""
    folder = write_app(tmp_path / "app", functions())
    with serving(folder, shop.settings(tmp_path)):
        wait_until(lambda: len(leases(shop)) == 3, "the leases")
    lost = leases(shop)[1]
    shop.database.get_container_client("leases").delete_item(lost["id"], lost["id"])
    shop.write(range(50))
    with serving(folder, shop.settings(tmp_path)):
        wait_until(lambda: seen_ids(tmp_path) == ids(range(50)), "all 50")


RANGES = (("0", "", "1555"), ("1", "1555", "2AAA"), ("2", "2AAA", "FF"))


def lease_name(shop: Shop, database: str) -> str:
    """What the leases of a shop begin with."""
    return f"{shop.container.id}-127.0.0.1_{database}_{shop.container.read()['_rid']}"


def database_rid(shop: Shop) -> str:
    return str(shop.database.read()["_rid"])


def test_leases_are_the_documents_of_the_real_extension(shop: Shop, tmp_path: Path) -> None:
    """Named by resource ids and range, with the ETag of the feed; a document says that there is one for each range."""
    shop.write(range(20))
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
        wait_until(lambda: seen_ids(tmp_path) == ids(range(20)), "all 20")
        wait_until(shop.is_checkpointed, "the checkpoints")
    name = lease_name(shop, database_rid(shop))
    documents = {document.pop("id"): document for document in lease_documents(shop)}
    assert documents.keys() == {f"{name}.info", *(f"{name}..{token}" for token, _, _ in RANGES)}
    for token, low, high in RANGES:
        lease = {key: value for key, value in documents[f"{name}..{token}"].items() if not key.startswith("_")}
        etag, stamp = lease.pop("ContinuationToken"), lease.pop("timestamp")
        assert etag.strip('"').isdigit(), etag
        assert stamp is not None
        assert lease == {
            "version": 0,
            "LeaseToken": token,
            "FeedRange": {"Range": {"min": low, "max": high}},
            "Owner": None,
            "properties": {},
            "Mode": "Incremental Feed",
        }


def dotnet_lease(name: str, token: str, low: str, high: str, etag: str | None) -> dict[str, Any]:
    """A lease as the change feed processor of .NET leaves it when its host is killed."""
    return {
        "id": f"{name}..{token}",
        "version": 0,
        "LeaseToken": token,
        "FeedRange": {"Range": {"min": low, "max": high}},
        "Owner": "9f3e5a6c2d5c4a49a2cbb1e31b6b8f0d",
        "ContinuationToken": etag,
        "properties": {},
        "timestamp": "2026-01-31T12:00:00.1234567Z",
        "Mode": "Incremental Feed",
    }


def test_the_host_goes_on_where_the_real_extension_was(shop: Shop, tmp_path: Path) -> None:
    """What .NET has checkpointed does not come again, what it has not does; no lease is added."""
    shop.write(range(20))
    name = lease_name(shop, database_rid(shop))
    documents = shop.database.get_container_client("leases")
    documents.create_item({"id": f"{name}.info"})
    for token, low, high in RANGES:
        etag = f'"{len(changes_in(shop, low, high))}"' if token != "1" else None
        documents.create_item(dotnet_lease(name, token, low, high, etag))
    expected = {document["id"] for document in changes_in(shop, "1555", "2AAA")} | ids(range(50, 60))
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
        shop.write(range(50, 60))
        wait_until(lambda: seen_ids(tmp_path) == expected, "what .NET has not seen")
    assert len(leases(shop)) == len(RANGES)
    assert len(seen(tmp_path)) == len(expected)


def changes_in(shop: Shop, low: str, high: str) -> list[dict[str, Any]]:
    """The feed of one range, whose numbers begin at 1."""
    part: dict[str, Any] = {"Range": {"min": low, "max": high, "isMinInclusive": True, "isMaxInclusive": False}}
    return list(shop.container.query_items_change_feed(feed_range=part, start_time="Beginning"))


def test_leases_of_an_earlier_version_are_taken_over(shop: Shop, tmp_path: Path) -> None:
    """Those were named by the database's name and had the token of the Python SDK: nothing comes twice."""
    shop.write(range(20))
    name = lease_name(shop, shop.database.id)
    documents = shop.database.get_container_client("leases")
    for part in shop.container.read_feed_ranges():
        list(shop.container.query_items_change_feed(feed_range=part, start_time="Beginning"))
        token = shop.container.client_connection.last_response_headers["etag"]
        old = dotnet_lease(name, f"{part['Range']['min']}-{part['Range']['max']}", "", "", token)
        documents.create_item({**old, "version": 1, "FeedRange": part})
    with serving(write_app(tmp_path / "app", functions()), shop.settings(tmp_path)):
        shop.write(range(50, 60))
        wait_until(lambda: seen_ids(tmp_path) == ids(range(50, 60)), "what is new")
        wait_until(shop.is_checkpointed, "the checkpoints")
    assert len(seen(tmp_path)) == 10
    assert {lease["LeaseToken"] for lease in leases(shop)} == {token for token, _, _ in RANGES}
