"""What a workload gives back: a subject, its yardsticks, the ratios between them, and bars.

All costs are per operation, so that a slow yardstick may do fewer operations than the subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bench.measure.spread import Spread

Clock = Literal["wall", "cpu"]
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Cost:
    """The same thing by two clocks: in seconds per operation, or as ratios of such."""

    wall: Spread
    cpu: Spread

    def by(self, clock: Clock) -> Spread:
        """The cost by one of the clocks."""
        return self.wall if clock == "wall" else self.cpu


@dataclass(frozen=True, slots=True)
class Timing:
    """What one case cost per operation, and the exact counts of one round of `operations`."""

    name: str
    operations: int
    seconds: Cost
    counts: Counts


@dataclass(frozen=True, slots=True)
class Ratio:
    """The subject's cost divided, round by round, by that of the yardstick `against`."""

    against: str
    times: Cost


@dataclass(frozen=True, slots=True)
class Bar:
    """What we want to reach: so many times a yardstick or, without one, so many seconds per operation."""

    at_most: float
    against: str | None = None
    clock: Clock = "wall"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A bar, and the median that was held against it."""

    bar: Bar
    median: float
    reached: bool


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity that is no cost of one operation: a percentile of lag in "s", a peak of memory in "MB".

    `tolerance` is how much worse than the baseline it may be. Without one it belongs to the machine: never compared.
    """

    name: str
    unit: str
    value: float
    at_most: float | None = None
    tolerance: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether its bar is reached; None without one."""
        return None if self.at_most is None else self.value <= self.at_most


@dataclass(frozen=True, slots=True)
class Measurement:
    """One subject and the yardsticks that took turns with it; `unit` names one operation ("change")."""

    name: str
    unit: str
    subject: Timing
    yardsticks: tuple[Timing, ...]
    ratios: tuple[Ratio, ...]
    verdicts: tuple[Verdict, ...]
    gauges: tuple[Gauge, ...] = ()
    # False where the phase of a poll or the like decides: the ratios are shown, but no baseline is held against them.
    is_compared: bool = True

    def ratio(self, against: str) -> Ratio | None:
        """The ratio to the yardstick of that name."""
        return next((ratio for ratio in self.ratios if ratio.against == against), None)
