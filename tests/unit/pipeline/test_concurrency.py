"""Work that runs at once: every piece comes to its end, and what is started together is stopped together."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from shared.pipeline.concurrency import AtOnce, Bounded, FairTurns, Staggered, all_of


class Pieces:
    """Pieces of work that say when they start and wait until they are let go."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.cancelled: list[int] = []
        self.go = asyncio.Event()

    async def piece(self, number: int) -> int:
        """Start, wait, end; the second of them fails."""
        self.started.append(number)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        if number == 1:
            raise ValueError("the second")
        return number


@pytest.mark.parametrize("run_all", [AtOnce(), Bounded(2), Staggered()], ids=["at once", "bounded", "staggered"])
async def test_one_that_fails_does_not_stop_the_others(run_all: AtOnce) -> None:
    pieces = Pieces()
    pieces.go.set()
    results = await run_all([partial(pieces.piece, number) for number in range(3)])
    assert [results[0], results[2]] == [0, 2]
    assert isinstance(results[1], ValueError)
    with pytest.raises(ValueError, match="the second"):
        await all_of(run_all, [partial(pieces.piece, number) for number in range(3)])


async def test_no_more_run_at_once_than_allowed() -> None:
    pieces = Pieces()
    running = asyncio.ensure_future(Bounded(2)([partial(pieces.piece, number) for number in range(4)]))
    for _ in range(10):
        await asyncio.sleep(0)
    assert pieces.started == [0, 1]
    pieces.go.set()
    assert len(await running) == 4


@pytest.mark.parametrize("run_all", [AtOnce(), Bounded(3), Staggered()], ids=["at once", "bounded", "staggered"])
async def test_a_cancelled_caller_cancels_what_has_started(run_all: AtOnce) -> None:
    pieces = Pieces()
    running = asyncio.ensure_future(run_all([partial(pieces.piece, number) for number in range(3)]))
    for _ in range(10):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(pieces.cancelled) == pieces.started == [0, 1, 2]


async def test_staggered_work_takes_answers_between_two_starts() -> None:
    """The first piece goes on before the third has started."""
    order: list[str] = []

    async def piece(number: int) -> None:
        order.append(f"start {number}")
        await asyncio.sleep(0)
        order.append(f"end {number}")

    await Staggered()([partial(piece, number) for number in range(3)])
    assert order.index("end 0") < order.index("start 2")


async def test_a_turn_lets_others_go_on() -> None:
    """When one is due, and not at every fact."""
    seen: list[int] = []

    async def count(next_turn: FairTurns) -> int:
        seen.clear()
        other = asyncio.ensure_future(others())
        for _ in range(10):
            await next_turn()
        other.cancel()
        return len(seen)

    async def others() -> None:
        while True:
            seen.append(1)
            await asyncio.sleep(0)

    assert await count(FairTurns(seconds=0)) == 20
    assert await count(FairTurns(seconds=3600)) == 2


async def test_those_who_compute_at_the_same_time_take_turns() -> None:
    """Between two of them a call that waits for an answer goes on, however many they are."""
    events: list[str] = []
    next_turn = FairTurns(seconds=0)

    async def computing() -> None:
        for _ in range(3):
            await next_turn()
            events.append("compute")

    async def answering() -> None:
        while True:
            await asyncio.sleep(0)
            events.append("answer")

    answers = asyncio.create_task(answering())
    await asyncio.gather(*[computing() for _ in range(16)])
    answers.cancel()
    assert events.count("compute") == 48
    assert "compute compute" not in " ".join(events)
