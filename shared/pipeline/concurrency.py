"""Runs several storage calls at once, a bounded number of them. A parameter, so that a simulator can schedule them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

T = TypeVar("T")
Work: TypeAlias = "Callable[[], Awaitable[T]]"

CALLS_AT_ONCE: Final = 16


class RunAll(Protocol):
    """Runs every piece of work to its end, in any order.

    Work that runs other work must not wait for the same permits: it has a `RunAll` of its own.
    """

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The result of each, or what it raised; one that fails does not stop the others."""


async def all_of(run_all: RunAll, work: Sequence[Work[T]]) -> list[T]:
    """The results of all work, in its order; raises the first error, once all of it has ended."""
    results: list[T] = []
    for result in await run_all(work):
        if isinstance(result, Exception):
            raise result
        results.append(result)
    return results


class Bounded:
    """On the event loop, at most so many at once over all callers."""

    def __init__(self, at_once: int = CALLS_AT_ONCE) -> None:
        self._permits = asyncio.Semaphore(at_once)

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The results, in the order of the work."""
        if len(work) == 1:
            return [await self._run(work[0])]
        return await asyncio.gather(*[self._run(one) for one in work])

    async def _run(self, one: Work[T]) -> T | Exception:
        async with self._permits:
            try:
                return await one()
            except Exception as error:  # every outcome is the caller's to judge; cancellation passes through
                return error


class Staggered(Bounded):
    """The same for work that computes a while before it calls: one piece starts per turn of the event loop, so that
    answers to the earlier ones are not left waiting until the last has computed."""

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        """The results, in the order of the work."""
        started = []
        async with asyncio.TaskGroup() as group:
            for one in work:
                started.append(group.create_task(self._run(one)))
                await asyncio.sleep(0)
        return [task.result() for task in started]
