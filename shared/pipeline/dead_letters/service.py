"""What operators do with dead letters: list, show, replay and purge them, for all sources that exist or existed."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from shared.pipeline.concurrency import all_of
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from shared.pipeline.dead_letters.rows import document_gone_error, document_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.catalog.catalog import Catalog
    from shared.definitions.model import Definitions
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.listing import DeadLetterList, DeadLetterPage, ListPosition
    from shared.pipeline.dead_letters.replay import Replayed, Replayer
    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore

_PURGED_AT_ONCE: Final = 1000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a filter may use: of sources and indexes that exist or existed."""

    sources: tuple[str, ...]
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeadLetterService:
    """The dead letters of an app. Several are replayed at once, each on its own."""

    known: Callable[[], Awaitable[KnownNames]]
    store: DeadLetterStore
    listing: DeadLetterList
    replayer: Replayer
    run_replays: RunAll
    retention_seconds: int
    now_seconds: Callable[[], float]

    async def page(self, wanted: DeadLetterFilter, size: int, after: ListPosition | None) -> DeadLetterPage:
        """One page of dead letters."""
        return await self.listing.page((await self.known()).sources, wanted, size, after)

    async def find(self, identity: str) -> StoredDeadLetter:
        """One dead letter; raises `UnknownDeadLetterError`."""
        return await self.listing.find((await self.known()).sources, identity)

    async def document(self, dead_letter: StoredDeadLetter) -> Any:
        """What arrived, as JSON or as text; raises `NotReplayableError` when it is gone."""
        content = await self.store.content(dead_letter.row)
        if content is None:
            raise document_gone_error()
        return document_of(content)

    async def replay(self, dead_letters: Sequence[StoredDeadLetter]) -> list[Replayed]:
        """Replay these dead letters. If storage fails for one, the others are still replayed; then it raises."""
        return await all_of(
            self.run_replays, [partial(self.replayer.replay, dead_letter) for dead_letter in dead_letters]
        )

    async def purge(
        self, wanted: DeadLetterFilter, size: int, after: ListPosition | None, older_than_seconds: float | None = None
    ) -> tuple[int, ListPosition | None]:
        """Delete at most `size` dead letters that are older than the retention, or than `older_than_seconds`; return
        how many, and the position to continue after."""
        age_seconds = self.retention_seconds if older_than_seconds is None else older_than_seconds
        old = replace(wanted, failed_before_seconds=self.now_seconds() - age_seconds)
        page = await self.page(old, size, after)
        return await self.listing.purge(page.dead_letters), page.last

    async def purge_all(self) -> int:
        """Delete every dead letter that is older than the retention; called by a timer."""
        purged, position = await self.purge(DeadLetterFilter(), _PURGED_AT_ONCE, None)
        while position is not None:
            more, position = await self.purge(DeadLetterFilter(), _PURGED_AT_ONCE, position)
            purged += more
        _log.info("Dead letters purged", extra={"purged": purged})
        return purged


async def known_names(definitions: Definitions, catalog: Catalog) -> KnownNames:
    """The names in the definitions and in the catalog, which also keeps names that are no longer defined."""
    snapshot = await catalog.read()
    sources = {*definitions.sources, *snapshot.buckets}
    indexes = {*definitions.indexes, *(generation.index for generation in snapshot.generations)}
    return KnownNames(tuple(sorted(sources)), tuple(sorted(indexes)))
