"""When a group of rows goes out: not before every fact that may write beside it is settled."""

from __future__ import annotations

from shared.entries.keys.periods import table_of
from shared.entries.projection.generations import Place
from shared.pipeline.entry_writes.expected import Expected, Reach

TOWNS = "towns0123456789abcdef"
A, B, C, D = [Place("main", TOWNS, name) for name in "ABCD"]
OTHER = Place("main", "names", "A")


def reach(*places: Place) -> Reach:
    return Reach(set(places), set())


def test_nothing_goes_out_before_all_buckets_are_projected() -> None:
    """A bucket that comes later may write beside the rows of one that is settled long before."""
    expected = Expected(2)
    expected.projected(reach(A, B))
    assert list(expected.settled(reach(A, B))) == []
    expected.projected(reach(A, C))
    assert sorted(expected.settled(reach(A, C))) == [A, B, C]


def test_a_place_waits_for_all_of_its_buckets() -> None:
    """And goes out once."""
    expected = Expected(3)
    expected.projected(reach(A, B))
    assert list(expected.settled(reach(A, B))) == []
    expected.projected(reach(A, C))
    expected.projected(reach(D))
    assert sorted(expected.settled(reach(D))) == [B, D]
    assert sorted(expected.settled(reach(A, C))) == [A, C]


def test_a_place_waits_for_buckets_that_may_write_anywhere_in_its_table() -> None:
    """Also the tables of its periods; not those of other indexes."""
    expected = Expected(2)
    of_period = Place("main", table_of(TOWNS, "20260101"), "20260101 A")
    first, anywhere = reach(A, of_period, OTHER), Reach({B}, {TOWNS})
    expected.projected(first)
    expected.projected(anywhere)
    assert list(expected.settled(first)) == [OTHER]
    assert sorted(expected.settled(anywhere)) == sorted([A, B, of_period])
