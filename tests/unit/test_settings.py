"""Settings are read in one place, and the sample file has exactly those that the code reads."""

from __future__ import annotations

import json

import pytest

from shared import settings
from shared.errors import SettingError
from shared.settings import StorageConnection
from tests.support import ROOT

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
        settings.value(settings.INDEX_STORAGE, {"INDEX_STORAGE": ""})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"A": "UseDevelopmentStorage=true"}, StorageConnection(connection_string="UseDevelopmentStorage=true")),
        ({"A__tableServiceUri": "https://a.example"}, StorageConnection(table_endpoint="https://a.example")),
        (
            {"A__accountName": "acc", "A__clientId": "id"},
            StorageConnection(table_endpoint="https://acc.table.core.windows.net", client_id="id"),
        ),
    ],
)
def test_a_storage_connection_has_three_forms(environment: dict[str, str], expected: StorageConnection) -> None:
    """A connection string, a service address, or an account name with a managed identity."""
    assert settings.storage_connection("A", environment) == expected


def test_a_missing_connection_says_what_to_set() -> None:
    """All forms are named."""
    with pytest.raises(SettingError, match="A__tableServiceUri"):
        settings.storage_connection("A", {})
