"""Repairs beside live workers, crashes and late requests, in every interleaving: damage is repaired, none is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.keys.index_keys import row_key
from shared.entries.keys.versions import ticks_clock, version
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.tables.port import Delete, Upsert
from shared.verification.assembly import RepairOptions
from shared.verification.repair import Repairer
from tests.simulation.histories import DEFINITIONS, PLAN, History, document, history, workers
from tests.simulation.programs import Retain, Worker, batches_of
from tests.simulation.repairs import Damage, Put, PutAndApply, Repair, Verify
from tests.simulation.scenario import Scenario
from tests.simulation.test_every_interleaving import holds
from tests.simulation.test_negative_controls import caught
from tests.worlds.world import Writer

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.tables.port import Operation
    from shared.verification.examine import Examined
    from tests.simulation.steps import Program

SOURCE = DEFINITIONS.sources["people"]
(GENERATION,) = PLAN.generations
FACT_KEY = encode_fact_key(("f",), "f")
LEDGER_KEY = (ledger_partition("people", fact_hash(FACT_KEY), PLAN.buckets), FACT_KEY)


def row_of(change: Change, **columns: str) -> Upsert:
    """The row of a change's entry, perhaps with other columns."""
    (entry,) = GENERATION.projector.project(change)
    return Upsert(live_row(entry.partition_key, entry.entry_key, change.version, {**entry.columns, **columns}))


def without(change: Change) -> Delete:
    """The row of a change's entry is taken away."""
    (entry,) = GENERATION.projector.project(change)
    return Delete(entry.partition_key, row_key(entry.entry_key, change.version))


def key_of(change: Change) -> tuple[str, str]:
    """The partition and entry key of a change's entry."""
    (entry,) = GENERATION.projector.project(change)
    return entry.partition_key, entry.entry_key


GHOST, FUTURE = (Writer(DEFINITIONS, "people").change("f", document("G:x"), number) for number in (1, 99))
FIRST = history("A:x")[0]
DAMAGE: dict[str, tuple[str, Operation]] = {
    "missing row": (GENERATION.table, without(FIRST)),
    "stale columns": (GENERATION.table, row_of(FIRST, phone="wrong")),
    "ghost": (GENERATION.table, row_of(GHOST)),
    "ghost from the future": (GENERATION.table, row_of(FUTURE)),
    "hidden by a tombstone": (GENERATION.table, Upsert(tombstone_row(*key_of(FIRST), FUTURE.version))),
    "lost ledger row": (LEDGER_TABLE, Delete(*LEDGER_KEY)),
}
ADDRESSES = (key_of(FIRST), key_of(GHOST))
# Sweeps tombstones that no message names: an outsider's, or those of a change that a repair applied before it ended.
VERIFICATION = Verify(PLAN, SOURCE, RepairOptions(repairs=False, reconciles=False))
# How often the scheduler may leave a program that could go on. Without a limit these take minutes, and are long tests.
SWITCHES = pytest.mark.parametrize("switches", [2, pytest.param(4, marks=pytest.mark.long)])


def scenario(
    name: str, versions: History, *, delivered: History, addresses: tuple[tuple[str, str], ...] = ADDRESSES
) -> Scenario:
    """The first version is applied, then damaged; a repair runs beside workers that deliver others."""
    repair = Repair(PLAN, SOURCE, addresses=addresses)
    prefix: list[Program] = [Worker(PLAN, batches_of(versions[0])), Put(versions[-1])]
    if name in DAMAGE:
        table, operation = DAMAGE[name]
        prefix.append(Damage(table, (operation,)))
    return Scenario(name, PLAN, versions, (repair, *workers(delivered)), tuple(prefix), crashes=1)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_repair_alone_repairs_every_kind_of_damage(name: str) -> None:
    """It may crash, and its requests may be late or lose their answers."""
    damaged = scenario(name, (FIRST,), delivered=())
    holds(replace(damaged, faults=1))


@SWITCHES
@pytest.mark.parametrize("name", DAMAGE)
def test_two_repairs_of_one_fact(name: str, switches: int) -> None:
    """They do the same, and do not mind."""
    damaged = scenario(name, (FIRST,), delivered=())
    holds(replace(damaged, programs=(damaged.programs[0], damaged.programs[0]), switches=switches))


@SWITCHES
@pytest.mark.parametrize("specs", [("A:x", "A:y"), ("A:x", "B:x"), ("A:x", "A:x"), ("A:x", None)])
@pytest.mark.parametrize("name", DAMAGE)
def test_a_repair_beside_a_live_worker(name: str, specs: tuple[str | None, ...], switches: int) -> None:
    """The worker brings the next version of the very fact; one of them may crash."""
    versions = history(*specs)
    deleted = versions[-1].document is None
    damaged = scenario(name, versions, delivered=versions[1:]) if not deleted else _soft_delete(name, versions)
    long_after = (VERIFICATION,) if name == "hidden by a tombstone" else ()
    holds(replace(damaged, switches=switches, long_after=long_after))


def _soft_delete(name: str, versions: History) -> Scenario:
    """The container has a document that says that the fact is deleted."""
    gone = Writer(DEFINITIONS, "people").change("f", {"gone": True}, 2)
    kept = replace(gone, document={"id": "f", "gone": True})
    table, operation = DAMAGE[name]
    prefix = (Worker(PLAN, batches_of(versions[0])), Put(kept), Damage(table, (operation,)))
    programs: tuple[Program, ...] = (Repair(PLAN, SOURCE, addresses=ADDRESSES), *workers((gone,)))
    return Scenario(name, PLAN, (versions[0], gone), programs, prefix, crashes=1)


@SWITCHES
@pytest.mark.parametrize("specs", [("A:x", "A:y"), ("A:x", "B:x"), ("A:x", "B:x", "A:x"), ("A:x", "A:x")])
def test_a_repair_that_was_not_needed_does_no_harm(specs: tuple[str, ...], switches: int) -> None:
    """It sees a worker between claim and rows, and is not resumed when it crashes."""
    versions = history(*specs)
    needless = scenario("needless", versions, delivered=versions[1:])
    careless = Repair(PLAN, SOURCE, addresses=ADDRESSES, is_redelivered=False)
    faults = 1 if len(versions) == 2 else 0
    holds(
        replace(
            needless,
            programs=(careless, *needless.programs[1:]),
            faults=faults,
            switches=min(switches, 5 - len(versions)),
        )
    )


@SWITCHES
@pytest.mark.parametrize("specs", [("A:x", "A:y"), ("A:x", "B:x")])
@pytest.mark.parametrize("name", ["missing row", "ghost", "lost ledger row"])
def test_a_repair_beside_a_fact_that_is_just_being_written(name: str, specs: tuple[str, ...], switches: int) -> None:
    """The container changes while the repair runs, then the worker gets the change."""
    versions = history(*specs)
    update = PutAndApply(Put(versions[1]), Worker(PLAN, batches_of(versions[1]), reads_first=True))
    table, operation = DAMAGE[name]
    prefix = (Worker(PLAN, batches_of(versions[0])), Put(versions[0]), Damage(table, (operation,)))
    programs = (Repair(PLAN, SOURCE, addresses=ADDRESSES), update)
    holds(Scenario(name, PLAN, versions, programs, prefix, crashes=1, switches=switches))


def test_a_repair_beside_the_sweep() -> None:
    """The tombstones that it meets are about to go."""
    versions = history("A:x", "B:x", "A:x")
    prefix = (Worker(PLAN, batches_of(*versions)), Put(versions[2]), Damage(GENERATION.table, (row_of(versions[1]),)))
    addresses = (key_of(versions[0]), key_of(versions[1]))
    repair = Repair(PLAN, SOURCE, addresses=addresses)
    holds(Scenario("sweep", PLAN, versions, (repair,), prefix, crashes=1, sweeps_beside=True, switches=3))


def lifted() -> tuple[History, Change]:
    """A fact, and its newer version under an older clock; the truth is what a repair makes of it."""
    writer = Writer(DEFINITIONS, "people")
    first, newer = writer.change("f", document("A:x"), 5), writer.change("f", document("B:y"), 9)
    old_clock = str(ticks_clock(1_700_000_001, 9))
    dropped = replace(newer, version=old_clock + newer.version[35:])
    truth = replace(newer, version=first.version[:16] + newer.version[16:])
    return (first, truth), dropped


def test_a_change_that_a_clock_made_look_older() -> None:
    """The repair applies it while the feed brings both again."""
    (first, truth), dropped = lifted()
    prefix = (Worker(PLAN, batches_of(first)), Put(dropped))
    programs: tuple[Program, ...] = (Repair(PLAN, SOURCE), *workers((dropped, first)))
    twice: tuple[Program, ...] = (Repair(PLAN, SOURCE), Repair(PLAN, SOURCE))
    for beside in (programs, twice):
        holds(
            Scenario("clock", PLAN, (first, truth), beside, prefix, crashes=1, switches=2, long_after=(VERIFICATION,))
        )


def reconciled(change: Change) -> Change:
    """The delete that a reconcile makes of a fact whose newest version is this."""
    clock = change.version[:35]
    return replace(change, version=version(clock, "00000000", is_delete=True), document=None, source_etag=None)


def test_a_reconcile_beside_redeliveries_of_the_deleted_fact() -> None:
    """Old changes cannot bring it back."""
    versions = history("A:x", "B:x")
    prefix = (Worker(PLAN, batches_of(*versions)), Put(versions[1]), Put(None))
    programs: tuple[Program, ...] = (
        Repair(PLAN, SOURCE, removes_orphans=True),
        *workers((versions[1], versions[0])),
    )
    truth = (*versions, reconciled(versions[1]))
    # The ledger's retention asks for the keys that it lists.
    long_after = (VERIFICATION, Retain(PLAN, 0))
    holds(Scenario("reconcile", PLAN, truth, programs, prefix, crashes=1, switches=2, long_after=long_after))


@pytest.mark.parametrize("spec", ["A:y", "B:x"])
def test_a_reconcile_beside_a_new_insert(spec: str) -> None:
    """The fact comes back while its entries are being removed."""
    versions = history("A:x", spec)
    prefix = (Worker(PLAN, batches_of(versions[0])), Put(versions[0]), Put(None))
    insert = PutAndApply(Put(versions[1]), Worker(PLAN, batches_of(versions[1]), reads_first=True))
    programs = (Repair(PLAN, SOURCE, removes_orphans=True), insert)
    holds(Scenario("reconcile", PLAN, versions, programs, prefix, crashes=1, switches=3))


# ---------------------------------------------------------------------------------------------- negative controls


class InventingRepairer(Repairer):
    """Applies the document that it read as if it were newer than everything."""

    async def _change(self, examined: Examined) -> Change | None:
        change = await super()._change(examined)
        if change is None and examined.document is not None and examined.newest is not None:
            change = self._examiner.change_at(examined.document, str(ticks_clock(1_800_000_000, 1)))
        return change


def test_a_repair_that_invents_versions_is_caught() -> None:
    """The change that was written meanwhile looks older, and is dropped."""
    versions = history("A:x", "A:y")
    update = PutAndApply(Put(versions[1]), Worker(PLAN, batches_of(versions[1]), reads_first=True))
    table, operation = DAMAGE["missing row"]
    prefix = (Worker(PLAN, batches_of(versions[0])), Put(versions[0]), Damage(table, (operation,)))
    repair = Repair(PLAN, SOURCE, addresses=ADDRESSES, repairer=InventingRepairer)
    caught(Scenario("invents", PLAN, versions, (repair, update), prefix, crashes=1, switches=2))


class LaterDeletes(Repairer):
    """A reconcile whose delete is of now."""

    def _removal(self, examined: Examined) -> Change | None:
        change = super()._removal(examined)
        clock = str(ticks_clock(1_800_000_000, 1))
        return None if change is None else replace(change, version=version(clock, "00000000", is_delete=True))


def test_a_reconcile_that_deletes_as_of_now_is_caught() -> None:
    """The fact was inserted again between the look and the claim."""
    versions = history("A:x", "A:y")
    prefix = (Worker(PLAN, batches_of(versions[0])), Put(versions[0]), Put(None))
    insert = PutAndApply(Put(versions[1]), Worker(PLAN, batches_of(versions[1]), reads_first=True))
    repair = Repair(PLAN, SOURCE, removes_orphans=True, repairer=LaterDeletes)
    caught(Scenario("reconcile", PLAN, versions, (repair, insert), prefix, crashes=1, switches=2))
