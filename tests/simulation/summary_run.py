"""One long simulation of summaries, decided by a seed: several worker processes on one feed, faults, sweeps.

After every request, every total that it may have changed is compared with its contributions.

A worker that takes over starts at the checkpoint while the one before it may still run. A batch that is not
acknowledged comes again. A sweep message waits until every run and every late request from before it has ended, as
its delay promises. Accounts go down and come back, and what they lack is delivered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from shared.errors import OperationFailedError, ThrottledError, TransientError
from shared.pipeline.cleanup.messages import from_message
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.memory.calls import Query, Transact
from shared.tables.port import key_of
from tests.simulation.debts import Deliver, debts_in
from tests.simulation.explore import describe, describe_answer, no_answer, resent
from tests.simulation.programs import Replay, SendMessage, Sweep, new_process, new_store, stored_name
from tests.simulation.random_runs.accounts_down import AccountsDown
from tests.simulation.random_runs.coverage import Coverage
from tests.simulation.scenario import wrong_dead_letters
from tests.simulation.steps import Answer, Ended, Run, ViolationError, perform
from tests.simulation.summary_histories import SEVERAL_DEFINITIONS, SEVERAL_PLAN
from tests.simulation.summary_truth import broken_totals_in
from tests.simulation.truth import difference
from tests.worlds.dead_letters import refusing
from tests.worlds.kept_facts import FACT_TABLE, kept_key, stored_change
from tests.worlds.world import Writer

if TYPE_CHECKING:
    from random import Random

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.batch import Applier
    from shared.tables.memory.calls import Call

STEPS_MAX = 20_000
# Code that has a fault in the second summary.
FAULTY = replace(
    SEVERAL_PLAN,
    generations=(SEVERAL_PLAN.generations[0], *refusing(SEVERAL_PLAN, SEVERAL_DEFINITIONS).generations[1:]),
)
TABLES = frozenset(
    stored_name(account, table) for generation in SEVERAL_PLAN.generations for account, table in generation.tables()
)


@dataclass(slots=True)
class Process:
    """A worker process: its code's plan, its cache, and how far it has come in the feed."""

    applier: Applier
    plan: SourcePlan
    position: int
    batch_end: int = 0
    batches_left: int = 0


@dataclass(slots=True)
class Actor:
    """A run with its number and, for a batch, the process that it belongs to."""

    number: int
    run: Run
    name: str
    process: Process | None = None
    # After a request without an answer: which of the pending calls the client sends again.
    resends: int | None = None
    message: Waiting | None = None


@dataclass(slots=True)
class Waiting:
    """A sweep message and the runs that must have ended before it becomes visible."""

    message: str
    after: frozenset[int]


class SummarySimulation:
    """The state of one run."""

    plan: ClassVar[SourcePlan] = SEVERAL_PLAN

    def __init__(self, random: Random) -> None:
        self.random = random
        self.feed = random_feed(random)
        self.store = new_store(self.plan)
        self.store.create(FACT_TABLE)
        self.accounts_down = AccountsDown(random, self.store, Coverage())
        self.trace: list[str] = []
        self.actors: list[Actor] = []
        # Requests that will land later, each with the number of the run that sent it.
        self.late: list[tuple[int, Call[Any]]] = []
        self.waiting: list[Waiting] = []
        self.checkpoint = 0
        # So many versions are in the container.
        self.written = 0
        self.started = 0
        # Until code with a fault has put dead letters, or a request that puts one may land after the dead letter was
        # closed.
        self.dead_letters_are_exact = True

    def run(self) -> None:
        """Deliver the feed under faults, drain, sweep, compare; then deliver it all again and compare again."""
        self._deliver()
        if self.dead_letters_are_exact:
            self._check_dead_letters("before any replay")
        self._settle()
        self._finish(Run(Replay(self.plan, SEVERAL_DEFINITIONS)), "the last replay")
        self._settle()
        self._check("after the feed")
        self._deliver_again()
        self._settle()
        self._check("after a second delivery")

    def _deliver(self) -> None:
        """Until the checkpoint is at the end and no program runs."""
        for _ in range(STEPS_MAX):
            if not self.actors and self.checkpoint == len(self.feed):
                return
            self._step()
        raise AssertionError("the simulation does not end")

    def _step(self) -> None:
        random = self.random
        self.accounts_down.step(self.plan)
        is_stopped = self._processes() == 0 and self.checkpoint < len(self.feed)
        if is_stopped or (self._processes() < 3 and random.random() < 0.02):
            self._start_process()
        elif random.random() < 0.01:
            self._start(Run(Replay(self.plan, SEVERAL_DEFINITIONS)), "replay")
        elif random.random() < 0.01:
            self._start(Run(Deliver(self.plan, SEVERAL_DEFINITIONS)), "delivery")
        if self.late and random.random() < 0.1:
            self._land(random.randrange(len(self.late)))
        ready = self._ready()
        if ready and random.random() < 0.2:
            self._start_sweep(random.choice(ready))
        if self.actors:
            self._advance(random.choice(self.actors))

    def _processes(self) -> int:
        return sum(actor.process is not None for actor in self.actors)

    def _start(self, run: Run, name: str, process: Process | None = None) -> Actor:
        self.started += 1
        actor = Actor(self.started, run, f"{self.started} {name}", process)
        self.actors.append(actor)
        self._note_end(actor)
        return actor

    def _start_process(self) -> None:
        """A worker takes the lease over at the checkpoint. Some still run code that does not know the last index, or
        code that has a fault in the second."""
        plan = self.plan
        if self.random.random() < 0.2:
            plan = replace(self.plan, generations=self.plan.generations[:-1])
        elif self.random.random() < 0.2:
            plan = FAULTY
            self.dead_letters_are_exact = False
        process = Process(
            # Of workers that run at the same time every second one keeps to another lane.
            new_process(down=self.accounts_down.believed, lane=self._processes() % 2),
            replace(plan, removed_max=self.random.choice([0, 1, 4])),
            self.checkpoint,
        )
        process.batches_left = self.random.randint(1, 6)
        if self.random.random() < 0.5:
            process.applier._claimer.insert_or_read.observe(existing=10, absent=0)
        self._start_batch(process)

    def _start_batch(self, process: Process) -> None:
        process.batch_end = min(len(self.feed), process.position + self.random.randint(1, 6))
        batch = self._seen(self.feed[process.position : process.batch_end])
        self._write_facts_until(process.batch_end)
        versions = "+".join(f"{change.id}{change.version[33:35]}" for change in batch)
        run = Run(partial(process.applier.apply, process.plan, batch))
        self._start(run, f"worker({versions})", process)

    def _write_facts_until(self, position: int) -> None:
        """The container is never behind its feed."""
        for change in self.feed[self.written : position]:
            key = (FACT_TABLE, change.source, kept_key(change.id))
            self.store.put(key, None if change.document is None else stored_change(change))
        self.written = max(self.written, position)

    def _seen(self, changes: tuple[Change, ...]) -> list[Change]:
        """What the feed shows: a version that a later one replaced may be missing, others may come twice."""
        newest = {change.fact_key: change for change in self.feed}
        shown = [change for change in changes if newest[change.fact_key] is change or self.random.random() < 0.7]
        return [*shown, *self.random.sample(shown, min(len(shown), self.random.choice([0, 0, 1])))]

    def perform(self, call: Call[Any], position: int) -> Answer:
        """The answer of the service as it is now; then totals must be what contributions are."""
        answer = perform(call, self.store, position)
        if isinstance(call, Transact) and call.table in TABLES:
            partition, _ = key_of(call.operations[0])
            if text := broken_totals_in(call.table, str(partition), self.store):
                raise ViolationError(f"{text} after {call}")
        return answer

    def _ready(self) -> list[Waiting]:
        """Messages whose delay is over: nothing from before them can still come."""
        alive = {actor.number for actor in self.actors} | {owner for owner, _ in self.late}
        return [waiting for waiting in self.waiting if not waiting.after & alive]

    def _start_sweep(self, waiting: Waiting) -> None:
        self.waiting.remove(waiting)
        self._start(Run(Sweep((waiting.message,), self.plan)), "sweeper").message = waiting

    def _land(self, position: int) -> None:
        _, call = self.late.pop(position)
        answer = self.perform(call, 0)
        self.trace.append(f"late: {describe(call)} -> {describe_answer(answer)}")

    def _advance(self, actor: Actor) -> None:
        """Let one pending call of an actor happen, or go wrong."""
        pending = actor.run.state
        assert not isinstance(pending, Ended)
        if self.random.random() < 0.01:
            self._crash(actor)
            return
        position = self.random.randrange(len(pending)) if actor.resends is None else actor.resends
        call = pending[position]
        answer = self._answer(actor, call, position)
        if answer is None:
            self.trace.append(f"{actor.name}: {describe(call)} -> answer lost, will be sent again")
            return
        self.trace.append(f"{actor.name}: {describe(call)} -> {describe_answer(answer)}")
        if isinstance(call, SendMessage):
            after = {other.number for other in self.actors} | {owner for owner, _ in self.late}
            self.waiting.append(Waiting(call.message, frozenset(after)))
        actor.run.give(answer)
        self._note_end(actor)

    def _answer(self, actor: Actor, call: Call[Any], position: int) -> Answer | None:
        """The answer that the actor hears; None when its client will send the request again."""
        if actor.resends is not None:
            actor.resends = None
            return resent(self.perform(call, position))
        chance = self.random.random()
        if isinstance(call, Query) and chance < 0.1:
            return perform(replace(call, limit=self.random.choice([0, 1])), self.store, position)
        if not isinstance(call, Transact) or chance >= 0.08:
            return self.perform(call, position)
        if chance < 0.01:
            return Answer(position, error=ThrottledError("Busy: try again.", outcome_unknown=False))
        if chance < 0.03:
            self.perform(call, position)
            actor.resends = position
            return None
        if chance < 0.05:
            self._send_late(actor, call)
            return self.perform(call, position)
        if chance < 0.065:
            self._send_late(actor, call)
        else:
            self.perform(call, position)
        return no_answer(position)

    def _send_late(self, actor: Actor, call: Transact) -> None:
        self.late.append((actor.number, call))
        self.dead_letters_are_exact &= call.table != DEAD_LETTER_TABLE

    def _crash(self, actor: Actor) -> None:
        self.trace.append(f"{actor.name}: crash")
        self.actors.remove(actor)
        if actor.message is not None:
            self.waiting.append(actor.message)

    def _note_end(self, actor: Actor) -> None:
        """What follows when an actor has come to its end."""
        end = actor.run.state
        if not isinstance(end, Ended):
            return
        self.actors.remove(actor)
        # A sweeper gives up when the rows of its entry key keep changing; the queue delivers the message again.
        if end.error is not None and not isinstance(end.error, (TransientError, OperationFailedError)):
            raise end.error
        if actor.process is not None:
            self._note_batch(actor.process, succeeded=end.error is None)
        elif end.error is not None and actor.message is not None:
            self.waiting.append(actor.message)

    def _note_batch(self, process: Process, *, succeeded: bool) -> None:
        """Checkpoint and go on; or the same batch again."""
        if succeeded:
            process.position = process.batch_end
            if len(process.plan.generations) == len(self.plan.generations):
                self.checkpoint = max(self.checkpoint, process.position)
            process.batches_left -= 1
        if process.batches_left > 0 and process.position < len(self.feed):
            self._start_batch(process)

    def _settle(self) -> None:
        """Late requests land; then every delay is over, what is owed is delivered, and everything is swept, some
        messages twice."""
        while self.late:
            self._land(0)
        self._finish(Run(Deliver(self.plan, SEVERAL_DEFINITIONS)), "the last delivery")
        if text := debts_in(self.store, self.plan):
            raise ViolationError(text)
        for waiting in [*self.waiting, *self.waiting[:2]]:
            run = Run(Sweep((waiting.message,), self.plan))
            self._finish(run, f"sweeper of {len(from_message(waiting.message))}")
        self.waiting = []

    def _deliver_again(self) -> None:
        """The whole feed from the start, by a new worker: everything in it is old."""
        process = Process(new_process(), self.plan, 0)
        for start in range(0, len(self.feed), 5):
            run = Run(partial(process.applier.apply, self.plan, self.feed[start : start + 5]))
            self._finish(run, "redelivery")

    def _finish(self, run: Run, name: str) -> None:
        self.accounts_down.end()
        while not isinstance(run.state, Ended):
            call = run.state[0]
            answer = self.perform(call, 0)
            self.trace.append(f"{name}: {describe(call)} -> {describe_answer(answer)}")
            if isinstance(call, SendMessage):
                self.waiting.append(Waiting(call.message, frozenset()))
            run.give(answer)
        if run.state.error is not None:
            raise run.state.error

    def _check(self, moment: str) -> None:
        """Every index, and the dead letters."""
        for generation in self.plan.generations:
            if text := difference(generation, self.feed, self.store):
                raise ViolationError(f"{moment}: {text}")
        self._check_dead_letters(moment)

    def _check_dead_letters(self, moment: str) -> None:
        if text := wrong_dead_letters(self.plan, self.feed, self.store):
            raise ViolationError(f"{moment}: {text}")


def random_feed(random: Random) -> tuple[Change, ...]:
    """Versions of up to five facts that move between few groups."""
    writer = Writer(SEVERAL_DEFINITIONS, "people")
    facts = "fghij"[: random.randint(1, 5)]
    return tuple(writer.change(random.choice(facts), _document(random)) for _ in range(random.randint(3, 20)))


def _document(random: Random) -> dict[str, Any] | None:
    """Few values each, so that facts stay, change, move, come back and meet; now and then poison or deleted."""
    if random.random() < 0.15:
        return None
    return {
        "group": random.choice("gk"),
        "town": random.choice(["A", "a", "B", None]),
        "spent": random.choice([0.1, 0.2, 0.3, 2, -7.05, None]) if random.random() < 0.95 else "poison",
        "homes": random.choices(["A", "B", "C"], k=random.randint(0, 3)),
        "hidden": random.random() < 0.2,
    }
