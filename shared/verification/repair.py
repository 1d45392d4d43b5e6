"""Repair: makes one fact right again, beside live writes, without ever inventing a version.

    1. examine    ledger row, document and rows, with no claim in between
    2. apply      when the ledger does not have the document: an ordinary change, by the ordinary way; then begin again
    3. amend      the ledger row says what will be written, on the condition that it is as it was examined
    4. write      live rows at the versions that the ledger has; then tombstones at its version
    5. delete     rows that nobody claimed, as they were examined; announce the tombstones to the sweep
    6. examine again, until nothing is wrong

The versions of step 2 are those of the facts themselves, with two exceptions where nobody else can name one:

- The fact is gone (a hard delete or an expiry that the feed does not show): a delete at the clock of the newest version
  that is known. It comes after that version and before any that follows, so that redeliveries lose and a new insert
  wins.
- The source's clock went back, so that the document looks older than what the ledger has: the ledger's `_ts` with the
  document's own `_lsn`, which grows whatever clocks do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.entries.changes.change import Change
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.versions import NO_DOCUMENT, clock_of, lsn_of, version, with_ticks_of
from shared.entries.projection.generations import place_of
from shared.entries.rows.columns import fact_columns
from shared.errors import OperationFailedError, UnreadableChangeError
from shared.pipeline.cleanup.messages import Tombstone, to_messages
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, PARTS_BYTES_MAX, encode, ledger_partition, parts_bytes
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete, Replace
from shared.verification.findings import differences_of, is_older, same_entries
from shared.verification.repair_plan import plan_repair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Place, SourcePlan
    from shared.pipeline.apply.batch import Applier
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.entry_writes.entry_writer import EntryWriter
    from shared.pipeline.ledger.rows import GenerationState
    from shared.sources.ports import CurrentFacts
    from shared.tables.accounts import Accounts
    from shared.verification.examine import Examined, Examiner, FactIdentity, Key, SeenRow
    from shared.verification.findings import Differences
    from shared.verification.repair_plan import RepairPlan

_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class RepairDependencies:
    """What repair writes with."""

    plan: SourcePlan
    accounts: Accounts
    applier: Applier
    entry_writer: EntryWriter
    sweep_queue: SweepQueue
    run_all: RunAll
    facts: CurrentFacts


class Repairer:
    """Repairs facts of one generation. Only with `removes_orphans` do entries of facts go that are gone."""

    def __init__(self, examiner: Examiner, tools: RepairDependencies, *, removes_orphans: bool) -> None:
        self._examiner = examiner
        self._tools = tools
        self._removes_orphans = removes_orphans
        self._reader = CosmosReader(examiner.source)

    async def repair(self, who: FactIdentity, pairs: Iterable[Key] = ()) -> bool:
        """Make a fact right; whether it is. What it cannot know (a row without a document) stays as it is."""
        pairs = list(pairs)
        for _ in range(_ATTEMPTS):
            examined = await self._examiner.examine(who, pairs)
            if examined is None:
                continue
            # Nothing is recent: what is wrong may be mended now as well as later.
            findings = differences_of(examined, recent_after_seconds=math.inf)
            if not findings.differences and not findings.masked:
                return True
            change = await self._change(examined)
            if change is not None:
                await self._tools.applier.apply(self._tools.plan, [change])
            elif not await self._repair_rows(examined, findings):
                return False
        return False

    async def _repair_rows(self, examined: Examined, findings: Differences) -> bool:
        """Whether it is worth looking again."""
        if examined.state is None or (findings.standing == "unapplied" and not examined.is_current):
            return False
        mending = plan_repair(examined, self._examiner.generation)
        if mending.part is not None and not await self._amend(examined, mending.part):
            return True
        await self._write(examined, mending)
        return mending.is_whole and findings.standing != "gone"

    # ------------------------------------------------------------------------------------------ versions

    async def _change(self, examined: Examined) -> Change | None:
        """The change that brings the ledger to the fact; None when it is there, or when nobody can tell."""
        try:
            return await self._find_change(examined)
        except UnreadableChangeError:
            return None  # to the feed it is a dead letter

    async def _find_change(self, examined: Examined) -> Change | None:
        if examined.document is None:
            return self._removal(examined) if examined.is_read else None
        if examined.state is not None and (same_entries(examined) is not None or examined.is_current):
            return None
        if examined.is_marked and examined.newest is not None:
            change = self._examiner.change_at(examined.document, clock_of(examined.newest))
            return replace(change, version=examined.newest)
        return await self._change_of_feed(examined)

    async def _change_of_feed(self, examined: Examined) -> Change | None:
        who, document = examined.who, examined.document
        seconds = document.get("_ts") if document else None
        if who.id is None or not isinstance(seconds, int):
            return None
        current = await self._tools.facts.from_feed(self._examiner.source, who.id, who.partition_key, seconds)
        if current is None:
            return None
        change = self._reader.latest(current)
        newest = examined.newest
        if newest is None or change.version > newest:
            return change
        return self._lifted(change, newest) if is_older(examined) else None

    def _lifted(self, change: Change, newest: str) -> Change | None:
        """A newer document under an older clock: the ledger's second with the document's own sequence number."""
        if not self._tools.plan.has_lsn or lsn_of(change.version) <= lsn_of(newest):
            return None
        return replace(change, version=with_ticks_of(change.version, newest))

    def _removal(self, examined: Examined) -> Change | None:
        """The delete of a fact that is gone, at the clock of the newest version that is known of it."""
        who, part = examined.who, examined.state
        if who.id is None or (part is not None and not (part.current and self._removes_orphans)):
            return None
        shown = [rows[0].version for rows in examined.rows_by_key.values() if rows]
        newest = max([examined.newest or "", *shown]) if part is None else examined.newest
        if not newest:
            return None
        return Change(
            source=self._tools.plan.source,
            id=who.id,
            partition_key=who.partition_key,
            fact_key=who.fact_key,
            fact_hash=fact_hash(who.fact_key),
            version=version(clock_of(newest), NO_DOCUMENT, is_delete=True),
            document=None,
            columns=fact_columns(who.id, who.partition_key),
        )

    # ------------------------------------------------------------------------------------------ writing

    async def _amend(self, examined: Examined, part: GenerationState) -> bool:
        """Write the ledger row; False when somebody else has, or when it would be too large."""
        plan, fact_key = self._tools.plan, examined.who.fact_key
        assert examined.etag is not None
        row = replace(examined.row, states={**examined.row.states, self._examiner.generation.id: part})
        entity = encode(row, ledger_partition(plan.source, fact_hash(fact_key), plan.buckets), fact_key)
        if parts_bytes(entity) > PARTS_BYTES_MAX:
            return False
        try:
            await self._tools.accounts.main.transact(LEDGER_TABLE, [Replace(entity, examined.etag)])
        except OperationFailedError:
            return False
        return True

    async def _write(self, examined: Examined, mending: RepairPlan) -> None:
        waves, writes = self._tools.entry_writer, [(examined.who.fact_key, mending.writes)]
        _raise_first(await waves.write_live(writes))
        _raise_first(await waves.write_removals(writes))
        await self._delete(mending.excess)
        await self._announce(mending)

    async def _delete(self, excess: Iterable[tuple[Key, SeenRow]]) -> None:
        """Pair by pair, the oldest first; a row that has changed meanwhile is looked at again."""
        generation = self._examiner.generation
        by_pair: dict[tuple[Place, str], list[SeenRow]] = {}
        for (partition, pair), row in excess:
            by_pair.setdefault((place_of(generation, partition), pair), []).append(row)
        for (place, _), rows in by_pair.items():
            tables = self._tools.accounts.tables(place.account)
            for start in range(0, len(rows), OPERATIONS_MAX):
                oldest = rows[start : start + OPERATIONS_MAX]
                try:
                    await tables.transact(
                        place.table, [Delete(place.partition, row.row_key, row.etag) for row in oldest]
                    )
                except OperationFailedError:
                    return

    async def _announce(self, mending: RepairPlan) -> None:
        writes = mending.writes
        tombstones = [
            Tombstone(place_of(writes.generation, left.partition), left.entry_key, writes.version)
            for left in writes.removed
        ]
        await all_of(
            self._tools.run_all, [partial(self._tools.sweep_queue.send, one) for one in to_messages(tombstones)]
        )


def _raise_first(failures: dict[str, Exception]) -> None:
    for error in failures.values():
        raise error
