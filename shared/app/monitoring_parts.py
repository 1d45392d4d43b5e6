"""What an app counts and reports: counters, status and advice."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shared.app import settings as names

if TYPE_CHECKING:
    from shared.advice.advisor import Advisor
    from shared.app.process import Process
    from shared.monitoring.counter_flush import FlushedCounters
    from shared.monitoring.counters import Purpose
    from shared.monitoring.status import StatusReader
    from shared.pipeline.outcome import BatchOutcome
    from shared.tables.client import TableClient
    from shared.tables.counts import Counts
    from shared.tables.limiter.gate import GateSnapshot


class MonitoringParts:
    """Parts for operators, each made once."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @cached_property
    def counters(self) -> FlushedCounters:
        """The counters of this instance."""
        from shared.monitoring.counter_flush import FlushedCounters
        from shared.monitoring.counter_rows import InstanceRow

        timing, tables = self._process.world.timing, self._status_tables
        counters = FlushedCounters(InstanceRow(tables, self._process.world.new_id(), timing.wall_seconds), timing)
        counters.counters.watch("operations", tables.counts)
        return counters

    def new_counts(self, purpose: Purpose, account: str) -> Counts:
        """Counts for a client of a storage account; the counters of this instance add them up."""
        from shared.tables.counts import Counts

        counts = Counts()
        self.counters.counters.watch(purpose, counts, account)
        return counts

    def batch_applied(self, source: str, outcome: BatchOutcome) -> None:
        """Report and count a batch."""
        from shared.monitoring import telemetry

        telemetry.batch_applied(source, outcome.numbers())
        self.counters.counters.batch_applied(source, outcome)

    @cached_property
    def _status_tables(self) -> TableClient:
        """The index storage, for calls that must not wait long: an incomplete answer is better than a late one."""
        from shared.tables.limiter.calls import Priority
        from shared.tables.retry import RetryPolicy

        policy = RetryPolicy(
            attempts=2,
            budget_seconds=4,
            first_wait_seconds=0.2,
            longest_wait_seconds=0.5,
            open_seconds=0,
            waits_out_throttles=False,
        )
        storage = self._process.storage(names.INDEX_STORAGE.name)
        return self._process.connections.table_client(storage, policy=policy, priority=Priority.CALLER)

    @cached_property
    def status(self) -> StatusReader:
        """The status of the app. It reuses recent measurements; raises `DefinitionsError`."""
        from shared.catalog.catalog import Catalog
        from shared.monitoring.count_history import CountHistory
        from shared.monitoring.lag import LagMeter
        from shared.monitoring.lag_history import LagHistory
        from shared.monitoring.prices import prices_date, read_prices
        from shared.monitoring.status import StatusDependencies, StatusReader
        from shared.monitoring.status_report import StatusReport
        from shared.tasks.rows import TaskRows

        served, tables, timing = self._process.definitions.require(), self._status_tables, self._process.world.timing
        return StatusReader(
            StatusDependencies(
                definitions=served,
                tables=tables,
                catalog=Catalog(tables),
                tasks=TaskRows(tables),
                counters=self.counters,
                lag=LagMeter({name: self._process.feeds.of(source) for name, source in served.sources.items()}, timing),
                history=LagHistory(tables),
                counted=CountHistory(tables),
                report=StatusReport(served, read_prices()["tableTransactions"], prices_date()),
                now_seconds=timing.wall_seconds,
                breaker=lambda: tables.breaker.snapshot(timing.steady_seconds()),
                gates=self._gates,
                down=lambda: {name for name in self._process.account_names() if self._process.outages.is_down(name)},
                definition_faults=self._definition_faults,
            )
        )

    def _definition_faults(self) -> list[str]:
        """Of the file that people edit, while the app serves an older copy of it."""
        from shared.definitions.files import read_successor

        edited = self._process.settings.value(names.EDITED_DEFINITIONS)
        served = self._process.definitions.definitions
        return [str(fault) for fault in read_successor(Path(edited), served).faults] if edited else []

    def _gates(self) -> dict[str, GateSnapshot]:
        """What this instance does with its calls to each account."""
        connections, storage = self._process.connections, self._process.storage
        return {
            name: connections.gate_of(connections.endpoint_of(storage(name))).snapshot()
            for name in self._process.account_names()
        }

    @cached_property
    def advisor(self) -> Advisor:
        """The advisor on the indexes of the app. It reuses its last answer for a while."""
        from shared.advice.advisor import Advisor, AdvisorDependencies
        from shared.advice.sampling import Sampler
        from shared.app.connections import FOR_CALLERS, OpenedByName
        from shared.catalog.catalog import Catalog
        from shared.monitoring.prices import read_prices
        from shared.tables.accounts import Accounts

        def opened(name: str) -> TableClient:
            counts = self.new_counts("operations", name)
            return self._process.connections.table_client(self._process.storage(name), counts, FOR_CALLERS)

        accounts, wall_seconds = Accounts(OpenedByName(opened)), self._process.world.timing.wall_seconds
        return Advisor(
            self._process.definitions.require(),
            AdvisorDependencies(
                catalog=Catalog(accounts.main),
                sampler=Sampler(accounts, wall_seconds),
                totals=self.status.totals,
                prices=read_prices(),
                now_seconds=wall_seconds,
            ),
        )
