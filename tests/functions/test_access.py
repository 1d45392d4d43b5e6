"""Roles and calls over HTTP, with callers known by tokens: `up --auth entra` on one machine, Entra ID in Azure."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING, Any, Final

import jwt
import pytest
import requests
import yaml

from local.host.http import sign_in
from tests.functions.apps import serving
from tests.support import ROOT
from tests.worlds.lookup_facts import YAML

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READER: Final = {"roles": ["Index.Read"]}
ORDERS: Final = {"roles": ["Orders.Read"], "customer": "c-1"}
OPERATOR: Final = {"roles": ["Index.Operate"]}
STRANGER: Final = {"roles": ["Other"]}
ALL: Final[dict[str, dict[str, Any]]] = {"reader": READER, "orders": ORDERS, "operator": OPERATOR, "stranger": STRANGER}
DEFINITIONS: Final = YAML.replace("    project: [total]\n", "    project: [total]\n    access: ACCESS\n").replace(
    "ACCESS", "{readers: [Orders.Read], bind: {customer: customer}}"
)

BY_TOWN: Final = "indexes/customers-by-town"
NEWEST: Final = "indexes/orders-newest-first"
READS: Final = (
    f"GET {BY_TOWN}",
    f"GET {BY_TOWN}/entries?town=Redmond",
    f"GET {BY_TOWN}/count?town=Redmond",
    f"POST {BY_TOWN}/lookups",
    f"GET {BY_TOWN}/explain?town=Redmond",
)
OF_ORDERS: Final = (
    f"GET {NEWEST}",
    f"GET {NEWEST}/entries?paid=true",
    f"GET {NEWEST}/count?paid=true",
    f"POST {NEWEST}/lookups",
    f"GET {NEWEST}/explain?paid=true",
)
OWN_TENANT: Final = "contoso"
SEEN_BY_ALL: Final = ("GET indexes", "GET openapi.json", "GET status", "GET status/history", "GET advice")
OPERATIONS: Final = (
    "GET dead-letters",
    "GET dead-letters/none",
    "POST dead-letters/none/replay",
    "POST dead-letters/replay",
    "POST dead-letters/purge?before=2000-01-01T00:00:00Z",
    f"GET {BY_TOWN}/builds",
    f"POST {BY_TOWN}/builds",
    f"POST {BY_TOWN}/read-only",
    f"POST {BY_TOWN}/switch",
    f"POST {BY_TOWN}/rollback",
    f"GET {BY_TOWN}/verifications",
    f"GET {BY_TOWN}/verifications/none",
    f"POST {BY_TOWN}/verifications",
    "POST erasures",
    "GET health/details",
)
ANONYMOUS: Final = ("GET health/live", "GET health/ready", "GET console", "GET docs", "GET status/page")
ALLOWED: Final = {
    **{call: {"reader"} for call in READS},
    **{call: {"orders"} for call in OF_ORDERS},
    **{call: {"reader", "orders", "operator"} for call in SEEN_BY_ALL},
    **{call: {"operator"} for call in OPERATIONS},
}


EVERY_INDEX: Final = set(yaml.safe_load(DEFINITIONS)["indexes"])
OF_ORDERS_ALONE: Final = {"orders-newest-first"}
OF_READERS: Final = EVERY_INDEX - OF_ORDERS_ALONE
# On a developer's machine readiness tells everybody what is wrong.
IN_AZURE: Final = {"AZURE_FUNCTIONS_ENVIRONMENT": "Production"}


class App:
    """The app behind the local host, and tokens for it."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self._key = key

    def token(self, claims: dict[str, Any], key: str | None = None, **options: Any) -> str:
        """A token of this run, unless `options` make it another."""
        usual = {"aud": sign_in.AUDIENCE, "iss": sign_in.ISSUER, "exp": int(time.time()) + 600, "tid": OWN_TENANT}
        return jwt.encode({**usual, **claims, **options}, key or self._key, algorithm="HS256")

    def ask(self, call: str, token: str | None = None, **headers: str) -> requests.Response:
        """The answer to a call such as `GET indexes`."""
        method, _, path = call.partition(" ")
        given = {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        return requests.request(method, f"{self.url}/api/{path}", headers=given, timeout=30)


@pytest.fixture(scope="module")
def app(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app that asks Entra ID, over tables that hold the facts of `lookup_facts`."""
    folder: Path = tmp_path_factory.mktemp("access")
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    key = sign_in.read_or_create(folder / "token.key").key
    settings = {**lookup_settings, **IN_AZURE, "ACCESS": "entra", "ACCESS_TENANTS": f"fabrikam, {OWN_TENANT}"}
    settings["INDEX_DEFINITIONS"] = str(folder / "indexes.yaml")
    arguments = ("--http-only", "--tokens", str(folder / "token.key"))
    with serving(ROOT, settings, *arguments, log_folder=folder) as running:
        yield App(running.url, key)


def described(claims: dict[str, Any]) -> str:
    """A caller with these claims, as App Service Authentication describes one in its header."""
    pairs = [
        {"typ": name, "val": value}
        for name, given in claims.items()
        for value in (given if isinstance(given, list) else [given])
    ]
    return base64.b64encode(json.dumps({"claims": pairs, "role_typ": "roles"}).encode()).decode()


def code(answer: requests.Response) -> str:
    """The code of a problem."""
    return str(answer.json()["code"])


@pytest.mark.parametrize("who", ALL)
@pytest.mark.parametrize("call", ALLOWED)
def test_each_role_makes_its_calls_and_no_others(app: App, call: str, who: str) -> None:
    """The others are refused with the role that is missing."""
    answer = app.ask(call, app.token(ALL[who]))
    if who in ALLOWED[call]:
        assert answer.status_code not in {401, 403, 500}, answer.text
    else:
        assert (answer.status_code, code(answer)) == (403, "Forbidden"), answer.text
        assert "it needs the app role" in answer.json()["detail"]


@pytest.mark.parametrize("call", [*ALLOWED])
def test_without_a_token_no_call_is_answered(app: App, call: str) -> None:
    """With a problem that says what to send."""
    answer = app.ask(call)
    assert (answer.status_code, code(answer)) == (401, "NotSignedIn")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("call", ANONYMOUS)
def test_health_and_pages_need_no_token(app: App, call: str) -> None:
    """They have no data."""
    assert app.ask(call).status_code in {200, 503}


def test_a_header_that_a_caller_brings_along_describes_no_one(app: App) -> None:
    """App Service Authentication takes it away."""
    header = described(OPERATOR)
    assert app.ask("GET dead-letters", **{"X-MS-CLIENT-PRINCIPAL": header}).status_code == 401
    both = app.ask("GET dead-letters", app.token(READER), **{"x-ms-client-principal": header})
    assert both.status_code == 403


def test_lookups_of_a_batch_and_counts_are_bound_each_by_itself(app: App) -> None:
    """What a caller leaves out is filled in; a lookup for somebody else is refused in its place."""
    lookups = [{"paid": True}, {"paid": True, "customer": "c-2"}, {"paid": True, "customer.in": ["c-1", "c-2"]}]
    headers = {"Authorization": f"Bearer {app.token(ORDERS)}"}
    answer = requests.post(f"{app.url}/api/{NEWEST}/lookups", json={"lookups": lookups}, headers=headers, timeout=30)
    mine, other, both = answer.json()["value"]
    assert [entry["key"]["customer"] for entry in mine["value"]] == ["c-1", "c-1"]
    assert (other["error"]["code"], both["error"]["code"]) == ("Forbidden", "Forbidden")
    assert app.ask(f"GET {NEWEST}/count?paid=true", app.token(ORDERS)).json() == {"count": 2, "isExact": True}


def unsigned(app: App) -> str:
    """A token that nothing vouches for."""
    head, body, _ = app.token(OPERATOR).split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return f"{none if head else ''}.{body}."


@pytest.mark.parametrize(
    "make",
    [
        lambda app: app.token(OPERATOR, exp=int(time.time()) - 5),
        lambda app: app.token(OPERATOR, aud="another-app"),
        lambda app: app.token(OPERATOR, iss="another-issuer"),
        lambda app: app.token(OPERATOR, key="x" * 48),
        unsigned,
        lambda app: app.token(OPERATOR)[:-4],
        lambda _: "no.token.atall",
    ],
    ids=["expired", "other audience", "other issuer", "other key", "unsigned", "cut", "no token"],
)
def test_a_token_that_is_not_good_opens_nothing(app: App, make: Any) -> None:
    """Not even what needs none."""
    answer = app.ask("GET dead-letters", make(app))
    assert answer.status_code == 401
    assert "invalid_token" in answer.headers["WWW-Authenticate"]


def test_indexes_and_the_description_of_the_api_show_what_the_caller_may_read(app: App) -> None:
    """And nothing of the others."""
    token = app.token(ORDERS)
    assert [index["name"] for index in app.ask("GET indexes", token).json()["value"]] == ["orders-newest-first"]
    text = app.ask("GET openapi.json", token).text
    assert "orders-newest-first" in text
    assert "customers-by-" not in text


@pytest.mark.parametrize(
    ("who", "status", "advice"),
    [("reader", OF_READERS, OF_READERS), ("orders", OF_ORDERS_ALONE, set()), ("operator", EVERY_INDEX, EVERY_INDEX)],
)
def test_status_and_advice_are_of_what_the_caller_may_see(
    app: App, who: str, status: set[str], advice: set[str]
) -> None:
    """Advice names the largest partitions of an index, also those that a bound caller may not ask for."""
    token = app.token(ALL[who])
    for call, expected in (("GET status", status), ("GET advice", advice)):
        assert {index["name"] for index in app.ask(call, token).json()["indexes"]} == expected, call


@pytest.mark.parametrize(
    ("who", "heard"), [("reader", True), ("orders", False), ("operator", True)], ids=["reader", "orders", "operator"]
)
def test_a_name_that_no_index_has_is_refused_with_names_that_the_caller_may_hear(
    app: App, who: str, heard: bool
) -> None:
    """A suggestion is no list of everything."""
    answer = app.ask("GET indexes/customers-by-twon/entries", app.token(ALL[who]))
    assert (answer.status_code, code(answer)) == (404, "IndexNotFound")
    assert ("customers-by-town" in answer.json()["detail"]) is heard


def customers(answer: requests.Response) -> set[str]:
    """The customers whose orders an answer has."""
    assert answer.status_code == 200, answer.text
    return {entry["key"]["customer"] for entry in answer.json()["value"]}


def test_a_bound_caller_gets_their_own_entries_and_no_others(app: App) -> None:
    """The part is filled in, or must be theirs."""
    token = app.token(ORDERS)
    assert customers(app.ask(f"GET {NEWEST}/entries?paid=true", token)) == {"c-1"}
    other = app.ask(f"GET {NEWEST}/entries?customer=c-2&paid=true", token)
    assert (other.status_code, code(other)) == (403, "Forbidden")


def test_a_page_token_of_another_caller_does_not_continue(app: App) -> None:
    """The question that it belongs to is another one."""
    first = app.ask(f"GET {NEWEST}/entries?paid=true&maxpagesize=1", app.token(ORDERS))
    link = first.json().get("nextLink")
    assert link is not None, first.text
    query = link.partition("?")[2].replace("customer=c-1&", "").replace("&customer=c-1", "")
    answer = app.ask(f"GET {NEWEST}/entries?{query}", app.token({**ORDERS, "customer": "c-2"}))
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize("call", [*ALLOWED])
def test_a_token_of_another_tenant_opens_nothing(app: App, call: str) -> None:
    """Whatever roles it names, and also without a tenant."""
    everything = {"roles": ["Index.Read", "Orders.Read", "Index.Operate"], "customer": "c-1"}
    for token in (app.token(everything, tid="evil"), app.token(everything, tid="")):
        answer = app.ask(call, token)
        assert (answer.status_code, code(answer)) == (401, "NotSignedIn"), answer.text


def test_anybody_hears_whether_the_app_is_ready_and_operators_hear_why_not(
    lookup_settings: dict[str, str], tmp_path: Path
) -> None:
    """A problem names connections and settings."""
    dead = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a;"
    key = sign_in.read_or_create(tmp_path / "token.key").key
    settings = {**lookup_settings, **IN_AZURE, "ACCESS": "entra", "INDEX_STORAGE": dead}
    arguments = ("--http-only", "--tokens", str(tmp_path / "token.key"))
    with serving(ROOT, settings, *arguments, log_folder=tmp_path) as running:
        app = App(running.url, key)
        told = app.ask("GET health/ready")
        assert (told.status_code, code(told)) == (503, "StorageUnreachable")
        assert "INDEX_STORAGE" not in told.text
        assert "INDEX_STORAGE" not in app.ask("GET health/ready", app.token(READER)).text
        assert "INDEX_STORAGE" in app.ask("GET health/ready", app.token(OPERATOR)).json()["detail"]
        assert "INDEX_STORAGE" in app.ask("GET health/details", app.token(OPERATOR)).json()["detail"]


def test_a_setting_for_callers_that_cannot_be_read_is_named(lookup_settings: dict[str, str], tmp_path: Path) -> None:
    """By the calls that ask who calls, also by those that tell operators more."""
    settings = {**lookup_settings, **IN_AZURE, "ACCESS": "enttra"}
    with serving(ROOT, settings, "--http-only", log_folder=tmp_path) as running:
        app = App(running.url, "")
        for call in ("GET status", "GET status/history", "GET advice", "GET indexes", "GET health/details"):
            answer = app.ask(call)
            assert (answer.status_code, code(answer)) == (503, "NotConfigured"), call
            assert "ACCESS" in answer.json()["detail"]
