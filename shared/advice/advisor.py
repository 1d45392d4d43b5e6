"""Advises on every index: samples what serves it, adds what was counted, and applies the rules of `advice`.

An answer costs a bounded number of storage transactions and is kept for a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.advice.rules import Advice, AdvisedIndex, Usage, advise
from shared.advice.statistics import Statistics
from shared.catalog.plans import source_plan
from shared.catalog.rows import CatalogSnapshot
from shared.definitions.loading.advice import advise as advise_on_definitions
from shared.definitions.loading.findings import Findings
from shared.errors import TableMissingError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from shared.advice.advice_json import AdviceReportJson, AdvisedIndexJson
    from shared.advice.sampling import Sampler
    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration
    from shared.definitions.model import Definitions, Index
    from shared.entries.projection.generations import SourcePlan
    from shared.monitoring.counters import Totals
    from shared.monitoring.prices import Price

KEPT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class AdvisorDependencies:
    """What advice is made from."""

    catalog: Catalog
    sampler: Sampler
    totals: Callable[[], Awaitable[Totals]]
    prices: Mapping[str, Price]
    now_seconds: Callable[[], float]


class Advisor:
    """Advises on the indexes of an app."""

    def __init__(self, definitions: Definitions, sources: AdvisorDependencies) -> None:
        self._definitions = definitions
        self._sources = sources
        self._kept: tuple[float, AdviceReportJson] | None = None

    async def report(self) -> AdviceReportJson:
        """Statistics and advice for every index, as JSON."""
        now_seconds = self._sources.now_seconds()
        if self._kept is None or not 0 <= now_seconds - self._kept[0] < KEPT_SECONDS:
            self._kept = now_seconds, await self._report(now_seconds)
        return self._kept[1]

    async def _report(self, now_seconds: float) -> AdviceReportJson:
        snapshot = await self._snapshot()
        totals = await self._sources.totals()
        static = _static_advice(self._definitions)
        shown = []
        for name, source in self._definitions.sources.items():
            indexes = [(one, snapshot.serving(one.name, now_seconds)) for one in self._definitions.indexes_of(name)]
            plan = _only(source_plan(snapshot, source), {one.id for _, one in indexes if one is not None})
            sampled = await self._sources.sampler.statistics(plan)
            for index, serving in indexes:
                subject = self._subject(index, serving, sampled, totals, now_seconds)
                shown.append(_shown(subject, serving, [*static.get(index.name, ()), *advise(subject)]))
        return {"indexes": sorted(shown, key=lambda index: index["name"])}

    async def _snapshot(self) -> CatalogSnapshot:
        try:
            return await self._sources.catalog.read()
        except TableMissingError:
            return CatalogSnapshot()  # no worker has started yet

    def _subject(
        self,
        index: Index,
        serving: CatalogGeneration | None,
        sampled: Mapping[str, Statistics],
        totals: Totals,
        now_seconds: float,
    ) -> AdvisedIndex:
        counts = totals.of("index", index.name)
        since = totals.since_seconds
        usage = Usage(
            0 if since is None else max(0.0, now_seconds - since),
            counts["entries_written"],
            counts["entries_removed"],
            counts["lookups"],
            counts["rows_read"],
            counts["entries_returned"],
            None if serving is None else totals.of("table", serving.table)["changes"],
        )
        statistics = Statistics() if serving is None else sampled.get(serving.id, Statistics())
        prices = self._sources.prices
        # What serves may have another layout than the definitions, as long as its successor is not built.
        described = index if serving is None else serving.definition
        return AdvisedIndex(described, statistics, usage, prices["tableTransactions"], prices["tableStorage"])


def _only(plan: SourcePlan, wanted: AbstractSet[str]) -> SourcePlan:
    """The plan with nothing but these generations. Others may wait for their end on an account that has gone."""
    return replace(plan, generations=tuple(one for one in plan.generations if one.id in wanted))


def _static_advice(definitions: Definitions) -> dict[str, list[Advice]]:
    """What the definitions alone show, by index."""
    findings = Findings("indexes.yaml")
    advise_on_definitions(definitions, findings)
    found: dict[str, list[Advice]] = {}
    for one in findings.advice:
        root, _, rest = one.key.partition(".")
        if root == "indexes":
            found.setdefault(rest.partition(".")[0], []).append(Advice("definition", one.what, one.mend))
    return found


def _shown(subject: AdvisedIndex, serving: CatalogGeneration | None, found: Iterable[Advice]) -> AdvisedIndexJson:
    statistics, usage = subject.statistics, subject.usage
    return {
        "name": subject.index.name,
        "generation": None if serving is None else serving.id,
        "statistics": {
            "factsSampled": statistics.facts,
            "entriesSampled": statistics.entries,
            "ledgerShare": None if statistics.share is None else round(statistics.share, 4),
            "entries": statistics.entries_estimated,
            "partitions": statistics.partitions_estimated,
            "largestShare": round(statistics.largest_share, 4),
            "top": [
                {"values": dict(one.values), "entries": one.entries, "share": round(one.share, 4), "shards": one.shards}
                for one in statistics.top
            ],
            "entryBytes": statistics.entry_bytes,
        },
        "usage": {
            "seconds": round(usage.seconds),
            "changesPerSecond": _ratio(usage.changes, usage.seconds),
            "lookups": usage.lookups,
            "changesPerLookup": _ratio(usage.changes, usage.lookups),
            "rowsReadPerEntry": _ratio(usage.rows_read, usage.entries_returned),
        },
        "advice": [
            {
                "code": one.code,
                "what": one.what,
                "mend": one.mend,
                "dollarsPerMonth": None if one.dollars_per_month is None else round(one.dollars_per_month, 4),
                "change": dict(one.change) or None,
            }
            for one in found
        ],
    }


def _ratio(count: float, base: float) -> float | None:
    return round(count / base, 4) if base else None
