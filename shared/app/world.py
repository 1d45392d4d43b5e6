"""The outside world: time, randomness and ids. All other code of the app gets them as parameters."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.tables.clock import ServiceClock
from shared.tables.machine import TIMING

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.tables.retry import Timing

__all__ = ["TIMING", "World", "new_id", "real_world"]


@dataclass(frozen=True, slots=True)
class World:
    """Time and ids of one process. The clock is corrected by the time that storage services report."""

    timing: Timing
    clock: ServiceClock
    new_id: Callable[[], str]


def new_id() -> str:
    """A unique name, for a process or a blob."""
    return uuid.uuid4().hex


def real_world() -> World:
    """The machine's time, and random ids."""
    return World(TIMING, ServiceClock(TIMING.wall_seconds, TIMING.steady_seconds), new_id)
