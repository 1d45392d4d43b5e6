"""Which generation of an index answers a lookup: the port, what the definitions alone say, and what the catalog says.

A changed definition is served by its old generation, with its old definition, until the new one is built and switched
to. The catalog is read again after a while. A switch names a moment that lies further ahead than that: all instances
switch at that moment, each after another look, because the switch may have been taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from shared.catalog.rows import CatalogSnapshot
from shared.definitions.identity import generation_id, table_name
from shared.definitions.suggestions import did_you_mean_one_of
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.summaries.totals import SummaryLayout
from shared.errors import IndexBuildingError, StorageUnavailableError, TableMissingError, UnknownIndexError
from shared.inputs.faults import shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from shared.catalog.catalog import Catalog
    from shared.catalog.rows import CatalogGeneration
    from shared.definitions.model import Definitions, Index, Source
    from shared.tables.retry import Timing
    from shared.tasks.rows import TaskRows

# The first worker that starts registers an index that the catalog lacks: that may happen any moment.
UNKNOWN_REFRESH_SECONDS: Final = 1.0
_NOT_STARTED: Final = "its source has facts, and its build has not been started"
# Only a worker finds out whether the source has facts, with a query for every bucket of the ledger.
_NOT_REGISTERED: Final = "its source is not new, and no worker has started with it yet"


@dataclass(frozen=True, slots=True)
class ReadableGeneration:
    """One physical build of an index, with the definition that it was built from."""

    id: str
    table: str
    index: Index
    source: Source
    keys: IndexKeys = field(repr=False)
    # How the totals of a summary are stored; None for any other index.
    layout: SummaryLayout | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        layout = None if self.index.summarize is None else SummaryLayout(self.index.summarize)
        object.__setattr__(self, "layout", layout)


class Generations(Protocol):
    """Knows the generations that can be read."""

    async def serving(self, index: str) -> ReadableGeneration:
        """The one that answers now; raises `UnknownIndexError`, or `IndexBuildingError` while there is none yet."""

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The generation with this id, or None once it is retired."""

    def owed_since(self, generation: str) -> Mapping[str, int]:
        """The accounts that were down and lack entries of a generation, and since when, in seconds since 1970."""


class DefinedGenerations:
    """Every index is served by the generation that its definition is."""

    def __init__(self, definitions: Definitions) -> None:
        self._generations = {
            index.name: generation_of(index, definitions.sources[index.source])
            for index in definitions.indexes.values()
        }

    async def serving(self, index: str) -> ReadableGeneration:
        """The generation of the index's definition."""
        try:
            return self._generations[index]
        except KeyError:
            raise unknown_index(index, self._generations) from None

    def owed_since(self, generation: str) -> Mapping[str, int]:
        """Definitions know nothing of accounts that were down."""
        return {}

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The same, if it is the one that is meant."""
        found = self._generations.get(index)
        return found if found is not None and found.id == generation else None


def generation_of(index: Index, source: Source) -> ReadableGeneration:
    """The generation that a definition is."""
    identity = generation_id(index, source)
    return ReadableGeneration(identity, table_name(index, identity), index, source, IndexKeys(index))


def unknown_index(name: str, known: Iterable[str]) -> UnknownIndexError:
    """The error for a name that none of these indexes has."""
    return UnknownIndexError(f"There is no index {shown(name)}. {did_you_mean_one_of(name, known)}")


async def build_is_started(generation: CatalogGeneration) -> str:
    """Whether a generation that does not serve yet has a build, by the catalog alone."""
    return _NOT_STARTED if generation.build is None else "its build has been started"


class BuildProgress:
    """How far builds are, in words for callers that look up too early."""

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
        done = sum(each.is_done for each in progress.slices)
        return f"{counts.get('facts', 0)} facts read, {done} of {len(progress.slices)} slices done so far"


class CatalogGenerations:
    """Generations by the catalog, with the definitions for what it does not know yet.

    The catalog may be given by several endpoints: the next one is asked when one gives no answer. When none does, what
    was read before is good enough. `progress` says how far a build is.
    """

    def __init__(
        self,
        definitions: Definitions,
        catalogs: Sequence[Catalog],
        timing: Timing,
        refresh_seconds: float,
        progress: Callable[[CatalogGeneration], Awaitable[str]] = build_is_started,
    ) -> None:
        self._defined = DefinedGenerations(definitions)
        self._catalogs = catalogs
        self._timing = timing
        self._refresh_seconds = refresh_seconds
        self._progress = progress
        self._snapshot = CatalogSnapshot()
        # Those of the snapshot that were asked for, by id: their keys are not made anew for every lookup.
        self._readable: dict[str, ReadableGeneration] = {}
        self._read_at: float | None = None
        self._read_at_wall = 0.0

    async def serving(self, index: str) -> ReadableGeneration:
        """The serving generation; raises `UnknownIndexError`, or `IndexBuildingError` while there is none."""
        defined = await self._defined.serving(index)
        snapshot = await self._read(index)
        serving = snapshot.serving(index, self._timing.wall_seconds())
        if serving is not None and not serving.is_retired:
            return self._as_readable(serving)
        known = [each for each in snapshot.of_index(index) if not each.is_retired]
        if known:
            raise IndexBuildingError(index, await self._progress(known[-1]))
        if snapshot.knows(defined.source.name):
            raise IndexBuildingError(index, _NOT_REGISTERED)
        return defined  # no worker has started yet, so that its table is empty or not there

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The generation with this id, or None once it is retired."""
        for each in (await self._read(index)).of_index(index):
            if each.id == generation:
                return None if each.is_retired else self._as_readable(each)
        return await self._defined.still_there(index, generation)

    def owed_since(self, generation: str) -> Mapping[str, int]:
        """The accounts that lack entries of a generation, by the catalog as it was last read, and since when."""
        owed = self._snapshot.owed
        return {name: each.since_seconds for name, each in owed.items() if generation in each.generations}

    def _as_readable(self, listed: CatalogGeneration) -> ReadableGeneration:
        found = self._readable.get(listed.id)
        if found is None:
            keys = IndexKeys(listed.definition)
            found = ReadableGeneration(listed.id, listed.table, listed.definition, listed.source_definition, keys)
            self._readable[listed.id] = found
        return found

    async def _read(self, index: str) -> CatalogSnapshot:
        """What is known of the catalog, read again when it is too old."""
        now = self._timing.steady_seconds()
        is_known = index in self._snapshot.served
        refresh_seconds = self._refresh_seconds if is_known else min(UNKNOWN_REFRESH_SECONDS, self._refresh_seconds)
        if self._read_at is None or now - self._read_at > refresh_seconds or self._is_switched(index):
            wall = self._timing.wall_seconds()
            self._snapshot = await self._read_any()
            self._readable = {}
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
