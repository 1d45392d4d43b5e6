"""A worker: everything that one process needs to keep the indexes of its definitions.

It makes the tables, reads what triggers deliver, applies it, and sweeps. One lives as long as its process, because its
cache of ledger rows serves every batch.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from shared.catalog.catalog import Catalog
from shared.catalog.period_tables import create_near_tables, drop_expired_tables
from shared.catalog.plans import source_plans
from shared.catalog.register import DefinitionRegistrar, check_sources, feed_starts_at_beginning
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.errors import IncompleteBatchError, SettingError, TableMissingError
from shared.monitoring import telemetry
from shared.pipeline.apply.batch import Applier
from shared.pipeline.apply.intake import ReceivedEvent, read_all
from shared.pipeline.apply.write_plans import PIPELINE_TABLES
from shared.pipeline.cleanup.expiry import Expirer, ExpiryWalk, sweep_message
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.concurrency import Bounded
from shared.pipeline.dead_letters.service import DEAD_LETTER_SECONDS, REPLAYS_AT_ONCE, new_service
from shared.pipeline.dead_letters.store import DeadLetterStore
from shared.pipeline.ledger.cache import LedgerCache
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.view import has_applied

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from shared.catalog.register import HasMovedOn
    from shared.catalog.rows import CatalogSnapshot
    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.entries.changes.seen_version import SeenVersion
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.pipeline.apply.intake import Intake
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.pipeline.dead_letters.store import Blobs
    from shared.pipeline.outcome import BatchOutcome
    from shared.tables.accounts import Accounts

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """What a worker is connected to."""

    accounts: Accounts
    blobs: Blobs
    sweep_queue: SweepQueue
    run_all: RunAll
    run_buckets: RunAll
    now_seconds: Callable[[], float]
    # How long the ledger rows of deleted facts stay.
    retention_seconds: int
    # Requests to the Table service since the last call.
    take_transactions: Callable[[], int]
    # How long a sweep message waits.
    sweep_delay_seconds: int = 3600
    # No batch starts with a view of the catalog that is older than this.
    refresh_seconds: float = 30
    # A new generation is built this long after it was entered: no batch that does not know it runs any more.
    build_delay_seconds: int = 1920
    # How long dead letters stay, which is less than deleted facts do, and how they are replayed side by side.
    dead_letter_retention_seconds: int = DEAD_LETTER_SECONDS
    run_replays: RunAll = field(default_factory=partial(Bounded, REPLAYS_AT_ONCE))
    # Whether the feed of a source that the catalog does not know has passed changes already.
    has_moved_on: HasMovedOn = feed_starts_at_beginning
    # Told of every batch that was applied.
    report: Callable[[str, BatchOutcome], None] = telemetry.batch_applied


class Worker:
    """Keeps the indexes of all sources of its definitions."""

    def __init__(self, definitions: Definitions, services: Services) -> None:
        self._services = services
        self._definitions = definitions
        self._plans: dict[str, SourcePlan] = {}
        self._read_at_seconds: float | None = None
        self._catalog = Catalog(services.accounts.main)
        self._created: set[tuple[str, str]] = set()
        sources = definitions.sources.items()
        self._readers = {name: CosmosReader(source) for name, source in sources if source.cosmos}
        self._event_readers = {name: EventReader(source) for name, source in sources if source.event_hub}
        self._dead_letters = DeadLetterStore(services.accounts.main, services.blobs, services.now_seconds)
        self._applier = Applier(
            services.accounts,
            self._dead_letters,
            services.sweep_queue,
            LedgerCache(),
            services.run_all,
            services.run_buckets,
            services.now_seconds,
        )
        self.dead_letters = new_service(definitions, self._catalog, self._current_plans, services)
        self._sweeper = Sweeper(services.accounts, services.run_all)
        self._expirer = Expirer(services.accounts, services.run_all, services.now_seconds)
        self._walk = ExpiryWalk(
            services.accounts, services.sweep_queue, services.now_seconds, services.sweep_delay_seconds
        )
        self._retention = Retention(services.accounts.main, services.retention_seconds, services.now_seconds)

    @property
    def services(self) -> Services:
        """What it is connected to, for work beside its own."""
        return self._services

    @property
    def accounts(self) -> Accounts:
        """The storage that it works on."""
        return self._services.accounts

    async def prepare(self) -> None:
        """Create the tables that are missing, enter what is new in the definitions, and learn what to write to.

        A storage account that is not there is found out before anything is written.
        """
        self._services.accounts.require(self._definitions.indexes.values())
        await self._create(PIPELINE_TABLES)
        services = self._services
        entrance = DefinitionRegistrar(
            self._catalog,
            services.accounts.main,
            services.run_all,
            services.build_delay_seconds,
            services.has_moved_on,
        )
        now_seconds = services.now_seconds()
        await self._learn(await entrance.register(self._definitions, now_seconds), now_seconds)

    async def refresh(self) -> None:
        """Read the catalog again when what this worker knows of it is too old to start a batch with."""
        now_seconds = self._services.now_seconds()
        read_at = self._read_at_seconds
        # A clock that went back says nothing about how old the view is.
        if read_at is None or not 0 <= now_seconds - read_at < self._services.refresh_seconds:
            await self._learn(await self._catalog.read(), now_seconds)

    async def _current_plans(self) -> dict[str, SourcePlan]:
        await self.refresh()
        return self._plans

    async def _learn(self, snapshot: CatalogSnapshot, read_at_seconds: float) -> None:
        """Write to what this snapshot says, which is as old as its query: not as its answer."""
        check_sources(snapshot, self._definitions)
        plans = {name: self._within_reach(plan) for name, plan in source_plans(snapshot, self._definitions).items()}
        generations = [generation for plan in plans.values() for generation in plan.generations]
        await self._create({place for generation in generations for place in generation.tables()})
        for generation in generations:
            await self._create_near_tables(generation)
        self._plans = plans
        self._read_at_seconds = read_at_seconds

    async def _create_near_tables(self, generation: Generation) -> None:
        """The tables of the periods that entries of now expire in, unless this worker has seen to them before."""
        wanted = generation.near_tables(self._services.now_seconds()) - self._created
        if wanted and await create_near_tables(self._services.accounts, generation, wanted):
            self._created |= wanted

    def _within_reach(self, plan: SourcePlan) -> SourcePlan:
        """Without generations whose index has left the file, together with the connection of its account: they wait
        for their end. What the file has must be reachable."""
        return replace(plan, generations=tuple(one for one in plan.generations if self._is_within_reach(one)))

    def _is_within_reach(self, generation: Generation) -> bool:
        try:
            self._services.accounts.require([generation.index])
        except SettingError:
            if generation.index.name in self._definitions.indexes:
                raise
            _log.warning("A generation is out of reach", extra={"generation": generation.id})
            return False
        return True

    async def _create(self, places: AbstractSet[tuple[str, str]]) -> None:
        """Create tables, by account and name, unless this worker has seen to them before."""
        accounts = self._services.accounts
        missing = sorted(places - self._created)
        work = [partial(accounts.tables(account).create_table, table) for account, table in missing]
        for result in await self._services.run_all(work):
            if isinstance(result, Exception):
                raise result
        self._created |= places

    async def apply_latest(self, source: str, documents: Sequence[object]) -> None:
        """Apply documents of a latest version feed."""
        await self._apply(source, read_all(source, documents, self._readers[source].latest))

    async def apply_all_versions(self, source: str, items: Sequence[object]) -> None:
        """Apply items of an all versions and deletes feed."""
        await self._apply(source, read_all(source, items, self._readers[source].all_versions))

    async def apply_events(self, source: str, events: Sequence[ReceivedEvent]) -> None:
        """Apply events of a hub."""
        reader = self._event_readers[source]

        def read(event: ReceivedEvent) -> Change:
            return reader.read(event.body, event.enqueued, event.sequence_number)

        await self._apply(source, read_all(source, events, read, ReceivedEvent.plain, "event"))

    async def has_applied(self, source: str, generation_id: str, seen: SeenVersion) -> bool:
        """Whether a generation has a change that a caller knows of, or a newer one, with its rows written."""
        await self.refresh()
        plan = self._plans[source]
        generation = next((one for one in plan.generations if one.id == generation_id), None)
        services = self._services
        return generation is not None and await has_applied(
            services.accounts, plan, generation, seen, services.now_seconds()
        )

    async def forget_deleted_facts(self) -> None:
        """Forget some of the facts that were deleted long ago; called every hour."""
        await self._retention.clean(self._plans.values())

    async def sweep(self, message: str | bytes) -> None:
        """Do what a sweep message asks for."""
        await sweep_message(message, self._sweeper, self._expirer)

    async def purge_dead_letters(self) -> None:
        """Forget dead letters that are older than their retention; called every day."""
        _log.info("Dead letters purged", extra={"purged": await self.dead_letters.purge_all()})

    async def find_expired(self) -> None:
        """Look for entries whose time is over, on the next pages of their tables, and drop the tables of periods that
        are over; called every few minutes. Tables of periods to come are made by the refresh."""
        await self.refresh()
        services = self._services
        try:
            await self._walk.walk(self._plans.values())
        finally:  # an account that does not answer one of them may answer the other
            await drop_expired_tables(services.accounts, self._plans.values(), services.now_seconds())

    async def _apply(self, source: str, intake: Intake) -> None:
        """Dead letters first: they are few, and nothing of the batch may be acknowledged without them."""
        await self.refresh()
        try:
            await self._put_dead_letters(intake.unreadable)
            outcome = await self._applier.apply(self._plans[source], intake.changes)
        except (IncompleteBatchError, TableMissingError) as error:
            await self._create_missing_tables(error)
            raise
        self._report(source, intake, outcome)

    async def _put_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        for result in await self._services.run_all([partial(self._dead_letters.put, one) for one in letters]):
            if isinstance(result, Exception):
                raise result

    async def _create_missing_tables(self, error: IncompleteBatchError | TableMissingError) -> None:
        """A table that somebody removed is made again, so that the batch succeeds when it comes back."""
        if isinstance(error, TableMissingError) or isinstance(error.__cause__, TableMissingError):
            self._created.clear()
            await self.prepare()

    def _report(self, source: str, intake: Intake, outcome: BatchOutcome) -> None:
        outcome.received += len(intake.unreadable)
        outcome.dead_letters += len(intake.unreadable)
        outcome.transactions = self._services.take_transactions()
        self._services.report(source, outcome)
