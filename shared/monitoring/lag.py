"""Lag: how long the oldest change that has not been applied has been waiting, in seconds per source.

It is read from the feeds themselves (`OldestWaiting`), not reported by the pipeline, so it also grows when the pipeline
stops. A measurement is bounded in time and cached for a few seconds: a status page must not load the feeds.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from shared.errors import FeedUnavailableError, SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.tables.retry import Timing

CACHED_SECONDS: Final = 5.0
ASKING_SECONDS: Final = 10.0

_log = logging.getLogger(__name__)


class OldestWaiting(Protocol):
    """A feed and how far it has been applied."""

    async def oldest_waiting(self) -> float | None:
        """When the oldest change that is not applied was made, in seconds since 1970; None when all are.

        Raises `FeedUnavailableError`.
        """


class Feed(OldestWaiting, Protocol):
    """The same, and whether it can still fill empty tables."""

    async def has_moved_on(self, now_seconds: float) -> bool:
        """Whether it has passed changes that it will not deliver again; raises `FeedUnavailableError`."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a source is behind; `seconds` is None when that is not known, and `unknown` says why."""

    seconds: float | None
    unknown: str | None = None


class LagMeter:
    """Measures the lag of every source."""

    def __init__(self, feeds: Mapping[str, Sequence[OldestWaiting]], timing: Timing) -> None:
        self._feeds = feeds
        self._timing = timing
        self._measured: dict[str, Lag] = {}
        self._measured_at: float | None = None
        self._measuring = asyncio.Lock()

    async def lags(self, cached_seconds: float = CACHED_SECONDS) -> Mapping[str, Lag]:
        """The lag of each source, measured now or a moment ago."""
        async with self._measuring:
            now = self._timing.steady_seconds()
            if self._measured_at is None or now - self._measured_at >= cached_seconds:
                self._measured = await self._measure()
                self._measured_at = self._timing.steady_seconds()
            return self._measured

    async def _measure(self) -> dict[str, Lag]:
        """Ask each feed once, however many sources it feeds: a hub lets few readers look at a partition at a time."""
        feeds = {id(feed): feed for feeds in self._feeds.values() for feed in feeds}
        found = dict(zip(feeds, await asyncio.gather(*map(_asked, feeds.values())), strict=True))
        return {source: self._lag(source, [found[id(feed)] for feed in own]) for source, own in self._feeds.items()}

    def _lag(self, source: str, found: Sequence[float | Exception | None]) -> Lag:
        errors = [error for error in found if isinstance(error, Exception)]
        if any(isinstance(error, TimeoutError) for error in errors):
            return Lag(None, f'The feed of source "{source}" did not answer within {ASKING_SECONDS:g} s: try again.')
        if errors:
            return Lag(None, str(errors[0]))
        since = [seconds for seconds in found if isinstance(seconds, (int, float))]
        # Clocks differ and jump: a change from the future waits, too, but for no less than 0 seconds.
        return Lag(max(0.0, round(self._timing.wall_seconds() - min(since), 3)) if since else 0.0)


async def _asked(feed: OldestWaiting) -> float | Exception | None:
    try:
        async with asyncio.timeout(ASKING_SECONDS):
            return await feed.oldest_waiting()
    except (FeedUnavailableError, SettingError, TimeoutError) as error:
        return error
