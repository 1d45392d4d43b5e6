"""People whose source has the all versions feed: items of the feed, and a worker that gets its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.pipeline.apply.intake import read_transactions
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import World, no_turn, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.changes.change import Change

ALL_VERSIONS = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {feed: allVersions}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""
FIRST_SECOND = 1_700_000_000


def upsert(fact: str, phone: str, lsn: int, kind: str = "replace", town: str = "A") -> dict[str, Any]:
    """A document; its transaction's second follows from the sequence number, as that of all its items."""
    seconds = FIRST_SECOND + lsn // 3
    document = {"id": fact, "town": town, "name": "n", "phone": phone, "_ts": seconds, "_etag": f"{lsn}-{phone}"}
    return {"current": document, "metadata": {"operationType": kind, "lsn": lsn, "crts": seconds}}


def delete(fact: str, lsn: int) -> dict[str, Any]:
    """A hard delete."""
    known = {"operationType": "delete", "lsn": lsn, "crts": FIRST_SECOND + lsn // 3}
    return {"current": {}, "metadata": {**known, "id": fact, "partitionKey": {"id": fact}}}


class AllVersionsWorld(World):
    """Workers that get pages of the feed."""

    def __init__(self) -> None:
        super().__init__(MemoryTables(), ALL_VERSIONS)

    async def read(self, page: Sequence[dict[str, Any]]) -> list[Change]:
        """What a worker applies of a page."""
        reader = CosmosReader(self.definitions.sources["people"])
        intake = await read_transactions("people", page, reader.all_versions, no_turn)
        assert not intake.unreadable
        assert len(intake.changes) + intake.superseded == len(page)
        return intake.changes

    async def feed(self, *page: dict[str, Any]) -> None:
        """Deliver one page."""
        await self.apply(*await self.read(page))

    async def phones(self) -> list[str]:
        """What a reader finds in town A."""
        return sorted(row["phone"] for row in visible(await self.rows("by-town", "A !")))


async def all_versions_world() -> AllVersionsWorld:
    """With its tables."""
    world = AllVersionsWorld()
    await world.create_tables()
    return world
