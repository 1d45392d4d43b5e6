"""The status as JSON, made from what could be learnt; what could not is null, and `unknown` says why."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shared.definitions.identity import generation_id
from shared.monitoring.counters import Totals
from shared.monitoring.prices import MILLION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions, Index, Source
    from shared.monitoring.counters import Purpose
    from shared.monitoring.lag import Lag
    from shared.monitoring.open_dead_letters import OpenDeadLetters
    from shared.monitoring.prices import Price
    from shared.monitoring.status_json import (
        AccountStatusJson,
        BreakerStatusJson,
        DeadLetterStatusJson,
        GenerationStatusJson,
        IndexStatusJson,
        IndexTransactionsJson,
        ServingStatusJson,
        SourceStatusJson,
        StatusJson,
        TaskStatusJson,
    )
    from shared.tables.breaker import BreakerSnapshot
    from shared.tasks.rows import Progress


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What was learnt for one status; None for what could not be."""

    at_seconds: float
    lags: Mapping[str, Lag]
    is_reachable: bool
    breaker: BreakerSnapshot
    totals: Totals = field(default_factory=Totals)
    catalog: CatalogSnapshot | None = None
    tasks: Sequence[Progress] | None = None
    dead_letters: OpenDeadLetters | None = None
    unknown: Sequence[str] = ()


class StatusReport:
    """Shows findings about the sources and indexes of an app."""

    def __init__(self, definitions: Definitions, transaction_price: Price, price_date: str) -> None:
        self._definitions = definitions
        self._price = transaction_price
        self._price_date = price_date

    def shown(self, findings: StatusFacts) -> StatusJson:
        """The whole status."""
        since = findings.totals.since_seconds
        return {
            "at": _iso(findings.at_seconds),
            "unknown": list(findings.unknown),
            "sources": [self._source(one, findings) for one in self._definitions.sources.values()],
            "indexes": [self._index(one, findings) for one in self._definitions.indexes.values()],
            "tasks": None if findings.tasks is None else [_task(one) for one in findings.tasks],
            "deadLetters": _letters(findings.dead_letters),
            "storage": {
                "isReachable": findings.is_reachable,
                "breaker": _breaker(findings.breaker),
                "accounts": [_account(name, findings.totals) for name in sorted(findings.totals.names("account"))],
            },
            "counters": {"sinceSeconds": since, "instances": findings.totals.instances},
            "prices": {
                "date": self._price_date,
                "currency": "USD",
                "perMillionTransactions": round(self._price.of(MILLION), 6),
            },
        }

    def _source(self, source: Source, findings: StatusFacts) -> SourceStatusJson:
        lag = findings.lags[source.name]
        counts = findings.totals.of("source", source.name)
        letters = findings.dead_letters
        return {
            "name": source.name,
            "lagSeconds": lag.seconds,
            "applied": counts["applied"],
            "dropped": counts["dropped"],
            "redelivered": counts["redelivered"],
            "deadLetters": None if letters is None else letters.by_source.get(source.name, 0),
            "deadLettered": counts["dead_letters"],
            "transactions": counts["transactions"],
            "dollarsPerMillionChanges": self._per_million(counts["transactions"], counts["applied"]),
        }

    def _index(self, index: Index, findings: StatusFacts) -> IndexStatusJson:
        counts = findings.totals.of("index", index.name)
        own = None if findings.catalog is None else findings.catalog.of_index(index.name)
        spent: IndexTransactionsJson = {
            "changes": _sent(own, findings.totals, "changes"),
            "lookups": _sent(own, findings.totals, "lookups"),
        }
        return {
            "name": index.name,
            "source": index.source,
            **self._serving(index, findings),
            "lagSeconds": findings.lags[index.source].seconds,
            "entriesWritten": counts["entries_written"],
            "entriesRemoved": counts["entries_removed"],
            "lookups": counts["lookups"],
            "rowsRead": counts["rows_read"],
            "entriesReturned": counts["entries_returned"],
            "transactions": spent,
            "dollarsPerMillionEntries": self._per_million(
                spent["changes"], counts["entries_written"] + counts["entries_removed"]
            ),
            "dollarsPerMillionLookups": self._per_million(spent["lookups"], counts["lookups"]),
            "generations": [_generation(one) for one in own or ()],
        }

    def _serving(self, index: Index, findings: StatusFacts) -> ServingStatusJson:
        """What the index is to those who look it up, as `/api/indexes` tells it."""
        if findings.catalog is None:
            return {"state": "unknown", "generation": None}
        serving = findings.catalog.serving(index.name, findings.at_seconds)
        if serving is not None and serving.is_written:
            return {"state": "serving", "generation": serving.id}
        own = findings.catalog.of_index(index.name)
        if any(one.is_written for one in own) or findings.catalog.knows(index.source):
            return {"state": "building", "generation": None}
        # No worker has started yet, so that its table is empty or not there.
        source = self._definitions.sources[index.source]
        return {"state": "serving", "generation": generation_id(index, source)}

    def _per_million(self, transactions: int | None, units: int) -> float | None:
        """What the transactions of a million units cost; None before the first of them."""
        if transactions is None or not units:
            return None
        return round(self._price.of(transactions / units * MILLION), 6)


def _sent(own: Sequence[CatalogGeneration] | None, totals: Totals, purpose: Purpose) -> int | None:
    """Storage transactions on the tables of an index, whatever their generation."""
    if own is None:
        return None
    return sum(totals.of("table", table)[purpose] for table in {one.table for one in own})


def _generation(one: CatalogGeneration) -> GenerationStatusJson:
    verified = one.verified
    return {
        "id": one.id,
        "state": one.state,
        "table": one.table,
        "enteredAtSeconds": one.entered_at,
        "builtAtSeconds": one.built_at,
        "verifiedAtSeconds": None if verified is None else verified.at_seconds,
        "differences": None if verified is None else verified.differences,
    }


def _task(one: Progress) -> TaskStatusJson:
    """A long task, such as a build: how far it is, and what it has done."""
    return {
        "id": one.task.id,
        "kind": one.task.kind,
        "about": dict(one.task.about),
        "state": one.task.state,
        "startedAtSeconds": one.task.started_at,
        "endedAtSeconds": one.task.ended_at,
        "problem": one.task.problem,
        "slices": len(one.slices),
        "slicesDone": sum(part.is_done for part in one.slices),
        "counts": one.counts,
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _breaker(seen: BreakerSnapshot) -> BreakerStatusJson:
    """What this instance has seen of the storage."""
    return {
        "state": seen.state,
        "failures": seen.failures,
        "openForSeconds": _rounded(seen.open_for_seconds),
        "lastError": seen.last_error,
        "lastOutageSeconds": _rounded(seen.last_outage_seconds),
    }


def _account(name: str, totals: Totals) -> AccountStatusJson:
    """What was asked of a storage account, by the name of its connection."""
    counts = totals.of("account", name)
    return {"name": name, "transactions": {"changes": counts["changes"], "lookups": counts["lookups"]}}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _letters(letters: OpenDeadLetters | None) -> DeadLetterStatusJson:
    if letters is None:
        return {"count": None, "hasMore": False, "reasons": []}
    return {
        "count": sum(letters.by_source.values()),
        "hasMore": bool(letters.has_more),
        "reasons": [
            {
                "source": failure.source,
                "index": failure.index_name or None,
                "kind": failure.kind,
                "count": count,
                "reason": reason,
            }
            for failure, count, reason in letters.failures
        ],
    }
