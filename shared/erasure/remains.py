"""What is left of a deleted fact, and until when: everywhere that its key leads to.

    ledger         its key and version, and the keys of entries whose tombstones are not swept yet
    index tables   rows of those keys, in every generation that still has a table
    dead letters   one for each index at most, with the document that did not fit
    verifications  reports and suspects that name the fact

What its key does not lead to is not found here: sweep messages, which end by themselves, and dead letters of changes
that could not be read. docs/erasure.md lists both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from shared.catalog.plans import generation_of
from shared.entries.keys.fact_key import encode_fact_key, fact_hash, is_fact_key_value
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import is_tombstone
from shared.errors import LifecycleRefusedError, TableMissingError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, dead_letter_id, stored_dead_letter
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, LedgerRow, decode, ledger_partition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration, CatalogSnapshot
    from shared.definitions.model import Definitions, Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.entries.projection.generations import Generation, Place
    from shared.pipeline.apply.services import Services
    from shared.tables.port import Row
    from shared.verification.rows import VerificationRows

RemnantPlace: TypeAlias = Literal["ledger", "indexTable", "deadLetter", "verification"]
# A round of the retention through the ledger begins a day after the one before, and the reports of a verification go
# with its task.
ROUND_SECONDS: Final = 2 * 86_400
REPORT_SECONDS: Final = 30 * 86_400


class FactAddress(NamedTuple):
    """A fact by its source, id and partition key; None where that follows from the id."""

    source: str
    id: str
    partition_key: tuple[FactKeyValue, ...] | None


class Remnant(NamedTuple):
    """Something that is left: where, what it is, and until when at the latest, in seconds since 1970."""

    place: RemnantPlace
    what: str
    until_seconds: int | None


@dataclass(frozen=True, slots=True)
class LeftRow:
    """A row of an index table that is left."""

    place: Place
    row_key: str
    etag: str
    index: str
    # A contribution that still counts: a worker has yet to take it from its total, or nobody writes to the summary any
    # more. Its total would be wrong without it.
    counts: bool


@dataclass(slots=True)
class Remains:
    """All that is left of a fact."""

    fact_key: str
    partition: str
    ledger: Row | None = None
    row: LedgerRow = field(default_factory=LedgerRow)
    rows: list[LeftRow] = field(default_factory=list)
    dead_letters: list[Row] = field(default_factory=list)
    # Index and task of each verification that names it.
    verifications: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        """Whether the fact is not deleted, as far as the ledger knows."""
        return self.ledger is not None and self.row.deleted_at_seconds is None


class RemainsFinder:
    """Finds what is left of facts."""

    def __init__(
        self, definitions: Definitions, catalog: Catalog, services: Services, verifications: VerificationRows
    ) -> None:
        self._definitions = definitions
        self._catalog = catalog
        self._services = services
        self._verifications = verifications

    async def find(self, fact: FactAddress) -> Remains:
        """What is left of a fact now; raises `LifecycleRefusedError` for a fact that no source has."""
        snapshot = await self._catalog.read()
        fact_key = encode_fact_key(self._partition_key(snapshot, fact), fact.id)
        found = Remains(fact_key, ledger_partition(fact.source, fact_hash(fact_key), snapshot.buckets_of(fact.source)))
        found.ledger = await self._services.accounts.main.get(LEDGER_TABLE, found.partition, fact_key)
        if found.ledger is not None:
            found.row = decode(found.ledger.entity)
        generations = [each for each in snapshot.generations if each.source == fact.source]
        if not found.is_there:
            found.rows = [row for each in generations async for row in self._rows(each, found.row)]
        indexes = sorted({*self._definitions.indexes, *(each.index for each in snapshot.generations)})
        found.dead_letters = [row async for row in self._dead_letters(fact.source, fact_key, indexes)]
        found.verifications = [named async for named in self._naming(fact_key, indexes)]
        return found

    def _partition_key(self, snapshot: CatalogSnapshot, fact: FactAddress) -> tuple[FactKeyValue, ...]:
        """That of the fact, once nothing is wrong with its address."""
        source = self._definitions.sources.get(fact.source)
        if source is None and not snapshot.knows(fact.source):
            raise LifecycleRefusedError("NoSuchSource", f"There is no source {fact.source!a}: check its name.")
        key = fact.partition_key if fact.partition_key is not None else _key_by_id(source, fact)
        if not all(map(is_fact_key_value, (*key, fact.id))):
            raise LifecycleRefusedError("BadRequest", "No service can hold this id or partition key: check them.")
        levels = len(key if source is None else source.partition_key)
        if len(key) != levels:
            raise LifecycleRefusedError(
                "BadRequest", f"The partition key has {len(key)} values, and that of the source {levels}."
            )
        return key

    async def _rows(self, described: CatalogGeneration, row: LedgerRow) -> AsyncIterator[LeftRow]:
        state = row.states.get(described.id)
        if state is None or described.dropped_at is not None:
            return
        generation = generation_of(described)
        for partition, entry_key in sorted({entry[:2] for entry in (*state.current, *state.removed)}):
            place = place_of(generation, partition)
            async for row_key, etag, counts in self._stored(generation, place, entry_key):
                yield LeftRow(place, row_key, etag, described.index, counts)

    async def _stored(
        self, generation: Generation, place: Place, entry_key: str
    ) -> AsyncIterator[tuple[str, str, bool]]:
        tables = self._services.accounts.tables(place.account)
        try:
            if generation.layout is None:
                for stored in await list_rows_of(tables, place.table, place.partition, entry_key):
                    yield stored.row_key, stored.etag, False
            elif (row := await tables.get(place.table, place.partition, entry_key)) is not None:
                yield entry_key, row.etag, not is_tombstone(row.entity)
        except TableMissingError:
            return  # a period that is over, or a generation that is about to go

    async def _dead_letters(self, source: str, fact_key: str, indexes: Sequence[str]) -> AsyncIterator[Row]:
        for index in indexes:
            identity = dead_letter_id(source, fact_key, index)
            row = await self._services.accounts.main.get(DEAD_LETTER_TABLE, source, identity)
            if row is not None:
                yield row

    async def _naming(self, fact_key: str, indexes: Sequence[str]) -> AsyncIterator[tuple[str, str]]:
        for index in indexes:
            for task in await self._verifications.naming(index, fact_key):
                yield index, task


def _key_by_id(source: Source | None, fact: FactAddress) -> tuple[FactKeyValue, ...]:
    """The partition key of a source whose facts have none but their id; of any other one the id says nothing."""
    if source is not None and source.is_keyed_by_id:
        return (fact.id,) * len(source.partition_key)
    where = "" if source is None else f", the value at {' and at '.join(source.partition_key)}"
    raise LifecycleRefusedError(
        "BadRequest",
        f"A fact of {fact.source!a} is not known by its id alone: give its partitionKey{where} (--partition-key).",
    )


def shown(found: Remains, services: Services) -> Iterator[Remnant]:
    """What is left, for people."""
    times, ended_at = services.times, found.row.ended_at_seconds
    if found.ledger is not None:
        until = None if ended_at is None else ended_at + times.ledger_retention_seconds + ROUND_SECONDS
        listed = sum(len(state.current) + len(state.removed) for state in found.row.states.values())
        yield Remnant("ledger", f"its key and version, and {listed} keys of entries", until)
    for index in sorted({row.index for row in found.rows}):
        count = sum(row.index == index for row in found.rows)
        swept = None if ended_at is None else ended_at + 2 * times.sweep_delay_seconds
        yield Remnant("indexTable", f"{count} rows of {index}", swept)
    for row in found.dead_letters:
        dead_letter = stored_dead_letter(row)
        until = dead_letter.failed_at_seconds + times.dead_letter_retention_seconds + ROUND_SECONDS
        yield Remnant("deadLetter", f"dead letter {dead_letter.id} of {dead_letter.index}, with its document", until)
    for index, task in found.verifications:
        yield Remnant("verification", f"the report of {task} of {index} names it", None)
