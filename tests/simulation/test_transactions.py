"""Transactions of an all versions feed under every interleaving of workers, crashes, late and lost requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.simulation.programs import Worker
from tests.simulation.scenario import Scenario
from tests.simulation.test_every_interleaving import holds
from tests.worlds.all_versions import AllVersionsWorld, delete, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.changes.change import Change

WORLD = AllVersionsWorld()
FIRST = [upsert("f", "1", 3, "create")]
# The last item of each is what is left of the fact; the digests of the two phones sort the other way round.
TRANSACTIONS = {
    "deleted and created": [delete("f", 6), upsert("f", "2", 6, "create")],
    "deleted and created elsewhere": [delete("f", 6), upsert("f", "2", 6, "create", town="B")],
    "moved and back": [upsert("f", "2", 6, town="B"), upsert("f", "3", 6)],
    "replaced twice": [upsert("f", "new", 6), upsert("f", "old", 6)],
    "replaced twice, other phones": [upsert("f", "old", 6), upsert("f", "new", 6)],
    "created and deleted": [upsert("f", "2", 6, town="B"), delete("f", 6)],
}
AFTER = [delete("f", 7), upsert("f", "4", 7, "create")]


def read(page: Sequence[dict[str, Any]]) -> list[Change]:
    """What a worker applies of a page."""
    return asyncio.run(WORLD.read(page))


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_two_workers_get_the_same_transaction(name: str) -> None:
    """One of them with the transaction before it, as after a hand-over; both may crash."""
    items = TRANSACTIONS[name]
    longer, page = tuple(read([*FIRST, *items])), tuple(read(items))
    programs = Worker(WORLD.plan, (longer,)), Worker(WORLD.plan, (page,), reads_first=True)
    prefix = (Worker(WORLD.plan, (tuple(read(FIRST)),)),)
    (left,) = read(items[-1:])
    holds(Scenario(name, WORLD.plan, (left,), programs, prefix, crashes=2, faults=1))


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_transaction_comes_again_beside_the_next_one(name: str) -> None:
    """The older page is late; the next transaction deletes and creates the fact once more."""
    items = TRANSACTIONS[name]
    late, both = tuple(read(items)), tuple(read([*items, *AFTER]))
    programs = Worker(WORLD.plan, (late,), reads_first=True), Worker(WORLD.plan, (both,))
    prefix = (Worker(WORLD.plan, (tuple(read(FIRST)),)),)
    (left,) = read(AFTER[-1:])
    holds(Scenario(name, WORLD.plan, (left,), programs, prefix, crashes=1, faults=1))
