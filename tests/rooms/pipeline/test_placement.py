"""A worker on several storage accounts: each partition in its own, and a missing one found out first."""

from __future__ import annotations

import pytest

from shared.catalog.rows import CATALOG_TABLE
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import SettingError, TableMissingError
from shared.pipeline.apply.worker import Services, Worker
from shared.pipeline.concurrency import Bounded, Staggered
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.worlds.world import KeptBlobs, KeptMessages, definitions_of

PLACED = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town:
    source: people
    partition: town
    project: [phone]
    placement: {by: list, map: {Lund: SOUTH}, default: INDEX_STORAGE}
"""


def worker(queue: KeptMessages, **accounts: MemoryTables) -> Worker:
    """A worker on these accounts."""
    services = Services(
        accounts=Accounts(accounts),
        blobs=KeptBlobs(),
        sweep_queue=queue,
        run_all=Bounded(),
        run_buckets=Staggered(),
        now_seconds=lambda: 1_800_000_000.0,
        retention_seconds=1000,
        take_transactions=lambda: 0,
    )
    return Worker(definitions_of(PLACED), services)


def person(fact: str, town: str, version: int, *, gone: bool = False) -> dict[str, object]:
    """A document as the change feed gives it."""
    stamp = {"_ts": 1_700_000_000 + version, "_lsn": version, "_etag": f"e{version}"}
    return {"id": fact, "town": town, "phone": "1", "gone": gone, **stamp}


async def test_each_partition_is_written_and_swept_in_its_account() -> None:
    """A fact that moves leaves one account for the other; the sweep finds its tombstone there."""
    main, south, queue = MemoryTables(), MemoryTables(), KeptMessages()
    kept = worker(queue, INDEX_STORAGE=main, SOUTH=south)
    await kept.prepare()
    await kept.apply_latest("people", [person("a", "Lund", 1), person("b", "Oslo", 2)])
    table = next(iter(kept._plans["people"].generations)).table

    async def rows(tables: MemoryTables, partition: str) -> int:
        return len((await tables.query(table, RowRange(partition))).rows)

    assert [await rows(south, "Lund !"), await rows(main, "Oslo !"), await rows(main, "Lund !")] == [1, 1, 0]
    await kept.apply_latest("people", [person("a", "Oslo", 3)])
    assert [await rows(south, "Lund !"), await rows(main, "Oslo !")] == [1, 2]
    for message in queue.messages:
        await kept.sweep(message)
    assert [await rows(south, "Lund !"), await rows(main, "Oslo !")] == [0, 2]


async def test_a_missing_account_is_found_out_before_anything_is_written() -> None:
    """The error names the index and the connection; there is not even a catalog."""
    main = MemoryTables()
    with pytest.raises(SettingError, match=r'Index "by-town" cannot be placed\. There is no storage connection SOUTH'):
        await worker(KeptMessages(), INDEX_STORAGE=main).prepare()
    with pytest.raises(TableMissingError):
        await main.query(CATALOG_TABLE, RowRange("generation"))
    assert DEFAULT_ACCOUNT == "INDEX_STORAGE"
