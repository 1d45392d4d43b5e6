"""What time it is: by this machine's clock, as long as the storage service agrees.

Entries expire and whole tables are dropped by the time. A clock that jumps ahead must not do that to what still lives,
so every answer of the service is listened to, which says when it was given. Between two answers only steady time
counts: a jump is noticed before the next request is sent.
"""

from __future__ import annotations

import logging
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Answers tell whole seconds, and are on their way for some.
TOLERANCE_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


class ServiceClock:
    """The time that all clients of a process have heard of."""

    def __init__(self, wall_seconds: Callable[[], float], steady_seconds: Callable[[], float]) -> None:
        self._wall_seconds = wall_seconds
        self._steady_seconds = steady_seconds
        self._heard = ""
        # The service's time when the steady clock stood at zero; None before the first answer.
        self._start_seconds: float | None = None

    def hear(self, date: str | None) -> None:
        """An answer was given at this time, as HTTP writes it."""
        if not date or date == self._heard:
            return
        try:
            seconds = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return  # of a proxy that has a language of its own
        self._heard = date
        self._start_seconds = seconds - self._steady_seconds()
        if abs(self._wall_seconds() - seconds) > TOLERANCE_SECONDS:
            _log.warning(
                "The clock of this machine is wrong; the storage service's time is used",
                extra={"ahead_seconds": round(self._wall_seconds() - seconds)},
            )

    def now_seconds(self) -> float:
        """Seconds since 1970."""
        wall = self._wall_seconds()
        if self._start_seconds is None:
            return wall
        served = self._start_seconds + self._steady_seconds()
        return wall if abs(wall - served) <= TOLERANCE_SECONDS else served
