"""The median of some samples and how far they spread: the one statistic that the benchmarks report.

Medians and quartiles, because one slow round (another program, a page fault) must not move the answer.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Spread:
    """A median between the quartiles that hold the middle half of the samples."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """The spread of `samples`; a single sample spreads over nothing."""
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0])
        return cls(*statistics.quantiles(samples, n=4, method="inclusive"))

    @property
    def relative_width(self) -> float:
        """The interquartile range as a share of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0
