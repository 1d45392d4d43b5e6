"""The rows of the catalog as values: generations, what serves each index, and the buckets of each source.

All rows share one partition, so that one query reads them and one transaction changes several. Which generation serves
is said by the index's row alone; a generation's own row says how far it has come: building, standby, retired.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from shared.catalog import owed_accounts
from shared.catalog.owed_accounts import OwedAccount
from shared.definitions.compiled import index_from_plain, source_from_plain
from shared.entries.projection.generations import BUCKETS
from shared.entries.rows.columns import put_text, take_text
from shared.tables.port import PARTITION_KEY, ROW_KEY, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from shared.definitions.model import Index, Source
    from shared.entries.rows.columns import Columns
    from shared.tables.port import Entity, Row

CATALOG_TABLE: Final = "Catalog"
PARTITION: Final = "catalog"
# In this order of keys a query that takes several pages reads a generation before the index row that names it.
_GENERATION, _INDEX, _SOURCE = "generation:", "index:", "source:"
_DEFINITION, _SOURCE_DEFINITION = "definition", "sourceDefinition"

GenerationPhase = Literal["building", "standby", "serving", "retired"]


@dataclass(frozen=True, slots=True)
class VerifiedMark:
    """When a generation was last verified as a whole, and how many differences there were."""

    at_seconds: int
    differences: int


@dataclass(frozen=True, slots=True)
class CatalogGeneration:
    """A generation as the catalog knows it. `id` names its state in ledger rows.

    Times are in seconds since 1970. From `starts_at` on every worker is known to write to it: a build starts then.
    `unwanted_at`: since when it neither serves nor is what the definitions say; it is retired after the grace.
    `read_only_at`: since when nothing is written to it while another one takes its place; it serves what it has.
    """

    id: str
    index: str
    table: str
    state: GenerationPhase
    definition: Index
    source_definition: Source
    entered_at: int
    starts_at: int
    # Of the build: its task, and how many facts it could not find again.
    build: str | None = None
    built_at: int | None = None
    unbuilt: int = 0
    verified: VerifiedMark | None = None
    unwanted_at: int | None = None
    retired_at: int | None = None
    dropped_at: int | None = None
    read_only_at: int | None = None
    etag: str | None = field(default=None, compare=False)

    @property
    def source(self) -> str:
        """The name of its source."""
        return self.source_definition.name

    @property
    def is_retired(self) -> bool:
        """Whether its time is over: nothing reads it or writes to it, and its table goes."""
        return self.state == "retired"

    @property
    def is_updated(self) -> bool:
        """Whether workers write every change to it: it is neither retired nor read-only."""
        return not self.is_retired and self.read_only_at is None


@dataclass(frozen=True, slots=True)
class ServingRow:
    """What serves an index: `serving` from the moment `since` on, `before` until then (empty: nothing).

    The moment lies ahead by more than a reader may be behind with the catalog, so that all of them switch at once.
    """

    index: str
    serving: str
    before: str = ""
    since: float = 0
    etag: str | None = field(default=None, compare=False)

    def generation_at(self, now_seconds: float) -> str:
        """The id of the generation that serves at this moment; empty for none."""
        return self.serving if now_seconds >= self.since else self.before or self.serving


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """The whole catalog as one read saw it."""

    generations: tuple[CatalogGeneration, ...] = ()
    served: Mapping[str, ServingRow] = field(default_factory=dict)
    buckets: Mapping[str, int] = field(default_factory=dict)
    # Storage accounts that are or were down, as of the last delivery.
    owed: Mapping[str, OwedAccount] = field(default_factory=dict)

    def of_index(self, index: str) -> list[CatalogGeneration]:
        """The generations of an index, oldest first."""
        own = [generation for generation in self.generations if generation.index == index]
        return sorted(own, key=lambda generation: generation.entered_at)

    def generation(self, identity: str) -> CatalogGeneration | None:
        """The generation with this id."""
        return next((generation for generation in self.generations if generation.id == identity), None)

    def serving(self, index: str, now_seconds: float) -> CatalogGeneration | None:
        """The generation that serves an index at this moment."""
        served = self.served.get(index)
        return None if served is None else self.generation(served.generation_at(now_seconds))

    def knows(self, source: str) -> bool:
        """Whether workers have had this source before, so that it may have facts."""
        return source in self.buckets or any(generation.source == source for generation in self.generations)

    def indexes_owing(self, account: str) -> list[str]:
        """The indexes whose entries wait for an account."""
        owed = self.owed.get(account)
        ids = frozenset[str]() if owed is None else owed.generations
        return sorted({generation.index for generation in self.generations if generation.id in ids})

    def buckets_of(self, source: str) -> int:
        """The number of ledger buckets of a source."""
        return self.buckets.get(source, BUCKETS)


def read_snapshot(rows: Iterable[Row]) -> CatalogSnapshot:
    """The catalog that these rows are."""
    generations: list[CatalogGeneration] = []
    served: dict[str, ServingRow] = {}
    buckets: dict[str, int] = {}
    owed: dict[str, OwedAccount] = {}
    for row in rows:
        key = cast(str, row.entity[ROW_KEY])
        if key.startswith(_GENERATION):
            generations.append(_catalog_generation(row))
        elif key.startswith(_INDEX):
            serving_row = _serving_row(row)
            served[serving_row.index] = serving_row
        elif key.startswith(owed_accounts.PREFIX):
            account = OwedAccount.of(row)
            owed[account.account] = account
        else:
            buckets[key.removeprefix(_SOURCE)] = cast(int, row.entity["buckets"])
    serving = {serving_row.serving for serving_row in served.values()}
    shown = tuple([_as_served(generation, serving) for generation in generations])
    return CatalogSnapshot(shown, served, buckets, owed)


def _as_served(generation: CatalogGeneration, serving: AbstractSet[str]) -> CatalogGeneration:
    is_serving = generation.id in serving and not generation.is_retired
    return replace(generation, state="serving") if is_serving else generation


def write_source(source: str, buckets: int) -> Insert:
    """A source that is seen for the first time."""
    return Insert({PARTITION_KEY: PARTITION, ROW_KEY: _SOURCE + source, "buckets": buckets})


def write_generation(generation: CatalogGeneration) -> Insert | Replace:
    """A generation, new or as it was read."""
    entity: Entity = {
        PARTITION_KEY: PARTITION,
        ROW_KEY: _GENERATION + generation.id,
        "index": generation.index,
        "source": generation.source,
        "table": generation.table,
        # Serving is what the index's row says.
        "state": "standby" if generation.state == "serving" else generation.state,
        "enteredAt": generation.entered_at,
        "startsAt": generation.starts_at,
        "unbuilt": generation.unbuilt,
    }
    # In as many properties as they take: a placement by list names every value.
    texts: Columns = {}
    put_text(texts, _DEFINITION, json.dumps(generation.definition.plain(), ensure_ascii=False))
    put_text(texts, _SOURCE_DEFINITION, json.dumps(generation.source_definition.plain(), ensure_ascii=False))
    entity.update(texts)
    optional = {
        "build": generation.build,
        "builtAt": generation.built_at,
        "verifiedAt": generation.verified.at_seconds if generation.verified else None,
        "differences": generation.verified.differences if generation.verified else None,
        "unwantedAt": generation.unwanted_at,
        "retiredAt": generation.retired_at,
        "droppedAt": generation.dropped_at,
        "readOnlyAt": generation.read_only_at,
    }
    entity.update({name: value for name, value in optional.items() if value is not None})
    return Insert(entity) if generation.etag is None else Replace(entity, generation.etag)


def write_serving(served: ServingRow) -> Insert | Replace:
    """What serves an index, new or as it was read."""
    entity: Entity = {
        PARTITION_KEY: PARTITION,
        ROW_KEY: _INDEX + served.index,
        "serving": served.serving,
        "before": served.before,
        "since": float(served.since),
    }
    return Insert(entity) if served.etag is None else Replace(entity, served.etag)


def _catalog_generation(row: Row) -> CatalogGeneration:
    fields: dict[str, Any] = dict(row.entity)
    verified_at = fields.get("verifiedAt")
    return CatalogGeneration(
        id=fields[ROW_KEY].removeprefix(_GENERATION),
        index=fields["index"],
        table=fields["table"],
        state=fields["state"],
        definition=index_from_plain(json.loads(take_text(fields, _DEFINITION) or "")),
        source_definition=source_from_plain(json.loads(take_text(fields, _SOURCE_DEFINITION) or "")),
        entered_at=fields["enteredAt"],
        starts_at=fields["startsAt"],
        build=fields.get("build"),
        built_at=fields.get("builtAt"),
        unbuilt=fields["unbuilt"],
        verified=None if verified_at is None else VerifiedMark(verified_at, fields["differences"]),
        unwanted_at=fields.get("unwantedAt"),
        retired_at=fields.get("retiredAt"),
        dropped_at=fields.get("droppedAt"),
        read_only_at=fields.get("readOnlyAt"),
        etag=row.etag,
    )


def _serving_row(row: Row) -> ServingRow:
    fields: dict[str, Any] = dict(row.entity)
    name = fields[ROW_KEY].removeprefix(_INDEX)
    return ServingRow(name, fields["serving"], fields["before"], fields["since"], row.etag)
