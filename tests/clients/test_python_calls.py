"""How the Python client calls: when it tries again, whom it gives the key, and what it takes for a value."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from index_tables import (
    AsyncIndexTables,
    ForeignAddressError,
    IndexTables,
    Patience,
    ProblemError,
    UnreachableError,
    seen,
)
from index_tables.flows import App, Request, Wait
from index_tables.values import query_parameters, seen_as
from shared.lookup.read_your_writes import sees_value
from tests.clients.scripted_app import ScriptedApp, scripted_app

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = {"code": "StorageBusy", "title": "Busy", "status": 503, "detail": "Wait."}
PAGE: dict[str, Any] = {"value": [{"key": {"town": "R"}, "data": {}, "id": "1", "version": "v"}]}


@pytest.fixture
def app() -> Iterator[ScriptedApp]:
    """A server that a test tells what to answer."""
    with scripted_app() as found:
        yield found


def waits(*answers: httpx.Response | httpx.TransportError, patience: Patience | None = None) -> list[float]:
    """How long a call waits between these answers, until it has one or gives up."""
    app = App.at("http://app", patience or Patience(chance=lambda: 0.5))
    flow = app.get("/api/indexes")
    found = []
    step: Request | Wait = next(flow)
    try:
        for answer in answers:
            assert isinstance(step, Request)
            if isinstance(answer, httpx.Response):
                answer.request = httpx.Request(step.method, step.url)
                step = flow.send(answer)
            else:
                step = flow.throw(answer)
            assert isinstance(step, Wait)
            found.append(step.seconds)
            step = flow.send(None)
    except (StopIteration, ProblemError, UnreachableError):
        return found
    raise AssertionError("the call goes on after the last answer")


def busy(seconds: str | None = None, status: int = 503) -> httpx.Response:
    """A problem of the app, with or without a time to wait."""
    return httpx.Response(status, json=BUSY, headers={"Retry-After": seconds} if seconds else {})


def test_a_call_waits_as_long_as_the_app_asks() -> None:
    """Then it tries again."""
    assert waits(busy("7"), busy("2", 429), httpx.Response(200, json={})) == [7.0, 2.0]


def test_a_problem_without_a_time_to_wait_is_not_tried_again() -> None:
    """Waiting would not help: a setting is wrong, or the definitions."""
    assert waits(busy()) == []


def test_a_call_gives_up_when_it_would_wait_too_long_in_all() -> None:
    """The caller decides."""
    assert waits(busy("20"), busy("20")) == [20.0]
    assert waits(busy("7"), patience=Patience(wait_seconds=5)) == []


def test_a_call_is_tried_again_so_often_and_no_more() -> None:
    """Whatever the app asks."""
    assert waits(*[busy("1")] * 3, patience=Patience(retries=2)) == [1.0, 1.0]


def test_what_the_platform_says_by_a_status_alone_is_tried_again_after_longer_and_longer() -> None:
    """So is a connection that breaks."""
    answers: list[httpx.Response | httpx.TransportError] = [
        httpx.Response(502),
        httpx.ConnectError("refused"),
        httpx.Response(504),
        httpx.Response(200, json={}),
    ]
    assert waits(*answers) == [0.5, 1.0, 2.0]


def test_an_answer_that_takes_too_long_is_not_asked_for_again() -> None:
    """It would take as long."""
    assert waits(httpx.ReadTimeout("slow")) == []


def test_no_answer_at_all_is_an_error_that_names_the_app() -> None:
    """Once it has given up."""
    with IndexTables("http://127.0.0.1:1", patience=Patience(retries=0)) as tables:  # noqa: SIM117
        with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:1 does not answer"):
            tables.indexes()


def test_an_answer_of_something_else_is_an_error_that_asks_for_the_address(app: ScriptedApp) -> None:
    """Such as the page of a web site."""
    app.answers.append((200, {"Content-Type": "text/html"}, b"<!doctype html>"))
    with IndexTables(app.url) as tables:
        for call in (tables.indexes, lambda: tables.index("i").page(town="R"), lambda: tables.index("i").count()):
            with pytest.raises(UnreachableError, match="is that the address of the app"):
                call()


def test_an_empty_401_is_a_problem(app: ScriptedApp) -> None:
    """With the name of its status."""
    app.answer(401)
    with IndexTables(app.url, key="wrong") as tables, pytest.raises(ProblemError) as raised:
        tables.indexes()
    assert (raised.value.status, raised.value.code, raised.value.errors) == (401, "Unauthorized", ())


def test_a_problem_says_how_long_to_wait(app: ScriptedApp) -> None:
    """Also when it was not waited for."""
    app.answer(503, {**BUSY, "errors": [{"code": "A", "detail": "B", "new": 1}]}, Retry_After="40")
    with IndexTables(app.url) as tables, pytest.raises(ProblemError) as raised:
        tables.indexes()
    assert (raised.value.retry_after, raised.value.errors[0].code) == (40.0, "A")


def test_the_key_does_not_go_to_the_host_of_a_foreign_link(app: ScriptedApp) -> None:
    """Nobody is asked there."""
    with scripted_app() as foreign:
        foreign.answer(200, PAGE)
        app.answer(200, {**PAGE, "nextLink": f"{foreign.url}/api/indexes/i/entries?token=t"})
        with IndexTables(app.url, key="k") as tables, pytest.raises(ForeignAddressError, match="which is not asked"):
            list(tables.index("i").find(town="R"))
        assert (len(app.asked), foreign.asked) == (1, [])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_does_not_go_along_with_a_redirect(app: ScriptedApp, status: int) -> None:
    """Not even with a client of one's own that follows them."""
    with scripted_app() as foreign:
        foreign.answer(200, {"value": []})
        app.answer(status, Location=f"{foreign.url}/api/indexes")
        with httpx.Client(follow_redirects=True) as http:
            tables = IndexTables(app.url, key="k", http=http)
            with pytest.raises(ForeignAddressError):
                tables.indexes()
        assert foreign.asked == []


async def test_a_client_that_awaits_gives_nobody_else_its_key_either(app: ScriptedApp) -> None:
    """Neither by links nor by redirects."""
    with scripted_app() as foreign:
        foreign.answer(200, PAGE)
        app.answer(200, {**PAGE, "nextLink": f"{foreign.url}/x"})
        app.answer(302, Location=foreign.url)
        async with AsyncIndexTables(app.url, key="k") as tables:
            page = await tables.index("i").page(town="R")
            with pytest.raises(ForeignAddressError):
                await tables.index("i").next_page(page)
            with pytest.raises(ForeignAddressError):
                await tables.indexes()
        assert foreign.asked == []


@pytest.mark.parametrize(
    "link",
    ["//elsewhere.example/x", "https://app.example.evil/x", "https://app.example@evil/x", "http://app.example/x"],
)
def test_a_link_is_of_the_app_when_scheme_host_and_port_are(link: str) -> None:
    """Whatever else it looks like."""
    with pytest.raises(ForeignAddressError):
        App.at("https://app.example", Patience()).linked(link)


def test_a_link_that_spells_out_the_usual_port_is_of_the_app() -> None:
    """And so is one that names no host."""
    app = App.at("https://app.example/base", Patience())
    assert str(app.linked("https://app.example:443/x")) == "https://app.example/x"
    assert str(app.linked("/x?y=1")) == "https://app.example/x?y=1"
    assert str(app.address("/api/indexes/a%2Fb")) == "https://app.example/base/api/indexes/a%2Fb"


class Credential:
    """Gives a token for a scope, as those of azure-identity do."""

    def get_token(self, *scopes: str) -> Any:
        """One that names the scope."""
        return type("AccessToken", (), {"token": f"for {scopes[0]}"})


@pytest.mark.parametrize(
    ("options", "header"),
    [
        ({"key": "k"}, ("x-functions-key", "k")),
        ({"credential": "t"}, ("authorization", "Bearer t")),
        ({"credential": lambda: "made"}, ("authorization", "Bearer made")),
        ({"credential": Credential(), "scope": "api://a/.default"}, ("authorization", "Bearer for api://a/.default")),
    ],
)
def test_who_calls_is_shown_by_a_key_or_a_token(app: ScriptedApp, options: Any, header: tuple[str, str]) -> None:
    """One header."""
    app.answer(200, {"value": []})
    with IndexTables(app.url, **options) as tables:
        tables.indexes()
    name, value = header
    assert app.asked[0].headers[name] == value


async def test_a_token_may_have_to_be_awaited(app: ScriptedApp) -> None:
    """As those of azure.identity.aio."""

    class AsyncCredential:
        async def get_token(self, *scopes: str) -> Any:
            return Credential().get_token(*scopes)

    app.answer(200, {"value": []})
    async with AsyncIndexTables(app.url, credential=AsyncCredential(), scope="s") as tables:
        await tables.indexes()
    assert app.asked[0].headers["authorization"] == "Bearer for s"


@pytest.mark.parametrize("options", [{"key": "k", "credential": "t"}, {"credential": Credential()}])
def test_a_caller_who_cannot_be_shown_is_refused(options: Any) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=r"a credential|scope of the app"):
        IndexTables("https://app.example", **options)


@pytest.mark.parametrize(
    "url",
    [
        *("app.example", "127.0.0.1:7071", "localhost:7071", "ftp://app", "http://app:port", None),
        *("https://app/?code=secret", "https://user:pass@app"),
    ],
)
def test_an_address_that_is_none_is_refused(url: Any) -> None:
    """And a key in it, which would be in logs: the message says how an address begins, and repeats none."""
    with pytest.raises(ValueError, match=r"begins with https:// or http://.* without a key") as refused:
        IndexTables(url)
    assert str(url) not in str(refused.value)


def test_python_values_become_parameters() -> None:
    """As docs/http-api.md writes them."""
    asked = {
        "town": "Redmond",
        "age__ge": 18,
        "rate": Decimal("0.10"),
        "isVip": True,
        "firstName": None,
        "since__lt": datetime(2024, 5, 1, tzinfo=UTC),
        "lastName": ["Smith", "Jones"],
        "page_size": 5,
        "select": ["phone", "address.street"],
    }
    assert query_parameters(asked) == {
        "town": "Redmond",
        "age.ge": "18",
        "rate": "0.10",
        "isVip": "true",
        "firstName.null": "true",
        "since.lt": "2024-05-01T00:00:00+00:00",
        "lastName.in": '["Smith", "Jones"]',
        "maxpagesize": "5",
        "select": "phone,address.street",
    }


ITEM = {"id": "42", "tenant": {"id": "t"}, "_etag": '"e"', "_ts": 1700000000, "revision": 7}


@pytest.mark.parametrize(
    ("identity", "partition_key", "version"),
    [
        ({"id": "id", "partitionKey": ["tenant.id"], "version": "of Cosmos DB"}, "t", None),
        ({"id": "id", "partitionKey": ["tenant.id", "gone"], "version": "of Cosmos DB"}, ["t", {}], None),
        ({"id": "id", "partitionKey": [], "version": "revision"}, None, 7),
    ],
)
def test_a_change_is_named_by_what_identifies_its_fact(identity: Any, partition_key: Any, version: Any) -> None:
    """As the app's own way to name it does."""
    assert seen_as(identity, ITEM) == seen(ITEM, partition_key, version) == sees_value(ITEM, partition_key, version)


def test_an_item_that_cosmos_db_did_not_answer_needs_a_version() -> None:
    """One cannot wait for it otherwise."""
    with pytest.raises(ValueError, match="what Cosmos DB answered"):
        seen({"id": "42"}, "t")


def test_an_entry_with_members_of_a_newer_app_is_read(app: ScriptedApp) -> None:
    """An older client goes on."""
    page = {**PAGE, "behind": [{"account": "A", "since": "s"}], "readFrom": "secondary", "new": 1}
    app.answer(200, json.loads(json.dumps(page)), ETag='"e"')
    with IndexTables(app.url) as tables:
        found = tables.index("i").page()
    assert (found.behind[0]["account"], found.read_from, found.etag) == ("A", "secondary", '"e"')
