"""Ledger rows of deleted facts are forgotten after their time, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from shared.pipeline.retention import Retention
from tests.pipeline.world import TOWNS, World

if TYPE_CHECKING:
    from shared.tables.port import Tables

DAY_SECONDS = 86_400
RETENTION_SECONDS = 30 * DAY_SECONDS


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own, with a living, a filtered-out and a deleted fact."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TOWNS.replace("people", source), source)
    await world.create_tables()
    change = world.writer.change
    person = {"town": "X", "name": "n"}
    await world.apply(change("living", person), change("filtered", {"name": "n"}), change("deleted", person))
    await world.apply(change("deleted", None))
    return world


async def clean_for_a_day(world: World) -> int:
    """Every hour once."""
    forgotten = 0
    for _ in range(24):
        world.now_seconds += 3600
        retention = Retention(world.tables, RETENTION_SECONDS, lambda: world.now_seconds)
        forgotten += await retention.clean([world.plan])
    return forgotten


async def facts(world: World) -> set[str]:
    """The facts that the ledger remembers."""
    return {row["RowKey"].split(" ")[0] for row in await world.ledger_rows()}


async def test_a_deleted_fact_is_remembered_for_the_retention(world: World) -> None:
    """A late change must not bring it back."""
    world.now_seconds += RETENTION_SECONDS - 2 * DAY_SECONDS
    assert await clean_for_a_day(world) == 0
    assert await facts(world) == {"living", "filtered", "deleted"}


async def test_a_deleted_fact_is_forgotten_after_the_retention(world: World) -> None:
    """Facts that live or are filtered out stay, however old they are."""
    world.now_seconds += RETENTION_SECONDS
    assert await clean_for_a_day(world) == 1
    assert await facts(world) == {"living", "filtered"}


async def test_a_fact_that_came_back_stays(world: World) -> None:
    """Its ledger row says no time of deletion any more."""
    await world.apply(world.writer.change("deleted", {"town": "X", "name": "n"}))
    world.now_seconds += RETENTION_SECONDS
    assert await clean_for_a_day(world) == 0
