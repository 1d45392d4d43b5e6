"""One rule of the summary protocol broken at a time: the simulation must catch every one, or it proves nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shared.entries.summaries import decimals, extremes
from shared.entries.summaries.totals import Amount, Contribution
from shared.pipeline.apply import claim_batch as claiming
from shared.pipeline.apply.decide import decide
from shared.pipeline.summaries import judge, partition_writer, sweeping, wanted
from shared.pipeline.summaries.partition_writer import PartitionWriter
from shared.pipeline.summaries.recount import count_group
from shared.pipeline.summaries.row_cache import ContributionState, TotalState
from shared.pipeline.summaries.wanted import first_wave, second_wave
from shared.tables.memory.store import Store
from shared.tables.port import Delete, Insert, Replace, Upsert
from tests.simulation.programs import HandOver, Sweep, TakeMessages, Worker, batches_of
from tests.simulation.steps import Stopping
from tests.simulation.summary_controls import Totals, caught, on_new_group, on_old_group
from tests.simulation.summary_histories import PLAN, PLAN_EXTREMES, a_reader_beside_a_return, versions, workers
from tests.simulation.test_negative_controls import changing, skip_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

    from shared.entries.changes.change import Change
    from shared.pipeline.apply.claim_batch import BatchClaimer
    from shared.pipeline.apply.claimed import ClaimedChange, ClaimResult, Writers
    from shared.pipeline.apply.decide import Decision
    from shared.pipeline.ledger.cache import KnownRow
    from shared.pipeline.summaries.judge import ContributionChange, GroupLane, RowWrite
    from shared.pipeline.summaries.wanted import WantedContribution


def blind(operation: object) -> Any:
    """The same write, whatever is there."""
    return Upsert(operation.entity) if isinstance(operation, (Insert, Replace)) else operation


def test_rule_1_a_contribution_before_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker dies between; the next version does not know the group."""

    async def claim_last(
        self: BatchClaimer, works: Sequence[ClaimedChange], claims: ClaimResult, writers: Writers
    ) -> list[ClaimedChange]:
        writes = [(work.fact, each) for work in works for each in work.decision.writes]
        await writers.summaries.write(first_wave(writes))
        await writers.summaries.write(second_wave(writes))
        return await claim_all(self, works, claims, writers)

    claim_all = claiming.BatchClaimer._claim_all
    monkeypatch.setattr(claiming.BatchClaimer, "_claim_all", claim_last)
    caught(on_old_group("f A 0.1", "f B 0.1", "f A 0.2", before=1))


def writing_totals(monkeypatch: pytest.MonkeyPatch, change: Callable[[RowWrite], RowWrite]) -> None:
    """Let every write of a total be changed."""

    def broken(*args: Any) -> RowWrite:
        return change(total_write(*args))

    total_write = judge.total_write
    monkeypatch.setattr(partition_writer, "total_write", broken)


def writing_contributions(monkeypatch: pytest.MonkeyPatch, change: Callable[[RowWrite], RowWrite]) -> None:
    """Let every write of a contribution be changed."""

    def broken(*args: Any) -> RowWrite:
        return change(contribution_write(*args))

    contribution_write = judge.contribution_write
    monkeypatch.setattr(partition_writer, "contribution_write", broken)


def test_rule_2_a_total_without_its_etag(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers add to it, and one addition is lost."""
    writing_totals(monkeypatch, lambda write: write._replace(operation=blind(write.operation)))
    caught(on_old_group("e A 1", "f A 0.1", "g A 0.2", before=1))


def test_rule_3_a_new_total_that_is_not_inserted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same race on the first fact of a group."""

    def upsert(write: RowWrite) -> RowWrite:
        return write._replace(operation=blind(write.operation)) if isinstance(write.operation, Insert) else write

    writing_totals(monkeypatch, upsert)
    caught(on_new_group("f A 0.1", "g A 0.2"))


def test_rule_4_a_contribution_without_its_etag(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same change twice: the second reads the contribution early, and the total late."""
    writing_contributions(monkeypatch, lambda write: write._replace(operation=blind(write.operation)))
    changes = versions("f A 0.1")
    caught(Totals("twice", PLAN, changes, (*workers(changes), *workers(changes)), crashes=1, faults=1))


def test_rule_5_the_new_etag_with_the_old_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a conflict: it overwrites the other's addition."""

    async def look_again(self: PartitionWriter, row_key: str, seen: Any) -> None:
        old = seen.totals.get(row_key)
        await look(self, row_key, seen)
        if old is not None and old.stored is not None:
            seen.totals[row_key] = seen.totals[row_key]._replace(stored=old.stored)

    look = PartitionWriter._look_again
    monkeypatch.setattr(PartitionWriter, "_look_again", look_again)
    # New contributions would go to another lane.
    caught(on_old_group("f A 0.1", "g A 0.2", "f A 0.3", "g A 0.4", before=2))


def test_rule_5_the_new_etag_of_a_contribution_with_its_old_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of contributions: an older version overwrites a newer one."""

    async def look_again(self: PartitionWriter, row_key: str, seen: Any) -> None:
        old = seen.contributions.get(row_key)
        await look(self, row_key, seen)
        if old is not None:
            seen.contributions[row_key] = seen.contributions[row_key]._replace(stored=old.stored)

    look = PartitionWriter._look_again
    monkeypatch.setattr(PartitionWriter, "_look_again", look_again)
    caught(on_old_group("f A 0.1", "f A 0.2", "f A 0.3", before=1))


def test_rule_6_total_and_contribution_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment between two transactions is enough."""

    async def send(self: PartitionWriter, writes: Sequence[RowWrite]) -> dict[str, ContributionState]:
        for write in writes[1:]:
            await send_all(self, [write])
        return await send_all(self, writes[:1])

    send_all = PartitionWriter._send
    monkeypatch.setattr(PartitionWriter, "_send", send)
    caught(on_new_group("f A 0.1"))


def test_rule_7_a_contribution_at_a_lower_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker of an old version paused after its claim."""

    def is_due(each: WantedContribution, seen: ContributionState) -> bool:
        return seen.stored is None or seen.stored.at != each.at

    monkeypatch.setattr(judge, "_is_due", is_due)
    caught(on_new_group("f A 0.1", "f A 0.2"))


def test_rule_8_the_old_value_from_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version before was claimed and never written: what never was in is taken out."""

    def live(fact: str, writes: Any, live_write: Any) -> Any:
        partition, each = make(fact, writes, live_write)
        return partition, each._replace(wrong_etag=None if live_write.replaces is None else "claimed")

    def change(each: WantedContribution, seen: ContributionState, *args: Any) -> ContributionChange:
        found = change_of(each, seen, *args)
        one = Contribution(1, (Amount.of([decimals.read("0.1")]),))
        return replace(found, loses=one) if each.wrong_etag == "claimed" and seen.stored is None else found

    make, change_of = wanted._live, judge._change
    monkeypatch.setattr(wanted, "_live", live)
    monkeypatch.setattr(judge, "_change", change)
    # A total that would be negative is counted again, so that another fact is needed.
    caught(on_old_group("e A 1", "f A 0.1", "f A 0.2", before=1))


def deleting(write: RowWrite) -> RowWrite:
    """Without a row that says so."""
    operation = write.operation
    is_gone = isinstance(operation, Replace) and "_gone" in operation.entity
    if not is_gone or not isinstance(operation, Replace):
        return write
    partition, row = str(operation.entity["PartitionKey"]), str(operation.entity["RowKey"])
    return write._replace(operation=Delete(partition, row, operation.etag), after=ContributionState())


def test_rule_9_a_contribution_that_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A redelivery that is on its way finds nothing there, and counts the fact again."""
    writing_contributions(monkeypatch, deleting)
    changes = versions("f A 0.1", "f B 0.1")
    caught(Totals("deleted", PLAN, changes, workers(changes), crashes=1, faults=1))


def test_rule_10_nothing_where_no_contribution_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request that writes it is on its way."""

    def changes_of(each: Any, seen: Any, *args: Any) -> list[ContributionChange]:
        changes = judge.changes_of(each, seen, *args)
        return [change for change in changes if change.gains is not None or change.seen.etag is not None]

    monkeypatch.setattr(partition_writer, "changes_of", changes_of)
    changes = versions("f A 0.1", "f B 0.1")
    caught(Totals("absent", PLAN, changes, workers(changes), crashes=1, faults=1))


@dataclass(frozen=True, slots=True)
class SweepAtOnce:
    """A sweeper whose messages do not wait."""

    async def __call__(self) -> None:
        """Sweep what there is."""
        await Sweep(tuple(await Stopping().carry(TakeMessages(), Store())), PLAN)()

    def __str__(self) -> str:
        return "impatient sweeper"


def test_rule_11_a_sweep_that_does_not_wait() -> None:
    """A late request of the version before lands after the row that kept it out is swept."""
    changes = versions("f A 0.1", "f")
    caught(Totals("at once", PLAN, changes, (*workers(changes), SweepAtOnce()), crashes=0, faults=1))


def test_rule_12_a_sweep_without_the_etag(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fact is back in the group when the message arrives."""
    monkeypatch.setattr(sweeping, "Delete", lambda partition, row, etag: Delete(partition, row))
    changes = versions("f A 0.1", "f", "f A 0.2")
    prefix = (Worker(PLAN, batches_of(*changes[:2])),)
    caught(Totals("sweep", PLAN, changes, workers(changes[2:]), prefix, sweeps_beside=True))


def test_rule_13_groups_that_were_left_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker of the version between died before it left the first group."""
    changing(monkeypatch, lambda _, decision: replace(decision, early_removals=()))
    forgetful = replace(PLAN, removed_max=0)
    changes = versions("f A 0.1", "f B 0.1", "f C 0.1")
    prefix = (Worker(forgetful, batches_of(changes[0])),)
    caught(Totals("forget", forgetful, changes, workers(changes[1:], forgetful), prefix, crashes=1))


def test_rule_14_an_unchanged_contribution_that_may_not_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version was claimed, and its worker died."""
    changing(monkeypatch, skip_unchanged)
    caught(on_new_group("f A 0.1", "f A 0.1"))


def test_rule_15_a_redelivery_that_trusts_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fact has left, and its row is swept: the old contribution comes back."""

    def trusting(change: Change, projected: Any, known: KnownRow, *more: Any) -> Decision:
        return decide(change, projected, replace(known, is_cached=False), *more)

    monkeypatch.setattr(claiming, "decide", trusting)
    first, second = versions("f A 0.1", "f B 0.1")
    caught(Totals("cached", PLAN, (first, second), (HandOver(PLAN, (first,), (second,)),), faults=1, lates=False))


def extremes_leave() -> Totals:
    """The largest value leaves a group while a larger one arrives."""
    changes = versions("f A 3", "g A 1", "h A 2", "f A 0", "g A 5")
    prefix = (Worker(PLAN_EXTREMES, (changes[:3],)),)
    return Totals("extremes", PLAN_EXTREMES, changes, workers(changes[3:], PLAN_EXTREMES), prefix, crashes=0)


def test_rule_16_contributions_that_are_read_before_their_total(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger value arrives between."""

    async def total_write(
        self: PartitionWriter, group: GroupLane, changes: Sequence[ContributionChange], seen: Any
    ) -> RowWrite:
        counted = await count_group(self._tables, self._place, group.sort, self._layout)
        self._cache.forget(self._place, group.row_key)
        before: TotalState = await self._reader.total(group.row_key)
        gains = [change.gains for change in changes if change.gains is not None]
        after = counted.total(self._layout, group.lane, [change.wanted.row_key for change in changes], gains)
        return judge.total_write(self._place.partition, group, before, after, counted.key or "{}", self._layout)

    monkeypatch.setattr(extremes, "KEPT", 1)
    monkeypatch.setattr(PartitionWriter, "_total_write", total_write)
    caught(extremes_leave())


def test_rule_16_extremes_that_are_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list ran empty, and the next value is taken for the largest."""

    def minus(self: extremes.Extremes, value: Any) -> extremes.Extremes:
        found = take(self, value)
        return found if found.values else extremes.Extremes(found.sign)

    take = extremes.Extremes.minus
    monkeypatch.setattr(extremes, "KEPT", 1)
    monkeypatch.setattr(extremes.Extremes, "minus", minus)
    caught(extremes_leave())


def test_rule_17_a_contribution_in_the_lane_of_its_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken out of a lane that it never was in."""

    def change(each: WantedContribution, seen: ContributionState, *args: Any) -> ContributionChange:
        return replace(change_of(each, seen, *args), lane=args[1](each.sort))

    change_of = judge._change
    monkeypatch.setattr(judge, "_change", change)
    changes = versions("e A 1", "f A 0.1", "f A 0.2")
    prefix = (Worker(PLAN, batches_of(*changes[:2])),)
    last = Worker(PLAN, batches_of(changes[2]), reads_first=True, lane=1)
    caught(Totals("writer", PLAN, changes, (last,), prefix, crashes=0))


def test_rule_17_a_fact_that_comes_back_in_another_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every total is right at every moment, and a reader of one lane after the other counts the fact twice."""

    def change(each: WantedContribution, seen: ContributionState, *args: Any) -> ContributionChange:
        found = change_of(each, seen, *args)
        is_gone = seen.stored is not None and seen.stored.contribution is None
        return replace(found, lane=args[1](each.sort)) if is_gone else found

    change_of = judge._change
    monkeypatch.setattr(judge, "_change", change)
    caught(a_reader_beside_a_return(Totals))
