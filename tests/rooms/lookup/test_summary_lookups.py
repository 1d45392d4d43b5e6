"""Lookups in summaries: groups are added up over shards and lanes, page by page, as the facts are."""

from __future__ import annotations

import json
from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from shared.entries.changes.seen_version import SeenVersion
from shared.errors import BadLookupError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.count import count_entries
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.pipeline.ledger.view import LedgerView
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete, RowRange, Upsert
from tests.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town:
    source: people
    partition: country
    sort: town
    summarize: {people: facts, spent: {sum: spent}, mean: {average: spent}, least: {min: spent}, most: {max: spent}}
    shards: SHARDS
"""


async def a_world(shards: int = 1) -> World:
    """Without facts."""
    world = World(MemoryTables(), TEXT.replace("SHARDS", str(shards)))
    await world.create_tables()
    return world


def lookups_of(world: World) -> Lookups:
    """Lookups of an application."""
    return Lookups(DefinedGenerations(world.definitions), Replicas(world.tables), PageTokens(b"k" * 32))


async def everything(world: World, parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """The groups of all pages."""
    found: list[Any] = []
    asked: dict[str, str] | None = dict(parameters)
    while asked is not None:
        page = await lookups_of(world).find("by-town", asked)
        assert len(page.entries) <= int(parameters.get("maxpagesize", "100"))
        found += page.entries
        asked = page.next_parameters
    return found


async def test_a_group_has_its_key_and_its_measures_and_nothing_of_a_fact() -> None:
    """A value that is missing counts in no sum and no mean."""
    world = await a_world()
    people: list[dict[str, Any]] = [
        {"town": "Redmond", "spent": 0.1},
        {"town": "Redmond", "spent": 0.2},
        {"town": "Redmond"},
    ]
    changes = [world.writer.change(f"f{n}", {"country": "US", **one}) for n, one in enumerate(people)]
    await world.apply(*changes)
    data = {"people": 3, "spent": 0.3, "mean": 0.15, "least": 0.1, "most": 0.2}
    wanted = [{"key": {"country": "US", "town": "Redmond"}, "data": data}]
    assert await everything(world, {"country": "US", "town": "Redmond"}) == wanted
    assert await everything(world, {"country": "US"}) == wanted
    assert await everything(world, {"country": "DE"}) == []


async def test_a_group_whose_values_are_all_missing_has_a_sum_of_zero_and_no_mean() -> None:
    """Null says that there is nothing to average."""
    world = await a_world()
    await world.apply(world.writer.change("f", {"country": "US", "town": "A", "spent": None}))
    (group,) = await everything(world, {"country": "US"})
    assert group["data"] == {"people": 1, "spent": 0, "mean": None, "least": None, "most": None}


async def test_a_group_without_facts_is_not_shown() -> None:
    """The last one has left."""
    world = await a_world()
    await world.apply(world.writer.change("f", {"country": "US", "town": "A", "spent": 1}))
    await world.apply(world.writer.change("f", {"country": "US", "town": "B", "spent": 1}))
    assert [group["key"]["town"] for group in await everything(world, {"country": "US"})] == ["B"]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("size", ["1", "2", "100"])
async def test_pages_add_up_shards_and_lanes(shards: int, size: str) -> None:
    """Two workers that met in every group have left facts in several lanes: pages show each group once."""
    world = await a_world(shards)
    random = Random(shards)
    other = World(world.tables, TEXT.replace("SHARDS", str(shards)))
    wanted: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number in range(60):
        country, town, spent = random.choice(["DE", "US"]), random.choice("ABCDEFG"), random.randrange(100)
        wanted[country, town].append(spent)
        change = world.writer.change(f"f{number}", {"country": country, "town": town, "spent": spent})
        await random.choice([world, other]).apply(change)
    table = world.plan.generations[0].table
    partitions = ["DE !", "US !"] if shards == 1 else [f"{n:03d} {c} !" for n in range(3) for c in ("DE", "US")]
    rows = [row for p in partitions for row in (await world.tables.query(table, RowRange(p, "0", "1"))).rows]
    assert len({str(row.entity["RowKey"])[-1] for row in rows}) > 1
    found = await everything(world, {"country.in": json.dumps(["DE", "US"]), "maxpagesize": size})
    shown = [(group["key"]["country"], group["key"]["town"], group["data"]) for group in found]
    assert [(town, country) for country, town, _ in shown] == sorted((town, country) for country, town in wanted)
    counted = await count_entries(lookups_of(world), "by-town", {"country.in": json.dumps(["DE", "US"])})
    assert (counted.count, counted.is_exact) == (len(wanted), True)
    for country, town, data in shown:
        values = wanted[country, town]
        assert (data["people"], data["spent"], data["least"], data["most"]) == (
            len(values), sum(values), min(values), max(values),
        )  # fmt: skip


async def test_ranges_fields_and_filters_work_as_for_any_index() -> None:
    """A range on the sort parts, the measures that are wanted, and a condition on them."""
    world = await a_world()
    people = [{"country": "US", "town": "ABCD"[number % 4], "spent": number} for number in range(10)]
    await world.apply(*[world.writer.change(f"f{number}", one) for number, one in enumerate(people)])
    found = await everything(
        world, {"country": "US", "town.ge": "B", "select": "people", "filter": "data.people > `2`"}
    )
    assert found == [{"key": {"country": "US", "town": "B"}, "data": {"people": 3}}]


async def test_what_a_group_does_not_have_is_refused() -> None:
    """A fact, and a measure of another name."""
    world = await a_world()
    with pytest.raises(BadLookupError) as raised:
        await lookups_of(world).find("by-town", {"country": "US", "expand": "fact", "select": "phone"})
    assert {fault.code for fault in raised.value.faults} == {"ExpandNotPossible", "UnknownField"}


async def test_a_filter_that_fails_on_a_group_names_the_group() -> None:
    """A group is no fact."""
    world = await a_world()
    await world.apply(world.writer.change("f", {"country": "US", "town": "A", "spent": 1}))
    with pytest.raises(BadLookupError, match=r"""on the group '\{"country":"US","town":"A"\}':"""):
        await lookups_of(world).find("by-town", {"country": "US", "filter": "length(data.people)"})


async def test_the_etag_of_a_page_follows_its_totals() -> None:
    """And nothing else."""
    world = await a_world()
    lookups = lookups_of(world)
    await world.apply(world.writer.change("f", {"country": "US", "town": "A", "spent": 1}))
    first = (await lookups.find("by-town", {"country": "US"})).etag
    await world.apply(world.writer.change("g", {"country": "DE", "town": "A", "spent": 1}))
    assert (await lookups.find("by-town", {"country": "US"})).etag == first
    await world.apply(world.writer.change("g", {"country": "US", "town": "A", "spent": 1}))
    assert (await lookups.find("by-town", {"country": "US"})).etag != first


async def test_extremes_that_no_writer_could_keep_are_found_by_the_reader() -> None:
    """It reads the contributions of the group."""
    world = await a_world()
    values = [3, 9, 4]
    people = [{"country": "US", "town": "A", "spent": value} for value in values]
    await world.apply(*[world.writer.change(f"f{number}", one) for number, one in enumerate(people)])
    table = world.plan.generations[0].table
    row = await world.tables.get(table, "US !", "0A !0")
    assert row is not None
    plain = orjson.loads(str(row.entity["_json"]))
    plain["of"]["spent"][2:] = [[[], False], [[], False]]
    await world.tables.transact(table, [Upsert({**row.entity, "_json": orjson.dumps(plain).decode()})])
    (group,) = await everything(world, {"country": "US"})
    assert (group["data"]["least"], group["data"]["most"]) == (3, 9)


async def test_a_change_is_seen_when_all_its_contributions_are_written() -> None:
    """A claim alone is not enough: neither for the group that a fact comes to, nor for the one that it leaves."""
    world = await a_world()
    (generation,) = world.plan.generations
    view = LedgerView(world_plans(world), world.accounts, lambda: world.now_seconds)
    first = world.writer.change("f", {"country": "US", "town": "A", "spent": 1})
    second = world.writer.change("f", {"country": "DE", "town": "A", "spent": 1})

    async def is_seen(change: Change) -> bool:
        seen = SeenVersion(change.fact_key, etag=change.source_etag, ts_seconds=None)
        return await view.has_applied("people", generation.id, seen)

    assert not await is_seen(first)
    await world.apply(first)
    assert await is_seen(first) and not await is_seen(second)
    before = await world.rows("by-town", "US !")
    await world.apply(second)
    assert await is_seen(second)
    after = await world.rows("by-town", "DE !")
    # As if the worker had died after its first wave.
    await world.tables.transact(generation.table, [Upsert(row) for row in before])
    assert not await is_seen(second)
    # And as if it had died before.
    gone = [Delete("DE !", str(row["RowKey"])) for row in after]
    await world.tables.transact(generation.table, gone)
    world.restart()
    await world.apply(second)
    assert await is_seen(second)
    await world.tables.transact(generation.table, gone)
    assert not await is_seen(second)


def world_plans(world: World) -> Callable[[], Awaitable[dict[str, SourcePlan]]]:
    """What is written to."""

    async def plans() -> dict[str, SourcePlan]:
        return {"people": world.plan}

    return plans


async def test_explain_reads_totals_alone() -> None:
    """A group is one storage transaction, times its shards."""
    world = await a_world(4)
    explained = await lookups_of(world).explain("by-town", {"country": "US", "town": "A"})
    assert explained["storageTransactionsPerPage"] == 4
    assert explained["rowKeys"]["from"].startswith("0A")
