"""What a fresh process pays before it can work: the import of the app, and the way to the first answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cases.facts import ONE_INDEX_YAML, customers
from bench.cases.pipeline import Pipeline
from bench.measure.case import Case
from bench.measure.measurement import Bar
from bench.processes.children import Child
from bench.processes.servers import azurite_serving
from shared.app.world import TIMING
from shared.definitions.files import write_compiled
from shared.entries.projection.generations import plan_of
from shared.tables.client import TableClient
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME = "cold-start"
FACTS = 80
IMPORTS = "azure.functions + aiohttp"
SDK = "azure.functions + azure-data-tables"

_LOOK_UP = """
import asyncio, function_app
from shared.app.app import app
async def look_up():
    api = app().lookup.lookups
    return await api.find("by-town", {"town": "town 0", "maxpagesize": "10"})
page = asyncio.run(look_up())
assert len(page.entries) == 10
"""
_QUERY = """
import os, azure.functions
from azure.data.tables import TableServiceClient
client = TableServiceClient.from_connection_string(os.environ["INDEX_STORAGE"]).get_table_client(os.environ["TABLE"])
rows = next(client.query_entities("PartitionKey eq 'town 0 !'", results_per_page=10).by_page())
assert len(list(rows)) == 10
"""


async def measure(meter: Meter) -> list[Measurement]:
    """The definitions are compiled, as in a deployment; the interpreter's own start is in neither number."""
    with tempfile.TemporaryDirectory(prefix="bench-cold-") as folder:
        definitions = Path(folder) / "indexes.yaml"
        definitions.write_text(ONE_INDEX_YAML, encoding="utf-8")
        write_compiled(definitions)
        async with azurite_serving() as connection:
            table = await _fill(connection)
            settings = {"INDEX_DEFINITIONS": str(definitions), "INDEX_STORAGE": connection, "TABLE": table}
            return [await _import(meter, settings), await _first_answer(meter, settings)]


async def _fill(connection: str) -> str:
    """Some entries, and the name of their table."""
    async with TableClient(Account.from_connection_string(connection), TIMING) as client:
        pipeline = Pipeline(ONE_INDEX_YAML, client)
        await pipeline.prepare()
        await pipeline.apply(customers(FACTS * 2))
        (generation,) = plan_of(pipeline.definitions, pipeline.source).generations
        return generation.table


async def _import(meter: Meter, settings: dict[str, str]) -> Measurement:
    return await meter.compare(
        "import",
        unit="start",
        subject=Case("import of the app", 1, Child("import function_app", 1, settings).run),
        yardsticks=[Case(IMPORTS, 1, Child("import azure.functions, aiohttp").run)],
        bars=[Bar(at_most=1.2, against=IMPORTS)],
    )


async def _first_answer(meter: Meter, settings: dict[str, str]) -> Measurement:
    return await meter.compare(
        "import and first lookup",
        unit="start",
        subject=Case("the app", 1, Child(_LOOK_UP, 1, settings).run),
        yardsticks=[Case(SDK, 1, Child(_QUERY, 1, settings).run)],
    )
