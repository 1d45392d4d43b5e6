"""Pages of the change feed, each with the token that continues after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from local.host.triggers.cosmos.options import ALL_VERSIONS
from shared.sources import feed_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from azure.cosmos.aio import ContainerProxy

    from local.host.triggers.cosmos.options import CosmosTriggerOptions


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Some changes in their order, and where to go on after them."""

    documents: list[dict[str, Any]]
    continuation: str


def starts_now(options: CosmosTriggerOptions) -> bool:
    """Whether changes made before the leases do not count; a feed of all versions cannot look back."""
    return options.mode == ALL_VERSIONS or not (options.from_beginning or options.start_time)


def started(
    container: ContainerProxy, feed_range: dict[str, Any], options: CosmosTriggerOptions
) -> AsyncIterator[FeedPage]:
    """The pages of one range from its beginning, from a time, or from now on."""
    arguments: dict[str, Any] = {
        "feed_range": feed_range,
        "mode": options.mode,
        "start_time": "Now" if starts_now(options) else options.start_time or "Beginning",
        "max_item_count": options.max_items,
    }
    return _pages(container, arguments)


async def position_now(container: ContainerProxy, feed_range: dict[str, Any], options: CosmosTriggerOptions) -> str:
    """The token of this moment in one range.

    A feed from now on starts with an empty page, which the pager swallows with its token; what is left of it is the
    client's last answer. So nothing else may use the client meanwhile.
    """
    async for _ in started(container, feed_range, options):
        pass
    return str(container.client_connection.last_response_headers["etag"])


def continued(container: ContainerProxy, continuation: str, max_items: int) -> AsyncIterator[FeedPage]:
    """The pages after `continuation`, which carries the range and the mode."""
    return _pages(container, {"continuation": continuation, "max_item_count": max_items})


async def _pages(container: ContainerProxy, arguments: dict[str, Any]) -> AsyncIterator[FeedPage]:
    # The pager has the token as an attribute, which its declared type does not mention.
    pages = cast(Any, container.query_items_change_feed(**arguments).by_page())
    async for page in pages:
        yield FeedPage([document async for document in page], pages.continuation_token)


def by_range(continuation: str) -> list[tuple[dict[str, Any], str | None]]:
    """The ranges that a token goes on in, each with a token of its own; None where nothing was read yet."""
    return [
        ({"Range": place["range"]}, feed_tokens.token_for_one_range(continuation, place))
        for place in feed_tokens.positions(continuation)
    ]
