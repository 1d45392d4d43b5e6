"""The status answers whatever is down, with what is known, and says what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import requests

from local.process import ports
from tests.functions.apps import serving
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def ask(settings: dict[str, str], folder: Path, *paths: str) -> list[requests.Response]:
    """The answers of an app with these settings."""
    with serving(ROOT, settings, "--http-only", log_folder=folder) as app:
        return [requests.get(f"{app.url}/api/{path}", timeout=30) for path in paths]


def nowhere() -> str:
    """An address where nothing listens."""
    return f"127.0.0.1:{ports.any_free(1)[0]}"


def test_while_the_storage_is_down_the_feeds_still_tell_the_lag(
    lookup_settings: dict[str, str], tmp_path: Path
) -> None:
    """Each unknown value is null and named; the breaker says why."""
    account = f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;TableEndpoint=http://{nowhere()}/a"
    first, second, history = ask(
        {**lookup_settings, "INDEX_STORAGE": account}, tmp_path, "status", "status", "status/history"
    )
    assert (first.status_code, second.status_code) == (200, 200)
    status: dict[str, Any] = second.json()
    customers, orders = status["sources"]
    assert customers["lagSeconds"] > 0
    assert customers["deadLetters"] is status["deadLetters"]["count"] is None
    assert orders["lagSeconds"] is None
    assert {(index["state"], index["generation"]) for index in status["indexes"]} == {("unknown", None)}
    assert status["storage"]["isReachable"] is False
    assert status["storage"]["breaker"]["state"] != "closed"
    assert status["storage"]["breaker"]["lastError"]
    named = [text.partition(":")[0] for text in status["unknown"]]
    assert named == [
        "Newer counts of other instances, newer generations, builds, dead letters",
        "There is no Event Hubs connection EVENTHUB",
    ]
    assert (history.status_code, history.json()["code"]) == (503, "StorageUnreachable")


def test_while_cosmos_is_down_the_lag_is_unknown(lookup_settings: dict[str, str], tmp_path: Path) -> None:
    """Null, not zero; everything else is told."""
    cosmos = f"AccountEndpoint=http://{nowhere()}/;AccountKey=YQ==;"
    (answer,) = ask({**lookup_settings, "COSMOS": cosmos}, tmp_path, "status")
    assert answer.status_code == 200
    status = answer.json()
    assert [source["lagSeconds"] for source in status["sources"]] == [None, None]
    assert any("customers" in text for text in status["unknown"])
    assert status["storage"]["isReachable"] is True
    assert status["storage"]["breaker"]["state"] == "closed"


@pytest.mark.parametrize("path", ["status", "status/history"])
def test_the_status_needs_a_key(lookup_settings: dict[str, str], tmp_path: Path, path: str) -> None:
    """A function key, as lookups do."""
    with serving(ROOT, lookup_settings, "--http-only", "--keys", str(tmp_path / "keys"), log_folder=tmp_path) as app:
        assert requests.get(f"{app.url}/api/{path}", timeout=30).status_code == 401
