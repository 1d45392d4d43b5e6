"""Tables per period beside live writes, crashes, late requests and clocks that differ: nothing is shown that should not
be, nothing is missed, and in the end no table of a period that is over is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shared.entries.keys.index_keys import row_key
from shared.entries.projection.generations import place_of, plan_of
from shared.entries.rows.entry_row import is_tombstone
from shared.errors import TableMissingError
from shared.pipeline.entry_writes import transaction_buffer
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.tables.port import Upsert
from shared.tables.transactions import send_creating_period_table, send_unconditional
from tests.simulation.explore import Explorer
from tests.simulation.programs import NOW_SECONDS, Drop, Worker, batches_of
from tests.simulation.scenario import Scenario
from tests.simulation.truth import tables_in
from tests.worlds.world import TOWNS, Writer, definitions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.changes.change import Change
    from shared.tables.memory.store import Store
    from shared.tables.port import Operation, Tables
    from tests.simulation.steps import Program

TEXT = TOWNS.replace("project: [phone]", "project: [phone], expire: {path: until, after: 1d, tables: day}")
DEFINITIONS = definitions_of(TEXT)
PLAN = plan_of(DEFINITIONS, "people")
# It is the 15th, 8:00. A day before, the 14th was not over.
EARLIER_SECONDS = NOW_SECONDS - 86_400
UNTIL = {"!": "2027-01-13T12:00:00Z", "+": "2027-01-20T12:00:00Z", "?": None}


def history(*specs: str | None) -> tuple[Change, ...]:
    """Versions of one fact: in town A with phone x until the 14th (`Ax!`), the 21st (`Ax+`) or for ever (`Ax?`)."""
    writer = Writer(DEFINITIONS, "people")
    return tuple(writer.change("f", None if spec is None else document(spec)) for spec in specs)


def document(spec: str) -> dict[str, Any]:
    """A fact, in a town until a time."""
    return {"town": spec[0], "name": "n", "phone": spec[1:-1], "until": UNTIL[spec[-1]]}


@dataclass(frozen=True, slots=True)
class InPeriods(Scenario):
    """A scenario with the timer beside it; afterwards it runs until it finds nothing."""

    drop: Drop = Drop(PLAN)  # noqa: RUF009 - a frozen value
    long_after: tuple[Program, ...] = (Drop(PLAN),)

    def start(self) -> tuple[Store, tuple[Program, ...]]:
        """The programs, and the timer."""
        store, programs = Scenario.start(self)
        return store, (*programs, self.drop)

    def problem(self, store: Store) -> str | None:
        """As ever; and after the next run of the timer, with which tombstones of periods that are over go, no table of
        such a period is there, and each entry that the ledger still counts has its row."""
        return Scenario.problem(self, store) or leftover(store)


def leftover(store: Store) -> str | None:
    """Tables of periods that are over, or entries of the ledger without a row."""
    (generation,) = PLAN.generations
    over = [name for name in tables_in(store, generation) if name.endswith("p20270114")]
    if over:
        return f"{over} are left"
    for partition in store.partition_keys(LEDGER_TABLE):
        for key in store.partition(LEDGER_TABLE, partition):
            row = store.get(LEDGER_TABLE, partition, key)
            state = None if row is None else decode(row.entity).states[generation.id]
            for entry in () if state is None else without_expired_periods(state, generation, NOW_SECONDS).current:
                table = place_of(generation, entry.partition).table
                if store.get(table, entry.partition, row_key(entry.entry_key, entry.version)) is None:
                    return f"the ledger lists {entry}, which has no row"
    return None


def explored(
    specs: tuple[str | None, ...], clocks: Sequence[int], drop: Drop | None = None, **bounds: int | None
) -> str | None:
    """The problem that an exploration finds: all versions but the last one per clock are applied before, a day ago."""
    versions = history(*specs)
    applied = len(versions) - len(clocks)
    programs = tuple(
        Worker(PLAN, batches_of(change), reads_first=True, now_seconds=clock)
        for change, clock in zip(versions[applied:], clocks, strict=True)
    )
    prefix = (Worker(PLAN, batches_of(*versions[:applied]), now_seconds=EARLIER_SECONDS),)
    scenario = InPeriods("periods", PLAN, versions, programs, prefix, drop=drop or Drop(PLAN), **bounds)  # type: ignore[arg-type]  # all of them are counts
    return Explorer(scenario).run().problem


HISTORIES = [
    ("Ax!",),
    ("Ax+",),
    ("Ax!", "Ax!"),
    ("Ax!", "Ay!"),
    ("Ax!", "Ax+"),
    ("Ax+", "Ax!"),
    ("Ax!", "Bx+"),
    ("Ax+", "Bx!"),
    ("Ax+", "Bx?"),
    ("Ax?", "Ax!"),
    ("Ax!", None),
    ("Ax+", None),
    ("Ax+", "Ax!", "Ax+"),
    ("Ax!", "Ax+", "Ax!"),
]


@pytest.mark.parametrize("specs", HISTORIES)
def test_a_period_ends_beside_the_next_version(specs: tuple[str | None, ...]) -> None:
    """Its table goes while the next version is applied, with a crash anywhere and a late or lost request."""
    assert explored(specs, [NOW_SECONDS], crashes=1, faults=1) is None


@pytest.mark.parametrize("specs", HISTORIES)
def test_a_period_ends_beside_a_worker_whose_clock_is_behind(specs: tuple[str | None, ...]) -> None:
    """It writes into the period, and may make the table once more; the timer's next run drops it."""
    assert explored(specs, [EARLIER_SECONDS], crashes=1, faults=1) is None


TWO_VERSIONS = [history for history in HISTORIES if len(history) > 1]
TWO_CLOCKS = [(NOW_SECONDS, NOW_SECONDS), (EARLIER_SECONDS, NOW_SECONDS)]


@pytest.mark.parametrize("specs", TWO_VERSIONS)
@pytest.mark.parametrize("clocks", TWO_CLOCKS)
def test_a_period_ends_beside_two_workers(specs: tuple[str | None, ...], clocks: tuple[int, int]) -> None:
    """One of whom may believe that it is still yesterday."""
    assert explored(specs, clocks, crashes=1, switches=3) is None


@pytest.mark.long
@pytest.mark.parametrize("specs", TWO_VERSIONS)
@pytest.mark.parametrize("clocks", TWO_CLOCKS)
def test_a_period_ends_beside_two_workers_and_a_late_request(
    specs: tuple[str | None, ...], clocks: tuple[int, int]
) -> None:
    """Of either, or of an answer that was lost."""
    assert explored(specs, clocks, crashes=1, faults=1, switches=4) is None


def test_a_redelivery_after_the_end_of_a_period_finds_nothing_to_do() -> None:
    """The version was claimed, perhaps written, perhaps not, when its period was not over."""
    versions = history("Ax+", "Ax!")
    prefix = (Worker(PLAN, batches_of(*versions), now_seconds=EARLIER_SECONDS),)
    again = (Worker(PLAN, batches_of(versions[-1]), reads_first=True),)
    for redelivered in (again, again * 2):
        scenario = InPeriods("again", PLAN, versions, redelivered, prefix, crashes=1, faults=1, switches=3)
        report = Explorer(scenario).run()
        assert report.problem is None, report


# ---------------------------------------------------------------------------------------------------- negative controls


def test_dropping_a_period_that_is_not_over_is_caught() -> None:
    """By a timer whose clock is a month ahead: entries are missing."""
    problem = explored(("Ax+", "Ay+"), [NOW_SECONDS], drop=Drop(PLAN, NOW_SECONDS + 30 * 86_400), crashes=0)
    assert problem is not None
    assert "missing" in problem


async def _without_tombstones(tables: Tables, table: str, operations: Sequence[Operation]) -> None:
    """Lets a tombstone go whose table is not there."""
    if all(isinstance(operation, Upsert) and is_tombstone(operation.entity) for operation in operations):
        try:
            await send_unconditional(tables, table, operations)
        except TableMissingError:
            return
    else:
        await send_creating_period_table(tables, table, operations)


def test_a_tombstone_that_is_not_written_for_want_of_its_table_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker before may be about to make the table, and to write the entry that was to be hidden."""
    monkeypatch.setattr(transaction_buffer, "send_creating_period_table", _without_tombstones)
    problem = explored(("Ax+", "Bx?"), [NOW_SECONDS, NOW_SECONDS], crashes=0, faults=1)
    assert problem is not None
    assert "ghosts" in problem
