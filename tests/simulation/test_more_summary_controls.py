"""More mistakes that writers of summaries can make, beside those of the rules: the simulation must catch every one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from shared.entries.rows.json_text import dumps
from shared.entries.summaries import decimals, extremes
from shared.entries.summaries.rows import contribution_in
from shared.errors import StorageError
from shared.pipeline.apply import settle_debts
from shared.pipeline.summaries import judge
from shared.pipeline.summaries.partition_writer import PartitionWriter
from shared.pipeline.summaries.row_cache import TotalState
from shared.pipeline.summaries.summary_writer import SummaryWriter
from shared.pipeline.summaries.sweeping import ContributionSweeper
from shared.tables.port import Replace, Upsert
from tests.simulation.programs import Worker, batches_of
from tests.simulation.steps import ViolationError
from tests.simulation.summary_controls import Totals, caught, on_new_group, on_old_group
from tests.simulation.summary_histories import PLAN, a_change_that_has_lost, versions, workers
from tests.simulation.summary_run import SummarySimulation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.summaries.judge import ContributionChange, GroupLane, RowWrite
    from shared.pipeline.summaries.sweeping import GoneContribution
    from shared.pipeline.summaries.wanted import WantedContribution


def test_a_sweep_that_writes_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is gone counts in none: a total that the sweep has read may be another one when it is written."""

    async def sweep(self: ContributionSweeper, place: Place, gone: Sequence[GoneContribution]) -> int:
        tables = self._accounts.tables(place.account)
        total = await tables.get(place.table, place.partition, "00")
        if total is not None:
            await tables.transact(place.table, [Upsert(total.entity)])
        return await sweep_rows(self, place, gone)

    sweep_rows = ContributionSweeper._sweep
    monkeypatch.setattr(ContributionSweeper, "_sweep", sweep)
    changes = versions("e A 1", "f A 0.1", "f", "e A 2")
    prefix = (Worker(PLAN, batches_of(*changes[:3])),)
    caught(Totals("sweep", PLAN, changes, workers(changes[3:]), prefix, sweeps_beside=True))


def test_extremes_of_a_change_that_has_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value counts as the largest though its contribution is at a newer version, and stays as it is."""

    async def write(self: Any, wanted: Sequence[WantedContribution]) -> dict[str, str]:
        self.all_wanted = wanted
        found: dict[str, str] = await write_all(self, wanted)
        return found

    async def total_write(self: Any, group: GroupLane, changes: Sequence[ContributionChange], seen: Any) -> RowWrite:
        right: RowWrite = await write_total(self, group, changes, seen)
        before = judge.total_after(seen.totals[group.row_key], changes, self._layout)
        if before is None or not before.is_unknown or not isinstance(right.operation, Replace):
            return right
        wanted = [contribution_in(each.columns, self._layout) for each in self.all_wanted if each.columns is not None]
        entity: dict[str, Any] = dict(right.operation.entity)
        plain = orjson.loads(entity["_json"])
        largest = max(each.amounts[0].largest or decimals.ZERO for each in wanted)
        if largest > Decimal(plain["of"]["spent"][3][0][0][0]):
            plain["of"]["spent"][3] = [[[str(largest), 1]], False]
        return right._replace(operation=Replace({**entity, "_json": dumps(plain)}, right.operation.etag))

    write_all, write_total = PartitionWriter._write, PartitionWriter._total_write
    monkeypatch.setattr(extremes, "KEPT", 1)
    monkeypatch.setattr(PartitionWriter, "_write", write)
    monkeypatch.setattr(PartitionWriter, "_total_write", total_write)
    caught(a_change_that_has_lost(Totals))


def test_an_absent_total_that_nothing_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cached "there is none" is old, and the last contribution seems to leave nothing behind."""

    async def writes(self: PartitionWriter, changes: Sequence[ContributionChange], seen: Any) -> list[RowWrite]:
        found = await all_writes(self, changes, seen)
        return [each for each in found if not is_empty(each)]

    def is_empty(write: RowWrite) -> bool:
        stored = write.after.stored
        return isinstance(write.after, TotalState) and stored is not None and not stored.total.facts  # type: ignore[union-attr]  # of a total

    all_writes = PartitionWriter._writes
    monkeypatch.setattr(PartitionWriter, "_writes", writes)
    with pytest.raises(ViolationError):
        for seed in range(1000):
            SummarySimulation(Random(seed)).run()


def test_what_an_account_that_is_down_lacks_is_not_owed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that acknowledges without a debt."""
    monkeypatch.setattr(settle_debts, "_owing", lambda state, *_: state)
    with pytest.raises(ViolationError):
        for seed in range(1000):
            SummarySimulation(Random(seed)).run()


def test_sums_of_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.1 + 0.2 - 0.1 is not 0.2."""

    def add(first: Any, second: Any) -> Any:
        return decimals.plain(decimals.read(repr(float(first) + float(second))))

    def subtract(first: Any, second: Any) -> Any:
        return decimals.plain(decimals.read(repr(float(first) - float(second))))

    monkeypatch.setattr(decimals, "add", add)
    monkeypatch.setattr(decimals, "subtract", subtract)
    caught(on_old_group("e A 0.1", "f A 0.2", "f A 0.3", before=1))


def test_what_is_only_passed_over_counts_as_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that failed to write its contributions remembers them as written."""

    async def silent(self: Any, writer: PartitionWriter, *rest: Any) -> None:
        with suppress(StorageError):
            await write_place(self, writer, *rest)

    write_place = SummaryWriter._write_place
    monkeypatch.setattr(SummaryWriter, "_write_place", silent)
    caught(replace(on_new_group("f A 0.1"), lates=False))
