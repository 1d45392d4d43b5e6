"""Registers definitions in the catalog: new sources, and a generation for every definition that has none.

A new generation serves at once if its index has no serving generation yet and no change of its source came before it:
none has been applied, and the feed has passed none. Then the feed fills it. Otherwise it lacks older facts and must be
built. The build may start when every worker is known to write to the new generation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from shared.catalog.rows import CatalogGeneration, ServingRow, write_source
from shared.definitions.compare import changed_identity, identity
from shared.definitions.identity import generation_id
from shared.definitions.suggestions import did_you_mean
from shared.entries.projection.generations import BUCKETS, Generation
from shared.errors import DefinitionsError, StorageUnavailableError, UnknownIndexError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogSnapshot
    from shared.definitions.compare import Identity
    from shared.definitions.model import Definitions, Index, Source
    from shared.tables.port import Insert

    # Whether the ledger has a row of a source, given its name and its number of buckets.
    HasFacts: TypeAlias = "Callable[[str, int], Awaitable[bool]]"
    # Whether the feed of a source has passed changes that it will not deliver again.
    HasMovedOn: TypeAlias = "Callable[[Source], Awaitable[bool]]"

_ATTEMPTS: Final = 10


async def feed_starts_at_beginning(_source: Source) -> bool:
    """False for every source: all feeds start at their beginning, after the storage was created."""
    return False


class DefinitionRegistrar:
    """Registers definitions. A worker does this when it starts."""

    def __init__(
        self,
        catalog: Catalog,
        build_delay_seconds: int,
        has_facts: HasFacts,
        has_moved_on: HasMovedOn = feed_starts_at_beginning,
    ) -> None:
        self._catalog = catalog
        self._build_delay_seconds = build_delay_seconds
        self._has_facts = has_facts
        self._has_moved_on = has_moved_on

    async def register(self, definitions: Definitions, now_seconds: float) -> CatalogSnapshot:
        """Register what is new, and return the catalog after that. Workers that start at the same time agree on what
        was first.

        Raises `DefinitionsError`, before anything is written, when the identity of a source has changed.
        """
        await self._catalog.create()
        for _ in range(_ATTEMPTS):
            snapshot = await self._catalog.read()
            check_sources(snapshot, definitions)
            new_sources = definitions.sources.keys() - snapshot.buckets.keys()
            new = _missing(snapshot, definitions)
            if not new_sources and not new:
                return snapshot
            await self._register(snapshot, definitions, new, int(now_seconds))
            for name in sorted(new_sources):
                await self._catalog.write(write_source(name, BUCKETS))  # unless one of its indexes has written it
        raise StorageUnavailableError("The catalog changes all the time: try again later.", outcome_unknown=False)

    async def _register(self, snapshot: CatalogSnapshot, definitions: Definitions, new: list[Index], now: int) -> None:
        untouched = await self._untouched(snapshot, {index.source: definitions.sources[index.source] for index in new})
        registered, lost = set(snapshot.buckets), set[str]()
        for index in new:
            if index.source in lost:
                continue  # another worker was first with this source: the next round reads what it wrote
            generation = self._new_generation(snapshot, index, definitions.sources[index.source], now)
            rows: list[CatalogGeneration | ServingRow | Insert] = [generation]
            if index.source in untouched and not _is_served(snapshot, index.name):
                served = snapshot.served.get(index.name, ServingRow(index.name, ""))
                rows = [replace(generation, state="standby"), replace(served, serving=generation.id)]
                if index.source not in registered:
                    rows.append(write_source(index.source, BUCKETS))
            # If another worker was first with this index or this row, the next round reads what it wrote.
            if await self._catalog.write(*rows):
                registered.add(index.source)
            elif index.source not in registered:
                lost.add(index.source)

    async def _untouched(self, snapshot: CatalogSnapshot, sources: Mapping[str, Source]) -> set[str]:
        """The sources of which no change has been applied or missed yet.

        A source in the catalog has workers. While it has no index, they write its changes nowhere. So it must have a
        complete generation, which leaves ledger rows. Even then, an empty ledger alone proves nothing: retention
        forgets facts whose entries have all expired, the tables may be new, or the feed may start with the present. So
        the feed is asked, too.
        """
        whole = {
            generation.source
            for generation in snapshot.generations
            if generation.is_updated and generation.state != "building"
        }
        candidates = {name for name in sources if name not in snapshot.buckets or name in whole}
        empty = {name for name in candidates if not await self._has_facts(name, snapshot.buckets_of(name))}
        return {name for name in empty if not await self._has_moved_on(sources[name])}

    def _new_generation(self, snapshot: CatalogSnapshot, index: Index, source: Source, now: int) -> CatalogGeneration:
        """A new generation. If the definition had one that was retired, the table of the new one has another name."""
        attempt = 1 + len(_attempts(snapshot, index, source))
        generation = Generation.of(index, source, attempt)
        starts_at = now + self._build_delay_seconds
        return CatalogGeneration(generation.id, index.name, generation.table, "building", index, source, now, starts_at)


def check_sources(snapshot: CatalogSnapshot, definitions: Definitions) -> None:
    """Raise `DefinitionsError` when a source now identifies its facts, or orders their versions, in another way.

    The ledger would take known facts for new ones, or newer versions for old ones, and entries would stay for ever.
    """
    sources = definitions.sources
    faults = {
        generation.source: _changed_source(generation, changed)
        for generation in snapshot.generations
        if not generation.is_retired and generation.source in sources
        if (changed := changed_identity(identity(generation.source_definition), sources[generation.source]))
    }
    if faults:
        raise DefinitionsError(tuple(faults.values()))


def _changed_source(generation: CatalogGeneration, changed: tuple[str, ...]) -> str:
    before: Identity = identity(generation.source_definition)
    was = ", ".join(f"{key} was {before[key]!r}" for key in changed)
    return (
        f'Source "{generation.source}" has changed since index "{generation.index}" was made from it: its {was}. '
        "Take that back, or give the source a new name."
    )


def index_of(definitions: Definitions, name: str) -> Index:
    """The index of that name; raises `UnknownIndexError`, which suggests the most similar name."""
    try:
        return definitions.indexes[name]
    except KeyError:
        raise UnknownIndexError(
            f'There is no index "{name}" in the definitions: deploy them with it first. '
            f"{did_you_mean(name, definitions.indexes)}"
        ) from None


def generation_of_definition(snapshot: CatalogSnapshot, index: Index, source: Source) -> CatalogGeneration | None:
    """The generation of a definition that workers keep up to date; None when there is none in the catalog.

    A generation that was made read-only lacks the changes since then: when its definition comes back, another is built.
    """
    return next((generation for generation in _attempts(snapshot, index, source) if generation.is_updated), None)


def _attempts(snapshot: CatalogSnapshot, index: Index, source: Source) -> list[CatalogGeneration]:
    identity = generation_id(index, source)
    return [generation for generation in snapshot.of_index(index.name) if generation.id.startswith(identity)]


def _is_served(snapshot: CatalogSnapshot, index: str) -> bool:
    served = snapshot.served.get(index)
    serving = None if served is None else snapshot.generation(served.serving)
    return serving is not None and not serving.is_retired


def _missing(snapshot: CatalogSnapshot, definitions: Definitions) -> list[Index]:
    """The indexes whose definition has no generation in the catalog."""
    return [
        index
        for index in definitions.indexes.values()
        if generation_of_definition(snapshot, index, definitions.sources[index.source]) is None
    ]
