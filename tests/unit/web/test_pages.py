"""The pages need nothing but the app: one answer each, and a policy that allows only what is inside."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

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


def vendored() -> list[dict[str, Any]]:
    """The packages that the pages bring along."""
    packages: list[dict[str, Any]] = json.loads((VENDOR / "vendored.json").read_text())
    return packages


def test_every_vendored_file_is_listed_with_its_license() -> None:
    """What comes from elsewhere says from where."""
    listed = {name for package in vendored() for name in (*package["files"], package["licenseFile"])}
    files = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    assert files - {"README.md", "vendored.json"} == listed


@pytest.mark.parametrize("package", vendored(), ids=lambda package: package["name"])
def test_a_vendored_file_is_as_published(package: dict[str, Any]) -> None:
    """Its checksum is the one of the package's file."""
    digests = {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in package["files"]}
    assert digests == {name: file["sha256"] for name, file in package["files"].items()}
