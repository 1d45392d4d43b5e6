"""Long work in slices: resumable after a crash anywhere, one worker per slice, phase after phase."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from shared.errors import FactsUnavailableError, IndexTablesError, SettingError, StorageUnavailableError
from shared.tables.memory.memory_tables import MemoryTables
from shared.tasks import runner as tasks
from shared.tasks.rows import Progress, Slice, Task, TaskRows
from shared.tasks.runner import CLAIM_SECONDS, Phase, SliceStep, TaskRunner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

STEPS = 5


class Kept:
    """A queue in memory: messages with the moment from which they are visible."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, int]] = []

    async def send(self, message: str, delay_seconds: int = 0) -> None:
        self.messages.append((message, delay_seconds))


class Counting:
    """Work that counts to five in two slices, then once more in a second phase."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.fails: Exception | None = None
        self.fails_at = 2

    async def first_phase(self, task: Task) -> Phase:
        return Phase("1", {"a": None, "b": None})

    async def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
        for number in range(int(work_slice.position or 0) + 1, STEPS + 1):
            if self.fails is not None and number == self.fails_at:
                raise self.fails
            self.done.append((work_slice.name, number))
            yield SliceStep(str(number), {"steps": 1}, is_done=number == STEPS)

    async def next_phase(self, progress: Progress, phase: str) -> Phase | None:
        return Phase("2", {"c": None}) if phase == "1" else None


class World:
    """A runner, its queue and a clock that goes on with every look at it."""

    def __init__(self) -> None:
        self.rows, self.queue, self.kind = TaskRows(MemoryTables()), Kept(), Counting()
        self.seconds = 1000.0
        self.renew: Callable[[], Awaitable[None]] = self.start

    def runner(self, slice_seconds: float = 1000.0) -> TaskRunner:
        return TaskRunner(self.rows, self.queue, {"count": self.kind}, self.now, slice_seconds)

    def now(self) -> float:
        self.seconds += 1
        return self.seconds

    async def start(self, not_before: float = 0) -> None:
        await self.runner().start(Task("t", "count", {}, self.seconds, not_before))

    async def deliver(self, runner: TaskRunner) -> None:
        """Messages until there are none."""
        while self.queue.messages:
            await runner.run(self.queue.messages.pop(0)[0])

    async def progress(self) -> Progress:
        found = await self.rows.read("t")
        assert found is not None
        return found


async def test_messages_bring_a_task_to_its_end() -> None:
    """All slices of a phase before the next one."""
    world = World()
    await world.start()
    await world.deliver(world.runner())
    progress = await world.progress()
    assert progress.task.state == "done"
    assert progress.counts == {"steps": 3 * STEPS}
    assert [name for name, _ in world.kind.done] == ["1:a"] * STEPS + ["1:b"] * STEPS + ["2:c"] * STEPS


async def test_a_slice_works_for_a_bounded_time_and_sends_the_next_message() -> None:
    """No step is done twice on the way."""
    world = World()
    await world.start()
    await world.deliver(world.runner(slice_seconds=2.5))
    assert (await world.progress()).task.state == "done"
    assert len(world.kind.done) == len(set(world.kind.done)) == 3 * STEPS


async def test_a_second_message_for_a_slice_that_somebody_works_on_is_worth_nothing() -> None:
    """A queue delivers at least once."""
    world = World()
    await world.start()
    held = await world.rows.slice("t", "1:a")
    assert held is not None
    await world.rows.save(Slice("t", "1:a", "1", "3", claimed_until=world.seconds + 30, etag=held.etag))
    assert await world.runner().work("t", "1:a") is False
    assert world.kind.done == []


async def test_a_claim_that_cannot_be_renewed_once_is_renewed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage may be away for a moment while a step takes long."""
    monkeypatch.setattr(tasks, "CLAIM_SECONDS", 0.003)
    failures = [StorageUnavailableError("Not now: try again.", outcome_unknown=False)]
    renewed = asyncio.Event()

    async def renew() -> None:
        if failures:
            raise failures.pop()
        renewed.set()

    async with asyncio.timeout(10), tasks.renewing_claims(renew):
        await renewed.wait()


async def test_whoever_is_overtaken_stops() -> None:
    """Its claim ran out while it worked, and another worker has gone on from its row."""
    world = World()
    await world.start()

    class Overtaken(Counting):
        async def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
            async for step in super().work_on_slice(progress, work_slice):
                now = await world.rows.slice("t", "1:a")
                assert now is not None
                await world.rows.save(now.after("4", {}, is_done=False))
                yield step

    world.kind = Overtaken()
    await world.runner().work("t", "1:a")
    assert world.kind.done == [("1:a", 1)]
    found = await world.rows.slice("t", "1:a")
    assert found is not None
    assert found.position == "4"


async def test_a_step_that_outlasts_its_claim_is_not_repeated_for_ever() -> None:
    """Another worker has claimed the slice meanwhile and has not come further: the first to finish a step wins."""
    world = World()
    await world.start()

    class Slow(Counting):
        async def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
            async for step in super().work_on_slice(progress, work_slice):
                now = await world.rows.slice("t", "1:a")
                assert now is not None
                await world.rows.save(now)  # as a claim does
                yield step

    world.kind = Slow()
    await world.runner().work("t", "1:a")
    assert world.kind.done == [("1:a", number) for number in range(1, STEPS + 1)]
    found = await world.rows.slice("t", "1:a")
    assert found is not None
    assert (found.is_done, found.counts) == (True, {"steps": STEPS})


async def test_a_claim_is_renewed_while_a_step_takes_long() -> None:
    """No other worker begins with the slice meanwhile, however often the timer looks."""
    world = World()
    await world.start()
    others: list[bool] = []

    @asynccontextmanager
    async def keeping(renew: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        world.renew = renew
        yield

    class Long(Counting):
        async def work_on_slice(self, progress: Progress, work_slice: Slice) -> AsyncIterator[SliceStep]:
            for _ in range(5):
                world.seconds += CLAIM_SECONDS / 2
                await world.renew()
                others.append(await TaskRunner(world.rows, None, {"count": Counting()}, world.now).work("t", "1:a"))
            async for step in super().work_on_slice(progress, work_slice):
                yield step

    world.kind = Long()
    await TaskRunner(world.rows, world.queue, {"count": world.kind}, world.now, 1000.0, renewal=keeping).work(
        "t", "1:a"
    )
    assert others == [False] * 5
    found = await world.rows.slice("t", "1:a")
    assert found is not None
    assert found.is_done


async def test_a_task_whose_worker_is_gone_is_resumed_where_its_row_says() -> None:
    """No message is left: the timer finds slices whose claim has run out."""
    world = World()
    await world.start()
    world.queue.messages.clear()
    held = await world.rows.slice("t", "1:a")
    assert held is not None
    await world.rows.save(Slice("t", "1:a", "1", "3", claimed_until=world.seconds + CLAIM_SECONDS, etag=held.etag))
    await world.runner().resume()
    assert len(world.queue.messages) == 1  # of the other slice
    world.queue.messages.clear()
    world.seconds += CLAIM_SECONDS
    await world.runner().resume()
    await world.deliver(world.runner())
    assert (await world.progress()).task.state == "done"
    assert world.kind.done[:2] == [("1:a", 4), ("1:a", 5)]


async def test_a_task_that_crashed_between_two_phases_is_resumed() -> None:
    """All slices are done, and the worker died before the next phase."""
    world = World()
    await world.start()
    world.queue.messages.clear()
    for name in ("1:a", "1:b"):
        found = await world.rows.slice("t", name)
        assert found is not None
        await world.rows.save(found.after("5", {}, is_done=True))
    await world.runner().resume()
    await world.deliver(world.runner())
    assert (await world.progress()).task.state == "done"


async def test_a_task_that_cannot_begin_keeps_no_other_from_going_on() -> None:
    """It ends with its reason, or comes again when that may pass."""
    world = World()
    await world.start()
    world.queue.messages.clear()

    class Never(Counting):
        async def first_phase(self, task: Task) -> Phase:
            raise error

    runner = TaskRunner(world.rows, world.queue, {"count": world.kind, "never": Never()}, world.now)
    await world.rows.save_task(Task("a", "never", {}, world.seconds))
    error: IndexTablesError = FactsUnavailableError("Not now: try again.")
    with pytest.raises(FactsUnavailableError):
        await runner.resume()
    assert len(world.queue.messages) == 2
    world.queue.messages.clear()
    error = SettingError("X is not set: set it.")
    await runner.resume()
    assert len(world.queue.messages) == 2
    ended = await world.rows.task("a")
    assert ended is not None
    assert (ended.state, ended.problem) == ("failed", "X is not set: set it.")


async def test_what_may_pass_is_raised_and_the_slice_given_back() -> None:
    """The message comes again and goes on where the row says."""
    world = World()
    await world.start()
    world.kind.fails = FactsUnavailableError("Not now: try again.")
    with pytest.raises(FactsUnavailableError):
        await world.runner().work("t", "1:a")
    world.kind.fails = None
    await world.runner().work("t", "1:a")
    assert world.kind.done == [("1:a", number) for number in range(1, STEPS + 1)]


async def test_what_does_not_pass_ends_the_task_with_its_reason() -> None:
    """No worker works on it any more."""
    world = World()
    await world.start()
    world.kind.fails = SettingError("X is not set: set it.")
    await world.deliver(world.runner())
    task = (await world.progress()).task
    assert (task.state, task.problem) == ("failed", "X is not set: set it.")
    assert len(world.kind.done) == 1


async def test_nothing_is_done_before_its_time() -> None:
    """A message that comes too early is sent again, for later."""
    world = World()
    await world.start(not_before=world.seconds + 100)
    message, delay_seconds = world.queue.messages[0]
    assert 90 < delay_seconds <= 101
    await world.runner().run(message)
    assert world.kind.done == []
    world.seconds += 100
    await world.deliver(world.runner())
    assert (await world.progress()).task.state == "done"


async def test_a_task_that_is_there_is_not_started_again() -> None:
    """The second worker finds the rows of the first."""
    world = World()
    await world.start()
    await world.start()
    assert len(world.queue.messages) == 2


async def test_tasks_that_ended_long_ago_are_forgotten() -> None:
    """With their slices."""
    world = World()
    await world.start()
    await world.deliver(world.runner())
    world.seconds += 31 * 86_400
    await world.runner().resume()
    assert await world.rows.all() == []
    assert await world.rows.slice("t", "1:a") is None
