"""The charts of docs/performance.md, by file name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.formats import number
from bench.model.money import lookup_bills
from bench.model.scale_text import rounded
from bench.report import svg
from bench.workloads.transactions import BATCHES, SCATTERED, SHARED, per_change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.measure.measurement import Measurement
    from bench.measure.result import Result
    from bench.model.answers import Answer
    from bench.model.azure import Azure

BULK, TRANSACTIONS, LOOKUPS = "bulk-load.svg", "transactions.svg", "lookups.svg"
RATE, DOLLARS, LOOKUP_DOLLARS = "scale-rate.svg", "scale-cost.svg", "lookup-cost.svg"
_DRAWN_KINDS = {"insert": 0, "update in place": 2}


def charts(result: Result, answers: Sequence[Answer], azure: Azure) -> dict[str, str]:
    """All charts."""
    return {
        BULK: bulk_load(result.measurement("apply", "bulk load into 3 indexes")),
        TRANSACTIONS: transactions([result.measurement("transactions", kind) for kind in _DRAWN_KINDS]),
        LOOKUPS: lookups(result.workloads["lookup"].measurements),
        RATE: rate(answers),
        DOLLARS: monthly(answers),
        LOOKUP_DOLLARS: lookup_dollars([answer.load.facts for answer in answers], azure),
    }


def bulk_load(measurement: Measurement) -> str:
    """Facts per second: ours, the raw limit, the obvious way."""
    timings = [measurement.subject, *measurement.yardsticks]
    rows = [
        svg.Bar(timing.name, rate, f"{rounded(rate)} facts/s", colour)
        for colour, timing in enumerate(timings)
        for rate in [1 / timing.seconds.wall.median]
    ]
    return svg.bars("Bulk load into 3 indexes on Azurite: more is better", rows)


def transactions(measurements: Sequence[Measurement]) -> str:
    """Storage transactions per change, by the size of the batch."""
    drawn = [
        svg.Line(
            f"{measurement.name}, {timing.name}",
            [(batch, per_change(timing.counts, batch)) for batch in BATCHES],
            _DRAWN_KINDS[measurement.name] + (timing.name == SHARED),
        )
        for measurement in measurements
        for timing in (measurement.subject, *measurement.yardsticks)
        if timing.name in {SCATTERED, SHARED}
    ]
    return svg.lines("Storage transactions per change, 3 indexes", "changes in a batch", drawn)


def lookups(measurements: Sequence[Measurement]) -> str:
    """How much longer than a bare query."""
    rows = [
        svg.Bar(measurement.name, ratio.times.wall.median, f"{number(ratio.times.wall.median)} times")
        for measurement in measurements
        for ratio in measurement.ratios
    ]
    return svg.bars("Lookups: time as a multiple of the bare query for the same rows", rows)


def rate(answers: Sequence[Answer]) -> str:
    """What is asked for, and what would be possible."""
    asked = [(answer.load.facts, answer.load.changes_per_second) for answer in answers]
    most = [(answer.load.facts, answer.most_changes_per_second) for answer in answers]
    accounts = [(answer.load.facts, float(answer.accounts)) for answer in answers]
    return svg.lines(
        "Scale, simulated: each fact changes once a day",
        "facts",
        [
            svg.Line("changes/s asked for", asked, 0),
            svg.Line("changes/s at most", most, 3),
            svg.Line("storage accounts", accounts, 2),
        ],
    )


def monthly(answers: Sequence[Answer]) -> str:
    """Dollars a month by what is paid for."""
    parts = ("functions", "storage transactions", "storage capacity", "following the feed")
    return svg.lines(
        "Dollars a month, simulated: each fact changes and is looked up once a day",
        "facts",
        [
            svg.Line(part, [(answer.load.facts, answer.dollars[part]) for answer in answers], colour)
            for colour, part in enumerate(parts)
        ],
    )


def lookup_dollars(sizes: Sequence[float], azure: Azure) -> str:
    """A million lookups, ours and Cosmos DB's."""
    columns = [lookup_bills(facts, azure) for facts in sizes]
    # Serverless is as far above provisioned throughput everywhere: left out.
    chosen = {0: 0, 1: 3, 3: 2, 4: 1}
    drawn = [
        svg.Line(
            columns[0][row].name, [(facts, column[row].total) for facts, column in zip(sizes, columns, strict=True)], c
        )
        for row, c in chosen.items()
    ]
    return svg.lines("Dollars per million lookups", "facts", drawn)
