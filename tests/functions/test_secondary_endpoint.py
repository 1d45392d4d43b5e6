"""A lookup reads from the account's secondary endpoint when the primary gives no answer, if the app is told to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
import requests

from shared.lookup.generations import DefinedGenerations
from shared.tables.client import TableClient
from shared.tables.port import RowRange
from shared.tables.wire.account import Account
from tests.contract.tables.table_services import TIMING
from tests.functions.apps import serving
from tests.support import ROOT
from tests.worlds.lookup_facts import DEFINITIONS

if TYPE_CHECKING:
    from pathlib import Path

TARGET = "/api/indexes/customers-by-town/entries?town=Redmond&maxpagesize=2"


def with_dead_primary(connection: str) -> str:
    """The same account, whose primary endpoint is a port on which nothing listens."""
    parts = dict(part.split("=", 1) for part in connection.split(";") if part)
    parts["TableSecondaryEndpoint"] = parts["TableEndpoint"]
    parts["TableEndpoint"] = "http://127.0.0.1:1/devstoreaccount1"
    return ";".join(f"{name}={value}" for name, value in parts.items())


@pytest.mark.parametrize(("switch", "status"), [("true", 200), ("false", 503)])
def test_the_secondary_answers_only_when_it_is_switched_on(
    lookup_settings: dict[str, str], tmp_path: Path, switch: str, status: int
) -> None:
    """The answer says where it was read."""
    storage = with_dead_primary(lookup_settings["INDEX_STORAGE"])
    settings = {**lookup_settings, "INDEX_STORAGE": storage, "READ_SECONDARY": switch}
    with serving(ROOT, settings, "--http-only", log_folder=tmp_path) as app:
        answer = requests.get(app.url + TARGET, timeout=30)
    assert answer.status_code == status
    assert answer.json().get("readFrom") == ("secondary" if status == 200 else None)


def test_the_emulators_own_secondary_endpoint_is_read(lookup_settings: dict[str, str]) -> None:
    """Its address and signature are made as the service wants them."""

    async def read() -> int:
        account = Account.from_connection_string(lookup_settings["INDEX_STORAGE"]).secondary()
        generation = await DefinedGenerations(DEFINITIONS).serving("customers-by-town")
        async with TableClient(account, TIMING) as client:
            return len((await client.query(generation.table, RowRange("Redmond !"))).rows)

    assert asyncio.run(read()) == 8
