"""Builds and switches beside live workers and crashes, under every interleaving: both generations come out right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.catalog.rows import CATALOG_TABLE, PARTITION, read_snapshot
from shared.errors import TableMissingError
from shared.lifecycle.build import Builds
from shared.lifecycle.generations import GenerationLifecycle
from shared.pipeline.ledger.catch_up import CatchUpReader
from shared.tables.memory.store import Store, as_row
from shared.tasks.runner import SliceStep
from tests.simulation.builds import (
    KNOWS_BOTH,
    KNOWS_OLD,
    KNOWS_SUMMARY,
    Build,
    Enter,
    Live,
    Operator,
    Written,
    written,
)
from tests.simulation.explore import Explorer
from tests.simulation.scenario import Scenario
from tests.simulation.test_every_interleaving import holds
from tests.simulation.test_negative_controls import caught

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot, ServingRow
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.lifecycle.build import BuildApplier
    from shared.pipeline.ledger.catch_up import MissingFacts
    from shared.pipeline.ledger.scan import LedgerFact
    from shared.tasks.rows import Slice
    from tests.simulation.explore import Moment
    from tests.simulation.steps import Program

HISTORIES = {
    "unchanged": ("A:x", "A:x"),
    "moved in the new one": ("A:x", "A:y"),
    "moved in the old one": ("A:x", "B:x"),
    "deleted": ("A:x", None),
}
SWITCHES = pytest.mark.parametrize("switches", [1, pytest.param(3, marks=pytest.mark.long)])


def scenario(
    name: str,
    versions: Sequence[Written],
    *programs: Program,
    prefix: Sequence[Program],
    crashes: int = 1,
    faults: int = 0,
    switches: int | None = None,
    plan: SourcePlan = KNOWS_BOTH,
) -> Scenario:
    """Programs after a prefix, all after the generation was registered."""
    changes = tuple(version.change for version in versions)
    before: tuple[Program, ...] = (Enter(plan=plan), *prefix)
    return Scenario(name, plan, changes, programs, before, crashes=crashes, faults=faults, switches=switches)


@SWITCHES
@pytest.mark.parametrize("name", HISTORIES)
def test_a_build_beside_a_live_worker(name: str, switches: int) -> None:
    """The build reads a version while the next one is applied; either may crash and be repeated."""
    first, second = written(*HISTORIES[name])
    prefix = [Live(KNOWS_OLD, first)]
    holds(
        scenario(name, (first, second), Build(), Live(KNOWS_BOTH, second), prefix=prefix, crashes=1, switches=switches)
    )


@SWITCHES
@pytest.mark.parametrize("name", HISTORIES)
def test_a_build_of_a_summary_beside_a_live_worker(name: str, switches: int) -> None:
    """Its totals are the sums of their contributions at every moment of the build."""
    plan = KNOWS_SUMMARY
    first, second = written(*HISTORIES[name])
    programs = (Build(plan=plan), Live(plan, second))
    prefix = [Live(KNOWS_OLD, first)]
    holds(scenario(name, (first, second), *programs, prefix=prefix, crashes=1, switches=switches, plan=plan))


@pytest.mark.parametrize("name", HISTORIES)
def test_a_build_of_a_summary_after_a_worker_that_did_not_know_it(name: str) -> None:
    """What that one did not write is found, in any version."""
    plan = KNOWS_SUMMARY
    first, second = written(*HISTORIES[name])
    prefix = [Live(plan, first), Live(KNOWS_OLD, second)]
    holds(scenario(name, (first, second), Build(plan=plan), prefix=prefix, crashes=1, plan=plan))


@pytest.mark.long
@pytest.mark.parametrize("name", HISTORIES)
def test_a_build_beside_two_live_workers(name: str) -> None:
    """Two versions at once."""
    specs = (*HISTORIES[name], "C:z")
    first, second, third = written(*specs)
    live = (Live(KNOWS_BOTH, second), Live(KNOWS_BOTH, third))
    holds(
        scenario(name, (first, second, third), Build(), *live, prefix=[Live(KNOWS_OLD, first)], crashes=1, switches=1)
    )


@pytest.mark.long
@pytest.mark.parametrize("name", HISTORIES)
def test_two_processes_on_one_build(name: str) -> None:
    """A message came twice, and no claim keeps the second one away."""
    first, second = written(*HISTORIES[name])
    prefix = [Live(KNOWS_OLD, first), Live(KNOWS_OLD, second)]
    holds(scenario(name, (first, second), Build(), Build(), prefix=prefix, crashes=1, switches=1))


@pytest.mark.parametrize("faults", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", HISTORIES)
def test_a_build_after_a_worker_that_did_not_know_the_generation(name: str, faults: int) -> None:
    """It had begun before: what it did not write is found, in any version."""
    first, second = written(*HISTORIES[name])
    prefix = [Live(KNOWS_BOTH, first), Live(KNOWS_OLD, second)]
    holds(scenario(name, (first, second), Build(), prefix=prefix, crashes=1, faults=faults))


@pytest.mark.parametrize("name", HISTORIES)
def test_what_comes_between_the_feed_and_the_catch_up_is_found(name: str) -> None:
    """From a worker that ran for longer than it may, without the new generation."""
    first, second = written(*HISTORIES[name])
    around = Build(between=Live(KNOWS_OLD, second))
    holds(scenario(name, (first, second), around, prefix=[Live(KNOWS_OLD, first)], crashes=1))


@pytest.mark.parametrize("name", ["moved in the new one", "deleted"])
def test_a_build_beside_a_worker_that_does_not_know_the_generation_is_caught(name: str) -> None:
    """Negative control: the build began before the refresh bound."""
    first, second = written(*HISTORIES[name])
    late = Live(KNOWS_OLD, second)
    caught(scenario(name, (first, second), Build(), late, prefix=[Live(KNOWS_OLD, first)], crashes=0, switches=1))


@pytest.mark.parametrize("name", ["moved in the new one", "deleted"])
def test_a_build_of_a_summary_beside_a_worker_that_does_not_know_it_is_caught(name: str) -> None:
    """Negative control: the same of totals."""
    plan = KNOWS_SUMMARY
    first, second = written(*HISTORIES[name])
    programs, prefix = (Build(plan=plan), Live(KNOWS_OLD, second)), [Live(KNOWS_OLD, first)]
    caught(scenario(name, (first, second), *programs, prefix=prefix, crashes=0, switches=1, plan=plan))


def test_a_build_without_its_catch_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what came behind the reader of the feed stays away."""
    first, second = written("A:x", None)

    async def nothing(self: CatchUpReader, behind: Sequence[LedgerFact]) -> MissingFacts:
        return await original(self, ())

    original = CatchUpReader.read
    monkeypatch.setattr(CatchUpReader, "read", nothing)
    around = Build(between=Live(KNOWS_OLD, second))
    caught(scenario("rest", (first, second), around, prefix=[Live(KNOWS_OLD, first)], crashes=0))


def test_a_catch_up_that_invents_versions_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the document as it is now, at an invented version, hides what the feed brings later."""
    first, second = written("A:x", "B:y")

    async def invent(self: CatchUpReader, fact: LedgerFact) -> Change | None:
        found = await original(self, fact)
        return None if found is None else _later(found)

    original = CatchUpReader._find
    monkeypatch.setattr(CatchUpReader, "_find", invent)
    prefix = [Live(KNOWS_OLD, first)]
    programs = (Build(WithoutFeed), Live(KNOWS_BOTH, second))
    caught(scenario("invented", (first, second), *programs, prefix=prefix, crashes=0, switches=1))


class WithoutFeed(Builds):
    """Leaves everything to the catch-up."""

    async def _apply_facts(
        self, target: CatalogGeneration, work_slice: Slice, applier: BuildApplier
    ) -> AsyncIterator[SliceStep]:
        """One step without facts."""
        yield SliceStep(work_slice.position, {}, is_done=True)


def _later(change: Change) -> Change:
    return replace(change, version="9" + change.version[1:])


def serving_problem(store: Store) -> str | None:
    """One generation serves at every moment, and its table is there."""
    rows = store.partition(CATALOG_TABLE, PARTITION)
    found = [as_row((CATALOG_TABLE, PARTITION, key), rows[key]) for key in sorted(rows)]
    snapshot = read_snapshot([row for row in found if row is not None])
    serving = snapshot.serving("by-town", 10**12)
    if serving is None or serving.is_retired:
        return "nothing serves"
    try:
        store.partition_keys(serving.table)
    except TableMissingError:
        return "the table of what serves is gone"
    return None


class Serving(Scenario):
    """What matters is what serves, not what is in it."""

    def problem(self, store: Store) -> str | None:
        """In the end as at every moment."""
        return serving_problem(store)


class Watched(Explorer):
    """Looks at what serves after every call."""

    def _problem(self, moment: Moment) -> str | None:
        return serving_problem(Store(moment.store)) or super()._problem(moment)


@pytest.mark.parametrize(
    "programs",
    [
        (Operator("switch"), Operator("tidy")),
        (Operator("switch"), Operator("rollback"), Operator("tidy")),
        (Operator("switch"), Operator("switch")),
        (Operator("rollback"), Operator("tidy"), Operator("tidy")),
    ],
    ids=lambda programs: "+".join(map(str, programs)),
)
@pytest.mark.parametrize("is_switched", [False, True], ids=["before", "after"])
def test_switches_rollbacks_and_retirements_at_once(programs: tuple[Program, ...], *, is_switched: bool) -> None:
    """In any order: exactly one generation serves, and it has its table."""
    report = Watched(switching(programs, is_switched=is_switched)).run()
    assert report.problem is None, str(report)
    assert report.ends > 0


def switching(programs: tuple[Program, ...], *, is_switched: bool) -> Scenario:
    """Two generations with a fact, before or after a switch, and programs that work on them at once."""
    (first,) = written("A:x")
    prefix: tuple[Program, ...] = (Enter(builds=False), Live(KNOWS_BOTH, first))
    if is_switched:
        prefix = (*prefix, Operator("switch"), Operator("tidy", grace_seconds=10))
    return Serving("switch", KNOWS_BOTH, (first.change,), programs, prefix, crashes=1, faults=1, switches=2)


def test_a_switch_that_does_not_write_the_row_of_its_generation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a rollback chooses the generation while it is retired."""
    monkeypatch.setattr(GenerationLifecycle, "_serve", _blind_serve)
    programs = (Operator("rollback"), Operator("tidy"))
    report = Watched(switching(programs, is_switched=True)).run()
    assert report.problem is not None


async def _blind_serve(
    self: GenerationLifecycle, snapshot: CatalogSnapshot, target: CatalogGeneration
) -> ServingRow | None:
    """Writes the index's row alone."""
    served = snapshot.served[target.index]
    after = replace(served, serving=target.id, before=served.serving, since=0.0)
    return after if await self._catalog.write(after) else None
