"""Timer triggers: NCRONTAB schedules, run by one of the hosts that share a storage account.

As in the real host, a blob per timer says when it last ran and when it is next due, so that a tick missed while no
host was up runs at the next start, and a lease on that blob decides which host runs the timer.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from azure.core.exceptions import AzureError
from azure.storage.blob.aio import BlobServiceClient

from local.host import payloads
from local.host.configuration import resolve
from local.host.errors import HostStoppingError, LeaseLostError
from local.host.services import STORAGE_RETRIES
from local.host.triggers import blob_leases
from local.host.triggers.ncrontab import parse

if TYPE_CHECKING:
    from azure.storage.blob.aio import BlobClient, BlobLeaseClient

    from local.host.runtime import Function
    from local.host.services import HostServices

log = logging.getLogger("host.timer")

STATUS_CONTAINER = "azure-webjobs-hosts"


@dataclass(frozen=True, slots=True)
class TimerStatus:
    """When a timer last ran and when it is next due."""

    last: datetime
    next_due: datetime


class TimerTrigger:
    """Calls one function on its schedule."""

    def __init__(self, function: Function, services: HostServices) -> None:
        self._function = function
        self._services = services
        self._schedule = parse(resolve(str(function.trigger["schedule"]), services.settings))
        self._run_on_startup = bool(function.trigger.get("runOnStartup"))
        self._connection_string = services.connection_string("AzureWebJobsStorage")

    async def prepare(self) -> None:
        """Nothing: what happens before `listen` is kept in storage."""

    async def listen(self) -> None:
        """Run the timer whenever this host holds its lease, until the host stops."""
        async with BlobServiceClient.from_connection_string(self._connection_string, **STORAGE_RETRIES) as service:
            container = service.get_container_client(STATUS_CONTAINER)
            blob = container.get_blob_client(f"timers/{self._function.name}/status")
            while not self._services.stop.requested:
                try:
                    await blob_leases.create_if_absent(container, blob)
                    async with blob_leases.held(blob) as lease:
                        if lease is not None:
                            await self._run(blob, lease)
                except (AzureError, LeaseLostError) as error:
                    log.warning("The timer %s starts again: %s", self._function.name, error)
                await self._services.stop.sleep(blob_leases.RENEW_SECONDS)

    async def _run(self, blob: BlobClient, lease: BlobLeaseClient) -> None:
        status = await self._read(blob)
        # Only a tick that no host was up for is past due; one that comes late is not.
        is_past_due = status is not None and status.next_due < _now()
        if is_past_due or self._run_on_startup:
            status = await self._tick(blob, lease, status, is_past_due=is_past_due)
        while status is not None:
            wait_seconds = max(0.0, (status.next_due - _now()).total_seconds())
            if await self._services.stop.sleep(wait_seconds):
                return
            status = await self._tick(blob, lease, status)
        log.warning("The schedule of %s never comes round again", self._function.name)
        await self._services.stop.wait()

    async def _tick(
        self, blob: BlobClient, lease: BlobLeaseClient, due: TimerStatus | None, *, is_past_due: bool = False
    ) -> TimerStatus | None:
        """Call the function, then note the tick: a tick that the host's death interrupts runs again."""
        now = _now()
        following = self._schedule.next_after(now)
        invocation = payloads.timer(due.last if due else now, following or now, now, is_past_due=is_past_due)
        try:
            await self._services.invoker.call_with_retries(self._function, invocation)
        except HostStoppingError:
            return due
        following = self._schedule.next_after(_now())
        status = TimerStatus(now, following) if following else None
        await self._write(blob, lease, status)
        return status

    async def _read(self, blob: BlobClient) -> TimerStatus | None:
        """The noted status, unless the schedule has changed since; then the next tick from now."""
        noted = json.loads(await (await blob.download_blob()).readall())
        if noted.get("Schedule") == repr(self._schedule):
            return TimerStatus(datetime.fromisoformat(noted["Last"]), datetime.fromisoformat(noted["Next"]))
        now = _now()
        following = self._schedule.next_after(now)
        return TimerStatus(now, following) if following else None

    async def _write(self, blob: BlobClient, lease: BlobLeaseClient, status: TimerStatus | None) -> None:
        noted = {}
        if status:
            noted = {
                "Schedule": repr(self._schedule),
                "Last": status.last.isoformat(),
                "Next": status.next_due.isoformat(),
            }
        await blob.upload_blob(json.dumps(noted), overwrite=True, lease=lease)


def _now() -> datetime:
    return datetime.now(UTC)
