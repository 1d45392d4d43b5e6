"""Reads the ledger rows of many facts at once, by ranges: a build would otherwise pay one point read per fact.

The facts of a bucket are read in key order. A page of the ledger holds 1000 neighbouring rows; the next page begins at
the next fact that is wanted. If a page contains too few wanted facts, the rest is left to point reads.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from shared.definitions.utf16 import utf16_order
from shared.pipeline.ledger.cache import KnownRow
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode, ledger_partition
from shared.tables.port import ROW_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.cache import LedgerCache
    from shared.tables.port import Tables

# A page with fewer wanted facts costs more in bytes than point reads cost in requests.
_FOUND_MIN: Final = 10


async def prefetch(
    ledger: Tables, cache: LedgerCache, plan: SourcePlan, changes: Iterable[Change], run_all: RunAll
) -> None:
    """Put the ledger rows of these changes into the cache, as far as that is cheap: hints, which claims check."""
    buckets: dict[str, set[str]] = {}
    for change in changes:
        partition = ledger_partition(plan.source, change.fact_hash, plan.buckets)
        buckets.setdefault(partition, set()).add(change.fact_key)
    work = [
        partial(_read_bucket, ledger, cache, partition, sorted(keys, key=utf16_order))
        for partition, keys in buckets.items()
    ]
    for result in await run_all(work):
        if isinstance(result, Exception):
            raise result


async def _read_bucket(ledger: Tables, cache: LedgerCache, partition: str, wanted: Sequence[str]) -> None:
    position, wanted_set = 0, set(wanted)
    while position < len(wanted):
        page = await ledger.query(LEDGER_TABLE, RowRange(partition, lower=wanted[position]))
        found = 0
        for row in page.rows:
            if row.entity[ROW_KEY] in wanted_set:
                cache.put((partition, row.entity[ROW_KEY]), KnownRow(decode(row.entity), row.etag))
                found += 1
        if page.continuation is None:
            return
        if not page.rows or found < min(_FOUND_MIN, len(wanted) - position):
            return
        last = utf16_order(cast(str, page.rows[-1].entity[ROW_KEY]))
        while position < len(wanted) and utf16_order(wanted[position]) <= last:
            position += 1
