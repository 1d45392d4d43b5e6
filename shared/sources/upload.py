"""Writing facts into a container, many at a time: for samples, tests and `index-tables load`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from azure.cosmos.aio import ContainerProxy

# More gains nothing: the SDK's own CPU is the limit.
IN_FLIGHT = 16


async def upload(
    container: ContainerProxy, facts: Iterable[dict[str, Any]], written: Callable[[], None] = lambda: None
) -> None:
    """Upsert every fact; `written` is called after each. The first failure ends it, with the rest unwritten.

    Versions of one fact go out in the order in which they come: each waits for the one before it. Only the id counts:
    facts with the same id in several partitions wait for each other, too.
    """
    remaining = iter(facts)
    # The newest write of every id that is being written: at most one for each worker.
    newest: dict[str, asyncio.Event] = {}

    async def work() -> None:
        for fact in remaining:
            identity, done = fact["id"], asyncio.Event()
            # No `await` up to here, so writes of one id keep the order of the facts.
            before, newest[identity] = newest.get(identity), done
            if before is not None:
                await before.wait()
            await container.upsert_item(fact)
            done.set()
            if newest[identity] is done:
                del newest[identity]
            written()

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())
