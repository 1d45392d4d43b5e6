"""Tokens of the change feed, as azure-cosmos writes them: a position for each range that reading goes on in.

A token names one range until the SDK finds that the service has split it. A child that nothing was read of has no
position then, and the SDK refuses to read on with its own token: whoever keeps tokens takes them apart here.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    # {"range": {"min", "max", ...}, "token": an ETag, or None for the beginning}
    Position: TypeAlias = dict[str, Any]

_VERSION: Final = "v2"


def is_token(text: str) -> bool:
    """Whether a text is such a token: the trigger of .NET keeps the feed's ETag where the SDK has a token."""
    try:
        content = json.loads(b64decode(text, validate=True))
    except ValueError:
        return False
    return isinstance(content, dict) and content.get("v") == _VERSION


def new_token(container_rid: str, mode: str, feed_range: Mapping[str, Any], etag: str) -> str:
    """The token with which the SDK goes on at an ETag, whoever noted it."""
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


def positions(token: str) -> list[Position]:
    """Where a token goes on, range by range."""
    found: list[Position] = _content(token)["continuation"]["continuation"]
    return found


def token_at(token: str, places: Sequence[Position]) -> str:
    """The same token, going on at these positions instead."""
    content = _content(token)
    ends = [place["range"] for place in places]
    whole = {**ends[0], "min": min(end["min"] for end in ends), "max": max(end["max"] for end in ends)}
    content["continuation"] |= {"continuation": list(places), "Range": whole}
    return _token(content)


def token_for_one_range(token: str, place: Position) -> str | None:
    """A token for one of its positions; None where nothing was read yet."""
    return None if place["token"] is None else token_at(token, [place])


def _token(content: Mapping[str, Any]) -> str:
    return b64encode(json.dumps(content).encode()).decode()


def _content(token: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(b64decode(token))
    return content
