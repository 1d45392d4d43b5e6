"""Tries a call again while its error is transient, within a number of attempts and a time budget.

Waits grow exponentially with full jitter, on top of the service's Retry-After, so that workers that failed
together do not come back together. While the account's breaker is open a call waits for it instead, and goes on as soon
as the probe of any call is answered. Clock, sleep and chance are parameters.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from shared.errors import (
    OperationFailedError,
    StorageError,
    StorageUnavailableError,
    TableLeavingError,
    ThrottledError,
)
from shared.tables.breaker import PROBE_ANSWER_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.tables.breaker import Breaker
    from shared.tables.limiter.calls import CallShape, Flight, Outcome, Priority
    from shared.tables.limiter.gate import Gate

T = TypeVar("T")

# How soon a call that waits for an open breaker notices that it has closed.
_LOOK_SECONDS: Final = 0.1
_DOUBLINGS_MAX: Final = 30

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one call may be tried. One that begins while the breaker is open has less time.

    Waiting for a permit counts. With `waits_out_throttles`, attempts that were throttled do not count as attempts.
    """

    attempts: int = 6
    budget_seconds: float = 60
    first_wait_seconds: float = 0.2
    longest_wait_seconds: float = 10
    open_seconds: float = 5
    waits_out_throttles: bool = True


@dataclass(frozen=True, slots=True)
class Timing:
    """The outside world of a client: the wall clock, a steady clock, sleep, and chance from 0 to 1."""

    wall_seconds: Callable[[], float]
    steady_seconds: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Sender:
    """How calls reach one account: again while that may help, one attempt for each permit of the account's `gate`.

    A permit covers an attempt on the wire. It is given back before the call waits to be tried again.
    """

    policy: RetryPolicy
    timing: Timing
    breaker: Breaker
    gate: Gate
    priority: Priority

    async def send(self, attempt: Callable[[float], Awaitable[T]], shape: CallShape) -> T:
        """The first result of `attempt`, which gets the seconds that are left of the budget.

        Remembers whether any attempt may have landed without an answer, and says so in the final error.
        """
        policy, timing, breaker = self.policy, self.timing, self.breaker
        budget_seconds = policy.budget_seconds if breaker.is_closed else policy.open_seconds
        deadline = timing.steady_seconds() + budget_seconds
        unknown = False
        attempts = uncounted = 0
        while True:
            if not breaker.is_closed:
                await _admission(breaker, deadline, timing, attempts, unknown=unknown)
            # Unless it was closed meanwhile by the probe of another call.
            is_probe = not breaker.is_closed
            # A probe is alone, so it needs no permit.
            flight = None if is_probe else await self._permit(shape, deadline, attempts, unknown=unknown)
            if flight is not None and not breaker.is_closed:
                self.gate.leave(flight, "unsent")
                continue
            attempts += 1
            try:
                left_seconds = deadline - timing.steady_seconds()
                return await self._noted(attempt(PROBE_ANSWER_SECONDS if is_probe else left_seconds), flight)
            except OperationFailedError as error:
                if unknown:
                    raise error.after_resending() from error
                raise
            except StorageUnavailableError as error:
                unknown = unknown or error.outcome_unknown
                uncounted += is_probe or (policy.waits_out_throttles and isinstance(error, ThrottledError))
                wait_seconds = _wait_seconds(error, attempts, policy, timing) if breaker.is_closed else 0.0
                is_late = timing.steady_seconds() + wait_seconds >= deadline
                if attempts - uncounted >= policy.attempts or is_late:
                    _give_up(error, attempts, unknown=unknown)
                # An outage is logged when it begins and ends, not with every probe.
                _log.log(
                    logging.DEBUG if is_probe else logging.WARNING,
                    "A call to the Table service failed and will be tried again",
                    extra={"attempts": attempts, "wait_seconds": wait_seconds, "error": type(error).__name__},
                )
            if wait_seconds:
                await timing.sleep(wait_seconds)

    async def _permit(self, shape: CallShape, deadline: float, attempts: int, *, unknown: bool) -> Flight:
        try:
            return await self.gate.enter(shape, self.priority, deadline - self.timing.steady_seconds())
        except TimeoutError:
            raise ThrottledError(
                "So many calls to the Table service are waiting that this one was not sent in time: try again later, "
                "or send less at once.",
                outcome_unknown=unknown,
                attempts=attempts,
                retry_after_seconds=1.0,
            ) from None

    async def _noted(self, answer: Awaitable[T], flight: Flight | None) -> T:
        """The answer to one attempt. Breaker and limiter learn whether there was any; a refusal is an answer, too."""
        outcome: Outcome = "unsent"
        try:
            result = await answer
            outcome = "answered"
        except StorageError as error:
            outcome = _outcome(error)
            if outcome != "answered":
                self._note_failure(error, is_silent=outcome == "silent")
            raise
        finally:
            if flight is not None:
                self.gate.leave(flight, outcome)
            if outcome == "answered":
                _note_answer(self.breaker, self.timing)
        return result

    def _note_failure(self, error: StorageError, *, is_silent: bool) -> None:
        now_seconds = self.timing.steady_seconds()
        retry_after_seconds = getattr(error, "retry_after_seconds", None) or 0.0
        if self.breaker.failed(now_seconds, str(error), retry_after_seconds, is_silent=is_silent):
            self.gate.limiter.outage(now_seconds, is_silent=is_silent)
            _log.error("The Table service gives no usable answer: the breaker opens", extra={"error": str(error)})


def _outcome(error: StorageError) -> Outcome:
    """What an error says about the account."""
    if not isinstance(error, StorageUnavailableError) or isinstance(error, TableLeavingError):
        return "answered"
    if isinstance(error, ThrottledError):
        return "throttled"
    return "silent" if isinstance(error.__cause__, TimeoutError) else "broken"


async def _admission(breaker: Breaker, deadline: float, timing: Timing, attempts: int, *, unknown: bool) -> None:
    """Wait until the breaker lets a call out: it has closed, or this call is its next probe."""
    while not breaker.admits(timing.steady_seconds()):
        if timing.steady_seconds() + _LOOK_SECONDS > deadline:
            seconds = breaker.snapshot(timing.steady_seconds()).open_for_seconds or 0.0
            raise StorageUnavailableError(
                f"The Table service has given no usable answer for {seconds:.1f} s, so this call was not sent: "
                f"try again later. Last: {breaker.last_error}",
                outcome_unknown=unknown,
                attempts=attempts,
                retry_after_seconds=1.0,
            )
        await timing.sleep(_LOOK_SECONDS)


def _note_answer(breaker: Breaker, timing: Timing) -> None:
    outage_seconds = breaker.succeeded(timing.steady_seconds())
    if outage_seconds is not None:
        _log.warning("The Table service answers again", extra={"outage_seconds": round(outage_seconds, 3)})


def _wait_seconds(error: StorageUnavailableError, attempts: int, policy: RetryPolicy, timing: Timing) -> float:
    longest = min(policy.longest_wait_seconds, policy.first_wait_seconds * 2.0 ** min(attempts - 1, _DOUBLINGS_MAX))
    return (error.retry_after_seconds or 0) + longest * timing.chance()


def _give_up(error: StorageUnavailableError, attempts: int, *, unknown: bool) -> NoReturn:
    raise type(error)(
        f"{error} Tried {attempts} times.",
        outcome_unknown=unknown,
        attempts=attempts,
        retry_after_seconds=error.retry_after_seconds,
    ) from error
