"""Queries through the synchronous SDK: scopes, pages, order, aggregates and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import exceptions

if TYPE_CHECKING:
    from azure.cosmos import ContainerProxy

TOWNS = ["Redmond", "Seattle", "Portland", "Chicago"]


@pytest.fixture
def people(container: ContainerProxy) -> ContainerProxy:
    """Twenty documents over ten partition keys."""
    for i in range(20):
        document = {"id": f"{i:02}", "pk": f"p{i % 10}", "n": i, "town": TOWNS[i % 4], "tags": [f"t{i % 3}"]}
        container.create_item(document if i % 5 else {**document, "town": None})
    return container


def ask(container: ContainerProxy, query: str, **options: Any) -> list[Any]:
    return list(container.query_items(query, enable_cross_partition_query=True, **options))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT VALUE c.id FROM c WHERE c.n = 3", ["03"]),
        ("SELECT VALUE c.id FROM c WHERE c.n IN (1, 2) OR c.id = '19'", ["01", "02", "19"]),
        ("SELECT VALUE c.id FROM c WHERE c.n BETWEEN 17 AND 18", ["17", "18"]),
        ("SELECT VALUE c.id FROM c WHERE c.town LIKE 'Red%'", ["04", "08", "12", "16"]),
        ("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, '1') AND c.n < 12", ["10", "11"]),
        ("SELECT VALUE c.id FROM c WHERE CONTAINS(c.town, 'ATT', true) AND c.n < 6", ["01"]),
        ("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 't0') AND c.n > 14", ["15", "18"]),
        ("SELECT VALUE c.id FROM c WHERE IS_NULL(c.town)", ["00", "05", "10", "15"]),
        ("SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.nothing) AND c.n = 1", ["01"]),
        ("SELECT VALUE c.n * 2 + 1 FROM c WHERE c.n = 4", [9]),
        ("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC", [19, 18]),
        ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 3 LIMIT 2", [3, 4]),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.n > 9", [10]),
        ("SELECT VALUE SUM(c.n) FROM c", [190]),
        ("SELECT VALUE AVG(c.n) FROM c", [9.5]),
        ("SELECT VALUE MIN(c.town) FROM c WHERE c.town != null", ["Chicago"]),
        ("SELECT VALUE MAX(c.n) FROM c", [19]),
    ],
)
def test_queries_give_what_they_say(people: ContainerProxy, query: str, expected: list[Any]) -> None:
    """Filters, projections, order and aggregates over all partitions."""
    found = ask(people, query)
    assert found == expected if "ORDER" in query else sorted(found) == expected


def test_columns_have_names(people: ContainerProxy) -> None:
    """A path is named by its last step, AS renames, other expressions are numbered, undefined is left out."""
    query = "SELECT c.id, c.n AS number, c.n + 1, c.missing FROM c WHERE c.id = '07'"
    assert ask(people, query) == [{"id": "07", "number": 7, "$1": 8}]


def test_parameters_fill_a_query(people: ContainerProxy) -> None:
    """Parameters of every type, also in TOP."""
    query = "SELECT TOP @k VALUE c.id FROM c WHERE ARRAY_CONTAINS(@ids, c.id) ORDER BY c.id"
    parameters: list[dict[str, Any]] = [
        {"name": "@k", "value": 2},
        {"name": "@ids", "value": ["03", "01", "05"]},
    ]
    assert ask(people, query, parameters=parameters) == ["01", "03"]


def test_a_partition_key_narrows_a_query(people: ContainerProxy) -> None:
    """Only that logical partition answers."""
    found: Any = people.query_items("SELECT VALUE c.id FROM c", partition_key="p3")
    assert sorted(found) == ["03", "13"]


def test_feed_ranges_share_a_query_out(people: ContainerProxy) -> None:
    """The ranges together give every item once."""
    found: list[Any] = []
    for feed_range in people.read_feed_ranges():
        found += people.query_items("SELECT VALUE c.id FROM c", feed_range=feed_range)
    assert sorted(found) == [f"{i:02}" for i in range(20)]


@pytest.mark.parametrize("order", ["", " ORDER BY c.town, c.n DESC", " ORDER BY c.tags"])
def test_pages_add_up_to_the_whole(people: ContainerProxy, order: str) -> None:
    """Every page size gives the same results in the same order, also when a page is resumed by its token."""
    query = f"SELECT VALUE c.id FROM c{order}"
    whole = ask(people, query)
    assert sorted(whole) == [f"{i:02}" for i in range(20)]
    for size in (1, 3, 20):
        found: list[Any] = []
        token = None
        while True:
            pages: Any = people.query_items(query, enable_cross_partition_query=True, max_item_count=size).by_page(
                token
            )
            found += next(pages)
            token = pages.continuation_token
            if not token:
                break
        assert found == whole


def test_a_window_spans_pages(people: ContainerProxy) -> None:
    """OFFSET and LIMIT count over the whole result, not per page."""
    for query in (
        "SELECT VALUE c.n FROM c OFFSET 5 LIMIT 9",
        "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 9",
    ):
        assert len(ask(people, query, max_item_count=2)) == 9


def test_values_of_mixed_types_have_an_order(container: ContainerProxy) -> None:
    """ORDER BY gives every item: undefined, null, booleans, numbers, strings, then the rest."""
    values: list[Any] = ["b", 2, True, None, "a", 1.5, False]
    for i, value in enumerate(values):
        container.create_item({"id": str(i), "pk": "p", "v": value})
    container.create_item({"id": "none", "pk": "p"})
    found = ask(container, "SELECT c.v FROM c ORDER BY c.v")
    assert [each.get("v", "undefined") for each in found] == [
        "undefined",
        None,
        False,
        True,
        1.5,
        2,
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("SELEKT * FROM c", 0),
        ("SELECT * FROM c WHERE", 21),
        ("SELECT * FROM c WHERE c.x =", 27),
        ("SELECT * FROM c JOIN t IN c.tags", 16),
        ("SELECT DISTINCT c.x FROM c", 7),
        ("SELECT c.x FROM c GROUP BY c.x", 18),
        ("SELECT * FROM c WHERE REGEXMATCH(c.x, 'y')", 22),
        ("SELECT * FROM c WHERE d.x = 1", 22),
        ("SELECT * FROM c WHERE c.x = @missing", 28),
    ],
)
def test_a_query_outside_the_subset_is_refused_with_its_place(
    people: ContainerProxy, local_cosmos: object, query: str, position: int
) -> None:
    """400 with the position: never a wrong answer."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        ask(people, query)
    assert refusal.value.status_code == 400
    assert f"position {position}:" in str(refusal.value.message)


def test_a_cross_partition_query_must_be_asked_for(people: ContainerProxy) -> None:
    """Without the option, several ranges refuse to answer."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        list(people.query_items("SELECT * FROM c"))
    assert refusal.value.status_code == 400


@pytest.mark.parametrize("token", ["nonsense", "WzEsMl0=", "e30=", "-1"])
def test_a_foreign_continuation_is_refused(people: ContainerProxy, token: str) -> None:
    """A token that is not from this query answers 400."""
    pages = people.query_items("SELECT * FROM c", enable_cross_partition_query=True, max_item_count=3).by_page(token)
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        next(pages)
    assert refusal.value.status_code == 400
