"""The Table service as far away as Azure: in memory, with latency, a slow tail, and limits on what it takes."""

from __future__ import annotations

import asyncio
import math
import random
import time
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bench.errors import BenchUsageError
from shared.app.world import TIMING
from shared.errors import ThrottledError
from shared.tables.breaker import Breaker
from shared.tables.limiter.calls import CallShape, Priority
from shared.tables.limiter.gate import Gate
from shared.tables.limiter.limiter import MOST, Limiter
from shared.tables.memory.calls import Get, Query, Transact
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Page, key_of
from shared.tables.retry import RetryPolicy, Sender

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.limiter.calls import Flight, Outcome
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")

_BURST_SECONDS: Final = 0.25
# A full transaction takes 2.7 times as long as a point read.
_PER_ROW: Final = 1 / 60


@dataclass(frozen=True, slots=True)
class Distance:
    """How far away the service is. Latency is log-normal; a 503 comes after 0.3 of it."""

    median_seconds: float = 0.010
    # The 99th percentile, in medians.
    spread: float = 5.0
    # This share of calls takes so many times as long.
    slow_share: float = 0.0005
    slow_times: float = 20.0
    account_calls: float = 20_000
    partition_rows: float = 2_000
    # Partitions whose keys begin like this take less: so a test of one needs few rows.
    hot_prefix: str = "hot "
    hot_rows: float = 200


def distance_of(parameters: Mapping[str, str]) -> Distance:
    """The usual distance, but for what `--distance NAME=VALUE` says."""
    known = {field.name: field.type for field in fields(Distance)}
    changed: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in known:
            raise BenchUsageError(f"A distance has no '{name}': there are {', '.join(sorted(known))}.")
        try:
            changed[name] = value if known[name] == "str" else float(value)
        except ValueError:
            raise BenchUsageError(f"--distance {name}={value} is not a number.") from None
    return replace(Distance(), **changed)


class _Allowance:
    """So much per second, and a little ahead."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate, self._left, self._at = rate, rate * _BURST_SECONDS, now

    def take(self, count: float, now: float) -> bool:
        self._left = min(self._rate * _BURST_SECONDS, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < min(count, self._rate * _BURST_SECONDS):
            return False
        self._left -= count
        return True


class DistantService:
    """What answers. Its chance is its own, so that every round has the same latencies."""

    def __init__(self, distance: Distance, seed: int = 1) -> None:
        self.distance = distance
        self.answered = self.throttled = 0
        self._random = random.Random(seed)
        self._account = _Allowance(distance.account_calls, time.monotonic())
        self._partitions: dict[object, _Allowance] = {}

    async def answer(self, call: Call[T], shape: CallShape, store: Store) -> T:
        """The answer to one attempt; it takes effect half way."""
        seconds = self._seconds()
        if not self._takes(shape):
            await asyncio.sleep(0.3 * seconds)
            self.throttled += 1
            raise ThrottledError("The service is busy.", outcome_unknown=False)
        await asyncio.sleep(seconds / 2)
        result = call.perform(store)
        rows = len(result.rows) if isinstance(result, Page) else shape.rows
        await asyncio.sleep(seconds / 2 + seconds * (rows - 1) * _PER_ROW)
        self.answered += 1
        return result

    def _seconds(self) -> float:
        distance, chance = self.distance, self._random
        spread = math.exp(math.log(distance.spread) / 2.326 * chance.gauss(0, 1))
        slow = distance.slow_times if chance.random() < distance.slow_share else 1.0
        return distance.median_seconds * spread * slow

    def _takes(self, shape: CallShape) -> bool:
        now = time.monotonic()
        if not self._account.take(1, now):
            return False
        if shape.place not in self._partitions:
            self._partitions[shape.place] = _Allowance(self._rows_per_second(shape), now)
        return self._partitions[shape.place].take(shape.rows if shape.is_write else 1, now)

    def _rows_per_second(self, shape: CallShape) -> float:
        is_hot = shape.place is not None and shape.place[1].startswith(self.distance.hot_prefix)
        return self.distance.hot_rows if is_hot else self.distance.partition_rows


class FixedLimit(Limiter):
    """A yardstick: always the same number."""

    def __init__(self, calls: int) -> None:
        super().__init__(calls)
        self.limit = float(calls)

    def end(self, flight: Flight, outcome: Outcome, now: float) -> None:
        """Learn nothing."""
        self.in_flight -= 1


UNLIMITED: Final = 1_000_000


def new_limiter(calls: int | None) -> Limiter:
    """The product's own, or a fixed number."""
    return Limiter(MOST) if calls is None else FixedLimit(calls)


@dataclass(frozen=True, slots=True)
class DistantCarrier:
    """Takes calls to the service as the product's client does: with permits, retries and a breaker."""

    service: DistantService
    sender: Sender

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, after as many attempts as the client would make."""
        shape = _shape(call)

        async def attempt(_left_seconds: float) -> T:
            return await self.service.answer(call, shape, store)

        return await self.sender.send(attempt, shape)


def carrier_to(service: DistantService, limiter: Limiter, priority: Priority = Priority.FEED) -> DistantCarrier:
    """A client of the service, with a limiter of its own."""
    gate = Gate(limiter, TIMING.steady_seconds, TIMING.sleep)
    return DistantCarrier(service, Sender(RetryPolicy(), TIMING, Breaker(), gate, priority))


def tables_of(store: Store, carrier: DistantCarrier, priority: Priority = Priority.FEED) -> MemoryTables:
    """Another client of the same account in the same process."""
    return MemoryTables(store, replace(carrier, sender=replace(carrier.sender, priority=priority)))


def _shape(call: Call[T]) -> CallShape:
    seen: object = call
    if isinstance(seen, Get):
        return CallShape((seen.table, seen.partition), 1, is_write=False)
    if isinstance(seen, Transact):
        place = seen.table, str(key_of(seen.operations[0])[0])
        return CallShape(place, len(seen.operations), is_write=True)
    if isinstance(seen, Query) and seen.rows is not None:
        return CallShape((seen.table, seen.rows.partition), seen.limit or 1, is_write=False)
    return CallShape(None, 1, is_write=False)
