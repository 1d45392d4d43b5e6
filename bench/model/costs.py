"""What a deployment costs per month for three sizes of load: `python -m bench.model.costs` prints a Markdown table.

Prices come from shared/monitoring/prices.json and nowhere else. Free grants are left out, so that small loads look
dearer than they are. Every assumption about the load is a field of `MonthlyLoad` or a constant here; docs/cost.md
shows the table as printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.measure.result import BASELINE, read
from bench.model.demand import read_demands
from bench.workloads.transactions import BATCHES, SHARED
from shared.monitoring.prices import read_prices

if TYPE_CHECKING:
    from shared.monitoring.prices import Price

HOURS_PER_MONTH: Final = 730
# Changes that an instance takes per invocation on average; the most is 1 000.
_CHANGES_PER_INVOCATION: Final = 100
# Time of a 2 GB instance, with nothing else running on it: the dear end.
_INSTANCE_GB: Final = 2
_SECONDS_PER_INVOCATION: Final = 1.0
_SECONDS_PER_LOOKUP: Final = 0.02
# A change of about 1 KB is read from the feed for about 1 RU, and leases are written once per invocation.
_REQUEST_UNITS_PER_CHANGE: Final = 1.0
_REQUEST_UNITS_PER_INVOCATION: Final = 10.0
# An idle feed is asked every second, for each physical partition.
_POLLS_PER_MONTH: Final = HOURS_PER_MONTH * 3600
_LOG_BYTES_PER_INVOCATION: Final = 2_000


@dataclass(frozen=True, slots=True)
class MonthlyLoad:
    """A month of a load. Half of the changes are written alone, half in full batches."""

    name: str
    changes: int
    lookups: int
    indexes: int
    entries_gb: float
    feed_partitions: int
    throughput_units: int

    @property
    def transactions(self) -> float:
        """Storage transactions: a lookup page is one; those of a change are measured, with the sweep that follows."""
        demands = read_demands(read(BASELINE), SHARED, self.indexes)
        alone, batched = demands.at(BATCHES[0]).transactions, demands.at(BATCHES[-1]).transactions
        return self.lookups + self.changes * (alone + batched) / 2

    @property
    def invocations(self) -> float:
        """Function executions that apply changes."""
        return self.changes / _CHANGES_PER_INVOCATION

    @property
    def gb_seconds(self) -> float:
        """Memory and time of instances that do something."""
        busy_seconds = self.invocations * _SECONDS_PER_INVOCATION + self.lookups * _SECONDS_PER_LOOKUP
        return busy_seconds * _INSTANCE_GB

    @property
    def request_units(self) -> float:
        """What following the change feed costs in Cosmos DB; writing the facts is the application's."""
        polls = _POLLS_PER_MONTH * self.feed_partitions
        return self.changes * _REQUEST_UNITS_PER_CHANGE + self.invocations * _REQUEST_UNITS_PER_INVOCATION + polls


LOADS: Final = (
    MonthlyLoad("small", 100_000, 100_000, 3, 0.1, 1, 1),
    MonthlyLoad("medium", 10_000_000, 30_000_000, 5, 20, 4, 2),
    MonthlyLoad("large", 500_000_000, 1_000_000_000, 10, 1_000, 40, 20),
)


def rows(load: MonthlyLoad) -> dict[str, list[tuple[str, float]]]:
    """What is paid for: a row of the table, with the prices and amounts that it adds up."""
    executions = load.invocations + load.lookups
    return {
        "Table Storage: transactions": [("tableTransactions", load.transactions)],
        "Table Storage: capacity": [("tableStorage", load.entries_gb)],
        "Functions": [("functionsCompute", load.gb_seconds), ("functionsExecutions", executions)],
        "Cosmos DB: following the feed": [("cosmosRequestUnits", load.request_units)],
        "or Event Hubs: all events": [
            ("eventHubsThroughputUnit", load.throughput_units * HOURS_PER_MONTH),
            ("eventHubsEvents", load.changes),
        ],
        "Logs": [("logIngestion", load.invocations * _LOG_BYTES_PER_INVOCATION / 1e9)],
    }


def table() -> str:
    """The costs of all loads, in Markdown; `≈` marks what rests on a price that is not confirmed."""
    prices = read_prices()
    priced = [rows(load) for load in LOADS]
    lines = [
        f"| US dollars a month | {' | '.join(load.name for load in LOADS)} |",
        f"|---|{'---:|' * len(LOADS)}",
        f"| changes | {' | '.join(f'{load.changes:,}' for load in LOADS)} |",
        f"| lookups | {' | '.join(f'{load.lookups:,}' for load in LOADS)} |",
        f"| indexes | {' | '.join(str(load.indexes) for load in LOADS)} |",
    ]
    lines += [f"| {name} | {' | '.join(_cell(column[name], prices) for column in priced)} |" for name in priced[0]]
    return "\n".join(lines)


def _cell(parts: list[tuple[str, float]], prices: dict[str, Price]) -> str:
    total = sum(prices[name].of(amount) for name, amount in parts)
    mark = "" if all(prices[name].confirmed for name, _ in parts) else "≈ "
    return f"{mark}{total:,.2f}"


if __name__ == "__main__":
    print(table())
