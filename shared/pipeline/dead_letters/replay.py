"""Replays dead letters: applies the change that a dead letter keeps, at its own version, as any other change.

    1. refuse      a change that is too old, or whose index or source no longer exists
    2. read        the kept change; what could not be read before is read again by the same reader
    3. apply       as any change, but drop all of it if its fact has a newer version: no deleted fact comes back
    4. look again  the dead letter was put again: the change still fails; it has not changed: remove it, on the
                   condition of its ETag; it is gone: applying the change has closed it

The dead letter is the only trace of its change, so it is removed last. A crash before that leaves a dead letter whose
replay finds everything done.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, cast

from shared.entries.changes.change import Change
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.hub_reader import HubReader
from shared.entries.changes.received_event import ReceivedEvent
from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.projection.project_all import project_all
from shared.entries.rows.columns import fact_columns
from shared.errors import IgnoredEventError, NotReplayableError, UnreadableChangeError
from shared.pipeline.dead_letters.rows import DeadLetter, document_gone_error, document_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shared.definitions.model import Definitions
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.dead_letters.listing import DeadLetterList
    from shared.pipeline.dead_letters.rows import ArrivedBy, StoredDeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.pipeline.outcome import BatchOutcome

Result = Literal["applied", "stillFails", "superseded", "refused"]

_SUPERSEDED: Final = "A newer version of the fact has been applied since; the dead letter is closed."
_IGNORED: Final = "Its source now ignores such events; the dead letter is closed."

_log = logging.getLogger(__name__)


class Replayed(NamedTuple):
    """What became of a dead letter: its change is in the index, it fails again, it is outdated, or it was not tried."""

    dead_letter: StoredDeadLetter
    result: Result
    detail: str


class ChangeApplier(Protocol):
    """Applies changes, as a worker does."""

    async def apply(self, plan: SourcePlan, changes: Sequence[Change]) -> BatchOutcome:
        """Apply every change or raise `IncompleteBatchError`."""


class Replayer:
    """Replays dead letters of the sources that a worker knows.

    Every replay has its own applier. An applier that remembers which generations are finished would skip one that still
    fails, and the dead letter would look as if it were done.
    """

    def __init__(
        self,
        definitions: Definitions,
        plans: Callable[[], Awaitable[Mapping[str, SourcePlan]]],
        new_applier: Callable[[], ChangeApplier],
        store: DeadLetterStore,
        listing: DeadLetterList,
        retention_seconds: int,
        now_seconds: Callable[[], float],
    ) -> None:
        self._definitions = definitions
        self._plans = plans
        self._new_applier = new_applier
        self._store = store
        self._listing = listing
        self._retention_seconds = retention_seconds
        self._now_seconds = now_seconds

    async def replay(self, dead_letter: StoredDeadLetter) -> Replayed:
        """Replay a dead letter, as it is now. Raises when storage fails; the dead letter is still there then."""
        whole = await self._listing.read_again(dead_letter)
        if whole is None:
            return Replayed(dead_letter, "superseded", "Another call has closed the dead letter meanwhile.")
        try:
            replayed = await self._replay(whole)
        except NotReplayableError as error:
            replayed = Replayed(whole, "refused", str(error))
        _log.info(
            "Dead letter replayed",
            extra={
                "letter": dead_letter.id,
                "source": dead_letter.source,
                "index": dead_letter.index,
                "result": replayed.result,
            },
        )
        return replayed

    async def _replay(self, dead_letter: StoredDeadLetter) -> Replayed:
        plan = self._checked_plan(dead_letter, await self._plans())
        content = await self._store.content(dead_letter.row)
        if content is None:
            raise document_gone_error()
        try:
            change = self._change(dead_letter, document_of(content))
        except UnreadableChangeError as error:
            return await self._still_unreadable(dead_letter, content, str(error))
        except IgnoredEventError:
            await self._store.remove(dead_letter.row)
            return Replayed(dead_letter, "superseded", _IGNORED)
        outcome = await self._new_applier().apply(replace(plan, is_replay=True), [change])
        replayed = await self._judged(dead_letter, outcome)
        if replayed.result != "stillFails":
            return replayed
        return replayed._replace(detail=_fits_some_generations(dead_letter, change, plan) or replayed.detail)

    def _checked_plan(self, dead_letter: StoredDeadLetter, plans: Mapping[str, SourcePlan]) -> SourcePlan:
        plan = plans.get(dead_letter.source)
        if plan is None:
            raise NotReplayableError(f'There is no source "{dead_letter.source}" any more: define it again, or purge.')
        indexes = {generation.index.name for generation in plan.generations}
        if not dead_letter.is_unreadable and dead_letter.index not in indexes:
            raise NotReplayableError(f'There is no index "{dead_letter.index}" any more: define it again, or purge.')
        self._check_age(dead_letter.failed_at_seconds)
        return plan

    def _check_age(self, since_seconds: float) -> None:
        """Refuse a change that is too old. The ledger has forgotten facts that were deleted long ago, and the change
        could bring one back."""
        if self._now_seconds() - since_seconds > self._retention_seconds:
            raise NotReplayableError(
                "The change is older than DEAD_LETTER_RETENTION_DAYS, and its fact may have been deleted and forgotten "
                "since: write the fact again, then purge the dead letter."
            )

    def _change(self, dead_letter: StoredDeadLetter, document: Any) -> Change:
        if dead_letter.is_unreadable:
            return self._read_again(dead_letter, document)
        if dead_letter.fact_id is None or not isinstance(document, dict):
            raise NotReplayableError(
                "What the dead letter keeps is incomplete: write the fact again, then purge the dead letter."
            )
        fact_key = encode_fact_key(dead_letter.partition_key, dead_letter.fact_id)
        return Change(
            source=dead_letter.source,
            id=dead_letter.fact_id,
            partition_key=dead_letter.partition_key,
            fact_key=fact_key,
            fact_hash=fact_hash(fact_key),
            version=dead_letter.version,
            document=document,
            columns=fact_columns(dead_letter.fact_id, dead_letter.partition_key),
            source_etag=dead_letter.source_etag,
        )

    def _read_again(self, dead_letter: StoredDeadLetter, kept: Any) -> Change:
        source = self._definitions.sources[dead_letter.source]
        if dead_letter.via == "event" and source.event_hub is not None and isinstance(kept, dict):
            event = ReceivedEvent.from_plain(kept)
            self._check_age(event.enqueued.timestamp())
            return HubReader.of(source, self._definitions).read_for(source.name, event)
        if dead_letter.via == "feed" and source.cosmos is not None:
            self._check_age(_written_at_seconds(kept, dead_letter.failed_at_seconds))
            reader = CosmosReader(source)
            return (reader.all_versions if _is_item(kept) else reader.latest)(kept)
        raise NotReplayableError(
            f'Source "{dead_letter.source}" does not get changes in this way any more: purge the dead letter.'
        )

    async def _still_unreadable(self, dead_letter: StoredDeadLetter, content: bytes, reason: str) -> Replayed:
        """Keep the new reason, which may differ from the old one."""
        await self._store.put(
            DeadLetter(
                dead_letter.id,
                dead_letter.source,
                "",
                "unreadable",
                reason,
                "",
                content,
                via=cast("ArrivedBy", dead_letter.via),
            )
        )
        return Replayed(dead_letter, "stillFails", reason)

    async def _judged(self, dead_letter: StoredDeadLetter, outcome: BatchOutcome) -> Replayed:
        if dead_letter.is_unreadable and await self._store.remove(dead_letter.row):
            return _of_readable(dead_letter, outcome)
        while (now := await self._listing.read_again(dead_letter)) is not None:
            if now.row.etag != dead_letter.row.etag:
                return Replayed(now, "stillFails", now.reason)
            if await self._store.remove(now.row):
                break
        return Replayed(dead_letter, "superseded", _SUPERSEDED) if outcome.dropped else _applied(dead_letter)


def _of_readable(dead_letter: StoredDeadLetter, outcome: BatchOutcome) -> Replayed:
    """The result for a change that could not be read before. It may still not fit an index: then it has a dead letter
    there."""
    if outcome.dead_letters:
        detail = f"It can be read now, but does not fit {outcome.dead_letters} of its indexes: see their dead letters."
        return Replayed(dead_letter, "stillFails", detail)
    return Replayed(dead_letter, "superseded", _SUPERSEDED) if outcome.dropped else _applied(dead_letter)


def _fits_some_generations(dead_letter: StoredDeadLetter, change: Change, plan: SourcePlan) -> str | None:
    """A sentence for a change that fits only some generations of its index, as while a fixed definition is built."""
    projected = [entries for entries in project_all(change, plan) if entries.generation.index.name == dead_letter.index]
    failing = [entries.generation.id for entries in projected if entries.failure is not None]
    fitting = [entries.generation.id for entries in projected if entries.failure is None]
    if not failing or not fitting:
        return None
    return (
        f"It fits generation {', '.join(fitting)} of the index, but not {', '.join(failing)}: "
        "the dead letter stays until that one is retired."
    )


def _applied(dead_letter: StoredDeadLetter) -> Replayed:
    return Replayed(dead_letter, "applied", "The change has been applied; the dead letter is closed.")


def _is_item(kept: Any) -> bool:
    """Whether this is an item of an all versions feed. A build of such a source reads documents, so a dead letter may
    keep a document, which has its own `_ts`."""
    return isinstance(kept, dict) and "metadata" in kept and "_ts" not in kept


def _written_at_seconds(kept: Any, otherwise: float) -> float:
    """When a document, or an item of an all versions feed, was written; `otherwise` if it does not say so."""
    if not isinstance(kept, dict):
        return otherwise
    metadata = kept.get("metadata")
    written_at = kept.get("_ts", metadata.get("crts") if isinstance(metadata, dict) else None)
    return written_at if isinstance(written_at, (int, float)) and not isinstance(written_at, bool) else otherwise
