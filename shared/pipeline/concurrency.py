"""Runs several storage calls at once. It is a parameter, so that a simulator can schedule the calls.

How many of them are on the wire is decided elsewhere, for each storage account: `shared/tables/limiter`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

T = TypeVar("T")
Work: TypeAlias = "Callable[[], Awaitable[T]]"
# Called between two facts of a batch, so that computing many of them does not hold up everything else.
NextTurn: TypeAlias = "Callable[[], Awaitable[None]]"

TURN_SECONDS: Final = 0.02


class RunAll(Protocol):
    """Runs every piece of work to its end, in any order."""

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The result of each piece of work, or what it raised; a failure does not stop the others."""


async def all_of(run_all: RunAll, work: Sequence[Work[T]]) -> list[T]:
    """The results of all work, in its order; raises the first error, once all of it has ended."""
    results: list[T] = []
    for result in await run_all(work):
        if isinstance(result, Exception):
            raise result
        results.append(result)
    return results


class AtOnce:
    """Runs work on the event loop, all of it at the same time."""

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The results, in the order of the work."""
        if len(work) == 1:
            return [await self._run(work[0])]
        return await asyncio.gather(*[self._run(piece) for piece in work])

    async def _run(self, piece: Work[T]) -> T | Exception:
        try:
            return await piece()
        except Exception as error:  # the caller judges every result; cancellation passes through
            return error


class Bounded(AtOnce):
    """The same, with at most `at_once` pieces at the same time over all callers: for work that holds much memory.

    Work that runs other work must not wait for the same permits: it needs its own `RunAll`.
    """

    def __init__(self, at_once: int) -> None:
        self._permits = asyncio.Semaphore(at_once)

    async def _run(self, piece: Work[T]) -> T | Exception:
        async with self._permits:
            return await super()._run(piece)


class Staggered(AtOnce):
    """For work that computes for a while before it calls. One piece starts per turn of the event loop, so that answers
    to the first pieces are processed before the last piece has computed."""

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The results, in the order of the work."""
        started = []
        async with asyncio.TaskGroup() as group:
            for piece in work:
                started.append(group.create_task(self._run(piece)))
                await asyncio.sleep(0)
        return [task.result() for task in started]


class FairTurns:
    """On the event loop: lets others go on when the last time was a while ago.

    A turn of the loop costs as much as a small fact does, so there is none after every fact. Those who compute at the
    same time, such as the buckets of a batch, take turns: otherwise all would compute in every turn of the loop.
    """

    def __init__(self, seconds: float = TURN_SECONDS) -> None:
        self._seconds = seconds
        self._due_seconds = 0.0
        self._one_after_another = asyncio.Lock()

    async def __call__(self) -> None:
        """Wait for the next turn of the event loop, if one is due."""
        if not self._is_due():
            return
        async with self._one_after_another:
            if self._is_due():
                # In the first turn an answer or a time-out is noticed, in the second one its caller goes on.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                self._due_seconds = asyncio.get_running_loop().time() + self._seconds

    def _is_due(self) -> bool:
        return asyncio.get_running_loop().time() >= self._due_seconds
