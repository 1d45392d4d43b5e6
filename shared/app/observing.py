"""What the functions for operators share in one process: counters, lag and status, made when they are first needed."""

from __future__ import annotations

import asyncio
import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.app import settings
from shared.errors import FeedUnavailableError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient
    from azure.storage.blob.aio import ContainerClient

    from shared.advice.advisor import Advisor
    from shared.definitions.model import Definitions, Source
    from shared.monitoring.counter_flush import FlushedCounters
    from shared.monitoring.counters import Purpose
    from shared.monitoring.lag import Feed
    from shared.monitoring.status import StatusReader
    from shared.pipeline.outcome import BatchOutcome
    from shared.tables.client import TableClient
    from shared.tables.counts import Counts

_log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def counters() -> FlushedCounters:
    """The counters of this instance."""
    from shared.app.connections import TIMING, new_id
    from shared.monitoring.counter_flush import FlushedCounters
    from shared.monitoring.counter_rows import InstanceRow

    tables = _tables()
    kept = FlushedCounters(InstanceRow(tables, new_id(), TIMING.wall_seconds), TIMING)
    kept.counters.watch("operations", tables.counts)
    return kept


def new_counts(purpose: Purpose, account: str) -> Counts:
    """Counts for a client of a storage account, which the counters of this instance take over."""
    from shared.tables.counts import Counts

    counts = Counts()
    counters().counters.watch(purpose, counts, account)
    return counts


def batch_applied(source: str, outcome: BatchOutcome) -> None:
    """Tell and count a batch."""
    from shared.monitoring import telemetry

    telemetry.batch_applied(source, outcome.numbers())
    counters().counters.batch_applied(source, outcome)


def lookup_answered(index: str, rows_read: int, entries: int) -> None:
    """Count a page of a lookup."""
    counters().counters.lookup_answered(index, rows_read, entries)


@lru_cache(maxsize=1)
def _tables() -> TableClient:
    """The index storage, for calls that must not wait long: better to know less than to answer late."""
    from shared.app.connections import table_client
    from shared.tables.retry import RetryPolicy

    retries = RetryPolicy(
        attempts=2, budget_seconds=4, first_wait_seconds=0.2, longest_wait_seconds=0.5, open_seconds=0
    )
    return table_client(settings.storage_connection(settings.INDEX_STORAGE.name), policy=retries)


_status: StatusReader | None = None


def status(served: Definitions) -> StatusReader:
    """The status of the app."""
    global _status  # noqa: PLW0603 - one per process: it keeps what it measured a moment ago
    if _status is None:
        _status = _new_status(served)
    return _status


def _new_status(served: Definitions) -> StatusReader:
    from shared.app.connections import TIMING
    from shared.catalog.catalog import Catalog
    from shared.monitoring.lag import LagMeter
    from shared.monitoring.lag_history import LagHistory
    from shared.monitoring.prices import prices_date, read_prices
    from shared.monitoring.status import StatusDependencies, StatusReader
    from shared.monitoring.status_report import StatusReport
    from shared.tasks.rows import TaskRows

    tables = _tables()
    return StatusReader(
        StatusDependencies(
            definitions=served,
            tables=tables,
            catalog=Catalog(tables),
            tasks=TaskRows(tables),
            counters=counters(),
            lag=LagMeter({name: _feeds(source) for name, source in served.sources.items()}, TIMING),
            history=LagHistory(tables),
            report=StatusReport(served, read_prices()["tableTransactions"], prices_date()),
            now_seconds=TIMING.wall_seconds,
            breaker=lambda: tables.breaker.snapshot(TIMING.steady_seconds()),
        )
    )


_advisor: Advisor | None = None


def advisor(served: Definitions) -> Advisor:
    """What advises on the indexes of the app."""
    global _advisor  # noqa: PLW0603 - one per process: it keeps its last answer for a while
    if _advisor is None:
        _advisor = _new_advisor(served)
    return _advisor


def _new_advisor(served: Definitions) -> Advisor:
    from shared.advice.advisor import Advisor, AdvisorDependencies
    from shared.advice.sampling import Sampler
    from shared.app.connections import FOR_CALLERS, TIMING, OpenedByName, table_client
    from shared.catalog.catalog import Catalog
    from shared.monitoring.prices import read_prices
    from shared.tables.accounts import Accounts

    def opened(name: str) -> TableClient:
        return table_client(settings.storage_connection(name), new_counts("operations", name), FOR_CALLERS)

    accounts = Accounts(OpenedByName(opened))
    dependencies = AdvisorDependencies(
        catalog=Catalog(accounts.main),
        sampler=Sampler(accounts, TIMING.wall_seconds),
        totals=status(served).totals,
        prices=read_prices(),
        now_seconds=TIMING.wall_seconds,
    )
    return Advisor(served, dependencies)


async def has_moved_on(source: Source) -> bool:
    """Whether a feed of a source has passed changes that it will not bring again. One that cannot be asked has not."""
    from shared.app.connections import CLOCK
    from shared.monitoring.lag import ASKING_SECONDS

    for feed in _feeds(source):
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                if await feed.has_moved_on(CLOCK.now_seconds()):
                    return True
        except (FeedUnavailableError, SettingError, TimeoutError) as error:
            _log.warning("Whether a new source has facts from before is not known", extra={"reason": str(error)})
    return False


def _feeds(source: Source) -> list[Feed]:
    """Where the changes of a source come from. A connection that is not set makes its lag unknown, nothing else."""
    from shared.monitoring.cosmos_lag import CosmosLag
    from shared.monitoring.event_lag import EventHubLag

    feeds: list[Feed] = []
    if source.cosmos is not None:
        feeds.append(CosmosLag(source, settings.index_account, _cosmos()))
    if source.event_hub is not None:
        feeds.append(EventHubLag(source.name, source.event_hub, _hub_namespace, _hub, _checkpoints))
    return feeds


def _hub_namespace() -> str:
    from shared.app.connections import event_hubs_namespace

    return event_hubs_namespace(settings.event_hubs_connection(settings.EVENTHUB.name))


def _hub(name: str) -> EventHubConsumerClient:
    from shared.app.connections import event_hub_client
    from shared.sources.hub_events import EVENT_LAG_GROUP

    connection = settings.event_hubs_connection(settings.EVENTHUB.name)
    # Who asks how it is does not want to wait for many retries.
    return event_hub_client(connection, name, EVENT_LAG_GROUP, retry_total=1)


def _checkpoints() -> ContainerClient:
    from shared.app.connections import container_client
    from shared.monitoring.event_lag import CHECKPOINT_CONTAINER

    return container_client(settings.storage_connection(settings.HOST_STORAGE), CHECKPOINT_CONTAINER)


@lru_cache(maxsize=1)
def _cosmos() -> Callable[[], CosmosClient]:
    """One client for all sources, connected when the first feed is asked."""
    from shared.app.connections import cosmos_client

    @lru_cache(maxsize=1)
    def connected() -> CosmosClient:
        return cosmos_client(settings.cosmos_connection(settings.COSMOS.name))

    return connected
