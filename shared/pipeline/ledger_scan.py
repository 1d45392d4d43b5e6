"""Reads the ledger bucket by bucket, row by row: every fact that was ever applied and is not forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from shared.pipeline.ledger_rows import LEDGER_TABLE, decode
from shared.tables.port import ROW_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from shared.pipeline.ledger_rows import LedgerRow
    from shared.tables.port import Tables


class Kept(NamedTuple):
    """A fact as the ledger keeps it."""

    fact_key: str
    row: LedgerRow
    etag: str


async def ledger_pages(ledger: Tables, partition: str, after: str | None = None) -> AsyncIterator[list[Kept]]:
    """The rows of a bucket in key order, from its beginning or after a fact, page by page; no page is empty.

    Rows keep their keys, so that the service's own continuations are safe here.
    """
    rows = RowRange(partition) if after is None else RowRange(partition, lower=after, lower_inclusive=False)
    continuation = None
    while True:
        page = await ledger.query(LEDGER_TABLE, rows, continuation=continuation)
        if page.rows:
            yield [Kept(cast(str, row.entity[ROW_KEY]), decode(row.entity), row.etag) for row in page.rows]
        continuation = page.continuation
        if continuation is None:
            return


async def read_kept(ledger: Tables, partition: str, fact_keys: Iterable[str]) -> list[Kept]:
    """The rows of these facts of a bucket, as far as they are there, one by one."""
    found = [(key, await ledger.get(LEDGER_TABLE, partition, key)) for key in fact_keys]
    return [Kept(key, decode(row.entity), row.etag) for key, row in found if row is not None]
