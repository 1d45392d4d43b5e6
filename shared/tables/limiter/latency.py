"""What calls of each size take in quiet moments: means of logarithms, so that one slow call in 64 moves them by 3 %."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.limiter.calls import Size

# A sample counts as at most e² = 7.4 times more or less than expected.
_CLAMP: Final = 2.0
_WEIGHT_MAX: Final = 64
_WEIGHT_KNOWN: Final = 8
_WEIGHT_SURE: Final = 16
# Latency over this many times the best that was ever seen is not taken for quiet, whoever causes it.
_RISE: Final = math.log(2.5)


class _Quiet:
    """The quiet latency of one size. Older samples count less than newer ones once `weight` is at its maximum."""

    __slots__ = ("lowest", "mean", "weight")

    def __init__(self, log_seconds: float) -> None:
        self.mean = log_seconds
        self.weight = 0
        self.lowest = math.inf

    def add(self, log_seconds: float) -> None:
        self.weight = min(_WEIGHT_MAX, self.weight + 1)
        self.mean += _clamped(log_seconds - self.mean) / self.weight
        if self.weight >= _WEIGHT_SURE:
            self.lowest = min(self.lowest, self.mean)


class QuietLatency:
    """The quiet latency of every size of calls."""

    def __init__(self) -> None:
        self._by_size: dict[Size, _Quiet] = {}

    def add(self, size: Size, log_seconds: float) -> None:
        """One more call that took so long in a quiet moment."""
        self._of(size, log_seconds).add(log_seconds)

    def ratio(self, size: Size, log_seconds: float) -> float | None:
        """How much longer a call took than in a quiet moment, as a logarithm; None while that is not known."""
        quiet = self._of(size, log_seconds)
        if quiet.weight < _WEIGHT_KNOWN:
            return None
        return _clamped(log_seconds - min(quiet.mean, quiet.lowest + _RISE))

    def fade(self) -> None:
        """What was known before counts half as much as the next look."""
        for quiet in self._by_size.values():
            quiet.weight = min(quiet.weight, _WEIGHT_KNOWN)

    def seconds(self) -> Mapping[Size, float]:
        """The quiet latency of each size that is known."""
        return {size: math.exp(quiet.mean) for size, quiet in self._by_size.items() if quiet.weight >= _WEIGHT_KNOWN}

    def _of(self, size: Size, log_seconds: float) -> _Quiet:
        quiet = self._by_size.get(size)
        if quiet is None:
            quiet = self._by_size[size] = _Quiet(log_seconds)
        return quiet


def _clamped(log: float) -> float:
    return max(-_CLAMP, min(_CLAMP, log))
