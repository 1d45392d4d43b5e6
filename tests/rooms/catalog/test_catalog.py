"""The catalog: which generations the changes of a source are written to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from shared.catalog.catalog import Catalog
from shared.catalog.plans import source_plans
from shared.catalog.register import DefinitionRegistrar
from shared.catalog.rows import ServingRow, VerifiedMark, write_source
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.ledger.scan import has_rows
from tests.worlds.world import TOWNS, World, definitions_of

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogGeneration
    from shared.definitions.model import Source
    from shared.entries.projection.generations import SourcePlan
    from shared.tables.port import Tables

OTHER = """
  {index}: {{source: {source}, partition: name, project: [phone]}}
"""


class Catalogued(World):
    """A world whose plan comes from the catalog."""

    def __init__(self, service: Tables) -> None:
        source = f"p{uuid4().hex[:12]}"
        self.text = TOWNS.replace("people", source)
        self.index = f"by-town-{source}"
        self.text = self.text.replace("by-town", self.index)
        super().__init__(service, self.text, source)
        self.catalog = Catalog(service)

    async def learn(self, text: str, *, has_moved_on: bool = False) -> SourcePlan:
        """The plan of a worker that starts with these definitions."""

        async def moved_on(source: Source) -> bool:
            assert source.name == self.plan.source
            return has_moved_on

        definitions = definitions_of(text)
        has_facts = partial(has_rows, self.tables, AtOnce())
        registrar = DefinitionRegistrar(self.catalog, 100, has_facts, moved_on)
        return source_plans(await registrar.register(definitions, self.now_seconds), definitions)[self.plan.source]

    async def states(self) -> list[str]:
        """The states of the source's generations."""
        return [generation.state for generation in await self.entered()]

    async def entered(self) -> list[CatalogGeneration]:
        """The source's generations."""
        return [
            generation
            for generation in (await self.catalog.read()).generations
            if generation.source == self.plan.source
        ]


@pytest.fixture
async def world(service: Tables) -> Catalogued:
    """A source that the catalog has not seen."""
    world = Catalogued(service)
    await world.create_tables()
    return world


async def test_a_first_definition_serves_at_once(world: Catalogued) -> None:
    """There are no facts that it could have missed. A second start finds it."""
    assert [generation.id for generation in (await world.learn(world.text)).generations] == [
        world.plan.generations[0].id
    ]
    assert (await world.learn(world.text)).generations == world.plan.generations
    assert await world.states() == ["serving"]


async def test_a_first_definition_is_building_when_the_feed_has_moved_on(world: Catalogued) -> None:
    """The tables are new, or were emptied, and what came before does not come again."""
    await world.learn(world.text, has_moved_on=True)
    assert await world.states() == ["building"]


async def test_an_empty_ledger_is_not_believed_when_the_feed_has_moved_on(world: Catalogued) -> None:
    """Retention forgets facts whose entries have all expired: the facts are still in their container."""
    await world.learn(world.text)
    await world.learn(world.text.replace(world.index, world.index + "-2"), has_moved_on=True)
    assert sorted(await world.states()) == ["building", "serving"]


async def test_a_definition_on_a_source_with_facts_is_building(world: Catalogued) -> None:
    """And is written to beside the serving generation, each by its own definition."""
    await world.learn(world.text)
    await world.apply(world.writer.change("a", {"town": "X", "name": "n"}))
    plan = await world.learn(world.text.replace("sort: name", "sort: phone"))
    assert sorted(await world.states()) == ["building", "serving"]
    assert {generation.index.sort[0].path for generation in plan.generations} == {"name", "phone"}


async def test_a_build_starts_when_every_worker_is_known_to_write(world: Catalogued) -> None:
    """A fixed moment: when the generation was entered, and the delay."""
    await world.learn(world.text)
    await world.apply(world.writer.change("a", {"town": "X", "name": "n"}))
    await world.learn(world.text.replace("sort: name", "sort: phone"))
    world.now_seconds += 50
    await world.learn(world.text.replace("sort: name", "sort: phone"))
    (building,) = [generation for generation in await world.entered() if generation.state == "building"]
    assert building.starts_at == building.entered_at + 100 == world.now_seconds - 50 + 100


async def test_a_generation_whose_index_is_gone_is_kept(world: Catalogued) -> None:
    """Until it is retired: another deployment may have it in its file still, and the file may come back."""
    await world.learn(world.text)
    plan = await world.learn(world.text.replace(world.index, world.index + "-2"))
    assert {generation.index.name for generation in plan.generations} == {world.index, world.index + "-2"}
    assert plan.retired == frozenset()


async def test_a_retired_generation_that_comes_back_has_another_name(world: Catalogued) -> None:
    """Names of tables are never reused, and old ledger parts are not taken for new ones."""
    (before,) = (await world.learn(world.text)).generations
    await world.catalog.change(before.id, lambda generation: replace(generation, state="retired"))
    plan = await world.learn(world.text)
    assert plan.retired == frozenset([before.id])
    assert [(generation.id, generation.table) for generation in plan.generations] == [
        (before.id + "r2", before.table + "r2")
    ]


async def test_the_number_of_buckets_is_fixed_when_a_source_is_first_seen(world: Catalogued) -> None:
    """A ledger row must be found where it was written."""
    await world.catalog.create()
    await world.catalog.write(write_source(world.plan.source, 4))
    assert (await world.learn(world.text)).buckets == 4


async def test_the_first_index_of_a_source_that_had_none_is_building(world: Catalogued) -> None:
    """Its trigger has been there: changes came, were written nowhere, and do not come again."""
    head, _, _ = world.text.partition("indexes:")
    assert (await world.learn(head + "indexes: {}")).generations == ()
    await world.learn(world.text)
    assert await world.states() == ["building"]
    await world.learn(world.text + OTHER.format(index=f"{world.index}-2", source=world.plan.source))
    assert await world.states() == ["building", "building"]


async def test_a_second_index_of_a_source_without_facts_serves_at_once(world: Catalogued) -> None:
    """The first one would have left ledger rows of whatever came."""
    await world.learn(world.text)
    await world.learn(world.text + OTHER.format(index=f"{world.index}-2", source=world.plan.source))
    assert await world.states() == ["serving", "serving"]


async def test_a_definition_may_be_long(world: Catalogued) -> None:
    """Of a placement by list every value is named: more than one property of a row takes."""
    listed = ", ".join(f"town number {number}: INDEX_STORAGE" for number in range(2000))
    text = world.text.replace(
        "sort: name", f"sort: name, placement: {{by: list, default: INDEX_STORAGE, map: {{{listed}}}}}"
    )
    (generation,) = (await world.learn(text)).generations
    assert generation.index == definitions_of(text).indexes[world.index]


async def test_of_two_that_start_together_one_definition_serves(world: Catalogued) -> None:
    """The other one is built, whichever comes first: there is one row that says what serves."""
    other = world.text.replace("sort: name", "sort: phone")
    await asyncio.gather(world.learn(world.text), world.learn(other))
    assert sorted(await world.states()) == ["building", "serving"]


async def test_a_row_that_changed_meanwhile_is_not_overwritten(world: Catalogued) -> None:
    """Neither alone nor together with others."""
    await world.learn(world.text)
    (seen,) = await world.entered()
    served = (await world.catalog.read()).served[world.index]
    await world.catalog.note_verified(seen.id, 0, 7)
    assert not await world.catalog.write(replace(served, since=9.0), replace(seen, state="retired"))
    (now,) = await world.entered()
    assert (now.state, now.verified) == ("serving", VerifiedMark(7, 0))
    assert (await world.catalog.read()).served[world.index].since == 0


def test_until_its_moment_a_switch_changes_nothing() -> None:
    """All readers have read the row by then."""
    served = ServingRow("i", "new", "old", 100.0)
    assert (served.generation_at(99.9), served.generation_at(100.0)) == ("old", "new")
