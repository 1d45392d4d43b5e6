"""Enters what definitions say into the catalog: new sources, and a generation for every definition that has none.

A definition that is seen for the first time serves at once if its index has nothing that serves and no change of its
source has come yet, nor passed by before this storage was there: the feed fills it. Otherwise the facts that came
before are missing from it: it is building, and its build may start when every worker is known to write to it.
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

    # Whether the ledger has a row of a source, which has so many buckets.
    HasFacts: TypeAlias = "Callable[[str, int], Awaitable[bool]]"
    # Whether the feed of a source has passed changes that it will not bring again.
    HasMovedOn: TypeAlias = "Callable[[Source], Awaitable[bool]]"

_ATTEMPTS: Final = 10


async def feed_starts_at_beginning(_source: Source) -> bool:
    """A feed that starts at its beginning, into storage that was there before it."""
    return False


class DefinitionRegistrar:
    """Enters definitions. A worker goes through it when it starts."""

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
        """Enter what is new; the catalog after it. Workers that start at the same time agree on what is first.

        Raises `DefinitionsError` before anything is written when a source is not what it was.
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
                await self._catalog.write(write_source(name, BUCKETS))  # unless an index of its own brought it
        raise StorageUnavailableError("The catalog changes all the time: try again later.", outcome_unknown=False)

    async def _register(self, snapshot: CatalogSnapshot, definitions: Definitions, new: list[Index], now: int) -> None:
        untouched = await self._untouched(snapshot, {one.source: definitions.sources[one.source] for one in new})
        entered, lost = set(snapshot.buckets), set[str]()
        for index in new:
            if index.source in lost:
                continue  # another was first with this source: the next round sees how
            listed = self._listed(snapshot, index, definitions.sources[index.source], now)
            rows: list[CatalogGeneration | ServingRow | Insert] = [listed]
            if index.source in untouched and not _is_served(snapshot, index.name):
                served = snapshot.served.get(index.name, ServingRow(index.name, ""))
                rows = [replace(listed, state="standby"), replace(served, serving=listed.id)]
                if index.source not in entered:
                    rows.append(write_source(index.source, BUCKETS))
            # If another was first with this index, or with this row, the next round sees it.
            if await self._catalog.write(*rows):
                entered.add(index.source)
            elif index.source not in entered:
                lost.add(index.source)

    async def _untouched(self, snapshot: CatalogSnapshot, sources: Mapping[str, Source]) -> set[str]:
        """The sources none of whose changes has been applied or passed over yet.

        A source that is in the catalog has workers, and while it has no index they write its changes nowhere. So it
        must have a whole generation: that leaves ledger rows. An empty ledger alone proves nothing: retention forgets
        facts whose entries have all expired, the tables may be new, or the feed may start with the present. So the
        feed is asked, too.
        """
        whole = {one.source for one in snapshot.generations if one.is_updated and one.state != "building"}
        candidates = {name for name in sources if name not in snapshot.buckets or name in whole}
        empty = {name for name in candidates if not await self._has_facts(name, snapshot.buckets_of(name))}
        return {name for name in empty if not await self._has_moved_on(sources[name])}

    def _listed(self, snapshot: CatalogSnapshot, index: Index, source: Source, now: int) -> CatalogGeneration:
        """A generation that is new, or that comes back after it was retired: then its table has another name."""
        attempt = 1 + len(_attempts(snapshot, index, source))
        generation = Generation.of(index, source, attempt)
        starts_at = now + self._build_delay_seconds
        return CatalogGeneration(generation.id, index.name, generation.table, "building", index, source, now, starts_at)


def check_sources(snapshot: CatalogSnapshot, definitions: Definitions) -> None:
    """Raise `DefinitionsError` when a source tells its facts, or orders their versions, otherwise than before.

    The ledger would take known facts for new ones, or newer versions for old ones, and entries would stay for ever.
    """
    faults = {
        one.source: _changed_source(one, changed)
        for one in snapshot.generations
        if not one.is_retired and one.source in definitions.sources
        if (changed := changed_identity(identity(one.source_definition), definitions.sources[one.source]))
    }
    if faults:
        raise DefinitionsError(tuple(faults.values()))


def _changed_source(kept: CatalogGeneration, changed: tuple[str, ...]) -> str:
    before: Identity = identity(kept.source_definition)
    was = ", ".join(f"{key} was {before[key]!r}" for key in changed)
    return (
        f'Source "{kept.source}" is not the one that index "{kept.index}" has been kept from: its {was}. '
        "Take that back, or give the source a new name."
    )


def index_of(definitions: Definitions, name: str) -> Index:
    """The index of that name; raises `UnknownIndexError`, which points to the nearest one."""
    try:
        return definitions.indexes[name]
    except KeyError:
        raise UnknownIndexError(
            f'There is no index "{name}" in the definitions: deploy them with it first. '
            f"{did_you_mean(name, definitions.indexes)}"
        ) from None


def generation_of_definition(snapshot: CatalogSnapshot, index: Index, source: Source) -> CatalogGeneration | None:
    """The generation of a definition, as it is kept; None when it is not in the catalog.

    One that was made read-only lacks changes since then: a definition that is put back is built again.
    """
    return next((one for one in _attempts(snapshot, index, source) if one.is_updated), None)


def _attempts(snapshot: CatalogSnapshot, index: Index, source: Source) -> list[CatalogGeneration]:
    identity = generation_id(index, source)
    return [one for one in snapshot.of_index(index.name) if one.id.startswith(identity)]


def _is_served(snapshot: CatalogSnapshot, index: str) -> bool:
    served = snapshot.served.get(index)
    serving = None if served is None else snapshot.generation(served.serving)
    return serving is not None and not serving.is_retired


def _missing(snapshot: CatalogSnapshot, definitions: Definitions) -> list[Index]:
    """The definitions whose generation is not there."""
    return [
        one
        for one in definitions.indexes.values()
        if generation_of_definition(snapshot, one, definitions.sources[one.source]) is None
    ]
