"""Runs long work: slices of tasks, each for a bounded time, chained by messages of a Storage queue.

    1. claim    the slice's row, unless another worker holds it: a second message for it does nothing then
    2. step     work on from the row's position; after each step the row is written, on the condition that its position
                is as it was: a worker that was overtaken stops. A step that was done and not written is done again:
                steps are idempotent
    3. chain    out of time: give the claim back and send the next message; done: see whether the task goes on with
                another phase, or has ended

A crash anywhere leaves a row that says where to go on and a claim that runs out; `resume`, called by a timer, sends
messages for such slices. The same slices can be driven in one process, without messages.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import orjson

from shared.errors import IndexTablesError, TaskFailedError, TransientError
from shared.tasks.rows import Progress, Slice, Task

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from shared.tasks.rows import TaskRows

# One message works this long; well below functionTimeout.
SLICE_SECONDS: Final = 240.0
# An owner that has not finished a step for so long is taken for gone. If it is not, both work and the slower one is
# overtaken.
CLAIM_SECONDS: Final = 60.0
_ATTEMPTS: Final = 5
_FORGET_SECONDS: Final = 30 * 86_400

_log = logging.getLogger(__name__)


class SliceStep(NamedTuple):
    """What one step of a slice did: where to go on, what to count, and whether that was all."""

    position: str | None
    counts: Mapping[str, int]
    is_done: bool = False


class Phase(NamedTuple):
    """Slices that can be worked on at the same time, by name, each with its first position.

    The names of the phases of a kind sort in the order in which they follow each other.
    """

    name: str
    slices: Mapping[str, str | None]


class TaskKind(Protocol):
    """One kind of long work."""

    async def first_phase(self, task: Task) -> Phase:
        """The first phase."""

    def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
        """Work on a slice from its position on, step by step; each must be safe to do again."""

    async def next_phase(self, progress: Progress, phase: str) -> Phase | None:
        """The phase after this one, all of whose slices are done; None when the work has ended.

        May be called again for the same phase, also by several workers at once.
        """


class TaskQueue(Protocol):
    """Where messages wait for a worker."""

    async def send(self, message: str, delay_seconds: int = 0) -> None:
        """Keep a message; it becomes visible after the delay."""


Renewal: TypeAlias = "Callable[[Callable[[], Awaitable[None]]], AbstractAsyncContextManager[None]]"


@asynccontextmanager
async def without_renewal(renew: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Claims run out, as in a simulation without time."""
    yield


@asynccontextmanager
async def renewing_claims(renew: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """A claim is renewed, on the event loop, three times before it runs out."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(CLAIM_SECONDS / 3)
            try:
                await renew()
            except TransientError as error:
                # There are two more times. And without a claim a slice is done twice, which is safe.
                _log.warning("A claim was not renewed", extra={"error": type(error).__name__})

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait([beating])


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Starts tasks and works on their slices."""

    rows: TaskRows
    queue: TaskQueue | None
    kinds: Mapping[str, TaskKind]
    now_seconds: Callable[[], float]
    slice_seconds: float = SLICE_SECONDS
    claim_seconds: float = CLAIM_SECONDS
    # Renews a claim during steps that take long: otherwise more and more workers would work on one slice.
    renewal: Renewal = without_renewal

    async def start(self, task: Task) -> bool:
        """Write a task and send its first messages; False, and nothing is changed, when its id is there already."""
        await self.rows.create()
        if await self.rows.save_task(task) is None:
            return False
        await self._enter(task, await self.kinds[task.kind].first_phase(task))
        return True

    async def _begin(self, task: Task) -> None:
        try:
            await self._enter(task, await self.kinds[task.kind].first_phase(task))
        except TransientError:
            raise
        except IndexTablesError as error:
            await self._fail(task, error)

    async def run(self, message: str | bytes) -> None:
        """Do what a message asks for."""
        asked = orjson.loads(message)
        await self.work(asked["id"], asked["slice"])

    async def work(self, task_id: str, name: str) -> bool:
        """Work on a slice for a while, unless another worker does; whether there was something to do."""
        progress = await self.rows.read(task_id)
        if progress is None or progress.task.state != "running" or progress.task.kind not in self.kinds:
            return False
        if (wait_seconds := progress.task.not_before - self.now_seconds()) > 0:
            await self._send(progress.task, [name], int(wait_seconds) + 1)
            return False
        found = next((each for each in progress.slices if each.name == name), None)
        if found is None or found.is_done:
            await self._follow(progress)
            return False
        if found.claimed_until > self.now_seconds():
            return False
        claimed = await self._save(found)
        if claimed is None:
            return False
        try:
            await self._work(progress, claimed)
        except TransientError:
            raise
        except IndexTablesError as error:
            await self._fail(progress.task, error)
        return True

    async def _work(self, progress: Progress, work_slice: Slice) -> None:
        stops_at = self.now_seconds() + self.slice_seconds
        try:
            async with self.renewal(partial(self._renew, work_slice.task, work_slice.name)):
                async for step in self.kinds[progress.task.kind].work_on_slice(progress, work_slice):
                    after = await self._note(work_slice, step)
                    if after is None:
                        return  # overtaken: another worker goes on from there
                    work_slice = after
                    if work_slice.is_done or self.now_seconds() >= stops_at:
                        break
        except Exception:
            await self.rows.save(replace(work_slice, claimed_until=0))
            raise
        if work_slice.is_done:
            await self.after(work_slice.task)
        elif await self.rows.save(replace(work_slice, claimed_until=0)) is not None:
            await self._send(progress.task, [work_slice.name])

    async def _note(self, before: Slice, step: SliceStep) -> Slice | None:
        """Write how far a step has come; None when another worker has come further.

        Another worker may hold the claim by now, if it ran out during a long step. What counts is which of them
        finishes the step first: otherwise steps that take longer than a claim would be repeated for ever.
        """
        found: Slice | None = before
        for _ in range(_ATTEMPTS):
            if found is None or found.is_done or found.position != before.position:
                return None
            saved = await self._save(found.after(step.position, step.counts, is_done=step.is_done))
            if saved is not None:
                return saved
            found = await self.rows.slice(before.task, before.name)
        return None

    async def _renew(self, task: str, name: str) -> None:
        found = await self.rows.slice(task, name)
        if found is not None and not found.is_done:
            await self._save(found)

    async def _save(self, work_slice: Slice) -> Slice | None:
        return await self.rows.save(replace(work_slice, claimed_until=self.now_seconds() + self.claim_seconds))

    async def after(self, task_id: str) -> None:
        """See what follows, now that a slice is done."""
        progress = await self.rows.read(task_id)
        if progress is not None and progress.task.state == "running":
            await self._follow(progress)

    async def _follow(self, progress: Progress) -> None:
        """Start the next phase, or end the task, when every slice so far is done."""
        if not progress.slices or not all(each.is_done for each in progress.slices):
            return
        latest = progress.slices[-1].phase
        try:
            phase = await self.kinds[progress.task.kind].next_phase(progress, latest)
        except TransientError:
            raise
        except IndexTablesError as error:
            await self._fail(progress.task, error)
            return
        if phase is None:
            await self.rows.save_task(replace(progress.task, state="done", ended_at=self.now_seconds()))
        else:
            await self._enter(progress.task, phase)

    async def _enter(self, task: Task, phase: Phase) -> None:
        """Write the slices of a phase. Those that are there were written by another worker that came as far."""
        names = [f"{phase.name}:{name}" for name in phase.slices]
        for name, position in zip(names, phase.slices.values(), strict=True):
            await self.rows.save(Slice(task.id, name, phase.name, position))
        await self._send(task, names, max(0, int(task.not_before - self.now_seconds()) + 1))

    async def _fail(self, task: Task, error: IndexTablesError) -> None:
        """An error that no repetition can fix ends the task, with its reason."""
        _log.error("A task failed: %s", error, extra={"task": task.id})
        await self.rows.save_task(replace(task, state="failed", ended_at=self.now_seconds(), problem=str(error)))

    async def _send(self, task: Task, slices: Iterable[str], delay_seconds: int = 0) -> None:
        if self.queue is None:
            return
        for name in slices:
            message = {"kind": task.kind, "id": task.id, "slice": name}
            await self.queue.send(orjson.dumps(message).decode(), delay_seconds)

    async def resume(self) -> None:
        """Send messages for slices that no worker holds; forget tasks that ended long ago. Called by a timer.

        An error of one task is raised after all others had their turn.
        """
        failures: list[TransientError] = []
        for task in await self.rows.all():
            if task.state == "running":
                if task.kind in self.kinds:  # other kinds belong to another program, such as the command line
                    try:
                        await self._resume(task)
                    except TransientError as error:
                        failures.append(error)
            elif self.now_seconds() - (task.ended_at or 0) > _FORGET_SECONDS:
                await self.rows.forget(task)
        if failures:
            raise failures[0]

    async def _resume(self, task: Task) -> None:
        progress = await self.rows.read(task.id)
        if progress is None or self.now_seconds() < task.not_before:
            return
        if not progress.slices:  # it crashed between its first two rows
            await self._begin(task)
        await self._follow(progress)
        await self._send(task, idle(progress, self.now_seconds()))


def idle(progress: Progress, now_seconds: float) -> Sequence[str]:
    """The names of the slices that no worker holds."""
    return [each.name for each in progress.slices if not each.is_done and each.claimed_until <= now_seconds]


def task_failed_error(task: Task) -> TaskFailedError:
    """The error for a caller that waits for a task that failed."""
    return TaskFailedError(f"The {task.kind} {task.id} failed: {task.problem}")
