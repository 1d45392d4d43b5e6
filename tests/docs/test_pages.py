"""The pages as a whole: how long they are, and that the site has all of them."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

import pytest

from bench.measure import result as results
from bench.measure.result import BASELINE
from bench.report import pages as report
from tests.docs.test_generated import MADE
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS: Final = ROOT / "docs"
WORDS_MAX: Final = 22_000
# Made as a whole: from packages (tests/unit/test_project_files.py), and from measurements by way of this template,
# whose sentences count as any others.
GENERATED: Final = {"licenses.md", "performance.md"}
TEMPLATE: Final = ROOT / "bench/report/performance_template.md"
_MADE: Final = re.compile(r"<!-- (generated|made by .*?) -->.*?<!-- end -->", re.DOTALL)


def words_in(page: Path) -> int:
    """Everything with a letter or digit, also in tables, examples, answers of commands and diagrams; without tables
    that the code or the baseline decides."""
    text = _MADE.sub("", page.read_text(encoding="utf-8"))
    return sum(any(map(str.isalnum, word)) for word in text.split())


def test_a_busy_reader_can_read_all_of_it() -> None:
    """The whole of it, in an afternoon."""
    pages = [ROOT / "README.md", TEMPLATE, *(page for page in DOCS.glob("*.md") if page.name not in GENERATED)]
    words = {page.name: words_in(page) for page in pages}
    assert sum(words.values()) <= WORDS_MAX, words


def test_what_is_left_out_of_the_count_is_made_by_a_program() -> None:
    """Hand-written text does not hide there: tests compare each of these with what the program writes."""
    pages = (ROOT / "README.md", *DOCS.glob("*.md"))
    blocks = {page: _MADE.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {page.stem for page, makers in blocks.items() if "generated" in makers} == {*MADE}
    reported = {ROOT / path for path in report.files(results.read(BASELINE))}
    others = {page: {*makers} - {"generated"} for page, makers in blocks.items()}
    for page, makers in others.items():
        assert makers <= {"made by `python -m bench report`"}, page
        assert not makers or page in reported, page
    for name in GENERATED:
        assert re.search(r"makes this page|this page is made", (DOCS / name).read_text(encoding="utf-8")), name


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


PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


def prose_of(page: Path) -> str:
    """The text of a page without its blocks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^(?P<indent>(?: {4})*)```.*?^(?P=indent)```$", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.stem)
def test_code_in_a_list_is_fenced_and_four_spaces_in(page: Path) -> None:
    """Otherwise the site shows it as text, although GitHub does not."""
    assert re.findall(r"^(?: {1,3}```| {7}\S).*$", prose_of(page), re.MULTILINE) == []


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.stem)
def test_a_list_or_table_stands_apart_from_the_text_above_it(page: Path) -> None:
    """Otherwise the site shows it as text, although GitHub does not."""
    lines = prose_of(page).splitlines()
    starts = re.compile(r"(?:- |\d+\. |\| )")
    inside = re.compile(r"\s|- |\d+\. |\||$|<!--")
    wrong = [line for above, line in itertools.pairwise(lines) if starts.match(line) and not inside.match(above)]
    assert wrong == []


def dollars_in(text: str) -> set[float]:
    """Amounts of money, as prose has them."""
    return {float(amount) for amount in re.findall(r"\$(\d+(?:\.\d+)?)", text)}


def test_prices_in_prose_are_those_of_the_computed_tables() -> None:
    """Rounded to cents at most: the README and the page of costs say what docs/performance.md has computed."""
    money = (DOCS / "performance.md").read_text(encoding="utf-8").partition("\n## Money\n")[2].partition("\n## ")[0]
    computed = {float(number) for number in re.findall(r"(?<= )\d+\.\d+(?= )", money)}
    known = computed | {round(number, 2) for number in computed}
    compared = (DOCS / "cost.md").read_text(encoding="utf-8").partition("## Compared")[2].partition("\n## ")[0]
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Instead of")[2].partition("\n## ")[0]
    questions = (DOCS / "faq.md").read_text(encoding="utf-8")
    for text in (compared, table, questions):
        assert dollars_in(text)
        assert dollars_in(text) - known == set()
