"""`sees`: a lookup waits, bounded, until the index has a change that its caller knows of."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.entries.changes.seen_version import SeenVersion
from shared.entries.keys.fact_key import MISSING, encode_fact_key
from shared.entries.keys.versions import declared_clock
from shared.errors import BadLookupError, NotSeenYetError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.read_your_writes import WAITING_MAX, WriteWaiter, read_sees_value, sees_value
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.lookup_facts import DEFINITIONS, facts, put_facts

if TYPE_CHECKING:
    from shared.lookup.generations import ReadableGeneration

CUSTOMERS = DEFINITIONS.sources["customers"]
ORDERS = DEFINITIONS.sources["orders"]
ITEM = {"id": "1", "customerId": "c-1", "_etag": '"e1"', "_ts": 1_700_000_000, "town": "Redmond"}
KNOWN = SeenVersion(encode_fact_key(("c-1",), "1"), etag='"e1"', ts_seconds=1_700_000_000)


@dataclass
class SlowLedger:
    """Has a change after it has been asked so many times."""

    misses: int
    asked: list[tuple[SeenVersion, str]] = field(default_factory=list)

    async def has_applied(self, seen: SeenVersion, generation: ReadableGeneration) -> bool:
        """Whether it was asked often enough."""
        self.asked.append((seen, generation.index.name))
        return len(self.asked) > self.misses


@dataclass
class Clock:
    """Time that passes only in sleep."""

    seconds: float = 0

    async def sleep(self, seconds: float) -> None:
        """Let it pass."""
        self.seconds += seconds


async def lookups_with(ledger: SlowLedger, clock: Clock) -> Lookups:
    """Lookups that wait two seconds at most."""
    tables = MemoryTables()
    await put_facts(tables, facts())
    own_writes = WriteWaiter(ledger, 2, lambda: clock.seconds, clock.sleep)
    return Lookups(DefinedGenerations(DEFINITIONS), Replicas(tables), PageTokens(b"key"), own_writes=own_writes)


def asking(sees: str, **more: str) -> dict[str, str]:
    """A lookup that must see a change."""
    return {"town": "Redmond", "sees": sees, **more}


async def test_a_lookup_waits_until_the_change_is_there() -> None:
    """It asks the ledger again and again, less often each time."""
    ledger, clock = SlowLedger(misses=4), Clock()
    page = await (await lookups_with(ledger, clock)).find("customers-by-town", asking(sees_value(ITEM, "c-1")))
    assert len(page.entries) == 8
    assert ledger.asked == [(KNOWN, "customers-by-town")] * 5
    assert clock.seconds == pytest.approx(0.02 + 0.04 + 0.08 + 0.16)


async def test_a_change_that_does_not_come_in_time_is_told() -> None:
    """After the patience that was set, not later."""
    clock = Clock()
    lookups = await lookups_with(SlowLedger(misses=10**6), clock)
    with pytest.raises(NotSeenYetError, match="within 2 s"):
        await lookups.find("customers-by-town", asking(sees_value(ITEM, "c-1")))
    assert clock.seconds == pytest.approx(2)


async def test_only_so_many_lookups_wait_at_the_same_time() -> None:
    """The others look once. When one has ended, the next may wait."""
    clock, asleep, goes_on = Clock(), 0, asyncio.Event()

    async def sleep(seconds: float) -> None:
        nonlocal asleep
        asleep += 1
        await goes_on.wait()
        clock.seconds += seconds

    ledger = SlowLedger(misses=10**6)
    waiter = WriteWaiter(ledger, 2, lambda: clock.seconds, sleep)
    generation = await DefinedGenerations(DEFINITIONS).serving("customers-by-town")
    waits = [asyncio.create_task(waiter.wait(KNOWN, generation)) for _ in range(WAITING_MAX + 5)]
    done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    assert (asleep, len(ledger.asked)) == (WAITING_MAX, WAITING_MAX + 5)
    assert {type(task.exception()) for task in done} == {NotSeenYetError}
    assert all(f"{WAITING_MAX} lookups already wait" in str(task.exception()) for task in done)
    ledger.misses = 0
    goes_on.set()
    await asyncio.gather(*[wait for wait in waits if wait not in done])
    await waiter.wait(KNOWN, generation)


async def test_later_pages_do_not_wait() -> None:
    """The first one did."""
    ledger = SlowLedger(misses=0)
    lookups = await lookups_with(ledger, Clock())
    page = await lookups.find("customers-by-town", asking(sees_value(ITEM, "c-1"), maxpagesize="3"))
    assert page.next_parameters is not None
    await lookups.find("customers-by-town", page.next_parameters)
    assert len(ledger.asked) == 1


async def test_without_a_ledger_sees_is_refused() -> None:
    """Better than an answer that may lack the change."""
    lookups = Lookups(DefinedGenerations(DEFINITIONS), Replicas(MemoryTables()), PageTokens(b"key"))
    with pytest.raises(BadLookupError) as caught:
        await lookups.find("customers-by-town", asking(sees_value(ITEM, "c-1")))
    assert [fault.code for fault in caught.value.faults] == ["SeesNotPossible"]


def test_seen_makes_what_sees_takes() -> None:
    """From an item that Cosmos DB answered with, or from a declared version."""
    assert read_sees_value(CUSTOMERS, sees_value(ITEM, "c-1")) == KNOWN
    declared = read_sees_value(ORDERS, sees_value({"id": "o1"}, "c-1", version=7))
    assert declared == SeenVersion(encode_fact_key(("c-1",), "o1"), declared_clock=declared_clock(7))


@pytest.mark.parametrize(
    ("source", "text", "reason"),
    [
        ("customers", "{", "is not JSON"),
        ("customers", "[" * 100_000, "is not JSON"),
        ("customers", "[]", "is not a JSON object"),
        ("customers", '{"id": "1", "etag": "x"}', "unknown member 'etag'"),
        ("customers", '{"partitionKey": "c-1"}', "has no id: it must be text"),
        ("customers", '{"id": 60, "partitionKey": "c-1"}', "has a wrong id: it must be text"),
        ("customers", '{"id": "", "partitionKey": "c-1"}', "has a wrong id: it must be text that is not empty"),
        ("customers", '{"id": "\\ud800", "partitionKey": "c", "_etag": "e", "_ts": 1}', "has a wrong id"),
        ("customers", '{"id": "1"}', "has no partitionKey: it must be one value"),
        (
            "customers",
            '{"id": "1", "partitionKey": ["c-005"]}',
            "has a wrong partitionKey: it must be one value, no list",
        ),
        ("customers", '{"id": "1", "partitionKey": "c", "_ts": 1}', "has no _etag: it must be text"),
        ("customers", '{"id": "1", "partitionKey": "c", "_etag": 1, "_ts": 1}', "has a wrong _etag: it must be text"),
        ("customers", '{"id": "1", "partitionKey": "c", "_etag": "e"}', "has no _ts: it must be a whole number"),
        (
            "customers",
            '{"id": "1", "partitionKey": "c", "_etag": "e", "_ts": "x"}',
            "has a wrong _ts: it must be a whole",
        ),
        (
            "customers",
            '{"id": "1", "partitionKey": "c", "_etag": "e", "_ts": -1}',
            "has a wrong _ts: it must be a whole",
        ),
        ("customers", '{"id": "1", "partitionKey": "c", "_etag": "e", "_ts": true}', "has a wrong _ts"),
        ("orders", '{"id": "1", "partitionKey": "c", "_etag": "e", "_ts": 1}', "has no version: it must be the fact's"),
        ("orders", '{"id": "1", "partitionKey": "c", "version": "x"}', "has a wrong version: it must be the fact's"),
    ],
)
def test_what_sees_cannot_take_is_told(source: str, text: str, reason: str) -> None:
    """Which part of it, and what to send."""
    found = read_sees_value(DEFINITIONS.sources[source], text)
    assert isinstance(found, str)
    assert reason in found


def test_an_etag_without_its_quotes_is_the_same_etag() -> None:
    """They are part of what Cosmos DB answers, and are easily lost on the way."""
    assert read_sees_value(CUSTOMERS, sees_value({**ITEM, "_etag": "e1"}, "c-1")) == KNOWN


def test_a_partition_key_that_the_source_does_not_have_is_told() -> None:
    """An empty one is fine."""
    source = replace(CUSTOMERS, partition_key=())
    assert isinstance(read_sees_value(source, sees_value(ITEM)), SeenVersion)
    assert "leave it out" in str(read_sees_value(source, sees_value(ITEM, "c-1")))


def test_a_hierarchical_partition_key_is_a_list() -> None:
    """A value that the fact does not have is written as Cosmos DB writes it."""
    source = replace(CUSTOMERS, partition_key=("a", "b"))
    fields: dict[str, Any] = {"id": "1", "partitionKey": ["x", {}], "_etag": "e", "_ts": 1}
    found = read_sees_value(source, json.dumps(fields))
    assert isinstance(found, SeenVersion)
    assert found.fact_key == encode_fact_key(("x", MISSING), "1")
    fields["partitionKey"] = ["x"]
    assert "has a wrong partitionKey: it must be a list of 2 values" in str(read_sees_value(source, json.dumps(fields)))
