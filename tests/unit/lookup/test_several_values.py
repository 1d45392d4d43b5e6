"""`.in`: lookups of several values, on parts of the partition and of the sort key, merged page by page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.loading.load import load
from shared.errors import BadLookupError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.lookup_facts import put_facts

if TYPE_CHECKING:
    from shared.tables.counts import Counts

DEFINITIONS = load("""
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  by-town: {source: customers, partition: town, sort: [name, {path: age, type: integer}], project: [open]}
  by-tag: {source: customers, each: {tag: tags}, partition: tag}
  by-age: {source: customers, partition: {path: age, type: integer}, shards: 3}
  by-day: {source: customers, partition: {path: day, type: datetime, nulls: index}}
  by-name: {source: customers, partition: {path: name, fold: case}}
""").require()
TOWNS = ["Oslo", "Rome", "Bonn"]
CUSTOMERS: list[dict[str, Any]] = [
    {
        "id": f"{number:02}",
        "customerId": "c",
        "town": TOWNS[number % 3],
        "name": f"n{number // 6}",
        "age": number % 4,
        "day": None if number % 5 == 0 else f"2027-01-0{number % 5}T00:00:00Z",
        "tags": ["red", "blue"] if number % 2 else ["red"],
        "open": number % 2 == 0,
    }
    for number in range(24)
]


async def filled() -> tuple[Lookups, Counts]:
    """Lookups over the customers, and the count of storage transactions."""
    tables = MemoryTables()
    await put_facts(tables, {"customers": CUSTOMERS}, DEFINITIONS)
    return Lookups(DefinedGenerations(DEFINITIONS), Replicas(tables), PageTokens(b"key")), tables.counts


async def all_ids(index: str, parameters: dict[str, str]) -> list[str]:
    """The ids of all pages."""
    lookups, _ = await filled()
    found: list[str] = []
    asked: dict[str, str] | None = parameters
    while asked is not None:
        page = await lookups.find(index, asked)
        found += [entry["id"] for entry in page.entries]
        asked = page.next_parameters
    return found


def ids(key: Any, **conditions: Any) -> list[str]:
    """The ids of the customers that meet the conditions, in the order of a key."""
    chosen = [each for each in CUSTOMERS if all(condition(each[name]) for name, condition in conditions.items())]
    return [each["id"] for each in sorted(chosen, key=key)]


@pytest.mark.parametrize("size", ["1", "2", "5", "100"])
async def test_partitions_are_merged_by_sort_parts_then_partition(size: str) -> None:
    """In pages of any size, also where a page ends between two partitions with the same sort parts."""
    asked = {"town.in": json.dumps(["Rome", "Oslo"]), "maxpagesize": size}
    order = ids(lambda each: (each["name"], each["age"], each["town"], each["id"]), town=["Rome", "Oslo"].__contains__)
    assert await all_ids("by-town", asked) == order


@pytest.mark.parametrize("size", ["1", "3", "100"])
async def test_a_list_of_a_sort_part_may_stand_before_a_range(size: str) -> None:
    """It counts as equality."""
    asked = {"town.in": '["Rome","Bonn"]', "name.in": '["n3","n0"]', "age.ge": "2", "maxpagesize": size}
    order = ids(
        lambda each: (each["name"], each["age"], each["town"], each["id"]),
        town=["Rome", "Bonn"].__contains__,
        name=["n0", "n3"].__contains__,
        age=lambda age: age >= 2,
    )
    assert await all_ids("by-town", asked) == order
    assert order


@pytest.mark.parametrize("size", ["1", "4", "100"])
async def test_an_index_without_sort_parts_gives_one_partition_after_the_other(size: str) -> None:
    """A fact with entries in both is in both."""
    found = await all_ids("by-tag", {"tag.in": '["red","blue"]', "maxpagesize": size})
    assert found == ids(lambda each: each["id"], tags=lambda tags: "blue" in tags) + ids(lambda each: each["id"])


@pytest.mark.parametrize(
    ("index", "asked", "expected"),
    [
        ("by-age", {"age.in": "[3,1]"}, {each["id"] for each in CUSTOMERS if each["age"] in (1, 3)}),
        (
            "by-day",
            {"day.in": '[null,"2027-01-01T01:00:00+01:00"]'},
            {each["id"] for each in CUSTOMERS if each["day"] in (None, "2027-01-01T00:00:00Z")},
        ),
        ("by-name", {"name.in": '["N1","n2"]'}, {each["id"] for each in CUSTOMERS if each["name"] in ("n1", "n2")}),
    ],
)
async def test_values_are_those_of_the_part(index: str, asked: dict[str, str], expected: set[str]) -> None:
    """Numbers, times and nulls, without regard to case where the part has none; sharded, too."""
    found = await all_ids(index, {**asked, "maxpagesize": "3"})
    assert (set(found), len(found)) == (expected, len(expected))


@pytest.mark.parametrize(
    ("index", "asked", "code", "detail"),
    [
        ("by-town", {"town.in": "[]"}, "InvalidList", "has 0 values; send 1 to 50"),
        ("by-town", {"town.in": json.dumps([str(n) for n in range(51)])}, "InvalidList", "has 51 values"),
        ("by-town", {"town.in": '["a","a"]'}, "InvalidList", "the same value twice"),
        ("by-name", {"name.in": '["a","A"]'}, "InvalidList", "without regard to case"),
        ("by-age", {"age.in": "[1,1.0]"}, "InvalidList", "the same value twice"),
        ("by-town", {"town.in": '["a",1]'}, "InvalidValue", "has the value '1'"),
        ("by-age", {"age.in": '[1,"2"]'}, "InvalidValue", "list of type integer"),
        ("by-age", {"age.in": "[1,true]"}, "InvalidValue", "has the value 'True'"),
        ("by-age", {"age.in": "[1,2.5]"}, "InvalidValue", "has the value '2.5'"),
        ("by-day", {"day.in": '["soon"]'}, "InvalidDate", "has the value 'soon'"),
        ("by-town", {"town.in": "[null]"}, "NullsNotKept", "has a null"),
        ("by-town", {"town.in": "Rome,Oslo"}, "InvalidList", "is not a JSON array"),
        ("by-town", {"town.in": '{"a":1}'}, "InvalidList", "is not a JSON array"),
        ("by-town", {"town.in": "[" * 4000}, "InvalidList", "is not a JSON array"),
        ("by-town", {"town.in": '["a"]', "town": "b"}, "ConflictingConditions", "town and town.in"),
        ("by-town", {"town.in": '["a"]', "age.in": "[1]"}, "SortPartSkipped", "age comes after name"),
        ("by-town", {"town.in": '["a"]', "name.gt": "a", "age.in": "[1]"}, "RangeBeforeEquality", "age comes after"),
        (
            "by-town",
            {"town.in": json.dumps([str(n) for n in range(11)]), "name.in": json.dumps([str(n) for n in range(10)])},
            "TooCostly",
            "110 combinations; at most 100",
        ),
    ],
)
async def test_a_list_that_cannot_be_read_is_refused(index: str, asked: dict[str, str], code: str, detail: str) -> None:
    """The message says what is wrong with it, and what to send."""
    lookups, _ = await filled()
    with pytest.raises(BadLookupError) as caught:
        await lookups.find(index, asked)
    assert [fault.code for fault in caught.value.faults] == [code]
    assert detail in caught.value.faults[0].detail


async def test_each_partition_is_asked_once_for_a_page_that_they_share() -> None:
    """And for a bit more than its share only."""
    lookups, counts = await filled()
    before = counts.total()
    page = await lookups.find("by-town", {"town.in": '["Rome","Oslo","Bonn"]', "maxpagesize": "12"})
    assert (len(page.entries), counts.total() - before) == (12, 3)


async def test_a_partition_that_holds_most_of_a_page_is_asked_again() -> None:
    """The page is full all the same."""
    lookups, counts = await filled()
    before = counts.total()
    asked = {"town.in": json.dumps(["Rome", *[f"empty {number}" for number in range(7)]]), "maxpagesize": "8"}
    page = await lookups.find("by-town", asked)
    assert (len(page.entries), page.next_parameters, counts.total() - before) == (8, None, 9)


async def test_partitions_that_hold_more_than_their_share_stay_in_order() -> None:
    """What was read of one partition waits until it is certain that nothing of another comes before it."""
    tables = MemoryTables()
    customers = [
        {"id": f"{town}{number}", "customerId": "c", "town": town, "name": f"{town}{number:02}", "age": 1}
        for town in ("a", "b")
        for number in range(30)
    ]
    definitions = load("""
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes: {by-town: {source: customers, partition: town, sort: name}}
""").require()
    await put_facts(tables, {"customers": customers}, definitions)
    lookups = Lookups(DefinedGenerations(definitions), Replicas(tables), PageTokens(b"key"))
    towns = json.dumps(["b", "a", *[f"empty {number}" for number in range(6)]])
    page = await lookups.find("by-town", {"town.in": towns, "maxpagesize": "40"})
    assert [entry["id"] for entry in page.entries] == [customer["id"] for customer in customers[:40]]


async def test_explain_says_how_many_ranges_are_read_at_once() -> None:
    """Partitions, ranges of the sort key, and shards."""
    lookups, _ = await filled()
    shown = await lookups.explain("by-town", {"town.in": '["Rome","Oslo"]', "name.in": '["n1","n2","n3"]'})
    assert (shown["access"], shown["partitions"], shown["rowKeyRanges"], shown["parallelReads"]) == ("fan-out", 2, 3, 6)
    shown = await lookups.explain("by-age", {"age.in": "[1,2]"})
    assert (shown["partitions"], shown["shards"], shown["storageTransactionsPerPage"]) == (2, 3, 6)


async def test_an_unchanged_page_of_several_partitions_has_the_same_etag() -> None:
    """And the same link; another list has another one."""
    lookups, _ = await filled()
    first, second = [
        await lookups.find("by-town", {"town.in": '["Rome","Oslo"]', "maxpagesize": "3"}) for _ in range(2)
    ]
    other = await lookups.find("by-town", {"town.in": '["Oslo","Rome"]', "maxpagesize": "3"})
    assert (first.etag, first.next_parameters) == (second.etag, second.next_parameters)
    assert other.entries == first.entries
    assert other.etag != first.etag


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("data.open", lambda each: each["open"]),
        ("!(data.open)", lambda each: not each["open"]),
        ("key.age > `1` && data.open", lambda each: each["age"] > 1 and each["open"]),
        ("key.age", lambda each: each["age"] != 0),
        ("data.nothing", lambda each: False),
    ],
)
async def test_a_filter_shows_the_entries_that_it_holds_for(condition: str, holds: Any) -> None:
    """With the truth of `where`: 0 is false, too."""
    found = await all_ids("by-town", {"town": "Rome", "filter": condition, "maxpagesize": "3"})
    chosen = [each for each in CUSTOMERS if each["town"] == "Rome" and holds(each)]
    assert found == [each["id"] for each in sorted(chosen, key=lambda each: (each["name"], each["age"], each["id"]))]


async def test_a_filter_sees_what_select_leaves_out() -> None:
    """It is about the entry as it is stored."""
    lookups, _ = await filled()
    page = await lookups.find("by-town", {"town": "Rome", "filter": "key.age == `1`", "select": "open"})
    assert page.entries
    assert {entry["key"]["age"] for entry in page.entries} == {1}


@pytest.mark.parametrize(
    ("condition", "code", "detail"),
    [
        ("", "InvalidFilter", "not a JMESPath expression"),
        ("data.[", "InvalidFilter", "not a JMESPath expression"),
        ("nothing(data)", "InvalidFilter", "there is no function nothing"),
        ("!" * 200 + "data.open", "InvalidFilter", "nested more than 100 levels"),
        ("starts_with(data.name, 'a')", "InvalidFilter", "cannot be evaluated on the entry of fact "),
        (
            " | ".join(["[@, @]"] * 25) + " | to_string(@) == 'x'",
            "TooCostly",
            "filter is too costly for a single entry",
        ),
    ],
)
async def test_a_filter_that_cannot_be_answered_is_refused(condition: str, code: str, detail: str) -> None:
    """What is no expression, what an entry has no value for, and what never ends."""
    lookups, _ = await filled()
    with pytest.raises(BadLookupError) as caught:
        await lookups.find("by-town", {"town": "Rome", "filter": condition})
    assert [fault.code for fault in caught.value.faults] == [code]
    assert detail in caught.value.faults[0].detail


async def test_a_page_with_a_filter_reads_a_thousand_rows_at_most() -> None:
    """It may be empty, and still has a link."""
    tables = MemoryTables()
    many = [{"id": f"{number:04}", "customerId": "c", "age": 1, "open": number == 2300} for number in range(2400)]
    definitions = load("""
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes: {by-age: {source: customers, partition: {path: age, type: integer}, project: [open]}}
""").require()
    await put_facts(tables, {"customers": many}, definitions)
    read: list[int] = []
    lookups = Lookups(
        DefinedGenerations(definitions),
        Replicas(tables),
        PageTokens(b"key"),
        answered=lambda _, rows, __: read.append(rows),
    )
    pages, asked = [], {"age": "1", "filter": "data.open"}
    while asked:
        page = await lookups.find("by-age", asked)
        pages.append([entry["id"] for entry in page.entries])
        asked = page.next_parameters or {}
    assert pages == [[], [], ["2300"]]
    assert read == [1000, 1000, 400]
