"""Many calls at random, of a fixed seed, with every kind of caller: none fails inside, none gets what it may not."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
import requests

from local.host.http import sign_in
from local.run.azurite import connection_string
from tests.conftest import running_azurite
from tests.contract.tables.table_services import key_client
from tests.functions.apps import serving
from tests.functions.test_access import (
    ALL,
    ALLOWED,
    ANONYMOUS,
    DEFINITIONS,
    IN_AZURE,
    OF_ORDERS,
    OPERATOR,
    OWN_TENANT,
    READS,
    App,
    described,
    unsigned,
)
from tests.functions.test_keys import FOR_A_FUNCTION_KEY
from tests.support import ROOT
from tests.worlds.lookup_facts import facts, put_facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Lookups four times: most of what a caller may not see is there.
CALLS: Final = (*ALLOWED, *ANONYMOUS, *((*READS, *OF_ORDERS) * 3))
OPEN: Final = {call.partition(" ")[2] for call in ANONYMOUS}
NAMES: Final = ("town", "customer", "customer.in", "paid", "token", "maxpagesize", "select", "filter", "expand", "code")
VALUES: Final = (
    "",
    "c-1",
    "c-2",
    "Redmond",
    "true",
    "%00",
    "%F0",
    '["c-1"]',
    "null",
    "-1",
    "fact",
    "x" * 300,
    "key.paid",
)
LOOKUPS: Final = (
    b'{"lookups": [{"paid": true}, {"paid": true, "customer": "c-2"}, {"town": "Redmond"}]}',
    b'{"lookups": [{"customer.in": ["c-1", "c-2"], "paid": true}]}',
)
BODIES: Final = (
    b"",
    b"{",
    b"[]",
    *LOOKUPS,
    b'{"source": "customers", "id": "1"}',
    b'{"source": "customers", "id": 1, "force": "yes"}',
    b'{"source": "customers", "id": "1", "partitionKey": [[[]]]}',
    b'{"sample": 1e400}',
    b'{"budget": -1}',
    b"\xff\xfe",
    json.dumps({"a": "x" * 5000}).encode(),
)


# It says that the caller may do everything; nobody is to believe it.
EVERY_ROLE: Final = ["Index.Read", "Orders.Read", "Index.Operate"]
BROUGHT_ALONG: Final = described({"roles": EVERY_ROLE, "customer": "c-2", "tid": OWN_TENANT})
# What the caller who is bound to c-1 must never see.
OF_ANOTHER: Final = {
    "id": "o9",
    "customer": {"id": "c-2"},
    "paid": True,
    "placedAt": "2024-05-09T12:00:00Z",
    "total": 1,
    "revision": 1,
}


class Caller(NamedTuple):
    """Someone who calls: their headers, and the kind of right that they have."""

    name: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def settings(lookup_settings: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Storage of its own: operators begin things."""
    folder: Path = tmp_path_factory.mktemp("random-calls")
    (folder / "indexes.yaml").write_text(DEFINITIONS)

    async def fill(connection: str) -> None:
        async with key_client(connection) as tables:
            await put_facts(tables, facts())
            await put_facts(tables, {"customers": [], "orders": [OF_ANOTHER]})

    with running_azurite() as ports:
        storage = connection_string(ports)
        asyncio.run(fill(storage))
        own = {"AzureWebJobsStorage": storage, "INDEX_STORAGE": storage}
        yield {**lookup_settings, **IN_AZURE, **own, "INDEX_DEFINITIONS": str(folder / "indexes.yaml")}


def with_tokens(settings: dict[str, str], folder: Path, calls: int) -> None:
    """Call at random with tokens of every role, and with tokens that are not good."""
    key = sign_in.read_or_create(folder / "token.key").key
    settings = {**settings, "ACCESS": "entra", "ACCESS_TENANTS": OWN_TENANT}
    arguments = ("--http-only", "--tokens", str(folder / "token.key"))
    with serving(ROOT, settings, *arguments, log_folder=folder) as running:
        app = App(running.url, key)
        tokens = {name: app.token(claims) for name, claims in ALL.items()}
        tokens |= {
            "unsigned": unsigned(app),
            "expired": app.token(OPERATOR, exp=int(time.time()) - 60),
            "other audience": app.token(OPERATOR, aud="another-app"),
            "other tenant": app.token(OPERATOR, tid="evil"),
        }
        callers = [Caller("nobody", {})]
        callers += [Caller(name, {"Authorization": f"Bearer {token}"}) for name, token in tokens.items()]
        callers += [caller for caller in callers if caller.name in {"reader", "orders"}] * 5
        assert call_at_random(running.url, callers, calls, may_with_role) == {"reader", "orders"}


def with_keys(settings: dict[str, str], folder: Path, calls: int) -> None:
    """The same with keys."""
    with serving(ROOT, settings, "--http-only", "--keys", str(folder / "keys.json"), log_folder=folder) as running:
        keys = json.loads((folder / "keys.json").read_text())
        callers = [Caller("nobody", {}), Caller("wrong", {"x-functions-key": "wrong"})]
        callers += [Caller(name, {"x-functions-key": keys[name]}) for name in ("function", "admin")]
        assert call_at_random(running.url, callers, calls, may_with_key) == {"function", "admin"}


def may_with_role(caller: str, path: str) -> bool:
    """Whether a caller with tokens may get anything from a path."""
    wanted = {who for call, allowed in ALLOWED.items() if path_of(call) == path for who in allowed}
    return path in OPEN or caller in wanted


def may_with_key(caller: str, path: str) -> bool:
    """The same with keys."""
    of_all = path in {path_of(call) for call in FOR_A_FUNCTION_KEY}
    return path in OPEN or caller == "admin" or (caller == "function" and of_all)


def path_of(call: str) -> str:
    """The path of a call such as `GET indexes?x=y`."""
    return call.partition(" ")[2].partition("?")[0]


def call_at_random(url: str, callers: list[Caller], calls: int, may: Any) -> set[str]:
    """So many calls; each answer is right for its caller. Gives the callers who found entries."""
    chance = random.Random(20)
    answered, finders = 0, set()
    with requests.Session() as session:
        for _ in range(calls):
            caller, (method, path, query, body) = chance.choice(callers), call_of(chance)
            answer = session.request(
                method,
                f"{url}/api/{path}?{query}",
                headers={"X-MS-CLIENT-PRINCIPAL": BROUGHT_ALONG, **caller.headers},
                data=body if method == "POST" else None,
                timeout=30,
            )
            shown = f"{method} {path}?{query} {body!r} as {caller.name}: {answer.status_code} {answer.text[:300]}"
            assert answer.status_code != 500, shown
            if not may(caller.name, path):
                assert answer.status_code in {401, 403, 404, 405}, shown
            elif answer.ok:
                answered += 1
                finders |= {caller.name} if '"data"' in answer.text else set()
                assert only_own(caller.name, answer), shown
    assert answered > calls / 20, "hardly any call was answered: the test says nothing"
    return finders


def call_of(chance: random.Random) -> tuple[str, str, str, bytes]:
    """Method, path, query and body: often those of a good call with something added, else whatever comes."""
    good, _, rest = chance.choice(CALLS).partition(" ")
    path, _, asked = rest.partition("?")
    method = good if chance.random() < 0.75 else chance.choice(["GET", "POST"])
    added = [f"{chance.choice(NAMES)}={chance.choice(VALUES)}" for _ in range(chance.choice([0, 0, 0, 1, 2, 3]))]
    kept = [asked] if asked and chance.random() < 0.75 else []
    bodies = LOOKUPS if path.endswith("/lookups") and chance.random() < 0.75 else BODIES
    return method, path, "&".join([*kept, *added]), chance.choice(bodies)


def only_own(caller: str, answer: requests.Response) -> bool:
    """Whether the bound caller sees nothing of another customer, but for what the question itself says."""
    return caller != "orders" or "c-2" not in answer.text.replace("=c-2", "")


def test_no_call_with_a_token_fails_inside_or_gets_what_it_may_not(settings: dict[str, str], tmp_path: Path) -> None:
    """Whatever it asks, and with whatever body."""
    with_tokens(settings, tmp_path, 400)


def test_no_call_with_a_key_fails_inside_or_gets_what_it_may_not(settings: dict[str, str], tmp_path: Path) -> None:
    """The same with keys."""
    with_keys(settings, tmp_path, 300)


@pytest.mark.long
def test_none_of_five_thousand_calls_with_tokens(settings: dict[str, str], tmp_path: Path) -> None:
    """The same for longer."""
    with_tokens(settings, tmp_path, 5000)


@pytest.mark.long
def test_none_of_five_thousand_calls_with_keys(settings: dict[str, str], tmp_path: Path) -> None:
    """The same for longer."""
    with_keys(settings, tmp_path, 5000)
