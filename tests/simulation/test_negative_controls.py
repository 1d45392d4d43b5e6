"""Deliberately broken variants of the pipeline: the simulation must catch every one, or it proves nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from shared.lookup.reading.stretches import Stretch, StretchReader, newest_of_each_entry
from shared.pipeline.apply import batch
from shared.pipeline.apply import claim_batch as claiming
from shared.pipeline.apply import decide_share as deciding
from shared.pipeline.apply.batch import Applier
from shared.pipeline.apply.decide import decide
from shared.pipeline.apply.early_writer import EarlyWriter
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.dead_letters import due
from shared.pipeline.dead_letters.due import DeadLetterUpdates, DueCheck
from shared.pipeline.dead_letters.replay import Replayed, Replayer
from shared.pipeline.entry_writes import entry_writer, waves
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.ledger.cache import LedgerCache
from shared.tables.port import Delete
from tests.simulation.explore import Explorer
from tests.simulation.histories import (
    DEFINITIONS,
    PLAN,
    POISON,
    history,
    merging_beside_updates,
    reading_beside_updates,
    refusing,
    workers,
)
from tests.simulation.programs import HandOver, Replay, SharedProcess, Worker, batches_of
from tests.simulation.random_runs.checks import Checks
from tests.simulation.random_runs.simulation import Simulation
from tests.simulation.scenario import Scenario
from tests.simulation.steps import ViolationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.entries.projection.project_all import GenerationEntries
    from shared.pipeline.apply.claimed import ClaimedChange, ClaimResult, Writers
    from shared.pipeline.apply.decide import Decision
    from shared.pipeline.cleanup.messages import Tombstone
    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.pipeline.entry_writes.look import Looked
    from shared.pipeline.entry_writes.transaction_buffer import TransactionBuffer, WriteFailures
    from shared.pipeline.entry_writes.waves import Together
    from shared.pipeline.entry_writes.writes import GenerationWrites
    from shared.pipeline.ledger.cache import KnownRow
    from shared.pipeline.ledger.rows import LedgerRow
    from shared.pipeline.ledger.shares import ShareKey
    from shared.tables.port import RowRange

REMOVING_EARLY = replace(PLAN, removed_max=0)


def caught(scenario: Scenario) -> None:
    """Some interleaving ends wrong, and the trace says which."""
    report = Explorer(scenario).run()
    assert report.problem is not None
    assert report.trace


def changing(monkeypatch: pytest.MonkeyPatch, change_decision: Callable[[Change, Decision], Decision]) -> None:
    """Let every decision be changed."""

    def broken(
        change: Change,
        projected: Sequence[GenerationEntries],
        known: KnownRow,
        plan: SourcePlan,
        now_seconds: int,
        down: AbstractSet[str],
    ) -> Decision:
        return change_decision(change, decide(change, projected, known, plan, now_seconds, down))

    monkeypatch.setattr(claiming, "decide", broken)


def skip_unchanged(change: Change, decision: Decision) -> Decision:
    """Leave out the write of an entry that did not change."""
    writes = [
        generation_writes
        if generation_writes.must_list
        else generation_writes._replace(
            current=tuple(row for row in generation_writes.current if row.version == change.version)
        )
        for generation_writes in decision.writes
    ]
    return replace(decision, writes=tuple(writes))


def test_random_runs_catch_a_naive_skip_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a few hundred seeds: the larger simulation sees as sharply as the exhaustive one."""
    changing(monkeypatch, skip_unchanged)
    with pytest.raises(ViolationError):
        for seed in range(500):
            Simulation(Random(seed)).run()


def test_a_failure_without_a_dead_letter_is_found_before_any_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random runs look for the trace of what an index lacks."""

    async def silent(
        self: DeadLetterUpdates, source: str, dead_letters: Sequence[object]
    ) -> tuple[dict[str, Exception], int]:
        return {}, 0

    monkeypatch.setattr(DeadLetterUpdates, "put", silent)
    monkeypatch.setattr(Checks, "dead_letters", lambda self, moment: None)
    with pytest.raises(ViolationError, match="nothing says so"):
        for seed in range(500):
            Simulation(Random(seed)).run()


def test_an_unchanged_entry_is_skipped_that_may_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naive skip: the previous version's worker has claimed and never written."""
    changing(monkeypatch, skip_unchanged)
    versions = history("A:x", "A:x")
    caught(Scenario("naive skip", PLAN, versions, workers(versions), crashes=1))


def test_removed_entries_are_removed_early_at_the_new_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tombstones hide a row that another version claims in between."""

    def at_new_version(change: Change, decision: Decision) -> Decision:
        return replace(
            decision,
            early_removals=tuple(replace(removal, version=change.version) for removal in decision.early_removals),
        )

    changing(monkeypatch, at_new_version)
    versions = history("A:x", "B:x", "A:x", "A:x")
    prefix = (Worker(REMOVING_EARLY, batches_of(*versions[:2])),)
    caught(
        Scenario("early removal", REMOVING_EARLY, versions, workers(versions[2:], REMOVING_EARLY), prefix, crashes=1)
    )


def test_removed_entries_are_forgotten_without_their_tombstones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version that removed them has claimed and never written."""
    changing(monkeypatch, lambda _, decision: replace(decision, early_removals=()))
    versions = history("A:x", "B:x", "C:x")
    prefix = (Worker(REMOVING_EARLY, batches_of(versions[0])),)
    caught(Scenario("forget", REMOVING_EARLY, versions, workers(versions[1:], REMOVING_EARLY), prefix, crashes=1))


class BlindSweeper(Sweeper):
    """Deletes every row of the entry key, whether or not the tombstone is still the newest there."""

    async def _try(self, tombstone: Tombstone) -> bool:
        place = tombstone.place
        tables = self._accounts.tables(place.account)
        for row in await list_rows_of(tables, place.table, place.partition, tombstone.entry_key):
            await tables.transact(place.table, [Delete(place.partition, row.row_key)])
        return True


class TombstoneSweeper(Sweeper):
    """Deletes a tombstone, but not the rows that it hides."""

    async def _try(self, tombstone: Tombstone) -> bool:
        place = tombstone.place
        tables = self._accounts.tables(place.account)
        for row in await list_rows_of(tables, place.table, place.partition, tombstone.entry_key):
            if row.version == tombstone.version and row.is_tombstone:
                await tables.transact(place.table, [Delete(place.partition, row.row_key, row.etag)])
        return True


class ForgettingSweeper(Sweeper):
    """Lets the ledger forget every key that a message names."""

    async def _try(self, tombstone: Tombstone) -> bool:
        await super()._try(tombstone)
        return True


def test_a_sweep_forgets_a_key_whose_tombstone_is_not_written() -> None:
    """Its worker ended right after the message; the batch that comes again does not know the key any more."""
    versions = history("A:x", "B:x")
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    later = workers(versions[1:])
    caught(Scenario("forget", PLAN, versions, later, prefix, sweeper=ForgettingSweeper, sweeps_between=True))


def test_a_blind_sweep_takes_the_entry_of_a_fact_that_came_back() -> None:
    """The fact left the key, and has it again when the message arrives."""
    versions = history("A:x", "B:x", "A:x")
    prefix = (Worker(PLAN, batches_of(*versions)),)
    caught(Scenario("sweep", PLAN, versions, (), prefix, sweeper=BlindSweeper, sweeps_beside=True))


def failing_beside_replay(replay: Replay) -> Scenario:
    """A worker whose code has a fault, and the replay of its dead letter with code that has none."""
    versions = history("A:x", "A:y")
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    failing = Worker(refusing(PLAN), batches_of(versions[1]), reads_first=True)
    return Scenario("replay", PLAN, versions, (failing, replay), prefix, crashes=1, faults=1, finally_=(replay,))


def test_a_replay_writes_where_tombstones_of_its_version_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late tombstone of the worker that failed takes the entry away."""
    monkeypatch.setattr(deciding, "next_version", lambda version: version)
    scenario = failing_beside_replay(Replay(PLAN, DEFINITIONS))
    # It has failed before, and gets its batch again: then its tombstones come alone.
    caught(replace(scenario, prefix=(*scenario.prefix, scenario.programs[0])))


def test_a_replay_closes_its_dead_letter_before_it_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash in between, no trace of the change remains."""

    async def remove_first(self: Replayer, dead_letter: StoredDeadLetter) -> Replayed:
        await self._store.remove(dead_letter.row)
        return await replay(self, dead_letter)

    replay = Replayer._replay
    monkeypatch.setattr(Replayer, "_replay", remove_first)
    caught(failing_beside_replay(Replay(PLAN, DEFINITIONS)))


def overtaken_poison() -> Scenario:
    """A worker with a version that does not fit, and one with the next, which does."""
    versions = history(POISON, "A:x")
    return Scenario("poison", PLAN, versions, workers(versions), crashes=1, lates=False, dead_letters_are_exact=True)


def test_a_worker_does_not_look_at_the_ledger_after_its_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newer version was applied between its claim and its dead letter: that stays for ever."""

    def trusting(works: Sequence[ClaimedChange]) -> list[DueCheck]:
        return due_checks([work for work in works if not work.decision.failed])

    due_checks = batch._due_checks
    monkeypatch.setattr(batch, "_due_checks", trusting)
    caught(overtaken_poison())


def test_a_dropped_version_leaves_its_dead_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker was overtaken and ended right after it had put the dead letter."""

    def idle(works: Sequence[ClaimedChange]) -> list[DueCheck]:
        return due_checks([work for work in works if work.decision.claim is not None])

    due_checks = batch._due_checks
    monkeypatch.setattr(batch, "_due_checks", idle)
    caught(overtaken_poison())


def test_a_dead_letter_is_closed_without_a_look_at_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code with a fault fails at the version that other code has claimed again: its dead letter is due."""

    def never(row: LedgerRow | None, plan: SourcePlan, check: DueCheck, version: str) -> bool:
        return version > check.version

    monkeypatch.setattr(due, "_is_due_in", never)
    caught(failing_beside_replay(Replay(PLAN, DEFINITIONS)))


def test_a_sweep_of_the_tombstone_alone_unmasks_a_late_row() -> None:
    """A write that seemed to be lost is under the tombstone."""
    versions = history("A:x", "B:x")
    caught(Scenario("late", PLAN, versions, workers(versions), crashes=0, faults=1, sweeper=TombstoneSweeper))


def test_removals_before_live_rows_leave_a_moment_without_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removals come together with live rows, or before them."""

    async def later(self: EarlyWriter, works: object, claimed: object) -> None:
        pass

    async def backwards(
        self: Applier, writers: Writers, live: TransactionBuffer, looked: Looked, claims: ClaimResult
    ) -> WriteFailures:
        writer = writers.entries
        all_writes = [(work.fact, writes) for work in claims.claimed for writes in work.decision.writes]
        return await writer.write_second(all_writes, await writer.look(all_writes)) | await writer.write(all_writes)

    monkeypatch.setattr(EarlyWriter, "claimed", later)
    monkeypatch.setattr(Applier, "_write", backwards)
    versions = history("A:x", "B:x")
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    caught(Scenario("removals first", PLAN, versions, workers(versions[1:]), prefix, always_shown=True))


def test_no_tombstone_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come with the live rows also where these are in another partition."""

    def all_at_once(all_writes: Sequence[tuple[str, GenerationWrites]]) -> list[Together]:
        return [*waves.first_wave(all_writes), *waves.second_wave(all_writes)]

    # In a small batch the live row would go out alone, before the rest.
    monkeypatch.setattr(batch, "_SMALL_BATCH", 0)
    monkeypatch.setattr(entry_writer, "first_wave", all_at_once)
    monkeypatch.setattr(entry_writer, "second_wave", lambda all_writes: [])
    versions = history("A:x", "B:x")
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    caught(Scenario("no wait", PLAN, versions, workers(versions[1:]), prefix, always_shown=True, order="any"))


def test_a_cached_row_decides_a_redelivery(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger has moved on and the tombstones are swept: the old row comes back as a ghost."""

    def trusting(
        change: Change,
        projected: Sequence[GenerationEntries],
        known: KnownRow,
        plan: SourcePlan,
        now_seconds: int,
        down: AbstractSet[str],
    ) -> Decision:
        return decide(change, projected, replace(known, is_cached=False), plan, now_seconds, down)

    monkeypatch.setattr(claiming, "decide", trusting)
    first, second = history("A:x", "B:x")
    caught(Scenario("cached", PLAN, (first, second), (HandOver(PLAN, (first,), (second,)),), faults=1, lates=False))


def test_finished_is_noted_for_another_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """One invocation finishes its version; the other's version counts as finished and is never written."""

    def careless(self: LedgerCache, key: tuple[str, str], etag: str, finished: frozenset[ShareKey]) -> None:
        known = self._rows.get(key)
        if known is not None:
            self._rows[key] = replace(known, finished=known.finished | finished)

    monkeypatch.setattr(LedgerCache, "mark_finished", careless)
    versions = history("A:x", "B:x")
    process = SharedProcess(PLAN, batches_of(*versions))
    caught(Scenario("finished", PLAN, versions, (process,), crashes=0, faults=1, order="any"))


def test_a_reader_that_follows_continuations_misses_a_row() -> None:
    """An update in place gives the row a smaller key, behind the continuation."""
    changes, programs, prefix = reading_beside_updates(follows_tokens=True)
    caught(Scenario("tokens", PLAN, changes, programs, prefix, crashes=0))


def test_a_merge_that_does_not_look_again_misses_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a continuation passed over may hold a row by now that was updated in place."""

    async def careless(self: StretchReader, rows: RowRange) -> Stretch:
        page, _ = await self._query(rows, None)
        if page.rows or page.continuation is None:
            return Stretch(newest_of_each_entry(page.rows), page.continuation is not None)
        return await self._follow(rows, page.continuation)

    monkeypatch.setattr(StretchReader, "read", careless)
    changes, programs, prefix = merging_beside_updates()
    caught(Scenario("careless merge", PLAN, changes, programs, prefix, crashes=0, faults=1))
