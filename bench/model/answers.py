"""What the simulator is asked: does it keep up, with how many accounts, where is the limit, what does it cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.model.azure import leases_of
from bench.model.costs import HOURS_PER_MONTH
from bench.model.simulate import simulate
from shared.monitoring.prices import read_prices

if TYPE_CHECKING:
    from bench.model.azure import Azure, Load
    from bench.model.demand import Demands
    from bench.model.simulate import Outcome

SIZES = (10e6, 100e6, 1e9, 10e9)
ACCOUNTS_MAX = 64
APPS_MAX = 64
# Behind by no more than so many polls after four minutes, it keeps up.
_POLLS_BEHIND = 3
_SECONDS_PER_MONTH = HOURS_PER_MONTH * 3600
_INSTANCE_GB = 2
_QUEUE_OPERATIONS_PER_MESSAGE = 3
_LOG_BYTES_PER_INVOCATION = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """For one load: what it needs, what happens then, where its limit is, and the dollars of a month.

    An app has one ledger in one account. Where that is not enough, the facts are divided over several apps, each with
    a container and accounts of its own; `app` is the load of one of them.
    """

    load: Load
    apps: int
    app: Load
    keeps_up: bool
    outcome: Outcome
    most_changes_per_second: float
    limited_by: str
    dollars: dict[str, float]

    @property
    def accounts(self) -> int:
        """Storage accounts in all."""
        return self.apps * self.app.accounts

    @property
    def leases(self) -> int:
        """Leases in all: no more instances than these follow the feed."""
        return self.apps * self.app.leases


def answer(load: Load, azure: Azure, demands: Demands) -> Answer:
    """With as few apps and accounts as keep up."""
    apps, app, outcome = _too_few_apps(load, azure, demands), load, None
    while outcome is None or not (keeps_up(outcome, azure) or apps >= APPS_MAX):
        apps += 1
        app = _needed(_share(load, apps), azure, demands)
        outcome = simulate(app, azure, demands)
    most = most_changes_per_second(app, azure, demands)
    over = simulate(replace(app, changes_per_second=most * 1.5), azure, demands)
    dollars = {name: apps * each for name, each in monthly_dollars(app, azure, demands, outcome).items()}
    return Answer(load, apps, app, keeps_up(outcome, azure), outcome, apps * most, over.busiest, dollars)


def _too_few_apps(load: Load, azure: Azure, demands: Demands) -> int:
    """Whose ledgers could not even take the claims in the largest batches: not worth a simulation."""
    claims = load.changes_per_second * demands.at(azure.batch_max).ledger_transactions
    return min(APPS_MAX - 1, math.ceil(claims / azure.account_transactions_per_second) - 1)


def _share(load: Load, apps: int) -> Load:
    """What one of several apps has to do."""
    return replace(
        load,
        facts=load.facts / apps,
        changes_per_second=load.changes_per_second / apps,
        lookups_per_second=load.lookups_per_second / apps,
    )


def _needed(app: Load, azure: Azure, demands: Demands) -> Load:
    """First as many leases as the instances need to keep up, then as many accounts."""
    app = replace(app, leases=leases_needed(app, azure, demands))
    return replace(app, accounts=accounts_needed(app, azure, demands))


def leases_needed(app: Load, azure: Azure, demands: Demands) -> int:
    """No fewer than Cosmos DB makes; where more do not help, no more."""

    def suffice(leases: int) -> bool:
        return keeps_up(simulate(replace(app, accounts=ACCOUNTS_MAX, leases=leases), azure, demands), azure)

    least = leases_of(app, azure)
    if suffice(least) or not suffice(azure.instances_max):
        return least
    leases = range(least, azure.instances_max + 1)
    return leases[bisect_left(leases, True, key=suffice)]


def keeps_up(outcome: Outcome, azure: Azure) -> bool:
    """Whether what waits at the end is only what has just arrived."""
    per_second = outcome.arrived / outcome.seconds
    return outcome.waiting <= per_second * azure.poll_seconds * _POLLS_BEHIND


def accounts_needed(load: Load, azure: Azure, demands: Demands) -> int:
    """The fewest that keep up; where more do not help, as few as were asked for."""
    if not keeps_up(simulate(replace(load, accounts=ACCOUNTS_MAX), azure, demands), azure):
        return load.accounts
    accounts = range(load.accounts, ACCOUNTS_MAX + 1)
    return (
        bisect_left(
            accounts, True, key=lambda count: keeps_up(simulate(replace(load, accounts=count), azure, demands), azure)
        )
        + load.accounts
    )


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
    calls = changes * (demand.ledger_transactions + demand.entry_transactions)
    waiting_seconds = (calls / azure.calls_at_once + lookups * 2) * azure.call_seconds
    busy_seconds = waiting_seconds + demands.instance_seconds(calls, changes)
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
