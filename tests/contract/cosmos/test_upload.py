"""Facts are written many at a time; versions of one fact in the order in which they come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from azure.core.exceptions import AzureError

from shared.sources.upload import IN_FLIGHT, upload

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

    from tests.contract.cosmos.server import LocalCosmos


async def test_the_last_version_of_a_fact_wins(async_container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """Also when the service takes longer for one before it."""
    local_cosmos.order(kind="delay", times=3, method="POST", path="/docs", delayMs=300)
    await upload(async_container, ({"id": "a", "pk": "p", "n": n} for n in range(10)))
    assert (await async_container.read_item("a", "p"))["n"] == 9


async def test_facts_of_the_same_id_in_many_partitions_are_all_written(async_container: ContainerProxy) -> None:
    """An id alone does not say who a fact is."""
    await upload(async_container, ({"id": "a", "pk": str(n)} for n in range(40)))
    found = [each["pk"] async for each in async_container.query_items("SELECT c.pk FROM c")]
    assert sorted(found, key=int) == [str(n) for n in range(40)]


async def test_a_refused_version_ends_the_upload(async_container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """Those that wait for it are not written, and wait no longer."""
    local_cosmos.order(kind="refuse", times=1, method="POST", path="/docs", status=403)
    with pytest.RaisesGroup(AzureError):
        await upload(async_container, ({"id": "a", "pk": "p", "n": n} for n in range(10)))
    assert [each async for each in async_container.query_items("SELECT c.n FROM c")] == []


class _FullHouse:
    """A container that answers nobody before all that may are writing."""

    def __init__(self) -> None:
        self._all_in = asyncio.Barrier(IN_FLIGHT)

    async def upsert_item(self, _: dict[str, Any]) -> None:
        await self._all_in.wait()


async def test_different_facts_are_written_at_once() -> None:
    """As many as ever; each round would wait for ever with one fewer."""
    written: list[None] = []
    facts = ({"id": str(number)} for number in range(3 * IN_FLIGHT))
    await upload(cast("ContainerProxy", _FullHouse()), facts, lambda: written.append(None))
    assert len(written) == 3 * IN_FLIGHT
