"""Pages as the real Cosmos DB extension hands them over: times, depth and doubles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.host.configuration import read_host_json
from local.host.errors import UnreadablePageError
from local.host.triggers.cosmos.extension_json import ExtensionJson
from local.process.errors import LocalRunError

ROOT = Path(__file__).resolve().parents[3]
NO_DATES = {"serializerSettings": {"dateParseHandling": "None"}}


def nested(levels: int) -> dict[str, Any]:
    """A document of so many levels."""
    value: Any = []
    for _ in range(levels - 2):
        value = [value]
    return {"id": "deep", "value": value}


def test_this_app_forbids_that_times_are_rewritten() -> None:
    """Only then is a fact of the feed the fact of the container."""
    section = read_host_json(ROOT).extension("cosmosDB")
    assert not ExtensionJson.from_host_json(section, {}).rewrites_dates
    assert ExtensionJson.from_host_json(section, {"LOCAL_AZURE_DEFAULTS": "true"}).rewrites_dates


@pytest.mark.parametrize(
    "section", [{}, {"serializerSettings": {}}, {"serializerSettings": {"dateParseHandling": "datetime"}}]
)
def test_times_are_rewritten_by_default(section: dict[str, Any]) -> None:
    """In values, wherever they are; not in names."""
    page = [{"id": "1", "at": ["2026-01-01T00:00:00.50Z"], "2026-01-01T00:00:00.50Z": None}]
    found = json.loads(ExtensionJson.from_host_json(section, {}).payload(page))
    assert found == [{"id": "1", "at": ["2026-01-01T00:00:00.5Z"], "2026-01-01T00:00:00.50Z": None}]
    assert json.loads(ExtensionJson.from_host_json(NO_DATES, {}).payload(page)) == page


@pytest.mark.parametrize("section", [{"serializerSettings": 1}, {"serializerSettings": {"dateParseHandling": "maybe"}}])
def test_settings_that_are_none_are_refused(section: dict[str, Any]) -> None:
    """With the place in host.json."""
    with pytest.raises(LocalRunError, match=r"host.json: extensions.cosmosDB.serializerSettings"):
        ExtensionJson.from_host_json(section, {})


@pytest.mark.parametrize("extension", [ExtensionJson(), ExtensionJson(rewrites_dates=False)])
def test_depth_is_counted_with_the_item_around_the_document(extension: ExtensionJson) -> None:
    """Whatever becomes of times."""
    metadata = {"operationType": "create", "lsn": 1, "crts": 1}
    extension.payload([nested(63)])
    extension.payload([{"current": nested(62), "metadata": metadata}])
    for item in (nested(64), {"current": nested(63), "metadata": metadata}):
        with pytest.raises(UnreadablePageError, match=r"'deep'.* is nested 64 levels deep"):
            extension.payload([item])


def test_a_time_that_no_year_has_is_read_only_as_a_text() -> None:
    """It stops the range unless times are left alone."""
    page = [{"id": "1", "at": "/Date(-80330870785908)/"}]
    with pytest.raises(UnreadablePageError, match="80330870785908"):
        ExtensionJson().payload(page)
    assert json.loads(ExtensionJson(rewrites_dates=False).payload(page)) == page


def test_doubles_are_in_the_metadata_of_all_versions_only() -> None:
    """A document may have a field of that name."""
    key = {"a": 7, "b": True, "c": "7", "d": None, "e": 0.5}
    deleted = {
        "current": {},
        "metadata": {"operationType": "delete", "lsn": 5, "crts": 1795001405, "partitionKey": key},
    }
    text = ExtensionJson().payload([deleted])
    assert '"lsn":5,"crts":1795001405.0' in text
    assert '{"a":7.0,"b":true,"c":"7","d":null,"e":0.5}' in text
    document = {"id": "1", "current": 1, "metadata": {"crts": 7}, "_ts": 1}
    assert '"crts":7}' in ExtensionJson().payload([document])
