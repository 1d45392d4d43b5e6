"""Every diagram of the documentation can be drawn, in a real Chromium, by the program that the site brings."""

from __future__ import annotations

import re
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
PROTOCOL = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
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


def test_every_rule_of_the_protocol_has_a_drawn_counter_example() -> None:
    """The shortest history that goes wrong without it."""
    rules = PROTOCOL.partition("\n## The rules\n")[2].partition("\n## What a crash leaves")[0]
    sections = re.split(r"^##+ (.+)$", rules, flags=re.MULTILINE)[1:]
    drawn = {title: text.count("```mermaid") for title, text in zip(sections[::2], sections[1::2], strict=True)}
    assert len(drawn) > 8
    assert {title for title, count in drawn.items() if count != 1} == set()


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
