"""Lets single attempts of calls out, as many as the limiter allows: callers first, then the feed, then background work.

A permit covers one attempt on the wire and nothing else, so no call can wait for another one that waits for it.
Calls about a partition that throttles by itself keep its pace before they ask for a permit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.tables.limiter.calls import Flight, Priority

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shared.tables.limiter.calls import CallShape, Outcome, Place, Size
    from shared.tables.limiter.limiter import Cut, Limiter

# So many calls of callers may be out above the limit, whatever writers hold.
EXTRA_CALLERS: Final = 4
# Background work that waits has one permit in so many, and leaves one in so many to the others.
_SHARE: Final = 8


@dataclass(frozen=True, slots=True)
class GateSnapshot:
    """What the limiter of one account does now. Latency by size, of quiet moments; `ratio` times that is usual now."""

    limit: int
    most: int
    in_flight: int
    waiting: Mapping[Priority, int]
    quiet_seconds: Mapping[Size, float]
    ratio: float
    last_cut: Cut | None
    cut_seconds_ago: float | None
    paced: Mapping[Place, float]


class _Waiting:
    """A call that waits for a permit."""

    __slots__ = ("permit", "shape")

    def __init__(self, shape: CallShape) -> None:
        self.shape = shape
        self.permit: asyncio.Future[Flight] = asyncio.get_running_loop().create_future()


class Gate:
    """The permits of one account in one process. All its clients share it."""

    def __init__(
        self,
        limiter: Limiter,
        steady_seconds: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.limiter = limiter
        self._steady_seconds = steady_seconds
        self._sleep = sleep
        self._waiting: tuple[deque[_Waiting], ...] = tuple(deque() for _ in Priority)
        self._out = [0 for _ in Priority]
        self._pace_queues: dict[Place, asyncio.Lock] = {}

    async def enter(self, shape: CallShape, priority: Priority, within_seconds: float) -> Flight:
        """Wait for a permit; raises `TimeoutError` when that takes too long."""
        is_paced = self.limiter.pacing.is_paced(shape.place)
        # The usual case, without a queue: nobody of this priority waits, and the call is the next one.
        if not is_paced and not self._waiting[priority] and self._next(priority) is priority:
            return self._let_out(shape, priority)
        async with asyncio.timeout(within_seconds):
            if is_paced:
                await self._keep_pace(shape, priority)
            return await self._queue(shape, priority)

    async def _queue(self, shape: CallShape, priority: Priority) -> Flight:
        waiting, queue = _Waiting(shape), self._waiting[priority]
        queue.append(waiting)
        self._admit()
        try:
            return await waiting.permit
        except asyncio.CancelledError:
            self._withdraw(waiting, queue)
            raise

    def leave(self, flight: Flight, outcome: Outcome) -> None:
        """The attempt has ended; the next calls go out."""
        self._out[flight.priority] -= 1
        self.limiter.end(flight, outcome, self._steady_seconds())
        self._admit()

    def _admit(self) -> None:
        """Let out as many calls that wait as may go."""
        while (priority := self._next()) is not None:
            waiting = self._waiting[priority].popleft()
            # A caller that was cancelled, and has not noticed yet, waits no more.
            if not waiting.permit.done():
                waiting.permit.set_result(self._let_out(waiting.shape, priority))
        if any(self._waiting):
            self.limiter.note_waiting()

    def _let_out(self, shape: CallShape, priority: Priority) -> Flight:
        self._out[priority] += 1
        return self.limiter.start(shape, priority, self._steady_seconds())

    def _next(self, arriving: Priority | None = None) -> Priority | None:
        """Who gets the next permit, if there is one: a call that waits, or one that arrives."""
        callers = bool(self._waiting[Priority.CALLER]) or arriving is Priority.CALLER
        feed = bool(self._waiting[Priority.FEED]) or arriving is Priority.FEED
        background = bool(self._waiting[Priority.BACKGROUND]) or arriving is Priority.BACKGROUND
        limit, out = self.limiter.allowed, self.limiter.in_flight
        if out >= limit:
            is_extra = callers and self._out[Priority.CALLER] < EXTRA_CALLERS and out < limit + EXTRA_CALLERS
            return Priority.CALLER if is_extra else None
        if callers:
            return Priority.CALLER
        share, own = limit // _SHARE, self._out[Priority.BACKGROUND]
        if background and (own < share or not feed) and own < max(1, limit - max(1, share)):
            return Priority.BACKGROUND
        return Priority.FEED if feed else None

    def _withdraw(self, waiting: _Waiting, queue: deque[_Waiting]) -> None:
        """A caller is gone, perhaps just after it got its permit."""
        if waiting.permit.done() and not waiting.permit.cancelled():
            self.leave(waiting.permit.result(), "unsent")
        elif waiting in queue:
            queue.remove(waiting)

    async def _keep_pace(self, shape: CallShape, priority: Priority) -> None:
        """Calls of a paced partition go one after the other. A caller does not wait, but its rows count."""
        pacing = self.limiter.pacing
        if priority is Priority.CALLER:
            pacing.wait_seconds(shape, self._steady_seconds())
            return
        self._pace_queues = {place: lock for place, lock in self._pace_queues.items() if lock.locked()}
        async with self._pace_queues.setdefault(shape.place, asyncio.Lock()):
            while seconds := pacing.wait_seconds(shape, self._steady_seconds()):
                await self._sleep(seconds)

    def snapshot(self) -> GateSnapshot:
        """The state, for status reports."""
        limiter, now = self.limiter, self._steady_seconds()
        return GateSnapshot(
            int(limiter.limit),
            limiter.most,
            limiter.in_flight,
            {priority: len(queue) for priority, queue in zip(Priority, self._waiting, strict=True)},
            limiter.quiet.seconds(),
            limiter.ratio,
            limiter.last_cut,
            None if limiter.last_cut is None else now - limiter.last_cut.at,
            limiter.pacing.rows_per_second(now),
        )
