"""Advises on every index: samples the generation that serves, adds the counters, and applies the rules of `rules`.

An answer costs a bounded number of storage transactions and is kept for a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.advice.rules import Advice, AdvisedIndex, Usage, advise
from shared.advice.statistics import IndexStatistics
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

    def __init__(self, definitions: Definitions, dependencies: AdvisorDependencies) -> None:
        self._definitions = definitions
        self._dependencies = dependencies
        self._kept: tuple[float, AdviceReportJson] | None = None

    async def report(self) -> AdviceReportJson:
        """Statistics and advice for every index, as JSON."""
        now_seconds = self._dependencies.now_seconds()
        if self._kept is None or not 0 <= now_seconds - self._kept[0] < KEPT_SECONDS:
            self._kept = now_seconds, await self._report(now_seconds)
        return self._kept[1]

    async def _report(self, now_seconds: float) -> AdviceReportJson:
        snapshot = await self._snapshot()
        totals = await self._dependencies.totals()
        static = _static_advice(self._definitions)
        indexes_json = []
        for name, source in self._definitions.sources.items():
            indexes = [
                (index, snapshot.serving(index.name, now_seconds)) for index in self._definitions.indexes_of(name)
            ]
            plan = _only(source_plan(snapshot, source), {serving.id for _, serving in indexes if serving is not None})
            sampled = await self._dependencies.sampler.statistics(plan)
            for index, serving in indexes:
                advised = self._advised(index, serving, sampled, totals, now_seconds)
                indexes_json.append(_index_json(advised, serving, [*static.get(index.name, ()), *advise(advised)]))
        return {"indexes": sorted(indexes_json, key=lambda index: index["name"])}

    async def _snapshot(self) -> CatalogSnapshot:
        try:
            return await self._dependencies.catalog.read()
        except TableMissingError:
            return CatalogSnapshot()  # no worker has started yet

    def _advised(
        self,
        index: Index,
        serving: CatalogGeneration | None,
        sampled: Mapping[str, IndexStatistics],
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
        statistics = IndexStatistics() if serving is None else sampled.get(serving.id, IndexStatistics())
        prices = self._dependencies.prices
        # The serving generation may have another layout than the definitions until its successor is built.
        described = index if serving is None else serving.definition
        return AdvisedIndex(described, statistics, usage, prices["tableTransactions"], prices["tableStorage"])


def _only(plan: SourcePlan, wanted: AbstractSet[str]) -> SourcePlan:
    """The plan with these generations only. A retired one may be on an account that no longer exists."""
    return replace(plan, generations=tuple(generation for generation in plan.generations if generation.id in wanted))


def _static_advice(definitions: Definitions) -> dict[str, list[Advice]]:
    """Advice that follows from the definitions alone, by index."""
    findings = Findings("indexes.yaml")
    advise_on_definitions(definitions, findings)
    found: dict[str, list[Advice]] = {}
    for finding in findings.advice:
        root, _, rest = finding.key.partition(".")
        if root == "indexes":
            found.setdefault(rest.partition(".")[0], []).append(Advice("definition", finding.what, finding.fix))
    return found


def _index_json(advised: AdvisedIndex, serving: CatalogGeneration | None, found: Iterable[Advice]) -> AdvisedIndexJson:
    statistics, usage = advised.statistics, advised.usage
    return {
        "name": advised.index.name,
        "generation": None if serving is None else serving.id,
        "statistics": {
            "factsSampled": statistics.facts,
            "entriesSampled": statistics.entries,
            "ledgerShare": None if statistics.share is None else round(statistics.share, 4),
            "entries": statistics.entries_estimated,
            "partitions": statistics.partitions_estimated,
            "largestShare": round(statistics.largest_share, 4),
            "top": [
                {"values": dict(top.values), "entries": top.entries, "share": round(top.share, 4), "shards": top.shards}
                for top in statistics.top
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
                "code": advice.code,
                "what": advice.what,
                "mend": advice.fix,
                "dollarsPerMonth": None if advice.dollars_per_month is None else round(advice.dollars_per_month, 4),
                "change": dict(advice.change) or None,
            }
            for advice in found
        ],
    }


def _ratio(count: float, base: float) -> float | None:
    return round(count / base, 4) if base else None
