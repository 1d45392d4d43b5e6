"""Totals are verified and repaired beside live workers, in every interleaving: what is right is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from shared.entries.summaries import extremes
from shared.pipeline.summaries.judge import GroupLane
from shared.tables.port import Delete, Upsert
from shared.verification.confirm import GracePeriod
from shared.verification.examine import GroupAddress
from shared.verification.report import DifferenceReport
from shared.verification.totals import TotalsConfirmer
from tests.simulation.explore import Explorer
from tests.simulation.programs import Worker, accounts, batches_of
from tests.simulation.repairs import Damage, no_pause
from tests.simulation.scenario import Scenario
from tests.simulation.steps import ViolationError, interleaved
from tests.simulation.summary_histories import PLAN, versions, workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.memory.store import Store
    from shared.tables.port import Entity, Operation
    from tests.simulation.steps import Program

(GENERATION,) = PLAN.generations
GROUP = GroupAddress("A !", "")
TOTAL = GroupLane(GROUP.sort, 0).row_key
WRONG: Entity = {
    "PartitionKey": GROUP.partition,
    "RowKey": TOTAL,
    "_key": '{"town":"A"}',
    "_json": '{"facts":7,"elements":7,"of":{"spent":["0.7",7,null,null]}}',
}
DAMAGE: dict[str, Operation] = {"another sum": Upsert(WRONG), "missing total": Delete(GROUP.partition, TOTAL)}
HISTORIES = {
    "arrives": ("f A 0.1", "g A 0.2"),
    "changes": ("f A 0.1", "f A 0.2"),
    "leaves": ("f A 0.1", "f B 0.1"),
    "is deleted": ("f A 0.1", "f"),
}


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of extremes run empty soon."""
    monkeypatch.setattr(extremes, "KEPT", 1)


@dataclass(frozen=True, slots=True)
class CheckTotals:
    """Verifies the totals of one group; perhaps it repairs them, perhaps there must be nothing to repair."""

    repairs: bool = False
    is_right: bool = False
    is_redelivered: bool = True
    kind: type[TotalsConfirmer] = TotalsConfirmer

    async def __call__(self) -> None:
        """One group."""
        report = DifferenceReport()
        grace_period = GracePeriod(0, 0, no_pause)
        confirmer = self.kind(GENERATION, accounts(), grace_period, interleaved, repairs=self.repairs)
        await confirmer.confirm_and_repair([GROUP], report)
        if self.is_right and report.total:
            raise ViolationError(f"what is right was found {+report.differences}")

    def __str__(self) -> str:
        return "totals"


@dataclass(frozen=True, slots=True)
class Damaged(Scenario):
    """A total is wrong until it is repaired."""

    def broken_now(self, store: Store) -> str | None:
        """Only the end counts."""
        return None


def holds(scenario: Scenario) -> None:
    """No interleaving ends wrong."""
    report = Explorer(scenario).run()
    assert report.problem is None, str(report)
    assert report.ends > 0


def caught(scenario: Scenario) -> None:
    """Some interleaving does."""
    assert Explorer(scenario).run().problem is not None


def damaged(name: str, damage: str, check: CheckTotals) -> Damaged:
    """The first version is applied, then its total damaged; the repair runs beside the worker of the second one, and
    once more in the end, as the next verification would."""
    changes = versions(*HISTORIES[name])
    prefix = (Worker(PLAN, batches_of(changes[0])), Damage(GENERATION.table, (DAMAGE[damage],)))
    programs: tuple[Program, ...] = (check, *workers(changes[1:]))
    return Damaged(name, PLAN, changes, programs, prefix, crashes=1, switches=3, finally_=(CheckTotals(repairs=True),))


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", HISTORIES)
def test_a_total_is_repaired_beside_a_worker(name: str, damage: str) -> None:
    """Either may crash."""
    holds(damaged(name, damage, CheckTotals(repairs=True)))


@pytest.mark.parametrize("name", HISTORIES)
def test_a_repair_of_totals_that_are_right_changes_nothing(name: str) -> None:
    """At no moment is a total not the sum of its contributions."""
    changes = versions(*HISTORIES[name])
    programs: tuple[Program, ...] = (CheckTotals(repairs=True), *workers(changes[1:]))
    prefix = (Worker(PLAN, batches_of(changes[0])),)
    holds(Scenario(name, PLAN, changes, programs, prefix, crashes=1, faults=1, switches=3))


# A group that is there for a moment only: its total is absent before and after.
PASSING = ("f A 0.1", "f B 0.1")


def verified(check: CheckTotals) -> Scenario:
    """A verification beside a group that comes and goes."""
    changes = versions(*PASSING)
    return Scenario("passing", PLAN, changes, (check, Worker(PLAN, batches_of(*changes))), crashes=0)


def test_a_total_that_is_absent_twice_proves_nothing() -> None:
    """It was there in between: two looks tell."""
    holds(verified(CheckTotals(is_right=True, is_redelivered=False)))


# ---------------------------------------------------------------------------------------------- negative controls


class Hasty(TotalsConfirmer):
    """Judges by one look."""

    async def confirm_and_repair(self, groups: Sequence[GroupAddress], report: DifferenceReport) -> None:
        """Note what the first look finds."""
        for wrong in await self._look(groups):
            report.differences.update(wrong.values())


def test_an_absent_total_that_is_judged_at_once_is_caught() -> None:
    """Negative control."""
    caught(verified(CheckTotals(is_right=True, is_redelivered=False, kind=Hasty)))
