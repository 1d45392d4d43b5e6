"""So many calls at once: the loop that all yardsticks share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# More in flight gains nothing with Azurite.
TRANSACTIONS_AT_ONCE = 4
CALLS_AT_ONCE = 16


async def in_flight(count: int, call: Callable[[int], Awaitable[object]], operations: int) -> None:
    """Make `operations` calls, each with its number, so many at once."""
    numbers = iter(range(operations))

    async def work() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(work() for _ in range(count)))
