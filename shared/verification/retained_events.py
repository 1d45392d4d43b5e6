"""What the events that a hub still has say, against the ledger: did each of them arrive?

    read      a page of events, and of each fact the newest change on it
    compare   with the fact's ledger row: an event is past when the ledger has a newer version, whatever that came
              from; at the event's own version the entries must be those that it gives; an older one lacks it
    confirm   what lacks its event is looked at again after a pause; what still does is `unapplied`
    repair    if that is asked for, the event is applied, at its own version

A hub forgets. A fact whose last event is gone is neither right nor wrong here: it is counted as untold. Events from
before the ledger's retention say nothing either, because their facts may be deleted and forgotten.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from shared.entries.changes.change import Change
from shared.entries.rows.entry_row import is_expired
from shared.errors import UnprojectableError
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.cache import LedgerCache
from shared.pipeline.ledger.prefetch import prefetch
from shared.pipeline.ledger.rows import LEDGER_TABLE, LedgerRow, decode, ledger_partition
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.verification.differences import Difference
from shared.verification.distinct import DistinctFacts
from shared.verification.examine import FactIdentity, address_of
from shared.verification.report import EVENTS, OWING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.definitions.model import Source
    from shared.entries.changes.hub_reader import HubReader
    from shared.entries.changes.received_event import ReceivedEvent
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.pipeline.apply.services import Services
    from shared.sources.hub_events import EventReplay
    from shared.verification.confirm import GracePeriod
    from shared.verification.report import DifferenceReport
    from shared.verification.scans import Cursor

# How the ledger stands to an event.
ToldStanding: TypeAlias = Literal["applied", "past", "failed", "owing", "behind", "unapplied"]


class Told(NamedTuple):
    """What an event said of a fact, and when its hub took it."""

    change: Change
    seconds: float


@dataclass(slots=True)
class ToldFacts:
    """The facts that an event told of at the version that the ledger has, and those that were found unapplied."""

    told: DistinctFacts = field(default_factory=DistinctFacts)
    unapplied: set[int] = field(default_factory=set)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"told": self.told.plain(), "unapplied": sorted(self.unapplied)}

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> ToldFacts:
        """What `plain` gave."""
        return cls(DistinctFacts(plain["told"]), set(plain["unapplied"]))


class RetainedEvents:
    """Compares the events of a source's hub with the ledger, page by page."""

    def __init__(
        self,
        source: Source,
        plan: SourcePlan,
        generation: Generation,
        reader: HubReader,
        replay: EventReplay,
        services: Services,
        grace_period: GracePeriod,
        *,
        repairs: bool,
    ) -> None:
        self._source = source
        self._plan = plan
        self._generation = generation
        self._reader = reader
        self._replay = replay
        self._services = services
        self._grace_period = grace_period
        self._applier = services.new_applier() if repairs else None

    async def compare_page(self, cursor: Cursor, facts: ToldFacts, report: DifferenceReport) -> Cursor:
        """Compare the next page; where it goes on, or None at the end.

        A partition ends where all events are younger than the comparison: with a busy hub it would never end otherwise.
        """
        partitions, continuation, until_seconds = await self._begin() if cursor is None else cursor
        while partitions:
            async with aclosing(self._replay.pages(self._source, partitions[0], continuation)) as pages:
                async for page in pages:
                    if all(event.enqueued.timestamp() > until_seconds for event in page.events):
                        break
                    report.counts[EVENTS] += len(page.events)
                    await self._compare(await self._newest(page.events), facts, report)
                    return [partitions, page.continuation, until_seconds]
            partitions, continuation = partitions[1:], None
        return None

    async def _begin(self) -> list[Any]:
        return [await self._replay.partitions(self._source), None, self._services.now_seconds()]

    async def _newest(self, events: Iterable[ReceivedEvent]) -> list[Told]:
        """The newest change of each fact; what cannot be read is a dead letter."""
        oldest = self._services.now_seconds() - self._services.times.ledger_retention_seconds
        newest: dict[str, Told] = {}
        for event in events:
            seconds = event.enqueued.timestamp()
            change = self._reader.read(event)[self._source.name] if seconds > oldest else None
            if isinstance(change, Change):
                known = newest.get(change.fact_key)
                if known is None or known.change.version < change.version:
                    newest[change.fact_key] = Told(change, seconds)
            await self._services.next_turn()
        return list(newest.values())

    async def _compare(self, found: Sequence[Told], facts: ToldFacts, report: DifferenceReport) -> None:
        standings = await self._standings(found)
        doubtful = [told for told, standing in zip(found, standings, strict=True) if standing == "unapplied"]
        if doubtful:
            await self._grace_period.sleep(self._grace_period.pause_seconds)
            again = iter(await self._standings(doubtful))
            standings = [next(again) if standing == "unapplied" else standing for standing in standings]
        for told, standing in zip(found, standings, strict=True):
            if standing == "unapplied":
                await self._note(told, facts, report)
            elif standing != "past":
                report.counts["behind"] += standing == "behind"
                report.counts["deadLetters"] += standing == "failed"
                report.counts[OWING] += standing == "owing"
                if standing != "behind":
                    facts.told.add(told.change.fact_hash)

    async def _note(self, told: Told, facts: ToldFacts, report: DifferenceReport) -> None:
        """Each fact once, though several of its events may be missing."""
        change, is_new = told.change, told.change.fact_hash not in facts.unapplied
        if is_new:
            facts.unapplied.add(change.fact_hash)
            fact = FactIdentity(change.fact_key, change.id, change.partition_key)
            report.note(fact, Difference("unapplied"))
            report.counts["examined"] += 1
        if self._applier is not None:
            await self._applier.apply(self._plan, [change])
            (standing,) = await self._standings([told])
            if standing == "unapplied":
                report.counts["unrepaired"] += is_new
            else:
                report.counts["repaired"] += is_new
                facts.told.add(change.fact_hash)

    async def _standings(self, found: Sequence[Told]) -> list[ToldStanding]:
        """How the ledger stands to each of them now."""
        rows = await self._ledger_rows([told.change for told in found])
        recent_after_seconds = self._services.now_seconds() - self._grace_period.grace_seconds
        standings: list[ToldStanding] = []
        for told, row in zip(found, rows, strict=True):
            standings.append(self._standing(told, row, recent_after_seconds))
            await self._services.next_turn()
        return standings

    async def _ledger_rows(self, changes: Sequence[Change]) -> list[LedgerRow]:
        ledger, cache = self._services.accounts.main, LedgerCache()
        await prefetch(ledger, cache, self._plan, changes, self._services.run_buckets)
        return await all_of(self._services.run_all, [partial(self._ledger_row, cache, change) for change in changes])

    async def _ledger_row(self, cache: LedgerCache, change: Change) -> LedgerRow:
        key = ledger_partition(self._plan.source, change.fact_hash, self._plan.buckets), change.fact_key
        known = cache.get(key)
        if known is not None:
            return known.row
        row = await self._services.accounts.main.get(LEDGER_TABLE, *key)
        return LedgerRow() if row is None else decode(row.entity)

    def _standing(self, told: Told, row: LedgerRow, recent_after_seconds: float) -> ToldStanding:
        version, state = told.change.version, row.states.get(self._generation.id)
        newest = max([known.version for known in row.states.values()], default="")
        if newest > version or (told.change.is_delete and not row.states):
            return "past"
        if state is not None and state.owed:
            return "owing"
        entries = self._entries(told.change)
        is_failed = state is not None and state.failed
        if entries is not None and not is_failed and self._has_entries(row, entries):
            return "applied"
        if (is_failed and newest == version) or (entries is None and (state is None or not state.current)):
            return "failed"
        is_young = told.seconds > recent_after_seconds and (state is None or state.version != version)
        return "behind" if is_young else "unapplied"

    def _entries(self, change: Change) -> tuple[Entry, ...] | None:
        """None when the fact does not fit the index: it has a dead letter."""
        try:
            return self._generation.projector.project(change)
        except UnprojectableError:
            return None

    def _has_entries(self, row: LedgerRow, entries: Sequence[Entry]) -> bool:
        """Whether the ledger has exactly these, but for those whose time is over: they may be there or not."""
        now_seconds, state = self._services.now_seconds(), row.states.get(self._generation.id)
        expired = {address_of(entry) for entry in entries if self._is_expired(entry, now_seconds)}
        told = {(*address_of(entry), entry.digest) for entry in entries if address_of(entry) not in expired}
        current = () if state is None else without_expired_periods(state, self._generation, now_seconds).current
        return told == {
            (entry.partition, entry.entry_key, entry.digest)
            for entry in current
            if (entry.partition, entry.entry_key) not in expired
        }

    def _is_expired(self, entry: Entry, now_seconds: float) -> bool:
        if self._generation.periods is None:
            return is_expired(entry.columns, now_seconds)
        return self._generation.is_over(entry.partition_key, now_seconds)
