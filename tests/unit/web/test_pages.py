"""The pages need nothing but the app: one answer each, and a policy that allows only what is inside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from shared.web.pages import docs_page, status_page
from tests.support import ROOT

if TYPE_CHECKING:
    from shared.web.answers import HttpAnswer

VENDOR = ROOT / "shared/web/vendor"


@pytest.fixture(params=[docs_page, status_page], ids=["docs", "status"])
async def page(request: pytest.FixtureRequest) -> HttpAnswer:
    """Each of the pages."""
    answer: HttpAnswer = await request.param()
    return answer


async def test_a_page_is_complete(page: HttpAnswer) -> None:
    """No place is left to fill, and nothing is loaded from elsewhere: no address but in a comment or a name space."""
    text = page.body.decode()
    assert "{{" not in text
    assert re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=", text) == []
    assert re.findall(r"@import|url\(", text) == []


async def test_the_policy_names_every_block_of_a_page(page: HttpAnswer) -> None:
    """One hash for each script and each style, and nothing unsafe."""
    text, policy = page.body.decode(), page.headers["Content-Security-Policy"]
    assert policy.count("'sha256-") == len(re.findall(r"<(?:script|style)>", text)) >= 2
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")


def test_what_is_vendored_says_its_version_and_license() -> None:
    """As published, with the license beside it."""
    listed = dict(re.findall(r"^\| \[(\w+)\]\S+ \| ([\d.]+) \|", (VENDOR / "README.md").read_text(), re.MULTILINE))
    assert listed.keys() == {path.name for path in VENDOR.iterdir() if path.is_dir()}
    assert f"(v{listed['uplot']})" in (VENDOR / "uplot/uPlot.iife.min.js").read_text()[:100]
    assert "MIT" in (VENDOR / "uplot/LICENSE").read_text()
