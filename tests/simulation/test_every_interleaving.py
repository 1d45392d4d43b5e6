"""Small histories under every interleaving of workers, crashes, late and lost requests: every index comes out right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.simulation.explore import Explorer
from tests.simulation.histories import (
    BOTH,
    DEFINITIONS,
    FIRST_OF_BOTH,
    HISTORIES,
    MANY,
    PLAN,
    POISON,
    SECOND_OF_BOTH,
    History,
    deliveries,
    history,
    merging_beside_updates,
    reading_beside_updates,
    refusing,
    workers,
)
from tests.simulation.programs import HandOver, Replay, SharedProcess, Worker, batches_of, one_batch
from tests.simulation.scenario import Order, Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import SourcePlan

# Removes the removed entries of an unfinished version early.
REMOVING_EARLY = replace(PLAN, removed_max=0)
DELIVERIES = [(name, delivered) for name, specs in HISTORIES.items() for delivered in deliveries(history(*specs))]
ONE_OR_TWO = [(name, delivered) for name, delivered in DELIVERIES if len(delivered) <= 2]
THREE = [(name, delivered) for name, delivered in DELIVERIES if len(delivered) == 3]


def holds(scenario: Scenario) -> None:
    """No interleaving of the scenario ends wrong."""
    report = Explorer(scenario).run()
    assert report.problem is None, str(report)
    assert report.ends > 0


def ids(cases: Sequence[tuple[str, History]]) -> list[str]:
    """Names of cases: the history and which versions are delivered."""
    return [f"{name} {'+'.join(change.version[33:35] for change in changes)}" for name, changes in cases]


@pytest.mark.parametrize("reads_first", [True, False], ids=["read first", "insert first"])
@pytest.mark.parametrize(("name", "delivered"), ONE_OR_TWO, ids=ids(ONE_OR_TWO))
def test_two_workers_on_a_new_fact(name: str, delivered: History, *, reads_first: bool) -> None:
    """Each delivers a version of it, both may crash, one request may be late or lose its answer."""
    actors = workers(delivered, reads_first=reads_first)
    holds(Scenario(name, PLAN, delivered, actors, crashes=2, faults=1))


@pytest.mark.parametrize(("name", "delivered"), THREE, ids=ids(THREE))
def test_three_workers_with_two_preemptions(name: str, delivered: History) -> None:
    """Each delivers a version of one fact; one may crash, one request may be late or lose its answer."""
    scenario = Scenario(name, PLAN, delivered, workers(delivered), crashes=0, switches=2)
    holds(replace(scenario, crashes=1))
    holds(replace(scenario, faults=1))


@pytest.mark.long
@pytest.mark.parametrize("plan", [PLAN, REMOVING_EARLY], ids=["carrying", "removing early"])
@pytest.mark.parametrize(("name", "delivered"), THREE, ids=ids(THREE))
def test_three_workers_with_a_crash_and_a_fault(name: str, delivered: History, plan: SourcePlan) -> None:
    """As above, both in one run."""
    holds(Scenario(name, plan, delivered, workers(delivered, plan), crashes=1, faults=1, switches=2))


@pytest.mark.parametrize("name", ["same key", "moved", "deleted", "unchanged"])
def test_three_workers_with_a_version_twice(name: str) -> None:
    """The same version reaches two workers beside another version."""
    first, last = history(*HISTORIES[name])
    for delivered in ((first, first, last), (first, last, last)):
        holds(Scenario(name, PLAN, delivered, workers(delivered), crashes=1, switches=2))


@pytest.mark.parametrize(
    "specs", [("A:x", "B:x", "C:x", "D:x"), ("A:x", "B:x", "A:x", "A:x"), ("A:x", "B:x", None, "B:x")]
)
def test_four_versions_with_an_early_removal(specs: tuple[str | None, ...]) -> None:
    """The removed entries of the second version are removed early while others work on the third and fourth."""
    versions = history(*specs)
    prefix = (Worker(REMOVING_EARLY, batches_of(*versions[:2])),)
    scenario = Scenario(
        "early removal", REMOVING_EARLY, versions, workers(versions[2:], REMOVING_EARLY), prefix, faults=1
    )
    holds(scenario)
    three = workers(versions[1:], REMOVING_EARLY)
    holds(replace(scenario, programs=three, prefix=(), faults=0, switches=2))


@pytest.mark.parametrize("specs", [("A:x", "A:y"), ("A:x", "B:x"), ("A:x", "B:x", "A:x"), ("A:x", "A:x", "B:y")])
def test_a_fact_that_stays_is_visible_at_every_moment(specs: tuple[str, ...]) -> None:
    """A reader may see it twice while it moves, but never misses it."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    later = workers(versions[1:] if len(versions) > 2 else (versions[1], versions[1]))
    scenario = Scenario("visible", PLAN, versions, later, prefix, crashes=1, faults=1, always_shown=True)
    holds(replace(scenario, sweeps_beside=False))


@pytest.mark.parametrize("moment", ["before", "beside"])
@pytest.mark.parametrize(
    "specs", [("A:x", None, "A:x"), ("A:x", "B:x", "A:x"), ("A:x", "B:x", "A:y"), ("A:x", None, "B:x")]
)
def test_a_key_that_comes_back_around_the_sweep(specs: tuple[str | None, ...], moment: str) -> None:
    """The sweep of the old tombstone takes nothing that belongs to the new entry."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(*versions[:2])),)
    scenario = Scenario("undelete", PLAN, versions, workers(versions[1:]), prefix, crashes=1, faults=1)
    holds(replace(scenario, sweeps_before=moment == "before", sweeps_beside=moment == "beside"))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", None), ("A:x", "B:x", "A:x"), ("A:x", "B:x", "C:x")])
def test_a_sweep_before_the_batch_comes_again(specs: tuple[str | None, ...]) -> None:
    """Its worker ended after it had announced its tombstones, perhaps before it wrote them: the ledger has the keys."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    scenario = Scenario("between", PLAN, versions, workers(versions[1:]), prefix, crashes=2, switches=1, order="any")
    holds(replace(scenario, sweeps_between=True))


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize(
    "specs",
    [(("A", "B"), ("B", "C")), (("A", "B"), ("A",), ("A", "B")), ((), ("A", "B"), ("C",)), (("A", "B"), ("B", "A"))],
)
def test_facts_with_several_entries_gain_and_lose_some(specs: tuple[tuple[str, ...], ...], order: Order) -> None:
    """Each entry of a fact goes its own way."""
    versions = history(*specs)
    for delivered in (versions[-2:], (versions[-1], versions[-1])):
        prefix = (Worker(MANY, batches_of(*versions[:-1])),) if delivered[0] is versions[-1] else ()
        scenario = Scenario("several", MANY, versions, workers(delivered, MANY), prefix, crashes=1, order=order)
        holds(scenario)


@pytest.mark.parametrize("specs", [(("A",), ("C", "D")), (("A", "B"), ("C",))])
def test_parallel_calls_of_one_worker_in_any_order(specs: tuple[tuple[str, ...], ...]) -> None:
    """Two entries in different partitions are written at the same time; a crash may come between them either way."""
    versions = history(*specs)
    prefix = (Worker(MANY, batches_of(versions[0])),)
    holds(Scenario("any order", MANY, versions, workers(versions[1:], MANY), prefix, faults=1, order="any"))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", "A:y"), ("A:x", None), ("A:x", "B:x", "A:x")])
def test_a_worker_that_does_not_know_the_second_generation(specs: tuple[str | None, ...]) -> None:
    """It carries the state of the other over; a worker that knows both completes it."""
    versions = history(*specs)
    old = Worker(FIRST_OF_BOTH, batches_of(versions[-2]), reads_first=True)
    new = Worker(BOTH, batches_of(versions[-1]), reads_first=True)
    prefix = (Worker(BOTH, batches_of(*versions[:-2])),)
    holds(Scenario("two generations", BOTH, versions, (old, new), prefix, crashes=1))
    outdated = Worker(FIRST_OF_BOTH, batches_of(versions[-1]), reads_first=True)
    holds(Scenario("two generations", BOTH, versions, (outdated, new), prefix, crashes=1))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", "A:y"), ("A:x", None)])
def test_a_build_beside_the_feed(specs: tuple[str | None, ...]) -> None:
    """The build brings old versions to the new generation while the feed brings the newest to both."""
    versions = history(*specs)
    prefix = (Worker(FIRST_OF_BOTH, batches_of(versions[0])),)
    build = Worker(SECOND_OF_BOTH, batches_of(versions[0]), reads_first=True)
    feed = Worker(BOTH, batches_of(versions[1]), reads_first=True)
    holds(Scenario("build", BOTH, versions, (build, feed), prefix, crashes=1, faults=1))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", "A:y"), ("A:x", "B:x", "A:x"), ("A:x", "A:x")])
def test_a_cached_redelivery_after_another_worker_moved_on(specs: tuple[str, ...]) -> None:
    """The first worker gets its batch again, with what it remembers, when the ledger has long moved on."""
    versions = history(*specs)
    again = Worker(PLAN, batches_of(versions[-2], versions[-2]))
    other = Worker(PLAN, batches_of(versions[-1]), reads_first=True)
    prefix = (Worker(PLAN, batches_of(*versions[:-2])),)
    holds(Scenario("cached", PLAN, versions, (again, other), prefix, crashes=1, faults=1))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", "A:y"), ("A:x", None)])
def test_a_cached_redelivery_after_the_sweep(specs: tuple[str | None, ...]) -> None:
    """The tombstones that would mask an old row are gone, so it must not be written again."""
    first, second = history(*specs)
    holds(Scenario("swept", PLAN, (first, second), (HandOver(PLAN, (first,), (second,)),), faults=2, lates=False))


@pytest.mark.parametrize("specs", [("A:x", "B:x"), ("A:x", "A:x"), ("A:x", "B:x", "A:x")])
def test_two_invocations_in_one_process_share_a_cache(specs: tuple[str, ...]) -> None:
    """What one finished says nothing about what the other claimed."""
    versions = history(*specs)
    both = SharedProcess(PLAN, batches_of(*versions[-2:]))
    prefix = (Worker(PLAN, batches_of(*versions[:-2])),)
    holds(Scenario("shared", PLAN, versions, (both,), prefix, crashes=1, order="any"))


@pytest.mark.parametrize("specs", [("A:x", "A:y"), ("A:x", "B:x")])
def test_a_failed_part_that_is_claimed_again_at_its_version(specs: tuple[str, ...]) -> None:
    """The replay's rows stand where tombstones of the same version were, and no sweep takes them."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(versions[0])), Worker(refusing(PLAN), batches_of(versions[1])))
    replay = workers((versions[1],))
    holds(Scenario("replay", PLAN, versions, replay, prefix, crashes=1, faults=1, sweeps_beside=True))
    holds(Scenario("replay", PLAN, versions, (*replay, *replay), prefix, crashes=1))


@pytest.mark.parametrize(
    "specs",
    [
        (POISON, "A:x"),
        ("A:x", POISON, "A:y"),
        (POISON, None),
        (POISON, POISON),
        ("A:x", POISON),
    ],
)
def test_a_worker_with_poison_that_is_overtaken(specs: tuple[str | None, ...]) -> None:
    """Its dead letter may come after the newer version, and its batch again: a dead letter stays only if it is due."""
    versions = history(*specs)
    overtaken, newest = workers(versions[-2:])
    prefix = workers(versions[:-2])
    holds(
        Scenario(
            "poison", PLAN, versions, (overtaken, newest), prefix, crashes=1, lates=False, dead_letters_are_exact=True
        )
    )


def test_a_batch_that_comes_again_after_its_dead_letter_was_overtaken() -> None:
    """The old version is coalesced away then; another worker has finished the newest, and one more after it."""
    versions = history(POISON, "A:x", "A:y")
    overtaken = Worker(PLAN, batches_of(versions[0], versions[2]), reads_first=True)
    others = Worker(PLAN, batches_of(versions[1], versions[2]), reads_first=True)
    holds(Scenario("poison", PLAN, versions, (overtaken, others), crashes=1, lates=False, dead_letters_are_exact=True))


REPLAY = Replay(PLAN, DEFINITIONS)


@pytest.mark.parametrize("specs", [("A:x", "A:y"), ("A:x", "B:x")])
def test_a_replay_beside_the_worker_that_failed(specs: tuple[str, ...]) -> None:
    """Its tombstones may come late, its batch again, its dead letter after the replay: in the end the entry is
    there."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    failing = Worker(refusing(PLAN), batches_of(versions[1]), reads_first=True)
    for before in (prefix, (*prefix, failing)):
        holds(Scenario("replay", PLAN, versions, (failing, REPLAY), before, crashes=1, faults=1, finally_=(REPLAY,)))


@pytest.mark.parametrize("last", ["A:z", "B:x", None])
def test_a_replay_beside_a_newer_version(last: str | None) -> None:
    """In any order of claims: the newest version is shown, and a deleted fact stays deleted."""
    versions = history("A:x", "A:y", last)
    prefix = (Worker(PLAN, batches_of(versions[0])), Worker(refusing(PLAN), batches_of(versions[1])))
    newer = Worker(PLAN, batches_of(versions[2]), reads_first=True)
    holds(Scenario("replay", PLAN, versions, (REPLAY, newer), prefix, crashes=1, faults=1, finally_=(REPLAY,)))


def test_two_replays_beside_the_sweep() -> None:
    """Operators are impatient."""
    versions = history("A:x", "A:y")
    prefix = (Worker(PLAN, batches_of(versions[0])), Worker(refusing(PLAN), batches_of(versions[1])))
    holds(
        Scenario("replay", PLAN, versions, (REPLAY, REPLAY), prefix, crashes=1, sweeps_beside=True, finally_=(REPLAY,))
    )


def test_a_batch_of_several_facts_beside_single_deliveries() -> None:
    """Claims and writes that share transactions with other facts."""
    first, second = history("A:x", "B:x")
    other = replace(first, fact_key="g !g !", fact_hash=first.fact_hash, columns={"_id": "g", "_pk": '["g"]'})
    batch = Worker(PLAN, one_batch((first, other)))
    single = Worker(PLAN, batches_of(second))
    holds(Scenario("batch", PLAN, (first, second, other), (batch, single), crashes=1, faults=1))


def test_a_reader_beside_updates_in_place_misses_nothing() -> None:
    """Rows move to smaller keys while it reads, and pages are short or empty."""
    changes, programs, prefix = reading_beside_updates(follows_tokens=False)
    holds(Scenario("reader", PLAN, changes, programs, prefix, crashes=0, faults=1))


def test_a_reader_of_several_partitions_beside_updates_in_place_misses_nothing() -> None:
    """It merges them page by page, with short and empty pages; promise 5 holds for `PART.in`, too."""
    changes, programs, prefix = merging_beside_updates()
    holds(Scenario("merged reader", PLAN, changes, programs, prefix, crashes=0, faults=1))
