"""A service whose calls overlap, and take a while each: as from a distance, without anything left to chance."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")


class Slow:
    """Answers later, once it is on."""

    def __init__(self, seconds: float) -> None:
        self.is_on = False
        self._seconds = seconds

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer; a call takes effect at the end of its time."""
        if self.is_on:
            await asyncio.sleep(self._seconds)
        return call.perform(store)
