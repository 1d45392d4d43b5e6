"""The three scans of a verification, page by page: the facts, the ledger, the table. Each row is read once.

A cursor is plain JSON, so that a scan goes on in another process. Rows of a table come newest first per entry key: the
first counts, the others are hidden by it. Service continuations may skip a row that is updated in place meanwhile; that
only makes its fact look different, and the examination of the fact finds the row.

Entries that have expired are in no scan, as far as the scans know: without tables per period the facts do not have
them, and the ledger and the table may. With them, all three scans leave out what is in a period that is over, or a
month of entries would differ.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, cast

from shared.catalog.period_tables import tables_of
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.index_keys import split_row_key
from shared.entries.keys.limits import VERSION_UNITS
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import is_expired, is_tombstone
from shared.errors import TableMissingError, UnprojectableError, UnreadableChangeError
from shared.pipeline.ledger.debts import facts_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, bucket_partition, decode
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.tables.port import PARTITION_KEY, ROW_KEY, Continuation, Page
from shared.verification.examine import FactIdentity, columns_digest, owner_of
from shared.verification.sketch import entry_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.pipeline.concurrency import NextTurn
    from shared.pipeline.summaries.sweeping import GoneContribution
    from shared.sources.ports import CurrentFacts
    from shared.tables.accounts import Accounts
    from shared.tables.port import Entity, Row
    from shared.verification.examine import EntryAddress, GroupAddress

Cursor: TypeAlias = "list[Any] | None"
ScanName: TypeAlias = str
FACTS: Final = "facts"
LEDGER: Final = "ledger"
TABLE: Final = "table"
# Facts that do not fit the index.
DEAD_LETTERS: Final = "deadLetters"
# An entry key, and a version: hex digits.
_ROW_KEY_PATTERN: Final = re.compile(f".+[0-9a-f]{{{VERSION_UNITS}}}", re.DOTALL)


class StrayRow(NamedTuple):
    """A row that no worker can have written: in an account that its partition does not belong to, or under a key that
    no entry has. No claim can mention it, and no worker writes there."""

    account: str
    table: str
    partition: str
    row_key: str
    etag: str


class Item(NamedTuple):
    """What one row says: a fact, its entries as numbers to add and to subtract, and what else was seen."""

    fact: FactIdentity
    fact_hash: int
    adds: tuple[int, ...] = ()
    subtracts: tuple[int, ...] = ()
    address: EntryAddress | None = None
    # How it is counted: as a row, an entry that is shown, a tombstone, a hidden row.
    counts: tuple[str, ...] = ()
    version: str = ""
    stray: StrayRow | None = None
    # Of a summary: the group whose totals this is about, and a contribution that is gone.
    group: GroupAddress | None = None
    gone: GoneContribution | None = None


class Scanned(NamedTuple):
    """A page, and where the scan goes on; None at its end."""

    items: Sequence[Item]
    cursor: Cursor


class Scan(Protocol):
    """Reads everything of one kind once."""

    name: ScanName

    async def page(self, cursor: Cursor) -> Scanned:
        """The next page; an empty cursor begins."""


def _fact_entry(partition: str, entry_key: str, digest: str) -> int:
    return entry_hash("f", partition, entry_key, digest)


def row_entry(partition: str, entry_key: str, version: str, digest: str) -> int:
    """A row that is shown, as a number."""
    return entry_hash("r", partition, entry_key, version, digest)


class FactScan:
    """The facts of a source through its change feed, projected: what the ledger should have."""

    name = FACTS

    def __init__(
        self,
        source: Source,
        generation: Generation,
        facts: CurrentFacts,
        next_turn: NextTurn,
        now_seconds: Callable[[], float],
    ) -> None:
        self._source = source
        self._facts = facts
        self._reader = CosmosReader(source)
        self._generation = generation
        self._next_turn = next_turn
        self._now_seconds = now_seconds

    async def page(self, cursor: Cursor) -> Scanned:
        """The next facts."""
        begun, until_seconds = (None, self._now_seconds()) if cursor is None else cursor
        page = await self._facts.page(self._source, begun, until_seconds)
        items = [item for document in page.documents if (item := await self._projected(document)) is not None]
        return Scanned(items, None if page.cursor is None else [page.cursor, until_seconds])

    async def _projected(self, document: dict[str, Any]) -> Item | None:
        item = self._item(document)
        await self._next_turn()
        return item

    def _item(self, document: dict[str, Any]) -> Item | None:
        """None for what is no fact of this source: it is a dead letter."""
        try:
            change = self._reader.latest(document)
        except UnreadableChangeError:
            return None
        fact = FactIdentity(change.fact_key, change.id, change.partition_key)
        entries = self._entries(change)
        if entries is None:
            return Item(fact, change.fact_hash, counts=("facts", DEAD_LETTERS))
        return Item(fact, change.fact_hash, adds=entries, counts=("facts",))

    def _entries(self, change: Change) -> tuple[int, ...] | None:
        """None for a fact that does not fit the index."""
        try:
            entries = self._generation.projector.project(change)
        except UnprojectableError:
            return None
        now_seconds = self._now_seconds()
        return tuple(
            [
                _fact_entry(entry.partition_key, entry.entry_key, entry.digest)
                for entry in entries
                if not self._is_expired(entry, now_seconds)
            ]
        )

    def _is_expired(self, entry: Entry, now_seconds: float) -> bool:
        if self._generation.periods is None:
            return is_expired(entry.columns, now_seconds)
        return self._generation.is_over(entry.partition_key, now_seconds)


class LedgerScan:
    """The ledger rows of a source: what the facts gave, and what the table should have."""

    name = LEDGER

    def __init__(
        self,
        plan: SourcePlan,
        generation: Generation,
        accounts: Accounts,
        now_seconds: Callable[[], float],
        *,
        has_facts: bool,
    ) -> None:
        self._plan = plan
        self._now_seconds = now_seconds
        self._generation = generation
        self._accounts = accounts
        self._has_facts = has_facts

    async def page(self, cursor: Cursor) -> Scanned:
        """The next rows, bucket after bucket."""
        bucket, continuation = (0, None) if cursor is None else (cursor[0], as_continuation(cursor[1]))
        rows = facts_of(bucket_partition(self._plan.source, bucket))
        page = await self._accounts.main.query(LEDGER_TABLE, rows, continuation=continuation)
        items = [self._item(row.entity) for row in page.rows]
        if page.continuation is not None:
            return Scanned(items, [bucket, list(plain_continuation(page.continuation))])
        return Scanned(items, [bucket + 1, None] if bucket + 1 < self._plan.buckets else None)

    def _item(self, entity: Entity) -> Item:
        fact_key = cast(str, entity[ROW_KEY])
        state = decode(entity).states.get(self._generation.id)
        entries = () if state is None else without_expired_periods(state, self._generation, self._now_seconds()).current
        compared = entries if self._has_facts else ()
        subtracts = tuple([_fact_entry(entry.partition, entry.entry_key, entry.digest) for entry in compared])
        adds = tuple([row_entry(entry.partition, entry.entry_key, entry.version, entry.digest) for entry in entries])
        # The fact key is decoded only for the few facts that differ.
        return Item(FactIdentity(fact_key), fact_hash(fact_key), adds, subtracts, counts=("ledgerRows",))


class TableScan:
    """The rows of a generation's tables, account after account: what is shown."""

    name = TABLE

    def __init__(
        self, source: Source, generation: Generation, accounts: Accounts, now_seconds: Callable[[], float]
    ) -> None:
        self._levels = len(source.partition_key)
        self._generation = generation
        self._accounts = accounts
        self._now_seconds = now_seconds

    async def page(self, cursor: Cursor) -> Scanned:
        """The next rows.

        The cursor has the last entry key, because its older rows may come on the next page, and the tables that there
        were at first. Cursors of an earlier release have no tables.
        """
        begun: list[Any] = [0, None, None] if cursor is None else cursor
        number, plain, last, *listed = begun
        tables: list[list[str]] = listed[0] if listed else await self._tables()
        account, table = tables[number]
        page = await self._query(account, table, as_continuation(plain))
        items = []
        address: EntryAddress | None = None if last is None else (last[0], last[1])
        for row in page.rows:
            if self._may_be_entry(account, table, row.entity):
                item, address = self._item(row.entity, address)
                items.append(item)
            else:
                items.append(stray_item(account, table, row))
        if page.continuation is not None:
            plain_address = None if address is None else list(address)
            return Scanned(items, [number, list(plain_continuation(page.continuation)), plain_address, tables])
        return Scanned(items, [number + 1, None, None, tables] if number + 1 < len(tables) else None)

    async def _tables(self) -> list[list[str]]:
        """Without those of periods that are over: they go as they are."""
        found, now_seconds = await tables_of(self._accounts, self._generation), self._now_seconds()
        return [
            [table.account, table.table]
            for table in found
            if not self._generation.is_period_over(table.start, now_seconds)
        ]

    async def _query(self, account: str, table: str, continuation: Continuation | None) -> Page:
        try:
            return await self._accounts.tables(account).query(table, None, continuation=continuation)
        except TableMissingError:
            if table == self._generation.table:
                raise
            return Page((), None)  # its period has ended meanwhile

    def _may_be_entry(self, account: str, table: str, entity: Entity) -> bool:
        """Whether a worker may have written a row of this key here."""
        if _ROW_KEY_PATTERN.fullmatch(cast(str, entity[ROW_KEY])) is None:
            return False
        try:
            place = place_of(self._generation, cast(str, entity[PARTITION_KEY]))
        except ValueError:
            return False  # it has no shard or period, though every partition of this index has
        return (place.account, place.table) == (account, table)

    def _item(self, entity: Entity, last: EntryAddress | None) -> tuple[Item, EntryAddress]:
        partition = cast(str, entity[PARTITION_KEY])
        entry_key, version = split_row_key(cast(str, entity[ROW_KEY]))
        address = (partition, entry_key)
        if address == last:
            masked = owner_of(entity, entry_key, self._levels)
            return Item(masked, 0, address=address, counts=("rows", "masked"), version=version), address
        if is_tombstone(entity):
            return Item(FactIdentity(""), 0, address=address, counts=("rows", "tombstones"), version=version), address
        fact = owner_of(entity, entry_key, self._levels)
        subtracts = (row_entry(partition, entry_key, version, columns_digest(entity)),)
        return Item(fact, fact_hash(fact.fact_key), (), subtracts, address, ("rows", "entries"), version), address


def stray_item(account: str, table: str, row: Row) -> Item:
    """A row that no worker can have written where it is."""
    partition, row_key = cast(str, row.entity[PARTITION_KEY]), cast(str, row.entity[ROW_KEY])
    entry_key, version = split_row_key(row_key)
    counts = ("rows", "tombstones") if is_tombstone(row.entity) else ("rows", "entries")
    stray = StrayRow(account, table, partition, row_key, row.etag)
    address = (partition, entry_key)
    return Item(FactIdentity(entry_key), 0, address=address, counts=counts, version=version, stray=stray)


def as_continuation(plain: Sequence[str | None] | None) -> Continuation | None:
    """The continuation in a cursor."""
    return None if plain is None else Continuation(cast(str, plain[0]), plain[1])


def plain_continuation(continuation: Continuation) -> tuple[str, str | None]:
    """A continuation for a cursor."""
    return continuation.partition, continuation.row
