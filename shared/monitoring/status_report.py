"""The status as JSON. Values that could not be read are null, and `unknown` says why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.definitions.identity import generation_id
from shared.definitions.instants import instant_text
from shared.monitoring.counters import Totals
from shared.monitoring.prices import MILLION
from shared.tables.limiter.calls import FEW_READ, FEW_WRITTEN, Priority

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

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
        LimiterStatusJson,
        OwedStatusJson,
        ServingStatusJson,
        SourceStatusJson,
        StatusJson,
        TaskStatusJson,
    )
    from shared.tables.breaker import BreakerSnapshot
    from shared.tables.limiter.gate import GateSnapshot
    from shared.tasks.rows import Progress


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What was read for one status; None for what could not be read."""

    at_seconds: float
    lags: Mapping[str, Lag]
    is_reachable: bool
    breaker: BreakerSnapshot
    # By account: what this instance does with its calls.
    gates: Mapping[str, GateSnapshot] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    catalog: CatalogSnapshot | None = None
    tasks: Sequence[Progress] | None = None
    dead_letters: OpenDeadLetters | None = None
    unknown: Sequence[str] = ()
    # The accounts that this instance takes for dead.
    down: AbstractSet[str] = frozenset()
    # Why a changed definitions file is not served.
    definition_faults: Sequence[str] = ()


class StatusReport:
    """Makes the status of the sources and indexes of an app."""

    def __init__(self, definitions: Definitions, transaction_price: Price, price_date: str) -> None:
        self._definitions = definitions
        self._price = transaction_price
        self._price_date = price_date

    def as_json(self, facts: StatusFacts) -> StatusJson:
        """The whole status."""
        since = facts.totals.since_seconds
        return {
            "at": instant_text(facts.at_seconds),
            "unknown": list(facts.unknown),
            "definitionFaults": list(facts.definition_faults),
            "sources": [self._source(source, facts) for source in self._definitions.sources.values()],
            "indexes": [self._index(index, facts) for index in self._definitions.indexes.values()],
            "tasks": None if facts.tasks is None else [_task(task) for task in facts.tasks],
            "deadLetters": _dead_letters(facts.dead_letters),
            "storage": {
                "isReachable": facts.is_reachable,
                "breaker": _breaker(facts.breaker),
                "accounts": _accounts(facts),
            },
            "counters": {"sinceSeconds": since, "instances": facts.totals.instances},
            "prices": {
                "date": self._price_date,
                "currency": "USD",
                "perMillionTransactions": round(self._price.of(MILLION), 6),
            },
        }

    def _source(self, source: Source, facts: StatusFacts) -> SourceStatusJson:
        lag = facts.lags[source.name]
        counts = facts.totals.of("source", source.name)
        dead_letters = facts.dead_letters
        return {
            "name": source.name,
            "lagSeconds": lag.seconds,
            "applied": counts["applied"],
            "dropped": counts["dropped"],
            "clockWentBack": counts["dropped_with_higher_lsn"],
            "redelivered": counts["redelivered"],
            "deadLetters": None if dead_letters is None else dead_letters.by_source.get(source.name, 0),
            "deadLettered": counts["dead_letters"],
            "deadLettersNotKept": counts["dead_letters_not_kept"],
            "ignored": counts["ignored"],
            "transactions": counts["transactions"],
            "dollarsPerMillionChanges": self._per_million(counts["transactions"], counts["applied"]),
        }

    def _index(self, index: Index, facts: StatusFacts) -> IndexStatusJson:
        counts = facts.totals.of("index", index.name)
        own = None if facts.catalog is None else facts.catalog.of_index(index.name)
        spent: IndexTransactionsJson = {
            "changes": _sent(own, facts.totals, "changes"),
            "lookups": _sent(own, facts.totals, "lookups"),
        }
        return {
            "name": index.name,
            "source": index.source,
            **self._serving(index, facts),
            "lagSeconds": facts.lags[index.source].seconds,
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
            "generations": [_generation(generation) for generation in own or ()],
        }

    def _serving(self, index: Index, facts: StatusFacts) -> ServingStatusJson:
        """State and serving generation of the index, as in the answer of `/api/indexes`."""
        if facts.catalog is None:
            return {"state": "unknown", "generation": None}
        serving = facts.catalog.serving(index.name, facts.at_seconds)
        if serving is not None and not serving.is_retired:
            return {"state": "serving", "generation": serving.id}
        own = facts.catalog.of_index(index.name)
        if any(not generation.is_retired for generation in own) or facts.catalog.knows(index.source):
            return {"state": "building", "generation": None}
        # No worker has started yet, so its table is empty or missing.
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
    return sum(totals.of("table", table)[purpose] for table in {generation.table for generation in own})


def _generation(generation: CatalogGeneration) -> GenerationStatusJson:
    verified = generation.verified
    return {
        "id": generation.id,
        "state": generation.state,
        "table": generation.table,
        "enteredAtSeconds": generation.entered_at,
        "builtAtSeconds": generation.built_at,
        "verifiedAtSeconds": None if verified is None else verified.at_seconds,
        "differences": None if verified is None else verified.differences,
    }


def _task(progress: Progress) -> TaskStatusJson:
    """A long task, such as a build: its progress and its counts."""
    return {
        "id": progress.task.id,
        "kind": progress.task.kind,
        "about": dict(progress.task.about),
        "state": progress.task.state,
        "startedAtSeconds": progress.task.started_at,
        "endedAtSeconds": progress.task.ended_at,
        "problem": progress.task.problem,
        "slices": len(progress.slices),
        "slicesDone": sum(work_slice.is_done for work_slice in progress.slices),
        "counts": progress.counts,
    }


def _breaker(seen: BreakerSnapshot) -> BreakerStatusJson:
    """What this instance has seen of the storage."""
    return {
        "state": seen.state,
        "failures": seen.failures,
        "openForSeconds": _rounded(seen.open_for_seconds),
        "lastError": seen.last_error,
        "lastOutageSeconds": _rounded(seen.last_outage_seconds),
    }


def _accounts(facts: StatusFacts) -> list[AccountStatusJson]:
    owed = {} if facts.catalog is None else facts.catalog.owed
    return [
        _account(name, facts) for name in sorted({*facts.totals.names("account"), *owed, *facts.down, *facts.gates})
    ]


def _account(name: str, facts: StatusFacts) -> AccountStatusJson:
    """The requests to a storage account, by the name of its connection, whether it answers, and what it is owed."""
    counts = facts.totals.of("account", name)
    gate = facts.gates.get(name)
    return {
        "name": name,
        "transactions": {"changes": counts["changes"], "lookups": counts["lookups"]},
        "answers": name not in facts.down,
        "owed": _owed(name, facts.catalog),
        "limiter": None if gate is None else _limiter(gate),
    }


def _owed(name: str, catalog: CatalogSnapshot | None) -> OwedStatusJson | None:
    owed = None if catalog is None else catalog.owed.get(name)
    if owed is None or catalog is None:
        return None
    return {
        "facts": owed.facts,
        "hasMore": owed.has_more,
        "sinceSeconds": owed.since_seconds,
        "indexes": catalog.indexes_owing(name),
    }


def _limiter(gate: GateSnapshot) -> LimiterStatusJson:
    cut = gate.last_cut
    return {
        "limit": gate.limit,
        "limitMax": gate.most,
        "inFlight": gate.in_flight,
        "waiting": {
            "callers": gate.waiting[Priority.CALLER],
            "feed": gate.waiting[Priority.FEED],
            "background": gate.waiting[Priority.BACKGROUND],
        },
        "readMilliseconds": _milliseconds(gate.quiet_seconds.get(FEW_READ)),
        "writeMilliseconds": _milliseconds(gate.quiet_seconds.get(FEW_WRITTEN)),
        "latencyRatio": round(gate.ratio, 2),
        "lastCut": None
        if cut is None
        else {
            "reason": cut.reason,
            "secondsAgo": round(gate.cut_seconds_ago or 0.0, 1),
            "before": int(cut.before),
            "after": int(cut.after),
        },
        "pacedPartitions": len(gate.paced),
    }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _dead_letters(found: OpenDeadLetters | None) -> DeadLetterStatusJson:
    if found is None:
        return {"count": None, "hasMore": False, "reasons": []}
    return {
        "count": sum(found.by_source.values()),
        "hasMore": bool(found.has_more),
        "reasons": [
            {
                "source": failure.source,
                "index": failure.index_name or None,
                "kind": failure.kind,
                "count": count,
                "reason": reason,
            }
            for failure, count, reason in found.failures
        ],
    }
