"""An answer from an account that was down says that it is behind, and since when."""

from __future__ import annotations

from shared.catalog.catalog import Catalog
from shared.catalog.owed_accounts import OwedAccount
from shared.catalog.rows import CATALOG_TABLE
from shared.lookup.generations import CatalogGenerations, generation_of
from shared.lookup.lookups import LookupPage
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.retry import Timing
from shared.web.api.entry_pages import entry_page_json
from tests.worlds.world import TOWNS, definitions_of


async def no_sleep(_: float) -> None:
    """Nothing waits here."""


async def test_the_catalog_says_which_accounts_lack_entries_of_a_generation() -> None:
    """Of this generation, and no other."""
    tables, definitions = MemoryTables(), definitions_of(TOWNS)
    await tables.create_table(CATALOG_TABLE)
    index = definitions.indexes["by-town"]
    identity = generation_of(index, definitions.sources["people"]).id
    owed = {"X": OwedAccount("X", 7, 1_700_000_000, frozenset([identity])), "Y": OwedAccount("Y", 1, 1, frozenset("g"))}
    await Catalog(tables).note_owed(owed)
    timing = Timing(lambda: 1_800_000_000.0, lambda: 0.0, no_sleep, lambda: 0.5)
    generations = CatalogGenerations(definitions, [Catalog(tables)], timing, 30)
    await generations.serving("by-town")
    assert generations.owed_since(identity) == {"X": 1_700_000_000}
    await Catalog(tables).note_owed({})
    assert (await Catalog(tables).read()).owed == {}


def test_a_page_names_the_accounts_that_are_behind() -> None:
    """With the moment from which on changes are missing."""
    page = LookupPage([], None, None, False, {"X": 1_700_000_000})
    content = entry_page_json(page, "http://h/api/indexes/by-town/entries?town=A")
    assert dict(content) == {"value": [], "behind": [{"account": "X", "since": "2023-11-14T22:13:20Z"}]}
