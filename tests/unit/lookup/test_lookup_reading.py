"""The reader: one storage transaction per page and shard, missing tables, rows that are not ours, the secondary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

from shared.definitions.model import CosmosContainer, Index, KeyPart, Source
from shared.entries.changes.change import FactReader
from shared.entries.keys.index_keys import row_key, split_row_key
from shared.entries.keys.versions import ticks_clock
from shared.entries.projection.projector import Projector
from shared.entries.rows.entry_row import live_row
from shared.errors import StorageUnavailableError, UnknownIndexError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations, generation_of
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.calls import Query
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Page, RowRange, Upsert
from shared.tables.wire.account import Account
from tests.worlds.lookup_facts import DEFINITIONS, facts, put_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Continuation, Entity

T = TypeVar("T")

TOKENS = PageTokens(b"key")


async def filled(tables: MemoryTables) -> Lookups:
    """Lookups over the facts of `lookup_facts`."""
    await put_facts(tables, facts())
    return Lookups(DefinedGenerations(DEFINITIONS), Replicas(tables), TOKENS)


@pytest.mark.parametrize(
    ("index", "parameters", "transactions"),
    [
        ("customers-by-town", {"town": "Redmond"}, 1),
        ("customers-by-town", {"town": "Redmond", "lastName": "Smith", "firstName": "Ann 01"}, 1),
        ("customers-by-town", {"town": "Nowhere"}, 1),
        ("customers-by-town", {"town": "Redmond", "lastName.gt": "Z", "lastName.lt": "A"}, 0),
        ("customers-by-age", {"isVip": "yes"}, 4),
    ],
)
async def test_a_page_costs_one_transaction_per_shard(
    index: str, parameters: dict[str, str], transactions: int
) -> None:
    """Each page, the first as well as those that follow."""
    tables = MemoryTables()
    lookups = await filled(tables)
    asked: dict[str, str] | None = {**parameters, "maxpagesize": "3"}
    while asked is not None:
        before = tables.counts.total()
        page = await lookups.find(index, asked)
        assert tables.counts.total() - before == transactions
        asked = page.next_parameters


async def test_a_missing_table_is_an_empty_page() -> None:
    """No fact of the index has arrived yet."""
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(MemoryTables()), TOKENS)
    for index, parameters in (("customers-by-town", {"town": "x"}), ("customers-by-age", {"isVip": "x"})):
        page = await lookups.find(index, parameters)
        assert (page.entries, page.next_parameters) == ([], None)


async def test_a_row_that_is_not_ours_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """Somebody wrote into the table by hand; the log says so, without the row's content."""
    tables = MemoryTables()
    lookups = await filled(tables)
    table = (await DefinedGenerations(DEFINITIONS).serving("customers-by-town")).table
    foreign = {"PartitionKey": "Redmond !", "RowKey": "A" * 80, "secret": "hush"}
    await tables.transact(table, [Upsert(dict(foreign))])
    page = await lookups.find("customers-by-town", {"town": "Redmond"})
    assert len(page.entries) == 8
    assert "cannot be read and is passed over" in caplog.text
    assert "hush" not in caplog.text


async def test_an_unknown_index_has_near_names() -> None:
    """The error carries them, for HTTP and for applications."""
    with pytest.raises(UnknownIndexError, match="Did you mean customers-by-town"):
        await (await filled(MemoryTables())).find("customers-by-twon", {})


async def test_an_entry_that_fell_back_to_a_reference_is_marked() -> None:
    """Its projection is over 1 MiB: the caller must fetch the fact."""
    source = Source("s", cosmos=CosmosContainer("d", "c"), partition_key=("pk",))
    index = Index("big", "s", (KeyPart("town", "town"),), project="all")
    generation = generation_of(index, source)
    clock = ticks_clock(1, 0)
    assert clock is not None
    document: dict[str, Any] = {"id": "1", "pk": "p", "town": "R", "text": "x" * 1_200_000}
    change = FactReader(source).change("1", ("p",), clock, document)
    (entry,) = Projector(index, source).project(change)
    tables = MemoryTables()
    await tables.create_table(generation.table)
    row = live_row(entry.partition_key, entry.entry_key, change.version, entry.columns)
    await tables.transact(generation.table, [Upsert(row)])
    definitions = replace(DEFINITIONS, sources={"s": source}, indexes={"big": index})
    page = await Lookups(DefinedGenerations(definitions), Replicas(tables), TOKENS).find("big", {"town": "R"})
    assert [(each["isReference"], each["data"]) for each in page.entries] == [(True, {})]


class Down:
    """An endpoint that gives no answer."""

    async def query(
        self,
        table: str,
        rows: RowRange,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """Never."""
        raise StorageUnavailableError("It is down: try again.", outcome_unknown=False)

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """Nor this."""
        raise StorageUnavailableError("It is down: try again.", outcome_unknown=False)


async def test_the_secondary_answers_when_the_primary_does_not() -> None:
    """And the page says so."""
    tables = MemoryTables()
    await put_facts(tables, facts())
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(Down(), tables), TOKENS)
    page = await lookups.find("customers-by-town", {"town": "Redmond"})
    assert (len(page.entries), page.is_secondary) == (8, True)
    page = await lookups.find("customers-by-age", {"isVip": "yes"})
    assert page.is_secondary


async def test_without_a_secondary_the_failure_is_told() -> None:
    """It is transient: the caller may try again."""
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(Down()), TOKENS)
    with pytest.raises(StorageUnavailableError):
        await lookups.find("customers-by-town", {"town": "Redmond"})


class OnlyEmptyPages(Down):
    """An endpoint that always has more, later."""

    async def query(
        self,
        table: str,
        rows: RowRange,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """Nothing, and a continuation."""
        from shared.tables.port import Continuation

        return Page((), Continuation("p", "r"))


async def test_a_service_that_gives_only_empty_pages_is_not_asked_for_ever() -> None:
    """The caller gets a transient error instead."""
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(OnlyEmptyPages()), TOKENS)
    with pytest.raises(StorageUnavailableError, match="too many empty pages"):
        await lookups.find("customers-by-town", {"town": "Redmond"})


class UpdatedMeanwhile:
    """The service ends the first page before its first row; before it goes on, the row is updated in place."""

    def __init__(self) -> None:
        self.table = ""
        self.after: list[Entity] = []

    async def carry(self, call: Call[T], store: Store) -> T:
        """Shorten the first query, and write before the second."""
        query: object = call
        if isinstance(query, Query) and self.after and query.continuation is None:
            return cast("T", replace(query, limit=0).perform(store))
        if isinstance(query, Query) and self.after:
            old, new = self.after
            self.after = []
            store.put((self.table, str(new["PartitionKey"]), str(new["RowKey"])), new)
            store.put((self.table, str(old["PartitionKey"]), str(old["RowKey"])), None)
        return call.perform(store)


async def test_a_row_updated_behind_an_empty_page_is_not_missed() -> None:
    """The continuation would go on behind it: what it passed over is looked at again."""
    carrier = UpdatedMeanwhile()
    tables = MemoryTables(carrier=carrier)
    lookups = await filled(tables)
    carrier.table = (await DefinedGenerations(DEFINITIONS).serving("customers-by-town")).table
    (row, *_) = (await tables.query(carrier.table, RowRange("Redmond !"))).rows
    entry_key, version = split_row_key(str(row.entity["RowKey"]))
    newer = {**row.entity, "RowKey": row_key(entry_key, "1" + version[1:])}
    carrier.after = [row.entity, newer]
    page = await lookups.find("customers-by-town", {"town": "Redmond"})
    found = [entry["id"] for entry in page.entries]
    while page.next_parameters is not None:
        page = await lookups.find("customers-by-town", page.next_parameters)
        found += [entry["id"] for entry in page.entries]
    assert found == ["20", "1", "2", "3", "4", "5", "6", "7"]


@pytest.mark.parametrize(
    ("primary", "secondary"),
    [
        (
            "AccountName=shop;AccountKey=a2V5;EndpointSuffix=core.windows.net",
            "https://shop-secondary.table.core.windows.net",
        ),
        (
            "AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:10002/a",
            "http://127.0.0.1:10002/a-secondary",
        ),
        (
            "AccountName=a;AccountKey=a2V5;TableEndpoint=http://x.example;TableSecondaryEndpoint=http://y.example",
            "http://y.example",
        ),
    ],
)
def test_the_secondary_endpoint_follows_from_the_account(primary: str, secondary: str) -> None:
    """By Azure's naming, an emulator's, or the connection string itself; the account's name stays."""
    account = Account.from_connection_string(primary)
    assert account.secondary().endpoint == secondary
    assert account.secondary().name == account.name
