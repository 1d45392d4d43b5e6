"""Everything about one fact in one generation: its ledger row, its document as it is now, and the rows of its pairs.

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
    from shared.pipeline.ledger.rows import GenerationState
    from shared.sources.ports import CurrentFacts
    from shared.tables.accounts import Accounts
    from shared.tables.port import Entity

# Encoded partition and pair.
Key: TypeAlias = tuple[str, str]

_ATTEMPTS: Final = 10
# Inverted versions are hex digits, which all sort before it.
_AFTER_VERSIONS: Final = "g"


class FactIdentity(NamedTuple):
    """A fact: its key, and its id and partition key unless the key was cut and nobody else has told them."""

    fact_key: str
    id: str | None = None
    partition_key: tuple[FactKeyValue, ...] = ()

    @classmethod
    def of_key(cls, fact_key: str) -> FactIdentity:
        """By the fact key alone."""
        decoded = decode_fact_key(fact_key)
        return cls(fact_key) if decoded is None else cls(fact_key, decoded[1], decoded[0])


class SeenRow(NamedTuple):
    """A row of a pair as it is."""

    row_key: str
    version: str
    is_tombstone: bool
    etag: str
    digest: str
    who: FactIdentity | None = None
    # Its time is over: nobody shows it, and it goes by itself.
    is_expired: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether a lookup would show it, if it is the newest of its pair."""
        return not self.is_tombstone and not self.is_expired


@dataclass(frozen=True, slots=True)
class Examined:
    """What there is about a fact.

    `is_read` says whether its document was looked for; `projections` are its entries, from the document as it is and
    as the host may have rewritten it; none when it does not fit the index. `clock` is how its version begins, as far
    as a read tells it: only the feed knows Cosmos DB's `_lsn`. Entries whose time is over are in no projection: they
    may be there or not.
    """

    who: FactIdentity
    row: LedgerRow
    etag: str | None
    state: GenerationState | None
    is_read: bool = False
    document: dict[str, Any] | None = None
    clock: str | None = None
    projections: tuple[tuple[Entry, ...], ...] = ()
    expired: frozenset[Key] = frozenset()
    rows_by_key: Mapping[Key, tuple[SeenRow, ...]] = field(default_factory=dict)

    @property
    def newest(self) -> str | None:
        """The newest version that any part has; the document with the ledger's mark is of this version."""
        return max([part.version for part in self.row.states.values()], default=None)

    @property
    def is_marked(self) -> bool:
        """Whether the document is the very version that the ledger has."""
        return (
            self.document is not None
            and self.row.source_etag is not None
            and self.document.get("_etag") == self.row.source_etag
        )

    @property
    def is_current(self) -> bool:
        """Whether this generation's part is of the document's version, too."""
        return self.is_marked and self.state is not None and self.state.version == self.newest


def columns_digest(entity: Mapping[str, object]) -> str:
    """The digest of a stored row's columns, as the ledger keeps it."""
    columns = {name: value for name, value in entity.items() if name != PARTITION_KEY and name != ROW_KEY}
    return sha256(canonical_bytes(columns)).hexdigest()[:DIGEST_DIGITS]


def fact_named_in_row(entity: Mapping[str, Any], pair: str) -> FactIdentity | None:
    """The fact that a live row says it is of; None when it says nothing that fits its key."""
    try:
        fact_id, partition_key = read_fact(entity)
        fact_key = encode_fact_key(partition_key, fact_id)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return FactIdentity(fact_key, fact_id, partition_key) if pair.endswith(fact_key) else None


def owner_of(entity: Mapping[str, Any], pair: str, levels: int) -> FactIdentity:
    """The fact of a row: by its key, or when that was cut by what it says. One that says nothing stands for itself."""
    fact_key = fact_key_in(pair, levels)
    if fact_key is not None:
        return FactIdentity(fact_key)
    return fact_named_in_row(entity, pair) or FactIdentity(pair)


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

    async def examine(self, who: FactIdentity, pairs: Iterable[Key] = ()) -> Examined | None:
        """Look at a fact and at these pairs besides those of its ledger row; None when it changes all the time."""
        for _ in range(_ATTEMPTS):
            row, etag = await self._ledger_row(who)
            part = self._present(row.states.get(self.generation.id))
            wanted = list(dict.fromkeys([*pairs, *(_keys(part) if part else ())]))
            found = await self._pairs(wanted)
            who = _known(who, found)
            document = await self._document(who)
            if (await self._ledger_row(who))[1] == etag:
                return self._examined(Examined(who, row, etag, part, self._can_read(who), document, rows_by_key=found))
        return None

    def _present(self, part: GenerationState | None) -> GenerationState | None:
        return None if part is None else without_expired_periods(part, self.generation, self._now_seconds())

    def _examined(self, examined: Examined) -> Examined:
        document = examined.document
        if document is None:
            return examined
        projections = self._projections(document)
        now_seconds = self._now_seconds()
        over = {key(entry) for entries in projections for entry in entries if is_expired(entry.columns, now_seconds)}
        kept = [tuple([entry for entry in entries if key(entry) not in over]) for entries in projections]
        return replace(examined, clock=self._clock(document), projections=tuple(kept), expired=frozenset(over))

    def _clock(self, document: dict[str, Any]) -> str | None:
        if self.source.version is None:
            return ticks_alone(document.get("_ts"))
        try:
            return self._reader.declared_clock(self._reader.declared_version_of(document))
        except UnreadableChangeError:
            return None

    async def _ledger_row(self, who: FactIdentity) -> tuple[LedgerRow, str | None]:
        partition = ledger_partition(self._plan.source, fact_hash(who.fact_key), self._plan.buckets)
        row = await self._accounts.main.get(LEDGER_TABLE, partition, who.fact_key)
        return (LedgerRow(), None) if row is None else (decode(row.entity), row.etag)

    def _can_read(self, who: FactIdentity) -> bool:
        return self._facts is not None and who.id is not None

    async def _document(self, who: FactIdentity) -> dict[str, Any] | None:
        if self._facts is None or who.id is None:
            return None
        return await self._facts.read(self.source, who.id, who.partition_key)

    async def _pairs(self, keys: Sequence[Key]) -> dict[Key, tuple[SeenRow, ...]]:
        rows = await all_of(self._run_all, [partial(self._pair, *key) for key in keys])
        return dict(zip(keys, rows, strict=True))

    async def _pair(self, partition: str, pair: str) -> tuple[SeenRow, ...]:
        """All rows of a pair with their columns, the newest first; none when its period has no table."""
        try:
            return await self._rows(partition, pair)
        except TableMissingError:
            if self.generation.periods is None:
                raise
            return ()

    async def _rows(self, partition: str, pair: str) -> tuple[SeenRow, ...]:
        place = place_of(self.generation, partition)
        tables = self._accounts.tables(place.account)
        found: list[SeenRow] = []
        continuation = None
        rows = RowRange(partition, pair, pair + _AFTER_VERSIONS)
        while True:
            page = await tables.query(place.table, rows, continuation=continuation)
            found += [seen for row in page.rows if (seen := self._seen(row.entity, row.etag, pair)) is not None]
            continuation = page.continuation
            if continuation is None:
                return tuple(found)

    def _seen(self, entity: Entity, etag: str, pair: str) -> SeenRow | None:
        row_key = cast(str, entity[ROW_KEY])
        owner, at = split_row_key(row_key)
        if owner != pair:
            return None
        over = is_expired(entity, self._now_seconds())
        return SeenRow(
            row_key, at, is_tombstone(entity), etag, columns_digest(entity), fact_named_in_row(entity, pair), over
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
        reader, mark = self._reader, document.get("_etag")
        key = reader.partition_key_of(document)
        return reader.change(reader.id_of(document), key, clock, document, mark if isinstance(mark, str) else None)


def _distinct(variants: Sequence[tuple[Entry, ...] | None]) -> tuple[tuple[Entry, ...], ...]:
    found: list[tuple[Entry, ...]] = []
    for one in variants:
        if one is not None and one not in found:
            found.append(one)
    return tuple(found)


def key(entry: Entry) -> Key:
    """Where an entry is."""
    return entry.partition_key, entry.entry_key


def _keys(part: GenerationState) -> list[Key]:
    return [(live.partition, live.entry_key) for live in part.current] + [
        (left.partition, left.entry_key) for left in part.removed
    ]


def _known(who: FactIdentity, pairs: Mapping[Key, tuple[SeenRow, ...]]) -> FactIdentity:
    """With id and partition key, when only the rows tell them."""
    if who.id is not None:
        return who
    told = [row.who for rows in pairs.values() for row in rows if row.who is not None]
    return next((one for one in told if one.fact_key == who.fact_key), who)
