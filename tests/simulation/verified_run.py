"""One long simulation in which indexes are verified and repaired all the time; afterwards damaged, found and repaired.

The container of the facts is always at least as far as the feed that was delivered; how much further is left to chance.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.keys.index_keys import row_key, split_row_key
from shared.entries.keys.periods import UNDATED
from shared.entries.keys.versions import ticks_clock, version
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import tombstone_row
from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.verification.assembly import RepairOptions
from tests.simulation.programs import stored_name
from tests.simulation.random_history import DEFINITIONS, PLAN
from tests.simulation.random_run import Process, Simulation
from tests.simulation.repairs import Verify
from tests.simulation.steps import Ended, Run, ViolationError
from tests.simulation.truth import expected, shown, tables_in
from tests.worlds.kept_facts import FACT_TABLE, kept_key, stored_change

if TYPE_CHECKING:
    from random import Random

    from shared.entries.projection.generations import Generation
    from shared.tables.port import Entity

SOURCE = DEFINITIONS.sources[PLAN.source]
REPAIR = RepairOptions(repairs=True, reconciles=True)
# What is planted, and the kinds of differences that it may be told as.
KINDS = {
    "missing row": {"missing"},
    "ghost": {"ghost"},
    "ghost from the future": {"ghost"},
    "stale columns": {"stale"},
    "hidden row": {"missing"},
    "masked garbage": set(),
    "forgotten tombstone": set(),
    "lost ledger row": {"unapplied", "ghost"},
}


class VerifiedSimulation(Simulation):
    """The state of one run."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.store.create(FACT_TABLE)
        self.written = 0

    def run(self) -> None:
        """As always, beside verifications; then a verification finds nothing; then damage is found and repaired."""
        super().run()
        self._write_facts(len(self.feed))
        self._expect(RepairOptions(), {})
        for _ in range(3):
            self._damage_and_repair()

    def _step(self) -> None:
        if self.random.random() < 0.02:
            self._write_facts(min(len(self.feed), self.written + self.random.randint(1, 3)))
        if self.random.random() < 0.01 and len(self.actors) < 5:
            options = self.random.choice([RepairOptions(), RepairOptions(repairs=True), REPAIR])
            self._start(Run(Verify(PLAN, SOURCE, options)), "verification")
        super()._step()

    def _start_batch(self, process: Process) -> None:
        super()._start_batch(process)
        self._write_facts(process.batch_end)

    def _write_facts(self, until: int) -> None:
        """The application has written so many versions."""
        for change in self.feed[self.written : until]:
            key = (FACT_TABLE, PLAN.source, kept_key(change.id))
            self.store.put(key, None if change.document is None else stored_change(change))
        self.written = max(self.written, until)

    # ------------------------------------------------------------------------------------------ damage

    def _damage_and_repair(self) -> None:
        """One damage at a time: a verification finds exactly it, a repair fixes it, the sweep leaves nothing."""
        name = self.random.choice(list(KINDS))
        index = self._damage(name)
        if index is None:
            return
        self.trace.append(f"damage: {name} of {index}")
        found = self._verify(RepairOptions())
        if set(found.pop(index)) != KINDS[name] or (any(found.values()) and name != "lost ledger row"):
            raise ViolationError(f"{name} of {index} was told as {found}")
        self._verify(REPAIR)
        self._settle()
        self._check(f"after repairing {name}")
        self._expect(RepairOptions(), {})
        if leftovers := self._leftovers():
            raise ViolationError(f"after repairing {name} there are leftovers: {leftovers}")

    def _verify(self, options: RepairOptions) -> dict[str, dict[str, int]]:
        run = Run(Verify(PLAN, SOURCE, options))
        self._finish(run, "verification")
        assert isinstance(run.state, Ended)
        found: dict[str, dict[str, int]] = run.state.result
        return found

    def _expect(self, options: RepairOptions, wanted: dict[str, int]) -> None:
        found = self._verify(options)
        if any(differences != wanted for differences in found.values()):
            raise ViolationError(f"a verification of right indexes found {found}")

    def _damage(self, name: str) -> str | None:
        """Damage one index; its name, or None when it has nothing that can be damaged so."""
        generation = self.random.choice(PLAN.generations[:2])
        entries = sorted(shown(generation, self.store), key=lambda entry: entry[:2])
        if not entries:
            return None
        partition, entry_key, columns = self.random.choice(entries)
        row = {"PartitionKey": partition, **dict(columns)}
        row_version = self._newest_at(generation, partition, entry_key)
        self._apply_damage(name, generation, row, entry_key, row_version)
        return generation.index.name

    def _apply_damage(self, name: str, generation: Generation, row: Entity, entry_key: str, row_version: str) -> None:
        partition = str(row["PartitionKey"])
        if name == "missing row":
            self._put(generation, partition, row_key(entry_key, row_version), None)
        elif name == "stale columns":
            self._put(generation, partition, row_key(entry_key, row_version), {**row, "phone": "damaged"})
        elif name.startswith("ghost"):
            other = version_of(99 if "future" in name else 0)
            self._put(generation, _nowhere(generation), row_key(entry_key, other), row)
        elif name == "hidden row":
            hiding = tombstone_row(partition, entry_key, version_of(99))
            self._put(generation, partition, row_key(entry_key, version_of(99)), hiding)
        elif name == "masked garbage":
            self._put(generation, partition, row_key(entry_key, version_of(0)), row)
        elif name == "forgotten tombstone":
            self._put(
                generation,
                _nowhere(generation),
                row_key(entry_key, version_of(0)),
                tombstone_row("", entry_key, version_of(0)),
            )
        else:
            self._lose_ledger_row(row)

    def _lose_ledger_row(self, row: Entity) -> None:
        fact = json.loads(str(row["_fact"]))["id"]
        key = encode_fact_key((fact,), fact)
        self.store.put((LEDGER_TABLE, ledger_partition(PLAN.source, fact_hash(key), PLAN.buckets), key), None)

    def _put(self, generation: Generation, partition: str, row: str, entity: dict[str, Any] | None) -> None:
        whole = None if entity is None else {**entity, "PartitionKey": partition, "RowKey": row}
        self.store.put((_table(generation, partition), partition, row), whole)

    def _newest_at(self, generation: Generation, partition: str, entry_key: str) -> str:
        rows = self.store.partition(_table(generation, partition), partition)
        versions = [split_row_key(key) for key, stored in rows.items() if stored.body is not None]
        return max(row_version for owner, row_version in versions if owner == entry_key)

    def _leftovers(self) -> int:
        """Rows beyond those that are shown, in the indexes whose entries do not expire."""
        return sum(
            len(self._rows(generation)) - len(expected(generation, self.feed)) for generation in PLAN.generations[:2]
        )

    def _rows(self, generation: Generation) -> list[str]:
        return [
            key
            for table in tables_in(self.store, generation)
            for partition in self.store.partition_keys(table)
            for key, stored in self.store.partition(table, partition).items()
            if stored.body is not None
        ]


def _table(generation: Generation, partition: str) -> str:
    """The table that holds a partition, as it is called in the one store of all accounts."""
    place = place_of(generation, partition)
    return stored_name(place.account, place.table)


def _nowhere(generation: Generation) -> str:
    """A partition that no fact is in."""
    partition = "000 Ghosts !" if generation.index.shards > 1 else "Ghosts !"
    return partition if generation.periods is None else f"{UNDATED} {partition}"


def version_of(number: int) -> str:
    """A version that no change has."""
    return version(str(ticks_clock(1_700_000_000 + number, number)), "0badc0de", is_delete=False)
