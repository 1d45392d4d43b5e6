"""What a Cosmos DB trigger's binding says, with the defaults of a developer's machine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from local.host.configuration import lease_expiry_seconds, resolve
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ALL_VERSIONS = "AllVersionsAndDeletes"
LATEST_VERSION = "LatestVersion"


@dataclass(frozen=True, slots=True)
class CosmosTriggerOptions:
    """One trigger: what it watches, where its leases are, how it reads."""

    connection: str
    database: str
    container: str
    lease_connection: str
    lease_database: str
    lease_container: str
    lease_prefix: str
    create_lease_container: bool
    mode: str
    from_beginning: bool
    start_time: datetime | None
    max_items: int
    poll_seconds: float
    lease_expiry_seconds: float

    @property
    def renew_seconds(self) -> float:
        """Often enough that two renewals may fail."""
        return self.lease_expiry_seconds / 3.5

    @property
    def acquire_seconds(self) -> float:
        """How often hosts look for free leases, and for a host that has too many."""
        return self.lease_expiry_seconds / 4.5


def from_binding(binding: Mapping[str, Any], settings: Mapping[str, str]) -> CosmosTriggerOptions:
    """Read the binding; names may refer to settings."""

    def text(name: str, default: str = "") -> str:
        return resolve(str(binding.get(name) or default), settings)

    connection = text("connection", "AzureWebJobsCosmosDBConnectionString")
    database = text("databaseName")
    expiry_ms = binding.get("leaseExpirationInterval")
    start_time = _start_time(text("startFromTime"))
    if start_time is not None and (binding.get("startFromBeginning") or text("changeFeedMode") == ALL_VERSIONS):
        raise LocalRunError("startFromTime stands alone: not beside startFromBeginning, and not with all versions.")
    return CosmosTriggerOptions(
        connection=connection,
        database=database,
        container=text("containerName"),
        lease_connection=text("leaseConnection", connection),
        lease_database=text("leaseDatabaseName", database),
        lease_container=text("leaseContainerName", "leases"),
        lease_prefix=text("leaseContainerPrefix"),
        create_lease_container=bool(binding.get("createLeaseContainerIfNotExists")),
        mode=text("changeFeedMode", LATEST_VERSION),
        from_beginning=bool(binding.get("startFromBeginning")),
        start_time=start_time,
        max_items=int(binding.get("maxItemsPerInvocation") or 100),
        poll_seconds=int(binding.get("feedPollDelay") or 5000) / 1000,
        lease_expiry_seconds=expiry_ms / 1000 if expiry_ms else lease_expiry_seconds(settings),
    )


def _start_time(text: str) -> datetime | None:
    """The moment in the binding; without a zone it is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise LocalRunError(
            f"startFromTime is {text!r}; write an ISO 8601 time, such as 2026-01-31T12:00:00Z."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
