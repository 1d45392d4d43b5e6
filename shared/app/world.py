"""The world outside, where time, chance and ids enter: everything else gets them as parameters."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.tables.clock import ServiceClock
from shared.tables.retry import Timing

if TYPE_CHECKING:
    from collections.abc import Callable

TIMING: Final = Timing(time.time, time.monotonic, asyncio.sleep, random.random)


@dataclass(frozen=True, slots=True)
class World:
    """Time and ids of one process. The clock is corrected by what storage services say."""

    timing: Timing
    clock: ServiceClock
    new_id: Callable[[], str]


def new_id() -> str:
    """A name that nothing else has: of a process, of a blob."""
    return uuid.uuid4().hex


def real_world() -> World:
    """The machine's time, and random ids."""
    return World(TIMING, ServiceClock(TIMING.wall_seconds, TIMING.steady_seconds), new_id)
