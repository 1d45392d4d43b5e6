"""What a document costs that the Python SDK reads from the change feed of the local Cosmos DB."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from bench.case import Case
from bench.measurement import Bar
from bench.processes import cosmos_serving

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "cosmos-feed"
DOCUMENTS = 10_000
BATCH = 100
PAGE = 1000
# 10 000 documents a second.
BAR_SECONDS = 1 / 10_000
_FILLING = "x" * 500


async def fill(container: ContainerProxy, count: int) -> None:
    """Documents of some 600 bytes, a hundred to a partition key."""
    for first in range(0, count, BATCH):
        key = f"p{first // BATCH}"
        documents = ({"id": str(i), "pk": key, "n": i, "filling": _FILLING} for i in range(first, first + BATCH))
        await container.execute_item_batch([("create", (document,)) for document in documents], partition_key=key)


def reading(container: ContainerProxy, count: int) -> Case:
    """The whole feed, from the beginning."""

    async def run() -> dict[str, int]:
        feed = container.query_items_change_feed(start_time="Beginning", max_item_count=PAGE)
        documents = 0
        async for _ in feed:
            documents += 1
        return {"documents": documents}

    return Case("local Cosmos DB", count, run)


async def measure(meter: Meter) -> list[Measurement]:
    """One reader over all ranges."""
    from azure.cosmos import PartitionKey

    count = max(BATCH, meter.scaled(DOCUMENTS) // BATCH * BATCH)
    with tempfile.TemporaryDirectory() as folder:
        async with cosmos_serving(folder) as client:
            database = await client.create_database("bench")
            container = await database.create_container("facts", PartitionKey("/pk"))
            await fill(container, count)
            return [
                await meter.compare(
                    "change feed", unit="document", subject=reading(container, count), bars=[Bar(BAR_SECONDS)]
                )
            ]
