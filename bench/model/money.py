"""What a million changes and a million lookups cost per index, against Cosmos DB alone; from the dated price file.

Ours are the measured operation counts. Cosmos DB's are its published least charges: it looks cheaper than it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.formats import aligned
from bench.model.azure import Azure, Load, leases_of
from shared.monitoring.prices import read_prices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.model.demand import Demands

MILLION: Final = 1_000_000
INSTANCE_GB: Final = 2
# From the request to the answer at 10 ms per storage call, and the CPU of the instance: `lookup` in the baseline takes
# 2.3 ms through the local host, nearly all of it CPU.
LOOKUP_SECONDS: Final = 0.020
LOOKUP_CPU_SECONDS: Final = 0.0023
# Lookups that one instance answers at the same time. An idle app pays for each alone, a busy one shares the instance.
LOOKUPS_AT_ONCE: Final = (1, 16, 64)
# A query asks every physical partition, each for at least this much.
UNITS_PER_PARTITION_ASKED: Final = 2.5
# A global secondary index is a container: its items are written, and read through the feed of the source first.
UNITS_PER_INDEX_WRITE: Final = 5.0
UNITS_PER_FEED_READ: Final = 1.0
BATCHES: Final = {
    "Index Tables, alone": 1,
    "Index Tables, in batches of 100": 100,
    "Index Tables, in batches of 1,000": 1_000,
}


@dataclass(frozen=True, slots=True)
class Bill:
    """Dollars by what is paid for."""

    name: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self.parts.values())


def change_bills(demands: Demands, azure: Azure, indexes: int) -> list[Bill]:
    """A million changes, per index: ours at some batch sizes, then a global secondary index."""
    return [
        *[_changes(name, demands, azure, batch, indexes) for name, batch in BATCHES.items()],
        Bill("Cosmos DB global secondary index", {"request units": _autoscale(_index_units() * MILLION)}),
    ]


def lookup_bills(facts: float, azure: Azure) -> list[Bill]:
    """A million lookups in so many facts: ours, then Cosmos DB's two ways."""
    prices = read_prices()
    partitions = leases_of(Load(facts, 0, 0), azure)
    units = UNITS_PER_PARTITION_ASKED * partitions * MILLION
    storage = {"storage transactions": prices["tableTransactions"].of(MILLION)}
    return [
        Bill("Index Tables, in the application's process", storage),
        *[
            Bill(f"Index Tables, through a function, {at_once} at once", {**storage, **_function(at_once)})
            for at_once in LOOKUPS_AT_ONCE
        ],
        Bill("Cosmos DB query, serverless", {"request units": prices["cosmosRequestUnits"].of(units)}),
        Bill("Cosmos DB query, throughput in full use", {"request units": prices["cosmosProvisionedUnits"].of(units)}),
        Bill("Cosmos DB global secondary index", {"request units": _autoscale(UNITS_PER_PARTITION_ASKED * MILLION)}),
    ]


def _function(lookups_at_once: int) -> dict[str, float]:
    """A million lookups over HTTP: each is a request, and takes its share of an instance."""
    prices = read_prices()
    seconds = max(LOOKUP_SECONDS / lookups_at_once, LOOKUP_CPU_SECONDS)
    compute = prices["functionsCompute"].of(seconds * INSTANCE_GB * MILLION)
    return {"requests": prices["functionsExecutions"].of(MILLION), "instances": compute}


def _changes(name: str, demands: Demands, azure: Azure, batch: int, indexes: int) -> Bill:
    prices, demand = read_prices(), demands.at(batch)
    calls = demand.ledger_transactions + demand.entry_transactions
    steps = max(calls / azure.calls_at_once, 3 / batch)
    seconds = steps * azure.call_seconds + demands.instance_seconds(calls, 1)
    compute = prices["functionsCompute"].of(seconds * INSTANCE_GB * MILLION)
    executions = prices["functionsExecutions"].of(MILLION / batch)
    parts = {
        "storage transactions": prices["tableTransactions"].of(demand.transactions * MILLION),
        "functions": compute + executions,
        "following the feed": prices["cosmosProvisionedUnits"].of(UNITS_PER_FEED_READ * MILLION),
    }
    return Bill(name, {part: dollars / indexes for part, dollars in parts.items()})


def _index_units() -> float:
    return UNITS_PER_INDEX_WRITE + UNITS_PER_FEED_READ


def _autoscale(units: float) -> float:
    """Global secondary indexes take autoscale throughput only; here it is fully used at every moment."""
    return read_prices()["cosmosAutoscaleUnits"].of(units)


def changes_table(demands: Demands, azure: Azure, indexes: int) -> str:
    """Dollars of a million changes per index."""
    bills = change_bills(demands, azure, indexes)
    headings = ("a million changes, per index", "dollars", "of which")
    return "\n".join(aligned([headings, *[(bill.name, dollars(bill.total), _parts(bill)) for bill in bills]]))


def lookups_table(sizes: tuple[float, ...], azure: Azure) -> str:
    """Dollars of a million lookups, by the number of facts."""
    columns = [lookup_bills(facts, azure) for facts in sizes]
    headings = ("a million lookups", *[f"{facts:,.0f} facts" for facts in sizes])
    rows = [(row[0].name, *[dollars(bill.total) for bill in row]) for row in zip(*columns, strict=True)]
    return "\n".join(aligned([headings, *rows]))


def dollars(amount: float) -> str:
    """To the cent, or as small as it is."""
    return f"{amount:,.2f}" if amount >= 0.1 else f"{amount:.3f}"


def _parts(bill: Bill) -> str:
    return ", ".join(f"{part} {dollars(amount)}" for part, amount in bill.parts.items())
