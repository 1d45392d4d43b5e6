"""Which generation serves each index, as the catalog says: the port `Generations` of lookups over the pipeline.

A changed definition is served by its old generation until the new one has been built. The catalog is read again after
a while, so that every instance learns of a switch within a bounded time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.errors import IndexBuildingError, StorageUnavailableError, TableMissingError
from shared.keys.index import IndexKeys
from shared.lookup.generations import DefinedGenerations, Generation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.definitions.model import Definitions
    from shared.pipeline.catalog import Catalog, Listed

REFRESH_SECONDS: Final = 30.0
# An index that the catalog lacks is entered by the first worker that starts: that may happen any moment.
UNKNOWN_REFRESH_SECONDS: Final = 1.0


class CatalogGenerations:
    """Generations by the catalog, with the definitions for what it does not know yet.

    The catalog may be given by several endpoints: the next one is asked when one gives no answer. When none does, what
    was read before is good enough.
    """

    def __init__(
        self, definitions: Definitions, catalogs: Sequence[Catalog], steady_seconds: Callable[[], float]
    ) -> None:
        self._definitions = definitions
        self._defined = DefinedGenerations(definitions)
        self._catalogs = catalogs
        self._steady_seconds = steady_seconds
        self._listed: list[Listed] = []
        self._read_at: float | None = None

    async def serving(self, index: str) -> Generation:
        """The active generation; raises `UnknownIndexError`, or `IndexBuildingError` while there is none."""
        defined = await self._defined.serving(index)
        known = [one for one in await self._all(index) if one.index == index and one.state != "retired"]
        active = [one for one in known if one.state == "active"]
        if active:
            return self._generation(active[0])
        if known:
            raise IndexBuildingError(index, "it was added to a source that has facts already")
        return defined  # no worker has started yet, so that its table is empty or not there

    async def still_there(self, index: str, generation: str) -> Generation | None:
        """The generation with this id, or None once it is retired."""
        for one in await self._all(index):
            if one.index == index and one.id == generation:
                return None if one.state == "retired" else self._generation(one)
        return await self._defined.still_there(index, generation)

    def _generation(self, one: Listed) -> Generation:
        source = self._definitions.sources[one.source]
        return Generation(one.id, one.table, one.definition, source, IndexKeys(one.definition))

    async def _all(self, index: str) -> list[Listed]:
        now = self._steady_seconds()
        is_known = any(one.index == index for one in self._listed)
        refresh_seconds = REFRESH_SECONDS if is_known else UNKNOWN_REFRESH_SECONDS
        if self._read_at is None or now - self._read_at > refresh_seconds:
            self._listed = await self._read()
            self._read_at = now
        return self._listed

    async def _read(self) -> list[Listed]:
        for number, catalog in enumerate(self._catalogs, 1):
            try:
                return await catalog.listed()
            except TableMissingError:
                return []
            except StorageUnavailableError:
                if number == len(self._catalogs) and self._read_at is None:
                    raise
        return self._listed
