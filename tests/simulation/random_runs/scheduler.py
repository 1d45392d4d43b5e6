"""Decides by chance which program goes on, what goes wrong with its call, and when late requests land."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shared.errors import OperationFailedError, ThrottledError, TransientError
from shared.tables.memory.calls import Query, Transact
from tests.simulation.explore import describe, describe_answer, no_answer, resent
from tests.simulation.programs import SendMessage
from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.steps import Answer, Ended, Run, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from tests.simulation.random_runs.choices import Choices
    from tests.simulation.steps import Program


def _nothing(_: Ended | None) -> None:
    """What most programs leave to do."""


@dataclass(slots=True, eq=False)
class Actor:
    """A program on its way. `ended` is called at its end, with None after a crash."""

    number: int
    name: str
    run: Run
    ended: Callable[[Ended | None], None]
    crashes: bool
    # After a request without an answer: which of the pending calls the client sends again.
    resends: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A sweep message and the programs that must have ended before it becomes visible, as its delay promises."""

    message: str
    after: frozenset[int]


class Scheduler:
    """Programs over one service, one call at a time."""

    def __init__(self, random: Random, choices: Choices, store: Store, coverage: Coverage) -> None:
        self.store = store
        self.coverage = coverage
        self.actors: list[Actor] = []
        self.waiting: list[Waiting] = []
        # Called after every call that may have changed a table.
        self.on_write: Callable[[str], None] = lambda table: None
        self.on_transaction: Callable[[Transact], None] = lambda call: None
        self._random = random
        self._choices = choices
        # Requests that will land later, each with the number of the program that sent it.
        self._late: list[tuple[int, Call[Any]]] = []
        self._started = 0
        # Texts, or calls with their answers, which only a failure turns into text.
        self._trace: list[str | tuple[str, Call[Any], Answer | None]] = []

    # ------------------------------------------------------------------------------------------ programs

    def start(
        self, program: Program, name: str, ended: Callable[[Ended | None], None] = _nothing, *, crashes: bool = True
    ) -> None:
        """Let a program run beside the others."""
        self._started += 1
        actor = Actor(self._started, f"{self._started} {name}", Run(program), ended, crashes)
        self.actors.append(actor)
        self._note_end(actor)

    def finish(self, program: Program, name: str) -> Any:
        """Run a program alone, without faults; its result."""
        run = Run(program)
        while not isinstance(run.state, Ended):
            answer = self._perform(name, run.state[0], 0)
            self._keep_message(run.state[0], answer, frozenset())
            run.give(answer)
        if run.state.error is not None:
            raise run.state.error
        return run.state.result

    def advance(self) -> None:
        """Let one call of some program happen, or go wrong; now and then a late request lands first."""
        if self._late and self._random.random() < 0.1:
            self._land(self._random.randrange(len(self._late)))
        if self.actors:
            self._advance(self._random.choice(self.actors))

    def _advance(self, actor: Actor) -> None:
        pending = actor.run.state
        assert not isinstance(pending, Ended)
        if actor.crashes and self._random.random() < self._choices.crash_chance:
            self._crash(actor)
            return
        position = self._random.randrange(len(pending)) if actor.resends is None else actor.resends
        call = pending[position]
        answer = self._answer(actor, call, position)
        if answer is None:
            self._trace.append((actor.name, call, None))
            return
        self._keep_message(call, answer, self._before_now())
        actor.run.give(answer)
        self._note_end(actor)

    def _crash(self, actor: Actor) -> None:
        self.note(f"{actor.name}: crash")
        self.coverage[Event.CRASH] += 1
        self.actors.remove(actor)
        actor.ended(None)

    def _note_end(self, actor: Actor) -> None:
        end = actor.run.state
        if not isinstance(end, Ended):
            return
        self.actors.remove(actor)
        # A batch comes again, as does a message; a caller has been told to try again.
        if end.error is not None and not isinstance(end.error, (TransientError, OperationFailedError)):
            raise end.error
        actor.ended(end)

    # ------------------------------------------------------------------------------------------ calls

    def _answer(self, actor: Actor, call: Call[Any], position: int) -> Answer | None:
        """The answer that the program hears; None when its client will send the request again."""
        if actor.resends is not None:
            actor.resends = None
            self.coverage[Event.RESENT] += 1
            return resent(self._perform(actor.name, call, position))
        chance = self._random.random() / self._choices.fault_factor
        if isinstance(call, Query) and chance < 0.1:
            self.coverage[Event.SHORT_PAGE] += 1
            return self._perform(actor.name, replace(call, limit=self._random.choice([0, 1])), position)
        if not isinstance(call, Transact) or chance >= 0.08:
            return self._perform(actor.name, call, position)
        return self._faulty(actor, call, position, chance)

    def _faulty(self, actor: Actor, call: Transact, position: int, chance: float) -> Answer | None:
        """Refused; sent again after a lost answer; performed twice; late; or performed, and the answer lost."""
        if chance < 0.01:
            self.coverage[Event.REFUSED] += 1
            return Answer(position, error=ThrottledError("Busy: try again.", outcome_unknown=False))
        if chance < 0.03:
            self._perform(actor.name, call, position)
            actor.resends = position
            return None
        if chance < 0.05:
            self._send_late(actor, call)
            return self._perform(actor.name, call, position)
        self.coverage[Event.LOST] += 1
        if chance < 0.065:
            self._send_late(actor, call)
        else:
            self._perform(actor.name, call, position)
        self.note(f"{actor.name}: no answer")
        return no_answer(position)

    def _send_late(self, actor: Actor, call: Transact) -> None:
        self.coverage[Event.LATE] += 1
        self._late.append((actor.number, call))

    def _land(self, position: int) -> None:
        number, call = self._late.pop(position)
        self._perform(f"late, of {number}", call, 0)

    def land_all(self) -> None:
        """Every late request lands."""
        while self._late:
            self._land(0)

    def _perform(self, name: str, call: Call[Any], position: int) -> Answer:
        answer = perform(call, self.store, position)
        self.coverage[Event.CALL] += 1
        self._trace.append((name, call, answer))
        if call.kind not in ("get", "query", "list"):
            self.on_write(call.table)
        if isinstance(call, Transact):
            self.on_transaction(call)
        return answer

    # ------------------------------------------------------------------------------------------ messages

    def _keep_message(self, call: Call[Any], answer: Answer, after: frozenset[int]) -> None:
        if isinstance(call, SendMessage) and answer.error is None:
            self.waiting.append(Waiting(call.message, after))

    def _before_now(self) -> frozenset[int]:
        """The programs that run, or have sent what is not there yet."""
        return frozenset([*(actor.number for actor in self.actors), *(number for number, _ in self._late)])

    def visible_messages(self) -> list[Waiting]:
        """Messages whose delay is over: nothing from before them can still come."""
        alive = self._before_now()
        return [waiting for waiting in self.waiting if not waiting.after & alive]

    # ------------------------------------------------------------------------------------------ trace

    def note(self, text: str) -> None:
        """A line of the trace."""
        self._trace.append(text)

    def trace(self) -> Iterator[str]:
        """What happened, line by line."""
        for step in self._trace:
            if isinstance(step, str):
                yield step
                continue
            name, call, answer = step
            outcome = "answer lost, will be sent again" if answer is None else describe_answer(answer)
            yield f"{name}: {describe(call)} -> {outcome}"
