"""Puts dead letters, many in one transaction: a flood of them costs little more than the changes themselves.

1. limit    beyond the most that an index may have open, only replace
2. keep     documents that are too large for a row, in blobs
3. write    as if none of them was there. Where one is, look at it and write again: over one that is older, or of
            the same version. If storage refuses one, write it in its smallest form: a batch whose dead letters
            cannot be put would come again for ever
4. forget   the blobs of dead letters that were replaced, and of those that were not written
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.errors import (
    LimitError,
    OperationFailedError,
    RequestRefusedError,
    StorageError,
    StorageUnavailableError,
)
from shared.pipeline.concurrency import all_of
from shared.pipeline.dead_letters.rows import (
    BLOB,
    DEAD_LETTER_TABLE,
    FAILED_AT,
    smallest_form,
    to_entity,
    version_of,
)
from shared.pipeline.packing import compress
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.documents import Documents
    from shared.pipeline.dead_letters.open_limit import OpenLimit
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.tables.port import Entity, Row, Tables

ATTEMPTS: Final = 10
# After so many conflicts of one transaction, looking at all of its dead letters is cheaper than one after another.
_CONFLICTS_MAX: Final = 3


@dataclass(slots=True)
class PutResult:
    """What became of dead letters: failures by id, and how many were counted instead of kept."""

    failures: dict[str, Exception] = field(default_factory=dict)
    not_kept: int = 0


@dataclass(slots=True)
class _Put:
    """One dead letter on its way into the table."""

    dead_letter: DeadLetter
    entity: Entity
    old: Row | None = None
    is_smallest: bool = False
    # Also when a request got no answer: it may still be carried out.
    may_be_written: bool = False

    @property
    def is_outdated(self) -> bool:
        """Whether there is a dead letter of a newer version."""
        return self.old is not None and version_of(self.old) > self.dead_letter.version


class DeadLetterPuts:
    """Puts the dead letters of batches."""

    def __init__(
        self,
        tables: Tables,
        documents: Documents,
        limit: OpenLimit,
        run_all: RunAll,
        now_seconds: Callable[[], float],
    ) -> None:
        self._tables = tables
        self._documents = documents
        self._limit = limit
        self._run_all = run_all
        self._now_seconds = now_seconds

    async def put(self, source: str, dead_letters: Iterable[DeadLetter]) -> PutResult:
        """Put dead letters of one source. An old one of the same version keeps its time: it is the same failure, seen
        again."""
        newest = _newest_of_each(dead_letters)
        puts = [_Put(dead_letter, to_entity(dead_letter)) for dead_letter in newest]
        beyond = await self._limit.beyond(self._tables, source, newest, self._now_seconds())
        await self._look([put for put in puts if put.dead_letter.id in beyond])
        kept = [put for put in puts if put.old is not None or put.dead_letter.id not in beyond]
        result = PutResult(not_kept=len(puts) - len(kept))
        for start in range(0, len(kept), OPERATIONS_MAX):
            group = kept[start : start + OPERATIONS_MAX]
            try:
                await self._put_group(group)
            except Exception as error:  # the caller judges it; the other groups are put all the same
                result.failures |= {put.dead_letter.id: error for put in group}
        return result

    async def _put_group(self, group: Sequence[_Put]) -> None:
        try:
            # A fact that fails in several indexes has one document.
            packed = {content: compress(content) for content in {put.dead_letter.content for put in group}}
            keeping = [
                partial(self._documents.keep, put.entity, put.dead_letter, packed[put.dead_letter.content])
                for put in group
            ]
            await all_of(self._run_all, keeping)
            await self._write(group)
        finally:
            # The timer that looks for blobs without use finds those that are left in doubt.
            for put in group:
                if not put.may_be_written:
                    await self._documents.forget(put.entity)

    async def _write(self, group: Sequence[_Put]) -> None:
        for attempt in range(ATTEMPTS):
            group = [put for put in group if not put.is_outdated]
            if not group:
                return
            try:
                await self._send(group)
            except OperationFailedError as error:
                await self._look(group if attempt >= _CONFLICTS_MAX else [group[error.index]])
            except (LimitError, RequestRefusedError) as error:
                await self._write_refused(group, error)
                return
            else:
                await self._forget_replaced(group)
                return
        raise contended_error(group[0].dead_letter.source)

    async def _send(self, group: Sequence[_Put]) -> None:
        in_doubt = [put for put in group if put.may_be_written]
        for put in group:
            put.may_be_written = True
        try:
            await self._tables.transact(DEAD_LETTER_TABLE, [self._operation(put) for put in group])
        except StorageError as error:
            if not _may_be_carried_out(error):
                for put in group:
                    put.may_be_written = put in in_doubt
            raise

    async def _write_refused(self, group: Sequence[_Put], error: Exception) -> None:
        """In halves, until the one is found that is refused: that one in its smallest form."""
        if len(group) > 1:
            middle = len(group) // 2
            await self._write(group[:middle])
            await self._write(group[middle:])
            return
        (put,) = group
        if put.is_smallest:
            raise error
        put.entity = smallest_form(put.entity)
        if BLOB not in put.entity:
            packed = compress(put.dead_letter.content)
            await self._documents.keep(put.entity, put.dead_letter, packed, in_row=False)
        put.is_smallest = True
        await self._write(group)

    async def _forget_replaced(self, group: Sequence[_Put]) -> None:
        for put in group:
            # An attempt without an answer may have written this very row.
            if put.old is not None and put.old.entity.get(BLOB) != put.entity.get(BLOB):
                await self._documents.forget(put.old.entity)

    async def _look(self, puts: Sequence[_Put]) -> None:
        """See what is there."""
        table, get = DEAD_LETTER_TABLE, self._tables.get
        looks = [partial(get, table, put.dead_letter.source, put.dead_letter.id) for put in puts]
        for put, row in zip(puts, await all_of(self._run_all, looks), strict=True):
            put.old = row

    def _operation(self, put: _Put) -> Insert | Replace:
        put.entity[FAILED_AT] = int(self._now_seconds())
        if put.old is None:
            return Insert(put.entity)
        if version_of(put.old) == put.dead_letter.version:
            put.entity[FAILED_AT] = put.old.entity.get(FAILED_AT, put.entity[FAILED_AT])
        return Replace(put.entity, put.old.etag)


def contended_error(source: str) -> StorageUnavailableError:
    """The error for a dead letter that others change again and again."""
    return StorageUnavailableError(
        f'A dead letter of source "{source}" changes all the time: try again later.', outcome_unknown=False
    )


def _newest_of_each(dead_letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """One for each id: two generations of an index may have failed, and a batch may have the same item twice."""
    newest: dict[str, DeadLetter] = {}
    for dead_letter in dead_letters:
        other = newest.get(dead_letter.id)
        if other is None or other.version <= dead_letter.version:
            newest[dead_letter.id] = dead_letter
    return list(newest.values())


def _may_be_carried_out(error: StorageError) -> bool:
    if isinstance(error, OperationFailedError):
        return error.resent
    return isinstance(error, StorageUnavailableError) and error.outcome_unknown
