"""The facts of containers as they are now, for verification: one by one, or all of them page by page."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.entries.changes.change import FactReader
from shared.entries.keys.fact_key import encode_fact_key
from shared.sources.cosmos_facts import CosmosFacts
from shared.sources.cosmos_feed import CosmosFeed, sdk_errors_as_unavailable
from shared.sources.partition_key import check_partition_key, sdk_partition_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from azure.cosmos.aio import CosmosClient

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue

# The feed's start time has whole seconds, and clocks of replicas differ a little.
_EARLIER: Final = timedelta(seconds=5)
# The container is read at the first fact that is gone, and again after so many more.
_MISSES_BELIEVED: Final = 50


class FactPage(NamedTuple):
    """Documents of the change feed, and where it goes on; None at its end."""

    documents: Sequence[dict[str, Any]]
    cursor: str | None


class CosmosCurrentFacts:
    """Reads facts of one account. `close` it when done."""

    def __init__(self, connect: Callable[[], CosmosClient], page_items: int = 1000) -> None:
        self._facts = CosmosFacts(connect)
        self._feed = CosmosFeed(connect, page_items)
        self._misses = 0

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact, or None when it is gone; raises `FactsUnavailableError`.

        In a missing container every fact looks gone, so the container is read now and then before that is believed.
        """
        found = await self._facts.read(source, fact_id, partition_key)
        if found is None:
            if self._misses % _MISSES_BELIEVED == 0:
                with sdk_errors_as_unavailable(source):
                    await self._feed.container(source).read()
            self._misses += 1
        return found

    async def from_feed(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...], since_seconds: int
    ) -> dict[str, Any] | None:
        """The fact with its `_lsn`: the feed of its logical partition, from a little before its last change."""
        start = datetime.fromtimestamp(since_seconds, UTC) - _EARLIER
        wanted = encode_fact_key(partition_key, fact_id)
        reader = FactReader(source)
        found: dict[str, Any] | None = None
        with sdk_errors_as_unavailable(source):
            changes = self._feed.container(source).query_items_change_feed(
                partition_key=sdk_partition_key(partition_key), start_time=start
            )
            async for document in changes:
                # Asked for an empty text or null, the SDK reads the feed of all partitions.
                if encode_fact_key(reader.partition_key_of(document), document["id"]) == wanted:
                    found = dict(document)
        return found

    async def page(self, source: Source, cursor: str | None, until_seconds: float) -> FactPage:
        """The next facts, range after range. A cursor is the ranges that are left, and where the first one is.

        A range ends where every fact changed after `until_seconds`: with ongoing writes it would never end otherwise.
        """
        if cursor is None:
            with sdk_errors_as_unavailable(source):
                check_partition_key(await self._feed.container(source).read(), source)
        ranges, continuation = (await self._feed.ranges(source), None) if cursor is None else json.loads(cursor)
        while ranges:
            async for page in self._feed.pages(source, ranges[0], continuation):
                if any(document.get("_ts", 0) <= until_seconds for document in page.documents):
                    return FactPage(page.documents, json.dumps([ranges, page.continuation]))
                break
            ranges, continuation = ranges[1:], None
        return FactPage((), None)

    async def close(self) -> None:
        """Close the connections."""
        await self._facts.close()
        await self._feed.close()
