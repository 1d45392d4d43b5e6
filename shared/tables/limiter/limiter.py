"""How many calls may be out at once: more while latency stays what it is in quiet moments, fewer when it does not.

    grow   while calls wait and latency is at most 1.3 of quiet: twofold from cold, then by a quarter; after a throttle
           by two calls a second, twice as fast with each second that passes
    cut    throttled: by the share of answers that were; silence: by half; latency over 1.8 of quiet: to 1.5 of it, but
           only after a look
    look   for 16 calls few are let out at once: the quiet latency is measured again. This tells the limiter's own queue
           (quiet as before: cut) from a service that became slow (quiet rose: go on)

Pure, as `Breaker` is: `now` is a parameter, and windows are counted in answers. docs/design.md says why it
is this limiter and where the numbers come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from shared.tables.limiter.calls import Flight
from shared.tables.limiter.latency import QuietLatency
from shared.tables.limiter.pacing import Pacing

if TYPE_CHECKING:
    from shared.tables.limiter.calls import CallShape, Outcome, Priority

CutReason = Literal["throttled", "silent", "slow", "outage"]

START: Final = 16
LEAST: Final = 1
MOST: Final = 256
# So many calls at once are quiet, or a quarter of the limit. Latency alone never cuts below this.
_QUIET: Final = 8
_WINDOW: Final = 64
_COLD_WINDOW: Final = 32
_TROUBLED_WINDOW: Final = 16
_RATIOS_MIN: Final = 16
_GROW: Final = 1.3
_AIM: Final = 1.5
_CUT: Final = 1.8
_STEP: Final = 1.25
_COLD_STEP: Final = 2.0
_SLOTS_PER_SECOND: Final = 2.0
_DOUBLINGS_MAX: Final = 20.0
_LOOK_CALLS: Final = 16
_LOOK_ANSWERS: Final = 12
_LOOK_EVERY_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 1.0
_LONG_AGO: Final = -1e9


@dataclass(frozen=True, slots=True)
class Cut:
    """The last time that the limit was made smaller."""

    at: float
    reason: CutReason
    before: float
    after: float


class _Window:
    """Answers since the last decision."""

    __slots__ = ("answers", "began", "logs", "ratios", "silent", "somebody_waited", "throttled")

    def __init__(self, now: float) -> None:
        self.began = now
        self.answers = self.throttled = self.silent = 0
        # The sum of the latencies as shares of quiet, as logarithms, and how many.
        self.logs = 0.0
        self.ratios = 0
        self.somebody_waited = False

    @property
    def is_known(self) -> bool:
        return self.ratios >= _RATIOS_MIN

    @property
    def ratio(self) -> float:
        return math.exp(self.logs / self.ratios) if self.is_known else 1.0


class Limiter:
    """The limit of one account in one process, and what it is made from."""

    def __init__(self, most: int = MOST) -> None:
        self.most = max(LEAST, most)
        self.limit = float(min(START, self.most))
        self.in_flight = 0
        self.pacing = Pacing()
        self.quiet = QuietLatency()
        self.last_cut: Cut | None = None
        # The latency of the last whole window as a share of quiet.
        self.ratio = 1.0
        self._is_cold = True
        self._cut_at = self._throttled_at = self._looked_at = _LONG_AGO
        self._is_looking = self._must_look = False
        self._to_send = self._answers_wanted = 0
        self._look_ends = _LONG_AGO
        self._window = _Window(_LONG_AGO)

    @property
    def allowed(self) -> int:
        """So many calls may be out now."""
        return max(LEAST, int(min(self.limit, self._level) if self._is_looking else self.limit))

    @property
    def _level(self) -> float:
        """So many calls at once are quiet."""
        return max(_QUIET, self.limit / 4)

    def note_waiting(self) -> None:
        """A call had to wait for the limit."""
        self._window.somebody_waited = True

    def start(self, shape: CallShape, priority: Priority, now: float) -> Flight:
        """One attempt goes out."""
        self.in_flight += 1
        quiet = self.in_flight <= self._level
        looks = quiet and self._is_looking and self._to_send > 0
        self._to_send -= looks
        return Flight(shape, priority, now, quiet, looks)

    def end(self, flight: Flight, outcome: Outcome, now: float) -> None:
        """The attempt has ended."""
        self.in_flight -= 1
        if outcome == "unsent":
            return
        if self._is_looking and now > self._look_ends:
            self._end_look(now)
        if outcome == "throttled" and self.pacing.is_own(flight.shape.place, now):
            return
        if outcome == "answered":
            self._sample(flight, now)
        # An attempt from before the cut says nothing about the limit since then.
        if flight.sent_at >= self._cut_at:
            self._count(outcome, now)

    def _count(self, outcome: Outcome, now: float) -> None:
        window = self._window
        window.answers += 1
        window.throttled += outcome == "throttled"
        window.silent += outcome == "silent"
        calm = _COLD_WINDOW if self._is_cold else _WINDOW
        enough = _TROUBLED_WINDOW if window.throttled or window.silent else calm
        if window.answers >= max(enough, self.limit) and not self._is_looking:
            self._close(now)

    def _sample(self, flight: Flight, now: float) -> None:
        log_seconds, size = math.log(max(1e-6, now - flight.sent_at)), flight.shape.size
        is_quiet = flight.quiet and self.in_flight <= self._level and not self._is_looking
        is_first = self._is_cold and self.limit == min(START, self.most)
        if flight.looks or is_quiet or is_first:
            self.quiet.add(size, log_seconds)
            if flight.looks and self._is_looking:
                self._answers_wanted -= 1
                if not self._answers_wanted:
                    self._end_look(now)
        ratio = self.quiet.ratio(size, log_seconds)
        if ratio is None:
            self._must_look = True
        elif not self._is_looking and flight.sent_at >= self._cut_at:
            self._window.logs += ratio
            self._window.ratios += 1

    def _close(self, now: float) -> None:
        """Judge a window, and begin the next one."""
        window, self._window = self._window, _Window(now)
        ratio, is_known = window.ratio, window.is_known
        self.ratio = ratio if is_known else self.ratio
        grow = _AIM if self._is_cold else _GROW
        if window.silent or window.throttled:
            self._cut_by_share(window, now)
        elif (self._must_look and not is_known) or (ratio > grow and now - self._looked_at > _LOOK_EVERY_SECONDS):
            self._is_cold = self._is_cold and ratio <= grow
            self._look(now)
        elif ratio > grow:
            self._is_cold = False
            if ratio > _CUT and self.limit > _QUIET:
                self._cut(max(_QUIET, self.limit * max(0.5, _AIM / ratio)), "slow", now)
        elif is_known and window.somebody_waited:
            self._grow(now - window.began, now)

    def _cut_by_share(self, window: _Window, now: float) -> None:
        share = window.throttled / window.answers + (0.5 if window.silent else 0.0)
        self._throttled_at = now
        self._cut(self.limit * max(0.5, 1 - share), "silent" if window.silent else "throttled", now)

    def _grow(self, spent_seconds: float, now: float) -> None:
        since_throttle = min(_DOUBLINGS_MAX, now - self._throttled_at)
        gain = spent_seconds * _SLOTS_PER_SECOND * 2**since_throttle
        self.limit = min(self.most, self.limit * (_COLD_STEP if self._is_cold else _STEP), self.limit + gain)

    def _cut(self, to: float, reason: CutReason, now: float) -> None:
        before, self.limit = self.limit, max(LEAST, to)
        self.last_cut = Cut(now, reason, before, self.limit)
        self._cut_at, self._is_cold = now, False

    def _look(self, now: float) -> None:
        self.quiet.fade()
        self._is_looking, self._must_look = True, False
        self._to_send, self._answers_wanted = _LOOK_CALLS, _LOOK_ANSWERS
        self._looked_at, self._look_ends = now, now + _LOOK_SECONDS

    def _end_look(self, now: float) -> None:
        self._is_looking = False
        self._window = _Window(now)

    def outage(self, now: float, *, is_silent: bool) -> None:
        """The breaker has opened. Begin anew: from cold, unless the account throttles, which slow growth respects."""
        self._cut(min(self.limit, START), "outage", now)
        self._is_cold = is_silent
        if not is_silent:
            self._throttled_at = now
        self._end_look(now)
