"""Runs real pipeline code step by step: every storage call stops the code, and a scheduler decides how it continues.

A program (a coroutine) yields the calls it waits for; the scheduler sends back which of them was answered, and how. No
event loop and no time are involved, so a program is a pure function of the answers it gets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from shared.tables.memory.calls import Call

if TYPE_CHECKING:
    from shared.tables.memory.store import Store

T = TypeVar("T")

Pending: TypeAlias = tuple[Call[Any], ...]
Program: TypeAlias = Callable[[], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: a value, or an error. `position` says which of the pending calls it was."""

    position: int
    value: Any = None
    error: Exception | None = None


class ViolationError(Exception):
    """A program saw what must never be seen."""


class _Waiting(Awaitable[Any]):
    def __init__(self, call: Call[Any]) -> None:
        self._call = call

    def __await__(self) -> Generator[Pending, Answer, Any]:
        answer = yield (self._call,)
        if answer.error is not None:
            raise answer.error
        return answer.value


class Stopping:
    """A carrier that stops at every call."""

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer that the scheduler gives."""
        return cast(T, await _Waiting(call))


class _Children(Awaitable[list[Any]]):
    """Several coroutines at once; all that they wait for is pending together."""

    def __init__(self, children: Sequence[Coroutine[Any, Any, Any]]) -> None:
        self._children = list(children)
        self._pending: list[Pending] = [() for _ in children]
        self._results: list[Any] = [None for _ in children]

    def __await__(self) -> Generator[Pending, Answer, list[Any]]:
        for number in range(len(self._children)):
            self._resume(number, None)
        while any(self._pending):
            answer = yield tuple(call for pending in self._pending for call in pending)
            self._give(answer)
        return self._results

    def _give(self, answer: Answer) -> None:
        position = answer.position
        for number, pending in enumerate(self._pending):
            if position < len(pending):
                self._resume(number, Answer(position, answer.value, answer.error))
                return
            position -= len(pending)

    def _resume(self, number: int, answer: Answer | None) -> None:
        try:
            self._pending[number] = self._children[number].send(answer)
        except StopIteration as end:
            self._pending[number], self._results[number] = (), end.value
        except Exception as error:  # what one raises is its result, as with `AtOnce`
            self._pending[number], self._results[number] = (), error


async def interleaved(work: Sequence[Callable[[], Awaitable[T]]]) -> list[T | Exception]:
    """`RunAll` under the scheduler: any order of the calls is possible."""
    children = [cast(Coroutine[Any, Any, Any], piece()) for piece in work]
    return cast("list[T | Exception]", await _Children(children))


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that came to its end; with an error it did not do what it should."""

    error: Exception | None = None
    result: Any = None


class Run:
    """A program on its way."""

    def __init__(self, program: Program) -> None:
        self._coroutine = program()
        self.state: Pending | Ended = ()
        self._advance(None)

    def give(self, answer: Answer) -> None:
        """Go on with the answer of one of the pending calls."""
        self._advance(answer)

    def _advance(self, answer: Answer | None) -> None:
        try:
            self.state = self._coroutine.send(answer)
        except StopIteration as end:
            self.state = Ended(None, end.value)
        except Exception as error:  # the scheduler judges it
            self.state = Ended(error)


def finish(run: Run, store: Store) -> Ended:
    """Run to the end, alone."""
    while not isinstance(run.state, Ended):
        run.give(perform(run.state[0], store, 0))
    return run.state


def perform(call: Call[Any], store: Store, position: int) -> Answer:
    """The answer of the service as it is now."""
    try:
        return Answer(position, call.perform(store))
    except Exception as error:  # an error of the service is an answer like any other
        return Answer(position, error=error)
