"""Debts: rows that say which facts owe entries to a storage account that is or was down.

A debt stands in the ledger partition of its fact, so that it is written and deleted in one transaction with the ledger
row: it is there exactly when the ledger row owes. No order of two writes could promise that. Its key begins with two
spaces, as no fact key does: all debts sort before all facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from shared.catalog.owed_accounts import OwedAccount
from shared.entries.keys.strings import END, SUMMIT
from shared.entries.rows.json_text import dumps
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, RowRange, Upsert

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.entries.changes.change import Change
    from shared.pipeline.ledger.rows import LedgerRow
    from shared.tables.port import Entity, Operation, Row, Tables

_PREFIX: Final = "  "
_SINCE: Final = "since"
_GENERATIONS: Final = "generations"
_COPY: Final = "copy"
# The end of a part sorts first of all that fact keys begin with.
_FIRST_FACT: Final = END
SHOWN_COLUMNS: Final = (_SINCE, _GENERATIONS)


@dataclass(frozen=True, slots=True)
class Debt:
    """A fact that owes entries to an account, since when, and in which generations (or once did). `copy` is the newest
    document of a source that cannot be asked for it."""

    account: str
    fact_key: str
    since_seconds: int
    generations: frozenset[str]
    copy: bytes = b""
    etag: str = ""

    @classmethod
    def of(cls, row: Row) -> Debt:
        """The debt that a row holds."""
        entity: Mapping[str, Any] = row.entity
        account, _, fact_key = cast(str, entity[ROW_KEY]).removeprefix(_PREFIX).partition(END)
        generations = frozenset(entity[_GENERATIONS].split())
        packed = take_bytes(entity, _COPY)
        return cls(account, fact_key, entity[_SINCE], generations, decompress(packed) if packed else b"", row.etag)

    def put(self, partition: str) -> Upsert:
        """The operation that writes it."""
        entity: Entity = {
            PARTITION_KEY: partition,
            ROW_KEY: _row_key(self.account, self.fact_key),
            _SINCE: self.since_seconds,
            _GENERATIONS: " ".join(sorted(self.generations)),
        }
        if self.copy:
            put_bytes(entity, _COPY, compress(self.copy))
        return Upsert(entity)

    def delete(self, partition: str) -> Delete:
        """The operation that deletes it, if it has not changed since it was read."""
        return Delete(partition, _row_key(self.account, self.fact_key), self.etag)


def facts_of(partition: str, after: str | None = None) -> RowRange:
    """The ledger rows of a bucket, without its debts; from its beginning or after a fact."""
    if after is None:
        return RowRange(partition, lower=_FIRST_FACT)
    return RowRange(partition, lower=after, lower_inclusive=False)


def debts_of(partition: str, account: str | None = None) -> RowRange:
    """The debts of a bucket, to one account or to all."""
    if account is None:
        return RowRange(partition, lower=_PREFIX, upper=_FIRST_FACT)
    start = f"{_PREFIX}{account}{END}"
    return RowRange(partition, lower=start, upper=start + SUMMIT)


async def count_debts(ledger: Tables, partition: str, account: str) -> OwedAccount:
    """What a bucket owes to an account, as far as one query says."""
    page = await ledger.query(LEDGER_TABLE, debts_of(partition, account), select=SHOWN_COLUMNS)
    debts = [Debt.of(row) for row in page.rows]
    since_seconds = min([debt.since_seconds for debt in debts], default=0)
    generations = frozenset([generation for debt in debts for generation in debt.generations])
    return OwedAccount(account, len(debts), since_seconds, generations, page.continuation is not None)


async def owed_accounts(ledger: Tables, partition: str) -> list[str]:
    """The accounts that are owed something in a bucket: one query while there are none, and one more for each."""
    found: list[str] = []
    rows, continuation = debts_of(partition), None
    while True:
        page = await ledger.query(LEDGER_TABLE, rows, limit=1, select=SHOWN_COLUMNS, continuation=continuation)
        continuation = page.continuation
        if page.rows:
            found.append(Debt.of(page.rows[0]).account)
            rows, continuation = RowRange(partition, debts_of(partition, found[-1]).upper, _FIRST_FACT), None
        elif continuation is None:
            return found


def debt_changes(
    key: tuple[str, str], before: LedgerRow, after: LedgerRow, change: Change | None
) -> tuple[Operation, ...]:
    """The operations that go with a ledger row into one transaction, so that its debts are there exactly while it owes.

    A debt that is there already is left alone, unless it has to name another generation or to hold a newer copy.
    """
    owed, owes = before.debts, after.debts
    if not owed and not owes:
        return ()
    partition, fact_key = key
    copy = _copy_of(change, after)
    put = [
        Debt(account, fact_key, min(since.values()), frozenset(since), copy or b"").put(partition)
        for account, since in owes.items()
        if account not in owed or copy or (copy is not None and not since.keys() <= owed[account].keys())
    ]
    paid = [Delete(partition, _row_key(account, fact_key)) for account in owed if account not in owes]
    return (*put, *paid)


def _copy_of(change: Change | None, row: LedgerRow) -> bytes | None:
    """What a debt keeps of a change: nothing if the source can be asked for it; None, so that the copy that is stored
    stays, if the change is not the newest of its fact."""
    if change is None:
        return None
    if change.document is None or change.source_etag is not None:
        return b""
    if any(state.version > change.version for state in row.states.values()):
        return None
    return dumps({"version": change.version, "fact": change.columns, "document": change.document}).encode()


def _row_key(account: str, fact_key: str) -> str:
    return f"{_PREFIX}{account}{END}{fact_key}"
