"""Partitions that throttle by themselves: their rows are sent at a pace, so that the rest of the account is not slowed.

A 503 is taken for the partition's own when the partition throttles again within a second, and few others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.limiter.calls import CallShape, Place

_AGAIN_SECONDS: Final = 1.0
# When more partitions throttle within a second, it is the account.
_OWN_MAX: Final = 8
# What the documents promise for one partition.
_FIRST_ROWS: Final = 2000.0
_FEWEST_ROWS: Final = 20.0
_MOST_ROWS: Final = 4000.0
_CUT: Final = 0.8
_CUT_EVERY_SECONDS: Final = 0.5
# Rows per second that the pace gains per second, doubled with each second since the last cut.
_GAIN: Final = 50.0
_DOUBLINGS_MAX: Final = 6.0
_BURST_SECONDS: Final = 0.1
_FORGET_SECONDS: Final = 30.0


class _Pace:
    """The pace of one partition: a token bucket that may go into debt by one call."""

    __slots__ = ("at", "cut_at", "rate", "throttled_at", "tokens")

    def __init__(self, now: float) -> None:
        self.rate = _FIRST_ROWS
        self.tokens = 0.0
        self.at = self.cut_at = self.throttled_at = now

    def refill(self, now: float) -> None:
        gain = _GAIN * 2 ** min(_DOUBLINGS_MAX, now - self.cut_at)
        self.rate = min(_MOST_ROWS, self.rate + (now - self.at) * gain)
        self.tokens = min(self.rate * _BURST_SECONDS, self.tokens + (now - self.at) * self.rate)
        self.at = now

    def throttle(self, now: float) -> None:
        self.throttled_at = now
        if now - self.cut_at > _CUT_EVERY_SECONDS:
            self.rate, self.cut_at = max(_FEWEST_ROWS, self.rate * _CUT), now


class Pacing:
    """The paced partitions of one account."""

    def __init__(self) -> None:
        self._paces: dict[Place, _Pace] = {}
        self._throttled_at: dict[Place, float] = {}

    def is_paced(self, place: Place) -> bool:
        """Whether calls about this partition must ask `wait_seconds` first."""
        return place in self._paces

    def wait_seconds(self, shape: CallShape, now: float) -> float:
        """How long the next call about a partition must wait; 0: it may go, and its rows are counted."""
        pace = self._paces.get(shape.place)
        if pace is None:
            return 0.0
        if now - pace.throttled_at > _FORGET_SECONDS:
            del self._paces[shape.place]
            return 0.0
        pace.refill(now)
        if pace.tokens < 0:
            return -pace.tokens / pace.rate
        pace.tokens -= shape.rows
        return 0.0

    def is_own(self, place: Place, now: float) -> bool:
        """A call about this partition was throttled: whether that is the partition's own limit, which is paced then."""
        if place is None:
            return False
        last = self._throttled_at.pop(place, None)
        self._throttled_at = {other: at for other, at in self._throttled_at.items() if now - at < _AGAIN_SECONDS}
        self._throttled_at[place] = now
        self._forget(now)
        pace = self._paces.get(place)
        # One that is paced tries a faster pace now and then, more than a second apart.
        is_again = pace is not None or (last is not None and now - last <= _AGAIN_SECONDS)
        if not is_again or len(self._throttled_at) > _OWN_MAX:
            return False
        if pace is None:
            self._paces[place] = _Pace(now)
        else:
            pace.throttle(now)
        return True

    def _forget(self, now: float) -> None:
        self._paces = {at: pace for at, pace in self._paces.items() if now - pace.throttled_at <= _FORGET_SECONDS}

    def rows_per_second(self, now: float) -> Mapping[Place, float]:
        """The pace of each partition that is paced now."""
        self._forget(now)
        return {place: pace.rate for place, pace in self._paces.items()}
