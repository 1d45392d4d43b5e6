"""A sample instead of everything: some facts that the ledger knows, and for each of their entries its neighbour.

Facts are drawn from one ledger bucket after the other, in an order left to chance, until there are enough: buckets hold
facts by hash, so that any of them is a fair part of all. Each fact is judged as a whole. A neighbour, the entry that
follows in the partition, finds rows that no fact leads to; ghosts alone in their partition only a full verification
finds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from shared.keys.fact import fact_hash
from shared.keys.index import pair_and_version
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger_rows import LEDGER_TABLE, MARK, bucket_partition, decode, ledger_partition
from shared.pipeline.storage import place_of
from shared.pipeline.verification.examine import Who, owner_of
from shared.pipeline.verification.suspects import ALL_SCANS, Suspects
from shared.projection.rows import is_tombstone
from shared.tables.port import ROW_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.definitions.model import Source
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.generations import Generation, SourcePlan
    from shared.pipeline.ledger_rows import Live
    from shared.pipeline.storage import Accounts
    from shared.pipeline.verification.examine import Key
    from shared.pipeline.verification.judge import Judge
    from shared.pipeline.verification.report import Report

SAMPLE_MAX: Final = 10_000
_GROUP: Final = 100
_AFTER_VERSIONS: Final = "g"


class Sampling:
    """Draws facts and judges them. `chance` gives numbers from 0 up to 1."""

    def __init__(
        self,
        plan: SourcePlan,
        source: Source,
        generation: Generation,
        accounts: Accounts,
        run_all: RunAll,
        chance: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._levels = len(source.partition_key)
        self._generation = generation
        self._accounts = accounts
        self._run_all = run_all
        self._chance = chance

    async def run(self, size: int, judge: Judge, report: Report) -> None:
        """Judge so many facts with their neighbours."""
        drawn = await self._draw(size)
        for start in range(0, len(drawn), _GROUP):
            suspects = Suspects()
            for fact_key in drawn[start : start + _GROUP]:
                _suspect(suspects, Who(fact_key))
            await self._add_neighbours(suspects, drawn[start : start + _GROUP])
            await judge.judge(suspects.take(), report)
        report.counts["ledgerRows"] += len(drawn)

    async def _draw(self, size: int) -> list[str]:
        buckets = sorted(range(self._plan.buckets), key=lambda _: self._chance())
        drawn: list[str] = []
        for bucket in buckets:
            if len(drawn) < size:
                drawn += await self._draw_from(bucket, size - len(drawn))
        return drawn

    async def _draw_from(self, bucket: int, size: int) -> list[str]:
        """So many facts of a bucket, each as likely as any other (Waterman's reservoir)."""
        kept: list[str] = []
        seen = 0
        continuation = None
        rows = RowRange(bucket_partition(self._plan.source, bucket))
        while True:
            page = await self._accounts.main.query(LEDGER_TABLE, rows, select=(MARK,), continuation=continuation)
            for row in page.rows:
                seen += 1
                place = int(self._chance() * seen)
                if len(kept) < size:
                    kept.append(cast(str, row.entity[ROW_KEY]))
                elif place < size:
                    kept[place] = cast(str, row.entity[ROW_KEY])
            continuation = page.continuation
            if continuation is None:
                return kept

    async def _add_neighbours(self, suspects: Suspects, drawn: Sequence[str]) -> None:
        live = await all_of(self._run_all, [partial(self._live, fact_key) for fact_key in drawn])
        entries = [entry for one in live for entry in one]
        for found in await all_of(self._run_all, [partial(self._neighbour, entry) for entry in entries]):
            if found is not None:
                who, key = found
                _suspect(suspects, who, key)

    async def _live(self, fact_key: str) -> tuple[Live, ...]:
        partition = ledger_partition(self._plan.source, fact_hash(fact_key), self._plan.buckets)
        row = await self._accounts.main.get(LEDGER_TABLE, partition, fact_key)
        part = None if row is None else decode(row.entity).parts.get(self._generation.id)
        return () if part is None else part.live

    async def _neighbour(self, live: Live) -> tuple[Who, Key] | None:
        """The entry after this one; None when there is none, or a tombstone."""
        place = place_of(self._generation, live.partition)
        tables = self._accounts.tables(place.account)
        page = await tables.query(place.table, RowRange(live.partition, live.pair + _AFTER_VERSIONS), limit=1)
        if not page.rows or is_tombstone(page.rows[0].entity):
            return None
        entity = page.rows[0].entity
        pair, _ = pair_and_version(cast(str, entity[ROW_KEY]))
        return owner_of(entity, pair, self._levels), (live.partition, pair)


def _suspect(suspects: Suspects, who: Who, key: Key | None = None) -> None:
    """Nothing has cleared a sampled fact of anything."""
    for scan in ALL_SCANS:
        suspects.add(who, scan, key)
