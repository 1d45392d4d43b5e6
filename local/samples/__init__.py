"""Facts made for this project, to look things up in: customers and movies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azure.cosmos.aio import CosmosClient

from shared.facts.upload import upload

if TYPE_CHECKING:
    from shared.definitions.model import Definitions

HERE = Path(__file__).parent


def facts(source: str) -> list[dict[str, Any]]:
    """The sample facts of a source; none when there are none for it."""
    path = HERE / f"{source}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


async def load_samples(endpoint: str, key: str, definitions: Definitions) -> int:
    """Fill every empty container that there are samples for; says how many facts were written."""
    count = 0
    async with CosmosClient(endpoint, key) as client:
        for source in definitions.sources.values():
            if source.cosmos is None or not (samples := facts(source.name)):
                continue
            database = client.get_database_client(source.cosmos.database)
            container = database.get_container_client(source.cosmos.container)
            if not [item async for item in container.query_items("SELECT TOP 1 c.id FROM c")]:
                await upload(container, samples)
                count += len(samples)
    return count
