"""All versions feed: the items of one transaction share their clock, and their order in the feed decides."""

from __future__ import annotations

import pytest

from tests.worlds.all_versions import all_versions_world, delete, upsert


async def test_a_fact_that_is_deleted_and_created_in_one_transaction_is_there() -> None:
    """A delete sorts behind an upsert of its clock value; here it came before."""
    world = await all_versions_world()
    await world.feed(upsert("f", "1", 5, "create"))
    await world.feed(delete("f", 9), upsert("f", "2", 9, "create"))
    assert await world.phones() == ["2"]


async def test_a_fact_that_is_created_and_deleted_in_one_transaction_is_gone() -> None:
    """The other way round."""
    world = await all_versions_world()
    await world.feed(upsert("f", "1", 9, "create"), delete("f", 9))
    assert await world.phones() == []


@pytest.mark.parametrize("number", range(8))
async def test_the_last_replacement_of_a_transaction_counts(number: int) -> None:
    """Whatever the digests of the documents are; delivered again, and to another worker, it is the same."""
    world = await all_versions_world()
    items = [upsert("f", f"old{number}", 9), upsert("g", "other", 9), upsert("f", f"new{number}", 9)]
    await world.feed(*items)
    world.restart()
    await world.feed(*items)
    assert await world.phones() == [f"new{number}", "other"]


async def test_pages_that_come_again_after_a_later_one_change_nothing() -> None:
    """A redelivery starts at an older transaction."""
    world = await all_versions_world()
    first = [upsert("f", "1", 5, "create"), upsert("f", "2", 5)]
    second = [delete("f", 6), upsert("f", "3", 6, "create")]
    third = [upsert("f", "4", 7), delete("f", 7), upsert("f", "5", 7, "create"), upsert("f", "0", 7)]
    await world.feed(*first, *second, *third)
    world.restart()
    await world.feed(*first)
    await world.feed(*first, *second)
    await world.feed(*second, *third)
    assert await world.phones() == ["0"]
