"""This machine's time, sleep and chance, for clients that nobody gives any."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Final

from shared.tables.retry import Timing

TIMING: Final = Timing(time.time, time.monotonic, asyncio.sleep, random.random)
