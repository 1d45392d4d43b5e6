"""Leases: one document per range of the feed, changed only with its ETag, so that one host at a time holds it.

The documents have the form of the .NET change feed processor's: an owner, a continuation token, the feed range, the
mode and a time stamp whose age says whether the owner is still alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from azure.core import MatchConditions
from azure.cosmos.exceptions import (
    CosmosAccessConditionFailedError,
    CosmosResourceExistsError,
    CosmosResourceNotFoundError,
)

from local.host.errors import LeaseLostError
from local.host.triggers.cosmos.balance import Holding

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy


@dataclass(frozen=True, slots=True)
class LeaseStore:
    """The leases of one trigger, in its lease container."""

    container: ContainerProxy
    prefix: str
    owner: str
    expiry_seconds: float

    async def all(self) -> list[dict[str, Any]]:
        """Every lease of this trigger."""
        found = self.container.query_items(
            "SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)",
            parameters=[{"name": "@prefix", "value": f"{self.prefix}.."}],
        )
        return [lease async for lease in found]

    async def create(self, feed_range: dict[str, Any], mode: str, continuation: str | None) -> None:
        """Create a lease without an owner, unless another host has created it first."""
        token = f"{feed_range['Range']['min']}-{feed_range['Range']['max']}"
        lease = {
            "id": f"{self.prefix}..{token}",
            "version": 1,
            "LeaseToken": token,
            "FeedRange": feed_range,
            "Owner": None,
            "ContinuationToken": continuation,
            "Mode": mode,
            "properties": {},
            "timestamp": _now().isoformat(),
        }
        try:
            await self.container.create_item(lease)
        except CosmosResourceExistsError:
            return

    def holding(self, lease: dict[str, Any]) -> Holding:
        """The owner of the lease; None when it was not renewed for too long."""
        age = _now() - datetime.fromisoformat(lease["timestamp"])
        alive = lease["Owner"] is not None and age < timedelta(seconds=self.expiry_seconds)
        return Holding(lease["id"], lease["Owner"] if alive else None)

    async def take(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Make this host the owner in place of the owner that was read."""
        return await self._replace(lease, Owner=self.owner)

    async def renew(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Show that this host is alive."""
        return await self._replace(lease)

    async def checkpoint(self, lease: dict[str, Any], continuation: str) -> dict[str, Any]:
        """Note that everything before `continuation` is done."""
        return await self._replace(lease, ContinuationToken=continuation)

    async def split(self, lease: dict[str, Any], children: list[tuple[dict[str, Any], str | None]]) -> None:
        """Put a lease for each child, a range and its token, in the place of their parent's.

        The parent goes last: a host that dies before leaves too many leases, and their changes come twice, not never.
        """
        for feed_range, continuation in children:
            await self.create(feed_range, lease["Mode"], continuation)
        try:
            await self.container.delete_item(
                lease["id"], lease["id"], etag=lease["_etag"], match_condition=MatchConditions.IfNotModified
            )
        except (CosmosAccessConditionFailedError, CosmosResourceNotFoundError):
            raise _lost(lease) from None

    async def release(self, lease: dict[str, Any]) -> None:
        """Let another host take the lease at once."""
        await self._replace(lease, Owner=None)

    async def _replace(self, lease: dict[str, Any], **changes: str | None) -> dict[str, Any]:
        changed = {**lease, **changes, "timestamp": _now().isoformat()}
        try:
            return await self.container.replace_item(
                lease["id"], changed, etag=lease["_etag"], match_condition=MatchConditions.IfNotModified
            )
        except (CosmosAccessConditionFailedError, CosmosResourceNotFoundError):
            raise _lost(lease) from None


def covers(outer: dict[str, Any], inner: dict[str, Any]) -> bool:
    """Whether one feed range lies within another; their ends are hexadecimal texts that sort as they are."""
    wide, narrow = outer["Range"], inner["Range"]
    return bool(wide["min"] <= narrow["min"] and narrow["max"] <= wide["max"])


def _lost(lease: dict[str, Any]) -> LeaseLostError:
    return LeaseLostError(f"Another host has taken the lease {lease['id']}.")


def _now() -> datetime:
    return datetime.now(UTC)
