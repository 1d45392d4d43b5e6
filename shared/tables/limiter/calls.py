"""What the limiter knows of a call: who waits for it, what it is about, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal, NamedTuple, TypeAlias

# throttled: the service asks to be called less. silent: the whole time of the call passed. broken: no usable answer.
# unsent: it was cancelled, or never left. Every other answer counts as an answer, refusals too.
Outcome = Literal["answered", "throttled", "silent", "broken", "unsent"]
# A table and a partition key; None for calls that are about no partition.
Place: TypeAlias = "tuple[str, str] | None"
# Calls of one size take about the same time: writes or reads, few or many rows.
Size: TypeAlias = tuple[bool, bool]
FEW_READ: Final[Size] = (False, False)
FEW_WRITTEN: Final[Size] = (True, False)

_MANY_ROWS: Final = 10


class Priority(IntEnum):
    """Who waits for a call; the smallest number goes first. A caller is somebody who looks up, or reads the status."""

    CALLER = 0
    FEED = 1
    BACKGROUND = 2


class CallShape(NamedTuple):
    """What a call is about, as far as that says how long it takes and who may throttle it."""

    place: Place
    rows: int
    is_write: bool

    @property
    def size(self) -> Size:
        """Which calls it can be compared with."""
        return self.is_write, self.rows > _MANY_ROWS


@dataclass(slots=True)
class Flight:
    """One attempt that is out. `quiet`: few others were out when it left. `looks`: it measures the quiet latency."""

    shape: CallShape
    priority: Priority
    sent_at: float
    quiet: bool
    looks: bool
