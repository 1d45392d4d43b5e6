"""Dead letters: changes that cannot be read or projected, kept with their reason and all that a replay needs.

There is one per source, fact and index: a redelivery makes no second one, a newer failure takes its place and a later
success closes it. A document that fits in no row goes into a blob.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from shared.errors import OperationFailedError, StorageUnavailableError
from shared.pipeline.ledger_rows import compress, put_bytes
from shared.projection.json_text import NotJsonError, dumps
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.projection.change import Change
    from shared.projection.columns import Columns
    from shared.tables.port import Entity, Row, Tables

DEAD_LETTER_TABLE: Final = "DeadLetters"
_ROW_BYTES_MAX: Final = 800 * 1024
_REASON_CHARACTERS_MAX: Final = 8000
_ATTEMPTS: Final = 10


class Blobs(Protocol):
    """Where documents go that fit in no row."""

    async def put(self, name: str, content: bytes) -> None:
        """Keep the content under this name, whatever was there."""

    async def delete(self, name: str) -> None:
        """Forget the content; it may be gone."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A change that failed. `index` is empty when the change could not be read at all."""

    id: str
    source: str
    index: str
    reason: str
    version: str
    content: bytes
    # Which fact it is, as in its entries; of what could not be read nobody knows.
    fact: Columns = field(default_factory=dict)


def letter_id(source: str, fact: str, index: str) -> str:
    """The id of the one dead letter that a fact may have in an index."""
    return sha256(f"{source}\0{fact}\0{index}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def letter_of(change: Change, index: str, reason: str) -> Letter:
    """The dead letter of a change that does not fit an index."""
    return Letter(
        letter_id(change.source, change.fact_key, index),
        change.source,
        index,
        reason,
        change.version,
        _content(change.document),
        change.columns,
    )


def unreadable_letter(source: str, raw: object, reason: str) -> Letter:
    """The dead letter of what was no change; what arrived takes the place of the fact."""
    content = _content(raw)
    return Letter(letter_id(source, sha256(content).hexdigest(), ""), source, "", reason, "", content)


def _content(document: Any) -> bytes:
    try:
        return dumps(document).encode()
    except (NotJsonError, RecursionError):
        return repr(document).encode("utf-8", "backslashreplace")


class DeadLetters:
    """The dead letters of all sources."""

    def __init__(self, tables: Tables, blobs: Blobs, now_seconds: Callable[[], float]) -> None:
        self._tables = tables
        self._blobs = blobs
        self._now_seconds = now_seconds

    async def put(self, letter: Letter) -> None:
        """Keep a dead letter, unless there is one of a newer version."""
        entity = await self._entity(letter)
        for _ in range(_ATTEMPTS):
            old = await self._tables.get(DEAD_LETTER_TABLE, letter.source, letter.id)
            if old is not None and _version(old) > letter.version:
                return
            try:
                operation = Insert(entity) if old is None else Replace(entity, old.etag)
                await self._tables.transact(DEAD_LETTER_TABLE, [operation])
                return
            except OperationFailedError:
                continue  # somebody else wrote it between: look again
        raise _contended(letter.source)

    async def close(self, change: Change, index: str) -> None:
        """Forget the dead letter of a fact that fits an index as of this change, unless it is of a newer version."""
        source, version = change.source, change.version
        identity = letter_id(source, change.fact_key, index)
        for _ in range(_ATTEMPTS):
            old = await self._tables.get(DEAD_LETTER_TABLE, source, identity)
            if old is None or _version(old) > version:
                return
            try:
                await self._tables.transact(DEAD_LETTER_TABLE, [Delete(source, identity, old.etag)])
            except OperationFailedError:
                continue
            if isinstance(blob := old.entity.get("blob"), str):
                await self._blobs.delete(blob)
            return
        raise _contended(source)

    async def _entity(self, letter: Letter) -> Entity:
        entity: Entity = {
            PARTITION_KEY: letter.source,
            ROW_KEY: letter.id,
            "index": letter.index,
            "reason": letter.reason[:_REASON_CHARACTERS_MAX],
            "version": letter.version,
            "failedAt": int(self._now_seconds()),
            **letter.fact,
        }
        packed = compress(letter.content)
        if len(packed) <= _ROW_BYTES_MAX:
            put_bytes(entity, "document", packed)
        else:
            entity["blob"] = f"{letter.source}/{letter.id}/{letter.version or 'unreadable'}"
            await self._blobs.put(str(entity["blob"]), packed)
        return entity


def _version(row: Row) -> str:
    return str(row.entity.get("version", ""))


def _contended(source: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f'A dead letter of source "{source}" changes all the time: try again later.', outcome_unknown=False
    )
