"""Leases: one document per range of the feed, changed only with its ETag, so that one host at a time holds it.

The documents are those of the .NET change feed processor, so that the real extension goes on where this host was, and
back: named by range, with an owner, the ETag up to which changes were handled, the mode and a time stamp whose age says
whether the owner is still alive. A document `.info` says that there was a lease for every range once.
"""

from __future__ import annotations

import contextlib
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
from local.host.triggers.cosmos.feed import plain_range
from shared.sources import feed_tokens

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

    from shared.sources.feed_tokens import FeedPosition


# Two kinds of leases: of a range that the service has, and of any other slice of hash space.
_OF_RANGE = 0
_OF_SLICE = 1


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

    async def create(
        self, ranges: dict[str, dict[str, Any]], feed_range: dict[str, Any], mode: str, etag: str | None
    ) -> None:
        """Create a lease without an owner, unless another host has created it first."""
        low, high = feed_range["min"], feed_range["max"]
        range_id = next((name for name, each in ranges.items() if (each["min"], each["max"]) == (low, high)), None)
        token = f"{low}-{high}" if range_id is None else range_id
        lease = {
            "id": f"{self.prefix}..{token}",
            "version": _OF_SLICE if range_id is None else _OF_RANGE,
            "LeaseToken": token,
            "FeedRange": {"Range": {"min": low, "max": high}},
            "Owner": None,
            "ContinuationToken": etag,
            "properties": {},
            "timestamp": None,
            "Mode": mode,
        }
        await self._create(lease)

    async def move(self, to: LeaseStore, ranges: dict[str, dict[str, Any]]) -> None:
        """Give the other store the leases of this one, which an earlier version named and filled in its own way."""
        for lease in await self.all():
            token = lease["ContinuationToken"]
            beginning: list[FeedPosition] = [{"range": range_of(lease), "token": None}]
            positions = feed_tokens.positions(token) if token else beginning
            for position in positions:
                await to.create(ranges, position["range"], lease["Mode"], position["token"])
            with contextlib.suppress(CosmosResourceNotFoundError):
                await self.container.delete_item(lease["id"], lease["id"])

    async def note_completeness(self) -> None:
        """Note that every range has a lease: the real extension then makes none."""
        await self._create({"id": f"{self.prefix}.info"})

    async def _create(self, document: dict[str, Any]) -> None:
        with contextlib.suppress(CosmosResourceExistsError):
            await self.container.create_item(document)

    def holding(self, lease: dict[str, Any]) -> Holding:
        """The owner of the lease; None when it was not renewed for too long."""
        stamp = lease.get("timestamp")
        renewed = datetime.fromisoformat(stamp) if stamp else datetime.fromtimestamp(lease["_ts"], UTC)
        age = _now() - renewed
        alive = lease["Owner"] is not None and age < timedelta(seconds=self.expiry_seconds)
        return Holding(lease["id"], lease["Owner"] if alive else None)

    async def take(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Make this host the owner in place of the owner that was read."""
        return await self._replace(lease, Owner=self.owner)

    async def renew(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Show that this host is alive."""
        return await self._replace(lease)

    async def checkpoint(self, lease: dict[str, Any], etag: str) -> dict[str, Any]:
        """Note that everything up to `etag` is done."""
        return await self._replace(lease, ContinuationToken=etag)

    async def split(
        self, lease: dict[str, Any], ranges: dict[str, dict[str, Any]], positions: list[FeedPosition]
    ) -> None:
        """Put a lease for each position in the place of their parent's.

        The parent goes last: a host that dies before leaves too many leases, and their changes come twice, not never.
        """
        for position in positions:
            await self.create(ranges, position["range"], lease["Mode"], position["token"])
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


def range_of(lease: dict[str, Any]) -> dict[str, Any]:
    """The range of a lease; .NET leaves out what is usual."""
    found = lease["FeedRange"]["Range"]
    return plain_range(found["min"], found["max"])


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two ranges share anything; their ends are hexadecimal texts that sort as they are."""
    return bool(one["min"] < other["max"] and other["min"] < one["max"])


def _lost(lease: dict[str, Any]) -> LeaseLostError:
    return LeaseLostError(f"Another host has taken the lease {lease['id']}.")


def _now() -> datetime:
    return datetime.now(UTC)
