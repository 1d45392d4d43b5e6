"""Pages of a container's change feed, range by range, each with the places where reading goes on after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from local.host.triggers.cosmos.options import ALL_VERSIONS
from shared.sources import feed_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from azure.cosmos.aio import ContainerProxy

    from local.host.triggers.cosmos.options import CosmosTriggerOptions
    from shared.sources.feed_tokens import FeedPosition


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Some changes in their order, and where to go on: in one place, or in several once the range was split."""

    documents: list[dict[str, Any]]
    positions: list[FeedPosition]


def plain_range(low: str, high: str) -> dict[str, Any]:
    """A range as the SDK reads it."""
    return {"min": low, "max": high, "isMinInclusive": True, "isMaxInclusive": False}


@dataclass(frozen=True, slots=True)
class ContainerFeed:
    """The feed of one container, as one trigger reads it."""

    container: ContainerProxy
    container_rid: str
    options: CosmosTriggerOptions

    @property
    def starts_now(self) -> bool:
        """Whether changes made before the leases do not count; a feed of all versions cannot look back."""
        options = self.options
        return options.mode == ALL_VERSIONS or not (options.from_beginning or options.start_time)

    async def ranges(self) -> dict[str, dict[str, Any]]:
        """The ranges of the container by their ids, which leases are named by."""
        connection = cast(Any, self.container.client_connection)
        found = connection._ReadPartitionKeyRanges(self.container.container_link)  # noqa: SLF001 - feed ranges have no ids
        return {each["id"]: plain_range(each["minInclusive"], each["maxExclusive"]) async for each in found}

    def pages(self, feed_range: dict[str, Any], etag: str | None) -> AsyncIterator[FeedPage]:
        """The pages of one range after an ETag; without one, from where the trigger starts."""
        if etag is not None:
            token = feed_tokens.new_token(self.container_rid, self.options.mode, feed_range, etag)
            return self._pages({"continuation": token})
        start = "Now" if self.starts_now else self.options.start_time or "Beginning"
        return self._pages({"feed_range": {"Range": feed_range}, "mode": self.options.mode, "start_time": start})

    async def position_now(self, feed_range: dict[str, Any]) -> str:
        """The ETag of this moment in one range.

        A feed from now on starts with an empty page, which the pager swallows with its token; what is left of it is
        the client's last answer. So nothing else may use the client meanwhile.
        """
        async for _ in self.pages(feed_range, None):
            pass
        token = str(self.container.client_connection.last_response_headers["etag"])
        return str(feed_tokens.positions(token)[0]["token"])

    async def _pages(self, arguments: dict[str, Any]) -> AsyncIterator[FeedPage]:
        # The pager has the token as an attribute, which its declared type does not mention.
        found = self.container.query_items_change_feed(**arguments, max_item_count=self.options.max_items)
        pages = cast(Any, found.by_page())
        async for page in pages:
            documents = [document async for document in page]
            yield FeedPage(documents, feed_tokens.positions(pages.continuation_token))
