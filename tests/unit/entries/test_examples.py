"""The example definitions, which are the figures of the Index Table pattern, and the entries that they give.

After a deliberate change of the output: UPDATE_GOLDEN=1 pytest tests/unit/test_examples.py, then read the
diff.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.files import read_definitions
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.projection.projector import Projector
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from shared.definitions.model import Definitions, Source
    from shared.entries.changes.change import Change

GOLDEN = ROOT / "tests" / "examples"
FACTS: dict[str, list[dict[str, Any]]] = json.loads((GOLDEN / "facts.json").read_text(encoding="utf-8"))
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yaml"))


def change(source: Source, fact: dict[str, Any]) -> Change:
    """The fact as it arrives from its source."""
    if source.cosmos:
        return CosmosReader(source).latest(fact)
    body = json.dumps({"op": "upsert", "document": fact})
    return EventReader(source).read(body.encode(), datetime(2024, 5, 1, tzinfo=UTC), 1)


def rows(definitions: Definitions) -> dict[str, list[dict[str, Any]]]:
    """Every entry of every index, as rows without their version."""
    found: dict[str, list[dict[str, Any]]] = {}
    for index in definitions.indexes.values():
        source = definitions.sources[index.source]
        projector = Projector(index, source)
        entries = [entry for fact in FACTS[index.source] for entry in projector.project(change(source, fact))]
        ordered = sorted(entries, key=lambda entry: (entry.partition_key, entry.entry_key))
        found[index.name] = [{"PartitionKey": e.partition_key, "RowKey": e.entry_key, **e.columns} for e in ordered]
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_gives_the_rows_it_always_gave(example: Path) -> None:
    """Keys and columns, to the letter: a change here is a new codec version."""
    golden = GOLDEN / f"{example.stem}.golden.json"
    made = rows(read_definitions(example).require())
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert made == json.loads(golden.read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", [*EXAMPLES, ROOT / "indexes.yaml"], ids=lambda path: path.stem)
def test_an_example_has_no_fault(example: Path) -> None:
    """What we show must work."""
    assert read_definitions(example).faults == ()


def test_the_definitions_that_this_app_serves_need_no_advice() -> None:
    """The samples are a model to copy."""
    assert read_definitions(ROOT / "indexes.yaml").advice == ()
