"""The workers of a run: processes that take the feed over from each other while their predecessors may still run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from tests.simulation.programs import new_process
from tests.simulation.random_runs.coverage import Coverage, Event

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet
    from random import Random

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.batch import Applier
    from tests.simulation.random_runs.choices import Choices
    from tests.simulation.random_runs.clock import Clock
    from tests.simulation.random_runs.feed import Feed
    from tests.simulation.random_runs.indexes import Code
    from tests.simulation.random_runs.scheduler import Scheduler
    from tests.simulation.steps import Ended


CodeKind = Literal["current", "older", "faulty"]


@dataclass(slots=True, eq=False)
class Process:
    """A process, what its code writes to, and how far it has come in the feed."""

    applier: Applier
    plan: SourcePlan
    code: CodeKind
    position: int
    batches_left: int
    batch_end: int = 0


@dataclass(slots=True, eq=False)
class Workers:
    """All of them, on one feed with one checkpoint."""

    random: Random
    choices: Choices
    feed: Feed
    scheduler: Scheduler
    clock: Clock
    code: Code
    before_batch: Callable[[int], None]
    # The accounts that the processes take for dead; it changes while they run.
    believed_down: AbstractSet[str]
    # Up to here the feed is delivered before a month passes.
    limit: int = 0
    checkpoint: int = 0
    # The facts whose newest versions a worker of right code has acknowledged since dead letters were purged.
    delivered: set[str] = field(default_factory=set)
    _running: list[Process] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether everything that is in the feed until the next month is acknowledged."""
        return self.checkpoint >= self.limit

    @property
    def _coverage(self) -> Coverage:
        return self.scheduler.coverage

    def may_start(self) -> bool:
        """A feed is never without a worker for long; now and then another one takes over."""
        if self.is_done:
            return False
        return not self._running or (len(self._running) < self.choices.workers_max and self.random.random() < 0.03)

    def start(self) -> None:
        """A worker takes the lease over, as a rule at the checkpoint."""
        position = self.checkpoint
        if self.random.random() < 0.15:
            position = self.random.randint(self.feed.oldest, self.checkpoint)
            self._coverage[Event.LEASE_RESET] += 1
        position = min(position, self.limit - 1)
        batches = self.random.randint(1, 8)
        if self._running and self.random.random() < 0.3:
            # The process whose invocation still runs gets the lease again.
            older = self.random.choice(self._running)
            process = Process(older.applier, older.plan, older.code, position, batches)
            self._coverage[Event.SHARED_CACHE] += 1
        else:
            process = self._new(position, batches)
        self._start_batch(process)

    def _new(self, position: int, batches: int) -> Process:
        code: CodeKind = "current"
        plan = self.code.plan
        if self.choices.has_older_code and self.random.random() < 0.25:
            plan, code = self.code.older, "older"
        elif self.choices.has_faulty_code and self.random.random() < 0.25:
            plan, code = self.code.faulty, "faulty"
        # Of workers that run at the same time every second one keeps to another lane.
        applier = new_process(self.clock.of_process(), self.believed_down, lane=len(self._running) % 2)
        if self.random.random() < 0.5:
            applier._claimer.insert_or_read.observe(existing=10, absent=0)
        removed_max = self.random.choice([0, 1, 4])
        return Process(applier, replace(plan, removed_max=removed_max), code, position, batches)

    def _start_batch(self, process: Process) -> None:
        process.batch_end = min(self.limit, process.position + self.random.randint(1, 8))
        batch = self.feed.shown(process.position, process.batch_end, self.limit, self._coverage)
        self.before_batch(process.batch_end)
        self._running.append(process)
        self._coverage[Event.CROSSED_WORKERS] += len(self._running) > 2
        versions = "+".join(f"{change.id}{int(change.version[16:35])}" for change in batch)
        program = partial(process.applier.apply, process.plan, batch)
        self.scheduler.start(program, f"worker({versions})", partial(self._note_end, process, batch))

    def _note_end(self, process: Process, batch: list[Change], end: Ended | None) -> None:
        """Checkpoint and go on; or the same batch again, by this process or by another one."""
        self._running.remove(process)
        if end is None:
            return
        if end.error is None:
            self._note_success(process, batch, end.result.dead_letters)
        else:
            self._coverage[Event.BATCH_FAILED] += 1
        if process.batches_left > 0 and process.position < self.limit:
            self._start_batch(process)

    def _note_success(self, process: Process, batch: list[Change], dead_letters: int) -> None:
        self._coverage[Event.BATCH] += 1
        self._coverage[Event.DEAD_LETTER] += dead_letters
        self._coverage[Event.OLDER_CODE] += process.code == "older"
        self._coverage[Event.FAULTY_CODE] += process.code == "faulty"
        process.position = process.batch_end
        process.batches_left -= 1
        # Code that does not know a generation does not move the checkpoint: others deliver all of it to that one.
        if process.code != "older":
            self.checkpoint = max(self.checkpoint, process.position)
            self.delivered |= {change.fact_key for change in batch}
