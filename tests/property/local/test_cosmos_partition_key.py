"""Partition keys hash as the SDK's own code hashes them, for all values."""

from __future__ import annotations

from typing import Any

from azure.cosmos import PartitionKey as SdkPartitionKey
from hypothesis import given, settings
from hypothesis import strategies as st

from local.emulators.cosmos.data.partition_key import PartitionKeyDefinition
from local.emulators.cosmos.data.ranges import Range, even_bounds

NUMBERS = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
COMPONENTS: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.just({}))


def definition(count: int) -> PartitionKeyDefinition:
    paths = [f"/l{level}" for level in range(count)]
    return PartitionKeyDefinition.parse({"paths": paths, "kind": "Hash" if count == 1 else "MultiHash"})


@settings(max_examples=400)
@given(COMPONENTS)
def test_a_single_value_hashes_as_in_the_sdk(value: Any) -> None:
    """Every scalar type, and undefined."""
    ours = definition(1).of_document({"l0": value})
    assert ours.effective == SdkPartitionKey("/l0")._get_effective_partition_key_string([value])


@given(st.lists(COMPONENTS, min_size=1, max_size=3))
def test_hierarchical_values_hash_as_in_the_sdk(values: list[Any]) -> None:
    """Whole keys and prefixes of them."""
    paths = ["/l0", "/l1", "/l2"]
    document = {f"l{level}": value for level, value in enumerate(values)}
    ours = definition(3).of_document(document).effective[: 32 * len(values)]
    theirs = SdkPartitionKey(paths, kind="MultiHash")._get_effective_partition_key_string(values)
    assert ours == theirs


@given(COMPONENTS, st.integers(1, 64))
def test_every_key_is_in_exactly_one_range(value: Any, count: int) -> None:
    """The ranges cover hash space without overlap, also after a split."""
    effective = definition(1).of_document({"l0": value}).effective
    bounds = even_bounds(count)
    homes = [bound for bound in bounds if bound[0] <= effective < bound[1]]
    assert len(homes) == 1
    low, middle, high = Range(0, *homes[0], (), 0).halves()
    assert low < middle < high
    assert (low <= effective < middle) != (middle <= effective < high)


@given(st.lists(COMPONENTS, min_size=2, max_size=2))
def test_two_keys_share_a_spelling_only_when_they_are_one(values: list[Any]) -> None:
    """1 and 1.0 are one key; 1, "1" and true are three."""
    one, other = (definition(1).of_document({"l0": value}) for value in values)
    assert (one.text == other.text) == (one.effective == other.effective)
