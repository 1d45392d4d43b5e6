"""Samples an index: ledger rows by the bucket, and a few rows of its table. The cost is bounded: 50 pages of the
ledger per source, and for each index at most 20 pages of its own.

Facts are put into ledger buckets by a hash, so the facts of one bucket are a fair sample of all. Buckets are read until
the pages are used up, a thousand facts each; of a small source that is all of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from shared.advice.statistics import TOP, EntryTally, IndexStatistics, TopPartition
from shared.catalog.period_tables import tables_of
from shared.definitions.utf16 import utf16_length
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.keys.limits import KEY_UNITS
from shared.entries.projection.generations import place_of
from shared.entries.rows.columns import KEY, entity_bytes, take_text
from shared.entries.rows.entry_row import is_tombstone
from shared.entries.rows.json_text import loads
from shared.errors import TableMissingError
from shared.pipeline.ledger.debts import facts_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, bucket_partition, decode
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.tables.port import PARTITION_KEY, ROW_KEY, Page, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shared.catalog.period_tables import PeriodTable
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.rows.columns import Columns
    from shared.pipeline.ledger.rows import LedgerRow
    from shared.tables.accounts import Accounts
    from shared.tables.port import Row

    # With a PartitionKey of an entry of each partition.
    Tallies: TypeAlias = Mapping[str, tuple[Generation, IndexKeys, EntryTally, dict[str, str]]]

PAGES_MAX: Final = 50
_ROWS: Final = 100
# Entry sizes come from the first table with entries. The own table of an index with periods may be empty.
_TABLES_TRIED: Final = 15


class Sampler:
    """Reads samples from the storage accounts of a pipeline."""

    def __init__(self, accounts: Accounts, now_seconds: Callable[[], float], pages_max: int = PAGES_MAX) -> None:
        self._accounts = accounts
        self._now_seconds = now_seconds
        self._pages_max = pages_max

    async def statistics(self, plan: SourcePlan) -> dict[str, IndexStatistics]:
        """The statistics of every generation of a source, by id."""
        tallies: Tallies = {
            generation.id: (generation, IndexKeys(generation.index), EntryTally(), {})
            for generation in plan.generations
        }
        share = await self._read_ledger(plan, tallies)
        return {identity: await self._statistics(*tallied, share) for identity, tallied in tallies.items()}

    async def _read_ledger(self, plan: SourcePlan, tallies: Tallies) -> float | None:
        """Tally buckets until the pages are used up; the share of all facts that was read, None if not known."""
        pages_left = self._pages_max
        whole: list[int] = []
        for bucket in range(plan.buckets):
            rows = facts_of(bucket_partition(plan.source, bucket))
            facts, continuation = 0, None
            while pages_left:
                pages_left -= 1
                try:
                    page = await self._accounts.main.query(LEDGER_TABLE, rows, continuation=continuation)
                except TableMissingError:
                    return 1.0
                for row in page.rows:
                    _tally(decode(row.entity), tallies, self._now_seconds())
                facts += len(page.rows)
                continuation = page.continuation
                if continuation is None:
                    whole.append(facts)
                    break
            if len(whole) == bucket:
                return _share(whole, facts, plan.buckets)
        return 1.0

    async def _statistics(
        self,
        generation: Generation,
        keys: IndexKeys,
        tally: EntryTally,
        examples: dict[str, str],
        share: float | None,
    ) -> IndexStatistics:
        top = []
        for partition, count in tally.partitions.most_common(TOP):
            values = await self._values(generation, keys, examples[partition])
            top.append(TopPartition(values, count, count / tally.entries, keys.shards.count(partition)))
        tables = await tables_of(self._accounts, generation)
        return IndexStatistics(
            tally.facts,
            tally.entries,
            share,
            len(tally.partitions),
            tally.partitions_estimated(share),
            tuple(top),
            tally.growing_share(),
            await self._entry_bytes(tables),
            max(Counter(table.account for table in tables).values()),
        )

    async def _values(self, generation: Generation, keys: IndexKeys, partition_key: str) -> dict[str, Any]:
        """The values of a partition's parts, from a row of its own: keys are never decoded."""
        names = [codec.part.name for codec in keys.partition_codecs]
        place = place_of(generation, partition_key)
        page = await self._page(place.account, place.table, RowRange(partition_key))
        for row in page.rows:
            text = take_text(cast("Columns", row.entity), KEY)
            if text is not None:
                values = loads(text)
                return {name: values.get(name) for name in names}
        return {}

    async def _entry_bytes(self, tables: Sequence[PeriodTable]) -> int | None:
        """The average size of an entry, from the first table that has entries."""
        for table in tables[:_TABLES_TRIED]:
            page = await self._page(table.account, table.table, None)
            sizes = [_row_bytes(cast("Columns", row.entity)) for row in page.rows if _is_entry(row)]
            if sizes:
                return round(sum(sizes) / len(sizes))
        return None

    async def _page(self, account: str, table: str, rows: RowRange | None) -> Page:
        """Some rows of a partition, or of a whole table."""
        try:
            return await self._accounts.tables(account).query(table, rows, limit=_ROWS)
        except TableMissingError:
            return Page((), None)


def _share(whole: list[int], more: int, buckets: int) -> float | None:
    """The share of all facts that some whole buckets and a part of one are: buckets are about equally large."""
    if not sum(whole):
        return None if more or not whole else len(whole) / buckets
    return min(1.0, (len(whole) + min(1.0, more * len(whole) / sum(whole))) / buckets)


def _tally(row: LedgerRow, tallies: Tallies, now_seconds: float) -> None:
    for identity, state in row.states.items():
        if identity in tallies:
            generation, keys, tally, examples = tallies[identity]
            split = keys.shards.split
            current = without_expired_periods(state, generation, now_seconds).current
            partitions = [split(entry.partition)[1] for entry in current]
            examples.update(zip(partitions, [entry.partition for entry in current], strict=True))
            tally.add(zip(partitions, [entry.version for entry in current], strict=True))


def _row_bytes(entity: Columns) -> int:
    """The size of a row as the service counts: `entity_bytes` allows for the longest keys, these have their own."""
    keys = [str(entity[name]) for name in (PARTITION_KEY, ROW_KEY)]
    columns = {name: value for name, value in entity.items() if name not in (PARTITION_KEY, ROW_KEY)}
    return entity_bytes(columns) + 2 * sum(map(utf16_length, keys)) - 2 * len(keys) * KEY_UNITS


def _is_entry(row: Row) -> bool:
    return not is_tombstone(row.entity)
