"""Runs a stream of changes through leases, instances, accounts and partitions, batch by batch.

Changes arrive evenly. A lease takes what has arrived, up to a full batch, and is done when the slowest of what it needs
is: the instance's calls and CPU, the account with the ledger, an account with entries, the ledger's partitions, the hot
partition. Each of these serves in the order of requests, at its published rate.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.model.azure import leases_of

if TYPE_CHECKING:
    from bench.model.azure import Azure, Load
    from bench.model.demand import Demand, Demands

SIMULATED_SECONDS = 240.0
# Claims, live rows, removals: no batch takes fewer calls one after the other.
_STEPS = 3
# Leases are alike: of more than these, a share is simulated with that share of what they all use.
_LEASES_SIMULATED = 32
# A batch has waited unequally long: its lag is taken at so many places.
_PIECES = 4


@dataclass(slots=True)
class Resource:
    """Something that serves so many units a second, in the order of requests."""

    name: str
    per_second: float
    free_at: float = 0.0
    busy_seconds: float = 0.0

    def serve(self, units: float, now: float) -> float:
        """When these units will have been served."""
        seconds = units / self.per_second
        self.free_at = max(self.free_at, now) + seconds
        self.busy_seconds += seconds
        return self.free_at


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the changes. Whatever has arrived is applied or waiting: nothing is lost, nothing is made up."""

    seconds: float
    arrived: float
    applied: float
    waiting: float
    batches: int
    # Weighted by changes: how long each waited, and until when.
    lag_p50_seconds: float
    lag_p99_seconds: float
    # The share of time that the busiest of each kind was busy.
    busy: dict[str, float] = field(default_factory=dict)

    @property
    def applied_per_second(self) -> float:
        """Changes per second, once running."""
        return self.applied / self.seconds

    @property
    def busiest(self) -> str:
        """What is nearest to its limit."""
        return max(self.busy, key=lambda name: self.busy[name])

    @property
    def mean_batch(self) -> float:
        """Changes per invocation."""
        return self.applied / self.batches if self.batches else 0.0


class _Pipeline:
    """The resources that all leases share."""

    def __init__(self, load: Load, azure: Azure, demands: Demands, leases: int, share: float) -> None:
        self._load, self._azure, self._demands = load, azure, demands
        self._known: dict[int, Demand] = {}
        # Units of an instance are seconds of its time.
        self._instances = [Resource("function instance", 1.0) for _ in range(leases)]
        account, partition = azure.account_transactions_per_second * share, azure.partition_entities_per_second * share
        self._account = account
        self._main, self._other = (
            Resource("account with the ledger", account),
            Resource("account with entries", account),
        )
        self._ledger = Resource("ledger partitions", partition * azure.ledger_partitions)
        self._hot = Resource("hot index partition", partition * load.shards)
        self._lookups = load.lookups_per_second / load.accounts * share

    def apply(self, lease: int, changes: float, now: float) -> float:
        """When a batch is done."""
        demand, load = self._demand(round(changes)), self._load
        # Tombstones are swept later, by the same account, at the same rate on average.
        entries = (demand.entry_transactions + demand.sweep_transactions) * changes / load.accounts
        ends = [
            self._instances[lease].serve(self._instance_seconds(demand, changes), now),
            self._main.serve(demand.ledger_transactions * changes + entries, now),
            self._ledger.serve(demand.ledger_entities * changes, now),
            self._hot.serve(demand.entry_entities / load.indexes * changes * load.hot_share, now),
        ]
        if load.accounts > 1:
            ends.append(self._other.serve(entries, now))
        return max(ends)

    def _demand(self, batch: int) -> Demand:
        """Most batches are of a few sizes."""
        if batch not in self._known:
            self._known[batch] = self._demands.at(batch)
        return self._known[batch]

    def _instance_seconds(self, demand: Demand, changes: float) -> float:
        """Calls so many at once, and the CPU, which nothing else uses meanwhile: the dear end."""
        calls = (demand.ledger_transactions + demand.entry_transactions) * changes
        steps = max(_STEPS, calls / self._azure.calls_at_once)
        return steps * self._azure.call_seconds + self._demands.instance_seconds(calls, changes)

    def read(self, seconds: float) -> None:
        """Lookups read from every account alike, and come before changes."""
        for account in (self._main, self._other):
            account.per_second = max(1.0, account.per_second - self._lookups)
            account.busy_seconds += self._lookups * seconds / self._account

    def busy(self, seconds: float) -> dict[str, float]:
        """The busiest of each kind."""
        shared = (self._main, self._other, self._ledger, self._hot)
        share = {each.name: min(1.0, each.busy_seconds / seconds) for each in shared}
        instances = max(each.busy_seconds for each in self._instances)
        return {**share, "function instance": min(1.0, instances / seconds)}


def simulate(load: Load, azure: Azure, demands: Demands, seconds: float = SIMULATED_SECONDS) -> Outcome:
    """So many seconds of the load."""
    every = leases_of(load, azure)
    leases = min(every, _LEASES_SIMULATED)
    pipeline = _Pipeline(load, azure, demands, leases, leases / every)
    pipeline.read(seconds)
    rate = load.changes_per_second / every
    applied, batches, lags = 0.0, 0, list[tuple[float, float]]()
    # Leases poll out of step. Taken: changes of the lease that have been taken so far.
    turns = [(azure.poll_seconds * number / leases, number, 0.0) for number in range(leases)]
    while turns:
        now, lease, taken = heapq.heappop(turns)
        if now >= seconds:
            continue
        changes = min(now * rate - taken, azure.batch_max)
        if changes < min(1.0, rate * azure.poll_seconds):
            heapq.heappush(turns, (now + azure.poll_seconds, lease, taken))
            continue
        end = pipeline.apply(lease, changes, now)
        if end <= seconds:
            applied, batches = applied + changes, batches + 1
            lags += _lags(taken, changes, rate, end)
        is_drained = (taken + changes) >= now * rate - 1e-9
        # Drained, the lease looks again after the poll delay; behind, at once.
        heapq.heappush(turns, (end + (azure.poll_seconds if is_drained else 0.0), lease, taken + changes))
    arrived, applied = load.changes_per_second * seconds, applied * every / leases
    p50, p99 = _quantiles(lags, seconds)
    batches = round(batches * every / leases)
    return Outcome(seconds, arrived, applied, arrived - applied, batches, p50, p99, pipeline.busy(seconds))


def _lags(taken: float, changes: float, rate: float, end: float) -> list[tuple[float, float]]:
    """Lag and weight of some pieces of a batch: its first change has waited longest."""
    size = changes / _PIECES
    return [(end - (taken + size * (piece + 0.5)) / rate, size) for piece in range(_PIECES)]


def _quantiles(lags: list[tuple[float, float]], seconds: float) -> tuple[float, float]:
    if not lags:
        return seconds, seconds
    lags.sort()
    total, so_far, found = sum(weight for _, weight in lags), 0.0, list[float]()
    for lag, weight in lags:
        so_far += weight
        while len(found) < 2 and so_far >= total * (0.5, 0.99)[len(found)] - 1e-9:
            found.append(lag)
    return found[0], found[1]
