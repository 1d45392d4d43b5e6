"""Every diagram of the documentation can be drawn, in a real Chromium, by the program that the site brings."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from tests.docs.transcripts import blocks
from tests.support import ROOT, missing_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

MERMAID = ROOT / "docs/site/node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js"
DIAGRAMS = {
    f"{path.stem}-{number}": body
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, body in enumerate(body for info, body in blocks(path) if info == "mermaid")
}


@pytest.fixture(scope="module")
def drawing() -> Iterator[Page]:
    """A page with the program, and no network."""
    path = shutil.which("chromium")
    if path is None or not MERMAID.is_file():
        missing_service("chromium or @mermaid-js/tiny is missing: see CONTRIBUTING.md")
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]) as browser,
    ):
        page = browser.new_page()
        page.route("**/*", lambda route: route.abort())
        page.set_content("<html><body></body></html>")
        page.add_script_tag(path=MERMAID)
        page.evaluate("mermaid.initialize({startOnLoad: false})")
        yield page


def test_there_are_diagrams() -> None:
    """Of the architecture and of each rule of the protocol."""
    assert len([name for name in DIAGRAMS if name.startswith("protocol")]) > 8


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_can_be_drawn(name: str, drawing: Page) -> None:
    """As an image with something in it."""
    script = "async text => (await mermaid.render('drawn', text)).svg"
    svg = drawing.evaluate(script, DIAGRAMS[name])
    assert svg.startswith("<svg")
    assert "Syntax error" not in svg


def test_a_diagram_that_is_wrong_is_noticed(drawing: Page) -> None:
    """This check can fail."""
    with pytest.raises(Exception, match=r"Parse error|Lexical error"):
        drawing.evaluate("async text => (await mermaid.render('wrong', text)).svg", "flowchart LR\n  a[(b --> ((c")
