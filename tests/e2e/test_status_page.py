"""The status page in a real Chromium: it shows what the API says, to everybody, whatever is down."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient
from playwright.sync_api import sync_playwright

from tests.e2e import runs
from tests.support import ROOT, missing_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azure.cosmos import ContainerProxy
    from playwright.sync_api import Browser, Page

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team}
indexes:
  people-by-town: {source: people, partition: town, sort: [name], project: [phone]}
  people-by-kind: {source: people, partition: kind, project: keys}
  people-by-team: {source: people, partition: team, sort: [{path: age, type: integer, order: desc}], project: keys}
"""
AXE = ROOT / "tests/e2e/browser/node_modules/axe-core/axe.min.js"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}


@dataclass(frozen=True)
class Run:
    """A local run that checks keys."""

    found: dict[str, Any]

    @property
    def page(self) -> str:
        """Where the page is."""
        return f"{self.found['http']}/api/status/page"

    @property
    def key(self) -> str:
        """The function key."""
        return str(self.found["keys"]["function"])

    @property
    def people(self) -> ContainerProxy:
        """The container of facts."""
        client = CosmosClient(self.found["cosmos"]["endpoint"], self.found["cosmos"]["key"])
        return client.get_database_client("test").get_container_client("people")

    def get(self, path: str) -> dict[str, Any]:
        """What a call answers."""
        headers = {"x-functions-key": self.key}
        answer = requests.get(f"{self.found['http']}/api/{path}", headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        content: dict[str, Any] = answer.json()
        return content


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One run for all tests of this file, with a few facts and a dead letter."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    with runs.ready(folder / "data", "--definitions", str(folder / "indexes.yaml"), "--auth") as (_, found):
        status_run = Run(found)
        for number in range(12):
            status_run.people.upsert_item(
                {"id": f"p{number}", "team": "a", "town": "Oslo", "name": f"N{number}", "age": number}
            )
        status_run.people.upsert_item({"id": "bad", "team": "a", "town": {"no": "text"}, "name": "Bad", "age": 1})
        wait_until(lambda: status_run.get("status")["sources"][0]["applied"] == 13, "the facts are applied")
        yield status_run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing_service("The status page is tested in Chromium: install it (apt-get install chromium).")
    if not AXE.is_file():
        missing_service("axe-core is not installed: run make setup-tests.")
    with sync_playwright() as playwright:
        # Root, as in a container, cannot use Chromium's own sandbox.
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@contextlib.contextmanager
def open_page(browser: Browser, run: Run, look: str = "light") -> Iterator[Page]:
    """The page before a key was given; fails on anything that the browser complains about."""
    context = browser.new_context(**LOOKS[look])
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    # A call that is refused or not answered shows up here as well, and is meant to.
    page.on(
        "console",
        lambda said: (
            complaints.append(said.text) if said.type == "error" and "Failed to load" not in said.text else None
        ),
    )
    page.goto(run.page)
    yield page
    context.close()
    assert complaints == []


def give_key(page: Page, key: str) -> None:
    """Type a key and send it, as a person with a keyboard does."""
    page.wait_for_selector("#access:not([hidden])")
    page.keyboard.type(key)
    page.keyboard.press("Enter")


@contextlib.contextmanager
def shown(browser: Browser, run: Run, look: str = "light") -> Iterator[Page]:
    """The page once it shows the status."""
    with open_page(browser, run, look) as page:
        give_key(page, run.key)
        page.wait_for_selector("[data-index]")
        yield page


def values(page: Page, inside: str) -> list[float | None]:
    """The values that a part of the page shows."""
    found = page.eval_on_selector_all(f"{inside} data", "all => all.map((one) => one.value)")
    return [float(value) if value else None for value in found]


def texts(page: Page, inside: str) -> list[str]:
    """The texts of all elements that a selector finds."""
    return [str(text) for text in page.eval_on_selector_all(inside, "all => all.map((one) => one.textContent)")]


SOURCE = ("lagSeconds", "applied", "dropped", "redelivered", "deadLetters", "transactions", "dollarsPerMillionChanges")


def as_page(status: dict[str, Any]) -> dict[str, list[float | None]]:
    """The values of a status, in the order in which the page shows them."""
    (source,) = status["sources"]
    rows = {
        f'[data-index="{index["name"]}"]': [
            index["entriesWritten"],
            index["entriesRemoved"],
            index["lookups"],
            index["rowsRead"] / index["entriesReturned"] if index["entriesReturned"] else None,
            index["transactions"]["changes"] + index["transactions"]["lookups"],
            index["dollarsPerMillionEntries"],
            index["dollarsPerMillionLookups"],
        ]
        for index in status["indexes"]
    }
    dead_letters = [status["deadLetters"]["count"], *(reason["count"] for reason in status["deadLetters"]["reasons"])]
    return {'[data-source="people"]': [source[name] for name in SOURCE], **rows, "#letters": dead_letters}


def on_page(page: Page, wanted: dict[str, list[float | None]]) -> dict[str, list[float | None]]:
    """The same values as the page shows them."""
    return {inside: values(page, inside) for inside in wanted}


def agrees(page: Page, run: Run) -> bool:
    """Whether the page shows now what the API says now."""
    wanted = as_page(run.get("status"))
    return on_page(page, wanted) == wanted


def tells_what_is_unknown(page: Page, run: Run) -> bool:
    """Whether the page names what the API names; how each failed may be another at the next look."""
    unknown = [text.partition(":")[0] for text in run.get("status")["unknown"]]
    return bool(unknown) and [text.partition(":")[0] for text in texts(page, "#unknown li")] == unknown


def test_the_page_asks_for_a_key_and_holds_nothing_without_it(browser: Browser, run: Run) -> None:
    """A wrong key is told; the right one, typed and sent by keyboard, shows the status."""
    assert "people" not in requests.get(run.page, timeout=10).text
    with open_page(browser, run) as page:
        give_key(page, "wrong")
        page.wait_for_selector("#refused:not(:empty)")
        assert page.inner_text("#refused") == "This key is not accepted."
        page.fill("#key", run.key)
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-index]")
        assert page.is_hidden("#access")


def test_the_page_shows_advice(browser: Browser, run: Run) -> None:
    """What `/api/advice` says, in words; here that a partition called `kind` has few values."""
    advice = [(index["name"], piece) for index in run.get("advice")["indexes"] for piece in index["advice"]]
    assert ("people-by-kind", "definition") in [(name, piece["code"]) for name, piece in advice]
    with shown(browser, run) as page:
        page.wait_for_selector("#advice-section:not([hidden])")
        assert texts(page, "#advice .reason") == [f"{piece['what']}. {piece['mend']}" for _, piece in advice]


def test_the_page_shows_what_the_api_says(browser: Browser, run: Run) -> None:
    """After changes, lookups and a dead letter; without a reload."""
    with shown(browser, run) as page:
        wait_until(lambda: agrees(page, run), "the page shows what the API says")
        before = page.inner_text('[data-index="people-by-town"]')
        for _ in range(3):
            run.get("indexes/people-by-town/entries?town=Oslo")
        run.people.upsert_item({"id": "p1", "team": "a", "town": "Lund", "name": "Moved", "age": 1})
        run.people.upsert_item({"id": "bad2", "team": "a", "town": "Oslo", "name": "B", "age": "no number"})
        wait_until(lambda: run.get("status")["deadLetters"]["count"] == 2, "the second dead letter")
        wait_until(lambda: agrees(page, run), "the page shows that, too")
        assert page.inner_text('[data-index="people-by-town"]') != before
        reasons = [reason["reason"] for reason in run.get("status")["deadLetters"]["reasons"]]
        assert texts(page, "#letters .reason") == reasons
        generations = [
            generation["id"] for index in run.get("status")["indexes"] for generation in index["generations"]
        ]
        assert texts(page, "[data-generation] code") == generations
        assert page.inner_text("#summary") == "Up to date, with 2 dead letters"
        page.wait_for_selector('[data-source="people"] canvas')


def test_the_page_tells_an_outage_and_its_end(browser: Browser, run: Run) -> None:
    """The page shows what is unknown, and the state of the storage; afterwards everything is back."""
    azurite = run.found["pids"]["azurite"]
    with shown(browser, run) as page:
        os.kill(azurite, signal.SIGSTOP)
        try:
            wait_until(
                lambda: page.inner_text("#summary") == "The index storage does not answer", "the outage is shown", 60
            )
            status = run.get("status")
            assert status["storage"]["isReachable"] is False
            assert values(page, "#letters") == [status["deadLetters"]["count"]] == [None]
            wait_until(lambda: tells_what_is_unknown(page, run), "the page tells what is unknown, as the API does", 60)
            assert "does not answer" in page.inner_text("#storage")
        finally:
            os.kill(azurite, signal.SIGCONT)
        wait_until(lambda: page.is_hidden("#unknown") and agrees(page, run), "everything is back", 60)
        assert "answers" in page.inner_text("#storage")


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_is_accessible(browser: Browser, run: Run, look: str) -> None:
    """axe finds no violation, before and after the key; nothing is wider than the screen."""
    with open_page(browser, run, look) as page:
        page.wait_for_selector("#access:not([hidden])")
        assert violations(page) == []
        give_key(page, run.key)
        page.wait_for_selector("[data-index]")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def violations(page: Page) -> list[str]:
    """What axe finds, with the elements."""
    # The page's policy allows no added script; the browser itself may add one.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 10, "axe has looked at the page"
    return [
        f"{violation['id']}: {[node['target'] for node in violation['nodes']]}" for violation in found["violations"]
    ]


def test_the_page_can_be_paused_by_keyboard(browser: Browser, run: Run) -> None:
    """So that nothing moves while a person reads; screen readers hear which it is."""
    with shown(browser, run) as page:
        page.focus("body")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "pause"
        page.keyboard.press("Enter")
        assert page.get_attribute("#pause", "aria-pressed") == "true"
        page.keyboard.press("Enter")
        assert (page.get_attribute("#pause", "aria-pressed"), page.inner_text("#pause")) == ("false", "Pause")


def test_the_page_of_calls_sends_bodies(browser: Browser, run: Run) -> None:
    """A call of operators that takes a body has a field for it; what the app says of it is shown."""
    page = browser.new_page()
    page.goto(f"{run.found['http']}/api/docs")
    page.get_by_label("Key").fill(str(run.found["keys"]["admin"]))
    page.get_by_role("button", name="Load").click()
    page.get_by_text("POST /api/indexes/{name}/switch").click()
    call = page.locator("details[open]")
    call.get_by_label("name").select_option("people-by-town")
    call.get_by_label("body").fill('{"force": "yes"}')
    call.get_by_role("button", name="Send").click()
    call.get_by_text("The member force of the body is not true or false").wait_for()
    page.close()
