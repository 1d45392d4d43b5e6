"""What those who run the app share in one process: long tasks, and the life of generations; made when first needed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared import runtime, settings

if TYPE_CHECKING:
    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient

    from shared.pipeline.build import Builds
    from shared.pipeline.lifecycle import Lifecycle
    from shared.pipeline.tasks import Kind, Runner, TaskQueue
    from shared.pipeline.verification.task import Verifications
    from shared.pipeline.worker import Worker

# What a worker has claimed it writes within moments.
_PAUSE_SECONDS: Final = 3.0


async def tasks() -> Runner:
    """Long work, in slices that messages of the task queue ask for."""
    from shared.connections import TIMING
    from shared.pipeline.task_rows import TaskRows
    from shared.pipeline.tasks import Runner

    worker = await runtime.worker()
    kinds: dict[str, Kind] = {"build": builds(worker), "verification": verifications(worker)}
    return Runner(TaskRows(worker.accounts.main), task_queue(), kinds, TIMING.wall_seconds)


@lru_cache(maxsize=1)
def task_queue() -> TaskQueue:
    """The queue of slices to work on."""
    from shared.connections import queue_client
    from shared.pipeline.azure_storage import DelayedQueue

    return DelayedQueue(queue_client(settings.storage_connection(settings.HOST_STORAGE), settings.TASK_QUEUE))


@lru_cache(maxsize=1)
def builds(worker: Worker) -> Builds:
    """Builds by this process' worker."""
    from shared.connections import TIMING
    from shared.facts.cosmos import CosmosFacts
    from shared.facts.feed import CosmosFeed
    from shared.facts.hub import HubReplay
    from shared.pipeline.build import Builds, Sources
    from shared.pipeline.catalog import Catalog

    sources = Sources(CosmosFeed(_cosmos), CosmosFacts(_cosmos), HubReplay(_hub_client))
    catalog = Catalog(worker.accounts.main)
    return Builds(catalog, worker.services, sources, TIMING.steady_seconds, TIMING.sleep)


@lru_cache(maxsize=1)
def verifications(worker: Worker) -> Verifications:
    """Verifications by this process."""
    from shared.connections import TIMING
    from shared.facts.current import CosmosCurrentFacts
    from shared.pipeline.catalog import Catalog
    from shared.pipeline.verification.judge import Patience
    from shared.pipeline.verification.task import Hands, Verifications

    grace_seconds = settings.number(settings.VERIFY_GRACE_SECONDS)
    hands = Hands(
        CosmosCurrentFacts(_cosmos),
        Patience(grace_seconds, _PAUSE_SECONDS, TIMING.wall_seconds, TIMING.sleep),
        settings.number(settings.SWEEP_DELAY_SECONDS),
        TIMING.chance,
        TIMING.steady_seconds,
    )
    return Verifications(Catalog(worker.accounts.main), worker.services, hands)


def _cosmos() -> CosmosClient:
    from shared.connections import cosmos_client

    return cosmos_client(settings.cosmos_connection(settings.COSMOS.name))


def _hub_client(hub: str) -> EventHubConsumerClient:
    from shared.connections import event_hub_client
    from shared.facts.hub import CONSUMER_GROUP

    return event_hub_client(settings.event_hubs_connection(settings.EVENTHUB.name), hub, CONSUMER_GROUP)


async def lifecycle() -> Lifecycle:
    """Builds, switches and rollbacks of the indexes that this app serves; raises `DefinitionsError`."""
    from shared.connections import TIMING
    from shared.pipeline.catalog import Catalog
    from shared.pipeline.lifecycle import Clocks, Lifecycle

    served = runtime.definitions().require()
    clocks = Clocks(
        TIMING.wall_seconds,
        settings.seconds(settings.CATALOG_REFRESH_SECONDS),
        settings.number(settings.BUILD_DELAY_SECONDS),
        settings.number(settings.GRACE_SECONDS),
    )
    return Lifecycle(served, Catalog((await runtime.worker()).accounts.main), await tasks(), clocks)


async def tidy() -> None:
    """Retire generations whose grace is over; called by a timer."""
    await (await lifecycle()).tidy((await runtime.worker()).accounts)
