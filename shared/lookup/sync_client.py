"""`LookupClient` for code without an event loop: the same calls, each of which waits for its answer.

    with SyncLookupClient.connect("indexes.yaml", connection_string) as client:
        page = client.find("customers-by-town", {"town": "Redmond"})
        for entry in client.entries("customers-by-town", {"town.in": ["Redmond", "Kirkland"]}):
            ...

The client has an event loop in a thread of its own, so it works in any thread, also in one that has a loop.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from shared.lookup.client import LookupClient

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping, Sequence
    from pathlib import Path

    from shared.lookup.asking.conditions import Value
    from shared.lookup.asking.explain import ExplanationJson
    from shared.lookup.batch import Outcome
    from shared.lookup.count import EntryCount
    from shared.lookup.lookups import LookupPage
    from shared.lookup.reading.results import FoundEntry
    from shared.tables.wire.account import Account

T = TypeVar("T")


class SyncLookupClient:
    """Looks up entries as `LookupClient` does, and waits."""

    def __init__(self, client: LookupClient, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    @classmethod
    @contextmanager
    def connect(cls, definitions: str | Path, storage: str | Account, **options: Any) -> Iterator[SyncLookupClient]:
        """A client with the options of `LookupClient.connect`."""
        loop = asyncio.new_event_loop()
        thread = Thread(target=loop.run_forever, name="lookups", daemon=True)
        thread.start()
        opened = AsyncExitStack()
        try:
            connecting = opened.enter_async_context(LookupClient.connect(definitions, storage, **options))
            yield cls(_wait(connecting, loop), loop)
        finally:
            _wait(opened.aclose(), loop)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def find(self, index: str, conditions: Mapping[str, Value]) -> LookupPage:
        """One page; look up its `next_parameters` for the page after it."""
        return _wait(self._client.find(index, conditions), self._loop)

    def find_many(
        self, index: str, lookups: Sequence[Mapping[str, Value]], options: Mapping[str, Value] | None = None
    ) -> list[Outcome]:
        """The first page of each of up to 100 lookups, or the error that it has instead, in the order asked."""
        return _wait(self._client.find_many(index, lookups, options), self._loop)

    def entries(self, index: str, conditions: Mapping[str, Value]) -> Iterator[FoundEntry]:
        """Every entry, page by page."""
        parameters: Mapping[str, Value] | None = conditions
        while parameters is not None:
            page = self.find(index, parameters)
            yield from page.entries
            parameters = page.next_parameters

    def count(self, index: str, conditions: Mapping[str, Value]) -> EntryCount:
        """How many entries there are, up to 100 000 rows."""
        return _wait(self._client.count(index, conditions), self._loop)

    def explain(self, index: str, conditions: Mapping[str, Value]) -> ExplanationJson:
        """How that lookup would run."""
        return _wait(self._client.explain(index, conditions), self._loop)


def _wait(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result()
