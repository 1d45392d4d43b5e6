"""docs/definitions.md documents every key with an example, and every example loads."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from shared.definitions.loading import shape
from shared.definitions.loading.load import load
from tests.support import ROOT

DOCS = ROOT / "docs" / "definitions.md"
TEXT = DOCS.read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
SECTIONS = [section.partition("\n") for section in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]]

# Where the keys of each shape stand; parts and slices are used in several places and documented once.
PREFIXES: dict[type[shape.Shape], str] = {
    shape.FileShape: "",
    shape.SourceShape: "sources.",
    shape.EventsShape: "sources.events.",
    shape.CosmosShape: "sources.cosmos.",
    shape.DeletesShape: "sources.deletes.",
    shape.IndexShape: "indexes.",
    shape.PartShape: "part.",
    shape.ExpireShape: "indexes.expire.",
    shape.MeasureShape: "measure.",
    shape.PlacementShape: "indexes.placement.",
    shape.SliceShape: "slice.",
    shape.AccessShape: "access.",
    shape.IndexAccessShape: "indexes.access.",
}
KEYS = [
    f"{prefix}{field.alias or name}" for model, prefix in PREFIXES.items() for name, field in model.model_fields.items()
]

SOURCES: dict[str, Any] = {
    "customers": {"cosmos": {"database": "shop", "container": "customers"}, "partitionKey": "customerId"},
    "movies": {"cosmos": {"database": "shop", "container": "movies"}, "partitionKey": "genre"},
    "orders": {"eventHub": "orders", "partitionKey": "customer.id"},
}


def test_no_shape_is_forgotten_here() -> None:
    """A new shape needs its place above, and its keys in the docs."""
    assert set(shape.Shape.__subclasses__()) == set(PREFIXES)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_has_a_section_with_an_example(key: str) -> None:
    """In the heading, and in a snippet below it."""
    bodies = [body for heading, _, body in SECTIONS if f"`{key}`" in heading]
    assert len(bodies) == 1, f"{key} needs one section in docs/definitions.md"
    last = key.rpartition(".")[2]
    assert any(re.search(rf"\b{last}:", snippet) for snippet in re.findall(r"```yaml\n(.*?)```", bodies[0], re.DOTALL))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: " ".join(snippet.split())[:40])
def test_every_snippet_loads(snippet: str) -> None:
    """As a file of its own, with the usual sources where it has none."""
    written: dict[str, Any] = yaml.safe_load(snippet)
    whole = {"version": 1, "sources": SOURCES, "indexes": {}, **written}
    assert load(yaml.safe_dump(whole, allow_unicode=True)).faults == ()


@pytest.mark.parametrize("part_type", ["string", "integer", "number", "boolean", "datetime"])
def test_every_type_is_in_the_table(part_type: str) -> None:
    """With what it accepts."""
    assert f"\n| `{part_type}`" in TEXT
