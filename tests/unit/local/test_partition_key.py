"""Keys go to the partition that the service, and so the SDK's own resolver, would choose."""

from __future__ import annotations

from typing import Any, cast

from azure.eventhub._buffered_producer._partition_resolver import PartitionResolver
from hypothesis import example, given, settings
from hypothesis import strategies as st

from local.emulators.eventhubs.log.partition_key import partition_for_key


@settings(max_examples=3000)
@given(st.text(st.characters(max_codepoint=127), min_size=1, max_size=60), st.integers(1, 1024))
@example("a" * 12, 32)
@example("a" * 24, 32)
def test_the_partition_of_a_key_is_the_one_that_the_sdk_resolves(key: str, partition_count: int) -> None:
    """Thousands of keys of every length, over every number of partitions.

    ASCII keys only: beyond those, azure-eventhub hashes code points where the other SDKs hash UTF-8, as we do.
    """
    resolver: Any = cast(Any, PartitionResolver)([str(number) for number in range(partition_count)])
    assert str(partition_for_key(key, partition_count)) == resolver.get_partition_id_by_partition_key(key)
