"""Reads the ledger bucket by bucket: every fact that was ever applied and is not forgotten."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.debts import facts_of
from shared.pipeline.ledger.rows import DELETED_AT, LEDGER_TABLE, SOURCE_ETAG, bucket_partition, versions_in
from shared.tables.port import ROW_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from shared.pipeline.concurrency import RunAll
    from shared.tables.port import Entity, Row, Tables


class LedgerFact(NamedTuple):
    """A fact as the ledger keeps it, with its version in each generation: for most facts, nothing else is decoded."""

    fact_key: str
    versions: Mapping[str, str]
    entity: Entity

    @classmethod
    def of(cls, row: Row) -> LedgerFact:
        """The fact of a ledger row."""
        return cls(cast(str, row.entity[ROW_KEY]), versions_in(row.entity), row.entity)

    @property
    def source_etag(self) -> str | None:
        """The ETag that the source gave the fact at its newest version."""
        return cast("str | None", self.entity.get(SOURCE_ETAG))

    @property
    def is_deleted(self) -> bool:
        """Whether the fact was deleted."""
        return DELETED_AT in self.entity


async def ledger_pages(ledger: Tables, partition: str, after: str | None = None) -> AsyncIterator[list[LedgerFact]]:
    """The rows of a bucket in key order, from its beginning or after a fact, page by page; no page is empty.

    Rows never change their keys, so the continuations of the service are safe here.
    """
    rows = facts_of(partition, after)
    continuation = None
    while True:
        page = await ledger.query(LEDGER_TABLE, rows, continuation=continuation)
        if page.rows:
            yield [LedgerFact.of(row) for row in page.rows]
        continuation = page.continuation
        if continuation is None:
            return


async def read_ledger_fact(ledger: Tables, partition: str, fact_keys: Iterable[str]) -> list[LedgerFact]:
    """The rows of these facts of a bucket, each by a point read; facts without a row are left out."""
    found = [await ledger.get(LEDGER_TABLE, partition, key) for key in fact_keys]
    return [LedgerFact.of(row) for row in found if row is not None]


async def has_rows(ledger: Tables, run_all: RunAll, source: str, buckets: int) -> bool:
    """Whether any fact of a source has a ledger row."""
    partitions = [bucket_partition(source, bucket) for bucket in range(buckets)]
    return any(await all_of(run_all, [partial(_has_row, ledger, partition) for partition in partitions]))


async def _has_row(ledger: Tables, partition: str) -> bool:
    page = await ledger.query(LEDGER_TABLE, facts_of(partition), limit=1, select=(SOURCE_ETAG,))
    return bool(page.rows) or page.continuation is not None
