"""What a run prints when it is ready."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from local.run.folder import DataFolder
from local.run.ready import ready_lines
from local.run.samples import facts
from shared.definitions.files import read_definitions
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = ROOT / "indexes.yaml"


def printed(folder: Path, *, has_samples: bool = True, **endpoints: Any) -> str:
    """All of it, for the definitions of this project."""
    found = {"http": "http://127.0.0.1:7071", "definitions": str(DEFINITIONS), **endpoints}
    definitions = read_definitions(DEFINITIONS).require()
    return "\n".join(ready_lines(found, DataFolder(folder), definitions, has_samples=has_samples))


def test_the_first_lookup_finds_something(tmp_path: Path) -> None:
    """It asks for the town of a sample."""
    found = re.search(
        r"curl 'http://127.0.0.1:7071/api/indexes/customers-by-town/entries\?town=(\w+)'", printed(tmp_path)
    )
    assert found is not None
    assert found[1] in {fact.get("town") for fact in facts("customers")}


def test_without_samples_facts_come_first(tmp_path: Path) -> None:
    """Into the first source."""
    text = printed(tmp_path, has_samples=False)
    assert "curl" not in text
    assert f"load FACTS.jsonl --source customers --data {tmp_path}" in text


@pytest.mark.parametrize(
    ("endpoints", "credentials"),
    [
        ({}, ""),
        ({"keys": {"function": "abc"}}, "-H 'x-functions-key: abc'"),
        ({"signIn": {"key": "k"}}, "token --role Index.Read --data"),
    ],
)
def test_the_first_lookup_has_what_the_run_asks_for(
    tmp_path: Path, endpoints: dict[str, Any], credentials: str
) -> None:
    """A key, a token, or nothing."""
    (line,) = [line for line in printed(tmp_path, **endpoints).splitlines() if "curl" in line]
    assert credentials in line
    assert ("-H" in line) == bool(endpoints)


def test_console_docs_and_definitions_are_named(tmp_path: Path) -> None:
    """A person can open or edit them."""
    text = printed(tmp_path)
    for path in ("console", "docs", "health/ready"):
        assert f"http://127.0.0.1:7071/api/{path}\n" in text
    assert "indexes.yaml: the app starts again with what you save" in text
    assert text.endswith("Ctrl-C stops it.")
