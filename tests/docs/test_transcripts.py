"""README and guides: what they show of a local run is what it gives, on the samples of `make run`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.docs.transcripts import Page, blocks, commands_in
from tests.e2e import runs
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = sorted(
    path
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    if path.name != "tutorial.md" and any(info.startswith("console") for info, _ in blocks(path))
)


SAMPLES = 200


def applied(address: str) -> int:
    """How many changes the indexes have."""
    status = requests.get(f"{address}/api/status", timeout=30).json()
    return sum(source["applied"] for source in status["sources"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """The run that all pages ask: its data folder, what it printed, and where it listens."""
    data = tmp_path_factory.mktemp("docs") / ".local"
    with runs.ready(data, "--in-memory") as (program, found):
        wait_until(lambda: applied(found["http"]) == SAMPLES, "all samples are in their indexes", 60)
        yield data, program.output, found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_a_local_run_gives(path: Path, run: tuple[Path, str, dict[str, Any]]) -> None:
    """Command by command."""
    data, printed, found = run
    page = Page(path, data.parent)
    page.use(found, printed)
    page.run()
    assert page.ran == [
        command.text for info, body in blocks(path) if info.startswith("console") for command in commands_in(body)
    ]


def test_the_file_of_endpoints_has_the_members_that_the_guide_shows(run: tuple[Path, str, dict[str, Any]]) -> None:
    """Other programs read it."""
    _, _, found = run
    (shown,) = (json.loads(body) for info, body in blocks(ROOT / "docs/local.md") if info == "json")
    assert {name: type(value) for name, value in shown.items()} == {name: type(value) for name, value in found.items()}
    assert {*shown["pids"]} == {*found["pids"]}
