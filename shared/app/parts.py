"""The long-lived parts of a process over one set of connections, each made once, when it is first needed.

Nothing here reads settings or makes connections, so tests and benchmarks use it, too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from shared.catalog.catalog import Catalog
from shared.pipeline.apply.worker import Worker
from shared.pipeline.apply.write_plans import WritePlans
from shared.tasks.rows import TaskRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.definitions.model import Definitions
    from shared.erasure.eraser import Eraser
    from shared.lifecycle.build import Builds, BuildSources
    from shared.lifecycle.generations import GenerationLifecycle
    from shared.pipeline.apply.delivery import Delivery
    from shared.pipeline.apply.services import Services
    from shared.pipeline.cleanup.maintenance import Maintenance
    from shared.pipeline.dead_letters.orphans import OrphanedBlobs
    from shared.pipeline.dead_letters.outdated import OutdatedWalk
    from shared.pipeline.dead_letters.service import DeadLetterService
    from shared.pipeline.ledger.view import LedgerView
    from shared.sources.ports import CurrentFacts
    from shared.tables.retry import Timing
    from shared.tasks.runner import TaskKind, TaskQueue, TaskRunner
    from shared.verification.service import VerificationService
    from shared.verification.task import Verifications

# How long a verification waits before it confirms a difference: a worker writes what it has claimed within moments.
_PAUSE_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Outside:
    """What long work needs beyond storage: facts where they live, a queue of slices, time, and who is told."""

    build_sources: BuildSources
    current_facts: CurrentFacts
    task_queue: TaskQueue | None
    timing: Timing
    report_verified: Callable[[str, int | None, Mapping[str, object]], None]


class Parts:
    """Everything that works on the indexes of these definitions. Only long work needs `outside`."""

    def __init__(
        self, definitions: Definitions, services: Services, new_outside: Callable[[], Outside] | None = None
    ) -> None:
        self.definitions = definitions
        self.services = services
        self._new_outside = new_outside
        self._is_ready = False
        self._preparing = asyncio.Lock()

    async def ready(self) -> Parts:
        """The same parts, after tables are created and definitions registered; raises `DefinitionsError`."""
        async with self._preparing:
            if not self._is_ready:
                await self.write_plans.prepare()
                self._is_ready = True
        return self

    @cached_property
    def outside(self) -> Outside:
        """What long work needs."""
        assert self._new_outside is not None, "these parts were made without what long work needs"
        return self._new_outside()

    @cached_property
    def catalog(self) -> Catalog:
        """Which generations there are."""
        return Catalog(self.services.accounts.main)

    @cached_property
    def task_rows(self) -> TaskRows:
        """Long work, as it is stored."""
        return TaskRows(self.services.accounts.main)

    @cached_property
    def write_plans(self) -> WritePlans:
        """What every batch writes to."""
        return WritePlans(self.definitions, self.services, self.catalog)

    @cached_property
    def worker(self) -> Worker:
        """The worker that applies batches. Its cache of ledger rows serves all of them."""
        return Worker(self.definitions, self.services, self.write_plans)

    @cached_property
    def ledger_view(self) -> LedgerView:
        """The ledger, for lookups."""
        from shared.pipeline.ledger.view import LedgerView

        return LedgerView(self.write_plans.current, self.services.accounts, self.services.now_seconds)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Later work: sweeping, expiry, forgetting deleted facts."""
        from shared.pipeline.cleanup.maintenance import Maintenance

        services, times = self.services, self.services.times
        return Maintenance(
            self.write_plans.current,
            services.accounts,
            services.sweep_queue,
            services.calls,
            services.now_seconds,
            times.sweep_delay_seconds,
            times.ledger_retention_seconds,
        )

    @cached_property
    def delivery(self) -> Delivery:
        """What brings accounts that were down what they are owed."""
        from shared.pipeline.apply.delivery import Delivery

        outside = self.outside
        return Delivery(
            self.definitions,
            self.write_plans.current,
            replace(self.services.in_background(), lanes=self.services.lanes),
            self.catalog,
            outside.build_sources.facts,
            outside.timing.steady_seconds,
        )

    @cached_property
    def dead_letters(self) -> DeadLetterService:
        """Dead letters, for operators. Every replay has its own applier."""
        from shared.pipeline.dead_letters.listing import DeadLetterList
        from shared.pipeline.dead_letters.replay import Replayer
        from shared.pipeline.dead_letters.service import DeadLetterService, known_names

        services, store = self.services, self.services.dead_letter_store()
        listing = DeadLetterList(services.accounts.main, store)
        retention_seconds = services.times.dead_letter_retention_seconds
        replayer = Replayer(
            self.definitions,
            self.write_plans.current,
            services.new_applier,
            store,
            listing,
            retention_seconds,
            services.now_seconds,
        )
        known = partial(known_names, self.definitions, self.catalog)
        return DeadLetterService(
            known, store, listing, replayer, services.run_replays, retention_seconds, services.now_seconds
        )

    @cached_property
    def outdated_dead_letters(self) -> OutdatedWalk:
        """What closes dead letters that are outdated though no worker has noticed."""
        from shared.pipeline.dead_letters.outdated import OutdatedWalk

        services = self.services
        return OutdatedWalk(services.accounts.main, services.dead_letter_store(), services.run_all)

    @cached_property
    def orphaned_blobs(self) -> OrphanedBlobs:
        """Blobs that no dead letter names."""
        from shared.pipeline.dead_letters.orphans import OrphanedBlobs

        services = self.services
        return OrphanedBlobs(services.accounts.main, services.blobs, services.run_all, services.now_seconds)

    @cached_property
    def builds(self) -> Builds:
        """Builds of new generations."""
        from shared.lifecycle.build import Builds

        outside = self.outside
        return Builds(
            self.catalog,
            self.services.in_background(),
            outside.build_sources,
            outside.timing.steady_seconds,
            outside.timing.sleep,
            definitions=self.definitions,
        )

    @cached_property
    def verifications(self) -> Verifications:
        """Verifications and repairs."""
        from shared.verification.assembly import Hubs, VerificationDependencies
        from shared.verification.confirm import GracePeriod
        from shared.verification.task import Verifications

        outside, timing = self.outside, self.outside.timing
        grace = GracePeriod(self.services.times.verification_grace_seconds, _PAUSE_SECONDS, timing.sleep)
        dependencies = VerificationDependencies(
            self.services.in_background(),
            outside.current_facts,
            grace,
            timing.chance,
            timing.steady_seconds,
            outside.report_verified,
            Hubs(outside.build_sources.replay, self.definitions),
        )
        return Verifications(self.catalog, dependencies)

    @cached_property
    def tasks(self) -> TaskRunner:
        """Long work, in slices that messages of the task queue start."""
        from shared.tasks.runner import TaskRunner, renewing_claims

        kinds: dict[str, TaskKind] = {"build": self.builds, "verification": self.verifications}
        wall_seconds = self.outside.timing.wall_seconds
        return TaskRunner(self.task_rows, self.outside.task_queue, kinds, wall_seconds, renewal=renewing_claims)

    @cached_property
    def lifecycle(self) -> GenerationLifecycle:
        """Builds, switches and rollbacks."""
        return self.lifecycle_by(self.tasks)

    def lifecycle_by(self, runner: TaskRunner) -> GenerationLifecycle:
        """The same with another runner of long work."""
        from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes

        times = self.services.times
        return GenerationLifecycle(
            self.definitions,
            self.catalog,
            runner,
            LifecycleTimes(
                self.outside.timing.wall_seconds, times.refresh_seconds, times.build_delay_seconds, times.grace_seconds
            ),
        )

    @cached_property
    def eraser(self) -> Eraser:
        """What is left of deleted facts, for operators."""
        from shared.erasure.eraser import Eraser
        from shared.erasure.remains import RemainsFinder
        from shared.verification.rows import VerificationRows

        rows = VerificationRows(self.services.accounts.main)
        finder = RemainsFinder(self.definitions, self.catalog, self.services, rows)
        return Eraser(finder, self.services, rows)

    @cached_property
    def verification_service(self) -> VerificationService:
        """Verifications, for operators and timers."""
        from shared.verification.rows import VerificationRows
        from shared.verification.service import VerificationService

        rows = VerificationRows(self.services.accounts.main)
        return VerificationService(self.definitions, self.catalog, self.tasks, rows, self.outside.timing.wall_seconds)
