"""Transactions of an all versions feed converge, however often their pages come, in which order and to which worker."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.worlds.all_versions import all_versions_world, delete, upsert

FACTS = ("f", "g", "h")


@dataclass(frozen=True)
class Delivery:
    """Consecutive transactions in one page, to one of two workers, who may have been replaced before."""

    first: int
    last: int
    worker: int
    is_restarted: bool


def items_of(operations: list[tuple[str, str | None]], lsn: int) -> list[dict[str, Any]]:
    """The items of one transaction: a phone is written, None deletes."""
    return [delete(fact, lsn) if phone is None else upsert(fact, phone, lsn) for fact, phone in operations]


operation = st.tuples(st.sampled_from(FACTS), st.none() | st.sampled_from(["1", "2", "3", "4"]))
transactions = st.lists(st.lists(operation, min_size=1, max_size=5), min_size=1, max_size=5)


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[list[tuple[str, str | None]]], list[Delivery]]:
    """A history, and pages in any order that hold every transaction at least once. A transaction is never cut."""
    history = draw(transactions)
    last = len(history) - 1
    spans = st.tuples(st.integers(0, last), st.integers(0, last)).map(sorted)
    pages = [*([number, number] for number in range(len(history))), *draw(st.lists(spans, max_size=4))]
    return history, [
        Delivery(low, high, draw(st.integers(0, 1)), draw(st.booleans())) for low, high in draw(st.permutations(pages))
    ]


@given(deliveries())
def test_the_last_operation_on_each_fact_is_what_is_found(
    delivered: tuple[list[list[tuple[str, str | None]]], list[Delivery]],
) -> None:
    """In the order of the feed, also inside a transaction."""
    history, pages = delivered
    newest = {fact: phone for operations in history for fact, phone in operations}
    assert asyncio.run(_found_after(history, pages)) == sorted(phone for phone in newest.values() if phone is not None)


async def _found_after(history: list[list[tuple[str, str | None]]], pages: list[Delivery]) -> list[str]:
    world = await all_versions_world()
    appliers = [world.applier]
    world.restart()
    appliers.append(world.applier)
    for page in pages:
        if page.is_restarted:
            world.restart()
            appliers[page.worker] = world.applier
        world.applier = appliers[page.worker]
        span = range(page.first, page.last + 1)
        await world.feed(*[item for number in span for item in items_of(history[number], number + 1)])
    return await world.phones()
