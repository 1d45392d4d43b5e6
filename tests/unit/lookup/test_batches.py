"""Many lookups in one call: each has its page or its problem, within what the call may cost; and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import pytest

from shared.definitions.loading.load import load
from shared.errors import BadLookupError, StorageUnavailableError, UnknownIndexError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.batch import answer_batch
from shared.lookup.count import count_entries
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import LookupPage, Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.lookup_facts import put_facts

if TYPE_CHECKING:
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
MIB = 1024 * 1024

DEFINITIONS = load("""
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  by-town: {source: customers, partition: town, sort: {path: age, type: integer}, project: [text]}
  by-age: {source: customers, partition: {path: age, type: integer}, shards: 3, project: keys}
""").require()


def customers(count: int, **fields: Any) -> list[dict[str, Any]]:
    """Customers of four towns."""
    return [{"id": f"{n:04}", "customerId": "c", "town": f"t{n % 4}", "age": n % 7, **fields} for n in range(count)]


class Knocked:
    """A service that does not answer about one partition."""

    def __init__(self, partition: str = "") -> None:
        self.partition = partition

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        if self.partition and self.partition in repr(call):
            raise StorageUnavailableError("It is down: try again.", outcome_unknown=False)
        return call.perform(store)


@dataclass
class KnownFacts:
    """Facts in a dictionary, and how many are being read or waited for at most."""

    documents: dict[str, dict[str, Any]]
    read_ids: list[str] = field(default_factory=list)

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact with this id."""
        self.read_ids.append(fact_id)
        return self.documents.get(fact_id)


async def filled(
    documents: list[dict[str, Any]], knocked: Knocked | None = None, facts: KnownFacts | None = None
) -> tuple[Lookups, MemoryTables]:
    """Lookups over these customers."""
    tables = MemoryTables(carrier=knocked or Knocked())
    await put_facts(tables, {"customers": documents}, DEFINITIONS)
    return Lookups(DefinedGenerations(DEFINITIONS), Replicas(tables), PageTokens(b"key"), facts=facts), tables


async def batch(lookups: Lookups, asked: list[object], **shared: str) -> list[list[str] | str]:
    """The ids of each page, or the code or name of its error."""
    found: list[list[str] | str] = []
    for each in await answer_batch(lookups, "by-town", asked, shared):
        if isinstance(each, LookupPage):
            found.append([entry["id"] for entry in each.entries])
        else:
            found.append(each.faults[0].code if isinstance(each, BadLookupError) else type(each).__name__)
    return found


async def test_each_lookup_has_its_page_or_its_problem_in_the_order_asked() -> None:
    """Values are those of JSON; options for all of them stand beside, and a lookup's own count more."""
    lookups, _ = await filled(customers(12))
    asked: list[object] = [
        {"town": "t1", "age.ge": 2},
        {"town": "t0", "maxpagesize": 1},
        {"twon": "t1"},
        {"town.in": ["t2", "t3"], "age": 3},
        "t1",
        {"town": {"eq": "t1"}},
        {"town": "nowhere"},
        {"town": None},
    ]
    assert await batch(lookups, asked, maxpagesize="2") == [
        ["0009", "0005"],
        ["0000"],
        "UnknownParameter",
        ["0010", "0003"],
        "InvalidParameterValue",
        "InvalidParameterValue",
        [],
        "NullsNotKept",
    ]


async def test_all_values_of_a_lookup_that_cannot_be_sent_are_told() -> None:
    """A list belongs to another parameter; options have none."""
    lookups, _ = await filled([])
    (refused,) = await answer_batch(lookups, "by-town", [{"town": ["t1"], "age": {"eq": 1}, "select": ["text"]}], {})
    assert isinstance(refused, BadLookupError)
    assert [(each.parameter, each.detail.partition("; ")[2]) for each in refused.faults] == [
        ("town", "send a single value, or the list as town.in."),
        ("age", "send text, a number, true, false or null."),
        ("select", "send text, a number, true, false or null."),
    ]


async def test_a_page_of_a_batch_goes_on_alone_or_in_another_batch() -> None:
    """Its token is that of the lookup by itself."""
    lookups, _ = await filled(customers(12))
    (first,) = await answer_batch(lookups, "by-town", [{"town": "t1"}], {"maxpagesize": "2"})
    assert isinstance(first, LookupPage)
    assert first.next_parameters is not None
    alone = await lookups.find("by-town", first.next_parameters)
    token = first.next_parameters["token"]
    assert await batch(lookups, [{"town": "t1", "token": token}], maxpagesize="2") == [
        [entry["id"] for entry in alone.entries]
    ]
    assert len(alone.entries) == 1


@pytest.mark.parametrize(
    ("asked", "shared", "code"),
    [
        ([], {}, "InvalidParameterValue"),
        ([{"town": "t1"}] * 101, {}, "InvalidParameterValue"),
        ([{"town": "t1"}], {"maxpagesize": "0"}, "InvalidPageSize"),
        ([{"town": "t1"}], {"expand": "fact"}, "ExpandNotPossible"),
        ([{"town": "t1"}], {"sees": "{}"}, "InvalidSees"),
    ],
)
async def test_what_is_wrong_with_all_of_them_is_refused_at_once(
    asked: list[object], shared: dict[str, str], code: str
) -> None:
    """None or too many, or a wrong option beside them."""
    lookups, _ = await filled(customers(1))
    with pytest.raises(BadLookupError) as caught:
        await answer_batch(lookups, "by-town", asked, shared)
    assert caught.value.faults[0].code == code


async def test_an_unknown_index_is_no_problem_of_single_lookups() -> None:
    """The call as a whole is wrong."""
    lookups, _ = await filled([])
    with pytest.raises(UnknownIndexError):
        await answer_batch(lookups, "by-twon", [{}], {})


async def test_storage_that_fails_for_one_lookup_fails_no_other() -> None:
    """Such as the account that its partition is placed in."""
    knocked = Knocked()
    lookups, _ = await filled(customers(12), knocked)
    knocked.partition = "t1 !"
    assert await batch(lookups, [{"town": "t0", "age": 0}, {"town": "t1"}, {"town": "t2", "age": 2}]) == [
        ["0000"],
        "StorageUnavailableError",
        ["0002"],
    ]


async def test_lookups_that_read_too_much_together_are_refused_from_there_on() -> None:
    """A hundred lookups of a hundred ranges would be 10 000 storage transactions."""
    lookups, _ = await filled(customers(1))
    asked: list[object] = [{"town.in": [f"t{n}" for n in range(50)], "age.in": [1, 2]}] * 21
    found = await batch(lookups, asked)
    assert (found[:20], found[20]) == ([[]] * 20, "TooCostly")


async def test_pages_of_large_batches_are_smaller() -> None:
    """So many rows would be read otherwise."""
    lookups, _ = await filled(customers(1200))
    found = await batch(lookups, [{"town": "t1"}] * 50, maxpagesize="1000")
    assert {len(each) for each in found} == {200}


async def test_the_answer_of_a_batch_is_bounded() -> None:
    """What does not fit any more has an empty page with a link, and is found by following it."""
    lookups, _ = await filled(customers(40, text="x" * 300_000))
    found = await answer_batch(lookups, "by-town", [{"town": f"t{n % 4}"} for n in range(8)], {})
    pages = [each for each in found if isinstance(each, LookupPage)]
    assert len(pages) == 8
    assert sum(len(orjson.dumps(page.entries)) for page in pages) < 4 * MIB + 1000
    assert all(page.next_parameters for page in pages if len(page.entries) < 10)
    (empty, *_) = [page for page in pages if not page.entries]
    further = await lookups.find("by-town", empty.next_parameters or {})
    assert further.entries


async def test_the_facts_of_a_batch_are_bounded_together() -> None:
    """Its lookups fetch facts at the same time; what does not fit any more is found by following the links."""
    documents = customers(8)
    known = KnownFacts({each["id"]: {**each, "text": "x" * 1_800_000} for each in documents})
    lookups, _ = await filled(documents, facts=known)
    found = await answer_batch(lookups, "by-town", [{"town": f"t{n % 4}"} for n in range(8)], {"expand": "fact"})
    pages = [each for each in found if isinstance(each, LookupPage)]
    assert sum(len(page.entries) for page in pages) == 2
    assert [page.next_parameters is not None for page in pages] == [True] * 8
    rest = await lookups.find("by-town", pages[-1].next_parameters or {})
    assert [entry["id"] for entry in pages[-1].entries + rest.entries] == ["0007", "0003"]


async def test_a_page_ends_when_its_answer_is_large() -> None:
    """An entry that is larger by itself would still be a page."""
    lookups, _ = await filled(customers(40, text="x" * 900_000))
    asked: dict[str, str] | None = {"town": "t1"}
    sizes, found = [], []
    while asked is not None:
        page = await lookups.find("by-town", asked)
        sizes.append(len(orjson.dumps(page.entries)))
        found += [entry["id"] for entry in page.entries]
        asked = page.next_parameters
    assert max(sizes) <= 4 * MIB
    assert (len(found), len(set(found))) == (10, 10)


async def test_a_page_with_large_facts_ends_early_and_reads_few_in_vain() -> None:
    """A hundred facts of 1.8 MB would take hundreds of megabytes."""
    documents = customers(40)
    known = KnownFacts({each["id"]: {**each, "text": "x" * 1_800_000} for each in documents})
    lookups, _ = await filled(documents, facts=known)
    asked: dict[str, str] | None = {"town": "t1", "expand": "fact"}
    pages = []
    while asked is not None:
        known.read_ids.clear()
        page = await lookups.find("by-town", asked)
        assert len(known.read_ids) <= 2 + 8
        pages.append([entry["id"] for entry in page.entries])
        asked = page.next_parameters
    assert [len(page) for page in pages] == [2, 2, 2, 2, 2]
    assert len({fact_id for page in pages for fact_id in page}) == 10


async def test_a_fact_that_is_larger_than_a_page_is_a_page() -> None:
    """So that every page gets further."""
    documents = customers(8)
    known = KnownFacts({each["id"]: {**each, "text": "x" * (5 * MIB)} for each in documents})
    lookups, _ = await filled(documents, facts=known)
    page = await lookups.find("by-town", {"town": "t1", "expand": "fact"})
    assert (len(page.entries), page.next_parameters is not None) == (1, True)


@pytest.mark.parametrize(
    ("index", "asked", "count"),
    [
        ("by-town", {"town": "t1"}, 600),
        ("by-town", {"town": "t1", "age.ge": "5"}, sum(n % 4 == 1 and n % 7 >= 5 for n in range(2400))),
        ("by-town", {"town.in": '["t1","t2","nowhere"]'}, 1200),
        ("by-age", {"age": "3"}, sum(n % 7 == 3 for n in range(2400))),
        ("by-town", {"town": "t1", "age.gt": "5", "age.lt": "5"}, 0),
    ],
)
async def test_a_count_is_the_number_of_entries_of_all_pages(index: str, asked: dict[str, str], count: int) -> None:
    """Of one partition or several, sharded or not."""
    lookups, _ = await filled(customers(2400))
    found = await count_entries(lookups, index, asked)
    assert (found.count, found.is_exact) == (count, True)


async def test_a_count_reads_a_thousand_keys_at_once() -> None:
    """And no columns of the entry."""
    tables = MemoryTables()
    definitions = load("""
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes: {by-kind: {source: customers, partition: kind}}
""").require()
    many = [{"id": f"{n:05}", "customerId": "c", "kind": "k", "text": "secret"} for n in range(2500)]
    await put_facts(tables, {"customers": many}, definitions)
    lookups = Lookups(DefinedGenerations(definitions), Replicas(tables), PageTokens(b"key"))
    before = tables.counts.total()
    assert (await count_entries(lookups, "by-kind", {"kind": "k"})).count == 2500
    assert tables.counts.total() - before == 3


async def test_a_count_stops_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says that there are more."""
    monkeypatch.setattr("shared.lookup.count.ROWS_MAX", 2000)
    lookups, _ = await filled(customers(9000))
    found = await count_entries(lookups, "by-town", {"town": "t1"})
    assert (found.count, found.is_exact) == (2000, False)
    exact = await count_entries(lookups, "by-town", {"town": "t1", "age": "1"})
    assert exact.is_exact


@pytest.mark.parametrize(
    ("index", "asked"),
    [("by-age", {"age": "3"}), ("by-town", {"town.in": '["t0","t1","t2","t3"]'}), ("by-age", {"age.in": "[1,2,3]"})],
)
async def test_a_count_of_several_ranges_stops_at_the_same_bound(
    monkeypatch: pytest.MonkeyPatch, index: str, asked: dict[str, str]
) -> None:
    """What was read counts, whether or not its place among the others is known."""
    monkeypatch.setattr("shared.lookup.count.ROWS_MAX", 100)
    lookups, _ = await filled(customers(1300))
    found = await count_entries(lookups, index, asked)
    assert (found.count, found.is_exact) == (100, False)


@pytest.mark.parametrize("name", ["maxpagesize", "select", "filter", "expand", "token"])
async def test_a_count_takes_conditions_only(name: str) -> None:
    """Anything else would not be keys only."""
    lookups, _ = await filled(customers(1))
    with pytest.raises(BadLookupError, match="reads keys alone"):
        await count_entries(lookups, "by-town", {"town": "t1", name: "1"})


async def test_a_count_with_values_that_are_cut_compares_what_is_stored() -> None:
    """Keys alone would count what only looks right."""
    documents = [{"id": f"{n}", "customerId": "c", "town": "x" * 600 + str(n % 2), "age": 1} for n in range(10)]
    lookups, _ = await filled(documents)
    assert (await count_entries(lookups, "by-town", {"town": "x" * 600 + "1"})).count == 5
