"""What Azure is assumed to be: its published limits, latencies as parameters, and what an application asks of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.cases.distant_tables import Distance
from bench.workloads.distance import CALLS, NAME, UPDATES
from functions.changes import MAX_ITEMS
from shared.entries.projection.generations import BUCKETS

if TYPE_CHECKING:
    from bench.measure.result import Result

FACT_BYTES = 1_024
SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Azure:
    """Limits are of the documentation (scalability targets of Table Storage and Cosmos DB, 2026)."""

    account_transactions_per_second: float = 20_000
    partition_entities_per_second: float = 2_000
    ledger_partitions: int = BUCKETS
    # Within one region; an assumption, not a promise of Azure.
    call_seconds: float = 0.010
    # For a run that has not measured it: what the limiter settles at, simulated at 10 ms and 0.4 ms of CPU per call.
    calls_at_once: int = 48
    batch_max: int = MAX_ITEMS
    poll_seconds: float = 1.0
    instances_max: int = 1_000
    # One lease per physical partition, which holds so much and takes so many request units.
    physical_partition_bytes: float = 50e9
    physical_partition_units: float = 10_000
    units_per_write: float = 10.0


def azure_of(result: Result) -> Azure:
    """With as many calls at once as the run had out on average, at the latency that it was measured with."""
    if NAME not in result.workloads:
        return Azure()
    gauges = {gauge.name: gauge.value for gauge in result.measurement(NAME, UPDATES).gauges}
    if CALLS not in gauges:
        return Azure()
    return replace(Azure(), calls_at_once=max(1, round(gauges[CALLS] * Distance().median_seconds)))


@dataclass(frozen=True, slots=True)
class Load:
    """What an application asks for."""

    facts: float
    changes_per_second: float
    lookups_per_second: float
    indexes: int = 3
    accounts: int = 1
    # The share of one index's entries that stand under its most frequent partition value, and the shards of that value.
    hot_share: float = 0.001
    shards: int = 1
    # 0: as many as Cosmos DB makes for the facts and their writes.
    leases: int = 0

    @classmethod
    def daily(cls, facts: float) -> Load:
        """Every fact changes once a day and is looked up once a day."""
        return cls(facts, facts / SECONDS_PER_DAY, facts / SECONDS_PER_DAY)


def leases_of(load: Load, azure: Azure) -> int:
    """The physical partitions of the container: each has a lease, which one instance at a time follows."""
    by_size = load.facts * FACT_BYTES / azure.physical_partition_bytes
    by_writes = load.changes_per_second * azure.units_per_write / azure.physical_partition_units
    return load.leases or max(1, math.ceil(by_size), math.ceil(by_writes))
