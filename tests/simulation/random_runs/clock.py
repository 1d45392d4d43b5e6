"""The time of a run: it moves, and no two processes agree on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

DAY: Final = 86_400
# 2027-01-15 08:00 UTC.
START: Final = 1_800_000_000
# Clocks that differ by more are not used: storage says in every answer what time it is.
SKEW_MAX: Final = 30


@dataclass(slots=True)
class Clock:
    """Seconds since 1970."""

    random: Random
    now: float = START

    def __call__(self) -> float:
        """The right time."""
        return self.now

    def of_process(self) -> Callable[[], float]:
        """The clock of one process, which is ahead or behind."""
        skew = self.random.uniform(-SKEW_MAX, SKEW_MAX)
        return lambda: self.now + skew
