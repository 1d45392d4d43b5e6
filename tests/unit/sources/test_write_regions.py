"""An account that takes writes in several regions is named as such; one that does not answer is not waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from azure.cosmos.aio import CosmosClient

from local.emulators.cosmos.http.account import describe_account
from shared.app.app import App
from shared.app.probes import without_order
from shared.app.settings import Settings
from shared.sources.write_regions import ASKED_AGAIN_SECONDS, TRIED_AGAIN_SECONDS, WriteRegions
from tests.support import ROOT

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

KEY = "a2V5"


class CosmosAccount:
    """The account document over HTTP, with regions that can change."""

    def __init__(self) -> None:
        self.regions = ["West Europe", "East US"]
        self.asked = 0
        self.url = ""

    async def describe(self, _: web.Request) -> web.Response:
        """The document."""
        self.asked += 1
        account: dict[str, Any] = describe_account(self.url)
        locations = [{"name": name, "databaseAccountEndpoint": self.url} for name in self.regions]
        account |= {"writableLocations": locations, "enableMultipleWriteLocations": len(locations) > 1}
        return web.json_response(account)

    def client(self) -> CosmosClient:
        """The SDK's own."""
        return CosmosClient(self.url, KEY)


@pytest.fixture
async def account() -> AsyncIterator[CosmosAccount]:
    """A served account."""
    served = CosmosAccount()
    app = web.Application()
    app.router.add_get("/", served.describe)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield served
    await runner.cleanup()


async def test_several_write_regions_are_named(account: CosmosAccount) -> None:
    """In the order of the account."""
    regions = WriteRegions(account.client, lambda: 0.0)
    await regions.ask()
    assert regions.last_known() == ("West Europe", "East US")


async def test_one_write_region_is_none_of_several(account: CosmosAccount) -> None:
    """Also when it was several before."""
    regions = WriteRegions(account.client, lambda: 0.0)
    await regions.ask()
    account.regions = ["West Europe"]
    await regions.ask()
    assert regions.last_known() == ()


async def test_an_account_is_asked_once_an_hour_and_not_waited_for(account: CosmosAccount) -> None:
    """Readiness is asked every few seconds."""
    now = 0.0
    regions = WriteRegions(account.client, lambda: now)
    assert regions.last_known() == ()
    first = regions._asking
    assert first is not None
    await first
    assert regions.last_known() == ("West Europe", "East US")
    assert regions._asking is first
    now = ASKED_AGAIN_SECONDS
    regions.last_known()
    assert regions._asking is not first
    assert regions._asking is not None
    await regions._asking


async def test_an_account_that_did_not_answer_is_asked_again_after_a_minute(account: CosmosAccount) -> None:
    """Most often it is only starting, or busy."""
    now, url = 0.0, account.url
    regions = WriteRegions(account.client, lambda: now)

    async def asked_at(seconds: float) -> asyncio.Task[None] | None:
        nonlocal now
        now = seconds
        regions.last_known()
        if regions._asking is not None:
            await regions._asking
        return regions._asking

    account.url = "not a url"
    first = await asked_at(0.0)
    assert await asked_at(TRIED_AGAIN_SECONDS - 1) is first
    account.url = url
    second = await asked_at(TRIED_AGAIN_SECONDS)
    assert second is not first
    assert regions.last_known() == ("West Europe", "East US")
    assert await asked_at(3 * TRIED_AGAIN_SECONDS) is second


async def test_an_account_that_does_not_answer_leaves_what_is_known(account: CosmosAccount) -> None:
    """A connection that is not set does, too."""
    regions = WriteRegions(account.client, lambda: 0.0)
    await regions.ask()
    account.url = "not a url"
    await regions.ask()
    assert regions.last_known() == ("West Europe", "East US")


async def test_readiness_names_the_sources_without_an_order(
    account: CosmosAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of Cosmos DB that declare no version."""
    app = App(ROOT, Settings({}))
    monkeypatch.setattr(app, "cosmos", account.client)
    await app.write_regions.ask()
    (limit,) = without_order(app)
    assert limit.startswith("Cosmos DB takes writes in several regions (West Europe, East US)")
    assert limit.endswith(": customers, movies.")
