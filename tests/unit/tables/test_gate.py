"""Permits for single attempts: who goes first, and what a permit never waits for."""

from __future__ import annotations

import asyncio

import pytest

from shared.tables.limiter.calls import CallShape, Flight, Priority
from shared.tables.limiter.gate import EXTRA_CALLERS, Gate
from shared.tables.limiter.limiter import Limiter

ANY = CallShape(("Table", "p"), 1, is_write=True)


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def gate_of(most: int, clock: Clock | None = None) -> Gate:
    clock = clock or Clock()
    return Gate(Limiter(most), lambda: clock.now, clock.sleep)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def enter(gate: Gate, priority: Priority, within_seconds: float = 60) -> Flight:
    return await gate.enter(ANY, priority, within_seconds)


async def test_no_more_go_out_than_the_limit_allows() -> None:
    gate = gate_of(2)
    first, _ = [await enter(gate, Priority.FEED) for _ in range(2)]
    third = asyncio.create_task(enter(gate, Priority.FEED))
    await turns()
    assert not third.done()
    gate.leave(first, "answered")
    assert (await third).priority is Priority.FEED


async def test_a_caller_goes_before_the_feed_and_the_feed_before_background_work() -> None:
    gate = gate_of(10)
    out = [await enter(gate, Priority.FEED) for _ in range(10)]
    extra = [await enter(gate, Priority.CALLER) for _ in range(EXTRA_CALLERS)]
    order: list[Priority] = []

    async def wait(priority: Priority) -> None:
        await enter(gate, priority)
        order.append(priority)

    waiting = [asyncio.create_task(wait(priority)) for priority in (Priority.FEED, Priority.CALLER)]
    await turns()
    for flight in [*extra, *out]:
        gate.leave(flight, "answered")
        await turns()
    await asyncio.gather(*waiting)
    assert order == [Priority.CALLER, Priority.FEED]


async def test_some_callers_get_out_whatever_writers_hold() -> None:
    gate = gate_of(2)
    for _ in range(2):
        await enter(gate, Priority.FEED)
    for _ in range(EXTRA_CALLERS):
        assert (await enter(gate, Priority.CALLER)).priority is Priority.CALLER
    one_more = asyncio.create_task(enter(gate, Priority.CALLER))
    await turns()
    assert not one_more.done()
    one_more.cancel()


async def test_background_work_leaves_one_permit_in_eight_to_the_others() -> None:
    gate = gate_of(16)
    waiting = [asyncio.create_task(enter(gate, Priority.BACKGROUND)) for _ in range(16)]
    await turns()
    assert gate.snapshot().in_flight == 14
    assert (await enter(gate, Priority.FEED)).priority is Priority.FEED
    for task in waiting:
        task.cancel()


async def test_background_work_gets_one_permit_in_eight_beside_a_busy_feed() -> None:
    gate = gate_of(16)
    out = [await enter(gate, Priority.FEED) for _ in range(16)]
    feed = [asyncio.create_task(enter(gate, Priority.FEED)) for _ in range(16)]
    background = [asyncio.create_task(enter(gate, Priority.BACKGROUND)) for _ in range(16)]
    await turns()
    for flight in out:
        gate.leave(flight, "answered")
    await turns()
    assert sum(task.done() for task in background) == 2
    assert sum(task.done() for task in feed) == 14
    for task in (*feed, *background):
        task.cancel()


async def test_a_call_that_waits_too_long_is_told_so() -> None:
    gate = gate_of(1)
    await enter(gate, Priority.FEED)
    with pytest.raises(TimeoutError):
        await enter(gate, Priority.FEED, within_seconds=0.001)
    assert gate.snapshot().waiting[Priority.FEED] == 0


async def test_a_cancelled_call_gives_its_permit_to_the_next() -> None:
    gate = gate_of(1)
    first = await enter(gate, Priority.FEED)
    second = asyncio.create_task(enter(gate, Priority.FEED))
    third = asyncio.create_task(enter(gate, Priority.FEED))
    await turns()
    gate.leave(first, "answered")
    second.cancel()  # it has the permit, and has not noticed yet
    assert (await third).priority is Priority.FEED
    assert gate.snapshot().in_flight == 1


async def test_calls_of_a_paced_partition_keep_its_pace_and_others_do_not_wait() -> None:
    clock = Clock()
    gate = gate_of(16, clock)
    hot = ANY._replace(rows=100)
    for _ in range(2):  # twice within a second: its own limit
        gate.leave(await gate.enter(hot, Priority.FEED, 60), "throttled")
    for _ in range(21):
        gate.leave(await gate.enter(hot, Priority.FEED, 60), "answered")
    assert clock.now == pytest.approx(1.0, rel=0.1)  # 2 000 rows
    before = clock.now
    await gate.enter(CallShape(("Table", "other"), 100, is_write=True), Priority.FEED, 60)
    assert clock.now == before


async def test_the_status_shows_who_waits_and_the_last_cut() -> None:
    gate = gate_of(1)
    flight = await enter(gate, Priority.FEED)
    waiting = asyncio.create_task(enter(gate, Priority.BACKGROUND))
    await turns()
    seen = gate.snapshot()
    assert (seen.limit, seen.most, seen.in_flight) == (1, 1, 1)
    assert seen.waiting == {Priority.CALLER: 0, Priority.FEED: 0, Priority.BACKGROUND: 1}
    assert seen.last_cut is None
    gate.limiter.outage(0.0, is_silent=True)
    last_cut = gate.snapshot().last_cut
    assert last_cut is not None
    assert last_cut.reason == "outage"
    gate.leave(flight, "answered")
    await waiting
