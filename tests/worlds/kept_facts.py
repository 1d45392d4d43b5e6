"""A container of facts for tests, kept as a table: so that in a simulation reading facts is a call like any other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shared.entries.keys.fact_key import encode_fact_key
from shared.entries.keys.versions import lsn_of, ticks_of
from shared.sources.current_facts import FactPage
from shared.tables.port import Continuation, RowRange

if TYPE_CHECKING:
    from shared.definitions.model import Source
    from shared.entries.changes.change import Change
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.tables.port import Entity, Tables

FACT_TABLE = "Facts"
FIRST_SECOND = 1_700_000_000


def kept_key(fact_id: str) -> str:
    """The RowKey that a fact is kept under."""
    return encode_fact_key((), fact_id)


def stored(source: str, fact_id: str, document: dict[str, Any], version: int, seconds: int | None = None) -> Entity:
    """A fact as its container has it after its `version`-th write."""
    system = {"_etag": f"etag-{version}", "_ts": FIRST_SECOND + (version if seconds is None else seconds)}
    content = {"id": fact_id, **document, **system, "_lsn": version}
    return {"PartitionKey": source, "RowKey": kept_key(fact_id), "document": json.dumps(content)}


def stored_change(change: Change) -> Entity:
    """The fact as of a change that a `Writer` made."""
    assert change.document is not None
    version = lsn_of(change.version)
    document = {name: value for name, value in change.document.items() if name != "id"}
    return stored(change.source, change.id, document, version, ticks_of(change.version) - FIRST_SECOND)


class KeptFacts:
    """The port `CurrentFacts` over a table."""

    def __init__(self, tables: Tables, page_facts: int = 1000) -> None:
        self._tables = tables
        self._page_facts = page_facts

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """As a point read gives it: without `_lsn`."""
        document = await self.from_feed(source, fact_id, partition_key, 0)
        return None if document is None else {name: value for name, value in document.items() if name != "_lsn"}

    async def from_feed(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...], since_seconds: int
    ) -> dict[str, Any] | None:
        """As the feed gives it."""
        row = await self._tables.get(FACT_TABLE, source.name, kept_key(fact_id))
        return None if row is None else json.loads(str(row.entity["document"]))

    async def page(self, source: Source, cursor: str | None, until_seconds: float) -> FactPage:
        """Some facts."""
        continuation = None if cursor is None else Continuation(source.name, cursor)
        page = await self._tables.query(
            FACT_TABLE, RowRange(source.name), limit=self._page_facts, continuation=continuation
        )
        documents = [json.loads(str(row.entity["document"])) for row in page.rows]
        return FactPage(documents, None if page.continuation is None else page.continuation.row)
