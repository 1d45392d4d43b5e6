"""Retry policies: what a function declares with `@app.retry`, and the waits that follow from it.

Only timer, Cosmos DB and Event Hubs triggers have one in Azure. HTTP is never retried; a queue counts dequeues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

UNLIMITED = -1
# The host spreads its exponential waits by a fifth either way, so that instances do not retry in step.
JITTER = 0.2


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a failed call is tried again, and how long to wait before each try."""

    max_retry_count: int
    minimum_seconds: float
    maximum_seconds: float
    exponential: bool

    @classmethod
    def from_options(cls, options: Any) -> RetryPolicy:
        """The policy in the runtime's metadata."""
        if options.retry_strategy == "fixed_delay":
            delay_seconds = options.delay_interval.total_seconds()
            return cls(options.max_retry_count, delay_seconds, delay_seconds, exponential=False)
        return cls(
            options.max_retry_count,
            options.minimum_interval.total_seconds(),
            options.maximum_interval.total_seconds(),
            exponential=True,
        )

    def allows(self, retry_count: int) -> bool:
        """Whether a call that was retried `retry_count` times may be tried again."""
        return self.max_retry_count == UNLIMITED or retry_count < self.max_retry_count

    def wait_seconds(self, retry_count: int, random: Callable[[], float]) -> float:
        """The wait before the next try, after `retry_count` retries; `random` gives numbers in [0, 1)."""
        if not self.exponential:
            return self.minimum_seconds
        doubled = self.minimum_seconds * 2.0 ** min(retry_count, 60)
        spread = 1 - JITTER + 2 * JITTER * random()
        return min(self.maximum_seconds, max(self.minimum_seconds, doubled * spread))
