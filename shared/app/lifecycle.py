"""What those who run the app share in one process: long tasks, and the life of generations; made when first needed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from shared.app import runtime, settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient

    from shared.definitions.model import Definitions
    from shared.lifecycle.build import Builds
    from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes
    from shared.pipeline.apply.worker import Services, Worker
    from shared.sources.hub_events import EventReplay
    from shared.tasks.runner import TaskKind, TaskQueue, TaskRunner
    from shared.verification.task import Verifications

# What a worker has claimed it writes within moments.
_PAUSE_SECONDS: Final = 3.0


def tasks(worker: Worker) -> TaskRunner:
    """Long work, in slices that messages of the task queue ask for."""
    from shared.app.connections import TIMING
    from shared.tasks.rows import TaskRows
    from shared.tasks.runner import TaskRunner, renewing_claims

    kinds: dict[str, TaskKind] = {"build": builds(worker), "verification": verifications(worker)}
    return TaskRunner(TaskRows(worker.accounts.main), task_queue(), kinds, TIMING.wall_seconds, renewal=renewing_claims)


@lru_cache(maxsize=1)
def task_queue() -> TaskQueue:
    """The queue of slices to work on."""
    from shared.app.connections import queue_client
    from shared.app.queues_and_blobs import DelayedQueue

    return DelayedQueue(queue_client(settings.storage_connection(settings.HOST_STORAGE), settings.TASK_QUEUE))


@lru_cache(maxsize=2)
def builds(worker: Worker) -> Builds:
    """Builds by a worker of this process: that of triggers, which works on them, and that of callers, who ask."""
    from shared.app.connections import TIMING
    from shared.catalog.catalog import Catalog
    from shared.lifecycle.build import Builds, BuildSources
    from shared.sources.cosmos_facts import CosmosFacts
    from shared.sources.cosmos_feed import CosmosFeed
    from shared.sources.hub_events import HubReplay

    sources = BuildSources(CosmosFeed(_cosmos), CosmosFacts(_cosmos), HubReplay(_hub_client))
    catalog = Catalog(worker.accounts.main)
    return Builds(catalog, beside(worker.services), sources, TIMING.steady_seconds, TIMING.sleep)


@lru_cache(maxsize=2)
def verifications(worker: Worker) -> Verifications:
    """Verifications by a worker of this process."""
    from shared.app.connections import TIMING
    from shared.catalog.catalog import Catalog
    from shared.sources.current_facts import CosmosCurrentFacts
    from shared.verification.judge import GracePeriod
    from shared.verification.task import Verifications, VerificationTools

    grace_seconds = settings.number(settings.VERIFY_GRACE_SECONDS)
    hands = VerificationTools(
        CosmosCurrentFacts(_cosmos),
        GracePeriod(grace_seconds, _PAUSE_SECONDS, TIMING.wall_seconds, TIMING.sleep),
        settings.number(settings.SWEEP_DELAY_SECONDS),
        TIMING.chance,
        TIMING.steady_seconds,
    )
    return Verifications(Catalog(worker.accounts.main), beside(worker.services), hands)


def beside(services: Services) -> Services:
    """The same services for work beside the feed, which may wait for its budget while it holds its permits."""
    from shared.pipeline.concurrency import Bounded, Staggered

    return replace(services, run_all=Bounded(), run_buckets=Staggered())


def _cosmos() -> CosmosClient:
    from shared.app.connections import cosmos_client

    return cosmos_client(settings.cosmos_connection(settings.COSMOS.name))


def _hub_client(hub: str) -> EventHubConsumerClient:
    from shared.app.connections import event_hub_client
    from shared.sources.hub_events import REPLAY_CONSUMER_GROUP

    connection = settings.event_hubs_connection(settings.EVENTHUB.name)
    return event_hub_client(connection, hub, REPLAY_CONSUMER_GROUP, retry_total=1)


def lifecycle(worker: Worker) -> GenerationLifecycle:
    """Builds, switches and rollbacks of the indexes that this app serves; raises `DefinitionsError`."""
    from shared.catalog.catalog import Catalog
    from shared.lifecycle.generations import GenerationLifecycle

    served = runtime.definitions().require()
    return GenerationLifecycle(served, Catalog(worker.accounts.main), tasks(worker), _clocks())


def _clocks() -> LifecycleTimes:
    from shared.app.connections import TIMING
    from shared.lifecycle.generations import LifecycleTimes

    return LifecycleTimes(
        TIMING.wall_seconds,
        settings.seconds(settings.CATALOG_REFRESH_SECONDS),
        settings.number(settings.BUILD_DELAY_SECONDS),
        settings.number(settings.GRACE_SECONDS),
    )


@asynccontextmanager
async def here(
    definitions: Definitions, kind: str, replay: EventReplay | None, slice_seconds: float
) -> AsyncIterator[GenerationLifecycle]:
    """The same for a command that builds in its own process, under a kind of its own, and enters no definition."""
    from shared.app.connections import TIMING
    from shared.catalog.catalog import Catalog
    from shared.lifecycle.build import Builds, BuildSources
    from shared.lifecycle.generations import GenerationLifecycle
    from shared.sources.cosmos_facts import CosmosFacts
    from shared.sources.cosmos_feed import CosmosFeed
    from shared.sources.hub_events import HubReplay
    from shared.tasks.rows import TaskRows
    from shared.tasks.runner import TaskRunner, renewing_claims

    services = runtime.new_worker(definitions).services
    catalog, rows = Catalog(services.accounts.main), TaskRows(services.accounts.main)
    feed, facts = CosmosFeed(_cosmos), CosmosFacts(_cosmos)
    sources = BuildSources(feed, facts, replay or HubReplay(_hub_client))
    builds = Builds(catalog, services, sources, TIMING.steady_seconds, TIMING.sleep)
    runner = TaskRunner(rows, None, {kind: builds}, TIMING.wall_seconds, slice_seconds, renewal=renewing_claims)
    try:
        yield GenerationLifecycle(definitions, catalog, runner, _clocks())
    finally:
        opened = [feed, facts, *services.accounts.by_name.values(), services.blobs, services.sweep_queue]
        for one in opened:
            # All of them, as `runtime` makes them, hold connections; their ports do not say so.
            await cast(Any, one).close()


async def tidy() -> None:
    """Retire generations whose grace is over; called by a timer."""
    worker = await runtime.worker()
    await lifecycle(worker).retire_unwanted(worker.accounts)
