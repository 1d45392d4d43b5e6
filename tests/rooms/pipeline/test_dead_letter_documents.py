"""A document too large for the row of its dead letter is in a blob, which lives as long as the dead letter."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.pipeline.dead_letters.rows import dead_letter_of
from tests.worlds.dead_letters import dead_letter_store_of, dead_letters_of, fail_with_a_fault, replay_all, results
from tests.worlds.world import KeptBlobs, World

if TYPE_CHECKING:
    from shared.tables.port import Tables

TEXT = """
version: 1
sources: {SOURCE: {cosmos: {database: d, container: people}, partitionKey: id}}
indexes:
  by-town: {source: SOURCE, partition: town, sort: name, project: [phone]}
  by-age: {source: SOURCE, partition: town, sort: [{path: age, type: integer}], project: keys}
"""
PERSON: dict[str, Any] = {"town": "X", "name": "n", "phone": "1", "age": 7}
POISON = {**PERSON, "age": "old"}
# More than fits in a row, also when it is compressed.
NOISE = Random(5).randbytes(900_000).hex()


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    return world


async def test_a_large_document_is_replayed_from_its_blob(world: World) -> None:
    """And the blob goes with the dead letter; so does that of a dead letter which a newer one replaced."""
    await world.apply(world.writer.change("f", {**POISON, "noise": NOISE}))
    await world.apply(world.writer.change("f", {**POISON, "noise": NOISE + "!"}))
    assert len(world.blobs.contents) == 1
    await fail_with_a_fault(world, g={**PERSON, "noise": NOISE})
    assert results(await replay_all(world)) == ["applied", "applied", "stillFails"]
    assert len(world.blobs.contents) == 1
    world.blobs.contents.clear()
    (replayed,) = await replay_all(world)
    assert (replayed.result, "blob with its document is gone" in replayed.detail) == ("refused", True)


async def test_removing_a_dead_letter_leaves_the_document_of_one_that_was_put_meanwhile(world: World) -> None:
    """A purge deletes the row, a redelivery puts the dead letter again, and only then does the purge delete its
    blob."""
    change = world.writer.change("f", {**POISON, "noise": NOISE})
    await world.apply(change)

    class Late(KeptBlobs):
        async def delete(self, name: str) -> None:
            world.restart()
            await world.apply(change)
            await world.blobs.delete(name)

    (dead_letter,) = await dead_letters_of(world)
    assert await dead_letter_store_of(world, Late()).remove(dead_letter.row)
    assert results(await replay_all(world)) == ["stillFails"]
    assert len(world.blobs.contents) == 1


async def test_the_document_of_a_dead_letter_that_was_put_again_is_found(world: World) -> None:
    """A reader from before knows a blob that is gone; the blob of another version would be the wrong one."""
    change = world.writer.change("f", {**POISON, "noise": NOISE})
    await world.apply(change)
    (dead_letter,) = await dead_letters_of(world)
    world.restart()
    await world.apply(change)
    dead_letters = dead_letter_store_of(world)
    assert await dead_letters.content(dead_letter.row) is not None
    await world.apply(world.writer.change("f", {**POISON, "noise": NOISE + "!"}))
    assert await dead_letters.content(dead_letter.row) is None


async def test_a_dead_letter_that_comes_too_late_leaves_no_blob(world: World) -> None:
    """There is one of a newer version."""
    older, newer = (world.writer.change("f", {**POISON, "noise": NOISE + end}) for end in "!?")
    dead_letters = dead_letter_store_of(world)
    await dead_letters.put(dead_letter_of(newer, "by-age", "wrongType", "It does not fit."))
    await dead_letters.put(dead_letter_of(older, "by-age", "wrongType", "It does not fit."))
    assert len(world.blobs.contents) == 1
    assert [dead_letter.version for dead_letter in await dead_letters_of(world)] == [newer.version]
