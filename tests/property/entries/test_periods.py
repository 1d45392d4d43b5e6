"""Keys with periods, for every instant and every kind of index: within their limits, and easily taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from shared.definitions.loading.check_layout import tables_at_once
from shared.definitions.model import Expire, Index, KeyPart, Placement
from shared.definitions.utf16 import utf16_length
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.keys.limits import KEY_UNITS
from shared.entries.keys.periods import UNDATED, Periods, period_of
from tests.property.strategies import texts

if TYPE_CHECKING:
    from shared.definitions.model import PeriodLength

# From year 1 to long after 9999.
instants = st.integers(-62_135_596_800, 400_000_000_000)
lengths: st.SearchStrategy[PeriodLength] = st.sampled_from(["day", "week", "month"])


@given(instants, lengths)
def test_every_instant_is_in_one_period_of_known_ends(seconds: int, length: PeriodLength) -> None:
    """Up to the end of all calendars it ends after the instant, and the next one begins there."""
    periods = Periods(length, 86_400)
    start = periods.start(seconds)
    end = periods.end_seconds(start)
    assert periods.start(end - 1) == start
    if start < periods.start(400_000_000_000):
        assert seconds < end
        assert periods.start(end) > start
    assert periods.starts_in([f"x0123456789abcdefp{start}"], "x0123456789abcdef") == [start]


@given(st.integers(0, 250_000_000_000), lengths, st.integers(1, 1000 * 86_400))
def test_near_periods_hold_what_is_written_now_and_are_as_few_as_promised(
    now: int, length: PeriodLength, after: int
) -> None:
    """What expires between now and `after` from now is in one of them."""
    periods = Periods(length, after)
    near = periods.near(now)
    assert near[0] == periods.start(now)
    assert periods.start(now + after) in near[:-1]
    assert len(near) <= tables_at_once(length, after)
    assert list(near) == sorted(set(near))


@given(texts, st.none() | instants, lengths, st.sampled_from([1, 7]), st.integers(0, 2**64))
def test_keys_of_periods_are_taken_apart_as_others_are(
    value: str, expires: int | None, length: PeriodLength, shards: int, fact_hash: int
) -> None:
    """Shard, partition and account are those of the key without its period, which is where the table comes from."""
    placement = Placement("hash", ("ONE", "TWO", "THREE"))
    index = Index("i", "s", (KeyPart("p", "p"),), shards=shards, placement=placement)
    plain = IndexKeys(index)
    dated = IndexKeys(
        Index("i", "s", index.partition, shards=shards, placement=placement, expire=Expire("t", 86_400, length))
    )
    partition = dated.partition([value])
    key = dated.shards.partition_key(partition, fact_hash, expires)
    assert utf16_length(key) <= KEY_UNITS
    assert dated.shards.split(key) == (fact_hash % shards, partition)
    assert (period_of(key) == UNDATED) == (expires is None)
    assert key in dated.shards.partition_keys(partition, [period_of(key)])
    if plain.partition([value]) == partition:
        same = plain.shards.partition_key(partition, fact_hash)
        assert dated.accounts.account_of(key) == plain.accounts.account_of(same)
