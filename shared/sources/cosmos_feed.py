"""All facts of a container through its change feed: by feed range, from the beginning, page by page.

Query results have no `_lsn`, so builds and verification, which need versions, read here. A page comes with its
continuation: a text from which another process can continue later. A range that splits meanwhile stays one range for
its readers.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from shared.errors import FactsUnavailableError
from shared.sources import feed_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from azure.cosmos.aio import ContainerProxy, CosmosClient

    from shared.definitions.model import Source

PAGE_ITEMS: Final = 1000


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Facts in the order of their last change, each with `_ts` and `_lsn`, and where to go on after them."""

    documents: list[dict[str, Any]]
    continuation: str


class FactFeed(Protocol):
    """Reads whole containers. Every call may raise `FactsUnavailableError`."""

    async def ranges(self, source: Source) -> list[str]:
        """The feed ranges of a source's container: together they hold every fact once."""

    def pages(
        self, source: Source, feed_range: str, continuation: str | None = None, page_items: int = PAGE_ITEMS
    ) -> AsyncIterator[FeedPage]:
        """The pages of one range, from its beginning or after a continuation, until there is nothing newer."""


class CosmosFeed:
    """The change feeds of the containers of one account. `close` it when done."""

    def __init__(self, connect: Callable[[], CosmosClient], page_items: int = PAGE_ITEMS) -> None:
        # Connected when it is first needed: the SDK costs 230 ms of imports.
        self._connect = connect
        self._client: CosmosClient | None = None
        self._page_items = page_items

    async def ranges(self, source: Source) -> list[str]:
        """The feed ranges of a source's container, as texts that tasks can store."""
        container = self.container(source)
        with sdk_errors_as_unavailable(source):
            return [
                json.dumps(feed_range, sort_keys=True)
                async for feed_range in container.read_feed_ranges(force_refresh=True)
            ]

    async def pages(
        self, source: Source, feed_range: str, continuation: str | None = None, page_items: int = PAGE_ITEMS
    ) -> AsyncIterator[FeedPage]:
        """The pages of one range. What changes while they are read may come once more, in its newer version."""
        if continuation is None:
            start = {"feed_range": json.loads(feed_range), "start_time": "Beginning"}
            async for page in self._pages_from(source, start, page_items):
                yield page
            return
        # The position of each range. A range that splits has the positions of its children instead.
        positions = [[position] for position in feed_tokens.positions(continuation)]
        for number, (position,) in enumerate(list(positions)):
            async for page in self._pages_from(source, _start(continuation, position), page_items):
                positions[number] = feed_tokens.positions(page.continuation)
                yield FeedPage(page.documents, feed_tokens.token_at(page.continuation, [*chain(*positions)]))

    async def _pages_from(self, source: Source, start: dict[str, Any], page_items: int) -> AsyncIterator[FeedPage]:
        page_items = min(page_items, self._page_items)
        with sdk_errors_as_unavailable(source):
            # The pager has the token as an attribute, which its declared type does not mention.
            feed = self.container(source).query_items_change_feed(max_item_count=page_items, **start)
            pages = cast(Any, feed.by_page())
            async for page in pages:
                yield FeedPage([document async for document in page], pages.continuation_token)

    def container(self, source: Source) -> ContainerProxy:
        """The container of a source, connected to when it is first asked for."""
        assert source.cosmos is not None
        if self._client is None:
            self._client = self._connect()
        database = self._client.get_database_client(source.cosmos.database)
        return database.get_container_client(source.cosmos.container)

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _start(continuation: str, position: feed_tokens.FeedPosition) -> dict[str, Any]:
    """The SDK's options for the pages after one position of a continuation."""
    token = feed_tokens.token_for_one_range(continuation, position)
    if token is None:
        return {"feed_range": {"Range": position["range"]}, "start_time": "Beginning"}
    return {"continuation": token}


@contextmanager
def sdk_errors_as_unavailable(source: Source) -> Iterator[None]:
    """Raise `FactsUnavailableError` for errors of the SDK."""
    from azure.core.exceptions import AzureError

    try:
        yield
    except (AzureError, TimeoutError, OSError) as error:
        raise FactsUnavailableError(
            f'The change feed of source "{source.name}" cannot be read ({type(error).__name__}): '
            "check the account, then try again."
        ) from error
