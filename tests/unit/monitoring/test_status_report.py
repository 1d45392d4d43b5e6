"""The status adds up what is stored and what only this instance knows, and keeps the last of it through an outage."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import pytest

from cli.commands.status import write_status
from shared.catalog.catalog import Catalog
from shared.catalog.owed_accounts import OwedAccount
from shared.catalog.rows import write_source
from shared.errors import StorageUnavailableError
from shared.monitoring.count_history import CountHistory
from shared.monitoring.counter_flush import FlushedCounters
from shared.monitoring.counter_rows import InstanceRow
from shared.monitoring.counters import Measure
from shared.monitoring.lag import LagMeter
from shared.monitoring.lag_history import LagHistory
from shared.monitoring.prices import prices_date, read_prices
from shared.monitoring.status import StatusDependencies, StatusReader
from shared.monitoring.status_report import StatusReport
from shared.pipeline.outcome import BatchOutcome
from shared.tables.breaker import Breaker
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.retry import Timing
from shared.tasks.rows import Slice, Task, TaskRows
from tests.worlds.world import TOWNS, definitions_of

if TYPE_CHECKING:
    from shared.monitoring.status_json import SourceStatusJson
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")

NOW = 1_800_000_000.0


class Storage:
    """Storage that can be down."""

    def __init__(self) -> None:
        self.is_down = False
        self.slow_tables: frozenset[str] = frozenset()

    async def carry(self, call: Call[T], store: Store) -> T:
        if self.is_down:
            for _ in range(9 * (str(getattr(call, "table", "")) in self.slow_tables)):
                await asyncio.sleep(0)
            raise StorageUnavailableError("The Table service is down.", outcome_unknown=True)
        return call.perform(store)


class Behind:
    """A feed with a change that has been waiting for a while."""

    async def oldest_waiting(self) -> float | None:
        return NOW - 42


async def never(_seconds: float) -> None:
    """Nothing is written by itself."""
    await asyncio.Event().wait()


class App:
    """An app with one source, one index and storage in memory."""

    def __init__(self) -> None:
        self.storage = Storage()
        self.down: frozenset[str] = frozenset()
        self.tables = MemoryTables(carrier=self.storage)
        timing = Timing(lambda: NOW, lambda: NOW, never, lambda: 0.5)
        self.kept = FlushedCounters(InstanceRow(self.tables, "me", lambda: NOW), timing)
        definitions = definitions_of(TOWNS)
        self.reader = StatusReader(
            StatusDependencies(
                definitions=definitions,
                tables=self.tables,
                catalog=Catalog(self.tables),
                tasks=TaskRows(self.tables),
                counters=self.kept,
                lag=LagMeter({"people": [Behind()]}, timing),
                history=LagHistory(self.tables),
                counted=CountHistory(self.tables),
                report=StatusReport(definitions, read_prices()["tableTransactions"], prices_date()),
                now_seconds=lambda: NOW,
                breaker=lambda: Breaker().snapshot(NOW),
                down=lambda: self.down,
            )
        )

    def apply(self, changes: int) -> None:
        """This instance applies a batch."""
        outcome = BatchOutcome(applied=changes, transactions=3 * changes)
        outcome.count_entries("by-town", changes, 0)
        self.kept.counters.batch_applied("people", outcome)

    async def source(self) -> SourceStatusJson:
        """What the status says about the source."""
        return (await self.reader.status())["sources"][0]


@pytest.fixture
async def app() -> App:
    """With another instance that has applied 100 changes and is gone."""
    app = App()
    await InstanceRow(app.tables, "other", lambda: NOW).write(Counter({Measure("source", "people", "applied"): 100}))
    return app


async def test_an_account_that_is_down_is_shown_with_what_waits_for_it(app: App) -> None:
    """As the last delivery has counted it, and as this instance sees the account."""
    catalog = Catalog(app.tables)
    await catalog.create()
    await catalog.note_owed({"X": OwedAccount("X", 7, int(NOW) - 60, frozenset(["g"]))})
    app.down = frozenset(["X"])
    (account,) = (await app.reader.status())["storage"]["accounts"]
    owed = {"facts": 7, "hasMore": False, "sinceSeconds": int(NOW) - 60, "indexes": []}
    assert (account["name"], account["answers"], account["owed"]) == ("X", False, owed)


async def test_the_watch_names_an_account_that_is_owed_entries(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """Every minute, for the alert."""
    catalog = Catalog(app.tables)
    await catalog.create()
    await catalog.note_owed({"X": OwedAccount("X", 7, int(NOW) - 60, frozenset(["g"]))})
    await app.reader.watch()
    assert 'Storage account owed: {"account":"X","indexes":[],"facts":7,"age_seconds":60}' in caplog.messages


async def test_what_is_not_written_yet_counts(app: App) -> None:
    """Once, before and after it is written."""
    app.apply(5)
    assert (await app.source())["applied"] == 105
    await app.kept.write()
    assert (await app.source())["applied"] == 105
    app.apply(2)
    assert (await app.source())["applied"] == 107


async def test_through_an_outage_the_last_counts_stay(app: App) -> None:
    """With what this instance does meanwhile; afterwards nothing is counted twice."""
    app.apply(5)
    await app.source()
    app.storage.is_down = True
    app.apply(1)
    down = await app.reader.status()
    assert down["sources"][0]["applied"] == 106
    assert down["sources"][0]["lagSeconds"] == 42.0
    assert (down["storage"]["isReachable"], down["deadLetters"]["count"], down["tasks"]) == (False, None, None)
    assert down["unknown"] == [
        "Newer counts of other instances, newer generations, builds, dead letters: The Table service is down."
    ]
    app.storage.is_down = False
    await app.kept.write()
    assert (await app.source())["applied"] == 106
    assert (await app.reader.status())["unknown"] == []


async def test_an_instance_that_never_saw_the_storage_tells_its_own(app: App) -> None:
    """It has nothing else."""
    app.storage.is_down = True
    app.apply(7)
    assert (await app.source())["applied"] == 7


async def test_money_is_transactions_at_the_price_of_the_file(app: App) -> None:
    """Three transactions per change, for a million changes; nothing before the first."""
    assert (await app.reader.status())["indexes"][0]["dollarsPerMillionLookups"] is None
    app.apply(100)
    price = read_prices()["tableTransactions"]
    assert (await app.source())["dollarsPerMillionChanges"] == pytest.approx(price.of(300 / 200 * 1_000_000))


async def test_builds_are_shown_with_their_progress(app: App) -> None:
    """Those that run first, with what their slices have done together."""
    rows = TaskRows(app.tables)
    await rows.create()
    await rows.save_task(Task("old", "build", {"index": "by-town"}, NOW - 90, state="done", ended_at=NOW - 60))
    await rows.save_task(Task("new", "build", {"index": "by-town"}, NOW - 9))
    await rows.save(Slice("new", "a", "read", is_done=True, counts={"facts": 10}))
    await rows.save(Slice("new", "b", "read", counts={"facts": 4}))
    running, ended = (await app.reader.status())["tasks"] or []
    assert (running["id"], running["state"], running["slicesDone"], running["slices"]) == ("new", "running", 1, 2)
    assert running["counts"] == {"facts": 14}
    assert (ended["id"], ended["endedAtSeconds"]) == ("old", NOW - 60)


async def test_a_new_index_on_a_known_source_is_building_before_a_worker_has_entered_it(app: App) -> None:
    """As a lookup finds it; on a source that no worker knows it is empty, and served."""
    assert (await app.reader.status())["indexes"][0]["state"] == "serving"
    catalog = Catalog(app.tables)
    await catalog.create()
    await catalog.write(write_source("people", 16))
    shown = (await app.reader.status())["indexes"][0]
    assert (shown["state"], shown["generation"]) == ("building", None)


async def test_the_watch_tells_and_keeps_the_lag(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """As the line that the alert looks for, and as a point for every source."""
    with caplog.at_level("INFO", logger="shared.monitoring.telemetry"):
        await app.reader.watch()
    assert 'Lag measured: {"source":"people","lag_seconds":42.0}' in caplog.messages
    assert await app.reader.history() == {"people": [(int(NOW), 42.0)]}


@pytest.mark.parametrize("slow", ["Catalog", "Counters", "Tasks", "DeadLetters"])
async def test_what_is_unknown_is_told_in_the_same_order_whatever_fails_first(app: App, slow: str) -> None:
    """Readers must not think that something has changed."""
    app.storage.is_down = True
    told = (await app.reader.status())["unknown"]
    app.storage.slow_tables = frozenset({slow})
    assert (await app.reader.status())["unknown"] == told


async def test_what_an_operator_has_to_look_at_is_counted_and_said(
    app: App, capsys: pytest.CaptureFixture[str]
) -> None:
    """Newer changes that were dropped because a clock went back, and dead letters that were not kept."""
    outcome = BatchOutcome(dropped=3, dropped_with_higher_lsn=2, dead_letters=9, dead_letters_not_kept=4)
    app.kept.counters.batch_applied("people", outcome)
    source = await app.source()
    assert (source["dropped"], source["clockWentBack"]) == (3, 2)
    assert (source["deadLettered"], source["deadLettersNotKept"]) == (9, 4)
    write_status(await app.reader.status(), "table")
    shown = capsys.readouterr().out.splitlines()
    assert "people: a clock went back; 2 changes were dropped although they are newer: verify" in shown
    assert "people: 4 dead letters were not kept, because their index had too many open" in shown
