"""One long simulation, decided by a seed: workers, timers, operators and readers at once, under faults of every kind.

A worker that takes over starts at the checkpoint while the ones before it may still run. A batch that is not
acknowledged comes again. A sweep message waits until every program and every late request from before it has ended, as
its delay promises. Now and then a month passes, in which nothing arrives.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.verification.assembly import RepairOptions
from tests.simulation.programs import new_process, new_store, stored_name
from tests.simulation.random_runs.accounts_down import AccountsDown
from tests.simulation.random_runs.checks import Checks
from tests.simulation.random_runs.choices import drawn
from tests.simulation.random_runs.clock import DAY, START, Clock
from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.random_runs.damage import Damage
from tests.simulation.random_runs.feed import Feed
from tests.simulation.random_runs.indexes import SOURCE, before_change, code_for
from tests.simulation.random_runs.programs import Programs
from tests.simulation.random_runs.readers import Readers
from tests.simulation.random_runs.scheduler import Scheduler, Waiting
from tests.simulation.random_runs.totals import TotalsWatch
from tests.simulation.random_runs.workers import Workers
from tests.simulation.steps import ViolationError
from tests.worlds.kept_facts import FACT_TABLE, kept_key, stored_change

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.simulation.random_runs.choices import Choices
    from tests.simulation.steps import Ended, Program

STEPS_MAX: Final = 60_000
# Beside workers: more would start faster than they end, since each goes on more slowly the more there are.
_PROGRAMS_MAX: Final = 25
# By how much time moves within a month, and how far in all.
_MOVES: Final = (10, 600, 3600, 6 * 3600, DAY)
_MONTH_MAX: Final = 10 * DAY
_REPAIRS: Final = (
    RepairOptions(),
    RepairOptions(repairs=True),
    RepairOptions(repairs=True, reconciles=True),
)
_VERIFICATION: Final = "verification"


class Simulation:
    """The state of one run."""

    def __init__(self, random: Random, choices: Choices | None = None) -> None:
        self.random = random
        self.choices = choices = choices or drawn(random)
        self.coverage = Coverage()
        code = code_for(choices.indexes, has_two_generations=choices.has_two_generations)
        self.code = replace(code, plan=replace(code.plan, buckets=choices.buckets))
        self.clock = Clock(random)
        self.feed = Feed(random, choices, self.code.definitions)
        self.store = new_store(self.code.plan)
        self.store.create(FACT_TABLE)
        self.scheduler = Scheduler(random, choices, self.store, self.coverage)
        self.accounts_down = AccountsDown(random, self.store, self.coverage)
        self.workers = Workers(
            random,
            choices,
            self.feed,
            self.scheduler,
            self.clock,
            self.code,
            self._write_facts_until,
            self.accounts_down.believed,
        )
        self.totals = TotalsWatch(self.code.plan, self.store, self.coverage)
        self.scheduler.on_transaction = self.totals.look
        self.readers = Readers(self.code, random, self.store, self.clock, self.scheduler)
        # So many transactions are in the container of the facts.
        self.written = 0
        self._month_began = float(START)

    def trace(self) -> Iterator[str]:
        """What happened, line by line."""
        yield str(self.choices)
        yield from self.scheduler.trace()

    def run(self) -> None:
        """Deliver the feed under faults, month by month, and check; then deliver it again and check again."""
        self._count_kind()
        for number, limit in enumerate(self.feed.limits):
            if number:
                self._let_a_month_pass()
            self.workers.limit = limit
            self._deliver()
        self.settle()
        self.checks.traces()
        self._finish(self.programs().close_outdated, "the last walk through dead letters")
        if not self.choices.has_faulty_code:
            self.checks.dead_letters("before any replay")
        self._finish(self.programs().replay, "the last replay")
        self.settle()
        self.checks.all("after the feed")
        self.deliver_again()
        self.settle()
        self.checks.all("after a second delivery")
        if self.choices.verifies:
            self._write_facts_until(len(self.feed))
            self._expect_no_differences()
            damage = Damage(self)
            with self.totals.off():
                for _ in range(self.random.choice([0, 3])):
                    damage.plant_and_repair()
        self._end_much_later()

    @property
    def checks(self) -> Checks:
        """What must hold now."""
        return Checks(self.code.plan, self.feed.newest(), self.workers.delivered, self.store, self.clock.now)

    def _count_kind(self) -> None:
        self.coverage[Event.ALL_VERSIONS] += self.choices.feed == "all versions"
        self.coverage[Event.SHUFFLED] += self.choices.feed == "shuffled"
        self.coverage[Event.TWO_GENERATIONS] += self.choices.has_two_generations

    # ------------------------------------------------------------------------------------------ the months

    def _deliver(self) -> None:
        """Until everything is acknowledged and no program runs."""
        for _ in range(STEPS_MAX):
            if not self.scheduler.actors and self.workers.is_done:
                return
            self.step()
        raise AssertionError("the simulation does not end")

    def _let_a_month_pass(self) -> None:
        """Nothing arrives; facts are forgotten, and a generation that another one has replaced is retired."""
        self.coverage[Event.MONTH] += 1
        if self.random.random() < 0.5:
            self.settle()
        self.scheduler.land_all()
        self._finish(self.programs().replay, "the replay of the month")
        self.scheduler.land_all()
        self.clock.now += self.random.choice([31, 45]) * DAY
        self._month_began = self.clock.now
        self.feed.oldest = self.workers.checkpoint
        self.scheduler.note(f"a month passes: the feed goes on at {self.feed.oldest}")
        if self.random.random() < 0.5:
            self._finish(self.programs().purge, "purge")
            self.workers.delivered = set()
        self._retire()

    def _retire(self) -> None:
        """The generation that a changed definition had before, if there is one; its tables go."""
        before = before_change(self.code)
        if before is None:
            return
        for account, table in before.tables():
            self.store.drop(stored_name(account, table))
        self.code = self.workers.code = self.code.without(before)
        self.coverage[Event.RETIRED] += 1

    def _end_much_later(self) -> None:
        """Everything that expires has expired, and the timers have cleaned up."""
        self.clock.now += self.random.choice([0, 2, 40, 400]) * DAY
        programs = self.programs()
        for program, name in ((programs.walk, "walk"), (programs.drop, "drop"), (programs.retain, "retain")):
            self._finish(program, name)
        self.settle()
        self.checks.entries("much later")

    # ------------------------------------------------------------------------------------------ one step

    def step(self) -> None:
        """Perhaps something starts; then something goes on."""
        if self.workers.may_start():
            self.workers.start()
        elif len(self.scheduler.actors) < _PROGRAMS_MAX:
            self._start_something()
        self.clock.now += 1
        self.accounts_down.step(self.code.plan)
        if self.random.random() < 0.01 and self.clock.now - self._month_began < _MONTH_MAX:
            self.clock.now += self.random.choice(_MOVES)
            self.coverage[Event.TIME] += 1
        if self.random.random() < 0.2 and (ready := self.scheduler.visible_messages()):
            self._start_sweep(self.random.choice(ready))
        self.scheduler.advance()

    def _start_something(self) -> None:
        chance = self.random.random()
        if self.workers.is_done:
            chance *= 4  # less to start, so that it ends
        if chance < 0.03:
            self.readers.start(self.code)
        elif chance < 0.04:
            self.scheduler.start(self._programs_beside().replay, "replay")
        elif chance < 0.06:
            self.scheduler.start(self._programs_beside().walk, "walk")
        elif chance < 0.075:
            self.scheduler.start(self._programs_beside().drop, "drop")
        elif chance < 0.1:
            self.scheduler.start(self._programs_beside().retain, "retain")
        elif chance < 0.115:
            self.scheduler.start(self._programs_beside().close_outdated, "walk through dead letters")
        elif chance < 0.13 and self.choices.verifies:
            self._start_verification()
        elif 0.13 <= chance < 0.15:
            self.scheduler.start(self.programs().deliver, "delivery")

    def _programs_beside(self) -> Programs:
        """Those of a process that has run for a while: its code may not know a generation."""
        is_older = self.choices.has_older_code and self.random.random() < 0.25
        code = replace(self.code, plan=self.code.older) if is_older else self.code
        return Programs(code, self.clock.of_process(), self.coverage)

    def _start_verification(self) -> None:
        if any(_VERIFICATION in actor.name for actor in self.scheduler.actors):
            return
        self._write_facts_until(min(self.workers.limit, self.written + self.random.randint(0, 2)))
        options = self.random.choice(_REPAIRS)
        self.scheduler.start(partial(self._programs_beside().verify, options), _VERIFICATION)

    def _write_facts_until(self, position: int) -> None:
        """The application has written so many transactions: the container is never behind its feed."""
        for transaction in self.feed.transactions[self.written : position]:
            for change in transaction:
                key = (FACT_TABLE, SOURCE, kept_key(change.id))
                self.store.put(key, None if change.document is None else stored_change(change))
        self.written = max(self.written, position)

    # ------------------------------------------------------------------------------------------ sweeps

    def _start_sweep(self, waiting: Waiting) -> None:
        """A message that could not be processed comes again."""

        def note_end(end: Ended | None) -> None:
            if end is None or end.error is not None:
                self.scheduler.waiting.append(waiting)

        self.scheduler.waiting.remove(waiting)
        self.scheduler.start(partial(self.programs().sweep, waiting.message), "sweeper", note_end)

    def settle(self) -> None:
        """Late requests land; then every delay is over, what is owed is delivered, and everything is swept, some
        messages twice."""
        self.scheduler.land_all()
        self._finish(self.programs().deliver, "the delivery in the end")
        while self.scheduler.waiting:
            messages, self.scheduler.waiting = self.scheduler.waiting, []
            for waiting in [*messages, *messages[:2]]:
                self._finish(partial(self.programs().sweep, waiting.message), "sweeper")

    # ------------------------------------------------------------------------------------------ alone

    def deliver_again(self) -> None:
        """All that the feed still shows, from its beginning, by a new worker: everything in it is old."""
        applier = new_process(self.clock)
        again = self.feed.again()
        for start in range(0, len(again), 5):
            batch = again[start : start + 5]
            self._finish(partial(applier.apply, self.code.plan, batch), "redelivery")
            self.workers.delivered |= {change.fact_key for change in batch}

    def _expect_no_differences(self) -> None:
        self.accounts_down.end()
        found = self.scheduler.finish(partial(self.programs().verify, RepairOptions()), "the last verification")
        if any(found.values()):
            raise ViolationError(f"a verification of right indexes found {found}")

    def _finish(self, program: Program, name: str) -> None:
        self.accounts_down.end()
        self.scheduler.finish(program, name)

    def programs(self) -> Programs:
        """Those of a process that starts now."""
        return Programs(self.code, self.clock.of_process(), self.coverage)
