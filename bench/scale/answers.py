"""What the simulator is asked: does it keep up, with how many accounts, where is the limit, what does it cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.costs import HOURS_PER_MONTH, read_prices
from bench.scale.azure import leases_of
from bench.scale.simulate import simulate

if TYPE_CHECKING:
    from bench.scale.azure import Azure, Load
    from bench.scale.demand import Demands
    from bench.scale.simulate import Outcome

SIZES = (10e6, 100e6, 1e9, 10e9)
ACCOUNTS_MAX = 256
# Behind by no more than so many polls after two minutes, it keeps up.
_POLLS_BEHIND = 4
_SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600
_INSTANCE_GB = 2
_QUEUE_OPERATIONS_PER_MESSAGE = 3
_LOG_BYTES_PER_INVOCATION = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """For one load: what happens, what it needs, where its limit is, and the dollars of a month by what is paid for."""

    load: Load
    leases: int
    keeps_up: bool
    outcome: Outcome
    most_changes_per_second: float
    limited_by: str
    dollars: dict[str, float]


def answer(load: Load, azure: Azure, demands: Demands) -> Answer:
    """With as many accounts as it takes, unless more do not help."""
    needed = accounts_needed(load, azure, demands)
    load = replace(load, accounts=needed, leases=leases_of(load, azure))
    outcome = simulate(load, azure, demands)
    most = most_changes_per_second(load, azure, demands)
    at_limit = simulate(replace(load, changes_per_second=most * 1.5), azure, demands)
    return Answer(
        load, load.leases, keeps_up(outcome, azure), outcome, most, at_limit.busiest,
        monthly_dollars(load, azure, demands, outcome),
    )  # fmt: skip


def keeps_up(outcome: Outcome, azure: Azure) -> bool:
    """Whether what waits at the end is only what has just arrived."""
    per_second = outcome.arrived / outcome.seconds
    return outcome.waiting <= per_second * azure.poll_seconds * _POLLS_BEHIND


def accounts_needed(load: Load, azure: Azure, demands: Demands) -> int:
    """The fewest that keep up; where more do not help, the fewest that do as much as any number."""
    load = replace(load, leases=leases_of(load, azure))
    most = simulate(replace(load, accounts=ACCOUNTS_MAX), azure, demands)
    accounts = load.accounts
    while accounts < ACCOUNTS_MAX:
        outcome = simulate(replace(load, accounts=accounts), azure, demands)
        if keeps_up(outcome, azure) or outcome.applied >= most.applied * 0.98:
            break
        accounts += max(1, accounts // 8)
    return accounts


def most_changes_per_second(load: Load, azure: Azure, demands: Demands) -> float:
    """What the same leases and accounts could take at most, found by halving."""
    low, high = 0.0, max(load.changes_per_second, 1.0)
    while keeps_up(simulate(replace(load, changes_per_second=high), azure, demands), azure):
        low, high = high, high * 2
    while high - low > 0.02 * high:
        middle = (low + high) / 2
        if keeps_up(simulate(replace(load, changes_per_second=middle), azure, demands), azure):
            low = middle
        else:
            high = middle
    return low


def monthly_dollars(load: Load, azure: Azure, demands: Demands, outcome: Outcome) -> dict[str, float]:
    """What a month costs at list prices; the facts themselves and their writes are the application's."""
    prices = read_prices()
    changes = load.changes_per_second * _SECONDS_PER_MONTH
    lookups = load.lookups_per_second * _SECONDS_PER_MONTH
    demand = demands.at(outcome.mean_batch)
    invocations = changes / max(outcome.mean_batch, 1.0)
    calls = changes * (demand.ledger_transactions + demand.entry_transactions) / azure.calls_at_once
    busy_seconds = calls * azure.call_seconds + changes * demands.cpu_seconds + lookups * azure.call_seconds * 2
    polls = leases_of(load, azure) * _SECONDS_PER_MONTH / azure.poll_seconds
    queued = changes * demand.sweep_messages * _QUEUE_OPERATIONS_PER_MESSAGE
    gigabytes = load.facts * (demands.ledger_bytes + demands.entry_bytes) / 1e9
    return {
        "storage transactions": prices["tableTransactions"].of(changes * demand.transactions + lookups + queued),
        "storage capacity": prices["tableStorage"].of(gigabytes),
        "functions": prices["functionsCompute"].of(busy_seconds * _INSTANCE_GB)
        + prices["functionsExecutions"].of(invocations + lookups),
        "following the feed": prices["cosmosRequestUnits"].of(changes + polls),
        "logs": prices["logIngestion"].of(invocations * _LOG_BYTES_PER_INVOCATION / 1e9),
    }


def rounded(value: float) -> str:
    """Three digits are enough for a model."""
    if value <= 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{round(value, digits if value < 100 else 2 - math.floor(math.log10(value))):,.{digits}f}"
