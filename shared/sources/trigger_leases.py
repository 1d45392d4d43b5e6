"""Lease documents of the Cosmos DB trigger: how far each range of a container's change feed has been applied.

The form is that of the .NET change feed processor, which Azure's extension uses: the id is PREFIX, HOST, `_`, DATABASE,
`_`, CONTAINER, `..` and TOKEN (`.info` and `.lock` documents are no leases); there is a `FeedRange`, and a
`ContinuationToken` that is the feed's ETag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.errors import FeedUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shared.definitions.model import Source

# There is one in every database with facts.
LEASE_CONTAINER: Final = "leases"
LATEST: Final = "LatestVersion"
ALL_VERSIONS: Final = "AllVersionsAndDeletes"
_BEFORE_TOKEN: Final = ".."


class LeasePosition(NamedTuple):
    """A range of the feed and the ETag up to which it has been applied; None: nothing of it yet."""

    feed_range: Mapping[str, Any]
    etag: str | None


def trigger_prefix(source: Source, index_account: str) -> str:
    """The lease prefix of a source's trigger.

    Leases record what the ledger knows, so they belong to its storage account: two apps that keep indexes of one
    container in different accounts each see every change, and a new account starts at the beginning. A lease cannot
    change its mode, so each mode has its own leases.
    """
    mode = "-all" if source.all_versions else ""
    return f"{index_account}-{source.name}{mode}-"


def lease_prefix(prefix: str, host: str) -> str:
    """What the ids of a trigger's leases begin with."""
    return f"{prefix}{host}_"


def positions(leases: Iterable[Mapping[str, Any]], container_rid: str) -> list[LeasePosition]:
    """The positions of a container's leases."""
    own = [lease for lease in leases if f"_{container_rid}{_BEFORE_TOKEN}" in str(lease["id"])]
    return [_position(lease) for lease in own]


def _position(lease: Mapping[str, Any]) -> LeasePosition:
    feed_range = (lease.get("FeedRange") or {}).get("Range")
    if feed_range is None:
        # SDKs of 2019 wrote such leases. No extension that this app runs with does.
        raise FeedUnavailableError(
            f"The lease {lease['id']} names no range: it was made by an extension that is too old."
        )
    return LeasePosition(_plain_range(feed_range), lease.get("ContinuationToken") or None)


def _plain_range(feed_range: Mapping[str, Any]) -> dict[str, Any]:
    """The range with the defaults that .NET leaves out."""
    return {
        "min": feed_range["min"],
        "max": feed_range["max"],
        "isMinInclusive": feed_range.get("isMinInclusive", True),
        "isMaxInclusive": feed_range.get("isMaxInclusive", False),
    }
