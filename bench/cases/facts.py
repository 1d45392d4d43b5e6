"""The facts that the workloads use, and their definitions: made by counting, so that every run has the same ones."""

from __future__ import annotations

from typing import Any, Final

CUSTOMERS: Final = "customers"
MOVIES: Final = "movies"
TOWNS, NAMES, SEGMENTS = 8, 8, 4
CAST, ACTORS = 5, 200
HOT_TOWN: Final = "town 0"

CUSTOMERS_YAML: Final = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId, deletes: {when: isDeleted}}
indexes:
  by-town:
    source: customers
    partition: town
    sort: [lastName, firstName]
    project: [phone, email]
  by-name:
    source: customers
    partition: {path: lastName, fold: case}
    sort: [{path: since, type: datetime, order: desc}]
    project: all
  by-segment:
    source: customers
    partition: segment
    sort: [{path: spend, type: number, order: desc}]
    project: keys
    where: active
"""

ONE_INDEX_YAML: Final = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId, deletes: {when: isDeleted}}
indexes:
  by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone, email]}
"""

SHARDED_YAML: Final = ONE_INDEX_YAML.replace("project:", "shards: 16, project:")

SUMMARY_YAML: Final = ONE_INDEX_YAML.replace(
    "sort: [lastName, firstName], project: [phone, email]",
    "summarize: {customers: facts, spend: {sum: spend}, mean: {average: spend}, largest: {max: spend}}",
)

MOVIES_YAML: Final = """
version: 1
sources:
  movies: {cosmos: {database: shop, container: movies}, partitionKey: genre}
indexes:
  by-actor: {source: movies, each: {actor: cast}, partition: actor, sort: title, project: [year, genre]}
"""

# About 1 KB of JSON.
CUSTOMER: Final[dict[str, Any]] = {
    "id": "c-000042-7f3b",
    "customerId": "c-000042",
    "firstName": "Zoë",
    "lastName": "Müller",
    "town": "Redmond",
    "segment": "gold",
    "active": True,
    "email": "zoe.mueller@example.com",
    "phone": "+1 425 555 0100",
    "since": "2019-03-07T10:15:30Z",
    "spend": 1234.56,
    "visits": 17,
    "address": {"street": "1 Main Street", "zip": "98052", "state": "WA", "country": "US"},
    "tags": ["news", "vip", "winter"],
    "orders": [{"id": f"o-{n}", "placedAt": f"2025-01-{n:02}T08:00:00Z", "total": n * 9.95} for n in range(1, 6)],
    "notes": "Prefers to be called in the afternoon.",
    "_rid": "kx5HAOaF4y0BAAAAAAAAAA==",
    "_self": "dbs/kx5HAA==/colls/kx5HAOaF4y0=/docs/kx5HAOaF4y0BAAAAAAAAAA==/",
    "_etag": '"00000000-0000-0000-9d2f-0d9b3f7c01db"',
    "_attachments": "attachments/",
    "_ts": 1700000000,
    "_lsn": 4711,
}

Fact = dict[str, Any]


def customer(number: int, version: int = 0, **fields: Any) -> Fact:
    """One customer as the change feed delivers its versions; index keys are shared by many."""
    return {
        **CUSTOMER,
        "id": f"c-{number:06}",
        "customerId": f"c-{number:06}",
        "town": f"town {number % TOWNS}",
        "lastName": f"name {number % NAMES}",
        "segment": f"segment {number % SEGMENTS}",
        **fields,
        **_system_properties(number, version),
    }


def customers(count: int, version: int = 0, **fields: Any) -> list[Fact]:
    """The first so many customers."""
    return [customer(number, version, **fields) for number in range(count)]


def scattered(count: int, version: int = 0, **fields: Any) -> list[Fact]:
    """Customers of whom no two share a partition of any index: nothing can be written together."""
    return [_alone(number, version, **fields) for number in range(count)]


def _alone(number: int, version: int, town: str = "town", **fields: Any) -> Fact:
    keys = {"town": f"{town} {number}", "lastName": f"name {number}", "segment": f"segment {number}"}
    return customer(number, version, **keys, **fields)


def crowded(count: int, version: int = 0) -> list[Fact]:
    """Customers of whom nine in ten live in one town."""
    return [customer(number, version, town=HOT_TOWN if number % 10 else f"town {number}") for number in range(count)]


def steadily_changed(count: int) -> list[Fact]:
    """The next version of the first customers: nine in ten keep their keys, one in ten moves."""
    return [
        customer(number, 1, phone="+1 425 555 0199", **({} if number % 10 else {"town": "moved"}))
        for number in range(count)
    ]


def mixed(count: int) -> list[Fact]:
    """Per ten changes: six in the same place, one new, one moved, one deleted, one delivered again."""
    return [_mixed_change(number, count) for number in range(count)]


def _mixed_change(number: int, count: int) -> Fact:
    match number % 10:
        case 0:
            return customer(count + number)
        case 1:
            return customer(number, 1, town="moved")
        case 2:
            return customer(number, 1, isDeleted=True)
        case 3:
            return customer(number)
        case _:
            return customer(number, 1, phone="+1 425 555 0199")


def movie(number: int, version: int = 0) -> Fact:
    """A movie with five actors; each version has replaced one of them."""
    first = number * CAST
    cast = [f"actor {actor % ACTORS}" for actor in range(first, first + CAST)]
    if version:
        cast[0] = f"stand-in {number % ACTORS}"
    fields = {"id": f"m-{number:06}", "genre": f"genre {number % 10}", "title": f"Movie {number}", "year": 1990}
    return {**fields, "cast": cast, **_system_properties(number, version)}


def movies(count: int, version: int = 0) -> list[Fact]:
    """The first so many movies."""
    return [movie(number, version) for number in range(count)]


def _system_properties(number: int, version: int) -> Fact:
    lsn = version * 1_000_000 + number
    return {"_ts": 1_700_000_000 + version, "_lsn": lsn, "_etag": f'"{lsn:032x}"'}
