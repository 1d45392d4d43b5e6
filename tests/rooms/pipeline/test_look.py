"""Finding out which rows entry keys have: every page counts as an answer of its account, and few are waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from shared.entries.projection.generations import Place
from shared.entries.rows.entry_row import live_row
from shared.pipeline.account_calls import calls_by
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.entry_writes.look import ROUNDS_MAX, look
from shared.pipeline.entry_writes.waves import WantedRow
from shared.tables.accounts import Accounts
from shared.tables.limits import OPERATIONS_MAX, PAGE_ROWS_MAX
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.pipeline.concurrency import Work
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
PLACE = Place("", "index", "A !")
VERSION = "1" * 44
# Of so many rows a redelivered batch has one each: a page settles just enough keys to go on.
ROWS_PER_KEY = 90
KEYS = 120


class Counting:
    """Counts calls to the tables."""

    def __init__(self) -> None:
        self.count = 0

    async def carry(self, call: Call[T], store: Store) -> T:
        self.count += 1
        return call.perform(store)


class OneByOne(AtOnce):
    """Runs one piece after the other, and counts the calls of each. `rounds` has them."""

    def __init__(self, counting: Counting) -> None:
        self.rounds: list[list[int]] = []
        self._counting = counting

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        results, counts = [], []
        for piece in work:
            before = self._counting.count
            results.append(await self._run(piece))
            counts.append(self._counting.count - before)
        self.rounds.append(counts)
        return results


def entry_key(number: int) -> str:
    """Keys in their order."""
    return f"{number:06} !"


def wanted(key: str) -> WantedRow:
    """A row of which it is not known what the partition has."""
    row = Upsert(live_row(PLACE.partition, key, VERSION, {}))
    return WantedRow("f", PLACE, key, VERSION, row, is_tombstone=False, replaced_row=None, must_list=True)


async def looked_through(rows_per_key: int, keys: int) -> list[list[int]]:
    """The calls of each piece of each round, for keys that are so far apart."""
    counting = Counting()
    tables = MemoryTables(carrier=counting)
    await tables.create_table(PLACE.table)
    stored = [wanted(entry_key(number)).row for number in range(keys * rows_per_key)]
    for first in range(0, len(stored), OPERATIONS_MAX):
        await tables.transact(PLACE.table, stored[first : first + OPERATIONS_MAX])
    run = OneByOne(counting)
    asked = [entry_key(number * rows_per_key) for number in range(keys)]
    looked = await look(Accounts({"": tables}), calls_by(run), [wanted(key) for key in asked])
    for key in asked:
        rows = looked[PLACE, key]
        assert not isinstance(rows, Exception)
        assert [row.version for row in rows] == [VERSION]
    return run.rounds


async def test_every_page_is_a_call_of_its_own() -> None:
    """Otherwise an account that answers page after page would be taken for one that is silent."""
    rounds = await looked_through(ROWS_PER_KEY, KEYS)
    assert {count for counts in rounds for count in counts} == {1}


async def test_what_a_few_pages_have_not_settled_is_listed_key_by_key() -> None:
    """All of it at once, so that a batch does not wait for page after page of a large partition."""
    *pages, rest = await looked_through(ROWS_PER_KEY, KEYS)
    assert pages == [[1]] * ROUNDS_MAX
    assert 0 < len(rest) <= KEYS - 10 * ROUNDS_MAX


async def test_keys_that_lie_together_cost_one_page() -> None:
    """As those of a batch of new facts do."""
    assert await looked_through(1, PAGE_ROWS_MAX // 2) == [[1]]
