"""The current time: by this machine's clock, as long as the storage service agrees.

Entries expire and whole tables are dropped by time. A clock that jumps ahead must not drop current data, so the `Date`
header of every answer is compared. Between two answers only the steady clock counts: a jump is noticed before the next
request is sent.
"""

from __future__ import annotations

import logging
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Answers have whole seconds, and take some to arrive.
TOLERANCE_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


class ServiceClock:
    """The time of the storage service, shared by all clients of a process."""

    def __init__(self, wall_seconds: Callable[[], float], steady_seconds: Callable[[], float]) -> None:
        self._wall_seconds = wall_seconds
        self._steady_seconds = steady_seconds
        self._heard = ""
        # The service's time when the steady clock was at zero; None before the first answer.
        self._start_seconds: float | None = None

    def hear(self, date: str | None) -> None:
        """Take over the `Date` header of an answer."""
        if not date or date == self._heard:
            return
        try:
            seconds = parsedate_to_datetime(date).timestamp()
        except ValueError:
            return  # a proxy wrote it in another form
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
