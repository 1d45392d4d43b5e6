"""Summaries as a worker writes them: what they cost, what is refused, and what happens to rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from shared.entries.projection.generations import BUCKETS
from shared.entries.summaries import extremes
from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.memory.calls import Get, Transact
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from shared.tables.port import Delete, RowRange, Upsert
from tests.worlds.world import World

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: people, partition: town, summarize: {people: facts, spent: {sum: spent}, most: {max: spent}}}
"""
EACH = TEXT.replace("partition: town", "each: {town: towns}, partition: town").replace(
    "spent: {sum: spent}, most: {max: spent}", "towns: count"
)
TOGETHER = EACH.replace("partition: town", "partition: country, sort: town")


class Counting(DirectCarrier):
    """Counts calls to tables."""

    def __init__(self) -> None:
        self.calls: list[Call[Any]] = []
        self.loses_answers = False

    async def carry(self, call: Call[Any], store: Store) -> Any:
        """Carry it out at once."""
        self.calls.append(call)
        answer = await super().carry(call, store)
        if self.loses_answers and isinstance(call, Transact) and call.table != LEDGER_TABLE:
            raise StorageUnavailableError("The answer is lost.", outcome_unknown=True)
        return answer

    def take(self, kind: type, *, ledger: bool | None = None) -> int:
        """How many there were since the last time."""
        found = [call for call in self.calls if isinstance(call, kind)]
        return sum(ledger is None or (call.table == LEDGER_TABLE) == ledger for call in found)


async def a_world(text: str = TEXT) -> tuple[World, Counting]:
    """A world with a worker and its calls."""
    carrier = Counting()
    world = World(MemoryTables(carrier=carrier), text)
    await world.create_tables()
    carrier.calls.clear()
    return world, carrier


async def totals(world: World, partition: str = "A !") -> dict[str, Any]:
    """The totals of a partition by RowKey."""
    page = await world.tables.query(world.plan.generations[0].table, RowRange(partition, "0", "1"))
    return {str(row.entity["RowKey"]): orjson.loads(str(row.entity["_json"])) for row in page.rows}


def people(world: World, number: int, **fields: Any) -> list[Any]:
    """Changes of so many facts; `town` by number when it is not given."""
    return [world.writer.change(f"f{n}", {"town": "ABCDEFGH"[n % 8], "spent": n / 10, **fields}) for n in range(number)]


async def test_a_bulk_load_takes_few_transactions() -> None:
    """A thousand facts into eight groups: at most 0.06 for each, ledger and totals included."""
    world, carrier = await a_world()
    await world.apply(*people(world, 1000))
    assert carrier.take(Transact) + carrier.take(Get) <= 60
    assert (await totals(world))["00"]["facts"] == 125


async def test_steady_updates_read_nothing_that_is_cached() -> None:
    """A thousand changed values: at most 0.1 for each."""
    world, carrier = await a_world()
    await world.apply(*people(world, 1000))
    carrier.calls.clear()
    await world.apply(*people(world, 1000, spent=5))
    assert carrier.take(Get) == 0
    assert carrier.take(Transact) <= 100


async def test_a_redelivery_that_is_finished_costs_nothing_more_than_a_look() -> None:
    """The ledger row is read again, and nothing is written."""
    world, carrier = await a_world()
    changes = people(world, 10)
    await world.apply(*changes)
    before = await totals(world)
    carrier.calls.clear()
    await world.apply(*changes)
    assert carrier.take(Transact) == 0
    world.restart()
    await world.apply(*changes)
    assert carrier.take(Transact, ledger=False) == 0
    assert await totals(world) == before


async def test_a_large_transaction_whose_answer_is_lost_is_not_sent_again() -> None:
    """The rows as they were before are forgotten: each would cost a transaction, more than a batch may lose."""
    world, carrier = await a_world()
    await world.apply(*people(world, 90, town="A"))
    changes = people(world, 90, town="A", spent=7)
    carrier.loses_answers = True
    with pytest.raises(IncompleteBatchError):
        await world.apply(*changes)
    carrier.loses_answers = False
    carrier.calls.clear()
    await world.apply(*changes)
    assert carrier.take(Transact, ledger=False) == 0
    assert (await totals(world))["00"]["of"]["spent"][:2] == ["6.3E+2", 90]


async def test_more_rows_than_a_transaction_takes_are_split() -> None:
    """Each part leaves totals right; the answer of one is the condition of the next."""
    world, _ = await a_world()
    await world.apply(*people(world, 350, town="A"))
    assert (await totals(world))["00"]["facts"] == 350


async def test_the_groups_of_one_fact_may_take_several_transactions() -> None:
    """A hundred and fifty towns of one country."""
    world, _ = await a_world(TOGETHER)
    towns = [f"t{number}" for number in range(150)]
    await world.apply(world.writer.change("f", {"country": "A", "towns": [*towns, *towns[:9]]}))
    found = await totals(world)
    assert len(found) == 150
    assert sum(total["elements"] for total in found.values()) == 159
    await world.apply(world.writer.change("f", {"country": "A", "towns": towns[:2]}))
    assert len(await totals(world)) == 2


async def test_a_fact_with_too_many_groups_is_a_dead_letter_and_counts_nowhere() -> None:
    """The limit of entries is the limit of groups."""
    world, _ = await a_world(EACH)
    await world.apply(world.writer.change("f", {"towns": [f"t{number}" for number in range(10_000)]}))
    page = await world.tables.query(DEAD_LETTER_TABLE, RowRange("people"))
    assert "entries over the limit of 1000" in str(page.rows[0].entity["reason"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [("12", "'12'"), (True, "True"), ([1], "a list of 1"), ({"a": 1}, "an object of 1"), (10**400, "1000")],
)
async def test_a_value_that_is_no_number_is_a_dead_letter(value: Any, shown: str) -> None:
    """With its path, the value and the type that was expected; the fact counts in no group."""
    world, _ = await a_world()
    await world.apply(world.writer.change("f", {"town": "A", "spent": 1}))
    await world.apply(world.writer.change("f", {"town": "A", "spent": value}))
    page = await world.tables.query(DEAD_LETTER_TABLE, RowRange("people"))
    reason = str(page.rows[0].entity["reason"])
    assert 'at "spent" is not of type number' in reason
    assert shown.lower() in reason.lower()
    assert await totals(world) == {}


async def test_sums_are_exact_beyond_what_a_double_holds() -> None:
    """Facts come and go, and nothing is left of them."""
    world, _ = await a_world()
    values = [1e308, 1e308, 0.1, 5e-324, -1e308]
    changes = [world.writer.change(f"f{n}", {"town": "A", "spent": value}) for n, value in enumerate(values)]
    await world.apply(*changes)
    assert (await totals(world))["00"]["of"]["spent"][0].startswith("1000000000")
    await world.apply(*[world.writer.change(f"f{n}", None) for n in (0, 1, 3, 4)])
    assert (await totals(world))["00"]["of"]["spent"][0] == "0.1"


async def test_the_largest_value_is_found_again_when_the_list_has_run_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other leaves, the largest first."""
    monkeypatch.setattr(extremes, "KEPT", 2)
    world, _ = await a_world()
    await world.apply(*people(world, 8, town="A"))
    for left in range(7, 0, -1):
        await world.apply(world.writer.change(f"f{left}", None))
        assert (await totals(world))["00"]["of"]["spent"][3][0][0] == [str((left - 1) / 10).removesuffix(".0"), 1]


async def test_workers_that_meet_in_a_group_part() -> None:
    """The one that loses adds to a lane of its own from then on, and neither loses again."""
    world, carrier = await a_world()
    other = World(world.tables, TEXT)
    for number in range(6):
        worker = (world, other)[number % 2]
        await worker.apply(world.writer.change(f"f{number}", {"town": "A", "spent": 1}))
    assert {row: total["facts"] for row, total in (await totals(world)).items()} == {"00": 4, "01": 2}
    carrier.calls.clear()
    await world.apply(world.writer.change("x", {"town": "A", "spent": 1}))
    await other.apply(world.writer.change("y", {"town": "A", "spent": 1}))
    assert carrier.take(Transact, ledger=False) == 2


async def test_a_worker_that_loses_on_a_total_reads_it_again() -> None:
    """A value changes in the lane that it is in: there is no other to go to."""
    world, _ = await a_world()
    other = World(world.tables, TEXT)
    await world.apply(*people(world, 2, town="A"))
    await other.apply(world.writer.change("f0", {"town": "A", "spent": 2}))
    await world.apply(world.writer.change("f1", {"town": "A", "spent": 3}))
    assert (await totals(world))["00"]["of"]["spent"][0] == "5"


async def test_a_damaged_contribution_without_a_total_can_leave() -> None:
    """Nothing is known of what the total loses, and there is none: the contribution goes all the same."""
    world, _ = await a_world()
    await world.apply(*people(world, 1, town="A"))
    table = world.plan.generations[0].table
    _, contribution = (await world.tables.query(table, RowRange("A !"))).rows
    await world.tables.transact(table, [Upsert({**contribution.entity, "_json": "damaged"}), Delete("A !", "00")])
    world.restart()
    await world.apply(world.writer.change("f0", None))
    await world.sweep()
    assert (await world.tables.query(table, RowRange("A !", "1"))).rows == ()
    assert (await totals(world))["00"]["facts"] == 0


async def test_rows_that_are_gone_are_swept_many_at_once() -> None:
    """A fact that is back by then stays."""
    world, carrier = await a_world()
    await world.apply(*people(world, 50, town="A"))
    await world.apply(*people(world, 50, town="B"))
    await world.apply(*people(world, 3, town="A"))
    carrier.calls.clear()
    await world.sweep()
    # The rows in a few transactions, and the keys that are forgotten in one for each message and bucket of the ledger.
    assert carrier.take(Transact) <= 6 + 2 * BUCKETS
    page = await world.tables.query(world.plan.generations[0].table, RowRange("A !", "1"))
    assert len(page.rows) == 3


async def test_a_message_that_names_a_row_twice_sweeps_it() -> None:
    """With an old ETag and with the one that it has."""
    world, _ = await a_world()
    await world.apply(*people(world, 1, town="A"))
    await world.apply(*people(world, 1, town="B"))
    (message,) = world.queue.messages
    named = json.loads(message)
    world.queue.messages = [
        json.dumps([[*named[0][:-1], 'W/"old"'], *named]),
        json.dumps([*named, [*named[0][:-1], 'W/"old"']]),
    ]
    await world.sweep()
    page = await world.tables.query(world.plan.generations[0].table, RowRange("A !"))
    assert page.rows == ()
