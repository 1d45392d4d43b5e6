"""The catalog: which generations the changes of a source are written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.pipeline.catalog import CATALOG_TABLE, Catalog
from shared.pipeline.concurrency import Bounded
from shared.tables.port import RowRange, Upsert
from tests.pipeline.world import TOWNS, World, definitions_of

if TYPE_CHECKING:
    from shared.pipeline.generations import SourcePlan
    from shared.tables.port import Tables


class Catalogued(World):
    """A world whose plan comes from the catalog."""

    def __init__(self, service: Tables) -> None:
        source = f"p{uuid4().hex[:12]}"
        self.text = TOWNS.replace("people", source)
        super().__init__(service, self.text, source)

    async def learn(self, text: str) -> SourcePlan:
        """The plan of a worker that starts with these definitions."""
        catalog = Catalog(self.tables, Bounded())
        return (await catalog.plans(definitions_of(text)))[self.plan.source]

    async def states(self) -> list[str]:
        """The states of the source's generations."""
        return [row["state"] for row in await self.entered()]

    async def entered(self) -> list[dict[str, Any]]:
        """The source's generations, as stored."""
        page = await self.tables.query(CATALOG_TABLE, RowRange("generation"))
        return [row.entity for row in page.rows if row.entity["source"] == self.plan.source]


@pytest.fixture
async def world(service: Tables) -> Catalogued:
    """A source that the catalog has not seen."""
    world = Catalogued(service)
    await world.create_tables()
    return world


async def test_a_first_definition_is_active_at_once(world: Catalogued) -> None:
    """There are no facts that it could have missed. A second start finds it."""
    assert [one.id for one in (await world.learn(world.text)).generations] == [world.plan.generations[0].id]
    assert (await world.learn(world.text)).generations == world.plan.generations
    assert await world.states() == ["active"]


async def test_a_definition_on_a_source_with_facts_is_building(world: Catalogued) -> None:
    """And is written to beside the active generation, each by its own definition."""
    await world.learn(world.text)
    await world.apply(world.writer.change("a", {"town": "X", "name": "n"}))
    plan = await world.learn(world.text.replace("sort: name", "sort: phone"))
    assert sorted(await world.states()) == ["active", "building"]
    assert {one.index.sort[0].path for one in plan.generations} == {"name", "phone"}


async def test_a_generation_whose_index_is_gone_is_left_alone(world: Catalogued) -> None:
    """Its part is carried over; nothing is written to it."""
    await world.learn(world.text)
    plan = await world.learn(world.text.replace("by-town", "by-place"))
    assert [one.index.name for one in plan.generations] == ["by-place"]
    assert plan.retired == frozenset()


async def test_a_retired_generation_that_comes_back_has_another_name(world: Catalogued) -> None:
    """Names of tables are never reused, and old ledger parts are not taken for new ones."""
    (before,) = (await world.learn(world.text)).generations
    (row,) = await world.entered()
    await world.tables.transact(CATALOG_TABLE, [Upsert({**row, "state": "retired"})])
    plan = await world.learn(world.text)
    assert plan.retired == frozenset([before.id])
    assert [(one.id, one.table) for one in plan.generations] == [(before.id + "r2", before.table + "r2")]


async def test_the_number_of_buckets_is_fixed_when_a_source_is_first_seen(world: Catalogued) -> None:
    """A ledger row must be found where it was written."""
    await world.learn(world.text)
    page = await world.tables.query(CATALOG_TABLE, RowRange("source"))
    (row,) = [row.entity for row in page.rows if row.entity["RowKey"] == world.plan.source]
    await world.tables.transact(CATALOG_TABLE, [Upsert({**row, "buckets": 4})])
    assert (await world.learn(world.text)).buckets == 4
