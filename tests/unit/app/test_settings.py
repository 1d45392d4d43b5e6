"""Settings are read in one place, and the sample file has exactly those that the code reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from shared.app import settings
from shared.app.connection_settings import (
    CosmosConnection,
    EventHubsConnection,
    StorageConnection,
    cosmos_connection,
    event_hubs_connection,
    index_account,
    storage_connection,
)
from shared.errors import SettingError
from tests.support import ROOT

if TYPE_CHECKING:
    from shared.app.settings import Setting

# Settings of the platform itself, which the product never reads.
PLATFORM = {"AzureWebJobsStorage", "FUNCTIONS_WORKER_RUNTIME"}


def test_the_sample_has_exactly_the_settings_that_the_code_reads() -> None:
    """`local.settings.sample.json` is what people copy."""
    sample = json.loads((ROOT / "local.settings.sample.json").read_text())["Values"]
    assert set(sample) == {setting.name for setting in settings.ALL} | PLATFORM


def test_the_sample_shows_the_defaults() -> None:
    """A copied sample behaves as if nothing were set."""
    sample = json.loads((ROOT / "local.settings.sample.json").read_text())["Values"]
    shown = {setting.name: sample[setting.name] for setting in settings.ALL if setting.default is not None}
    assert shown == {setting.name: setting.default for setting in settings.ALL if setting.default is not None}


def test_a_setting_that_must_be_set_is_named_with_its_meaning() -> None:
    """An empty value counts as missing."""
    with pytest.raises(SettingError, match=r"INDEX_STORAGE.*index tables"):
        settings.Settings({"INDEX_STORAGE": ""}).value(settings.INDEX_STORAGE)


def test_settings_as_they_are_when_nothing_is_set_can_be_read() -> None:
    """All of them have defaults, but for connections."""
    settings.Settings({}).check_all()


@pytest.mark.parametrize(
    "setting",
    [setting for setting in settings.ALL if setting.default and setting is not settings.INDEX_DEFINITIONS],
    ids=lambda setting: setting.name,
)
def test_a_setting_that_cannot_be_read_is_found_before_it_is_needed(setting: Setting[Any]) -> None:
    """Whichever it is, by its name."""
    with pytest.raises(SettingError, match=setting.name):
        settings.Settings({setting.name: "maybe"}).check_all()


def test_dead_letters_that_outlive_the_ledger_are_found_before_a_batch_comes() -> None:
    """Each number can be read; together they are wrong."""
    with pytest.raises(SettingError, match="DEAD_LETTER_RETENTION_DAYS is 100"):
        settings.Settings({"DEAD_LETTER_RETENTION_DAYS": "100"}).check_all()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"A": "UseDevelopmentStorage=true"}, StorageConnection("A", connection_string="UseDevelopmentStorage=true")),
        ({"A__tableServiceUri": "https://a.example"}, StorageConnection("A", endpoints={"table": "https://a.example"})),
        (
            {"A__accountName": "acc", "A__clientId": "id"},
            StorageConnection(
                "A",
                endpoints={
                    "table": "https://acc.table.core.windows.net",
                    "queue": "https://acc.queue.core.windows.net",
                    "blob": "https://acc.blob.core.windows.net",
                },
                client_id="id",
            ),
        ),
    ],
)
def test_a_storage_connection_has_three_forms(environment: dict[str, str], expected: StorageConnection) -> None:
    """A connection string, a service address, or an account name with a managed identity."""
    assert storage_connection("A", environment) == expected


def test_a_service_without_an_address_is_named() -> None:
    """A connection may have addresses for some services only."""
    connection = storage_connection("A", {"A__tableServiceUri": "https://a.example"})
    with pytest.raises(SettingError, match="A__queueServiceUri"):
        connection.endpoint("queue")


def test_a_number_that_is_none_is_named() -> None:
    """With its value."""
    with pytest.raises(SettingError, match="SWEEP_DELAY_SECONDS is 'soon'"):
        settings.Settings({"SWEEP_DELAY_SECONDS": "soon"}).value(settings.SWEEP_DELAY_SECONDS)


@pytest.mark.parametrize(
    "environment",
    [
        {"INDEX_STORAGE": "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=a==;EndpointSuffix=x"},
        {"INDEX_STORAGE__accountName": "shop"},
        {"INDEX_STORAGE__tableServiceUri": "https://shop.table.core.windows.net/"},
    ],
)
def test_the_account_of_the_ledger_has_the_same_name_in_every_form(environment: dict[str, str]) -> None:
    """Leases are filed under it: going over from keys to an identity must not read the feed anew."""
    assert index_account(environment) == "shop"


def test_the_emulators_account_has_its_name() -> None:
    """Also in the short form."""
    assert index_account({"INDEX_STORAGE": "UseDevelopmentStorage=true"}) == "devstoreaccount1"
    with pytest.raises(SettingError, match="no AccountName"):
        index_account({"INDEX_STORAGE": "s3cret"})


def test_a_missing_connection_says_what_to_set() -> None:
    """All forms are named."""
    with pytest.raises(SettingError, match="A__tableServiceUri"):
        storage_connection("A", {})


def test_a_cosmos_connection_has_two_forms() -> None:
    """A connection string, or an address with a managed identity."""
    text = "AccountEndpoint=https://c.example;AccountKey=a==;"
    assert cosmos_connection("C", {"C": text}) == CosmosConnection(connection_string=text)
    by_address = cosmos_connection("C", {"C__accountEndpoint": "https://c.example", "C__clientId": "id"})
    assert by_address == CosmosConnection(endpoint="https://c.example", client_id="id")
    with pytest.raises(SettingError, match="C__accountEndpoint"):
        cosmos_connection("C", {})


@pytest.mark.parametrize("proof", ["SharedAccessKeyName=n;SharedAccessKey=s3cret", "SharedAccessSignature=s3cret"])
def test_an_event_hubs_connection_has_two_forms(proof: str) -> None:
    """A connection string, with a key or a signature, or a host name with a managed identity."""
    text = f"Endpoint=sb://h.example/;{proof}"
    assert event_hubs_connection("H", {"H": text}) == EventHubsConnection(connection_string=text)
    by_name = event_hubs_connection("H", {"H__fullyQualifiedNamespace": "h.example"})
    assert by_name == EventHubsConnection(namespace="h.example")
    with pytest.raises(SettingError, match="H__fullyQualifiedNamespace"):
        event_hubs_connection("H", {})


@pytest.mark.parametrize("text", ["s3cret", "AccountKey=s3cret", "Endpoint=s3cret;"])
def test_half_a_connection_string_is_refused_and_not_repeated(text: str) -> None:
    """Before any client is made of it; it may hold a key."""
    for read in (cosmos_connection, event_hubs_connection):
        with pytest.raises(SettingError, match=r"X is not a connection string, it has no \w+") as caught:
            read("X", {"X": text})
        assert "s3cret" not in str(caught.value)


def test_a_switch_is_true_or_false() -> None:
    """Anything else is told, not guessed."""
    assert settings.Settings({}).value(settings.MCP_TOOLS) is False
    assert settings.Settings({"MCP_TOOLS": "True"}).value(settings.MCP_TOOLS) is True
    with pytest.raises(SettingError, match="make it true or false"):
        settings.Settings({"MCP_TOOLS": "yes"}).value(settings.MCP_TOOLS)


@pytest.mark.parametrize("text", ["soon", "-1", "61", "nan"])
def test_seconds_are_a_number_up_to_a_minute(text: str) -> None:
    """A request that waits longer is cut off by the platform."""
    assert settings.Settings({}).value(settings.SEES_SECONDS) == 5
    with pytest.raises(SettingError, match="make it a number from 0 to 60"):
        settings.Settings({"SEES_SECONDS": text}).value(settings.SEES_SECONDS)
