"""Long work as rows: a task, and the slices that it is cut into, each with how far it has come.

Table `Tasks`: the tasks share one partition, so that one query finds those that run; a task's slices have a partition
of their own. A slice belongs to the worker that holds its claim. A claim is a conditional write, lasts a while and is
renewed with every step, so that another worker goes on when its owner is gone.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from shared.errors import OperationFailedError, TableMissingError
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Insert, Replace, RowRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shared.tables.port import Entity, Row, Tables

TASK_TABLE: Final = "Tasks"
_TASKS: Final = "tasks"

TaskState = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Task:
    """Work of one kind. `about` says what it works on; nothing is done before `not_before`."""

    id: str
    kind: str
    about: Mapping[str, Any]
    started_at: float
    not_before: float = 0
    state: TaskState = "running"
    ended_at: float | None = None
    problem: str | None = None
    etag: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a task that one worker does at a time. `position` is where to go on; `counts` is what was done."""

    task: str
    name: str
    phase: str
    position: str | None = None
    is_done: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)
    claimed_until: float = 0
    etag: str | None = field(default=None, compare=False)

    def after(self, position: str | None, counts: Mapping[str, int], *, is_done: bool) -> Slice:
        """The slice after one more step."""
        added = {name: self.counts.get(name, 0) + counts.get(name, 0) for name in {**self.counts, **counts}}
        return replace(self, position=position, counts=added, is_done=is_done)


@dataclass(frozen=True, slots=True)
class Progress:
    """A task with all slices that it has so far."""

    task: Task
    slices: tuple[Slice, ...]

    @property
    def counts(self) -> dict[str, int]:
        """What all slices have done together."""
        total: dict[str, int] = {}
        for work_slice in self.slices:
            for name, count in work_slice.counts.items():
                total[name] = total.get(name, 0) + count
        return total


class TaskRows:
    """Reads and writes tasks and slices."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def create(self) -> None:
        """Make the table, if it is not there."""
        await self._tables.create_table(TASK_TABLE)

    async def all(self) -> list[Task]:
        """Every task, as a rule in one query; none while there is no table."""
        try:
            return [_task(row) for row in await self._partition(_TASKS)]
        except TableMissingError:
            return []

    async def read(self, task: str) -> Progress | None:
        """A task with its slices."""
        found = await self.task(task)
        return None if found is None else Progress(found, tuple(map(_slice, await self._partition(task))))

    async def task(self, task: str) -> Task | None:
        """A task alone."""
        row = await self._tables.get(TASK_TABLE, _TASKS, task)
        return None if row is None else _task(row)

    async def slice(self, task: str, name: str) -> Slice | None:
        """One slice."""
        row = await self._tables.get(TASK_TABLE, task, name)
        return None if row is None else _slice(row)

    async def save_task(self, task: Task) -> Task | None:
        """Write a task that is new, or as it was read; None when another worker was faster."""
        etag = await self._save(_task_entity(task), task.etag)
        return None if etag is None else replace(task, etag=etag)

    async def save(self, work_slice: Slice) -> Slice | None:
        """The same for a slice."""
        etag = await self._save(_slice_entity(work_slice), work_slice.etag)
        return None if etag is None else replace(work_slice, etag=etag)

    async def forget(self, task: Task) -> None:
        """Remove a task with its slices, the slices first: what is left of it can be found and removed again."""
        for row in await self._partition(task.id):
            await self._remove(task.id, str(row.entity[ROW_KEY]))
        await self._remove(_TASKS, task.id)

    async def _remove(self, partition: str, row: str) -> None:
        with suppress(OperationFailedError):  # another worker was faster
            await self._tables.transact(TASK_TABLE, [Delete(partition, row)])

    async def _save(self, entity: Entity, etag: str | None) -> str | None:
        operation = Insert(entity) if etag is None else Replace(entity, etag)
        try:
            return (await self._tables.transact(TASK_TABLE, [operation]))[0]
        except OperationFailedError:
            return None

    async def _partition(self, partition: str) -> Iterable[Row]:
        rows: list[Row] = []
        continuation = None
        while True:
            page = await self._tables.query(TASK_TABLE, RowRange(partition), continuation=continuation)
            rows += page.rows
            continuation = page.continuation
            if continuation is None:
                return rows


def _task_entity(task: Task) -> Entity:
    entity: Entity = {
        PARTITION_KEY: _TASKS,
        ROW_KEY: task.id,
        "kind": task.kind,
        "about": json.dumps(task.about, ensure_ascii=False),
        "startedAt": float(task.started_at),
        "notBefore": float(task.not_before),
        "state": task.state,
    }
    optional = {"endedAt": task.ended_at, "problem": task.problem}
    return entity | {name: value for name, value in optional.items() if value is not None}


def _task(row: Row) -> Task:
    fields: dict[str, Any] = dict(row.entity)
    return Task(
        fields[ROW_KEY],
        fields["kind"],
        json.loads(fields["about"]),
        fields["startedAt"],
        fields["notBefore"],
        fields["state"],
        fields.get("endedAt"),
        fields.get("problem"),
        row.etag,
    )


def _slice_entity(work_slice: Slice) -> Entity:
    entity: Entity = {
        PARTITION_KEY: work_slice.task,
        ROW_KEY: work_slice.name,
        "phase": work_slice.phase,
        "isDone": work_slice.is_done,
        "counts": json.dumps(dict(work_slice.counts)),
        "claimedUntil": float(work_slice.claimed_until),
    }
    return entity if work_slice.position is None else {**entity, "position": work_slice.position}


def _slice(row: Row) -> Slice:
    fields: dict[str, Any] = dict(row.entity)
    return Slice(
        fields[PARTITION_KEY],
        fields[ROW_KEY],
        fields["phase"],
        fields.get("position"),
        fields["isDone"],
        json.loads(fields["counts"]),
        fields["claimedUntil"],
        row.etag,
    )
