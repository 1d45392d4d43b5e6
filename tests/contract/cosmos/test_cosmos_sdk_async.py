"""The asynchronous SDK: everything that takes a way of its own there, and many requests at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import exceptions

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

    from tests.contract.cosmos.server import LocalCosmos


async def drain(container: ContainerProxy, **options: Any) -> tuple[list[dict[str, Any]], str]:
    """All changes there are, and the token to go on with."""
    pages: Any = container.query_items_change_feed(**options).by_page()
    changes = [change async for page in pages async for change in page]
    token = pages.continuation_token or container.client_connection.last_response_headers["etag"]
    assert isinstance(token, str)
    return changes, token


async def test_items_live_their_life(async_container: ContainerProxy) -> None:
    """Create, read, replace, patch, upsert, delete and their refusals."""
    created = await async_container.create_item({"id": "a", "pk": "p", "n": 1})
    assert (await async_container.read_item("a", "p"))["_etag"] == created["_etag"]
    with pytest.raises(exceptions.CosmosResourceExistsError):
        await async_container.create_item({"id": "a", "pk": "p"})
    await async_container.replace_item("a", {"id": "a", "pk": "p", "n": 2})
    await async_container.patch_item("a", "p", [{"op": "incr", "path": "/n", "value": 3}])
    assert (await async_container.upsert_item({"id": "b", "pk": "p"}))["id"] == "b"
    assert [each["n"] async for each in async_container.query_items("SELECT * FROM c WHERE c.n = 5")] == [5]
    await async_container.delete_item("a", "p")
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        await async_container.read_item("a", "p")


async def test_a_batch_is_all_or_nothing(async_container: ContainerProxy) -> None:
    """One failing operation undoes the others."""
    create = ("create", ({"id": "a", "pk": "p"},))
    with pytest.raises(exceptions.CosmosBatchOperationError):
        await async_container.execute_item_batch([create, create], partition_key="p")
    assert [each async for each in async_container.read_all_items()] == []
    results = await async_container.execute_item_batch([create], partition_key="p")
    assert [result["statusCode"] for result in results] == [201]


async def test_concurrent_writers_and_a_reader_agree(async_container: ContainerProxy) -> None:
    """A feed read beside 300 writes of 60 items ends with every item in its newest version."""

    async def write(start: int) -> None:
        for i in range(start, 300, 10):
            await async_container.upsert_item({"id": f"{i % 60}", "pk": f"p{i % 60}", "n": i})

    newest: dict[str, int] = {}
    token: str | None = None

    async def read() -> int:
        nonlocal token
        start: dict[str, Any] = {"continuation": token} if token else {"start_time": "Beginning"}
        changes, token = await drain(async_container, **start)
        newest.update({change["id"]: change["_lsn"] for change in changes})
        return len(changes)

    writers = asyncio.gather(*(write(start) for start in range(10)))
    while not writers.done():
        await read()
    await writers
    while await read():
        pass
    stored = {each["id"]: each["n"] async for each in async_container.read_all_items()}
    changes, _ = await drain(async_container, start_time="Beginning")
    assert {change["id"]: change["n"] for change in changes} == stored
    assert {change["id"]: change["_lsn"] for change in changes} == newest
    assert len(stored) == 60


async def test_all_versions_arrive(async_container: ContainerProxy) -> None:
    """Creates, replaces and deletes, in order."""
    _, token = await drain(async_container, mode="AllVersionsAndDeletes")
    await async_container.create_item({"id": "a", "pk": "p"})
    await async_container.upsert_item({"id": "a", "pk": "p", "n": 2})
    await async_container.delete_item("a", "p")
    changes, _ = await drain(async_container, mode="AllVersionsAndDeletes", continuation=token)
    assert [each["metadata"]["operationType"] for each in changes] == ["create", "replace", "delete"]


async def test_a_split_under_load_loses_nothing(async_container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """Ranges split while writers write and a reader reads: every document is seen."""
    seen: list[str] = []
    token: str | None = None
    expected = [f"{i:03}" for i in range(200)]

    async def write(start: int) -> None:
        for i in range(start, 200, 5):
            await async_container.create_item({"id": expected[i], "pk": f"p{i}"})

    async def read() -> int:
        nonlocal token
        start: dict[str, Any] = {"continuation": token} if token else {"start_time": "Beginning"}
        changes, token = await drain(async_container, **start, max_item_count=7)
        seen.extend(change["id"] for change in changes)
        return len(changes)

    writers = asyncio.gather(*(write(start) for start in range(5)))
    for number in range(5):
        await read()
        link = f"dbs/{async_container.container_link.split('/')[1]}/colls/{async_container.id}"
        await asyncio.to_thread(local_cosmos.order, kind="split", container=link, range=str(number))
    await writers
    while await read():
        pass
    assert sorted(seen) == expected
