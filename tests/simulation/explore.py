"""Explores every interleaving of a scenario: all schedules, crashes, late and lost requests within its bounds.

Programs cannot be copied, but they are pure functions of their answers: a program is kept as the answers it has seen
and run again from the start when its next call is needed (once for every different list of answers). States are equal
when the service and the answers are.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from shared.errors import OperationFailedError, StorageUnavailableError
from shared.tables.memory.calls import Query, Transact
from shared.tables.memory.store import Store
from tests.simulation.outages import AskIfDown
from tests.simulation.programs import stored_name
from tests.simulation.steps import Answer, Ended, Run, ViolationError, perform
from tests.simulation.truth import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import StoreState
    from tests.simulation.scenario import Scenario
    from tests.simulation.steps import Pending

RUNNING, DONE, UNFINISHED, VIOLATED = "running", "done", "unfinished", "violated"
STATES_MAX = 400_000


class Actor(NamedTuple):
    """A program in a state: what it has seen; after a request without an answer, what it will send again."""

    status: str = RUNNING
    answers: tuple[int, ...] = ()
    resends: int | None = None


class Moment(NamedTuple):
    """A state of the world."""

    store: StoreState
    actors: tuple[Actor, ...]
    # Numbers of calls, which hold dictionaries and cannot be hashed.
    late: tuple[int, ...]
    crashes: int
    faults: int
    last: int | None
    switches: int | None


@dataclass(frozen=True, slots=True)
class Report:
    """What an exploration found."""

    states: int
    ends: int
    problem: str | None = None
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.problem}; the trace:", *self.trace])


class Explorer:
    """One exploration."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._store, self._programs = scenario.start()
        self._answers: list[Answer] = []
        self._calls: list[Call[Any]] = []
        self._numbers: dict[str, int] = {}
        self._next: dict[tuple[int, tuple[int, ...]], Pending | Ended] = {}
        self._summaries = {
            stored_name(account, table)
            for generation in scenario.plan.generations
            if generation.layout is not None
            for account, table in generation.tables()
        }
        self._sums_checked: dict[StoreState, str | None] = {}
        self._checked: dict[tuple[StoreState, tuple[str, ...], tuple[int, ...]], str | None] = {}

    def run(self) -> Report:
        """Explore until everything is seen or a problem is found."""
        # All states are kept, so every full collection would walk through all of them in vain.
        gc.disable()
        try:
            return self._run()
        finally:
            gc.enable()

    def _run(self) -> Report:
        scenario = self._scenario
        first = Moment(
            self._store.state(),
            tuple(self._settled(number, Actor()) for number in range(len(self._programs))),
            (),
            scenario.crashes,
            scenario.faults,
            None,
            scenario.switches,
        )
        came_from: dict[Moment, tuple[Moment, str] | None] = {first: None}
        stack = [first]
        ends = 0
        while stack:
            moment = stack.pop()
            if all(actor.status != RUNNING for actor in moment.actors):
                ends += 1
            if problem := self._problem(moment):
                return Report(len(came_from), ends, problem, self._trace(came_from, moment))
            for text, after in self._moves(moment):
                if after not in came_from:
                    came_from[after] = (moment, text)
                    stack.append(after)
            if len(came_from) > STATES_MAX:
                raise AssertionError(f"{scenario.name}: more than {STATES_MAX} states; make the scenario smaller")
        return Report(len(came_from), ends)

    def _trace(self, came_from: dict[Moment, tuple[Moment, str] | None], moment: Moment) -> tuple[str, ...]:
        lines = []
        while (step := came_from[moment]) is not None:
            moment, text = step
            lines.append(text)
        return tuple(reversed(lines))

    def _moves(self, moment: Moment) -> Iterator[tuple[str, Moment]]:
        for number, actor in enumerate(moment.actors):
            if actor.status == RUNNING:
                yield from self._moves_of(moment, number, actor)
        for position, number in enumerate(moment.late):
            call = self._calls[number]
            late = moment.late[:position] + moment.late[position + 1 :]
            store, answer = self._perform(moment.store, call, 0)
            yield f"late: {describe(call)} -> {describe_answer(answer)}", moment._replace(store=store, late=late)

    def _moves_of(self, moment: Moment, number: int, actor: Actor) -> Iterator[tuple[str, Moment]]:
        switches = self._switches_after(moment, number)
        if switches == -1:
            return
        moment = moment._replace(last=number, switches=switches)
        name = f"{number} {self._programs[number]}"
        if moment.crashes:
            crashed = _with(moment, number, Actor(UNFINISHED))
            yield f"{name}: crash", crashed._replace(crashes=moment.crashes - 1, last=None)
        pending = self._pending(number, actor.answers)
        for position in self._positions(pending, actor):
            call = pending[position]
            store, answer = self._perform(moment.store, call, position)
            answer = resent(answer) if actor.resends is not None else answer
            heard = _with(moment, number, self._heard(number, actor, answer))
            text = f"{name}: {describe(call)} -> {describe_answer(answer)}"
            yield text, heard._replace(store=store)
            if isinstance(call, AskIfDown):
                yield f"{text}, believed wrongly", _with(moment, number, self._heard(number, actor, call.wrong(answer)))
            if moment.faults and isinstance(call, Query):
                empty = self._heard(number, actor, perform(replace(call, limit=0), Store(moment.store), position))
                yield f"{name}: an empty page", _with(moment, number, empty)._replace(faults=moment.faults - 1)
            if moment.faults and isinstance(call, Transact):
                for what, after in self._faults(moment._replace(faults=moment.faults - 1), number, call, position):
                    yield f"{text} {what}", after

    def _faults(self, moment: Moment, number: int, call: Transact, position: int) -> Iterator[tuple[str, Moment]]:
        """A write that is also performed later; performed, then sent again; lost or late, and given up."""
        actor = moment.actors[number]
        store, answer = self._perform(moment.store, call, position)
        late = tuple(sorted((*moment.late, self._number_of_call(call))))
        heard = _with(moment, number, self._heard(number, actor, answer))
        if self._scenario.lates:
            yield "(and once more, later)", heard._replace(store=store, late=late)
        if actor.resends is None:
            again = _with(moment, number, actor._replace(resends=position))
            yield "(answer lost, will be sent again)", again._replace(store=store)
        gave_up = _with(moment, number, self._heard(number, actor, no_answer(position)))
        yield "(answer lost, given up)", gave_up._replace(store=store)
        if self._scenario.lates:
            yield "(late, given up)", gave_up._replace(late=late)
        else:
            yield "(never arrives, given up)", gave_up

    def _switches_after(self, moment: Moment, number: int) -> int | None:
        """How many switches are left when this program goes on; -1 when it may not."""
        last = moment.last
        if moment.switches is None or last is None or last == number or moment.actors[last].status != RUNNING:
            return moment.switches
        return moment.switches - 1

    def _positions(self, pending: Pending, actor: Actor) -> range:
        if actor.resends is not None:
            return range(actor.resends, actor.resends + 1)
        if self._scenario.order == "any":
            return range(len(pending))
        position = 0 if self._scenario.order == "first" else len(pending) - 1
        return range(position, position + 1)

    def _perform(self, state: StoreState, call: Call[Any], position: int) -> tuple[StoreState, Answer]:
        store = Store(state)
        answer = perform(call, store, position)
        return (store.state() if call.kind != "get" and call.kind != "query" else state), answer

    def _heard(self, number: int, actor: Actor, answer: Answer) -> Actor:
        return self._settled(number, Actor(RUNNING, (*actor.answers, self._number_of(answer))))

    def _settled(self, number: int, actor: Actor) -> Actor:
        """An actor that has come to its end is the same whatever it has seen."""
        end = self._node(number, actor.answers)
        if not isinstance(end, Ended):
            return actor
        if isinstance(end.error, ViolationError):
            return Actor(VIOLATED, actor.answers)
        return Actor(DONE if end.error is None else UNFINISHED)

    def _number_of(self, answer: Answer) -> int:
        error = None if answer.error is None else (repr(answer.error), vars(answer.error))
        text = f"{answer.position} {answer.value!r} {error}"
        number = self._numbers.setdefault(text, len(self._answers))
        if number == len(self._answers):
            self._answers.append(answer)
        return number

    def _number_of_call(self, call: Call[Any]) -> int:
        number = self._numbers.setdefault(repr(call), len(self._calls))
        if number == len(self._calls):
            self._calls.append(call)
        return number

    def _pending(self, number: int, answers: tuple[int, ...]) -> Pending:
        node = self._node(number, answers)
        assert not isinstance(node, Ended)
        return node

    def _node(self, number: int, answers: tuple[int, ...]) -> Pending | Ended:
        """What a program does after these answers."""
        node = self._next.get((number, answers))
        if node is None:
            run = Run(self._programs[number])
            for answer in answers:
                run.give(self._answers[answer])
            node = self._next[number, answers] = run.state
        return node

    def _problem(self, moment: Moment) -> str | None:
        if self._scenario.always_shown:
            store = Store(moment.store)
            if not all(shown(generation, store) for generation in self._scenario.plan.generations):
                return f"{self._scenario.name}: a moment without any entry"
        if problem := self._broken_now(moment.store):
            return f"{self._scenario.name}: {problem}"
        for number, actor in enumerate(moment.actors):
            if actor.status == VIOLATED:
                end = self._node(number, actor.answers)
                return f"{self._scenario.name}: {end.error}" if isinstance(end, Ended) else None
        if any(actor.status == RUNNING for actor in moment.actors):
            return None
        statuses = tuple(actor.status for actor in moment.actors)
        key = (moment.store, statuses, moment.late)
        if key not in self._checked:
            self._checked[key] = self._problem_at_end(moment)
        return self._checked[key]

    def _broken_now(self, state: StoreState) -> str | None:
        if not self._summaries:
            return None
        tables = frozenset([entry for entry in state if entry[0] in self._summaries])
        if tables not in self._sums_checked:
            self._sums_checked[tables] = self._scenario.broken_now(Store(tables))
        return self._sums_checked[tables]

    def _problem_at_end(self, moment: Moment) -> str | None:
        """Redeliver what is not acknowledged; let late requests land; then every index must be right."""
        store = Store(moment.store)
        unfinished = [
            self._programs[number] for number, actor in enumerate(moment.actors) if actor.status == UNFINISHED
        ]
        self._scenario.settle(store, tuple(unfinished))
        for number in moment.late:
            perform(self._calls[number], store, 0)
        problem = self._scenario.problem(store)
        return None if problem is None else f"{self._scenario.name}: {problem}"


def _with(moment: Moment, number: int, actor: Actor) -> Moment:
    return moment._replace(actors=(*moment.actors[:number], actor, *moment.actors[number + 1 :]))


def no_answer(position: int) -> Answer:
    """What the wire client says when its attempts are used up."""
    error = StorageUnavailableError("No answer came: try again.", outcome_unknown=True)
    return Answer(position, error=error)


def resent(answer: Answer) -> Answer:
    """What the wire client makes of an answer to its second attempt."""
    if isinstance(answer.error, OperationFailedError):
        return replace(answer, error=answer.error.after_resending())
    return answer


def describe(call: Call[Any]) -> str:
    """A call, for a trace."""
    if not isinstance(call, Transact):
        return f"{type(call).__name__} {call.table} {getattr(call, 'row', '')}"
    operations = []
    for operation in call.operations:
        key = getattr(operation, "row", None) or operation.entity["RowKey"]  # type: ignore[union-attr]  # a Delete has a row
        gone = " (tombstone)" if "_gone" in getattr(operation, "entity", {}) else ""
        operations.append(f"{type(operation).__name__} {key!s}{gone}")
    return f"{call.table}: {', '.join(operations)}"


def describe_answer(answer: Answer) -> str:
    """An answer, for a trace."""
    return "ok" if answer.error is None else f"{type(answer.error).__name__}: {answer.error}"
