"""The Python client against a local run: lookups, pages, batches, counts, own writes, with and without await."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient

from index_tables import AsyncIndexTables, IndexTables, Page, ProblemError, seen
from tests.clients.conftest import IN_REDMOND, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.clients.conftest import ClientRun

NAMES = sorted((each["lastName"], each["firstName"]) for each in IN_REDMOND)
BY_TOWN = "customers-by-town"


@pytest.fixture
def tables(client_run: ClientRun) -> Iterator[IndexTables]:
    """A client with the key of the run."""
    with IndexTables(client_run.url, key=client_run.key) as found:
        yield found


@pytest.fixture
def container(client_run: ClientRun) -> Iterator[Any]:
    """The customers in Cosmos DB."""
    with CosmosClient(client_run.cosmos["endpoint"], client_run.cosmos["key"]) as client:
        yield client.get_database_client("shop").get_container_client("customers")


def test_find_gives_the_entries_of_all_pages_in_order(tables: IndexTables) -> None:
    """However small the pages are."""
    found = [
        (each.key["lastName"], each.key["firstName"])
        for each in tables.index(BY_TOWN).find(town="Redmond", page_size=5)
    ]
    assert found == NAMES


def test_an_operator_is_written_with_two_underscores(tables: IndexTables) -> None:
    """As `lastName.ge` on the wire, which a mapping may have as well."""
    index = tables.index(BY_TOWN)
    middle = NAMES[len(NAMES) // 2][0]
    by_keyword = [each.id for each in index.find(town="Redmond", lastName__ge=middle)]
    assert len(by_keyword) == sum(name >= middle for name, _ in NAMES)
    assert [each.id for each in index.find({"town": "Redmond", "lastName.ge": middle})] == by_keyword


def test_a_list_asks_for_any_of_its_values(tables: IndexTables) -> None:
    """Merged in order."""
    entries = list(tables.index(BY_TOWN).find(town=["Redmond", "Tacoma"], select=["phone"]))
    assert len(entries) == sum(each.get("town") in {"Redmond", "Tacoma"} for each in samples("customers"))
    assert {each.key["town"] for each in entries} == {"Redmond", "Tacoma"}
    assert {name for each in entries for name in each.data} <= {"phone"}


def test_an_entry_has_what_the_index_projects_and_where_its_fact_is(tables: IndexTables) -> None:
    """And with `expand` the fact itself."""
    entry = tables.index(BY_TOWN).page(town="Redmond", expand="fact", page_size=1).entries[0]
    (customer,) = [each for each in IN_REDMOND if each["id"] == entry.id]
    assert entry.data == {name: customer[name] for name in ("phone", "email") if name in customer}
    assert (entry.partition_key, entry.version != "") == (customer["customerId"], True)
    assert entry.fact is not None
    assert entry.fact["town"] == "Redmond"


def test_a_page_that_has_not_changed_is_the_same_object(tables: IndexTables) -> None:
    """By its ETag."""
    index = tables.index(BY_TOWN)
    page = index.page(town="Redmond", page_size=3)
    assert page.etag is not None
    assert index.refresh(page) is page


def test_a_count_and_an_explanation(tables: IndexTables) -> None:
    """Neither reads entries."""
    index = tables.index(BY_TOWN)
    counted = index.count(town="Redmond")
    assert (counted, counted.is_exact) == (len(IN_REDMOND), True)
    assert index.explain(town="Redmond")["access"] == "partition"


def test_many_lookups_are_answered_in_the_order_asked(tables: IndexTables) -> None:
    """Also more than one call takes; one that is wrong has its problem, and the others their page."""
    index = tables.index(BY_TOWN)
    answers = index.get_many([{"town": "Redmond"}, {"lastName": "x"}, *[{"town": "nowhere"}] * 120], page_size=2)
    assert len(answers) == 122
    first, wrong, *others = answers
    assert isinstance(first, Page)
    assert isinstance(wrong, ProblemError)
    assert (len(first), wrong.code) == (2, "MissingPartitionPart")
    assert [len(each) for each in others if isinstance(each, Page)] == [0] * 120
    assert [page.entries[0].key["lastName"] for page in [index.next_page(first)] if page] == [NAMES[2][0]]


def test_a_page_of_many_lookups_can_be_asked_for_again(tables: IndexTables) -> None:
    """It has no ETag of its own, so it comes anew."""
    index = tables.index(BY_TOWN)
    (page,) = index.get_many([{"town": "Redmond"}], page_size=2)
    assert isinstance(page, Page)
    assert index.refresh(page).entries == page.entries


def test_a_problem_is_an_error_with_its_code_and_suggestion(tables: IndexTables) -> None:
    """As docs/http-api.md lists them."""
    with pytest.raises(ProblemError, match="Tables are never scanned") as raised:
        tables.index(BY_TOWN).page(lastName="Smith")
    problem = raised.value
    assert (problem.status, problem.code) == (400, "MissingPartitionPart")
    assert problem.suggestion is not None
    assert problem.suggestion.index == "customers-by-name"


def test_a_wrong_key_is_a_problem_although_the_answer_is_empty(client_run: ClientRun) -> None:
    """The platform refuses it."""
    with IndexTables(client_run.url, key="wrong") as tables, pytest.raises(ProblemError) as raised:
        tables.indexes()
    assert (raised.value.status, raised.value.code) == (401, "Unauthorized")


def test_a_lookup_sees_what_cosmos_db_has_answered(tables: IndexTables, container: Any) -> None:
    """The client knows from the app where the partition key is."""
    index = tables.index(BY_TOWN)
    for phone in ("555-1", "555-2"):
        item = container.upsert_item(
            {"id": "own", "customerId": "own", "town": "Ownville", "lastName": "O", "firstName": "W", "phone": phone}
        )
        assert [each.data["phone"] for each in index.find(town="Ownville", sees=item)] == [phone]
    assert index.count(town="Ownville", sees=seen(item, "own")) == 1


def test_a_summary_has_groups(tables: IndexTables) -> None:
    """With a key and measures."""
    customer = samples("orders")[0]["customer"]["id"]
    groups = list(tables.index("order-totals").find(customer=customer))
    orders = sum(group.data["orders"] for group in groups)
    assert orders == sum(each["customer"]["id"] == customer for each in samples("orders"))
    assert {group.id for group in groups} == {""}


async def test_all_of_it_can_be_awaited(client_run: ClientRun) -> None:
    """With the same calls and answers."""
    async with AsyncIndexTables(client_run.url, key=client_run.key) as tables:
        index = tables.index(BY_TOWN)
        found = [each.key["lastName"] async for each in index.find(town="Redmond", page_size=5)]
        assert found == [name for name, _ in NAMES]
        page = await index.page(town="Redmond", page_size=3)
        assert await index.refresh(page) is page
        following = await index.next_page(page)
        assert following is not None
        assert following.entries[0].key["lastName"] == NAMES[3][0]
        (many,) = await index.get_many([{"town": "Redmond"}])
        assert isinstance(many, Page)
        assert await index.count(town="Redmond") == len(many)
        assert (await index.explain(town="Redmond"))["index"] == BY_TOWN
        assert BY_TOWN in [each["name"] for each in await tables.indexes()]
        with pytest.raises(ProblemError):
            await index.page(lastName="Smith")
