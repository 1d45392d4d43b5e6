"""The pages as a whole: how long they are, and that the site has all of them."""

from __future__ import annotations

import re
from typing import Final

from tests.support import ROOT

DOCS: Final = ROOT / "docs"
WORDS_MAX: Final = 22_000
# Made by commands from code, measurements and packages.
GENERATED: Final = {"code-map.md", "command-line.md", "errors.md", "licenses.md", "performance.md", "settings.md"}


def test_a_busy_reader_can_read_all_of_it() -> None:
    """Words as `wc` counts them, tables and examples included."""
    pages = [ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if page.name not in GENERATED)]
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages if "node_modules" not in page.parts}
    assert sum(words.values()) <= WORDS_MAX, words


def test_a_page_that_is_left_out_of_the_count_is_generated() -> None:
    """Hand-written pages do not hide there."""
    for name in GENERATED - {"command-line.md"}:
        text = (DOCS / name).read_text(encoding="utf-8")
        by_hand = re.sub(r"<!-- generated -->.*?<!-- end -->", "", text, flags=re.DOTALL)
        assert len(by_hand.split()) < 250 or "bench" in text.partition("\n\n")[2][:200] or "make licenses" in text, name


def test_every_page_has_its_place_on_the_site() -> None:
    """In the navigation, once."""
    named = re.findall(r"^ +- .*?: ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == len(set(named))
    assert {page.name for page in DOCS.glob("*.md")} | {"index.md"} <= set(named)


def test_the_badges_say_what_the_project_says() -> None:
    """They are files, so that pages need no network."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.findall(r'^version = "(.+)"$', project, re.MULTILINE)[0]
    oldest = re.findall(r'^requires-python = ">=(.+)"$', project, re.MULTILINE)[0]
    assert f">{version}<" in (DOCS / "images/version.svg").read_text(encoding="utf-8")
    assert f">{oldest} to " in (DOCS / "images/python.svg").read_text(encoding="utf-8")
