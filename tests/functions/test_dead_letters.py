"""Dead letters over HTTP and from the command line: listed, shown, replayed and purged with the admin key."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import requests

from cli.main import main
from shared.pipeline.dead_letters.rows import unreadable_dead_letter
from tests.contract.tables.table_services import key_client
from tests.functions.apps import RunningApp, serving
from tests.support import ROOT
from tests.worlds.dead_letters import dead_letter_service_of, refusing
from tests.worlds.world import World, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id}
indexes:
  people-by-town: {source: people, partition: town, sort: name, project: [phone]}
  people-by-age: {source: people, partition: town, sort: [{path: age, type: integer}], project: keys}
"""
PERSON: dict[str, Any] = {"town": "X", "name": "n", "phone": "1", "age": 7}


class App:
    """An app with its own source, and access to its storage."""

    def __init__(self, running: RunningApp, keys: dict[str, str], text: str, source: str, storage: str) -> None:
        self.url = running.url
        self.keys = keys
        self.source = source
        self._text = text
        self._storage = storage

    def call(self, method: str, target: str, key: str = "admin") -> requests.Response:
        """A request with one of the keys."""
        link = target if target.startswith("http") else f"{self.url}/api/dead-letters{target}"
        return requests.request(method, link, headers={"x-functions-key": self.keys.get(key, key)}, timeout=20)

    def dead_letters(self, query: str = "") -> list[dict[str, Any]]:
        """The dead letters of the app's source, from one page."""
        answer = self.call("GET", f"?source={self.source}{query}")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["value"]
        return found

    def in_world(self, work: Callable[[World], Coroutine[Any, Any, Any]]) -> Any:
        """Do something to the app's storage as its worker would."""

        async def run() -> Any:
            async with key_client(self._storage) as tables:
                world = World(tables, self._text, self.source)
                await world.create_tables()
                return await work(world)

        return asyncio.run(run())

    def fail(self, *facts: str, document: dict[str, Any] | None = None, with_fault: bool = True) -> None:
        """Let facts fail: in code that has a fault, or because they are poison."""

        async def work(world: World) -> None:
            if with_fault:
                world.plan = refusing(world.plan, world.definitions)
            await world.apply(*[world.writer.change(fact, document or PERSON) for fact in facts])

        self.in_world(work)

    def by_age(self) -> int:
        """How many entries the index by age has."""

        async def work(world: World) -> int:
            return len(visible(await world.rows(f"{self.source}-by-age", "X !")))

        found: int = self.in_world(work)
        return found


@pytest.fixture
def app(azurite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """This project's app, without triggers, with keys."""
    folder = tmp_path_factory.mktemp("letters")
    source = f"p{uuid4().hex[:12]}"
    text = TEXT.replace("people", source)
    (folder / "indexes.yaml").write_text(text)
    settings = {
        "AzureWebJobsStorage": azurite,
        "INDEX_STORAGE": azurite,
        "INDEX_DEFINITIONS": str(folder / "indexes.yaml"),
        "COSMOS": "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5;",
    }
    arguments = ("--http-only", "--keys", str(folder / "keys.json"))
    with serving(ROOT, settings, *arguments, log_folder=folder) as running:
        keys = json.loads((folder / "keys.json").read_text())
        yield App(running, keys, text, source, azurite)


def test_dead_letters_are_listed_shown_replayed_and_gone(app: App) -> None:
    """The whole life of a dead letter, and what a replay of a closed one says."""
    app.fail("f")
    dead_letters = app.dead_letters()
    assert {dead_letter["index"] for dead_letter in dead_letters} == {f"{app.source}-by-town", f"{app.source}-by-age"}
    (by_age,) = app.dead_letters(f"&index={app.source}-by-age&kind=notEvaluable&reason=A%20FAULT")
    assert by_age.keys() == {"id", "source", "index", "kind", "reason", "failedAt", "fact", "version"}
    assert by_age["fact"] == {"id": "f", "partitionKey": "f"}
    shown = app.call("GET", f"/{by_age['id']}").json()
    assert shown == {**by_age, "document": {"id": "f", **PERSON}}
    replayed = app.call("POST", f"/{by_age['id']}/replay")
    assert (replayed.status_code, replayed.json()["outcome"]) == (200, "applied"), replayed.text
    assert app.dead_letters(f"&index={app.source}-by-age") == []
    for method, target in (("POST", f"/{by_age['id']}/replay"), ("GET", f"/{by_age['id']}")):
        gone = app.call(method, target)
        assert (gone.status_code, gone.json()["code"]) == (404, "DeadLetterNotFound")


def test_dead_letters_are_replayed_by_filter_page_by_page(app: App) -> None:
    """Each call is bounded, tells what it did and where to go on; those that still fail do not stop it."""
    app.fail(*[f"f{number}" for number in range(5)])
    app.fail("poison", document={**PERSON, "age": "old"}, with_fault=False)
    link: str | None = f"/replay?source={app.source}&index={app.source}-by-age&maxpagesize=2"
    counts, pages = {"applied": 0, "stillFails": 0, "superseded": 0, "refused": 0}, 0
    while link is not None:
        answer = app.call("POST", link)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["value"]) <= 2
        assert sum(page["counts"].values()) == len(page["value"])
        counts = {name: counts[name] + number for name, number in page["counts"].items()}
        pages += 1
        link = page.get("nextLink")
    assert counts == {"applied": 5, "stillFails": 1, "superseded": 0, "refused": 0}
    assert pages >= 3
    assert app.by_age() == 5
    assert {dead_letter["kind"] for dead_letter in app.dead_letters(f"&index={app.source}-by-age")} == {"wrongType"}


def test_pages_are_followed_by_absolute_links_without_keys(app: App) -> None:
    """As lookups are."""
    app.fail("f", "g", "h")
    link: str | None = f"{app.url}/api/dead-letters?source={app.source}&maxpagesize=4&code={app.keys['admin']}"
    found = []
    while link is not None:
        page = app.call("GET", link).json()
        found += [dead_letter["id"] for dead_letter in page["value"]]
        link = page.get("nextLink")
        assert link is None or (link.startswith(f"{app.url}/api/dead-letters?") and "code=" not in link)
    assert len(set(found)) == len(found) == 6


def test_what_could_not_be_read_is_listed_without_index_and_fact(app: App) -> None:
    """Its fact is unknown."""

    async def work(world: World) -> None:
        await dead_letter_service_of(world).store.put(
            unreadable_dead_letter(app.source, {"no": "id"}, "It has no id.", "feed")
        )

    app.in_world(work)
    (dead_letter,) = app.dead_letters("&kind=unreadable")
    assert dead_letter.keys() == {"id", "source", "kind", "reason", "failedAt"}
    answer = app.call("POST", f"/{dead_letter['id']}/replay").json()
    assert (answer["outcome"], "cannot be read" in answer["detail"]) == ("stillFails", True)


def test_a_dead_letter_that_may_not_be_replayed_is_a_problem(app: App) -> None:
    """Too old: the fact may have been deleted and forgotten since."""

    async def work(world: World) -> None:
        world.now_seconds = 1_000_000_000
        await world.apply(world.writer.change("f", {**PERSON, "age": "old"}))

    app.in_world(work)
    (dead_letter,) = app.dead_letters()
    assert dead_letter["failedAt"] == "2001-09-09T01:46:40Z"
    answer = app.call("POST", f"/{dead_letter['id']}/replay")
    assert (answer.status_code, answer.json()["code"]) == (409, "NotReplayable")
    assert app.call("POST", f"/replay?source={app.source}").json()["counts"]["refused"] == 1
    purged = app.call("POST", f"/purge?source={app.source}")
    assert purged.json() == {"purged": 1}
    assert app.dead_letters() == []


def test_bad_input_has_a_code_of_its_own(app: App) -> None:
    """Nothing is replayed or purged by a request that was not understood."""
    app.fail("f")
    other = app.call("GET", f"?source={app.source}&maxpagesize=1").json()["nextLink"].partition("token=")[2]
    for method, target, code in [
        ("GET", "?sauce=x", "UnknownParameter"),
        ("GET", "?source=nosuch", "InvalidParameterValue"),
        ("GET", "?index=nosuch", "InvalidParameterValue"),
        ("GET", "?kind=WrongType", "InvalidParameterValue"),
        ("GET", "?olderThanDays=3", "UnknownParameter"),
        ("GET", "?maxpagesize=0", "InvalidPageSize"),
        ("GET", "?token=AAAA", "InvalidToken"),
        ("GET", f"?maxpagesize=1&token={other}", "InvalidToken"),
        ("GET", "?source=%ff", "InvalidEncoding"),
        ("GET", f"/{'0' * 32}?x=1", "UnknownParameter"),
        ("POST", "/replay?kind=no", "InvalidParameterValue"),
        ("POST", "/replay?id=1", "UnknownParameter"),
        ("POST", "/replay?token=AAAA", "InvalidToken"),
        ("POST", f"/{'0' * 32}/replay?x=1", "UnknownParameter"),
        ("POST", "/purge?olderThanDays=-1", "InvalidParameterValue"),
        ("POST", "/purge?olderThanDays=1e9", "InvalidParameterValue"),
        ("POST", "/purge?olderThanDays=99999", "InvalidParameterValue"),
        ("POST", "/purge?source=nosuch", "InvalidParameterValue"),
    ]:
        answer = app.call(method, target)
        assert (answer.status_code, answer.json()["code"]) == (400, code), target
    for method, target in [("GET", "/nosuch"), ("GET", "/a%23b"), ("POST", f"/{'0' * 32}/replay")]:
        answer = app.call(method, target)
        assert (answer.status_code, answer.json()["code"]) == (404, "DeadLetterNotFound"), target
    assert "Did you mean wrongType" in app.call("GET", "?kind=WrongType").json()["detail"]
    assert len(app.dead_letters()) == 2


def test_only_the_admin_key_opens_them(app: App) -> None:
    """They hold documents, and replaying costs money."""
    for method, target in [("GET", ""), ("GET", "/x"), ("POST", "/x/replay"), ("POST", "/replay"), ("POST", "/purge")]:
        assert app.call(method, target, "function").status_code == 401
        assert app.call(method, target, "wrong").status_code == 401


def test_the_command_line_does_all_of_it(app: App, capsys: pytest.CaptureFixture[str]) -> None:
    """stdout is data in every format, stderr tells how many."""
    app.fail("f")
    where = ["--url", app.url, "--key", app.keys["admin"]]
    only = ["--source", app.source, "--index", f"{app.source}-by-age"]

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["dead-letters", *arguments, *where])
        return code, *capsys.readouterr()

    code, out, err = run("list", *only)
    assert (code, err) == (0, "1 dead letter\n")
    assert out.splitlines()[0].split() == ["ID", "SOURCE", "INDEX", "KIND", "FAILEDAT", "fact.id", "partitionKey"]
    (as_json,) = json.loads(run("list", *only, "--all", "--format", "json")[1])
    (as_line,) = [json.loads(line) for line in run("list", *only, "--format", "jsonl")[1].splitlines()]
    (as_csv,) = csv.DictReader(io.StringIO(run("list", *only, "--format", "csv")[1]))
    assert as_json == as_line
    assert as_csv["id"] == as_json["id"]
    code, out, _ = run("show", as_json["id"])
    assert (code, '"town": "X"' in out, "The code has a fault" in out) == (0, True, True)
    code, out, err = run("replay", as_json["id"])
    assert (code, err, "applied" in out) == (0, "1 dead letter replayed: 1 applied\n", True)
    code, _, err = run("replay", as_json["id"])
    assert (code, err.endswith("(DeadLetterNotFound)\n")) == (1, True)
    assert app.dead_letters() == [], "the change fits the other index, too, so that its letter is closed"
    app.fail("g")
    code, _, err = run("replay", *only)
    assert (code, err) == (0, "1 dead letter replayed: 1 applied\n")
    app.fail("poison", document={**PERSON, "age": "old"}, with_fault=False)
    assert run("replay", "--source", app.source, "--format", "json")[0] == 1
    assert run("purge", "--source", app.source)[1] == "PURGED\n0\n"
    assert run("purge", "--source", app.source, "--kind", "unreadable", "--older-than", "0")[1] == "PURGED\n0\n"


@pytest.mark.parametrize(
    "arguments",
    [["replay"], ["replay", "x", "--all"], ["replay", "--all", "--kind", "wrongType"]],
)
def test_a_replay_says_which(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is replayed by a command that leaves it open."""
    assert main(["dead-letters", *arguments, "--url", "http://127.0.0.1:1"]) == 2
    assert "say which" in capsys.readouterr().err
