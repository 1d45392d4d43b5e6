"""The lookup client of an application: beside an app, on the same storage and the same Cosmos DB."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from shared.app.parts import Parts
from shared.definitions.loading.load import load
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import BadLookupError, NotSeenYetError
from shared.lookup.client import LookupClient, sees_value
from shared.lookup.sync_client import SyncLookupClient
from shared.tables.accounts import Accounts
from tests.contract.tables.table_services import key_client
from tests.worlds.world import services_on

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """
version: 1
sources: {people: {cosmos: {database: d, container: c}, partitionKey: pk}}
indexes: {by-town: {source: people, partition: town}}
"""


async def test_an_application_reads_its_own_writes(own_azurite: str, tmp_path: Path) -> None:
    """By what the ledger has; a change that does not come is not waited for without end."""
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS)
    item = {"id": "1", "pk": "p", "town": "Oslo", "_rid": "r", "_etag": '"e1"', "_ts": 1_700_000_000, "_lsn": 5}
    async with key_client(own_azurite) as tables:
        parts = Parts(load(DEFINITIONS).require(), services_on(Accounts({DEFAULT_ACCOUNT: tables}), time.time))
        await (await parts.ready()).worker.apply_latest("people", [item])
    async with LookupClient.connect(tmp_path / "indexes.yaml", own_azurite, sees_seconds=0.1) as client:
        asked = {"town": "Oslo", "sees": sees_value(item, "p")}
        assert [entry["id"] for entry in (await client.find("by-town", asked)).entries] == ["1"]
        assert (await client.count("by-town", asked)).count == 1
        later = {**item, "_etag": '"e2"', "_ts": 1_700_000_009}
        with pytest.raises(NotSeenYetError):
            await client.find("by-town", {"town": "Oslo", "sees": sees_value(later, "p")})
        with pytest.raises(NotSeenYetError):
            await client.find_many("by-town", [{"town": "Oslo"}], {"sees": sees_value(later, "p")})


def test_code_without_an_event_loop_has_the_same_calls(lookup_settings: dict[str, str]) -> None:
    """Each waits for its answer; facts are fetched, and errors are the same."""
    settings = lookup_settings
    where = (settings["INDEX_DEFINITIONS"], settings["INDEX_STORAGE"])
    with SyncLookupClient.connect(*where, cosmos=settings["COSMOS"]) as client:
        asked: dict[str, Any] = {"town": "Redmond", "maxpagesize": 3}
        assert len(client.find("customers-by-town", asked).entries) == 3
        assert [entry["id"] for entry in client.entries("customers-by-town", asked)] == ["20", *"1234567"]
        expanded = list(client.entries("customers-by-town", {**asked, "expand": "fact"}))
        assert [entry["fact"]["id"] for entry in expanded] == ["20", *"1567"]
        assert client.count("customers-by-town", {"town": "Redmond"}).count == 8
        assert len(client.find_many("customers-by-town", [asked, {"town": ""}])) == 2
        assert client.explain("customers-by-town", asked)["access"] == "partition"
        with pytest.raises(BadLookupError):
            client.find("customers-by-town", {"twon": "x"})
