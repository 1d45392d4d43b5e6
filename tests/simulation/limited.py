"""A Table service behind a limiter that lets few calls out, in a time of its own, with answers by chance."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING, TypeVar

from shared.errors import StorageUnavailableError, ThrottledError
from shared.tables.breaker import Breaker
from shared.tables.limiter.calls import CallShape, Priority
from shared.tables.limiter.gate import Gate
from shared.tables.limiter.limiter import Limiter
from shared.tables.memory.calls import Transact
from shared.tables.port import key_of
from shared.tables.retry import RetryPolicy, Sender, Timing

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from random import Random
    from typing import Any

    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
# More turns of the event loop than any computation takes between two calls.
_CALM_TURNS = 60


class OwnTime:
    """Time that passes only when nobody has anything to do but to wait for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._slept = 0

    async def sleep(self, seconds: float) -> None:
        """Until so much time has passed."""
        self._slept += 1
        awake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleeping, (self.now + seconds, self._slept, awake))
        await awake

    async def run(self, *work: Coroutine[Any, Any, None]) -> None:
        """Do all of it at once. Raises when all wait for each other."""
        together = asyncio.ensure_future(asyncio.gather(*work))
        while not together.done():
            await self._calm(together)
            if together.done():
                break
            if not self._sleeping:
                together.cancel()
                raise AssertionError("calls wait for each other")
            self.now, _, awake = heapq.heappop(self._sleeping)
            if not awake.done():
                awake.set_result(None)
        await together

    async def _calm(self, together: asyncio.Future[Any]) -> None:
        turns = 0
        while turns < _CALM_TURNS and not together.done():
            before = self._slept
            await asyncio.sleep(0)
            turns = turns + 1 if self._slept == before else 0


class LimitedAccount:
    """One account: its gate and breaker, which all of its clients share."""

    def __init__(self, random: Random, most: int) -> None:
        self.time = OwnTime()
        self.gate = Gate(Limiter(most), lambda: self.time.now, self.time.sleep)
        self.in_flight_max = self.refused = self.lost = 0
        self._random = random
        self._breaker = Breaker()
        self._in_flight = 0

    def client(self, priority: Priority) -> LimitedCarrier:
        """A carrier with the product's own permits, retries and breaker."""
        timing = Timing(lambda: self.time.now, lambda: self.time.now, self.time.sleep, self._random.random)
        return LimitedCarrier(self, Sender(RetryPolicy(), timing, self._breaker, self.gate, priority))

    async def answer(self, call: Call[T], store: Store) -> T:
        """After a while: done, refused, or done without an answer."""
        self._in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self._in_flight)
        try:
            await self.time.sleep(self._random.expovariate(100))
            chance = self._random.random()
            if chance < 0.05:
                self.refused += 1
                raise ThrottledError("Busy: try again.", outcome_unknown=False)
            result = call.perform(store)
            await self.time.sleep(self._random.expovariate(100))
            if call.kind == "transact" and chance < 0.1:
                self.lost += 1
                raise StorageUnavailableError("No answer came: try again.", outcome_unknown=True)
            return result
        finally:
            self._in_flight -= 1


class LimitedCarrier:
    """The way of one client to the account."""

    def __init__(self, account: LimitedAccount, sender: Sender) -> None:
        self._account = account
        self._sender = sender

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, after as many attempts as the client makes."""
        asked: Any = call
        is_write = isinstance(asked, Transact)
        partition = str(key_of(asked.operations[0])[0]) if is_write else getattr(asked, "partition", "")
        shape = CallShape((call.table, partition), len(asked.operations) if is_write else 1, is_write)

        async def attempt(_left_seconds: float) -> T:
            return await self._account.answer(call, store)

        return await self._sender.send(attempt, shape)
