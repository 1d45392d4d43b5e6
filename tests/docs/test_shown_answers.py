"""Answers that guides show outside of `console` blocks are what the app says and takes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, get_args

from cli.main import main
from shared.erasure.remains import RemnantPlace
from shared.web.api import erasures
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

DEFINITIONS = """
version: 1
sources: {orders: {eventHub: orders, partitionKey: customer, version: revision}}
indexes: {orders-by-total: {source: orders, partition: {path: total, type: integer}}}
"""


def page(name: str) -> str:
    """The text of a page."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_the_envelope_is_an_upsert_of_its_fact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `index-tables validate --events` reads it."""
    (shown,) = re.findall(r"```json\n(\{\"source\".*?)\n```", page("events"))
    definitions, samples = tmp_path / "indexes.yaml", tmp_path / "sample.jsonl"
    definitions.write_text(DEFINITIONS)
    samples.write_text(shown)
    assert main(["validate", str(definitions), "--events", str(samples), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["becomes"], row["source"], row["id"], row["partitionKey"]) == ("upsert", "orders", "o-1", ["c-1"])
    assert row["entries"] == {"orders-by-total": 1}


def test_a_call_of_the_guide_to_erasure_has_the_members_of_the_app() -> None:
    """The body and the answer; and every place is named."""
    text = page("erasure")
    body, answer = (
        json.loads(found) for found in re.findall(r"^    (?:POST /api/erasures|200) +(\{.*\})$", text, re.MULTILINE)
    )
    assert {*body} == {"source", "id", erasures.PARTITION_KEY, "force"}
    assert {*answer} == {*erasures.ErasureJson.__annotations__}
    assert {*answer["left"][0]} == {*erasures.RemnantJson.__annotations__}
    assert set(re.findall(r"`(\w+)`", text.partition("`place` is ")[2])) == {*get_args(RemnantPlace)}
