"""What had been counted by when is kept for some days, so that rates can be told."""

from __future__ import annotations

from shared.monitoring.count_history import CountHistory, CountPoint, count_point, thinned
from shared.monitoring.counters import Measure, Totals
from shared.monitoring.lag_history import BUCKET_SECONDS, EXACT_SECONDS, KEPT_SECONDS
from shared.tables.memory.memory_tables import MemoryTables

NOW = 1_800_000_000


def point(at: int, counted: int = 1) -> CountPoint:
    """A moment at which this much of everything had been counted."""
    return CountPoint(at, counted, counted, counted, counted)


def test_a_point_adds_up_sources_indexes_and_accounts() -> None:
    """Entries are those written and those removed; transactions those of changes and of lookups."""
    counts = {
        Measure("source", "people", "applied"): 3,
        Measure("source", "films", "applied"): 4,
        Measure("index", "by-town", "entries_written"): 5,
        Measure("index", "by-town", "entries_removed"): 2,
        Measure("index", "by-name", "lookups"): 6,
        Measure("account", "INDEX_STORAGE", "changes"): 7,
        Measure("account", "INDEX_STORAGE", "lookups"): 8,
        Measure("account", "INDEX_STORAGE", "operations"): 9,
    }
    assert count_point(NOW, Totals(counts)) == CountPoint(NOW, 7, 7, 6, 15)


def test_of_an_older_quarter_of_an_hour_the_last_point_is_kept() -> None:
    """What was done in it is the difference to the one before."""
    old = (NOW - EXACT_SECONDS - BUCKET_SECONDS) // BUCKET_SECONDS * BUCKET_SECONDS
    points = [point(old, 1), point(old + 60, 2), point(NOW - 60, 3), point(NOW, 4)]
    assert thinned(points, NOW) == [point(old + 60, 2), point(NOW - 60, 3), point(NOW, 4)]


def test_points_from_long_ago_and_from_the_future_go() -> None:
    """The latter came from a clock that jumped."""
    assert thinned([point(NOW - KEPT_SECONDS), point(NOW), point(NOW + 1)], NOW) == [point(NOW)]


async def test_points_are_kept() -> None:
    """In the table, one after the other."""
    history = CountHistory(MemoryTables())
    assert await history.read() == []
    await history.add(point(NOW))
    await history.add(point(NOW + 60, 2))
    assert await history.read() == [point(NOW), point(NOW + 60, 2)]
