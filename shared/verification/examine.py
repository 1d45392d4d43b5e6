"""Everything about one fact in one generation: its ledger row, its document as it is now, and its entry rows.

All of it is read between two reads of the ledger row that give the same ETag, so that no claim came between.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from shared.entries.changes.change import FactReader
from shared.entries.changes.host_dates import as_host_rewrites
from shared.entries.keys.fact_key import decode_fact_key, encode_fact_key, fact_hash, fact_key_in
from shared.entries.keys.index_keys import split_row_key
from shared.entries.keys.versions import NO_CLOCK, ticks_alone
from shared.entries.projection.generations import place_of
from shared.entries.projection.projector import DIGEST_DIGITS
from shared.entries.rows.columns import read_fact
from shared.entries.rows.entry_row import is_expired, is_tombstone
from shared.entries.rows.json_text import canonical_bytes
from shared.entries.summaries.rows import AT, CONTRIBUTIONS, LANE
from shared.errors import TableMissingError, UnprojectableError, UnreadableChangeError
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, LedgerRow, decode, ledger_partition
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.tables.port import PARTITION_KEY, ROW_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.rows import CurrentEntry, GenerationState
    from shared.sources.ports import CurrentFacts
    from shared.tables.accounts import Accounts
    from shared.tables.port import Entity, Row

# Encoded partition and entry key.
EntryAddress: TypeAlias = tuple[str, str]

_ATTEMPTS: Final = 10
# The ledger knows neither a contribution's lane, nor its version twice.
_NOT_IN_DIGEST: Final = frozenset({PARTITION_KEY, ROW_KEY, AT, LANE})
# Inverted versions are hex digits, which all sort before it.
_AFTER_VERSIONS: Final = "g"


class FactIdentity(NamedTuple):
    """A fact: its key, and its id and partition key, unless the key was cut and they are not known."""

    fact_key: str
    id: str | None = None
    partition_key: tuple[FactKeyValue, ...] = ()

    @classmethod
    def of_key(cls, fact_key: str) -> FactIdentity:
        """By the fact key alone."""
        decoded = decode_fact_key(fact_key)
        return cls(fact_key) if decoded is None else cls(fact_key, decoded[1], decoded[0])


class GroupAddress(NamedTuple):
    """A group of a summary in one shard: its PartitionKey and encoded sort parts."""

    partition: str
    sort: str

    def hash(self) -> int:
        """Where it is in a sketch."""
        return fact_hash("\0".join(self))


class SeenRow(NamedTuple):
    """A stored row of an entry key."""

    row_key: str
    version: str
    is_tombstone: bool
    etag: str
    digest: str
    fact: FactIdentity | None = None
    # Its time is over: no lookup shows it, and it goes by itself.
    is_expired: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether a lookup would show it, if it is the newest of its entry key."""
        return not self.is_tombstone and not self.is_expired


@dataclass(frozen=True, slots=True)
class Examined:
    """What there is about a fact.

    `is_read` says whether its document was looked for; `projections` are its entries, from the document as it is and
    as the host may have rewritten it; none when it does not fit the index. `clock` is how its version begins, as far
    as a read knows it: only the feed has Cosmos DB's `_lsn`. Entries whose time is over are in no projection: they
    may be there or not.
    """

    fact: FactIdentity
    row: LedgerRow
    etag: str | None
    state: GenerationState | None
    is_read: bool = False
    document: dict[str, Any] | None = None
    clock: str | None = None
    projections: tuple[tuple[Entry, ...], ...] = ()
    expired: frozenset[EntryAddress] = frozenset()
    rows_by_address: Mapping[EntryAddress, tuple[SeenRow, ...]] = field(default_factory=dict)

    @property
    def newest(self) -> str | None:
        """The newest version of any generation; the document with the ledger's ETag is of this version."""
        return max([state.version for state in self.row.states.values()], default=None)

    @property
    def ledger_entries(self) -> tuple[CurrentEntry, ...]:
        """The entries that the fact has in this generation, as the ledger says."""
        return () if self.state is None else self.state.current

    @property
    def is_ledger_version(self) -> bool:
        """Whether the document is the very version that the ledger has."""
        return (
            self.document is not None
            and self.row.source_etag is not None
            and self.document.get("_etag") == self.row.source_etag
        )

    @property
    def is_current(self) -> bool:
        """Whether this generation, too, has the document's version."""
        return self.is_ledger_version and self.state is not None and self.state.version == self.newest


def columns_digest(entity: Mapping[str, object]) -> str:
    """The digest of a stored row's columns, as the ledger keeps it."""
    columns = {name: value for name, value in entity.items() if name not in _NOT_IN_DIGEST}
    return sha256(canonical_bytes(columns)).hexdigest()[:DIGEST_DIGITS]


def fact_named_in_row(entity: Mapping[str, Any], entry_key: str) -> FactIdentity | None:
    """The fact that a row names; None when it names none that fits its key."""
    try:
        fact_id, partition_key = read_fact(entity)
        fact_key = encode_fact_key(partition_key, fact_id)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return FactIdentity(fact_key, fact_id, partition_key) if entry_key.endswith(fact_key) else None


def owner_of(entity: Mapping[str, Any], entry_key: str, levels: int) -> FactIdentity:
    """The fact of a row: by its key, or by its columns when the key was cut. A row that names no fact is its own."""
    fact_key = fact_key_in(entry_key, levels)
    if fact_key is not None:
        return FactIdentity(fact_key)
    return fact_named_in_row(entity, entry_key) or FactIdentity(entry_key)


def contributor_of(entity: Mapping[str, Any], row_key: str, levels: int) -> FactIdentity:
    """The same of a contribution, whose key says first what kind of row it is."""
    return owner_of(entity, row_key.removeprefix(CONTRIBUTIONS), levels)


class Examiner:
    """Examines facts of one generation."""

    def __init__(
        self,
        plan: SourcePlan,
        source: Source,
        generation: Generation,
        accounts: Accounts,
        facts: CurrentFacts,
        run_all: RunAll,
        now_seconds: Callable[[], float],
    ) -> None:
        self.source = source
        self.generation = generation
        self._plan = plan
        self._accounts = accounts
        self._facts = facts if source.cosmos is not None else None
        self._run_all = run_all
        self._reader = FactReader(source)
        self._now_seconds = now_seconds

    async def examine(self, fact: FactIdentity, addresses: Iterable[EntryAddress] = ()) -> Examined | None:
        """Look at a fact, and at these addresses besides those of its ledger row; None when it changes all the time."""
        for _ in range(_ATTEMPTS):
            row, etag = await self._ledger_row(fact)
            state = self._without_expired_periods(row.states.get(self.generation.id))
            wanted = list(dict.fromkeys([*addresses, *(_addresses(state) if state else ())]))
            found = await self._rows_by_address(wanted)
            fact = _known(fact, found)
            document = await self._document(fact)
            if (await self._ledger_row(fact))[1] == etag:
                seen = Examined(fact, row, etag, state, self._can_read(fact), document, rows_by_address=found)
                return self._projected(seen)
        return None

    def _without_expired_periods(self, state: GenerationState | None) -> GenerationState | None:
        return None if state is None else without_expired_periods(state, self.generation, self._now_seconds())

    def _projected(self, examined: Examined) -> Examined:
        """With what the document says."""
        document = examined.document
        if document is None:
            return examined
        projections = self._projections(document)
        now_seconds = self._now_seconds()
        expired = {
            address_of(entry) for entries in projections for entry in entries if is_expired(entry.columns, now_seconds)
        }
        unexpired = [tuple([entry for entry in entries if address_of(entry) not in expired]) for entries in projections]
        return replace(examined, clock=self._clock(document), projections=tuple(unexpired), expired=frozenset(expired))

    def _clock(self, document: dict[str, Any]) -> str | None:
        if self.source.version is None:
            return ticks_alone(document.get("_ts"))
        try:
            return self._reader.declared_clock(self._reader.declared_version_of(document))
        except UnreadableChangeError:
            return None

    async def _ledger_row(self, fact: FactIdentity) -> tuple[LedgerRow, str | None]:
        partition = ledger_partition(self._plan.source, fact_hash(fact.fact_key), self._plan.buckets)
        row = await self._accounts.main.get(LEDGER_TABLE, partition, fact.fact_key)
        return (LedgerRow(), None) if row is None else (decode(row.entity), row.etag)

    def _can_read(self, fact: FactIdentity) -> bool:
        return self._facts is not None and fact.id is not None

    async def _document(self, fact: FactIdentity) -> dict[str, Any] | None:
        if self._facts is None or fact.id is None:
            return None
        return await self._facts.read(self.source, fact.id, fact.partition_key)

    async def _rows_by_address(self, addresses: Sequence[EntryAddress]) -> dict[EntryAddress, tuple[SeenRow, ...]]:
        rows = await all_of(self._run_all, [partial(self._rows_or_none, *address) for address in addresses])
        return dict(zip(addresses, rows, strict=True))

    async def _rows_or_none(self, partition: str, entry_key: str) -> tuple[SeenRow, ...]:
        """All rows of an entry key with their columns, the newest first; none when its period has no table."""
        try:
            return await self._rows(partition, entry_key)
        except TableMissingError:
            if self.generation.periods is None:
                raise
            return ()

    async def _rows(self, partition: str, entry_key: str) -> tuple[SeenRow, ...]:
        place = place_of(self.generation, partition)
        tables = self._accounts.tables(place.account)
        if self.generation.layout is not None:
            row = await tables.get(place.table, place.partition, entry_key)
            return () if row is None else (_seen_contribution(row, entry_key),)
        found: list[SeenRow] = []
        continuation = None
        rows = RowRange(partition, entry_key, entry_key + _AFTER_VERSIONS)
        while True:
            page = await tables.query(place.table, rows, continuation=continuation)
            found += [seen for row in page.rows if (seen := self._seen(row.entity, row.etag, entry_key)) is not None]
            continuation = page.continuation
            if continuation is None:
                return tuple(found)

    def _seen(self, entity: Entity, etag: str, entry_key: str) -> SeenRow | None:
        row_key = cast(str, entity[ROW_KEY])
        found, version = split_row_key(row_key)
        if found != entry_key:
            return None
        return SeenRow(
            row_key,
            version,
            is_tombstone(entity),
            etag,
            columns_digest(entity),
            fact_named_in_row(entity, entry_key),
            is_expired(entity, self._now_seconds()),
        )

    def _projections(self, document: dict[str, Any]) -> tuple[tuple[Entry, ...], ...]:
        return _distinct([self._entries(document), self._entries(as_host_rewrites(document))])

    def _entries(self, document: dict[str, Any]) -> tuple[Entry, ...] | None:
        try:
            return self.generation.projector.project(self.change_at(document, NO_CLOCK))
        except (UnreadableChangeError, UnprojectableError):
            return None

    def change_at(self, document: dict[str, Any], clock: str) -> Change:
        """The change that a document is, at some clock."""
        reader, etag = self._reader, document.get("_etag")
        key = reader.partition_key_of(document)
        return reader.change(reader.id_of(document), key, clock, document, etag if isinstance(etag, str) else None)


def _seen_contribution(row: Row, row_key: str) -> SeenRow:
    """The one row of a contribution; a damaged one has no version."""
    entity = row.entity
    version = entity.get(AT)
    return SeenRow(
        row_key,
        version if isinstance(version, str) else "",
        is_tombstone(entity),
        row.etag,
        columns_digest(entity),
        fact_named_in_row(entity, row_key),
    )


def _distinct(variants: Sequence[tuple[Entry, ...] | None]) -> tuple[tuple[Entry, ...], ...]:
    found: list[tuple[Entry, ...]] = []
    for entries in variants:
        if entries is not None and entries not in found:
            found.append(entries)
    return tuple(found)


def address_of(entry: Entry) -> EntryAddress:
    """Where an entry is."""
    return entry.partition_key, entry.entry_key


def _addresses(state: GenerationState) -> list[EntryAddress]:
    return [(entry.partition, entry.entry_key) for entry in state.current] + [
        (entry.partition, entry.entry_key) for entry in state.removed
    ]


def _known(fact: FactIdentity, rows_by_address: Mapping[EntryAddress, tuple[SeenRow, ...]]) -> FactIdentity:
    """With id and partition key, when only the rows have them."""
    if fact.id is not None:
        return fact
    named = [row.fact for rows in rows_by_address.values() for row in rows if row.fact is not None]
    return next((found for found in named if found.fact_key == fact.fact_key), fact)
