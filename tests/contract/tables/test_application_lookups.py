"""Lookups in an application's own process, on a real Table service."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from local.run.azurite import ACCOUNT
from shared.errors import BadLookupError, DefinitionsError
from shared.lookup.asking.conditions import as_parameters
from shared.lookup.client import LookupClient
from shared.lookup.lookups import LookupPage
from shared.tables.wire.account import Account
from shared.tables.wire.transport import Wire
from tests.contract.tables.table_services import SelfMadeCredential, key_client, token_client
from tests.worlds.lookup_facts import YAML, facts, put_facts

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from local.run.azurite import StoragePorts

Secure = tuple["StoragePorts", "ssl.SSLContext"]


@pytest.fixture
async def definitions(azurite: str, tmp_path: Path) -> Path:
    """A definitions file whose tables hold facts."""
    (tmp_path / "indexes.yaml").write_text(YAML)
    async with key_client(azurite) as tables:
        await put_facts(tables, facts())
    return tmp_path / "indexes.yaml"


async def test_an_application_finds_entries_with_python_values(azurite: str, definitions: Path) -> None:
    """One page, or all of them; numbers, booleans and times as they are."""
    async with LookupClient.connect(definitions, azurite) as client:
        page = await client.find("customers-by-age", {"isVip": "yes", "age.ge": 26, "maxpagesize": 3})
        assert [entry["key"]["age"] for entry in page.entries] == [43, 42, 41]
        since = datetime(2024, 5, 3, tzinfo=UTC)
        orders = client.entries(
            "orders-newest-first", {"customer": "c-1", "paid": False, "placedAt.ge": since, "maxpagesize": 1}
        )
        assert [entry["id"] async for entry in orders] == ["o5", "o3"]
        nulls = await client.find("customers-by-name", {"lastName": "smith", "firstName": None})
        assert [entry["id"] for entry in nulls.entries] == ["21"]
        assert (await client.explain("customers-by-town", {"town": "x"}))["access"] == "partition"


async def test_a_page_is_continued_by_its_parameters(azurite: str, definitions: Path) -> None:
    """Also by another client of the same account."""
    async with LookupClient.connect(definitions, azurite) as client:
        page = await client.find("customers-by-town", {"town": "Redmond", "maxpagesize": 5})
    assert page.next_parameters is not None
    async with LookupClient.connect(definitions, azurite) as client:
        rest = await client.find("customers-by-town", page.next_parameters)
    assert [entry["id"] for entry in rest.entries] == ["5", "6", "7"]


async def test_an_account_without_keys_is_read_with_tokens(secure_azurite: Secure, tmp_path: Path) -> None:
    """As in Azure, where the templates switch keys off; pages follow each other in one client."""
    (tmp_path / "indexes.yaml").write_text(YAML)
    credential = SelfMadeCredential()
    async with token_client(*secure_azurite, credential) as tables:
        await put_facts(tables, facts())
    ports, context = secure_azurite
    account = Account.with_credential(f"https://127.0.0.1:{ports.table}/{ACCOUNT}", credential)
    wire = Wire(ssl_context=context)
    async with LookupClient.connect(tmp_path / "indexes.yaml", account, wire=wire) as client:
        redmond = client.entries("customers-by-town", {"town": "Redmond", "maxpagesize": 5})
        assert [entry["id"] async for entry in redmond] == ["20", *"1234567"]


async def test_times_come_back_as_datetimes(azurite: str, definitions: Path) -> None:
    """And can be asked for again."""
    async with LookupClient.connect(definitions, azurite) as client:
        asked: dict[str, Any] = {"customer": "c-1", "paid": False}
        times = [entry["key"]["placedAt"] async for entry in client.entries("orders-newest-first", asked)]
        assert times == [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (5, 3, 1)]
        page = await client.find("orders-newest-first", {**asked, "placedAt.in": times[:2]})
        assert [entry["id"] for entry in page.entries] == ["o5", "o3"]


async def test_many_lookups_and_counts_have_python_values(azurite: str, definitions: Path) -> None:
    """An error stands in the place of its page."""
    async with LookupClient.connect(definitions, azurite) as client:
        asked: list[dict[str, Any]] = [{"town": "Redmond", "lastName.in": ["Jones"]}, {"twon": "x"}, {"town": ""}]
        jones, wrong, nameless = await client.find_many("customers-by-town", asked, {"maxpagesize": 5})
        assert isinstance(jones, LookupPage)
        assert [entry["id"] for entry in jones.entries] == ["20"]
        assert isinstance(wrong, BadLookupError)
        assert isinstance(nameless, LookupPage)
        counted = await client.count("customers-by-town", {"town.in": ["Redmond", ""]})
        assert (counted.count, counted.is_exact) == (9, True)


async def test_broken_definitions_are_told_at_once(azurite: str, tmp_path: Path) -> None:
    """Before anything is asked."""
    with pytest.raises(DefinitionsError, match="there is no such file"):
        async with LookupClient.connect(tmp_path / "nosuch.yaml", azurite):
            pass


def test_numbers_are_written_so_that_nothing_is_lost() -> None:
    """A double's shortest text means that double."""
    assert as_parameters({"a": 1e300, "b": 0.1, "c": 2**63, "d": True}) == {
        "a": "1e+300",
        "b": "0.1",
        "c": "9223372036854775808",
        "d": "true",
    }
