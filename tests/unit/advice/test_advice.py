"""Advice from numbers: each warning of the pattern, what to do, what it costs; and silence where all is well."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.advice.rules import SECONDS_PER_MONTH, Advice, AdvisedIndex, Usage, advise
from shared.advice.statistics import IndexStatistics, TopPartition
from shared.definitions.model import Expire, Index, KeyPart
from shared.monitoring.prices import read_prices

PRICES = read_prices()
MONTH = SECONDS_PER_MONTH
FINE = IndexStatistics(
    facts=20_000,
    entries=20_000,
    partitions=500,
    partitions_estimated=500,
    top=(TopPartition({"town": "Lund"}, 400, 0.02, 1),),
    growing_share=0.5,
    entry_bytes=800,
)
USED = Usage(MONTH, 10_000, 1_000, 1_000_000, 2_000_000, 2_000_000, 30_000)


def subject(statistics: IndexStatistics = FINE, usage: Usage = USED, **fields: Any) -> AdvisedIndex:
    """An index by town with these numbers."""
    index = Index("by-town", "people", (KeyPart("town", "town"),), **fields)
    return AdvisedIndex(index, statistics, usage, PRICES["tableTransactions"], PRICES["tableStorage"])


def only(found: list[Advice], code: str) -> Advice:
    """The one piece of advice, which is of this kind."""
    (advice,) = found
    assert advice.code == code
    return advice


def skewed(share: float, shards: int = 1, partitions: int = 500) -> IndexStatistics:
    """One partition has this share."""
    top = TopPartition({"town": "Redmond"}, int(20_000 * share), share, shards)
    return IndexStatistics(20_000, 20_000, 1.0, partitions, partitions, (top,), 0.5, 800)


def test_a_healthy_index_gets_no_advice() -> None:
    """Many partitions, more lookups than writes, small entries."""
    assert advise(subject()) == []


@pytest.mark.parametrize(("tables", "is_many"), [(14, False), (15, True)])
def test_facts_that_expire_far_ahead_make_lookups_dear(tables: int, *, is_many: bool) -> None:
    """Twice as many tables as there must be are borne; what the others cost is said."""
    expire = Expire("until", 90 * 86_400, "month")
    found = advise(subject(replace(FINE, tables=tables), expire=expire))
    assert [advice.code for advice in found] == (["far-periods"] if is_many else [])
    if is_many:
        assert 'every lookup of "by-town" reads 15 tables where 7 would do' in found[0].what
        assert found[0].dollars_per_month == pytest.approx(-1_000_000 * 8 * 0.00036 / 10_000)


def test_ninety_per_cent_in_one_value_is_spread_over_shards() -> None:
    """The share, the value, the shards, and what more transactions per lookup cost."""
    found = only(advise(subject(skewed(0.9))), "hot-partition")
    assert '90% of the entries of "by-town" are in one partition, Redmond (18,000 of 20,000' in found.what
    assert found.change == {"hot": {"Redmond": 16}}
    # A million lookups a month, 90 % of them with 15 transactions more.
    assert found.dollars_per_month == pytest.approx(1_000_000 * 0.9 * 15 * 0.00036 / 10_000)


def test_a_partition_of_several_parts_is_spread_by_shards() -> None:
    """`hot` names values of one part."""
    index = Index("i", "s", (KeyPart("a", "a"), KeyPart("b", "b")))
    found = advise(AdvisedIndex(index, skewed(0.5), USED, PRICES["tableTransactions"], PRICES["tableStorage"]))
    assert only(found, "hot-partition").change == {"shards": 16}


def test_a_partition_that_is_spread_already_is_left_alone() -> None:
    """Each of its shards has little."""
    assert advise(subject(skewed(0.9, shards=16))) == []
    assert advise(subject(skewed(0.9, shards=16, partitions=4))) == []


def test_few_values_are_told_with_their_number() -> None:
    """Unless one of them is hot, which says more."""
    found = only(advise(subject(skewed(0.25, partitions=4))), "few-values")
    assert "only 4 values for about 20,000 entries" in found.what
    assert found.change == {"shards": 8}
    assert only(advise(subject(skewed(0.9, partitions=4))), "hot-partition").change == {"hot": {"Redmond": 16}}


def test_an_index_that_nobody_looks_up_is_dropped() -> None:
    """After a day without lookups; it saves its writes and its room."""
    usage = Usage(MONTH, 1_000_000, 0, 0, 0, 0, 2_000_000)
    found = only(advise(subject(usage=usage)), "unused")
    assert "was not looked up" in found.what
    assert "30 days" in found.what
    assert found.dollars_per_month == pytest.approx(-(2_000_000 * 0.00036 / 10_000 + 20_000 * 800 / 1e9 * 0.045))
    assert advise(subject(usage=Usage(3600, 1_000_000, 0, 0, 0, 0, 1))) == []


def test_volatile_entries_are_told_with_writes_per_lookup() -> None:
    """Fifty writes for each lookup."""
    found = only(advise(subject(usage=Usage(MONTH, 45_000, 5_000, 1_000, 1_000, 1_000, 100_000))), "volatile")
    assert "50 entries for each of 1,000 lookups" in found.what
    assert found.dollars_per_month is not None
    assert found.dollars_per_month < 0
    assert advise(subject(usage=Usage(3600, 45_000, 5_000, 1_000, 1_000, 1_000, 100_000))) == []


def test_partitions_that_only_grow_are_told() -> None:
    """All new entries go to one end of the table."""
    numbers = IndexStatistics(20_000, 20_000, 1.0, 500, 500, FINE.top, 0.99, 800)
    assert "99%" in only(advise(subject(numbers)), "monotonic").what


def test_large_entries_are_told_with_what_they_cost() -> None:
    """Less is projected, less is stored."""
    numbers = IndexStatistics(20_000, 20_000, 0.5, 500, 500, FINE.top, 0.5, 8192)
    found = only(advise(subject(numbers)), "oversized")
    assert "8.0 KiB on average, 0.33 GB in all" in found.what
    assert found.dollars_per_month == pytest.approx(-40_000 * 7168 / 1e9 * 0.045)


def test_an_empty_index_is_told_so() -> None:
    """Nothing can be said about it."""
    assert "has no entries yet" in only(advise(subject(IndexStatistics(), Usage())), "empty").what


def test_a_small_sample_says_nothing_about_how_entries_are_spread() -> None:
    """Nine of ten may be chance."""
    top = TopPartition({"town": "Redmond"}, 9, 0.9, 1)
    assert advise(subject(IndexStatistics(10, 10, 1.0, 2, 2, (top,), 0.5, 800))) == []
