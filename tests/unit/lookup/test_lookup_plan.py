"""The planner: which rows a lookup reads, and what it refuses."""

from __future__ import annotations

import pytest

from shared.errors import BadLookupError
from shared.inputs.page_tokens import PageTokens
from shared.inputs.parameters import parse
from shared.lookup.asking.plan import plan
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.lookup_facts import DEFINITIONS

GENERATIONS = DefinedGenerations(DEFINITIONS)
LOOKUPS = Lookups(GENERATIONS, Replicas(MemoryTables()), PageTokens(b"key"))


@pytest.mark.parametrize(
    ("index", "query", "access", "transactions"),
    [
        ("customers-by-town", "town=R", "partition", 1),
        ("customers-by-town", "town=R&lastName=S", "range", 1),
        ("customers-by-town", "town=R&lastName.prefix=S", "range", 1),
        ("customers-by-town", "town=R&lastName=S&firstName=A", "point", 1),
        ("customers-by-town", "town=R&lastName.gt=S&lastName.lt=A", "range", 0),
        ("customers-by-age", "isVip=yes&age=3", "fan-out", 4),
        ("customers-by-town", "lastName=S", "refused", 0),
        ("customers-by-town", "town=R&firstName=A", "refused", 0),
        ("customers-by-town", "town.ge=R", "refused", 0),
    ],
)
async def test_a_lookup_has_an_access_class(index: str, query: str, access: str, transactions: int) -> None:
    """From a single key to a refused scan, each with its storage transactions."""
    shown = await LOOKUPS.explain(index, parse(query))
    assert (shown["access"], shown["storageTransactionsPerPage"]) == (access, transactions)


async def test_explain_refuses_what_is_written_wrongly() -> None:
    """Only a scan is explained; a mistake stays a mistake."""
    with pytest.raises(BadLookupError) as caught:
        await LOOKUPS.explain("customers-by-town", {"lastName": "S", "maxpagesize": "0"})
    assert [fault.code for fault in caught.value.faults] == ["InvalidPageSize", "MissingPartitionPart"]


async def test_a_long_value_is_compared_by_what_is_stored() -> None:
    """Keys over their budget are cut, and explain says what that means."""
    shown = await LOOKUPS.explain("customers-by-town", {"town": "x" * 600})
    assert shown["comparesStoredValues"] is True
    assert "Keys this long are cut" in shown["explanation"]


async def test_a_misspelled_part_of_the_partition_is_not_corrected_to_a_range_of_it() -> None:
    """It takes none."""
    with pytest.raises(BadLookupError) as caught:
        await LOOKUPS.find("orders-newest-first", {"custmer": "c-1", "paid": "true"})
    unknown = next(fault for fault in caught.value.faults if fault.code == "UnknownParameter")
    assert unknown.detail.endswith("Did you mean customer or customer.in?")


async def test_bounds_follow_values_not_the_parts_order() -> None:
    """`ge` on a descending part is an upper bound of keys."""
    generation = await GENERATIONS.serving("customers-by-age")
    planned = plan(generation.index, generation.keys, {"isVip": "yes", "age.ge": "30"})
    codec = generation.keys.sort_codecs[0]
    (bounds,) = planned.bounds
    assert bounds.holds(codec.encode(30))
    assert bounds.holds(codec.encode(99))
    assert not bounds.holds(codec.encode(29))
