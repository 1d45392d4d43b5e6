"""Entries over several storage accounts, and their move to other ones, under every interleaving."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.entries.projection.generations import Generation, plan_of
from shared.tables.accounts import Accounts
from tests.simulation.debts import OutageScenario
from tests.simulation.explore import Explorer
from tests.simulation.histories import history, workers
from tests.simulation.programs import Worker, batches_of
from tests.simulation.scenario import Scenario
from tests.worlds.world import TOWNS, definitions_of

if TYPE_CHECKING:
    from shared.tables.port import Tables

PLACED = TOWNS.replace(
    "project: [phone]",
    "project: [phone], shards: 2, placement: {by: range, map: [{to: B, account: ONE}, {from: B, account: TWO}]}",
)
# A request that is lost leaves a debt to its account, which a delivery pays: it looks at every bucket.
ELSEWHERE = replace(plan_of(definitions_of(PLACED), "people"), buckets=1)
HERE = replace(plan_of(definitions_of(TOWNS), "people"), buckets=1)
# As while an index moves: the generation that serves, and the one that is being built in the other accounts.
MOVING = replace(HERE, generations=HERE.generations + ELSEWHERE.generations)

MOVES = [("A:x", "B:x"), ("A:x", "A:y"), ("A:x", "B:x", "A:x"), ("A:x", None)]


def holds(scenario: Scenario) -> None:
    """No interleaving ends wrong."""
    report = Explorer(scenario).run()
    assert report.problem is None, report


@pytest.mark.parametrize("specs", MOVES)
def test_a_fact_moves_between_accounts(specs: tuple[str | None, ...]) -> None:
    """No transaction reaches two accounts, and none is needed."""
    versions = history(*specs)
    prefix = (Worker(ELSEWHERE, batches_of(*versions[:-2])),)
    programs = workers(versions[-2:], ELSEWHERE)
    holds(OutageScenario("accounts", ELSEWHERE, versions, programs, prefix, crashes=1, faults=1, sweeps_beside=True))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", "A:y"), ("A:x", None)])
def test_an_index_moves_to_other_accounts_beside_live_writes(specs: tuple[str | None, ...]) -> None:
    """The build brings the old version to the new accounts while the feed brings the newest to both generations."""
    versions = history(*specs)
    prefix = (Worker(HERE, batches_of(versions[0])),)
    build = Worker(replace(MOVING, generations=ELSEWHERE.generations), batches_of(versions[0]), reads_first=True)
    feed = Worker(MOVING, batches_of(versions[1]), reads_first=True)
    holds(OutageScenario("move", MOVING, versions, (build, feed), prefix, crashes=1, faults=1))


def test_a_worker_with_the_old_map_writes_to_the_old_accounts_only() -> None:
    """It carries the state of the new generation over; a worker that knows both completes it."""
    versions = history("A:x", "B:x")
    old = Worker(HERE, batches_of(versions[0]), reads_first=True)
    new = Worker(MOVING, batches_of(versions[1]), reads_first=True)
    holds(OutageScenario("old map", MOVING, versions, (old, new), crashes=1, faults=1))


def test_two_maps_for_one_generation_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: were the map not part of the generation, a worker could write where no reader looks."""
    versions = history("A:x", "A:y")
    tables = Accounts.tables

    def swapped(self: Accounts, name: str) -> Tables:
        return tables(self, {"ONE": "TWO"}.get(name, name))

    scenario = Scenario("two maps", ELSEWHERE, versions, workers(versions, ELSEWHERE), crashes=0)
    assert Explorer(scenario).run().problem is None
    monkeypatch.setattr(Accounts, "tables", swapped)
    assert Explorer(scenario).run().problem is not None


def test_generations_differ_by_their_map() -> None:
    """So a changed map is always another generation, with another table."""
    other = definitions_of(PLACED.replace("to: B", "to: C").replace("from: B", "from: C"))
    changed = plan_of(other, "people").generations[0]
    assert isinstance(changed, Generation)
    assert changed.id != ELSEWHERE.generations[0].id
