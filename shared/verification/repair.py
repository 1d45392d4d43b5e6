"""Repair: makes one fact right again, beside live writes, without ever inventing a version.

    1. examine    ledger row, document and rows, with no claim in between
    2. apply      when the ledger does not have the document: an ordinary change, by the ordinary way; then begin again
    3. amend      the ledger row says what will be written, on the condition that it is as it was examined
    4. write      announce the tombstones to the sweep; rows of current entries at the versions that the ledger has;
                  then tombstones at its version
    5. delete     rows that no claim mentions, as they were examined
    6. examine again, until nothing is wrong

The versions of step 2 are those of the facts themselves, with three exceptions where no other version is known:

- The fact is gone (a hard delete or an expiry that the feed does not show): a delete at the clock of the newest version
  that is known. It comes after that version and before any that follows, so that redeliveries lose and a new insert
  wins.
- The source's clock went back, so that the document looks older than what the ledger has: the ledger's `_ts` with the
  document's own `_lsn`, which grows whatever clocks do.
- The ledger has another change of the transaction that wrote the document: the least version of the same clock that is
  above everything that may have been written. The document is what the transaction left, so it is the newer one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.entries.changes.change import Change
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.versions import (
    NO_DOCUMENT,
    clock_of,
    lsn_of,
    newest_of_same_clock,
    next_version,
    version,
    with_ticks_of,
)
from shared.entries.projection.generations import place_of
from shared.entries.rows.columns import fact_columns
from shared.errors import OperationFailedError, UnreadableChangeError
from shared.pipeline.cleanup.messages import Tombstone, to_messages
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, STATES_BYTES_MAX, encode, ledger_partition, states_bytes
from shared.pipeline.summaries.wanted import first_wave, second_wave
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete, Replace
from shared.verification.differences import differences_of, is_older, same_entries
from shared.verification.repair_plan import plan_repair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Place, SourcePlan
    from shared.pipeline.apply.batch import Applier
    from shared.pipeline.cleanup.messages import SweepQueue, Swept
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.entry_writes.entry_writer import EntryWriter
    from shared.pipeline.entry_writes.transaction_buffer import WriteFailures
    from shared.pipeline.entry_writes.writes import GenerationWrites
    from shared.pipeline.ledger.rows import GenerationState, LedgerRow
    from shared.pipeline.summaries.summary_writer import SummaryWriter
    from shared.pipeline.summaries.wanted import WantedInPlace
    from shared.sources.ports import CurrentFacts
    from shared.tables.accounts import Accounts
    from shared.verification.differences import Differences
    from shared.verification.examine import EntryAddress, Examined, Examiner, FactIdentity, SeenRow
    from shared.verification.repair_plan import RepairPlan

_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class RepairDependencies:
    """What repair writes with."""

    plan: SourcePlan
    accounts: Accounts
    applier: Applier
    entry_writer: EntryWriter
    summary_writer: SummaryWriter
    sweep_queue: SweepQueue
    run_all: RunAll
    facts: CurrentFacts


class Repairer:
    """Repairs facts of one generation. Entries of facts that are gone are removed only with `removes_orphans`."""

    def __init__(self, examiner: Examiner, dependencies: RepairDependencies, *, removes_orphans: bool) -> None:
        self._examiner = examiner
        self._dependencies = dependencies
        self._removes_orphans = removes_orphans
        self._reader = CosmosReader(examiner.source)

    async def repair(self, fact: FactIdentity, addresses: Iterable[EntryAddress] = ()) -> bool:
        """Make a fact right; whether it is. What cannot be known (a row without a document) stays as it is."""
        addresses = list(addresses)
        for _ in range(_ATTEMPTS):
            examined = await self._examiner.examine(fact, addresses)
            if examined is None:
                continue
            # Nothing is recent: what is wrong may be repaired now as well as later.
            differences = differences_of(examined, recent_after_seconds=math.inf)
            if not differences.found and not differences.masked:
                return True
            change = await self._change(examined)
            if change is not None:
                await self._dependencies.applier.apply(self._dependencies.plan, [change])
            elif not await self._repair_rows(examined, differences):
                return False
        return False

    async def _repair_rows(self, examined: Examined, differences: Differences) -> bool:
        """Whether it is worth looking again."""
        if examined.state is None or (differences.standing == "unapplied" and not examined.is_current):
            return False
        plan = plan_repair(examined, self._examiner.generation)
        if plan.state is not None and not await self._amend(examined, plan.state):
            return True
        await self._write(examined, plan)
        return plan.is_whole and differences.standing != "gone"

    # ------------------------------------------------------------------------------------------ versions

    async def _change(self, examined: Examined) -> Change | None:
        """The change that brings the ledger to the fact; None when it is there, or when no change is known."""
        try:
            return await self._find_change(examined)
        except UnreadableChangeError:
            return None  # for the feed it is a dead letter

    async def _find_change(self, examined: Examined) -> Change | None:
        if examined.document is None:
            return self._removal(examined) if examined.is_read else None
        if examined.state is not None and (same_entries(examined) is not None or examined.is_current):
            return None
        if examined.is_ledger_version and examined.newest is not None:
            change = self._examiner.change_at(examined.document, clock_of(examined.newest))
            return replace(change, version=examined.newest)
        return await self._change_of_feed(examined)

    async def _change_of_feed(self, examined: Examined) -> Change | None:
        fact, document = examined.fact, examined.document
        seconds = document.get("_ts") if document else None
        if fact.id is None or not isinstance(seconds, int):
            return None
        current = await self._dependencies.facts.from_feed(self._examiner.source, fact.id, fact.partition_key, seconds)
        if current is None:
            return None
        change = self._reader.latest(current)
        newest = examined.newest
        if newest is None or change.version > newest:
            return change
        if self._dependencies.plan.has_lsn and clock_of(change.version) == clock_of(newest):
            return replace(change, version=_version_above(examined.row, newest))
        return self._at_ledger_second(change, newest) if is_older(examined) else None

    def _at_ledger_second(self, change: Change, newest: str) -> Change | None:
        """A newer document under an older clock: the ledger's second with the document's own sequence number."""
        if not self._dependencies.plan.has_lsn or lsn_of(change.version) <= lsn_of(newest):
            return None
        return replace(change, version=with_ticks_of(change.version, newest))

    def _removal(self, examined: Examined) -> Change | None:
        """The delete of a fact that is gone, at the clock of the newest version that is known of it."""
        fact, state = examined.fact, examined.state
        if fact.id is None or (state is not None and not (state.current and self._removes_orphans)):
            return None
        shown = [rows[0].version for rows in examined.rows_by_address.values() if rows]
        newest = max([examined.newest or "", *shown]) if state is None else examined.newest
        if not newest:
            return None
        removed_at = version(clock_of(newest), NO_DOCUMENT, is_delete=True)
        return Change(
            source=self._dependencies.plan.source,
            id=fact.id,
            partition_key=fact.partition_key,
            fact_key=fact.fact_key,
            fact_hash=fact_hash(fact.fact_key),
            version=removed_at if removed_at >= newest else _version_above(examined.row, newest),
            document=None,
            columns=fact_columns(fact.id, fact.partition_key),
        )

    # ------------------------------------------------------------------------------------------ writing

    async def _amend(self, examined: Examined, state: GenerationState) -> bool:
        """Write the ledger row; False when a worker was faster, or when it would be too large."""
        plan, fact_key = self._dependencies.plan, examined.fact.fact_key
        assert examined.etag is not None
        row = replace(examined.row, states={**examined.row.states, self._examiner.generation.id: state})
        entity = encode(row, ledger_partition(plan.source, fact_hash(fact_key), plan.buckets), fact_key)
        if states_bytes(entity) > STATES_BYTES_MAX:
            return False
        try:
            await self._dependencies.accounts.main.transact(LEDGER_TABLE, [Replace(entity, examined.etag)])
        except OperationFailedError:
            return False
        return True

    async def _write(self, examined: Examined, plan: RepairPlan) -> None:
        if plan.writes.generation.layout is not None:
            await self._write_contributions(examined, plan)
            return
        entry_writer, writes = self._dependencies.entry_writer, [(examined.fact.fact_key, plan.writes)]
        await self._announce(plan.writes, plan.state or examined.state)
        _raise_first(await entry_writer.write(writes))
        await self._delete(plan.excess)

    async def _write_contributions(self, examined: Examined, plan: RepairPlan) -> None:
        """Write rows of a summary in both waves, over what was examined: a row that has changed since stays."""
        fact_key, summary_writer = examined.fact.fact_key, self._dependencies.summary_writer
        writes = [(fact_key, plan.writes)]
        gone: list[Swept] = []
        for wave in (first_wave(writes), second_wave(writes)):
            result = await summary_writer.write([_over_examined(wanted, examined) for wanted in wave])
            _raise_first(result.failures)
            gone += result.gone
        await self._send(gone)

    async def _delete(self, excess: Iterable[tuple[EntryAddress, SeenRow]]) -> None:
        """Entry key by entry key, the oldest first; a row that has changed meanwhile is looked at again."""
        generation = self._examiner.generation
        rows_by_key: dict[tuple[Place, str], list[SeenRow]] = {}
        for (partition, entry_key), row in excess:
            rows_by_key.setdefault((place_of(generation, partition), entry_key), []).append(row)
        for (place, _), rows in rows_by_key.items():
            tables = self._dependencies.accounts.tables(place.account)
            for start in range(0, len(rows), OPERATIONS_MAX):
                oldest = rows[start : start + OPERATIONS_MAX]
                try:
                    await tables.transact(
                        place.table, [Delete(place.partition, row.row_key, row.etag) for row in oldest]
                    )
                except OperationFailedError:
                    return

    async def _announce(self, writes: GenerationWrites, state: GenerationState | None) -> None:
        """All keys that the ledger lists, before their tombstones are written: a repair that ends in between does not
        come back to a fact that looks right."""
        tombstones = [
            Tombstone(place_of(writes.generation, old.partition), old.entry_key, writes.version)
            for old in (state.removed if state is not None else ())
        ]
        await self._send(tombstones)

    async def _send(self, swept: Iterable[Swept]) -> None:
        send = self._dependencies.sweep_queue.send
        await all_of(self._dependencies.run_all, [partial(send, message) for message in to_messages(swept)])


def _over_examined(wanted: WantedInPlace, examined: Examined) -> WantedInPlace:
    """The same, over the rows that the examination found wrong, whatever their versions are."""
    contributions = [
        contribution._replace(is_new=False, wrong_etag=rows[0].etag if rows else None)
        for contribution in wanted.contributions
        for rows in [examined.rows_by_address.get((wanted.place.partition, contribution.row_key), ())]
    ]
    return wanted._replace(contributions=tuple(contributions))


def _raise_first(failures: WriteFailures) -> None:
    for error in failures.values():
        raise error


def _version_above(row: LedgerRow, newest: str) -> str:
    """The least version of the newest clock above every row and tombstone that a claim of this ledger row may write."""
    written = [
        version_written
        for state in row.states.values()
        for version_written in (
            state.tombstone_version,
            *(entry.version for entry in state.current),
            *(entry.version for entry in state.removed),
        )
    ]
    return next_version(newest_of_same_clock(newest, written))
