"""Expiry beside live writes, crashes and late requests, under every interleaving: nothing comes back, nothing stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shared.entries.keys.index_keys import row_key
from shared.entries.projection.generations import plan_of
from shared.entries.rows.columns import EXPIRES
from shared.pipeline.cleanup.expiry import Expirer, ExpiryWalk
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode
from shared.tables.port import Delete
from tests.simulation.explore import Explorer
from tests.simulation.histories import workers
from tests.simulation.programs import (
    NOW_SECONDS,
    Sweep,
    Walk,
    Worker,
    accounts,
    batches_of,
    forget_messages,
    messages_in,
)
from tests.simulation.scenario import Scenario
from tests.simulation.steps import Ended, Run, finish
from tests.worlds.world import TOWNS, KeptMessages, Writer, definitions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import Place, SourcePlan
    from shared.pipeline.cleanup.messages import Expired
    from shared.tables.memory.store import Store
    from tests.simulation.steps import Program

TEXT = TOWNS.replace("project: [phone]", "project: [phone], expire: {path: until, after: 1s}")
DEFINITIONS = definitions_of(TEXT)
PLAN = plan_of(DEFINITIONS, "people")
OVER, LATER = "2020-01-01", "2035-01-01"
ROUNDS_MAX = 6


def history(*specs: str | None) -> tuple[Change, ...]:
    """Versions of one fact: `A` lives in town A for years to come, `A!` lived there, None is deleted."""
    writer = Writer(DEFINITIONS, "people")
    return tuple(writer.change("f", None if spec is None else document(spec)) for spec in specs)


def document(spec: str) -> dict[str, Any]:
    """A fact, in a town until a time that is over (`!`) or not."""
    return {"town": spec[0], "name": "n", "phone": spec[1:2], "until": OVER if spec.endswith("!") else LATER}


@dataclass(frozen=True, slots=True)
class Expiring(Scenario):
    """A scenario after which walks and sweeps go on until nothing is found any more.

    The sweeper beside the programs has the messages of a walk after the prefix: their delay is over, which is why no
    late request of the prefix is left. Late requests of the programs themselves may still come.
    """

    expirer: type[Expirer] = Expirer

    def start(self) -> tuple[Store, tuple[Program, ...]]:
        """The programs, and a sweeper of what a walk after the prefix has found."""
        store, programs = Scenario.start(self)
        succeed(Walk(self.plan), store)
        messages = messages_in(store)
        forget_messages(store)
        return store, (*programs, Sweep(tuple(messages), self.plan, expirer=self.expirer))

    def problem(self, store: Store) -> str | None:
        """As always; and in the end no row and no ledger entry of an expired entry remains."""
        if text := Scenario.problem(self, store):
            return text
        for _ in range(ROUNDS_MAX):
            succeed(Walk(self.plan), store)
            messages = messages_in(store)
            forget_messages(store)
            if not messages:
                return Scenario.problem(self, store) or leftover(self, store)
            succeed(Sweep(tuple(messages), self.plan, expirer=self.expirer), store)
        return "walks find expired rows without end"


def succeed(program: Program, store: Store) -> None:
    """Run a program alone."""
    end: Ended = finish(Run(program), store)
    if end.error is not None:
        raise end.error


def leftover(scenario: Scenario, store: Store) -> str | None:
    """What remains of expired entries: rows, or ledger entries without a row."""
    (generation,) = scenario.plan.generations
    rows = {
        (partition, key)
        for partition in store.partition_keys(generation.table)
        for key in store.partition(generation.table, partition)
        if (row := store.get(generation.table, partition, key)) is not None and EXPIRES in row.entity
    }
    listed = 0
    for partition in store.partition_keys(LEDGER_TABLE):
        for key in store.partition(LEDGER_TABLE, partition):
            row = store.get(LEDGER_TABLE, partition, key)
            parts = {} if row is None else decode(row.entity).states
            listed += sum(len(part.current) for part in parts.values())
    return None if listed == len(rows) else f"the ledger lists {listed} entries, the table has {len(rows)}: {rows}"


HISTORIES = [
    ("A!",),
    ("A!", "A!"),
    ("A", "A!"),
    ("A!", "A"),
    ("A!", "B"),
    ("A!", "B!"),
    ("A", "B!"),
    ("A", "A!", "A"),
    ("A", "A!", "Bx"),
    ("A!", None),
    ("A", "A!", None),
]


@pytest.mark.parametrize("specs", HISTORIES)
def test_expiry_beside_the_next_version(specs: tuple[str | None, ...]) -> None:
    """The entry of the version before is removed while the next one is claimed, in any order, with any fault."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(*versions[:-1])),)
    scenario = Expiring("next", PLAN, versions, workers(versions[-1:], PLAN), prefix, crashes=1, faults=1)
    report = Explorer(scenario).run()
    assert report.problem is None, report


@pytest.mark.parametrize("specs", HISTORIES)
def test_expiry_beside_a_redelivery(specs: tuple[str | None, ...]) -> None:
    """The version that made the entry is delivered again while it is removed: it is not shown again."""
    versions = history(*specs)
    prefix = (Worker(PLAN, batches_of(*versions)),)
    scenario = Expiring("again", PLAN, versions, workers(versions[-1:], PLAN), prefix, crashes=1, faults=1)
    report = Explorer(scenario).run()
    assert report.problem is None, report


@pytest.mark.parametrize("specs", [("A", "A!"), ("A!", "B!")])
def test_expiry_beside_two_workers_and_a_second_sweeper(specs: tuple[str | None, ...]) -> None:
    """A message that is delivered twice, while two workers claim versions."""
    versions = history(*specs, "A!")
    prefix = (Worker(PLAN, batches_of(versions[0])),)
    scenario = Expiring("two", PLAN, versions, workers(versions[1:], PLAN), prefix, crashes=1, switches=3)
    report = Explorer(scenario).run()
    assert report.problem is None, report


# ---------------------------------------------------------------------------------------------- negative controls


class OnlyTheRow(Expirer):
    """Deletes the expired row and leaves what it masks."""

    async def _try(self, expired: Expired) -> bool:
        await self._drop_from_ledger(self._accounts.main, expired)
        place: Place = expired.place
        key = row_key(expired.entry_key, expired.version)
        await self._accounts.tables(place.account).transact(place.table, [Delete(place.partition, key)])
        return True


class WithoutLedger(Expirer):
    """Removes rows and lets the ledger list them for ever."""

    async def _drop_from_ledger(self, ledger: object, expired: Expired) -> None:
        return None


def caught(scenario: Scenario) -> None:
    """Some interleaving ends wrong."""
    report = Explorer(scenario).run()
    assert report.problem is not None
    assert report.trace or report.states


def without_delay(versions: Sequence[Change]) -> Scenario:
    """Expired entries are removed as soon as they are found, while the version before is still being written."""
    programs: tuple[Program, ...] = (*workers(tuple(versions), PLAN), WalkAndSweep(PLAN))
    return Expiring("no delay", PLAN, tuple(versions), programs, crashes=0, faults=1, switches=4)


@dataclass(frozen=True, slots=True)
class WalkAndSweep:
    """A walk whose messages do not wait."""

    plan: SourcePlan

    async def __call__(self) -> None:
        """Find and remove at once."""
        kept = KeptMessages()
        await ExpiryWalk(accounts(), kept, lambda: NOW_SECONDS, 0).walk([self.plan])
        await Sweep(tuple(kept.messages), self.plan)()

    def __str__(self) -> str:
        return "walk and sweep"


def test_removal_without_the_delay_lets_a_late_row_come_back() -> None:
    """The version before, which has not expired, lands after the row that masked it is gone."""
    caught(without_delay(history("A", "A!")))


def test_removal_of_the_row_alone_unmasks_the_one_before_it() -> None:
    """The version before crashed on its way, and its row came late."""
    versions = history("A", "A!")
    scenario = Expiring("row", PLAN, versions, workers(versions, PLAN), crashes=0, faults=1, expirer=OnlyTheRow)
    caught(scenario)


def test_removal_without_the_ledger_leaves_it_full() -> None:
    """The rows are gone, the ledger lists them."""
    versions = history("A!")
    prefix = (Worker(PLAN, batches_of(*versions)),)
    caught(Expiring("ledger", PLAN, versions, (), prefix, expirer=WithoutLedger))
