"""Calls that build, switch, verify and replay over HTTP: what they cannot take is refused, and nothing is begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from tests.functions.apps import RunningApp, serving
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = "indexes/customers-by-town"


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """An app over tables that hold the facts of `lookup_facts`."""
    folder = tmp_path_factory.mktemp("admin-calls")
    with serving(ROOT, lookup_settings, "--http-only", log_folder=folder) as running:
        yield running


def refused(app: RunningApp, call: str, status: int, code: str, body: str = "") -> str:
    """What a call is refused with: the sentence to this code."""
    method, _, path = call.partition(" ")
    answer = requests.request(method, f"{app.url}/api/{path}", data=body, timeout=20)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    detail: str = answer.json()["detail"]
    return detail


@pytest.mark.parametrize(
    "call",
    [
        f"GET {INDEX}/builds?state=done",
        f"POST {INDEX}/builds?budget=1",
        f"POST {INDEX}/read-only?force=true",
        f"POST {INDEX}/switch?force=true",
        f"POST {INDEX}/rollback?force=true",
        f"POST {INDEX}/verifications?repair=true",
        f"GET {INDEX}/verifications?maxpagesize=1",
        f"GET {INDEX}/verifications/v?repair=true",
    ],
)
def test_a_parameter_that_belongs_into_the_body_is_refused(app: RunningApp, call: str) -> None:
    """Or a repair would be asked for, and none done."""
    assert "this call has no parameters" in refused(app, call, 400, "UnknownParameter")


@pytest.mark.parametrize(
    ("call", "body", "reason"),
    [
        ("builds", '{"budget": "fast"}', "The member budget of the body is not a number"),
        ("builds", '{"budget": true}', "The member budget of the body is not a number"),
        ("builds", '{"force": true}', "unknown member 'force': known are budget"),
        ("switch", '{"force": 1}', "The member force of the body is not true or false"),
        ("rollback", '{"force": true}', "unknown member 'force': this call has no members"),
        ("read-only", "[]", "The body is not an object"),
        ("verifications", '{"sample": 0.5}', "The member sample of the body is not a whole number"),
        ("verifications", '{"generation": 7}', "The member generation of the body is not text"),
        ("verifications", "{", "The body is not JSON"),
    ],
)
def test_what_is_wrong_with_a_body_is_told(app: RunningApp, call: str, body: str, reason: str) -> None:
    """With the member, and what it should be."""
    assert reason in refused(app, f"POST {INDEX}/{call}", 400, "BadRequest", body)


@pytest.mark.parametrize("call", ["replay", "purge", "0123456789abcdef0123456789abcdef/replay"])
def test_a_filter_in_a_body_is_refused(app: RunningApp, call: str) -> None:
    """Filters are parameters: without them a call means all dead letters."""
    reason = refused(app, f"POST dead-letters/{call}", 400, "BadRequest", '{"index": "customers-by-town"}')
    assert "unknown member 'index': this call has no members" in reason


@pytest.mark.parametrize("call", ["GET {}/builds", "POST {}/switch", "GET {}/verifications", "POST {}/verifications"])
def test_an_unknown_index_is_told_with_the_nearest_one(app: RunningApp, call: str) -> None:
    """It is a slip of the pen, most often."""
    assert 'Did you mean "customers-by-town"?' in refused(app, call.format(f"{INDEX}n"), 404, "IndexNotFound")


@pytest.mark.parametrize("identity", ["v", "a%23b", "%C2%85", "x" * 600, "build-49f216b20bc1f206-1"])
def test_a_verification_that_cannot_be_is_not_found(app: RunningApp, identity: str) -> None:
    """Whatever stands in its place: also what no key of a table may contain."""
    reason = refused(app, f"GET {INDEX}/verifications/{identity}", 404, "NoSuchVerification")
    assert "There is no verification" in reason
