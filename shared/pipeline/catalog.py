"""The catalog: which generations every index has, where they are, and in what state.

Rows of table `Catalog`: one per source (its number of ledger buckets, fixed for ever) and one per generation, with the
definition it was made from, so that a worker can keep a generation whose definition has left the file. A definition
that is seen for the first time is active at once if its source has no ledger rows; otherwise the facts that were
applied before are missing from it: it is building.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from shared.definitions.compiled import index_from_plain
from shared.definitions.generation import generation_id
from shared.errors import OperationFailedError
from shared.pipeline.generations import BUCKETS, Generation, SourcePlan, has_lsn
from shared.pipeline.ledger_rows import LEDGER_TABLE, bucket_partition
from shared.projection.project import Projector
from shared.tables.port import PARTITION_KEY, ROW_KEY, Insert, RowRange

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index, Source
    from shared.pipeline.concurrency import RunAll
    from shared.tables.port import Entity, Row, Tables

CATALOG_TABLE: Final = "Catalog"
_SOURCES: Final = "source"
_GENERATIONS: Final = "generation"

State = Literal["building", "active", "retired"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A generation as the catalog knows it. `id` is what ledger parts are called by."""

    id: str
    index: str
    source: str
    state: State
    table: str
    definition: Index


class Catalog:
    """Reads and extends the catalog."""

    def __init__(self, tables: Tables, run_all: RunAll) -> None:
        self._tables = tables
        self._run_all = run_all

    async def plans(self, definitions: Definitions) -> dict[str, SourcePlan]:
        """What the changes of each source are written to. New sources and definitions are entered first."""
        await self._tables.create_table(CATALOG_TABLE)
        buckets = await self._buckets(definitions)
        listed = await self.listed()
        new = [
            one for one in definitions.indexes.values() if not _current(listed, one, definitions.sources[one.source])
        ]
        if new:
            with_facts = {name for name in {one.source for one in new} if await self._has_facts(name, buckets[name])}
            for index in new:
                state: State = "building" if index.source in with_facts else "active"
                await self._enter(index, definitions.sources[index.source], state, listed)
            listed = await self.listed()
        return {name: _plan(source, listed, buckets[name], definitions) for name, source in definitions.sources.items()}

    async def _buckets(self, definitions: Definitions) -> dict[str, int]:
        """The number of ledger buckets of each source: what was chosen when it was first seen."""
        known = {str(row.entity[ROW_KEY]): cast(int, row.entity["buckets"]) for row in await self._rows(_SOURCES)}
        for name in definitions.sources:
            if name not in known:
                await self._insert({PARTITION_KEY: _SOURCES, ROW_KEY: name, "buckets": BUCKETS})
        return {name: known.get(name, BUCKETS) for name in definitions.sources}

    async def _enter(self, index: Index, source: Source, state: State, listed: list[Listed]) -> None:
        """A generation that is new, or that comes back after it was retired: then its table has another name."""
        identity = generation_id(index, source)
        attempt = 1 + sum(one.id.startswith(identity) for one in listed if one.index == index.name)
        generation = Generation.of(index, source, attempt)
        await self._insert(
            {
                PARTITION_KEY: _GENERATIONS,
                ROW_KEY: generation.id,
                "index": index.name,
                "source": source.name,
                "table": generation.table,
                "state": state,
                "definition": json.dumps(asdict(index), ensure_ascii=False),
            }
        )

    async def _has_facts(self, source: str, buckets: int) -> bool:
        partitions = [bucket_partition(source, bucket) for bucket in range(buckets)]
        pages = await self._run_all([partial(self._first_row, partition) for partition in partitions])
        for page in pages:
            if isinstance(page, Exception):
                raise page
        return any(pages)

    async def _first_row(self, partition: str) -> bool:
        page = await self._tables.query(LEDGER_TABLE, RowRange(partition), limit=1, select=("mark",))
        return bool(page.rows) or page.continuation is not None

    async def listed(self) -> list[Listed]:
        """Every generation that there is or was."""
        return [_read(row.entity) for row in await self._rows(_GENERATIONS)]

    async def sources(self) -> list[str]:
        """Every source that there is or was."""
        return [str(row.entity[ROW_KEY]) for row in await self._rows(_SOURCES)]

    async def _rows(self, partition: str) -> list[Row]:
        rows: list[Row] = []
        continuation = None
        while True:
            page = await self._tables.query(CATALOG_TABLE, RowRange(partition), continuation=continuation)
            rows += page.rows
            continuation = page.continuation
            if continuation is None:
                return rows

    async def _insert(self, entity: Entity) -> None:
        """Another worker that starts at the same time may be faster; then its row counts."""
        try:
            await self._tables.transact(CATALOG_TABLE, [Insert(entity)])
        except OperationFailedError:
            return


def _read(entity: Entity) -> Listed:
    fields: dict[str, Any] = dict(entity)
    return Listed(
        fields[ROW_KEY],
        fields["index"],
        fields["source"],
        fields["state"],
        fields["table"],
        index_from_plain(json.loads(fields["definition"])),
    )


def _current(listed: list[Listed], index: Index, source: Source) -> bool:
    """Whether the catalog has the generation of this definition, not retired."""
    identity = generation_id(index, source)
    return any(one.id.startswith(identity) and one.state != "retired" for one in listed)


def _plan(source: Source, listed: list[Listed], buckets: int, definitions: Definitions) -> SourcePlan:
    """Every generation of the source that is not retired, by the definition that it was made from."""
    own = [one for one in listed if one.source == source.name]
    kept = [one for one in own if one.state != "retired" and one.index in definitions.indexes]
    return SourcePlan(
        source.name,
        tuple(Generation(one.id, one.definition, one.table, Projector(one.definition, source)) for one in kept),
        frozenset(one.id for one in own if one.state == "retired"),
        buckets,
        has_lsn=has_lsn(source),
    )
