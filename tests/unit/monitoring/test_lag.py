"""Lag is how long the oldest waiting change has waited: never negative, never made up, and kept for a few days."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shared.errors import FeedUnavailableError
from shared.monitoring import lag as lag_module
from shared.monitoring.lag import LagMeter
from shared.monitoring.lag_history import BUCKET_SECONDS, EXACT_SECONDS, KEPT_SECONDS, LagHistory, Point, thinned
from shared.sources.trigger_leases import positions
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.retry import Timing

NOW = 1_800_000_000


class Feed:
    """A feed whose oldest waiting change was made then."""

    def __init__(self, waiting: float | Exception | None) -> None:
        self.waiting = waiting
        self.asked = 0

    async def oldest_waiting(self) -> float | None:
        self.asked += 1
        if isinstance(self.waiting, Exception):
            raise self.waiting
        return self.waiting


class Silent:
    """A feed that never answers."""

    async def oldest_waiting(self) -> float | None:
        await asyncio.Event().wait()
        return None


def meter(*feeds: Feed | Silent) -> LagMeter:
    """A meter of one source with these feeds."""
    return LagMeter({"people": feeds}, Timing(lambda: NOW, asyncio.get_running_loop().time, asyncio.sleep, lambda: 0.5))


async def measured(*feeds: Feed | Silent) -> float | None:
    """The lag of a source with these feeds."""
    return (await meter(*feeds).lags())["people"].seconds


async def test_the_oldest_change_of_any_feed_counts() -> None:
    """A source with a container and a hub is as far behind as the later of both."""
    assert await measured(Feed(NOW - 5), Feed(NOW - 70.5), Feed(None)) == 70.5


async def test_a_feed_of_several_sources_is_asked_once() -> None:
    """It is as far behind for each of them."""
    hub = Feed(NOW - 7)
    timing = Timing(lambda: NOW, asyncio.get_running_loop().time, asyncio.sleep, lambda: 0.5)
    lags = await LagMeter({"people": [hub], "orders": [Feed(NOW - 9), hub], "new": []}, timing).lags()
    assert {source: lag.seconds for source, lag in lags.items()} == {"people": 7, "orders": 9, "new": 0}
    assert hub.asked == 1


async def test_nothing_waiting_is_no_lag() -> None:
    """Also after a day without a change."""
    assert await measured(Feed(None)) == 0.0


async def test_a_clock_that_jumps_gives_no_negative_lag() -> None:
    """A change from the future is waiting, but not for less than nothing."""
    assert await measured(Feed(NOW + 3600)) == 0.0


async def test_what_cannot_be_asked_is_unknown() -> None:
    """Not zero: the reason stands in its place."""
    lag = (await meter(Feed(None), Feed(FeedUnavailableError("Cosmos DB is down."))).lags())["people"]
    assert (lag.seconds, lag.unknown) == (None, "Cosmos DB is down.")


async def test_a_feed_that_never_answers_is_unknown_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status does not wait for it."""
    monkeypatch.setattr(lag_module, "ASKING_SECONDS", 0.01)
    lag = (await meter(Silent()).lags())["people"]
    assert lag.seconds is None
    assert "did not answer" in str(lag.unknown)


async def test_many_questions_ask_the_feed_once() -> None:
    """A status page must not load it; the timer asks anew."""
    feed = Feed(None)
    lag_meter = meter(feed)
    await asyncio.gather(*(lag_meter.lags() for _ in range(10)))
    assert feed.asked == 1
    await lag_meter.lags(cached_seconds=0)
    assert feed.asked == 2


def test_history_has_a_bounded_number_of_points() -> None:
    """A week of minutes: the last hours exactly, then the worst of each quarter of an hour, for three days."""
    week: list[Point] = [(NOW - 60 * minute, float(minute)) for minute in range(7 * 24 * 60)]
    kept = thinned(week, NOW)
    assert len(kept) <= EXACT_SECONDS // 60 + KEPT_SECONDS // BUCKET_SECONDS + 1
    assert kept == sorted(kept)
    assert thinned(kept, NOW) == kept
    assert kept[-1] == (NOW, 0.0)
    assert [lag for at, lag in kept if at == NOW - 600] == [10.0]


def test_the_worst_of_a_quarter_of_an_hour_is_kept() -> None:
    """A peak stays visible, and not to know is worse than any lag."""
    old = (NOW - EXACT_SECONDS - BUCKET_SECONDS) // BUCKET_SECONDS * BUCKET_SECONDS
    assert thinned([(old, 1.0), (old + 60, 90.0), (old + 120, 2.0)], NOW) == [(old + 60, 90.0)]
    assert thinned([(old, 1.0), (old + 60, None)], NOW) == [(old + 60, None)]


def test_points_from_the_future_go() -> None:
    """They came from a clock that jumped and would stay for ever."""
    assert thinned([(NOW + 10, 1.0), (NOW, 2.0)], NOW) == [(NOW, 2.0)]


async def test_history_is_kept_for_every_source() -> None:
    """Points are added; a source that left the definitions is forgotten."""
    history = LagHistory(MemoryTables())
    assert await history.read() == {}
    await history.add(NOW, {"people": 1.5, "films": None})
    await history.add(NOW + 60, {"people": 2.5})
    assert await history.read() == {"people": [(NOW, 1.5), (NOW + 60, 2.5)]}


RANGE = {"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}


def test_leases_of_the_extension_are_read() -> None:
    """An ETag and a range, whose usual ends .NET leaves out; documents that are no leases are passed over."""
    begins = "people-account.documents.azure.com_db_RID=="
    leases: list[dict[str, Any]] = [
        {"id": f"{begins}..0", "ContinuationToken": '"12"', "FeedRange": {"Range": {"min": "", "max": "FF"}}},
        {"id": f"{begins}..1", "ContinuationToken": None, "FeedRange": {"Range": RANGE}},
        {"id": f"{begins}.info"},
        {"id": "people-account.documents.azure.com_db_OTHER==..0", "ContinuationToken": '"1"'},
    ]
    assert positions(leases, "RID==") == [(RANGE, '"12"'), (RANGE, None)]


def test_a_lease_without_a_range_is_refused() -> None:
    """Rather than to tell a lag that leaves its range out."""
    with pytest.raises(FeedUnavailableError, match="names no range"):
        positions([{"id": "x_RID==..0", "ContinuationToken": '"1"'}], "RID==")
