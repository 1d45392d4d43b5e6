"""A Table service and its callers in simulated time: what the limiter is tested with. Nothing here reads a clock."""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from typing import TYPE_CHECKING

from shared.tables.limiter.calls import CallShape, Priority

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.tables.limiter.calls import Outcome
    from shared.tables.limiter.limiter import Limiter

# The 99th percentile of the latency is five times its median.
SIGMA = math.log(5) / 2.326
CALL = CallShape(None, 1, is_write=True)


class Bucket:
    """Tokens that come at a rate."""

    def __init__(self, rate: float, burst_seconds: float) -> None:
        self.rate, self.room = rate, rate * burst_seconds
        self.tokens, self.at = self.room, 0.0

    def take(self, count: int, now: float) -> bool:
        self.tokens = min(self.room, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < count:
            return False
        self.tokens -= count
        return True


class StorageModel:
    """An instance with one core that sends calls without end; the service answers after a log-normal latency."""

    def __init__(
        self,
        limiter: Limiter,
        *,
        median: float = 0.010,
        account_rate: float = 20_000,
        partition_rate: float = 2_000,
        cpu_seconds: float = 0.0004,
        shape_of: Callable[[random.Random], CallShape] = lambda _: CALL,
        seed: int = 1,
    ) -> None:
        self.limiter, self.median, self.cpu_seconds = limiter, median, cpu_seconds
        self.now = 0.0
        self.answered: list[float] = []
        self.throttled: list[float] = []
        self.in_flight_max = 0
        self._shape_of, self._partition_rate = shape_of, partition_rate
        self._account = Bucket(account_rate, 0.25)
        self._partitions: dict[object, Bucket] = {}
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = 0
        self._core_free_at = 0.0
        self._paced: dict[object, deque[CallShape]] = {}

    def run(self, until: float) -> None:
        self._fill()
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
            self._fill()

    def _at(self, when: float, event: Callable[[], None]) -> None:
        self._numbers += 1
        heapq.heappush(self._events, (when, self._numbers, event))

    def _fill(self) -> None:
        """Callers always have more: as many calls go out as are allowed."""
        while self.limiter.in_flight < self.limiter.allowed:
            shape = self._shape_of(self._random)
            if not self.limiter.pacing.is_paced(shape.place):
                self._send(shape)
            elif len(self._paced.get(shape.place, ())) < 50:  # as a batch has an end
                self._pace(shape)
            elif self._shape_of(self._random) == shape:
                break  # there is nothing else to send
        self.limiter.note_waiting()

    def _pace(self, shape: CallShape) -> None:
        queue = self._paced.setdefault(shape.place, deque())
        queue.append(shape)
        if len(queue) == 1:
            self._paced_next(shape.place)

    def _paced_next(self, place: object) -> None:
        queue = self._paced[place]
        while queue:
            seconds = self.limiter.pacing.wait_seconds(queue[0], self.now)
            if seconds:
                self._at(self.now + seconds, lambda: self._paced_next(place))
                return
            self._send(queue.popleft())

    def _send(self, shape: CallShape) -> None:
        flight = self.limiter.start(shape, Priority.FEED, self.now)
        self.in_flight_max = max(self.in_flight_max, self.limiter.in_flight)
        sent_at = self._work()
        latency = self.median * math.exp(SIGMA * self._random.gauss(0, 1)) * (1 + shape.rows / 60)
        is_allowed = self._account.take(1, sent_at) and self._partition_takes(shape, sent_at)
        outcome: Outcome = "answered" if is_allowed else "throttled"

        def arrive() -> None:
            self._at(self._work(), end)

        def end() -> None:
            (self.answered if is_allowed else self.throttled).append(self.now)
            self.limiter.end(flight, outcome, self.now)

        self._at(sent_at + (latency if is_allowed else 0.3 * latency), arrive)

    def _partition_takes(self, shape: CallShape, now: float) -> bool:
        if shape.place is None:
            return True
        return self._partitions.setdefault(shape.place, Bucket(self._partition_rate, 0.5)).take(shape.rows, now)

    def _work(self) -> float:
        """Half of the CPU of a call, on the one core; when it is done."""
        self._core_free_at = max(self.now, self._core_free_at) + self.cpu_seconds / 2
        return self._core_free_at

    def rate(self, start: float, end: float) -> float:
        """Answers per second in this time."""
        return sum(start <= at < end for at in self.answered) / (end - start)
