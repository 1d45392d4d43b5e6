"""docs/tutorial.md: every step is run, from the first file to the last command before `azd up`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.transcripts import Page, blocks, commands_in
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_every_step_of_the_tutorial_gives_what_it_shows(tmp_path: Path) -> None:
    """In an empty folder, with a real local run."""
    # A build waits until no worker can have the old file: here none has, once the run has started again.
    settings = {"BUILD_DELAY_SECONDS": "2"}
    (tmp_path / "infra").symlink_to(ROOT / "infra")
    page = Page(TUTORIAL, tmp_path, settings=settings)
    page.run()
    shown = [
        command.text for info, body in blocks(TUTORIAL) if info.startswith("console") for command in commands_in(body)
    ]
    assert page.ran == shown
    assert {text.split()[1] for text in page.ran if text.startswith("index-tables")} >= {
        "load",
        "apply",
        "dead-letters",
    }
