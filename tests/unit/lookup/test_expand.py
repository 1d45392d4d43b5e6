"""`expand=fact`: facts are fetched once each and checked against the key that their entry stands under."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.loading.load import load
from shared.errors import BadLookupError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.lookup_facts import DEFINITIONS, facts, put_facts

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Source
    from shared.entries.keys.fact_key import FactKeyValue

MOVIES = load("""
version: 1
sources: {movies: {cosmos: {database: d, container: c}, partitionKey: genre}}
indexes:
  by-actor:
    {source: movies, each: {actor: cast}, partition: studio, sort: [actor], project: keys, where: released, shards: 3}
""").require()
MOVIE = {"id": "1", "genre": "drama", "studio": "A", "cast": ["Tom", "Meg"], "released": True}


@dataclass
class KnownFacts:
    """Facts in a dictionary, and what was asked of it."""

    documents: dict[str, dict[str, Any]]
    asked: list[str] = field(default_factory=list)

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact with this id."""
        self.asked.append(fact_id)
        return self.documents.get(fact_id)


async def lookups_of(
    definitions: Definitions, documents: dict[str, list[dict[str, Any]]], now: KnownFacts | None
) -> Lookups:
    """Lookups over entries of some documents, whose facts are now others."""
    tables = MemoryTables()
    await put_facts(tables, documents, definitions)
    return Lookups(DefinedGenerations(definitions), Replicas(tables), PageTokens(b"key"), facts=now)


@pytest.mark.parametrize(
    ("now", "actors"),
    [
        (MOVIE, ["Meg", "Tom"]),
        ({**MOVIE, "title": "new"}, ["Meg", "Tom"]),
        ({**MOVIE, "cast": ["Tom", "Ann"]}, ["Tom"]),
        ({**MOVIE, "studio": "B"}, []),
        ({**MOVIE, "released": False}, []),
        ({**MOVIE, "cast": {"no": "list"}}, []),
    ],
)
async def test_only_entries_that_the_fact_still_has_are_shown(now: dict[str, Any], actors: list[str]) -> None:
    """Each entry of a multi-valued, filtered and sharded index is judged by its own key; the fact is read once."""
    known = KnownFacts({"1": now})
    lookups = await lookups_of(MOVIES, {"movies": [MOVIE]}, known)
    page = await lookups.find("by-actor", {"studio": "A", "expand": "fact"})
    assert [entry["key"]["actor"] for entry in page.entries] == actors
    assert all(entry["fact"] == now for entry in page.entries)
    assert known.asked == ["1"]
    assert page.etag is None


async def test_a_page_of_facts_that_are_gone_is_empty_and_goes_on() -> None:
    """The next page may have some."""
    customers = facts()
    known = KnownFacts({document["id"]: document for document in customers["customers"] if document["id"] > "3"})
    lookups = await lookups_of(DEFINITIONS, customers, known)
    asked: dict[str, str] | None = {"town": "Redmond", "lastName": "Smith", "expand": "fact", "maxpagesize": "3"}
    pages = []
    while asked is not None:
        page = await lookups.find("customers-by-town", asked)
        pages.append([entry["id"] for entry in page.entries])
        asked = page.next_parameters
    assert pages == [[], ["4", "5", "6"], ["7"]]


async def test_without_facts_expand_is_refused() -> None:
    """An application that gave none gets a clear error."""
    lookups = await lookups_of(DEFINITIONS, facts(), None)
    with pytest.raises(BadLookupError) as caught:
        await lookups.find("customers-by-town", {"town": "Redmond", "expand": "fact"})
    assert [fault.code for fault in caught.value.faults] == ["ExpandNotPossible"]
