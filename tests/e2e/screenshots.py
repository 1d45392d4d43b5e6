"""Makes the pictures of the console for the docs, from a run with the samples: `python -m tests.e2e.screenshots`."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from azure.cosmos import CosmosClient

from tests.e2e import runs
from tests.e2e.browsing import chromium
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

IMAGES: Final = ROOT / "docs/images"
# So long changes and lookups go on, for something to see in the charts.
BUSY_SECONDS: Final = 190
LOOKUP: Final = "indexes/customers-by-town?town=Redmond&lastName.ge=H"


def main() -> None:
    """Every picture."""
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        runs.ready(Path(folder) / "data", "--definitions", str(definitions_in(folder)), "--samples") as (_, found),
        chromium() as browser,
    ):
        page = browser.new_page(viewport={"width": 1180, "height": 760})
        page.goto(found["http"])
        be_busy(page, found)
        page.wait_for_timeout(6000)
        take(page, "console-overview")
        shoot(page, LOOKUP, ".drawing", "console-lookup")
        shoot(page, "dead-letters", "tbody tr", "console-dead-letters", open_letter)
        shoot(page, "api/find.movies-by-actor", ".try", "console-api", try_call)
        on_a_phone(browser, found)
        change(definitions_in(folder))
        shoot(page, "operations/customers-by-town", "[data-step=build]", "console-operations", build)


def definitions_in(folder: str) -> Path:
    """The project's own definitions, to be changed."""
    file = Path(folder) / "indexes.yaml"
    if not file.exists():
        file.write_text((ROOT / "indexes.yaml").read_text())
    return file


def change(definitions: Path) -> None:
    """One index carries one field more."""
    definitions.write_text(definitions.read_text().replace("project: [phone, email]", "project: [phone, email, age]"))


def build(page: Page) -> None:
    """The changed index is built, and waits to be verified."""
    page.locator("[data-step=build]").get_by_role("button", name="Build").click()
    page.get_by_text("built, to be verified").wait_for(timeout=120_000)


def be_busy(page: Page, found: dict[str, Any]) -> None:
    """Customers change, and are looked up; one of them does not fit its index."""
    client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
    movies = client.get_database_client("shop").get_container_client("movies")
    movies.upsert_item(
        {"id": "m-900", "genre": "Drama", "title": "Unfinished", "year": "unknown", "cast": [], "released": True}
    )
    customers = client.get_database_client("shop").get_container_client("customers")
    facts = list(customers.read_all_items())
    began, number = time.monotonic(), 0
    while time.monotonic() - began < BUSY_SECONDS:
        for fact in facts[number % 50 : number % 50 + 3 + number % 7]:
            customers.upsert_item({**fact, "phone": f"+1-555-{number:04}"})
        page.evaluate("(path) => fetch(path).then(() => null)", "/api/indexes/customers-by-town/entries?town=Redmond")
        number += 1
        page.wait_for_timeout(300 + 250 * (number % 5))
    wait_until(lambda: letters(page) > 0, "the dead letter")


def letters(page: Page) -> int:
    """How many dead letters wait."""
    answer = page.evaluate("fetch('/api/dead-letters').then((answer) => answer.text())")
    return len(json.loads(answer)["value"])


def shoot(page: Page, place: str, shown: str, name: str, then: Callable[[Page], None] = lambda _: None) -> None:
    """One page of the console, once it shows what it should."""
    page.evaluate("(place) => { location.hash = `#/${place}`; }", place)
    page.wait_for_selector(shown)
    then(page)
    take(page, name)


def open_letter(page: Page) -> None:
    """A dead letter with its document."""
    page.get_by_role("button", name="Open the dead letter").first.click()
    page.wait_for_selector("mark.marked")


def try_call(page: Page) -> None:
    """The call is sent, and its answer comes into view."""
    page.locator("input[name=actor]").fill("Ingrid Falk")
    page.locator("input[name=maxpagesize]").fill("2")
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector(".answer tbody tr")
    page.locator(".try .parameter").nth(8).evaluate("(field) => field.scrollIntoView()")


def on_a_phone(browser: Browser, found: dict[str, Any]) -> None:
    """A lookup on a small screen, in the dark."""
    page = browser.new_page(viewport={"width": 390, "height": 760}, color_scheme="dark")
    page.goto(f"{found['http']}/api/console#/{LOOKUP}")
    page.wait_for_selector("tbody tr")
    take(page, "console-phone")


def take(page: Page, name: str) -> None:
    """The picture of what is in view."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)
    page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
