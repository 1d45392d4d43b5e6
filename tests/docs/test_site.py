"""The built site in a real Chromium, opened as files, without a network. `make docs-check` builds it and runs this."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.support import missing_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

SITE = Path(os.environ.get("SITE", "none"))
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="no site is built: make docs-check")


@pytest.fixture
def page() -> Iterator[Page]:
    """A page that may load nothing but files; fails on scripts that fail."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing_service("The site is tested in Chromium: install it (apt-get install chromium).")
    with sync_playwright() as playwright:
        # Root, as in a container, cannot use Chromium's own sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        found = browser.new_page()
        complaints: list[str] = []
        found.on("pageerror", lambda error: complaints.append(str(error)))
        found.on("request", lambda asked: complaints.append(asked.url) if asked.url.startswith("http") else None)
        yield found
        browser.close()
        assert complaints == []


@pytest.mark.parametrize("name", ["index", "architecture", "protocol", "deploy"])
def test_the_diagrams_of_a_page_are_drawn(name: str, page: Page) -> None:
    """None is left as text."""
    page.goto((SITE / f"{name}.html").absolute().as_uri())
    expect(page.locator("div.mermaid").first).to_be_visible(timeout=20_000)
    expect(page.locator("pre.mermaid")).to_have_count(0, timeout=20_000)


def test_the_search_finds_a_page_without_a_network(page: Page) -> None:
    """By words of its text."""
    page.goto((SITE / "index.html").absolute().as_uri())
    page.locator("input.md-search__input").fill("erase person")
    expect(page.locator(".md-search-result__item").first).to_be_attached(timeout=20_000)
