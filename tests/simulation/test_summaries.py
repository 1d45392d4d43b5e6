"""Summaries under every interleaving of small histories.

Totals are the sums of contributions at every moment, and those of a recount at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shared.entries.summaries import extremes
from tests.simulation.explore import Explorer
from tests.simulation.programs import HandOver, SharedProcess, Worker, batches_of
from tests.simulation.scenario import Scenario
from tests.simulation.summary_histories import (
    PLAN,
    PLAN_EXTREMES,
    PLAN_TOGETHER,
    a_change_that_has_lost,
    a_reader_beside_a_return,
    versions,
    workers,
)

if TYPE_CHECKING:
    from shared.entries.projection.generations import SourcePlan

HISTORIES = {
    "insert": ("f A 0.1",),
    "another value": ("f A 0.1", "f A 0.2"),
    "unchanged": ("f A 0.1", "f A 0.1"),
    "moved": ("f A 0.1", "f B 0.1"),
    "moved and back": ("f A 0.1", "f B 0.1", "f A 0.1"),
    "moved twice": ("f A 0.1", "f B 0.1", "f C 0.1"),
    "deleted": ("f A 0.1", "f"),
    "deleted and inserted again": ("f A 0.1", "f", "f A 0.1"),
    "two facts": ("f A 0.1", "g A 0.2"),
    "two facts, one leaves": ("f A 0.1", "g A 0.2", "f"),
}


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of extremes run empty soon."""
    monkeypatch.setattr(extremes, "KEPT", 1)


def holds(scenario: Scenario) -> None:
    """No interleaving of the scenario shows a wrong total, or ends with one."""
    report = Explorer(scenario).run()
    assert report.problem is None, str(report)
    assert report.ends > 0


@pytest.mark.parametrize("plan", [PLAN, PLAN_TOGETHER], ids=["partitions", "one partition"])
@pytest.mark.parametrize("name", [name for name, specs in HISTORIES.items() if len(specs) <= 2])
def test_two_workers_with_a_crash_and_a_fault(name: str, plan: SourcePlan) -> None:
    """Each delivers a version; one may crash; one request may be late, come twice or lose its answer."""
    changes = versions(*HISTORIES[name])
    holds(Scenario(name, plan, changes, workers(changes, plan), crashes=1, faults=1, switches=4))


@pytest.mark.parametrize("name", [name for name, specs in HISTORIES.items() if len(specs) == 3])
def test_three_workers_with_a_crash(name: str) -> None:
    """And two preemptions."""
    changes = versions(*HISTORIES[name])
    holds(Scenario(name, PLAN, changes, workers(changes), crashes=1, switches=2))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, specs in HISTORIES.items() if len(specs) == 3])
def test_three_workers_with_a_fault(name: str) -> None:
    """And two preemptions."""
    changes = versions(*HISTORIES[name])
    holds(Scenario(name, PLAN, changes, workers(changes), crashes=0, faults=1, switches=2))


@pytest.mark.parametrize("name", ["another value", "moved", "deleted", "two facts"])
def test_a_version_that_comes_twice(name: str) -> None:
    """To a second worker, beside the first."""
    changes = versions(*HISTORIES[name])
    actors = (*workers(changes), *workers(changes[:1]))
    holds(Scenario(name, PLAN, changes, actors, crashes=1, switches=2))


@pytest.mark.parametrize("specs", [("f A 0.1", "f B 0.1"), ("f A 0.1", "f"), ("f A 0.1", "f B 0.1", "f A 0.2")])
def test_a_sweep_beside_an_undelete(specs: tuple[str, ...]) -> None:
    """The fact returns to the group that it left while its row there is swept."""
    changes = (*versions(*specs), versions(*specs, "f A 0.3")[-1])
    prefix = (Worker(PLAN, batches_of(*changes[:-1])),)
    last = workers(changes[-1:])
    holds(Scenario("sweep", PLAN, changes, last, prefix, crashes=1, faults=1, sweeps_beside=True))


@pytest.mark.parametrize("specs", [("f A 0.1", "f B 0.1"), ("f A 0.1", "f"), ("f A 0.1", "f A 0.2")])
def test_a_process_gets_an_old_batch_again(specs: tuple[str, ...]) -> None:
    """After a successor went on, and everything was swept: its caches are old."""
    first, second = versions(*specs)
    holds(Scenario("hand-over", PLAN, (first, second), (HandOver(PLAN, (first,), (second,)),), faults=1, lates=False))


def test_a_reader_beside_a_fact_that_leaves_and_comes_back() -> None:
    """It is counted in the lane that it was in: never twice."""
    holds(a_reader_beside_a_return())


def test_two_invocations_of_one_process() -> None:
    """They share caches and lanes."""
    changes = versions("f A 0.1", "g A 0.2")
    process = SharedProcess(PLAN, batches_of(*changes))
    holds(Scenario("process", PLAN, changes, (process,), crashes=0, faults=1, order="any"))


def test_batches_of_two_facts_in_one_group() -> None:
    """Two workers with the same facts in one transaction each: whoever loses judges again."""
    changes = versions("f A 0.1", "g A 0.2", "f A 0.3", "g B 0.2")
    actors = (Worker(PLAN, (changes[:2],), reads_first=True), Worker(PLAN, (changes[2:],), reads_first=True))
    holds(Scenario("batches", PLAN, changes, actors, crashes=1, switches=3))


def test_the_extreme_leaves_beside_a_change_that_has_lost() -> None:
    """What is not written counts in no list."""
    holds(a_change_that_has_lost())


def test_the_extreme_leaves_while_a_larger_value_arrives() -> None:
    """The list runs empty: contributions are read again, under the ETag that the total had before."""
    changes = versions("f A 3", "g A 1", "h A 2", "f A 0", "g A 5")
    prefix = (Worker(PLAN_EXTREMES, (changes[:3],)),)
    actors = workers(changes[3:], PLAN_EXTREMES)
    holds(Scenario("extremes", PLAN_EXTREMES, changes, actors, prefix, crashes=1, faults=1))
