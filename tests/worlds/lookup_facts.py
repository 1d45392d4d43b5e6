"""Definitions and facts for tests of lookups, and a way to put the facts into index tables without the pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.definitions.loading.load import load
from shared.entries.changes.change import FactReader
from shared.entries.keys.versions import ticks_clock
from shared.entries.projection.projector import Projector
from shared.entries.rows.entry_row import live_row
from shared.lookup.generations import generation_of
from shared.tables.port import Upsert

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.definitions.model import Definitions
    from shared.tables.port import Tables

YAML = """
version: 1
sources:
  customers:
    cosmos: {database: shop, container: customers}
    partitionKey: customerId
    deletes: {when: isDeleted}
  orders:
    eventHub: orders
    partitionKey: customer.id
    version: revision
indexes:
  customers-by-town:
    source: customers
    partition: town
    sort: [lastName, firstName]
    project: [phone, email, "address.street"]
  customers-by-name:
    source: customers
    partition: {path: lastName, fold: case}
    sort: [{path: firstName, fold: case, nulls: index}]
  customers-by-age:
    source: customers
    partition: isVip
    sort: [{path: age, type: integer, order: desc}, {path: rate, type: number}]
    project: keys
    shards: 4
  orders-newest-first:
    source: orders
    partition: [{path: customer.id, name: customer}, {path: paid, type: boolean}]
    sort: [{path: placedAt, type: datetime, order: desc}]
    project: [total]
"""
DEFINITIONS: Definitions = load(YAML).require()


def customer(number: int, **fields: Any) -> dict[str, Any]:
    """A customer of Redmond."""
    return {
        "id": str(number),
        "customerId": f"c-{number}",
        "town": "Redmond",
        "lastName": "Smith",
        "firstName": f"Ann {number:02}",
        "isVip": "yes",
        "age": 20 + number,
        "rate": 0.5,
        "phone": f"555-{number:04}",
        "email": f"ann{number}@example.com",
        "address": {"street": f"Street {number}", "city": "Redmond"},
        **fields,
    }


CUSTOMERS = [
    *(customer(number) for number in range(1, 8)),
    customer(20, lastName="Jones", firstName="Bob"),
    customer(21, lastName="smith", firstName=None, town="Oslo"),
    customer(22, town=""),
    customer(23, town="O'Hare' or PartitionKey ne '", lastName="x/y#z?"),
]
ORDERS = [
    {
        "id": f"o{number}",
        "customer": {"id": "c-1"},
        "paid": number % 2 == 0,
        "placedAt": f"2024-05-0{number}T12:00:00Z",
        "total": number * 10.5,
        "revision": number,
    }
    for number in range(1, 6)
]


def facts() -> dict[str, list[dict[str, Any]]]:
    """All facts by source."""
    return {"customers": CUSTOMERS, "orders": ORDERS}


async def put_facts(
    tables: Tables, documents: Mapping[str, Sequence[dict[str, Any]]], definitions: Definitions = DEFINITIONS
) -> None:
    """Write the entries of these facts, all at the version 1."""
    clock = ticks_clock(1, 0)
    assert clock is not None
    for index in definitions.indexes.values():
        source = definitions.sources[index.source]
        reader, projector = FactReader(source), Projector(index, source)
        table = generation_of(index, source).table
        await tables.create_table(table)
        for document in documents[source.name]:
            change = reader.change(reader.id_of(document), reader.partition_key_of(document), clock, document)
            for entry in projector.project(change):
                row = live_row(entry.partition_key, entry.entry_key, change.version, entry.columns)
                await tables.transact(table, [Upsert(row)])
