"""What the functions share in one process: definitions, clients and the worker, made when they are first needed."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shared import settings
from shared.definition_files import read_for_start
from shared.errors import IndexTablesError, StorageUnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.definitions.load import Loaded
    from shared.definitions.model import Definitions
    from shared.pipeline.worker import Services, Worker

# A probe answers before the platform that asks gives up on it.
STORAGE_PROBE_SECONDS = 3.0
_PROBED_TABLE = "Ledger"
SECONDS_PER_DAY = 86_400


@cache
def loaded() -> Loaded:
    """The definitions that the app serves, with their faults: read once, at the start."""
    return read_for_start(Path(settings.value(settings.INDEX_DEFINITIONS)))


async def check_storage() -> None:
    """Raise `StorageUnreachableError` unless the index storage answers."""
    from shared.connections import table_client
    from shared.tables.retry import RetryPolicy

    connection = settings.storage_connection(settings.INDEX_STORAGE.name)
    try:
        async with (
            asyncio.timeout(STORAGE_PROBE_SECONDS),
            table_client(connection, policy=RetryPolicy(attempts=1)) as client,
        ):
            await client.get(_PROBED_TABLE, "probe", "probe")
    except TimeoutError:
        raise StorageUnreachableError(
            f"The connection {settings.INDEX_STORAGE.name} did not answer within {STORAGE_PROBE_SECONDS:g} s; "
            "check that the storage account is up and reachable from here."
        ) from None
    except IndexTablesError as error:
        raise StorageUnreachableError(f"The connection {settings.INDEX_STORAGE.name} does not work: {error}") from error


_worker: Worker | None = None
_making = asyncio.Lock()


async def worker() -> Worker:
    """The worker of this process. Its tables are made before its first batch."""
    global _worker  # noqa: PLW0603 - one per process: its cache serves every batch
    async with _making:
        if _worker is None:
            made = new_worker(loaded().require())
            await made.prepare()
            _worker = made
    return _worker


def new_worker(definitions: Definitions) -> Worker:
    """A worker with clients of its own."""
    from shared.pipeline.worker import Worker

    return Worker(definitions, _services(definitions))


def _services(definitions: Definitions) -> Services:
    from shared.connections import TIMING, container_client, queue_client, table_client
    from shared.pipeline.azure_storage import BlobContainer, DelayedQueue
    from shared.pipeline.concurrency import Bounded
    from shared.pipeline.storage import Accounts
    from shared.pipeline.worker import Services
    from shared.tables.counts import Counts

    counts = Counts()
    index_storage = settings.storage_connection(settings.INDEX_STORAGE.name)
    sweep_queue = queue_client(settings.storage_connection(settings.HOST_STORAGE), settings.SWEEP_QUEUE)
    return Services(
        accounts=Accounts(
            {name: table_client(settings.storage_connection(name), counts) for name in _account_names(definitions)}
        ),
        blobs=BlobContainer(container_client(index_storage, settings.DEAD_LETTER_CONTAINER)),
        sweep_queue=DelayedQueue(sweep_queue, settings.number(settings.SWEEP_DELAY_SECONDS)),
        run_all=Bounded(),
        run_buckets=Bounded(),
        now_seconds=TIMING.wall_seconds,
        retention_seconds=settings.number(settings.LEDGER_RETENTION_DAYS) * SECONDS_PER_DAY,
        take_transactions=counts.take,
    )


def _account_names(definitions: Definitions) -> Iterable[str]:
    """The connections that hold tables: the default one, and those that indexes are placed on."""
    placed = [index.placement.accounts for index in definitions.indexes.values() if index.placement]
    return {settings.INDEX_STORAGE.name, *(name for names in placed for name in names)}
