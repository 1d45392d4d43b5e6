"""The status of an app: collects what the feeds, the storage and this instance know, within a few seconds.

Parts that do not answer are left out and named: a status is needed most when something is down. The timer calls `watch`
every minute to measure, log and store the lag.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from shared.catalog.rows import CatalogSnapshot
from shared.errors import StorageError, TableMissingError
from shared.monitoring import telemetry
from shared.monitoring.count_history import count_point
from shared.monitoring.counter_rows import fold_idle, read_totals
from shared.monitoring.counters import Totals
from shared.monitoring.open_dead_letters import open_dead_letters
from shared.monitoring.status_report import StatusFacts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from shared.catalog.catalog import Catalog
    from shared.definitions.model import Definitions
    from shared.monitoring.count_history import CountHistory, CountPoint
    from shared.monitoring.counter_flush import FlushedCounters
    from shared.monitoring.counters import Measure
    from shared.monitoring.lag import LagMeter
    from shared.monitoring.lag_history import LagHistory, Point
    from shared.monitoring.status_json import StatusJson
    from shared.monitoring.status_report import StatusReport
    from shared.tables.breaker import BreakerSnapshot
    from shared.tables.limiter.gate import GateSnapshot
    from shared.tables.port import Tables
    from shared.tasks.rows import Progress, TaskRows

T = TypeVar("T")

STORAGE_SECONDS: Final = 5.0
TASKS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class StatusDependencies:
    """What a status is made from."""

    definitions: Definitions
    tables: Tables
    catalog: Catalog
    tasks: TaskRows
    counters: FlushedCounters
    lag: LagMeter
    history: LagHistory
    counted: CountHistory
    report: StatusReport
    now_seconds: Callable[[], float]
    # What this instance has seen of the index storage.
    breaker: Callable[[], BreakerSnapshot]
    # The storage accounts that this instance takes for dead.
    down: Callable[[], AbstractSet[str]]
    # By account: what this instance does with its calls.
    gates: Callable[[], Mapping[str, GateSnapshot]] = dict
    # Why a changed definitions file is not served.
    definition_faults: Callable[[], Sequence[str]] = tuple


class StatusReader:
    """Reads the status of the app."""

    def __init__(self, dependencies: StatusDependencies) -> None:
        self._dependencies = dependencies
        self._catalog: CatalogSnapshot | None = None
        # The totals of all instances at the last read, and the counts of this one at that time.
        self._totals = Totals(instances=1)
        self._own: Counter[Measure] = Counter()

    async def status(self) -> StatusJson:
        """Everything that is known now."""
        dependencies = self._dependencies
        missed = _Missed()
        lags, totals, catalog, tasks, dead_letters = await asyncio.gather(
            dependencies.lag.lags(),
            missed.result_of("newer counts of other instances", read_totals(dependencies.tables)),
            missed.result_of("newer generations", self._read_catalog()),
            missed.result_of("builds", self._read_tasks()),
            missed.result_of("dead letters", open_dead_letters(dependencies.tables, dependencies.definitions.sources)),
        )
        self._catalog = self._catalog if catalog is None else catalog
        return dependencies.report.as_json(
            StatusFacts(
                at_seconds=dependencies.now_seconds(),
                lags=lags,
                totals=self._latest(totals),
                catalog=self._catalog,
                tasks=tasks,
                dead_letters=dead_letters,
                is_reachable=totals is not None,
                breaker=dependencies.breaker(),
                gates=dependencies.gates(),
                down=dependencies.down(),
                definition_faults=dependencies.definition_faults(),
                unknown=[*missed.sentences(), *(lag.unknown for lag in lags.values() if lag.unknown)],
            )
        )

    async def totals(self) -> Totals:
        """The counts of all instances, with what is only here; raises when the storage does not answer."""
        return self._with_own(await read_totals(self._dependencies.tables))

    async def history(self) -> dict[str, list[Point]]:
        """The lag of each source over time, oldest first."""
        known = await self._dependencies.history.read()
        return {source: known.get(source, []) for source in self._dependencies.definitions.sources}

    async def counted(self) -> list[CountPoint]:
        """What had been counted by when, oldest first."""
        return await self._dependencies.counted.read()

    async def watch(self) -> None:
        """Measure, log and store the lag; store the counts; add up the counters of instances that are gone."""
        dependencies = self._dependencies
        lags = await dependencies.lag.lags(cached_seconds=0)
        for source, lag in lags.items():
            indexes = [index.name for index in dependencies.definitions.indexes_of(source)]
            telemetry.lag_measured(source, indexes, lag.seconds, lag.unknown)
        now = dependencies.now_seconds()
        snapshot = await self._read_catalog()
        for name, owed in snapshot.owed.items():
            age_seconds = now - owed.since_seconds
            telemetry.account_owed(name, snapshot.indexes_owing(name), owed.facts, age_seconds)
        await dependencies.history.add(int(now), {source: lag.seconds for source, lag in lags.items()})
        await dependencies.counted.add(count_point(int(now), await self.totals()))
        await fold_idle(dependencies.tables, now)

    async def _read_catalog(self) -> CatalogSnapshot:
        try:
            return await self._dependencies.catalog.read()
        except TableMissingError:
            return CatalogSnapshot()  # no worker has started yet

    async def _read_tasks(self) -> list[Progress]:
        """Long tasks that run, and the newest of those that have ended."""
        rows = self._dependencies.tasks
        newest = sorted(await rows.all(), key=lambda task: (task.state == "running", task.started_at), reverse=True)
        found = await asyncio.gather(*(rows.read(task.id) for task in newest[:TASKS_MAX]))
        return [progress for progress in found if progress is not None]

    def _latest(self, totals: Totals | None) -> Totals:
        """The totals read now, or at the last read, with what this instance has counted since."""
        if totals is not None:
            self._totals, self._own = self._with_own(totals), self._dependencies.counters.counters.now()
        return _sum(self._totals, self._dependencies.counters.counters.now() - self._own)

    def _with_own(self, totals: Totals) -> Totals:
        return _sum(totals, self._dependencies.counters.unwritten())


def _sum(totals: Totals, more: Counter[Measure]) -> Totals:
    counted: Counter[Measure] = Counter(totals.counts)
    counted.update(more)
    return Totals(counted, totals.since_seconds, totals.instances)


class _Missed:
    """What could not be read from the storage, by error."""

    def __init__(self) -> None:
        self._wanted: list[str] = []
        self._errors: dict[str, str] = {}
        self._whats: dict[str, list[str]] = {}

    async def result_of(self, what: str, work: Awaitable[T]) -> T | None:
        """The result of a read; None when the storage does not answer in time."""
        self._wanted.append(what)
        try:
            async with asyncio.timeout(STORAGE_SECONDS):
                return await work
        except StorageError as error:
            self._note(what, type(error).__name__, str(error))
        except TimeoutError:
            self._note(what, "late", f"the index storage did not answer within {STORAGE_SECONDS:g} s.")
        return None

    def _note(self, what: str, kind: str, sentence: str) -> None:
        self._errors.setdefault(kind, sentence)
        self._whats.setdefault(kind, []).append(what)

    def sentences(self) -> list[str]:
        """One sentence for each kind of error, in a stable order: that of the reads, not of the failures."""
        named = {kind: sorted(whats, key=self._wanted.index) for kind, whats in self._whats.items()}
        kinds = sorted(named, key=lambda kind: self._wanted.index(named[kind][0]))
        return [f"{', '.join(named[kind]).capitalize()}: {self._errors[kind]}" for kind in kinds]
