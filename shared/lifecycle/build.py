"""Builds a generation: brings every fact into it, at the facts' own versions, beside the live feed.

    1-facts   every feed range of the container (or partition of the hub) from its beginning, through the same apply
              path, with a plan that knows the new generation alone: the states of all others are carried over. A fact
              that the live feed was faster with is dropped.
    2-rest    the catch-up, over every ledger row: a fact that the new generation has not, or only in an older version
              than another generation, is applied again at the ledger's version. Workers that did not know the
              generation yet may have left some behind.
    end       the generation stands by.

Nothing starts before every worker writes to the generation (`CatalogGeneration.starts_at`). Both phases may be repeated
in whole or in part: the ledger decides.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.catalog.plans import generation_of, source_plan
from shared.definitions.model import Definitions
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.hub_reader import HubReader
from shared.errors import TaskFailedError
from shared.pipeline.apply.intake import Intake, read_all, read_hub
from shared.pipeline.ledger.cache import LedgerCache
from shared.pipeline.ledger.catch_up import CatchUpReader, lacks_newest_version
from shared.pipeline.ledger.prefetch import prefetch
from shared.pipeline.ledger.rows import bucket_partition
from shared.pipeline.ledger.scan import ledger_pages, read_ledger_fact
from shared.sources.cosmos_feed import PAGE_ITEMS
from shared.tasks.budget import Budget, metered
from shared.tasks.runner import Phase, SliceStep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Source
    from shared.entries.changes.change import Change
    from shared.entries.changes.received_event import ReceivedEvent
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.services import Services
    from shared.pipeline.ledger.scan import LedgerFact
    from shared.sources.cosmos_feed import FactFeed
    from shared.sources.hub_events import EventReplay
    from shared.sources.ports import Facts
    from shared.tasks.rows import Progress, Slice, Task

FACTS: Final = "1-facts"
CATCH_UP: Final = "2-rest"
# The ledger is read a thousand rows at a time: a few readers are enough for any ledger.
CATCH_UP_SLICES: Final = 4
_NO_OTHERS: Final = Definitions()
# So many fact keys fit into one property of a slice's row, with room to spare.
_BEGUN_MAX: Final = 100
_CHECKED_MAX: Final = 20_000
# Changes that are applied together: the more, the more of them share a page of the ledger. 1 KB each are 25 MB.
WINDOW: Final = 5000
# With a budget they are fewer. A change takes about a transaction, and a step must not outlast its claim by much:
# other workers would begin the same step beside it.
_STEP_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class BuildSources:
    """Where facts are read from."""

    feed: FactFeed
    facts: Facts
    replay: EventReplay


class Builds:
    """The kind of task that builds generations."""

    def __init__(
        self,
        catalog: Catalog,
        services: Services,
        sources: BuildSources,
        steady_seconds: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        window: int = WINDOW,
        definitions: Definitions = _NO_OTHERS,
    ) -> None:
        self._catalog = catalog
        # Which other sources the hub of a source feeds.
        self._definitions = definitions
        self._services = services
        self._sources = sources
        self._steady_seconds = steady_seconds
        self._sleep = sleep
        self._window = window

    async def first_phase(self, task: Task) -> Phase:
        """One slice per feed range, or per partition of the hub."""
        source = (await self._target(task)).source_definition
        if source.cosmos is not None:
            ranges = await self._sources.feed.ranges(source)
        else:
            ranges = await self._sources.replay.partitions(source)
        return Phase(FACTS, {f"{number:03d}": json.dumps([name, None]) for number, name in enumerate(ranges)})

    async def next_phase(self, progress: Progress, phase: str) -> Phase | None:
        """After the facts the catch-up, some ledger buckets in each slice; after that the generation stands by."""
        target = await self._target(progress.task)
        if phase == FACTS:
            buckets = (await self._catalog.read()).buckets_of(target.source)
            return Phase(CATCH_UP, {f"{number:03d}": None for number in range(min(CATCH_UP_SLICES, buckets))})
        unbuilt = progress.counts.get("unbuilt", 0)
        now_seconds = int(self._services.now_seconds())
        await self._catalog.change(target.id, partial(_stand_by, unbuilt=unbuilt, now_seconds=now_seconds))
        return None

    async def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
        """Apply the facts of a feed range, or catch up with some ledger buckets."""
        snapshot = await self._catalog.read()
        target = self._target_in(snapshot, progress.task)
        plan = replace(source_plan(snapshot, target.source_definition), generations=(generation_of(target),))
        running = [each for each in progress.slices if not each.is_done]
        share = _share(progress.task, len(running))
        budget = Budget(share, self._steady_seconds, self._sleep)
        applier = BuildApplier(plan, self._services, budget, changes_per_apply(share, self._window))
        work = self._apply_facts if work_slice.phase == FACTS else self._catch_up
        async for step in work(target, work_slice, applier):
            self._check_age(progress.task)
            yield step

    async def _target(self, task: Task) -> CatalogGeneration:
        return self._target_in(await self._catalog.read(), task)

    def _target_in(self, snapshot: CatalogSnapshot, task: Task) -> CatalogGeneration:
        self._check_age(task)
        target = snapshot.generation(str(task.about["generation"]))
        if target is None or target.is_retired:
            raise TaskFailedError(f"Generation {task.about['generation']} is retired: there is nothing to build.")
        return target

    def _check_age(self, task: Task) -> None:
        """The ledger forgets deleted facts after its retention: older input could bring them back."""
        if self._services.now_seconds() - task.started_at >= self._services.times.ledger_retention_seconds:
            raise TaskFailedError("The build has taken longer than the ledger's retention: start it again.")

    async def _apply_facts(
        self, target: CatalogGeneration, work_slice: Slice, applier: BuildApplier
    ) -> AsyncIterator[SliceStep]:
        feed_range, continuation = json.loads(str(work_slice.position))
        async for intake, size, after in self._pages(
            target.source_definition, feed_range, continuation, applier.window
        ):
            applier.keep_for_next_apply(intake, size)
            continuation = after
            if applier.is_full:
                yield SliceStep(json.dumps([feed_range, continuation]), await applier.apply())
        yield SliceStep(json.dumps([feed_range, continuation]), await applier.apply(), is_done=True)

    async def _pages(
        self, source: Source, feed_range: str, continuation: str | None, items: int
    ) -> AsyncIterator[tuple[Intake, int, str]]:
        """What each page holds, how many items that were, and where to go on.

        No page has more items than are applied together: a page that the budget does not let a function finish in its
        time would be begun again and again.
        """
        items = min(items, PAGE_ITEMS)
        if source.cosmos is not None:
            documents = CosmosReader(source)
            async for page in self._sources.feed.pages(source, feed_range, continuation, items):
                intake = await read_all(source.name, page.documents, documents.latest, self._services.next_turn)
                yield intake, len(page.documents), page.continuation
        else:
            async for events in self._sources.replay.pages(source, feed_range, continuation, items):
                yield await self._read_events(source, events.events), len(events.events), events.continuation

    async def _read_events(self, source: Source, events: Iterable[ReceivedEvent]) -> Intake:
        """Events from before the ledger's retention are refused: their facts may be deleted and forgotten."""
        oldest = self._services.now_seconds() - self._services.times.ledger_retention_seconds
        fresh = [event for event in events if event.enqueued.timestamp() > oldest]
        intakes = await read_hub(HubReader.of(source, self._definitions), fresh, self._services.next_turn)
        return intakes[source.name]

    async def _catch_up(
        self, target: CatalogGeneration, work_slice: Slice, applier: BuildApplier
    ) -> AsyncIterator[SliceStep]:
        """Every so many buckets, beginning with the slice's number.

        Which facts are about to be applied is written down first. After a crash, their claims alone would make them
        look up to date to the next worker, and their entries would never be written.
        """
        reader = CatchUpReader(target.source_definition, self._sources.facts, self._services.run_all)
        bucket, after, begun = _catch_up_position(work_slice)
        checked = 0
        if begun:
            again = await read_ledger_fact(applier.accounts.main, bucket_partition(target.source, bucket), begun)
            yield SliceStep(_position(bucket, begun[-1]), await self._apply_missing(again, reader, applier))
            after = begun[-1]
        for number in range(bucket, applier.plan.buckets, min(CATCH_UP_SLICES, applier.plan.buckets)):
            async for page in ledger_pages(applier.accounts.main, bucket_partition(target.source, number), after):
                behind = [fact for fact in page if lacks_newest_version(fact, target.id)]
                for start in range(0, len(behind), _BEGUN_MAX):
                    some = behind[start : start + _BEGUN_MAX]
                    yield SliceStep(_position(number, after, [fact.fact_key for fact in some]), {"behind": len(some)})
                    after = some[-1].fact_key
                    yield SliceStep(_position(number, after), await self._apply_missing(some, reader, applier))
                after = page[-1].fact_key
                checked += len(page)
                # Looking again is cheap: not every page is worth a write.
                if checked >= _CHECKED_MAX:
                    yield SliceStep(_position(number, after), {"checked": checked})
                    checked = 0
            after = None
        # The slice stays until its task is forgotten, but no key of a fact with it.
        yield SliceStep(None, {"checked": checked}, is_done=True)

    async def _apply_missing(
        self, behind: list[LedgerFact], reader: CatchUpReader, applier: BuildApplier
    ) -> dict[str, int]:
        found = await reader.read(behind)
        applier.keep_for_next_apply(Intake(found.changes), 0)
        return {**await applier.apply(), "unbuilt": found.unbuilt}


def _share(task: Task, running: int) -> float | None:
    """Every slice has its share of the task's budget."""
    limit = task.about.get("budget")
    return None if limit is None else limit / max(1, running)


def changes_per_apply(share: float | None, largest: int) -> int:
    """How many changes are applied together by so many transactions per second."""
    return largest if share is None else max(1, min(largest, int(share * _STEP_SECONDS)))


def _catch_up_position(work_slice: Slice) -> tuple[int, str | None, list[str]]:
    """The bucket, the last fact key that is done, and the facts that were begun behind it."""
    if work_slice.position is None:
        return int(work_slice.name.rpartition(":")[2]), None, []
    bucket, after, begun = json.loads(work_slice.position)
    return bucket, after, begun


def _position(bucket: int, after: str | None, begun: Sequence[str] = ()) -> str:
    # As it is: escaped, keys in most scripts would take six times their room.
    return json.dumps([bucket, after, list(begun)], ensure_ascii=False)


def _stand_by(generation: CatalogGeneration, *, unbuilt: int, now_seconds: int) -> CatalogGeneration | None:
    if generation.state != "building":
        return None
    return replace(generation, state="standby", built_at=now_seconds, unbuilt=unbuilt)


class BuildApplier:
    """Applies what was gathered, within a budget, with a ledger cache of its own."""

    def __init__(self, plan: SourcePlan, services: Services, budget: Budget, window: int) -> None:
        self.plan = plan
        self.window = window
        self._services = services
        self._budget = budget
        self.accounts = metered(services.accounts, budget)
        self._cache = LedgerCache()
        metered_services = replace(services, accounts=self.accounts)
        self._dead_letters = metered_services.dead_letter_store()
        self._applier = metered_services.new_applier(self._cache)
        self._changes: list[Change] = []
        self._intakes: list[Intake] = []
        self.gathered = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to apply what was gathered."""
        return self.gathered >= self.window

    def keep_for_next_apply(self, intake: Intake, size: int) -> None:
        """Keep the changes of a page for later."""
        self._intakes.append(intake)
        self._changes += intake.changes
        self.gathered += size

    async def apply(self) -> dict[str, int]:
        """Apply everything that was gathered; what there is to count."""
        changes, intakes, gathered = self._changes, self._intakes, self.gathered
        self._changes, self._intakes, self.gathered = [], [], 0
        before = self._budget.spent
        dead_letters = [dead_letter for intake in intakes for dead_letter in intake.unreadable]
        for dead_letter in dead_letters:
            await self._dead_letters.put(dead_letter)
        counts = {"facts": gathered, "letters": len(dead_letters)}
        if changes:
            await prefetch(self.accounts.main, self._cache, self.plan, changes, self._services.run_buckets)
            outcome = await self._applier.apply(self.plan, changes)
            self._cache.clear()  # a build sees every fact once
            counts |= {"entries": outcome.entries_written, "letters": len(dead_letters) + outcome.dead_letters}
        return {**counts, "transactions": self._budget.spent - before}
