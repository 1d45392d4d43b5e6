"""The shape of the answer with statistics and advice for each index."""

from __future__ import annotations

from typing import Any, TypedDict

from shared.definitions.answer_types import Amount, Count


class TopPartitionJson(TypedDict):
    """One of the largest partitions of an index."""

    values: dict[str, Any]
    entries: Count
    share: Amount
    shards: Count


class StatisticsJson(TypedDict):
    """An index in numbers, from a sample."""

    factsSampled: Count
    entriesSampled: Count
    ledgerShare: Amount | None
    entries: Count
    partitions: Count
    largestShare: Amount
    top: list[TopPartitionJson]
    entryBytes: Count | None


class UsageJson(TypedDict):
    """What was counted for an index."""

    seconds: Count
    changesPerSecond: Amount | None
    lookups: Count
    changesPerLookup: Amount | None
    rowsReadPerEntry: Amount | None


class AdviceJson(TypedDict):
    """One piece of advice."""

    code: str
    what: str
    mend: str
    dollarsPerMonth: float | None
    change: dict[str, Any] | None


class AdvisedIndexJson(TypedDict):
    """An index with its statistics and the advice for it."""

    name: str
    generation: str | None
    statistics: StatisticsJson
    usage: UsageJson
    advice: list[AdviceJson]


class AdviceReportJson(TypedDict):
    """All indexes, by name."""

    indexes: list[AdvisedIndexJson]
