"""When a group of rows goes out: not before every fact that may write beside it is settled."""

from __future__ import annotations

from shared.pipeline.entry_writes.expected import Expected


def test_nothing_goes_out_before_all_buckets_are_projected() -> None:
    """A bucket that comes later may write beside the rows of one that is settled long before."""
    expected = Expected(2)
    expected.projected({"A", "B"})
    assert list(expected.settled({"A", "B"})) == []
    expected.projected({"A", "C"})
    assert sorted(expected.settled({"A", "C"})) == ["A", "B", "C"]


def test_a_partition_waits_for_all_of_its_buckets() -> None:
    """And goes out once."""
    expected = Expected(3)
    expected.projected({"A", "B"})
    assert list(expected.settled({"A", "B"})) == []
    expected.projected({"A", "C"})
    expected.projected({"D"})
    assert sorted(expected.settled({"D"})) == ["B", "D"]
    assert sorted(expected.settled({"A", "C"})) == ["A", "C"]
