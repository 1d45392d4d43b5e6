"""An app opens the connection of its first lookup, and reads the catalog, while its host goes on starting."""

from __future__ import annotations

import asyncio
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import shared.app.app
from shared.app.app import App
from shared.app.settings import Settings
from shared.errors import IndexTablesError
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MISSING = '{"odata.error": {"code": "TableNotFound", "message": {"lang": "en-US", "value": "no"}}}'


class Storage:
    """A Table service that has no table, and counts calls and connections."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.connections: set[object] = set()
        self.address = ""
        self.apps: list[App] = []

    async def answer(self, request: web.Request) -> web.Response:
        """404."""
        self.calls.append(request.path)
        self.connections.add(request.transport)
        return web.Response(status=404, text=MISSING, content_type="application/json")

    def app(self, **settings: str) -> App:
        """An app on it."""
        connection = f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;TableEndpoint={self.address};"
        environment = {"INDEX_STORAGE": connection, "AzureWebJobsStorage": connection, **settings}
        self.apps.append(App(ROOT, Settings(environment)))
        return self.apps[-1]


@pytest.fixture
async def storage() -> AsyncIterator[Storage]:
    found = Storage()
    served = web.Application()
    served.router.add_route("*", "/{tail:.*}", found.answer)
    async with TestServer(served) as server:
        found.address = str(server.make_url("/a"))
        yield found
        for app in found.apps:
            if "lookup" in vars(app):
                for client in app.lookup.catalog_readers:
                    await client.close()


async def look_up(app: App) -> None:
    await app.lookup.lookups.find("customers-by-town", {"town": "Oslo"})


async def test_the_first_lookup_finds_an_open_connection_and_the_catalog(storage: Storage) -> None:
    app = storage.app()
    await app.lookup.connect()
    assert len(storage.calls) == 1
    await look_up(app)
    assert len(storage.calls) == 2, "the catalog is not read again"
    assert len(storage.connections) == 1


async def test_a_storage_account_that_does_not_answer_is_told_to_lookups(storage: Storage) -> None:
    app = storage.app(INDEX_STORAGE="nonsense")
    await app.lookup.connect()
    with pytest.raises(IndexTablesError):
        await look_up(app)
    del storage.apps[:]  # it has no clients


async def test_the_app_connects_on_the_loop_that_loads_it(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the runtime of the functions does."""
    app = storage.app()
    monkeypatch.setattr("functions.lookups.app", lambda: app)
    monkeypatch.setattr(shared.app.app, "app", lambda: app)
    spec = spec_from_file_location("loaded_here", ROOT / "function_app.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    assert isinstance(loaded.connecting, asyncio.Task)
    await loaded.connecting
    assert len(storage.calls) == 1
