"""Transactional batches of the local Cosmos DB, through its all versions feed and the pipeline, into an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from local.host.triggers.cosmos.extension_json import ExtensionJson
from shared.entries.rows.json_text import loads
from tests.worlds.all_versions import all_versions_world

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import ContainerProxy

ALL_VERSIONS: Any = "AllVersionsAndDeletes"


def person(phone: str) -> dict[str, Any]:
    return {"id": "f", "town": "A", "name": "n", "phone": phone}


BATCHES: dict[str, tuple[list[Any], list[str]]] = {
    "delete, create": ([("delete", ("f",)), ("create", (person("2"),))], ["2"]),
    "delete, create, delete": ([("delete", ("f",)), ("create", (person("2"),)), ("delete", ("f",))], []),
    **{
        f"replace, replace {number}": (
            [("replace", ("f", person(f"old{number}"))), ("replace", ("f", person(f"new{number}")))],
            [f"new{number}"],
        )
        for number in range(4)
    },
}


@pytest.mark.parametrize("name", BATCHES)
async def test_the_index_has_what_the_container_has(new_container: Callable[..., ContainerProxy], name: str) -> None:
    """Also when the pages come once more, to another worker, with the smallest pages that there are."""
    batch, expected = BATCHES[name]
    container = new_container(["/id"])
    list(container.query_items_change_feed(mode=ALL_VERSIONS))
    token = container.client_connection.last_response_headers["etag"]
    container.create_item(person("1"))
    container.execute_item_batch(batch, partition_key=["f"])
    pages: Any = container.query_items_change_feed(mode=ALL_VERSIONS, continuation=token, max_item_count=1).by_page()
    found = [loads(ExtensionJson().payload(items)) for page in pages if (items := list(page))]
    assert [len(page) for page in found] == [1, len(batch)]
    world = await all_versions_world()
    for page in [*found, *found]:
        await world.feed(*page)
        world.restart()
    assert await world.phones() == expected
