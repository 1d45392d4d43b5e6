"""Lookups against brute force over the facts: all types and orders, folds, nulls, lists of values, ranges, filters,
shards, accounts, periods, long keys, pages, updates."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.inputs.page_tokens import PageTokens
from shared.lookup.count import count_entries
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.calls import Query
from shared.tables.memory.memory_tables import MemoryTables
from tests.contract.tables.table_services import key_client
from tests.worlds import lookup_worlds as worlds
from tests.worlds.lookup_worlds import PAGES_MAX, World

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.lookups import LookupPage
    from shared.lookup.reading.results import FoundEntry
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Tables
    from tests.worlds.lookup_worlds import Asked

    Pause = Callable[[], Awaitable[None]]

T = TypeVar("T")

LOOKUPS_PER_WORLD = 12


class OneGeneration:
    """The generation of a made-up index."""

    def __init__(self, generation: ReadableGeneration) -> None:
        self._generation = generation

    async def serving(self, index: str) -> ReadableGeneration:
        """Always the one."""
        return self._generation

    async def still_there(self, index: str, generation: str) -> ReadableGeneration | None:
        """The one, by its id."""
        return self._generation if generation == self._generation.id else None

    def owed_since(self, generation: str) -> dict[str, int]:
        """No account was down."""
        return {}


class ShortPages:
    """Azure's right to answer any query with fewer rows than asked for, or none, and a continuation."""

    def __init__(self, limits: list[int]) -> None:
        self._limits = limits
        self._asked = 0

    async def carry(self, call: Call[T], store: Store) -> T:
        """Every query gets the next of the limits."""
        query: object = call
        if not isinstance(query, Query) or not self._limits:
            return call.perform(store)
        self._asked += 1
        limit = self._limits[self._asked % len(self._limits)]
        # Not two empty pages in a row: the range must go on.
        least = 0 if query.continuation is None else 1
        short = replace(query, limit=min(max(least, limit), query.limit or limit))
        return cast("T", short.perform(store))


async def all_pages(lookups: Lookups, parameters: dict[str, str], pause: Pause) -> list[FoundEntry]:
    """Every entry of a lookup, page by page, with a pause between pages."""
    entries: list[FoundEntry] = []
    asked: dict[str, str] | None = parameters
    for _ in range(PAGES_MAX):
        page: LookupPage = await lookups.find("by-everything", asked or {})
        assert len(page.entries) <= int(parameters["maxpagesize"])
        entries += page.entries
        asked = page.next_parameters
        if asked is None:
            return entries
        await pause()
    raise AssertionError("the lookup does not end")


def build_world(data: st.DataObject) -> tuple[World, list[Any], dict[str, Any]]:
    """A world whose facts went through some changes, and all writes of them in order."""
    index = data.draw(worlds.indexes())
    values = data.draw(st.composite(worlds.pools)(index))
    world = World(data.draw(worlds.layouts(index, values)))
    operations: list[Any] = []
    for number in range(data.draw(st.integers(1, 14))):
        for _ in range(data.draw(st.sampled_from([1, 1, 2, 3]))):
            document = data.draw(worlds.documents(index, values))
            operations += world.change(f"f{number}", document, tidy=data.draw(st.booleans()))
        if data.draw(st.integers(0, 5)) == 0:
            operations += world.change(f"f{number}", None, tidy=data.draw(st.booleans()))
    return world, operations, values


async def check_world(tables: Tables, data: st.DataObject) -> None:
    """Some lookups of one world, each read to its end and compared; in some, facts change between the pages."""
    world, operations, values = build_world(data)
    table = f"t{uuid.uuid4().hex}"
    world.generation = replace(world.generation, table=table)
    accounts: dict[str, Tables] = {DEFAULT_ACCOUNT: tables, worlds.OTHER_ACCOUNT: MemoryTables()}
    await worlds.write(accounts, world.generation, operations)
    lookups = Lookups(
        OneGeneration(world.generation),
        Replicas(tables),
        PageTokens(b"key"),
        placed={worlds.OTHER_ACCOUNT: Replicas(accounts[worlds.OTHER_ACCOUNT])},
        now_seconds=lambda: worlds.NOW_SECONDS,
    )
    for _ in range(LOOKUPS_PER_WORLD):
        asked = data.draw(worlds.lookups(world.index, values))
        parameters = {**asked.parameters(), "maxpagesize": str(data.draw(st.integers(1, 7)))}
        before = world.expected(asked)
        touched: set[str] = set()
        conditions = {name: text for name, text in parameters.items() if name not in ("maxpagesize", "filter")}
        counted = await count_entries(lookups, "by-everything", conditions)
        assert (counted.count, counted.is_exact) == (len(world.expected(replace(asked, above=None))), True)

        async def pause(touched: set[str] = touched, asked: Asked = asked) -> None:
            """Between two pages a fact may be updated in place, or move or vanish."""
            if not world.facts or data.draw(st.integers(0, 2)):
                return
            fact_id = data.draw(st.sampled_from(sorted(world.facts)))
            document: dict[str, Any] | None = {**world.facts[fact_id], "n": data.draw(st.integers(10, 19))}
            if asked.above is not None or data.draw(st.integers(0, 3)) == 0:
                touched.add(fact_id)
            if fact_id in touched:
                document = data.draw(st.none() | worlds.documents(world.index, values))
            changes = world.change(fact_id, document, tidy=data.draw(st.booleans()))
            await worlds.write(accounts, world.generation, changes)

        found = await all_pages(lookups, parameters, pause)
        kept = [(entry["id"], entry["key"]) for entry in found if entry["id"] not in touched]
        wanted = [(fact_id, key) for fact_id, key in before if fact_id not in touched]
        assert [fact_id for fact_id, _ in kept] == [fact_id for fact_id, _ in wanted], parameters
        assert all(
            worlds.same_values(world.index, shown, key) for (_, shown), (_, key) in zip(kept, wanted, strict=True)
        )
        keys = [repr((entry["id"], sorted(entry["key"].items(), key=repr))) for entry in found]
        assert len(set(keys)) == len(keys), "an entry came twice"


async def check_world_on_azurite(connection: str, data: st.DataObject) -> None:
    """The same with the wire client."""
    async with key_client(connection) as tables:
        await check_world(tables, data)


@settings(max_examples=60)
@given(data=st.data())
def test_lookups_on_azurite_answer_as_brute_force_does(azurite: str, data: st.DataObject) -> None:
    """Every page of every lookup, on a real Table service: nothing missing, nothing twice, in order."""
    asyncio.run(check_world_on_azurite(azurite, data))


@settings(max_examples=200)
@given(data=st.data(), limits=st.lists(st.integers(0, 3), max_size=5))
def test_lookups_on_short_and_empty_pages_answer_as_brute_force_does(data: st.DataObject, limits: list[int]) -> None:
    """Azure may end a page anywhere, also before its first row."""
    asyncio.run(check_world(MemoryTables(carrier=ShortPages(limits)), data))


@pytest.mark.long
@settings(max_examples=1000)
@given(data=st.data())
def test_many_more_lookups_on_azurite_answer_as_brute_force_does(azurite: str, data: st.DataObject) -> None:
    """The same, longer."""
    asyncio.run(check_world_on_azurite(azurite, data))
