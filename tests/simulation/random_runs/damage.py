"""Damage to the index tables of a run that has come to rest: a verification finds it, and a repair leaves no trace."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.keys.index_keys import row_key, split_row_key
from shared.entries.keys.versions import ticks_clock, version
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import tombstone_row
from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.verification.assembly import RepairOptions
from tests.simulation.programs import stored_name
from tests.simulation.random_runs.coverage import Event
from tests.simulation.random_runs.damaged_summaries import KINDS as SUMMARY_KINDS
from tests.simulation.random_runs.damaged_summaries import damage_summary, leftovers_of_summary
from tests.simulation.steps import ViolationError
from tests.simulation.truth import expected, shown, tables_in

if TYPE_CHECKING:
    from shared.entries.projection.generations import Generation
    from shared.tables.port import Entity
    from tests.simulation.random_runs.simulation import Simulation

_REPAIR: Final = RepairOptions(repairs=True, reconciles=True)
# What is planted, and the kinds of differences that a verification finds.
_KINDS: Final = {
    "missing row": {"missing"},
    "ghost": {"ghost"},
    "ghost from the future": {"ghost"},
    "stale columns": {"stale"},
    "hidden row": {"missing"},
    "masked garbage": set(),
    "forgotten tombstone": set(),
    "lost ledger row": {"unapplied", "ghost"},
}


class Damage:
    """Damages indexes whose entries do not expire, one after the other, and has them repaired."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._store = simulation.store
        self._plan = simulation.code.plan
        self._generations = [found for found in self._plan.generations if found.index.expire is None]

    def plant_and_repair(self) -> None:
        """A verification finds exactly this damage, a repair fixes it, and the sweep leaves nothing."""
        random, simulation = self._simulation.random, self._simulation
        if not self._generations:
            return
        generation = random.choice(self._generations)
        kinds = _KINDS if generation.layout is None else SUMMARY_KINDS
        name = random.choice(list(kinds))
        if not self._plant(name, generation):
            return
        simulation.coverage[Event.DAMAGE] += 1
        simulation.coverage[Event.DAMAGED_SUMMARY] += generation.layout is not None
        simulation.scheduler.note(f"damage: {name} of {generation.index.name}")
        everything = self._verify(RepairOptions())
        here = set(everything.pop(generation.id))
        is_found = here == kinds[name] if generation.layout is None else here >= kinds[name]
        if not is_found or (any(everything.values()) and name != "lost ledger row"):
            raise ViolationError(f"{name} of {generation.index.name} was found as {here}, elsewhere {everything}")
        self._verify(_REPAIR)
        simulation.settle()
        simulation.checks.all(f"after repairing {name}")
        if any((found := self._verify(RepairOptions())).values()):
            raise ViolationError(f"after repairing {name} a verification found {found}")
        if leftovers := self._leftovers():
            raise ViolationError(f"after repairing {name} there are leftovers: {leftovers}")

    def _verify(self, options: RepairOptions) -> dict[str, dict[str, int]]:
        verify = partial(self._simulation.programs().verify, options)
        found: dict[str, dict[str, int]] = self._simulation.scheduler.finish(verify, "verification")
        return found

    def _plant(self, name: str, generation: Generation) -> bool:
        """Damage an index; whether it had anything that can be damaged so."""
        entries = sorted(shown(generation, self._store), key=lambda entry: entry[:2])
        if not entries:
            return False
        partition, entry_key, columns = self._simulation.random.choice(entries)
        row = {"PartitionKey": partition, **dict(columns)}
        if name == "lost ledger row":
            self._lose_ledger_row(row)
        elif generation.layout is not None:
            damage_summary(name, self._store, _table(generation, partition), partition, entry_key)
        else:
            self._change(name, generation, row, entry_key, self._newest_at(generation, partition, entry_key))
        return True

    def _change(self, name: str, generation: Generation, row: Entity, entry_key: str, row_version: str) -> None:
        partition = str(row["PartitionKey"])
        oldest, newest = _version(0), _version(9999)
        if name == "missing row":
            self._put(generation, partition, row_key(entry_key, row_version), None)
        elif name == "stale columns":
            self._put(generation, partition, row_key(entry_key, row_version), {**row, "phone": "damaged"})
        elif name.startswith("ghost"):
            other = newest if "future" in name else oldest
            self._put(generation, _nowhere(generation), row_key(entry_key, other), row)
        elif name == "hidden row":
            self._put(generation, partition, row_key(entry_key, newest), tombstone_row(partition, entry_key, newest))
        elif name == "masked garbage":
            self._put(generation, partition, row_key(entry_key, oldest), row)
        else:
            tombstone = tombstone_row("", entry_key, oldest)
            self._put(generation, _nowhere(generation), row_key(entry_key, oldest), tombstone)

    def _lose_ledger_row(self, row: Entity) -> None:
        fact = json.loads(str(row["_fact"]))["id"]
        key = encode_fact_key((fact,), fact)
        partition = ledger_partition(self._plan.source, fact_hash(key), self._plan.buckets)
        self._store.put((LEDGER_TABLE, partition, key), None)

    def _put(self, generation: Generation, partition: str, row: str, entity: dict[str, Any] | None) -> None:
        whole = None if entity is None else {**entity, "PartitionKey": partition, "RowKey": row}
        self._store.put((_table(generation, partition), partition, row), whole)

    def _newest_at(self, generation: Generation, partition: str, entry_key: str) -> str:
        rows = self._store.partition(_table(generation, partition), partition)
        versions = [split_row_key(key) for key, stored in rows.items() if stored.body is not None]
        return max(row_version for owner, row_version in versions if owner == entry_key)

    def _leftovers(self) -> int:
        """Rows beyond those that are shown."""
        newest = self._simulation.feed.newest()
        return sum(
            self._count_rows(generation) - len(expected(generation, newest))
            if generation.layout is None
            else leftovers_of_summary(generation, self._store)
            for generation in self._generations
        )

    def _count_rows(self, generation: Generation) -> int:
        return sum(
            stored.body is not None
            for table in tables_in(self._store, generation)
            for partition in self._store.partition_keys(table)
            for stored in self._store.partition(table, partition).values()
        )


def _table(generation: Generation, partition: str) -> str:
    """The table that holds a partition, as it is called in the one store of all accounts."""
    place = place_of(generation, partition)
    return stored_name(place.account, place.table)


def _nowhere(generation: Generation) -> str:
    """A partition that no fact is in."""
    return "000 Ghosts !" if generation.index.shards > 1 else "Ghosts !"


def _version(number: int) -> str:
    """A version that no change has."""
    return version(str(ticks_clock(1_700_000_000 + number, number)), "0badc0de", is_delete=False)
