"""Replaying dead letters: the kept change, at its own version, goes through the ordinary way of every change.

    1. refuse      what is too old, and what has no index or source any more
    2. read        the kept change; what could not be read is read again by the same reader
    3. apply       as any change, but dropped as a whole when its fact has moved on: nothing is resurrected
    4. look again  the letter was put again: it still fails; it is as it was: remove it, under its ETag; or applying
                   has closed it

The letter is the only trace of its change, so it goes last. A crash before that leaves a letter whose replay finds
everything done.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, cast

from shared.entries.changes.change import Change
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.received_event import ReceivedEvent
from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.projection.project_all import project_all
from shared.entries.rows.columns import fact_columns
from shared.errors import NotReplayableError, UnreadableChangeError
from shared.pipeline.dead_letters.rows import DeadLetter, document_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shared.definitions.model import Definitions
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.dead_letters.listing import DeadLetterList
    from shared.pipeline.dead_letters.rows import ArrivedBy, StoredDeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.pipeline.outcome import BatchOutcome

Result = Literal["applied", "stillFails", "superseded", "refused"]

_SUPERSEDED: Final = "A newer version of the fact has been applied since; the letter is closed."

_log = logging.getLogger(__name__)


class Replayed(NamedTuple):
    """What became of a letter: its change is in the index; it fails again; it is outdated; it was not tried."""

    letter: StoredDeadLetter
    result: Result
    detail: str


class ChangeApplier(Protocol):
    """Applies changes, as a worker does."""

    async def apply(self, plan: SourcePlan, changes: Sequence[Change]) -> BatchOutcome:
        """Apply every change or raise `IncompleteBatchError`."""


class Replayer:
    """Replays letters of the sources that a worker knows.

    Every replay has an applier of its own. One that remembered what it has finished would pass over a part that still
    fails, and the letter would look like one that is done with.
    """

    def __init__(
        self,
        definitions: Definitions,
        plans: Callable[[], Awaitable[Mapping[str, SourcePlan]]],
        new_applier: Callable[[], ChangeApplier],
        letters: DeadLetterStore,
        listed: DeadLetterList,
        retention_seconds: int,
        now_seconds: Callable[[], float],
    ) -> None:
        self._definitions = definitions
        self._plans = plans
        self._new_applier = new_applier
        self._letters = letters
        self._listed = listed
        self._retention_seconds = retention_seconds
        self._now_seconds = now_seconds

    async def replay(self, letter: StoredDeadLetter) -> Replayed:
        """Replay one letter, as it is now. Raises when storage does; then it is still there."""
        whole = await self._listed.again(letter)
        if whole is None:
            return Replayed(letter, "superseded", "The letter was closed by somebody else meanwhile.")
        try:
            replayed = await self._replay(whole)
        except NotReplayableError as error:
            replayed = Replayed(whole, "refused", str(error))
        _log.info(
            "Dead letter replayed",
            extra={"letter": letter.id, "source": letter.source, "index": letter.index, "result": replayed.result},
        )
        return replayed

    async def _replay(self, letter: StoredDeadLetter) -> Replayed:
        plan = self._checked_plan(letter, await self._plans())
        content = await self._letters.content(letter.row)
        if content is None:
            raise NotReplayableError("The blob with its document is gone: write the fact again, then purge the letter.")
        try:
            change = self._change(letter, document_of(content))
        except UnreadableChangeError as error:
            return await self._still_unreadable(letter, content, str(error))
        outcome = await self._new_applier().apply(replace(plan, is_replay=True), [change])
        replayed = await self._judged(letter, outcome)
        if replayed.result != "stillFails":
            return replayed
        return replayed._replace(detail=_half_mended(letter, change, plan) or replayed.detail)

    def _checked_plan(self, letter: StoredDeadLetter, plans: Mapping[str, SourcePlan]) -> SourcePlan:
        plan = plans.get(letter.source)
        if plan is None:
            raise NotReplayableError(f'There is no source "{letter.source}" any more: define it again, or purge.')
        if not letter.is_unreadable and letter.index not in {one.index.name for one in plan.generations}:
            raise NotReplayableError(f'There is no index "{letter.index}" any more: define it again, or purge.')
        self._check_age(letter.failed_at_seconds)
        return plan

    def _check_age(self, since_seconds: float) -> None:
        """The ledger forgets deleted facts some time after this; an older change could bring one back."""
        if self._now_seconds() - since_seconds > self._retention_seconds:
            raise NotReplayableError(
                "The change is older than DEAD_LETTER_RETENTION_DAYS, and its fact may have been deleted and forgotten "
                "since: write the fact again, then purge the letter."
            )

    def _change(self, letter: StoredDeadLetter, document: Any) -> Change:
        if letter.is_unreadable:
            return self._read_again(letter, document)
        if letter.fact_id is None or not isinstance(document, dict):
            raise NotReplayableError("What the letter keeps is not whole: write the fact again, then purge the letter.")
        fact_key = encode_fact_key(letter.partition_key, letter.fact_id)
        return Change(
            source=letter.source,
            id=letter.fact_id,
            partition_key=letter.partition_key,
            fact_key=fact_key,
            fact_hash=fact_hash(fact_key),
            version=letter.version,
            document=document,
            columns=fact_columns(letter.fact_id, letter.partition_key),
            source_etag=letter.source_etag,
        )

    def _read_again(self, letter: StoredDeadLetter, kept: Any) -> Change:
        source = self._definitions.sources[letter.source]
        if letter.via == "event" and source.event_hub is not None and isinstance(kept, dict):
            event = ReceivedEvent.from_plain(kept)
            self._check_age(event.enqueued.timestamp())
            return EventReader(source).read(*event)
        if letter.via == "feed" and source.cosmos is not None:
            self._check_age(_written_at_seconds(kept, letter.failed_at_seconds))
            reader = CosmosReader(source)
            return (reader.all_versions if _is_item(kept) else reader.latest)(kept)
        raise NotReplayableError(
            f'Source "{letter.source}" does not get changes in this way any more: purge the letter.'
        )

    async def _still_unreadable(self, letter: StoredDeadLetter, content: bytes, reason: str) -> Replayed:
        """Keep the new reason, which may be another than before."""
        await self._letters.put(
            DeadLetter(
                letter.id, letter.source, "", "unreadable", reason, "", content, via=cast("ArrivedBy", letter.via)
            )
        )
        return Replayed(letter, "stillFails", reason)

    async def _judged(self, letter: StoredDeadLetter, outcome: BatchOutcome) -> Replayed:
        if letter.is_unreadable and await self._letters.remove(letter.row):
            return _of_readable(letter, outcome)
        while (now := await self._listed.again(letter)) is not None:
            if now.row.etag != letter.row.etag:
                return Replayed(now, "stillFails", now.reason)
            if await self._letters.remove(now.row):
                break
        return Replayed(letter, "superseded", _SUPERSEDED) if outcome.dropped else _applied(letter)


def _of_readable(letter: StoredDeadLetter, outcome: BatchOutcome) -> Replayed:
    """What could not be read can be read now; it may still not fit an index, and then has a letter for that."""
    if outcome.dead_letters:
        detail = f"It can be read now, but does not fit {outcome.dead_letters} of its indexes: see their dead letters."
        return Replayed(letter, "stillFails", detail)
    return Replayed(letter, "superseded", _SUPERSEDED) if outcome.dropped else _applied(letter)


def _half_mended(letter: StoredDeadLetter, change: Change, plan: SourcePlan) -> str | None:
    """What to say of a change that fits some generations of its index, as while a mended definition is built."""
    kept = [one for one in project_all(change, plan) if one.generation.index.name == letter.index]
    failing = [one.generation.id for one in kept if one.failure is not None]
    fitting = [one.generation.id for one in kept if one.failure is None]
    if not failing or not fitting:
        return None
    return (
        f"It fits generation {', '.join(fitting)} of the index, but not {', '.join(failing)}: "
        "the letter stays until that one is retired."
    )


def _applied(letter: StoredDeadLetter) -> Replayed:
    return Replayed(letter, "applied", "The change has been applied; the letter is closed.")


def _is_item(kept: Any) -> bool:
    """Whether it is an item of an all versions feed. A build of such a source reads documents, as everywhere, and has
    kept one: it says itself when it was written."""
    return isinstance(kept, dict) and "metadata" in kept and "_ts" not in kept


def _written_at_seconds(kept: Any, otherwise: float) -> float:
    """When a document or an item of an all versions feed was written, if it says so."""
    if not isinstance(kept, dict):
        return otherwise
    metadata = kept.get("metadata")
    said = kept.get("_ts", metadata.get("crts") if isinstance(metadata, dict) else None)
    return said if isinstance(said, (int, float)) and not isinstance(said, bool) else otherwise
