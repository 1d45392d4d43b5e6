"""Which generation serves each index, as the catalog says: the port `Generations` of lookups over the pipeline.

A changed definition is served by its old generation until the new one has been switched to. The catalog is read again
after a while. A switch names a moment that lies further ahead than that: all instances switch at that moment, each
after another look, because the switch may have been taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.catalog.rows import CatalogSnapshot
from shared.entries.keys.index_keys import IndexKeys
from shared.errors import IndexBuildingError, StorageUnavailableError, TableMissingError
from shared.lookup.generations import DefinedGenerations, ReadableGeneration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration
    from shared.definitions.model import Definitions
    from shared.tables.retry import Timing
    from shared.tasks.rows import TaskRows

# An index that the catalog lacks is entered by the first worker that starts: that may happen any moment.
UNKNOWN_REFRESH_SECONDS: Final = 1.0
_NOT_STARTED: Final = "its source has facts, and its build has not been started"
# Whether the source has facts only a worker finds out, with a query for every bucket of the ledger.
_NOT_ENTERED: Final = "its source is not new, and no worker has started with it yet"


async def _no_progress(generation: CatalogGeneration) -> str:
    return _NOT_STARTED if generation.build is None else "its build has been started"


class BuildProgress:
    """How far builds are, in words for whoever looks up too early."""

    def __init__(self, rows: TaskRows) -> None:
        self._rows = rows

    async def text(self, generation: CatalogGeneration) -> str:
        """The progress of a generation that does not serve yet."""
        if generation.state == "standby":
            return "it is built and waits to be switched to"
        progress = None if generation.build is None else await self._rows.read(generation.build)
        if progress is None:
            return _NOT_STARTED
        counts, task = progress.counts, progress.task
        if task.state == "failed":
            return f"its build has failed: {task.problem}"
        done = sum(one.is_done for one in progress.slices)
        return f"{counts.get('facts', 0)} facts read, {done} of {len(progress.slices)} slices done so far"


class CatalogGenerations:
    """Generations by the catalog, with the definitions for what it does not know yet.

    The catalog may be given by several endpoints: the next one is asked when one gives no answer. When none does, what
    was read before is good enough. `progress` tells how far a build is.
    """

    def __init__(
        self,
        definitions: Definitions,
        catalogs: Sequence[Catalog],
        timing: Timing,
        refresh_seconds: float,
        progress: Callable[[CatalogGeneration], Awaitable[str]] = _no_progress,
    ) -> None:
        self._defined = DefinedGenerations(definitions)
        self._catalogs = catalogs
        self._timing = timing
        self._refresh_seconds = refresh_seconds
        self._progress = progress
        self._snapshot = CatalogSnapshot()
        self._read_at: float | None = None
        self._read_at_wall = 0.0

    async def serving(self, index: str) -> ReadableGeneration:
        """The serving generation; raises `UnknownIndexError`, or `IndexBuildingError` while there is none."""
        defined = await self._defined.serving(index)
        snapshot = await self._read(index)
        serving = snapshot.serving(index, self._timing.wall_seconds())
        if serving is not None and serving.is_written:
            return _generation(serving)
        known = [one for one in snapshot.of_index(index) if one.is_written]
        if known:
            raise IndexBuildingError(index, await self._progress(known[-1]))
        if snapshot.knows(defined.source.name):
            raise IndexBuildingError(index, _NOT_ENTERED)
        return defined  # no worker has started yet, so that its table is empty or not there

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The generation with this id, or None once it is retired."""
        for one in (await self._read(index)).of_index(index):
            if one.id == generation:
                return _generation(one) if one.is_written else None
        return await self._defined.still_there(index, generation)

    async def _read(self, index: str) -> CatalogSnapshot:
        """What is known of the catalog, read again when it is too old."""
        now = self._timing.steady_seconds()
        is_known = index in self._snapshot.served
        refresh_seconds = self._refresh_seconds if is_known else min(UNKNOWN_REFRESH_SECONDS, self._refresh_seconds)
        if self._read_at is None or now - self._read_at > refresh_seconds or self._is_switched(index):
            wall = self._timing.wall_seconds()
            self._snapshot = await self._read_any()
            self._read_at, self._read_at_wall = now, wall
        return self._snapshot

    def _is_switched(self, index: str) -> bool:
        """Whether the moment of a switch has come since the catalog was read."""
        served = self._snapshot.served.get(index)
        return served is not None and self._read_at_wall < served.since <= self._timing.wall_seconds()

    async def _read_any(self) -> CatalogSnapshot:
        for number, catalog in enumerate(self._catalogs, 1):
            try:
                return await catalog.read()
            except TableMissingError:
                return CatalogSnapshot()
            except StorageUnavailableError:
                if number == len(self._catalogs) and self._read_at is None:
                    raise
        return self._snapshot


def _generation(one: CatalogGeneration) -> ReadableGeneration:
    return ReadableGeneration(one.id, one.table, one.definition, one.source_definition, IndexKeys(one.definition))
