"""Verifications as rows: how far each has come, so that another process goes on, and what it found.

Table `Verifications`: the partition is the index, the row the task. The sketch is in the row while it is needed: half a
megabyte, written with everything else at once, so that a page that was summed up is never summed up twice.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from shared.errors import OperationFailedError, TableMissingError
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Insert, Replace, RowRange
from shared.tasks.bookmarks import Bookmarks
from shared.verification.sample import SAMPLE_WALK
from shared.verification.sketch import Sketch
from shared.verification.verify import ScanState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.tables.port import Entity, Row, Tables
    from shared.verification.report_json import DifferenceReportJson

VERIFICATION_TABLE: Final = "Verifications"
_STATE: Final = "state"
_SKETCH: Final = "sketch"


class SavedVerification(NamedTuple):
    """A state, and the ETag that it was read with; none when it is new."""

    state: ScanState
    etag: str | None = None


class VerificationRows:
    """Reads and writes states."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def read(self, index: str, task: str) -> SavedVerification | None:
        """A verification as it was left."""
        try:
            row = await self._tables.get(VERIFICATION_TABLE, index, task)
        except TableMissingError:
            return None
        return None if row is None else SavedVerification(_state(row), row.etag)

    async def save(self, index: str, task: str, saved: SavedVerification) -> SavedVerification | None:
        """Write a state that is new, or as it was read; None when another process was faster."""
        entity = _entity(index, task, saved.state)
        try:
            return await self._save(entity, saved)
        except TableMissingError:
            await self._tables.create_table(VERIFICATION_TABLE)
            return await self._save(entity, saved)

    async def _save(self, entity: Entity, saved: SavedVerification) -> SavedVerification | None:
        operation = Insert(entity) if saved.etag is None else Replace(entity, saved.etag)
        try:
            (etag,) = await self._tables.transact(VERIFICATION_TABLE, [operation])
        except OperationFailedError:
            return None
        return SavedVerification(saved.state, etag)

    async def forget(self, index: str, tasks: Iterable[str]) -> None:
        """Remove the rows of these tasks."""
        for task in tasks:
            with suppress(OperationFailedError):  # another process was faster
                await self._tables.transact(VERIFICATION_TABLE, [Delete(index, task)])

    async def forget_samples(self, kept: Iterable[str]) -> None:
        """Forget how far samples have come, but for those of these generations: of others none is taken any more."""
        await Bookmarks(self._tables, SAMPLE_WALK).forget_others(kept)

    async def naming(self, index: str, fact_key: str) -> list[str]:
        """The verifications of an index whose report or suspects name a fact."""
        rows = await self._states(index)
        return [task for task, plain in rows.items() if fact_key in _facts_named(plain)]

    async def forget_fact(self, index: str, task: str, fact_key: str) -> None:
        """Leave a fact out of a report and its suspects, unless another process writes them meanwhile."""
        saved = await self.read(index, task)
        if saved is not None:
            report = saved.state.report
            report.examples = [example for example in report.examples if example["factKey"] != fact_key]
            saved.state.suspects.forget(fact_key)
            await self.save(index, task, saved)

    async def reports(self, index: str) -> dict[str, DifferenceReportJson]:
        """What every verification of an index has found so far, by task."""
        return {task: plain["report"] for task, plain in (await self._states(index)).items()}

    async def _states(self, index: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        continuation = None
        while True:
            try:
                page = await self._tables.query(
                    VERIFICATION_TABLE, RowRange(index), select=(_STATE,), continuation=continuation
                )
            except TableMissingError:
                return {}
            found |= {str(row.entity[ROW_KEY]): _plain(row) for row in page.rows}
            continuation = page.continuation
            if continuation is None:
                return found


def _entity(index: str, task: str, state: ScanState) -> Entity:
    entity: Entity = {PARTITION_KEY: index, ROW_KEY: task}
    put_bytes(entity, _STATE, compress(orjson.dumps(state.plain())))
    if state.phase != "done":
        put_bytes(entity, _SKETCH, state.sketch.state())
    return entity


def _plain(row: Row) -> dict[str, Any]:
    plain: dict[str, Any] = orjson.loads(decompress(take_bytes(row.entity, _STATE)))
    return plain


def _facts_named(plain: dict[str, Any]) -> set[str]:
    examples = {example["factKey"] for example in plain["report"]["examples"]}
    return examples | {suspect[0] for suspect in plain["suspects"]}


def _state(row: Row) -> ScanState:
    return ScanState.of_plain(_plain(row), take_bytes(row.entity, _SKETCH) or Sketch().state())
