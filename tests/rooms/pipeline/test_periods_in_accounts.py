"""Tables per period in several storage accounts: one that does not answer does not affect the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pytest

from shared.catalog.period_tables import drop_expired_tables
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import StorageUnavailableError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from tests.worlds.dated import at, person
from tests.worlds.world import World

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")

TEXT = """
version: 1
sources: {people: {cosmos: {database: d, container: people}, partitionKey: id}}
indexes:
  by-town:
    source: people
    partition: town
    project: [phone]
    expire: {path: until, after: 30d, tables: month}
    placement: {by: list, map: {Lund: A_FIRST}, default: INDEX_STORAGE}
"""


class Down(DirectCarrier):
    """An account that gives no answer when it is told to."""

    is_down = False

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        if self.is_down:
            raise StorageUnavailableError("No answer came: try again.", outcome_unknown=False)
        return await super().carry(call, store)


@dataclass
class TwoAccounts:
    """An index in two accounts. The one that comes first may go down."""

    world: World
    first: MemoryTables
    carrier: Down

    def lookups(self) -> Lookups:
        """Lookups in both."""
        generations = DefinedGenerations(self.world.definitions)
        placed = {"A_FIRST": Replicas(self.first)}
        replicas = Replicas(self.world.tables)
        return Lookups(
            generations, replicas, PageTokens(b"key"), placed=placed, now_seconds=lambda: self.world.now_seconds
        )


@pytest.fixture
async def two_accounts() -> TwoAccounts:
    """With a person in each of them."""
    carrier = Down()
    first, second = MemoryTables(carrier=carrier), MemoryTables()
    world = World(second, TEXT)
    world.accounts = Accounts({DEFAULT_ACCOUNT: second, "A_FIRST": first})
    world.restart()
    await world.create_tables()
    (generation,) = world.plan.generations
    await first.create_table(generation.table)
    await world.apply(
        world.writer.change("lund", person("2026-12-20T00:00:00Z", town="Lund")),
        world.writer.change("oslo", person("2026-12-20T00:00:00Z", town="Oslo")),
    )
    return TwoAccounts(world, first, carrier)


async def test_a_lookup_asks_only_the_accounts_that_it_reads(two_accounts: TwoAccounts) -> None:
    """Whether tables were listed before or not."""
    two_accounts.carrier.is_down = True
    reader = two_accounts.lookups()
    for _ in range(2):
        assert [entry["id"] for entry in (await reader.find("by-town", {"town": "Oslo"})).entries] == ["oslo"]
        two_accounts.world.now_seconds += 60
    with pytest.raises(StorageUnavailableError):
        await reader.find("by-town", {"town": "Lund"})


async def test_tables_are_dropped_where_there_is_an_answer(two_accounts: TwoAccounts) -> None:
    """The error of the other account is raised in the end, and its tables go later."""
    world, (generation,) = two_accounts.world, two_accounts.world.plan.generations
    at(world, "2027-02-02T00:00:00")
    two_accounts.carrier.is_down = True
    with pytest.raises(StorageUnavailableError):
        await drop_expired_tables(world.accounts, [world.plan], world.now_seconds)
    assert await world.tables.list_tables(f"{generation.table}p") == ()
    two_accounts.carrier.is_down = False
    assert await drop_expired_tables(world.accounts, [world.plan], world.now_seconds) == 1
