"""Lookups on a whole local run: one's own writes are seen, facts are fetched fresh, pages hold together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient

from local.run.samples import facts
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azure.cosmos import ContainerProxy


@dataclass(frozen=True)
class Shop:
    """The project's own app with its samples, and the containers behind it."""

    http: str
    customers: ContainerProxy
    movies: ContainerProxy

    def entries(self, index: str, **parameters: str) -> list[dict[str, Any]]:
        """A lookup that must succeed."""
        answer = requests.get(f"{self.http}/api/indexes/{index}/entries", params=parameters, timeout=20)
        assert answer.ok, answer.text
        found: list[dict[str, Any]] = answer.json()["value"]
        return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One run for all tests of this file; each has facts of its own."""
    with runs.ready(tmp_path_factory.mktemp("lookups") / "data") as (_, found):
        database = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"]).get_database_client("shop")
        customers, movies = (database.get_container_client(name) for name in ("customers", "movies"))
        yield Shop(found["http"], customers, movies)


def sees(item: dict[str, Any], partition_key: str) -> str:
    """What a caller knows of its write."""
    return json.dumps({"id": item["id"], "partitionKey": partition_key, "_etag": item["_etag"], "_ts": item["_ts"]})


def test_a_lookup_sees_the_callers_own_write(shop: Shop) -> None:
    """Inserted, moved and deleted: each lookup waits for the write before it."""
    person: dict[str, Any] = {"id": "s1", "customerId": "s1", "firstName": "Sia", "lastName": "S", "town": "Seen"}
    for town in ("Seen", "Seen twice", "Seen"):
        item = shop.customers.upsert_item({**person, "town": town})
        assert [e["id"] for e in shop.entries("customers-by-town", town=town, sees=sees(item, "s1"))] == ["s1"]
    item = shop.customers.upsert_item({**person, "isDeleted": True})
    assert shop.entries("customers-by-town", town="Seen", sees=sees(item, "s1")) == []


def test_facts_are_fetched_fresh_and_checked(shop: Shop) -> None:
    """A movie that is gone from the container is left out, although its entry is still there."""
    shop.movies.upsert_item(
        {"id": "e1", "title": "Expanded", "year": 2001, "genre": "Expand", "cast": ["Exa"], "released": True}
    )
    wait_until(lambda: bool(shop.entries("movies-newest-first", genre="Expand")), "the movie is indexed")
    (entry,) = shop.entries("movies-newest-first", genre="Expand", expand="fact")
    assert entry["fact"]["title"] == "Expanded"
    shop.movies.delete_item("e1", "Expand")
    assert shop.entries("movies-newest-first", genre="Expand", expand="fact") == []


def test_pages_follow_each_other_to_the_end(shop: Shop) -> None:
    """Every entry once, in order, whatever the page size."""
    movies = [movie for movie in facts("movies") if movie["released"] and "Dmitri Volkov" in movie["cast"]]
    whole = sorted(movie["title"] for movie in movies)
    wait_until(
        lambda: len(shop.entries("movies-by-actor", actor="Dmitri Volkov")) == len(whole), "the samples are indexed"
    )
    url, paged = f"{shop.http}/api/indexes/movies-by-actor/entries?actor=Dmitri+Volkov&maxpagesize=3", []
    while url:
        page = requests.get(url, timeout=10).json()
        paged += [entry["key"]["title"] for entry in page["value"]]
        url = page.get("nextLink", "")
    assert paged == whole
