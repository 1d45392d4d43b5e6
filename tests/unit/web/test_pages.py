"""The console needs nothing but the app: its files, kept by browsers, and a policy that allows nothing else."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest

from shared.web.pages import console, moved
from tests.support import ROOT

if TYPE_CHECKING:
    from shared.web.answers import HttpAnswer

WEB = ROOT / "shared/web"
VENDOR = WEB / "vendor"
URL = "https://app/api/console"
OWN = sorted((WEB / "console").rglob("*.js"))
OVER_THE_WIRE_MAX = 150_000
LINES_MAX = 125


async def file(path: str, accepted: str = "gzip, br") -> HttpAnswer:
    """What the console answers at a path."""
    return await console(f"{URL}/{path}" if path else URL, path, accepted)


async def page() -> str:
    """The page."""
    return (await file("", "")).body.decode()


async def addresses() -> list[str]:
    """The files that the page names, relative to the console."""
    return [found.removeprefix("console/") for found in re.findall(r'(?:href|src)="([^"]+)"', await page())]


async def test_the_page_names_only_files_that_there_are() -> None:
    """Its own, in this version; nothing comes from elsewhere."""
    text = await page()
    assert "{{" not in text
    assert "//" not in text
    for address in await addresses():
        answer = await file(address)
        assert (answer.status, answer.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")


async def test_every_import_is_a_file_that_the_browser_loads_at_once() -> None:
    """No module waits for another one to name it."""
    named = {str(PurePosixPath(*PurePosixPath(address).parts[1:])) for address in await addresses()}
    for module in OWN:
        for found in re.findall(r'from "(\.[^"]+)"', module.read_text()):
            imported = (module.parent / found).resolve()
            assert imported.is_file(), f"{module.name} imports {found}"
            assert imported.relative_to(WEB.resolve()).as_posix() in named


async def test_the_policy_allows_what_is_here_and_no_text_as_markup() -> None:
    """The one script inside the page is named by its hash; nothing is unsafe."""
    answer = await file("")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert "unsafe" not in policy
    assert len(re.findall(r"<script\b(?![^>]*\bsrc=)", await page())) == policy.count("'sha256-") == 1


async def test_the_page_is_not_kept() -> None:
    """Only its files are: a deployment is seen with the next load."""
    assert (await file("")).all_headers["Cache-Control"] == "no-store"


async def test_files_are_sent_small_to_browsers_that_take_it() -> None:
    """And whole to others."""
    script = next(address for address in await addresses() if address.endswith("app.js"))
    small, plain = await file(script), await file(script, "")
    assert (small.headers["Content-Encoding"], small.media_type) == ("gzip", "text/javascript")
    assert gzip.decompress(small.body) == plain.body == (WEB / "console/app.js").read_bytes()
    assert "Content-Encoding" not in plain.headers


async def test_the_console_is_small() -> None:
    """Everything that a browser loads for it, as it comes over the wire."""
    sizes = [len((await file(address)).body) for address in {"", *await addresses()}]
    assert sum(sizes) <= OVER_THE_WIRE_MAX


@pytest.mark.parametrize("path", ["000000000000/console/app.js", "../pages.py", "console/app.js", "x"])
async def test_a_file_that_there_is_not_is_not_found(path: str) -> None:
    """Another version, another folder."""
    answer = await file(path)
    assert (answer.status, answer.all_headers["Cache-Control"]) == (404, "no-store")


async def test_a_slash_behind_the_address_is_taken_away() -> None:
    """The page names its files relative to its own address."""
    answer = await console(f"{URL}/?a=b", "", "")
    assert (answer.status, answer.headers["Location"]) == (302, "../console")


async def test_old_addresses_lead_to_the_console() -> None:
    """Relative ones, so that they work behind any gateway."""
    assert (await moved("console#/api")).headers["Location"] == "console#/api"


@pytest.mark.parametrize("module", OWN, ids=lambda path: path.relative_to(WEB).as_posix())
def test_a_module_is_small_says_what_it_does_and_makes_no_markup_of_text(module: Any) -> None:
    """Nor does it keep anything in the browser."""
    text = module.read_text()
    assert text.startswith("// ")
    assert text.count("\n") <= LINES_MAX
    forbidden = (
        r"innerHTML|outerHTML|dangerouslySet|insertAdjacent|document\.write|\beval\b|Storage\b\.|document\.cookie"
    )
    assert re.findall(forbidden, text) == []


def vendored() -> list[dict[str, Any]]:
    """The packages that the console brings along."""
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
