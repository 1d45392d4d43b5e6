"""Tries a call again while its error is transient, within a number of attempts and a time budget.

Waits grow exponentially with full jitter, on top of the service's Retry-After, so that workers that failed
together do not come back together. While the account's breaker is open a call waits for it instead, and goes on as soon
as the probe of any call is answered. Clock, sleep and chance are parameters.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from shared.errors import OperationFailedError, StorageError, StorageUnavailableError, TableLeavingError
from shared.tables.breaker import PROBE_ANSWER_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.tables.breaker import Breaker

T = TypeVar("T")

# How soon a call that waits for an open breaker notices that it has closed.
_LOOK_SECONDS: Final = 0.1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one call may be tried. One that begins while the breaker is open has less time."""

    attempts: int = 6
    budget_seconds: float = 60
    first_wait_seconds: float = 0.2
    longest_wait_seconds: float = 10
    open_seconds: float = 5


@dataclass(frozen=True, slots=True)
class Timing:
    """The outside world of a client: the wall clock, a steady clock, sleep, and chance from 0 to 1."""

    wall_seconds: Callable[[], float]
    steady_seconds: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


async def with_retries(
    attempt: Callable[[float], Awaitable[T]], policy: RetryPolicy, timing: Timing, breaker: Breaker
) -> T:
    """The first result of `attempt`, which gets the seconds that are left of the budget.

    Remembers whether any attempt may have landed without an answer, and says so in the final error.
    """
    budget_seconds = policy.budget_seconds if breaker.is_closed else policy.open_seconds
    deadline = timing.steady_seconds() + budget_seconds
    unknown = False
    attempts = probes = 0
    while True:
        if not breaker.is_closed:
            await _admission(breaker, deadline, timing, attempts, unknown=unknown)
        # Unless it was closed meanwhile by the probe of another call.
        is_probe = not breaker.is_closed
        attempts += 1
        probes += is_probe
        try:
            left_seconds = deadline - timing.steady_seconds()
            return await _noted(attempt(PROBE_ANSWER_SECONDS if is_probe else left_seconds), breaker, timing)
        except OperationFailedError as error:
            if unknown:
                raise error.after_resending() from error
            raise
        except StorageUnavailableError as error:
            unknown = unknown or error.outcome_unknown
            wait_seconds = _wait_seconds(error, attempts, policy, timing) if breaker.is_closed else 0.0
            is_late = timing.steady_seconds() + wait_seconds >= deadline
            if attempts - probes >= policy.attempts or is_late:
                _give_up(error, attempts, unknown=unknown)
            # An outage is logged when it begins and ends, not with every probe.
            _log.log(
                logging.DEBUG if is_probe else logging.WARNING,
                "A call to the Table service failed and will be tried again",
                extra={"attempts": attempts, "wait_seconds": wait_seconds, "error": type(error).__name__},
            )
        if wait_seconds:
            await timing.sleep(wait_seconds)


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


async def _noted(answer: Awaitable[T], breaker: Breaker, timing: Timing) -> T:
    """The answer to one attempt; the breaker learns whether there was any. A refusal is an answer, too."""
    try:
        result = await answer
    except StorageError as error:
        if not isinstance(error, StorageUnavailableError) or isinstance(error, TableLeavingError):
            _note_answer(breaker, timing)
        elif breaker.failed(
            timing.steady_seconds(),
            str(error),
            error.retry_after_seconds or 0.0,
            is_silent=isinstance(error.__cause__, TimeoutError),
        ):
            _log.error("The Table service gives no usable answer: the breaker opens", extra={"error": str(error)})
        raise
    _note_answer(breaker, timing)
    return result


def _note_answer(breaker: Breaker, timing: Timing) -> None:
    outage_seconds = breaker.succeeded(timing.steady_seconds())
    if outage_seconds is not None:
        _log.warning("The Table service answers again", extra={"outage_seconds": round(outage_seconds, 3)})


def _wait_seconds(error: StorageUnavailableError, attempts: int, policy: RetryPolicy, timing: Timing) -> float:
    longest = min(policy.longest_wait_seconds, policy.first_wait_seconds * 2.0 ** (attempts - 1))
    return (error.retry_after_seconds or 0) + longest * timing.chance()


def _give_up(error: StorageUnavailableError, attempts: int, *, unknown: bool) -> NoReturn:
    raise type(error)(
        f"{error} Tried {attempts} times.",
        outcome_unknown=unknown,
        attempts=attempts,
        retry_after_seconds=error.retry_after_seconds,
    ) from error
