"""Readiness is asked of storage every few seconds at most, however often anybody asks the app."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from shared.app.app import App
from shared.app.probes import KEPT_SECONDS
from shared.app.settings import Settings
from shared.errors import StorageUnreachableError
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MISSING = '{"odata.error": {"code": "TableNotFound", "message": {"lang": "en-US", "value": "no"}}}'


class Storage:
    """A Table service that has no table, and counts the calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.is_down = False
        self.address = ""
        self.apps: list[App] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.calls += 1
        if self.is_down:
            return web.Response(status=403)
        return web.Response(status=404, text=MISSING, content_type="application/json")

    def app(self) -> App:
        connection = f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;TableEndpoint={self.address};"
        self.apps.append(App(ROOT, Settings({"INDEX_STORAGE": connection, "AzureWebJobsStorage": connection})))
        return self.apps[-1]


@pytest.fixture
async def storage() -> AsyncIterator[Storage]:
    found = Storage()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", found.answer)
    async with TestServer(app) as server:
        found.address = str(server.make_url("/a"))
        yield found
        for client in [client for each in found.apps for client in each.lookup.catalog_readers]:
            await client.close()


async def test_four_hundred_questions_are_a_few_calls(storage: Storage) -> None:
    """One after the other and all at once."""
    readiness = storage.app().readiness
    for _ in range(200):
        assert await readiness.check() == []
    await asyncio.gather(*[readiness.check() for _ in range(200)])
    assert storage.calls <= 4


async def test_what_is_wrong_is_kept_as_long(storage: Storage) -> None:
    """The error is raised to everybody who asks."""
    storage.is_down = True
    readiness = storage.app().readiness
    for _ in range(50):
        with pytest.raises(StorageUnreachableError):
            await readiness.check()
    assert storage.calls <= 4


async def test_after_a_few_seconds_it_is_asked_again(storage: Storage) -> None:
    """A clock that has gone on, and storage that is back."""
    app = storage.app()
    storage.is_down = True
    with pytest.raises(StorageUnreachableError):
        await app.readiness.check()
    storage.is_down = False
    app.readiness._asked_at = app.world.timing.steady_seconds() - KEPT_SECONDS
    assert await app.readiness.check() == []
