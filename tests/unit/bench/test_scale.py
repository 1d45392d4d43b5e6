"""The simulator of scale: limits bind, more of anything never makes it worse, and no change is lost or made up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import BenchUsageError
from bench.measure.measurement import Cost, Gauge, Measurement, Timing
from bench.measure.result import Result, WorkloadResult
from bench.measure.spread import Spread
from bench.model.answers import accounts_needed, answer, keeps_up, most_changes_per_second
from bench.model.azure import Azure, Load, azure_of, leases_of
from bench.model.demand import Demand, Demands, read_demands
from bench.model.scale_text import assumptions, table
from bench.model.simulate import Outcome, simulate
from bench.workloads.distance import CALLS, NAME, UPDATES

AZURE = Azure()
# Of one change alone, and of one in a full batch.
ALONE = Demand(2, 2, 3, 5, 0.5, 0.1)
TOGETHER = Demand(1, 2, 0.1, 5, 0.5, 0.001)
DEMANDS = Demands({1: ALONE, 100: replace(TOGETHER, ledger_transactions=1.2), 1000: TOGETHER}, 400, 3000, 0.0002)
QUICK_SECONDS = 60.0


def load(changes_per_second: float, **fields: float) -> Load:
    """A load of a million facts."""
    return replace(Load(1e6, changes_per_second, 0, leases=32), **fields)  # type: ignore[arg-type]


def outcome(asked: Load, azure: Azure = AZURE) -> Outcome:
    """A minute of it."""
    return simulate(asked, azure, DEMANDS, QUICK_SECONDS)


def test_a_demand_lies_between_the_measured_batch_sizes() -> None:
    """At a measured size it is what was measured; beyond them, the nearest."""
    assert DEMANDS.at(1) == DEMANDS.at(0.2) == ALONE
    assert DEMANDS.at(1000) == DEMANDS.at(5000) == TOGETHER
    between = DEMANDS.at(10).ledger_transactions
    assert between == pytest.approx((2 + 1.2) / 2)


@settings(max_examples=40, deadline=None)
@given(
    rate=st.floats(1, 200_000),
    accounts=st.integers(1, 20),
    leases=st.integers(1, 100),
    hot=st.floats(0, 1),
    lookups=st.floats(0, 30_000),
)
def test_whatever_arrives_is_applied_or_waiting(
    rate: float, accounts: int, leases: int, hot: float, lookups: float
) -> None:
    """Conservation, and nothing is busier than always."""
    found = outcome(load(rate, accounts=accounts, leases=leases, hot_share=hot, lookups_per_second=lookups))
    assert found.applied + found.waiting == pytest.approx(found.arrived)
    assert 0 <= found.applied <= found.arrived * (1 + 1e-9)
    assert all(0 <= busy <= 1 for busy in found.busy.values())
    assert found.lag_p50_seconds <= found.lag_p99_seconds


def test_the_account_with_the_ledger_binds() -> None:
    """However many accounts and leases there are: 20 000 transactions a second, most of them the ledger's."""
    found = outcome(load(200_000, accounts=50, leases=1000))
    ledger = DEMANDS.at(found.mean_batch).ledger_transactions
    assert found.busiest in {"account with the ledger", "ledger partitions"}
    assert found.applied_per_second <= AZURE.account_transactions_per_second / ledger
    assert found.applied_per_second >= 0.7 * AZURE.account_transactions_per_second / ledger


def test_the_hot_partition_binds_until_it_is_sharded() -> None:
    """2 000 entities a second at one value; eight shards take eight times as much."""
    hot = load(8_000, accounts=4, leases=200, hot_share=1.0)
    one, eight = outcome(hot), outcome(replace(hot, shards=8))
    per_change = DEMANDS.at(one.mean_batch).entry_entities / hot.indexes
    assert one.busiest == "hot index partition"
    assert one.applied_per_second <= AZURE.partition_entities_per_second / per_change * 1.01
    assert eight.applied > 4 * one.applied


def test_one_lease_is_one_instance() -> None:
    """A single lease is as fast as the calls and the CPU of one instance."""
    found = outcome(load(50_000, leases=1))
    assert found.busiest == "function instance"
    twice = outcome(load(50_000, leases=2))
    assert twice.applied == pytest.approx(2 * found.applied, rel=0.05)


@settings(max_examples=25, deadline=None)
@given(rate=st.floats(10, 60_000), leases=st.integers(1, 64), accounts=st.integers(1, 8))
def test_more_accounts_leases_and_shards_never_apply_less(rate: float, leases: int, accounts: int) -> None:
    """Up to the batch that happens to end just before the minute does."""
    less = load(rate, leases=leases, accounts=accounts, hot_share=0.3)
    slack = leases * AZURE.batch_max
    for more in (replace(less, accounts=accounts * 2), replace(less, leases=leases * 2), replace(less, shards=4)):
        assert outcome(more).applied >= outcome(less).applied - 2 * slack


def test_a_slower_call_means_more_lag() -> None:
    """Latency is a parameter."""
    calls = [replace(AZURE, call_seconds=seconds) for seconds in (0.005, 0.02, 0.08)]
    lags = [outcome(load(2_000), azure).lag_p50_seconds for azure in calls]
    assert lags == sorted(lags)


def test_lag_is_about_the_poll_delay_when_nothing_else_binds() -> None:
    """A change waits half a poll on average, and a batch takes a moment."""
    found = outcome(load(100), replace(AZURE, poll_seconds=1.0))
    assert 0.4 < found.lag_p50_seconds < 0.8
    assert found.lag_p99_seconds < 1.6


def test_the_fewest_accounts_that_keep_up() -> None:
    """One fewer does not."""
    asked = load(12_000, accounts=1, leases=200, lookups_per_second=30_000)
    accounts = accounts_needed(asked, AZURE, DEMANDS)
    assert accounts > 1
    assert keeps_up(simulate(replace(asked, accounts=accounts), AZURE, DEMANDS), AZURE)
    assert not keeps_up(simulate(replace(asked, accounts=accounts - 1), AZURE, DEMANDS), AZURE)


def test_the_most_is_where_it_stops_keeping_up() -> None:
    """Just below it does, well above it does not."""
    asked = load(100, leases=4)
    most = most_changes_per_second(asked, AZURE, DEMANDS)
    assert keeps_up(simulate(replace(asked, changes_per_second=most * 0.97), AZURE, DEMANDS), AZURE)
    assert not keeps_up(simulate(replace(asked, changes_per_second=most * 1.3), AZURE, DEMANDS), AZURE)


def test_more_facts_need_more_and_cost_more() -> None:
    """From 10 million to 10 billion, each keeps up, and the table has a row for each."""
    answers = [answer(Load.daily(facts), AZURE, DEMANDS) for facts in (1e7, 1e8, 1e9, 1e10)]
    assert all(each.keeps_up for each in answers)
    needs = [(each.accounts, each.leases, sum(each.dollars.values())) for each in answers]
    for column in zip(*needs, strict=True):
        assert list(column) == sorted(column)
    assert answers[-1].apps > 1
    lines = table(answers, DEMANDS).splitlines()
    assert len(lines) == 6
    assert "10,000,000,000" in lines[-1]
    assert "20,000 transactions/s per storage account" in assumptions(AZURE, DEMANDS)


def test_leases_follow_size_and_writes() -> None:
    """A physical partition holds 50 GB and takes 10 000 RU/s."""
    assert leases_of(Load(1e6, 1, 0), AZURE) == 1
    assert leases_of(Load(1e9, 1, 0), AZURE) == 21
    assert leases_of(Load(1e6, 5_000, 0), AZURE) == 5


def test_a_result_without_the_counts_is_refused() -> None:
    """It says what to run."""
    with pytest.raises(BenchUsageError, match="has no workload 'transactions'"):
        read_demands(Result("2026-01-01", "3.13", 2, 1, 1.0, {}))


def test_calls_at_once_are_those_of_the_measured_run() -> None:
    """As many as were out on average: calls a second, times what a call takes. Without them it is an assumption."""
    nothing = Result("2026-01-01", "3.13", 2, 1, 1.0, {})
    assert azure_of(nothing) == AZURE
    cost = Cost(Spread.of([0.001]), Spread.of([0.001]))
    updates = Measurement(UPDATES, "change", Timing("adaptive", 1, cost, {}), (), (), ())
    assert azure_of(replace(nothing, workloads={NAME: WorkloadResult("", (updates,))})) == AZURE
    updates = replace(updates, gauges=(Gauge(CALLS, "a second", 2_400),))
    assert azure_of(replace(nothing, workloads={NAME: WorkloadResult("", (updates,))})).calls_at_once == 24


def test_calls_take_cpu() -> None:
    """A change with many calls takes more of an instance, also when all of its calls are out at once."""
    busy = replace(DEMANDS, cpu_seconds_per_call=0.001)
    asked, azure = load(50_000, leases=1), replace(AZURE, calls_at_once=1_000)
    assert simulate(asked, azure, busy, QUICK_SECONDS).applied < 0.5 * simulate(asked, azure, DEMANDS, 60.0).applied
