"""The simulator's answers as Markdown, and the assumptions behind them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from bench.formats import aligned, number
from bench.model.azure import FACT_BYTES
from bench.model.demand import MIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.model.answers import Answer
    from bench.model.azure import Azure
    from bench.model.demand import Demands

_WIDTH = 118
HEADINGS = (
    "facts", "changes/s", "transactions per change", "lag, median", "lag, p99", "keeps up", "apps", "accounts",
    "leases", "at most, changes/s", "what binds first", "dollars a month",
)  # fmt: skip


def table(answers: Sequence[Answer], demands: Demands) -> str:
    """One row for each load."""
    return "\n".join(aligned([HEADINGS, *(_row(each, demands) for each in answers)]))


def _row(answer: Answer, demands: Demands) -> tuple[str, ...]:
    outcome = answer.outcome
    return (
        f"{answer.load.facts:,.0f}",
        rounded(answer.load.changes_per_second),
        number(demands.at(outcome.mean_batch).transactions),
        f"{number(outcome.lag_p50_seconds)} s",
        f"{number(outcome.lag_p99_seconds)} s",
        "yes" if answer.keeps_up else "no",
        str(answer.apps),
        str(answer.accounts),
        str(answer.leases),
        rounded(answer.most_changes_per_second),
        answer.limited_by,
        f"≈ {rounded(sum(answer.dollars.values()))}",
    )


def rounded(value: float) -> str:
    """Three digits are enough for a model."""
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else number(value)


def assumptions(azure: Azure, demands: Demands) -> str:
    """What the answers rest on, in a list."""
    return "\n".join(
        textwrap.fill(f"- {sentence}", _WIDTH, subsequent_indent="  ")
        for sentence in (*_of_azure(azure), *_of_changes(azure, demands), *_of_prices())
    )


def _of_azure(azure: Azure) -> Iterator[str]:
    yield (
        f"Limits: {azure.account_transactions_per_second:,.0f} transactions/s per storage account and "
        f"{azure.partition_entities_per_second:,.0f} entities/s per partition, served in the order of requests."
    )
    yield (
        f"A call takes {azure.call_seconds * 1000:g} ms, with {azure.calls_at_once} calls at once per instance. "
        "Azure promises no latency; give your own with `--call-ms`."
    )
    yield (
        f"A fact is {FACT_BYTES:,} bytes. Cosmos DB has a physical partition, and so a lease, for each "
        f"{azure.physical_partition_bytes / 1e9:g} GB or {azure.physical_partition_units:,.0f} RU/s, at "
        f"{azure.units_per_write:g} RU per write; more where the instances need it (raise the container's RU/s "
        f"once, and lower it again). One instance at a time follows a lease; there are at most {azure.instances_max:,}."
    )


def _of_changes(azure: Azure, demands: Demands) -> Iterator[str]:
    mix = ", ".join(f"{share:.0%} {kind}" for kind, share in MIX.items())
    yield (
        f"The ledger has {azure.ledger_partitions} partitions in one account. Entries are spread evenly over all "
        "accounts of an app. No fact is in a cache."
    )
    yield f"Operation counts are those of the measured run, for this mix: {mix}."
    yield (
        f"CPU is that of the measured run: {demands.cpu_seconds * 1e6:.0f} µs per change and "
        f"{demands.cpu_seconds_per_call * 1e6:.0f} µs per call. No call is under way meanwhile."
    )
    yield (
        f"A drained lease looks again after {azure.poll_seconds:g} s, and a batch has at most {azure.batch_max:,} "
        "changes. Changes arrive evenly: peaks need room above the average."
    )


def _of_prices() -> Iterator[str]:
    yield (
        "Prices are list prices without free grants. A lookup is one transaction, and two calls' time of an instance "
        "that does nothing else meanwhile, the expensive case. Facts and their writes are the application's."
    )
