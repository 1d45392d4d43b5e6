"""Storage accounts: read from connection strings or made from an endpoint; faults are told without the key."""

from __future__ import annotations

import pytest

from shared.errors import SettingError
from shared.tables.client import TableClient
from shared.tables.wire.account import Account
from shared.tables.wire.sign import KeySigner
from tests.contract.tables.table_services import TIMING, SelfMadeCredential

KEY = "c2VjcmV0IGtleQ=="


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        (f"AccountName=shop;AccountKey={KEY}", "https://shop.table.core.windows.net"),
        (
            f"DefaultEndpointsProtocol=http;AccountName=shop;AccountKey={KEY};EndpointSuffix=core.usgovcloudapi.net",
            "http://shop.table.core.usgovcloudapi.net",
        ),
        (
            f"AccountName=shop;AccountKey={KEY};TableEndpoint=http://127.0.0.1:10002/shop/;",
            "http://127.0.0.1:10002/shop",
        ),
        ("UseDevelopmentStorage=true", "http://127.0.0.1:10002/devstoreaccount1"),
    ],
)
def test_a_connection_string_gives_an_account(text: str, endpoint: str) -> None:
    """The endpoint is the one that is named, or made from the account's name."""
    account = Account.from_connection_string(text)
    assert account.endpoint == endpoint
    assert KEY not in repr(account)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a list of name=value"),
        (KEY.rstrip("="), "not a list of name=value"),
        (f"AccountKey={KEY}", "no AccountName"),
        ("AccountName=shop;SharedAccessSignature=sv=1&sig=2", "no AccountKey"),
        (f"AccountName=shop;AccountKey={KEY};TableEndpoint=shop.table.core.windows.net", "not a Table endpoint"),
    ],
)
def test_a_bad_connection_string_is_explained(text: str, complaint: str) -> None:
    """The message names the missing part and never shows the key."""
    with pytest.raises(SettingError, match=complaint) as caught:
        Account.from_connection_string(text)
    assert KEY not in str(caught.value)


def test_a_key_that_is_no_base64_is_explained() -> None:
    """The account is named, the key is not shown."""
    with pytest.raises(SettingError, match="account shop is not base64") as caught:
        KeySigner("shop", "half a k", TIMING.wall_seconds)
    assert "half a k" not in str(caught.value)


def test_an_endpoint_and_a_credential_are_enough() -> None:
    """The account is called by the name of its host."""
    account = Account.with_credential("https://shop.table.core.windows.net/", SelfMadeCredential())
    assert (account.name, account.endpoint) == ("shop.table.core.windows.net", "https://shop.table.core.windows.net")


def test_an_account_needs_a_key_or_a_credential() -> None:
    """A client without either would only collect refusals."""
    with pytest.raises(SettingError, match="neither a key nor a credential"):
        TableClient(Account("shop", "https://shop.table.core.windows.net"), TIMING)


async def test_the_signature_is_the_documented_one() -> None:
    """HMAC-SHA256 over the date, a line feed, and the account before the path (computed with openssl)."""
    signer = KeySigner("shop", KEY, lambda: 0.0)
    assert await signer.headers("/shop/$batch") == {
        "x-ms-date": "Thu, 01 Jan 1970 00:00:00 GMT",
        "Authorization": "SharedKeyLite shop:Gp+MgyvErBt4WKRVfncetkvfwY++WVy2tpaM+dsemF4=",
    }
