"""The composition root: every part of one process, made once, when it is first needed.

A start imports as little as possible: most modules are imported by the property that needs them.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from shared.app import settings as names
from shared.app.connection_settings import event_hubs_connection
from shared.app.process import Process
from shared.app.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from azure.eventhub.aio import EventHubConsumerClient

    from shared.app.lookup_parts import LookupParts
    from shared.app.monitoring_parts import MonitoringParts
    from shared.app.parts import Outside, Parts
    from shared.app.probes import Readiness
    from shared.definitions.model import Definitions
    from shared.entries.changes.seen_version import SeenVersion
    from shared.lifecycle.generations import GenerationLifecycle
    from shared.lookup.generations import ReadableGeneration
    from shared.pipeline.apply.services import Services, Times
    from shared.sources.hub_events import EventReplay
    from shared.tables.client import TableClient
    from shared.tables.counts import Counts
    from shared.tables.retry import RetryPolicy
    from shared.web.api.dead_letters import DeadLetterApi

PROJECT_ROOT: Final = Path(__file__).parents[2]
_SECONDS_PER_DAY: Final = 86_400


@cache
def app() -> App:
    """The app of this process. Tests make their own."""
    return App(PROJECT_ROOT, Settings())


class App(Process):
    """One process: its settings, its connections, and two sets of parts.

    `triggers` wait long for storage, and their cache of ledger rows serves every batch. `callers` give up on storage
    before an HTTP caller gives up on them. The two share no cache: a replay must see what is stored.
    """

    @cached_property
    def monitoring(self) -> MonitoringParts:
        """Counters, status and advice."""
        from shared.app.monitoring_parts import MonitoringParts

        return MonitoringParts(self)

    @cached_property
    def lookup(self) -> LookupParts:
        """Lookups and their HTTP API."""
        from shared.app.lookup_parts import LookupParts

        return LookupParts(self, self.monitoring, _CallersLedger(self))

    @cached_property
    def triggers(self) -> Parts:
        """The parts of triggers and timers; raises `DefinitionsError` or `SettingError`."""
        return self._new_parts(None)

    @cached_property
    def callers(self) -> Parts:
        """The parts of HTTP calls; raises as `triggers` does."""
        from shared.app.connections import FOR_CALLERS

        return self._new_parts(FOR_CALLERS)

    @cached_property
    def readiness(self) -> Readiness:
        """Whether this app can do its work."""
        from shared.app.probes import Readiness

        return Readiness(self, lambda: self.lookup.catalog_readers[0])

    async def parts_for_batch(self) -> Parts:
        """The parts of triggers, ready for a batch. While the main account is down, a function waits here, before it
        begins. It does not wait for other accounts: what they lack is owed to them."""
        self.definitions.require()
        await self.outages.wait_for_main()
        self.outages.probe_beside(self._deliver)
        return await self.triggers.ready()

    async def _deliver(self) -> None:
        await (await self.triggers.ready()).delivery.run()

    async def deliver(self) -> None:
        """Bring accounts that were down what they are owed; called by a timer."""
        self.definitions.require()
        await self.outages.wait_for_main()
        await self.outages.probe_all()
        await self._deliver()

    def _new_parts(self, policy: RetryPolicy | None) -> Parts:
        from shared.app.parts import Parts

        return Parts(self.definitions.require(), self._services(policy), self._outside)

    def _services(self, policy: RetryPolicy | None) -> Services:
        from shared.app.connections import OpenedByName
        from shared.app.gc_tuning import tune_garbage_collection
        from shared.app.queues_and_blobs import BlobContainer, DelayedQueue
        from shared.app.timing_checks import check_timing
        from shared.pipeline.account_calls import AccountLanes
        from shared.pipeline.apply.services import Services
        from shared.pipeline.concurrency import AtOnce, Staggered
        from shared.tables.accounts import Accounts
        from shared.tables.limiter.calls import Priority

        check_timing(self.root, self.settings)
        tune_garbage_collection()
        counted: list[Counts] = []

        def opened(priority: Priority, name: str) -> TableClient:
            counted.append(self.monitoring.new_counts("changes", name))
            return self.connections.table_client(self.storage(name), counted[-1], policy, priority=priority)

        sweep_queue = self.connections.queue_client(self.storage(names.HOST_STORAGE), names.SWEEP_QUEUE)
        container = self.connections.container_client(
            self.storage(names.INDEX_STORAGE.name), names.DEAD_LETTER_CONTAINER
        )
        run_all, outages, times = AtOnce(), self.outages, _times(self.settings)
        return Services(
            accounts=Accounts(OpenedByName(partial(opened, Priority.FEED))),
            background_accounts=Accounts(OpenedByName(partial(opened, Priority.BACKGROUND))),
            blobs=BlobContainer(container, self.world.new_id),
            sweep_queue=DelayedQueue(sweep_queue, times.sweep_delay_seconds, times.sweep_life_seconds),
            run_all=run_all,
            lanes=AccountLanes(run_all, self.world.timing.steady_seconds, outages.is_down, outages.note_silence),
            run_buckets=Staggered(),
            now_seconds=self.world.clock.now_seconds,
            take_transactions=lambda: sum(counts.take() for counts in counted),
            report=self.monitoring.batch_applied,
            times=times,
            has_moved_on=self.feeds.has_moved_on,
        )

    def _outside(self, replay: EventReplay | None = None) -> Outside:
        from shared.app.parts import Outside
        from shared.app.queues_and_blobs import DelayedQueue
        from shared.lifecycle.build import BuildSources
        from shared.monitoring import telemetry
        from shared.sources.cosmos_facts import CosmosFacts
        from shared.sources.cosmos_feed import CosmosFeed
        from shared.sources.current_facts import CosmosCurrentFacts
        from shared.sources.hub_events import HubReplay

        queue = self.connections.queue_client(self.storage(names.HOST_STORAGE), names.TASK_QUEUE)
        return Outside(
            BuildSources(CosmosFeed(self.cosmos), CosmosFacts(self.cosmos), replay or HubReplay(self._hub)),
            CosmosCurrentFacts(self.cosmos),
            DelayedQueue(queue),
            self.world.timing,
            telemetry.verified,
        )

    def _hub(self, hub: str) -> EventHubConsumerClient:
        from shared.sources.hub_events import REPLAY_CONSUMER_GROUP

        connection = event_hubs_connection(names.EVENTHUB.name, self.settings.environment)
        return self.connections.event_hub_client(connection, hub, REPLAY_CONSUMER_GROUP, retry_total=1)

    async def start_due_verifications(self) -> None:
        """Start the verifications that are due; called by a timer."""
        from shared.verification.service import VerificationSchedule

        schedule = VerificationSchedule(
            self.settings.value(names.VERIFY_SAMPLE),
            self.settings.value(names.VERIFY_FULL_DAYS),
            self.settings.value(names.VERIFY_BUDGET),
        )
        # Also without a schedule: it forgets what verifications of operators left.
        await (await self.triggers.ready()).verification_service.start_due(schedule)

    async def dead_letter_api(self) -> DeadLetterApi:
        """The HTTP API of dead letters; raises as `callers` does."""
        from shared.inputs.page_tokens import PageTokens
        from shared.web.api.dead_letters import DeadLetterApi

        return DeadLetterApi((await self.callers.ready()).dead_letters, PageTokens(self.page_token_key()))

    @asynccontextmanager
    async def building_here(
        self, definitions: Definitions, kind: str, replay: EventReplay | None, slice_seconds: float
    ) -> AsyncIterator[GenerationLifecycle]:
        """The lifecycle of generations, for a command that builds in its own process, with its own kind of task. It
        registers no definition."""
        from shared.app.parts import Parts
        from shared.tasks.runner import TaskRunner, renewing_claims

        services, outside = self._services(None), self._outside(replay)
        parts = Parts(definitions, services, lambda: outside)
        wall_seconds = self.world.timing.wall_seconds
        kinds = {kind: parts.builds}
        runner = TaskRunner(parts.task_rows, None, kinds, wall_seconds, slice_seconds, renewal=renewing_claims)
        sources = outside.build_sources
        try:
            yield parts.lifecycle_by(runner)
        finally:
            opened = [sources.feed, sources.facts, *services.accounts.by_name.values(), services.blobs]
            for client in (*opened, services.sweep_queue, outside.task_queue):
                # All of these clients hold connections, but their ports have no `close`.
                await cast(Any, client).close()
            await self.connections.close_identities()


def _times(settings: Settings) -> Times:
    from shared.pipeline.apply.services import Times

    return Times(
        ledger_retention_seconds=settings.value(names.LEDGER_RETENTION_DAYS) * _SECONDS_PER_DAY,
        dead_letter_retention_seconds=settings.dead_letter_retention_days() * _SECONDS_PER_DAY,
        sweep_delay_seconds=settings.value(names.SWEEP_DELAY_SECONDS),
        refresh_seconds=settings.value(names.CATALOG_REFRESH_SECONDS),
        build_delay_seconds=settings.value(names.BUILD_DELAY_SECONDS),
        grace_seconds=settings.value(names.GRACE_SECONDS),
        verification_grace_seconds=settings.value(names.VERIFY_GRACE_SECONDS),
    )


class _CallersLedger:
    """The ledger, for lookups. The first question creates its tables."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def has_applied(self, seen: SeenVersion, generation: ReadableGeneration) -> bool:
        """Whether a generation has that change or a newer one, and its rows are written."""
        parts = await self._app.callers.ready()
        return await parts.ledger_view.has_applied(generation.source.name, generation.id, seen)
