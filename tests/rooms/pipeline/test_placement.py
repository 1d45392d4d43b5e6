"""A worker on several storage accounts: each partition in its own, and a missing one found out first."""

from __future__ import annotations

import pytest

from shared.app.parts import Parts
from shared.catalog.rows import CATALOG_TABLE
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import SettingError, TableMissingError
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.worlds.world import KeptMessages, definitions_of, services_on

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


def parts_on(queue: KeptMessages, **accounts: MemoryTables) -> Parts:
    """The parts of a process on these accounts."""
    return Parts(definitions_of(PLACED), services_on(Accounts(accounts), lambda: 1_800_000_000.0, queue=queue))


def person(fact: str, town: str, version: int, *, gone: bool = False) -> dict[str, object]:
    """A document as the change feed gives it."""
    stamp = {"_ts": 1_700_000_000 + version, "_lsn": version, "_etag": f"e{version}"}
    return {"id": fact, "town": town, "phone": "1", "gone": gone, **stamp}


async def test_each_partition_is_written_and_swept_in_its_account() -> None:
    """A fact that moves leaves one account for the other; the sweep finds its tombstone there."""
    main, south, queue = MemoryTables(), MemoryTables(), KeptMessages()
    parts = await parts_on(queue, INDEX_STORAGE=main, SOUTH=south).ready()
    await parts.worker.apply_latest("people", [person("a", "Lund", 1), person("b", "Oslo", 2)])
    table = next(iter((await parts.write_plans.current())["people"].generations)).table

    async def rows(tables: MemoryTables, partition: str) -> int:
        return len((await tables.query(table, RowRange(partition))).rows)

    assert [await rows(south, "Lund !"), await rows(main, "Oslo !"), await rows(main, "Lund !")] == [1, 1, 0]
    await parts.worker.apply_latest("people", [person("a", "Oslo", 3)])
    assert [await rows(south, "Lund !"), await rows(main, "Oslo !")] == [1, 2]
    for message in queue.messages:
        await parts.maintenance.sweep(message)
    assert [await rows(south, "Lund !"), await rows(main, "Oslo !")] == [0, 2]


async def test_a_missing_account_is_found_out_before_anything_is_written() -> None:
    """The error names the index and the connection; there is not even a catalog."""
    main = MemoryTables()
    with pytest.raises(SettingError, match=r'Index "by-town" cannot be placed\. There is no storage connection SOUTH'):
        await parts_on(KeptMessages(), INDEX_STORAGE=main).ready()
    with pytest.raises(TableMissingError):
        await main.query(CATALOG_TABLE, RowRange("generation"))
    assert DEFAULT_ACCOUNT == "INDEX_STORAGE"
