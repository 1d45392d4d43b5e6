"""A circuit breaker for one storage account: after a few failures in a row, or silence, one call at a time asks again.

    closed      calls go out
    open        the account gives no usable answer; nothing goes out until the next probe is due
    half-open   one call is out as the probe: its answer closes the breaker, its failure opens it again

Pure: the time is a parameter, of a steady clock, so that a wall clock that jumps changes nothing. A probe is due soon
and often, because one request a second costs nothing and recovery should be noticed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

BreakerState = Literal["closed", "open", "half-open"]

FAILURES_MAX: Final = 5
FIRST_PROBE_SECONDS: Final = 0.25
LONGEST_PROBE_SECONDS: Final = 1.0
# The time limit of a probe. Storage that takes longer is too slow for a batch.
PROBE_ANSWER_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class BreakerSnapshot:
    """The state of a breaker and its account. Times are in seconds, counted back from now."""

    state: BreakerState
    failures: int
    open_for_seconds: float | None
    last_error: str | None
    last_outage_seconds: float | None


class Breaker:
    """The state of one account, as one process has seen it. All its clients share it."""

    def __init__(self) -> None:
        self.failures = 0
        # By the steady clock; None while the breaker is closed.
        self.opened_at_seconds: float | None = None
        self.last_error: str | None = None
        self.last_outage_seconds: float | None = None
        self._probe_due_at = 0.0
        self._probe_wait_seconds = FIRST_PROBE_SECONDS
        # A cancelled caller never reports: its probe counts as lost after this.
        self._probe_ends_at: float | None = None

    @property
    def state(self) -> BreakerState:
        """What the breaker does with the next call."""
        if self.opened_at_seconds is None:
            return "closed"
        return "open" if self._probe_ends_at is None else "half-open"

    @property
    def is_closed(self) -> bool:
        """Whether calls go out."""
        return self.opened_at_seconds is None

    def admits(self, now_seconds: float) -> bool:
        """Whether a call may go out now; while the breaker is not closed, that call is the probe."""
        if self.opened_at_seconds is None:
            return True
        is_out = self._probe_ends_at is not None and now_seconds < self._probe_ends_at
        if is_out or now_seconds < self._probe_due_at:
            return False
        self._probe_ends_at = now_seconds + PROBE_ANSWER_SECONDS
        return True

    def succeeded(self, now_seconds: float) -> float | None:
        """A call was answered. How long the account was down, if that is over now."""
        self.failures = 0
        if self.opened_at_seconds is None:
            return None
        self.last_outage_seconds = now_seconds - self.opened_at_seconds
        self.opened_at_seconds = self._probe_ends_at = None
        self._probe_wait_seconds = FIRST_PROBE_SECONDS
        return self.last_outage_seconds

    def failed(
        self, now_seconds: float, error: str, retry_after_seconds: float = 0.0, *, is_silent: bool = False
    ) -> bool:
        """A call got no usable answer. Whether that opened the breaker.

        Silence for the whole time of a call opens it at once: waiting four more times would take minutes, and if the
        account is there after all, the first probe closes it again.
        """
        self.failures += 1
        self.last_error = error
        if self.opened_at_seconds is None:
            if self.failures < FAILURES_MAX and not is_silent:
                return False
            self.opened_at_seconds = now_seconds
            self._wait_for_probe(now_seconds, retry_after_seconds)
            return True
        if self._probe_ends_at is not None:
            self._probe_wait_seconds = min(LONGEST_PROBE_SECONDS, 2 * self._probe_wait_seconds)
            self._wait_for_probe(now_seconds, retry_after_seconds)
        return False

    def _wait_for_probe(self, now_seconds: float, retry_after_seconds: float) -> None:
        """The service may ask for a longer wait, up to the time limit of a probe: recovery must be noticed soon."""
        self._probe_ends_at = None
        asked_seconds = min(retry_after_seconds, PROBE_ANSWER_SECONDS)
        self._probe_due_at = now_seconds + max(self._probe_wait_seconds, asked_seconds)

    def snapshot(self, now_seconds: float) -> BreakerSnapshot:
        """The state, for status reports."""
        opened_at = self.opened_at_seconds
        return BreakerSnapshot(
            self.state,
            self.failures,
            None if opened_at is None else now_seconds - opened_at,
            self.last_error,
            self.last_outage_seconds,
        )
