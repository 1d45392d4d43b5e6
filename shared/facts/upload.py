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

    Facts with the same id go out in the order in which they come only if they do not stand within `IN_FLIGHT` of each
    other; whoever needs an order sends them one by one.
    """
    remaining = iter(facts)

    async def work() -> None:
        for fact in remaining:
            await container.upsert_item(fact)
            written()

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())
