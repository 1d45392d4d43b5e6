"""Lease documents of the Cosmos DB trigger: how far each range of a container's change feed has been applied.

The form is that of the .NET change feed processor, which Azure's extension uses: the id is PREFIX, HOST, `_`, DATABASE,
`_`, CONTAINER, `..` and TOKEN (`.info` and `.lock` documents are no leases); there is a `FeedRange`, and a
`ContinuationToken` that is the feed's ETag. The local host keeps the Python SDK's token in its place, which names its
ranges itself.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.errors import FeedUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shared.definitions.model import Source

LATEST: Final = "LatestVersion"
ALL_VERSIONS: Final = "AllVersionsAndDeletes"
_BEFORE_TOKEN: Final = ".."
_SDK_VERSION: Final = "v2"


class Position(NamedTuple):
    """A range of the feed and the ETag up to which it has been applied; None: nothing of it yet."""

    feed_range: Mapping[str, Any]
    etag: str | None


def trigger_prefix(source: Source) -> str:
    """The lease prefix of a source's trigger. A lease cannot change its mode, so each mode has leases of its own."""
    return f"{source.name}-all-" if source.all_versions else f"{source.name}-"


def lease_prefix(prefix: str, host: str) -> str:
    """What the ids of a trigger's leases begin with."""
    return f"{prefix}{host}_"


def positions(leases: Iterable[Mapping[str, Any]], container_rid: str) -> list[Position]:
    """The positions of a container's leases."""
    own = [lease for lease in leases if f"_{container_rid}{_BEFORE_TOKEN}" in str(lease["id"])]
    return [position for lease in own for position in _positions(lease)]


def _positions(lease: Mapping[str, Any]) -> list[Position]:
    token = lease.get("ContinuationToken")
    if token and (ranges := _sdk_ranges(token)) is not None:
        return [Position(_plain_range(one["range"]), one["token"]) for one in ranges]
    feed_range = (lease.get("FeedRange") or {}).get("Range")
    if feed_range is None:
        # As the SDKs of 2019 made them, and no extension that this app runs with.
        raise FeedUnavailableError(f"The lease {lease['id']} names no range: it was made by an extension too old.")
    return [Position(_plain_range(feed_range), token or None)]


def _sdk_ranges(token: str) -> list[dict[str, Any]] | None:
    """The ranges and ETags of a token of the Python SDK; None for any other text."""
    try:
        content = json.loads(b64decode(token, validate=True))
    except (Base64Error, ValueError):
        return None
    if not isinstance(content, dict) or content.get("v") != _SDK_VERSION:
        return None
    ranges: list[dict[str, Any]] = content["continuation"]["continuation"]
    return ranges


def _plain_range(feed_range: Mapping[str, Any]) -> dict[str, Any]:
    """With the ends that .NET leaves out when they are the usual ones."""
    return {
        "min": feed_range["min"],
        "max": feed_range["max"],
        "isMinInclusive": feed_range.get("isMinInclusive", True),
        "isMaxInclusive": feed_range.get("isMaxInclusive", False),
    }


def sdk_token(container_rid: str, mode: str, feed_range: Mapping[str, Any], etag: str) -> str:
    """The token with which the Python SDK goes on at an ETag, whoever noted it."""
    content = {
        "v": _SDK_VERSION,
        "containerRid": container_rid,
        "mode": mode,
        "startFrom": {"Type": "Beginning"},
        "continuation": {
            "v": _SDK_VERSION,
            "rid": container_rid,
            "continuation": [{"token": etag, "range": feed_range}],
            "Range": feed_range,
        },
    }
    return b64encode(json.dumps(content).encode()).decode()
