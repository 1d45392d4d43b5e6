"""A world whose entries expire in tables per month, at a time of the test's choice, and lookups in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shared.catalog.period_tables import tables_of
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from tests.worlds.world import World

if TYPE_CHECKING:
    from shared.tables.port import Tables

TEXT = """
version: 1
sources:
  SOURCE: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town:
    {source: SOURCE, partition: town, sort: name, project: [phone], expire: {path: until, after: 30d, tables: month}}
"""


async def new_world(service: Tables, text: str = TEXT) -> World:
    """The same with other definitions."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, text.replace("SOURCE", source), source)
    await world.create_tables()
    return world


def person(until: str | None, name: str = "n", town: str = "X") -> dict[str, Any]:
    """A person whose entry expires thirty days after a time."""
    return {"town": town, "name": name, "phone": "1", "until": until}


async def periods(world: World) -> list[str]:
    """The periods that have a table."""
    (generation,) = world.plan.generations
    return [period.start for period in await tables_of(world.accounts, generation)]


def lookups(world: World, own_writes: Any = None) -> Lookups:
    """Lookups at the world's time."""
    generations = DefinedGenerations(world.definitions)
    clock = lambda: world.now_seconds  # noqa: E731 - read when it is asked
    return Lookups(generations, Replicas(world.tables), PageTokens(b"key"), now_seconds=clock, own_writes=own_writes)


async def found(world: World, town: str = "X", size: int = 100) -> list[str]:
    """The ids that a lookup shows, page by page."""
    asked: dict[str, str] | None = {"town": town, "maxpagesize": str(size)}
    ids = []
    reader = lookups(world)
    while asked is not None:
        page = await reader.find("by-town", asked)
        ids += [entry["id"] for entry in page.entries]
        asked = page.next_parameters
    return ids


def at(world: World, text: str) -> None:
    """Let it be this time."""
    world.now_seconds = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
