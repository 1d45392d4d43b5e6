"""The console in a real Chromium: a run with facts to look at, pages, and what the browser complains about."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import requests
from azure.cosmos import CosmosClient
from azure.eventhub import EventData, EventHubProducerClient
from playwright.sync_api import sync_playwright

from tests.e2e import runs
from tests.support import ROOT, missing_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

AXE: Final = ROOT / "tests/e2e/browser/node_modules/axe-core/axe.min.js"
OPEN_SECONDS: Final = 60


@dataclass(frozen=True)
class Run:
    """A local run that checks keys."""

    folder: Path
    found: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it is."""
        return str(self.found["http"])

    @property
    def admin_key(self) -> str:
        """The key that opens everything."""
        return str(self.found["keys"]["admin"])

    def ask(self, path: str, method: str = "GET") -> requests.Response:
        """A call with the admin key."""
        headers = {"x-functions-key": self.admin_key}
        return requests.request(method, f"{self.url}/api/{path}", headers=headers, timeout=30)

    def get(self, path: str) -> dict[str, Any]:
        """What a call answers."""
        answer = self.ask(path)
        assert answer.status_code == 200, answer.text
        content: dict[str, Any] = answer.json()
        return content

    def write(self, *facts: dict[str, Any]) -> None:
        """Facts into the container `people`."""
        client = CosmosClient(self.found["cosmos"]["endpoint"], self.found["cosmos"]["key"])
        container = client.get_database_client("test").get_container_client("people")
        for fact in facts:
            container.upsert_item(fact)

    def send(self, hub: str, *events: dict[str, Any]) -> None:
        """Events into a hub."""
        connection = self.found["eventHubs"]["connectionString"]
        with EventHubProducerClient.from_connection_string(connection, eventhub_name=hub) as producer:
            batch = producer.create_batch(partition_key="k")
            for event in events:
                batch.add(EventData(json.dumps(event)))
            producer.send_batch(batch)

    def applied(self) -> int:
        """How many changes are in the indexes, or are dead letters."""
        return sum(source["applied"] for source in self.get("status")["sources"])

    def deploy(self, definitions: str) -> None:
        """Other definitions: the file changes, and the run starts the app again with them."""
        before = runs.endpoints(self.folder / "data")["pids"]["host"]
        (self.folder / "indexes.yaml").write_text(definitions)
        wait_until(
            lambda: runs.endpoints(self.folder / "data").get("pids", {}).get("host", before) != before, "a new host", 60
        )

    @contextlib.contextmanager
    def without_storage(self) -> Iterator[None]:
        """The index storage gives no answer for the length of the block."""
        azurite = self.found["pids"]["azurite"]
        os.kill(azurite, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(azurite, signal.SIGCONT)


@contextlib.contextmanager
def started(folder: Path, definitions: str) -> Iterator[Run]:
    """A run with these definitions."""
    (folder / "indexes.yaml").write_text(definitions)
    with runs.ready(folder / "data", "--definitions", str(folder / "indexes.yaml"), "--auth") as (_, found):
        yield Run(folder, found)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing_service("The console is tested in Chromium: install it (apt-get install chromium).")
    if not AXE.is_file():
        missing_service("axe-core is not installed: run make setup-tests.")
    with sync_playwright() as playwright:
        # Root, as in a container, cannot use Chromium's own sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser: Browser, address: str, key: str | None = None, **look: Any) -> Iterator[Page]:
    """A page, with a key typed by keyboard if one is given; fails on anything that the browser complains about."""
    context = browser.new_context(**look)
    context.set_default_timeout(OPEN_SECONDS * 1000)
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
    page.on("dialog", lambda dialog: complaints.append(f"a script ran: {dialog.message}"))
    page.goto(address)
    if key is not None:
        page.get_by_label("Key", exact=True).wait_for()
        page.keyboard.type(key)
        page.keyboard.press("Enter")
        page.wait_for_selector(".side .names li")
    yield page
    context.close()
    assert complaints == []


def violations(page: Page) -> list[str]:
    """What axe finds, with the elements."""
    # The page's policy allows no added script; the browser itself may add one.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 10, "axe has looked at the page"
    return [
        f"{violation['id']}: {[node['target'] for node in violation['nodes']]}" for violation in found["violations"]
    ]
