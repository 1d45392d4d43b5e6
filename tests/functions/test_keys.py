"""Keys and calls over HTTP: no key, a wrong one, the function key, and the key of operators."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.functions.apps import serving
from tests.functions.test_access import ANONYMOUS, IN_AZURE, OF_ORDERS, OPERATIONS, READS, SEEN_BY_ALL
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FOR_A_FUNCTION_KEY = (*READS, *OF_ORDERS, *SEEN_BY_ALL, "GET health/details")
FOR_OPERATORS = tuple(call for call in OPERATIONS if call not in FOR_A_FUNCTION_KEY)


class App:
    """The app behind the local host, and its keys."""

    def __init__(self, url: str, keys: dict[str, str]) -> None:
        self.url = url
        self.keys = {"none": None, "wrong": "wrong", **keys}

    def ask(self, call: str, key: str) -> requests.Response:
        """The answer to a call with this kind of key."""
        method, _, path = call.partition(" ")
        headers: Any = {} if self.keys[key] is None else {"x-functions-key": self.keys[key]}
        return requests.request(method, f"{self.url}/api/{path}", headers=headers, timeout=30)


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app with keys, over tables that hold the facts of `lookup_facts`."""
    folder = tmp_path_factory.mktemp("keys")
    arguments = ("--http-only", "--keys", str(folder / "keys.json"))
    with serving(ROOT, {**lookup_settings, **IN_AZURE}, *arguments, log_folder=folder) as running:
        yield App(running.url, json.loads((folder / "keys.json").read_text()))


@pytest.mark.parametrize("key", ["none", "wrong"])
@pytest.mark.parametrize("call", [*FOR_A_FUNCTION_KEY, *FOR_OPERATORS])
def test_without_a_key_no_call_is_answered(app: App, call: str, key: str) -> None:
    """With none, and with a wrong one."""
    assert app.ask(call, key).status_code == 401


@pytest.mark.parametrize("call", FOR_A_FUNCTION_KEY)
def test_both_keys_look_up(app: App, call: str) -> None:
    """And see the status."""
    for key in ("function", "admin"):
        answer = app.ask(call, key)
        assert answer.status_code not in {401, 403, 500}, answer.text


@pytest.mark.parametrize("call", FOR_OPERATORS)
def test_only_the_admin_key_operates(app: App, call: str) -> None:
    """What the calls are refused for otherwise is another matter."""
    assert app.ask(call, "function").status_code in {401, 403}
    answer = app.ask(call, "admin")
    assert answer.status_code not in {401, 403, 500}, answer.text


@pytest.mark.parametrize("call", ANONYMOUS)
def test_health_and_pages_need_no_key(app: App, call: str) -> None:
    """They have no data."""
    assert app.ask(call, "none").status_code in {200, 503}


def test_a_principal_header_opens_nothing_with_keys(app: App) -> None:
    """It counts only where App Service Authentication sets it."""
    headers = {"X-MS-CLIENT-PRINCIPAL": "eyJjbGFpbXMiOiBbeyJ0eXAiOiAicm9sZXMiLCAidmFsIjogIkluZGV4Lk9wZXJhdGUifV19"}
    for path in ("dead-letters", "indexes"):
        assert requests.get(f"{app.url}/api/{path}", headers=headers, timeout=30).status_code == 401
