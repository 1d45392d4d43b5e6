"""How often a child may be restarted before the run gives up."""

from __future__ import annotations

from collections import deque

MOST = 5
WITHIN_SECONDS = 60.0


class RestartBudget:
    """At most `MOST` restarts within `WITHIN_SECONDS`."""

    def __init__(self) -> None:
        self._moments: deque[float] = deque()

    def take(self, now: float) -> int | None:
        """The number of this restart within the window, from 1; none when the budget is used up."""
        while self._moments and now - self._moments[0] >= WITHIN_SECONDS:
            self._moments.popleft()
        if len(self._moments) >= MOST:
            return None
        self._moments.append(now)
        return len(self._moments)
