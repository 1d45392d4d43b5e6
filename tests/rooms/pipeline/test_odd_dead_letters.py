"""Dead letters of odd values are stored like any other: a batch that cannot put one would come again for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from shared.pipeline.dead_letters.rows import dead_letter_of
from tests.worlds.dead_letters import dead_letter_store_of, dead_letters_of
from tests.worlds.world import World

if TYPE_CHECKING:
    from shared.tables.port import Tables

TEXT = """
version: 1
sources: {SOURCE: {cosmos: {database: d, container: people}, partitionKey: id}}
indexes:
  by-age: {source: SOURCE, partition: {path: "to_string(abs(age))", name: age}, project: keys}
"""


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    return world


@pytest.mark.parametrize("value", ["\ud800", "a\udfff b", "\x00", "😀"])
async def test_a_value_that_an_expression_repeats_in_its_error_does_not_stop_the_batch(
    world: World, value: str
) -> None:
    """Half a character, which no service stores, is replaced in the reason."""
    await world.apply(world.writer.change("a", {"age": value}), world.writer.change("b", {"age": -1}))
    (dead_letter,) = await dead_letters_of(world)
    assert (dead_letter.fact_id, dead_letter.kind) == ("a", "notEvaluable")
    assert dead_letter.reason.encode("utf-8")


async def test_a_reason_is_stored_without_what_no_service_takes(world: World) -> None:
    """Whatever made it: half a character, a control character, a line break."""
    change = world.writer.change("a", {"age": 1})
    reason = "One \ud800 two \x00 three\nfour"
    await dead_letter_store_of(world).put(dead_letter_of(change, "by-age", "notEvaluable", reason))
    assert [dead_letter.reason for dead_letter in await dead_letters_of(world)] == ["One ? two ? three?four"]
