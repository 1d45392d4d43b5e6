"""`demo`: a whole local run with a tour of real requests, which ends by itself."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp
from azure.cosmos.aio import CosmosClient

from local.process.errors import LocalRunError
from local.run.folder import DataFolder
from local.run.samples import facts
from local.run.tour_text import TRY_NEXT, definition_of, shown
from local.run.up import UpOptions, up
from shared.app.app import app
from shared.app.connection_settings import EventHubsConnection
from shared.definitions.files import read_definitions
from shared.sources.sending import FactEvents, send

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azure.cosmos.aio import ContainerProxy

    from local.process.lifeline import Stop
    from shared.definitions.model import Source

TOWNS = "indexes/customers-by-town/entries"
ORDERS = "indexes/orders-newest-first/entries"
TOTALS = "indexes/order-totals/entries"
TOWN, NEW_TOWN, ACTOR, BUYER = "Redmond", "Kirkland", "Ingrid Falk", "c-056"
ORDER_STATES = ("open", "paid", "sent")
# How long the tour waits for the samples to be indexed, and between two looks.
PATIENCE_SECONDS, LOOK_SECONDS = 30.0, 0.2


async def demo(app_folder: Path, stop: Stop) -> None:
    """Run everything in a folder of its own, take the tour, stop."""
    with tempfile.TemporaryDirectory(prefix="index-tables-demo-") as name:
        folder = DataFolder(Path(name))
        running = asyncio.create_task(up(UpOptions(app_folder, folder.path, in_memory=True, is_for_people=False), stop))
        try:
            await _wait_for_endpoints(folder, running)
            await _tour(json.loads(folder.endpoints.read_text()), app_folder / "indexes.yaml")
            print(TRY_NEXT, flush=True)
        finally:
            stop.request()
            await running


async def _wait_for_endpoints(folder: DataFolder, running: asyncio.Task[None]) -> None:
    while not folder.endpoints.is_file():
        if running.done():
            await running
            raise LocalRunError("The local run was stopped before the tour began.")
        await asyncio.sleep(0.05)


async def _tour(endpoints: dict[str, Any], definitions: Path) -> None:
    cosmos, orders = endpoints["cosmos"], read_definitions(definitions).require().sources["orders"]
    async with (
        aiohttp.ClientSession() as session,
        CosmosClient(cosmos["endpoint"], cosmos["key"]) as client,
    ):
        customers = client.get_database_client("shop").get_container_client("customers")
        hub = OrdersHub(EventHubsConnection(endpoints["eventHubs"]["connectionString"]), orders)
        await Tour(endpoints["http"], session, customers, hub, definitions).take()


@dataclass(frozen=True, slots=True)
class OrdersHub:
    """Where orders are sent to."""

    connection: EventHubsConnection
    source: Source

    async def send(self, *orders: dict[str, Any]) -> None:
        """Versions of orders, as events."""
        open_hub = partial(app().connections.event_hub_producer, self.connection)
        await send(open_hub, str(self.source.event_hub), map(FactEvents(self.source).event, orders))


class Tour:
    """The story: define, find, explain, page, change, find again, delete, send events."""

    def __init__(
        self,
        base: str,
        session: aiohttp.ClientSession,
        customers: ContainerProxy,
        orders: OrdersHub,
        definitions: Path,
    ) -> None:
        self._base = base
        self._session = session
        self._customers = customers
        self._orders = orders
        self._definitions = definitions

    async def take(self) -> None:
        """All stages, in order; a wrong answer ends the demo with an error."""
        await self._show("The app is ready", "health/ready")
        await self._until_indexed()
        self._define("A definition says which question an index answers: no code, a few lines", "customers-by-town")
        found = await self._show(
            f"Who lives in {TOWN} and is called Jones, from X on? A range of the key, in order",
            TOWNS, {"town": TOWN, "lastName": "Jones", "firstName.ge": "X"},
        )  # fmt: skip
        self._define("A movie has many actors, and one entry for each", "movies-by-actor")
        await self._show(
            "Which movies is she in?", "indexes/movies-by-actor/entries", {"actor": ACTOR, "maxpagesize": "2"}
        )
        await self._show(
            "How would a lookup run, and what would it cost?",
            "indexes/movies-by-actor/explain", {"actor": ACTOR, "title.prefix": "The"},
        )  # fmt: skip
        await self._page()
        await self._move(found["value"][0])
        await self._delete(found["value"][0])
        await self._order()
        await self._show("A lookup that would have to scan is refused", TOWNS, expected=400)

    async def _until_indexed(self) -> None:
        """The samples were written and sent before the app started; their indexes follow within moments."""
        there = [customer for customer in facts("customers") if not customer.get("isDeleted")]
        await self._until_found(TOWNS, {"town": TOWN}, sum(customer.get("town") == TOWN for customer in there))
        orders = sum(order["customer"]["id"] == BUYER for order in facts("orders"))
        await self._until_found(ORDERS, {"customer": BUYER}, orders)

    async def _until_found(self, path: str, parameters: Mapping[str, str], wanted: int) -> None:
        url = self._url(path, parameters)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len((await self._get(url))[1].get("value", ())) < wanted:
                await asyncio.sleep(LOOK_SECONDS)

    async def _order(self) -> None:
        order = {"id": "o-demo", "customer": {"id": BUYER}, "placedAt": "2026-11-01T09:00:00Z", "total": 42.5}
        versions = [{**order, "revision": number, "status": state} for number, state in enumerate(ORDER_STATES, 1)]
        await self._orders.send(*versions)
        self._define("Orders arrive as events", "orders-newest-first")
        print("\n# A customer orders: three events, one for each state of the order")
        seen = {"id": order["id"], "partitionKey": BUYER, "version": len(versions)}
        parameters = {"customer": BUYER, "maxpagesize": "2", "sees": _json(seen)}
        newest = await self._show("The newest orders of a customer first", ORDERS, parameters)
        if newest["value"][0]["data"]["status"] != ORDER_STATES[-1]:
            raise LocalRunError(f"The newest order is not {ORDER_STATES[-1]}.")
        self._define("Groups can be counted and summed up as their facts change", "order-totals")
        summed = {"customer": BUYER, "sees": _json(seen)}
        totals = await self._show("What are they worth, state by state? A summary, always exact", TOTALS, summed)
        known = sum(sent["customer"]["id"] == BUYER for sent in facts("orders")) + 1
        if sum(group["data"]["orders"] for group in totals["value"]) != known:
            raise LocalRunError(f"The totals are not those of {known} orders.")

    async def _page(self) -> None:
        first = await self._show(
            "Page by page: the answer says where to go on",
            "indexes/customers-by-name/entries", {"lastName": "SMITH", "maxpagesize": "1"},
        )  # fmt: skip
        if link := first.get("nextLink"):
            print(f"\n# The next page\n$ curl '{link}'")
            _print(await self._get(link))

    async def _move(self, entry: dict[str, Any]) -> None:
        item = await self._customers.read_item(entry["id"], entry["partitionKey"])
        moved = await self._customers.upsert_item({**item, "town": NEW_TOWN})
        print(f"\n# A customer moves to {NEW_TOWN}: written to Cosmos DB, then looked up with read-your-writes")
        of_entry = {"town": NEW_TOWN, "lastName": entry["key"]["lastName"], "firstName": entry["key"]["firstName"]}
        await self._show(f"Does {entry['key']['firstName']} live there now?", TOWNS, {**of_entry, "sees": _seen(moved)})

    async def _delete(self, entry: dict[str, Any]) -> None:
        item = await self._customers.read_item(entry["id"], entry["partitionKey"])
        deleted = await self._customers.upsert_item({**item, "isDeleted": True})
        print("\n# The same customer is deleted, softly")
        of_entry = {"town": NEW_TOWN, "lastName": entry["key"]["lastName"], "firstName": entry["key"]["firstName"]}
        await self._show("And now? Nobody", TOWNS, {**of_entry, "sees": _seen(deleted)})

    def _define(self, title: str, index: str) -> None:
        print(f"\n# {title}\n{definition_of(self._definitions, index)}")

    async def _show(
        self, title: str, path: str, parameters: Mapping[str, str] | None = None, expected: int = 200
    ) -> dict[str, Any]:
        url = self._url(path, parameters)
        print(f"\n# {title}\n$ curl '{url}'")
        status, answer = await self._get(url)
        _print((status, answer))
        if status != expected:
            raise LocalRunError(f"{path} answered {status}, not {expected}.")
        return answer

    def _url(self, path: str, parameters: Mapping[str, str] | None) -> str:
        return f"{self._base}/api/{path}" + (f"?{urlencode(parameters)}" if parameters else "")

    async def _get(self, url: str) -> tuple[int, dict[str, Any]]:
        async with self._session.get(url) as response:
            return response.status, await response.json(content_type=None)


def _seen(item: dict[str, Any]) -> str:
    """What a caller knows of a write: the value of `sees`."""
    names = {"id": item["id"], "partitionKey": item["customerId"], "_etag": item["_etag"], "_ts": item["_ts"]}
    return _json(names)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _print(answer: tuple[int, dict[str, Any]]) -> None:
    print(shown(answer[1]), flush=True)
