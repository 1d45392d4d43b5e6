"""Tries a call again while its error is transient, within a number of attempts and a time budget.

Waits grow exponentially with full jitter, on top of the service's Retry-After, so that workers that failed
together do not come back together. Clock, sleep and chance are parameters.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

from shared.errors import OperationFailedError, StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long one call may be tried."""

    attempts: int = 6
    budget_seconds: float = 60
    first_wait_seconds: float = 0.2
    longest_wait_seconds: float = 10


@dataclass(frozen=True, slots=True)
class Timing:
    """The outside world of a client: the wall clock, a steady clock, sleep, and chance from 0 to 1."""

    wall_seconds: Callable[[], float]
    steady_seconds: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


async def with_retries(attempt: Callable[[float], Awaitable[T]], policy: RetryPolicy, timing: Timing) -> T:
    """The first result of `attempt`, which gets the seconds that are left of the budget.

    Remembers whether any attempt may have landed without an answer, and says so in the final error.
    """
    deadline = timing.steady_seconds() + policy.budget_seconds
    unknown = False
    attempts = 0
    while True:
        attempts += 1
        try:
            return await attempt(deadline - timing.steady_seconds())
        except OperationFailedError as error:
            if unknown:
                raise error.after_resending() from error
            raise
        except StorageUnavailableError as error:
            unknown = unknown or error.outcome_unknown
            wait_seconds = _wait_seconds(error, attempts, policy, timing)
            if attempts >= policy.attempts or timing.steady_seconds() + wait_seconds >= deadline:
                _give_up(error, attempts, unknown=unknown)
            _log.warning(
                "A call to the Table service failed and will be tried again",
                extra={"attempts": attempts, "wait_seconds": wait_seconds, "error": type(error).__name__},
            )
        await timing.sleep(wait_seconds)


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
