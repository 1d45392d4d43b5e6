"""Tokens of the change feed, as azure-cosmos writes them: a position for each range where reading continues.

A token names one range until the SDK finds that the service has split it. Then a child from which nothing was read has
no position, and the SDK refuses to continue with its own token. So stored tokens are taken apart here.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    # {"range": {"min", "max", ...}, "token": an ETag, or None for the beginning}
    FeedPosition: TypeAlias = dict[str, Any]

_VERSION: Final = "v2"


def new_token(container_rid: str, mode: str, feed_range: Mapping[str, Any], etag: str) -> str:
    """The token with which the SDK continues at an ETag."""
    continuation = {
        "v": _VERSION,
        "rid": container_rid,
        "continuation": [{"token": etag, "range": feed_range}],
        "Range": feed_range,
    }
    return _token(
        {
            "v": _VERSION,
            "containerRid": container_rid,
            "mode": mode,
            "startFrom": {"Type": "Beginning"},
            "continuation": continuation,
        }
    )


def positions(token: str) -> list[FeedPosition]:
    """Where a token continues, range by range."""
    found: list[FeedPosition] = _content(token)["continuation"]["continuation"]
    return found


def token_at(token: str, positions: Sequence[FeedPosition]) -> str:
    """The same token, continuing at these positions instead."""
    content = _content(token)
    ranges = [position["range"] for position in positions]
    whole = {
        **ranges[0],
        "min": min(feed_range["min"] for feed_range in ranges),
        "max": max(feed_range["max"] for feed_range in ranges),
    }
    content["continuation"] |= {"continuation": list(positions), "Range": whole}
    return _token(content)


def token_for_one_range(token: str, position: FeedPosition) -> str | None:
    """A token for one of its positions; None where nothing was read yet."""
    return None if position["token"] is None else token_at(token, [position])


def _token(content: Mapping[str, Any]) -> str:
    return b64encode(json.dumps(content).encode()).decode()


def _content(token: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(b64decode(token))
    return content
