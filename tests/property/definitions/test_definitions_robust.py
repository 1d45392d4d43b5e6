"""Loading never fails on its own: every file gives definitions or faults, and definitions without faults work."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.definitions.compiled import compile_definitions, from_compiled
from shared.definitions.identity import generation_id, table_name
from shared.definitions.loading.load import load
from shared.entries.projection.projector import Projector
from tests.property.strategies import json_values, texts
from tests.support import ROOT

EXAMPLES = [
    yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "docs" / "examples").glob("*.yaml"))
]
WORDS = [
    "path",
    "name",
    "type",
    "order",
    "fold",
    "nulls",
    "case",
    "index",
    "desc",
    "integer",
    "datetime",
    "all",
    "keys",
]
WORDS += ["map", "by", "list", "range", "hash", "default", "accounts", "from", "to", "account", "each", "where", "hot"]
WORDS += ["events", "envelope", "document", "debezium", "form", "when", "delete", "eventHub"]
WORDS += ["a.b", "a[0]", "length(a)", "a-b", "code", "9d", "customers", "movies", "orders", "source", "partition"]
leaves = st.sampled_from(WORDS) | json_values | st.dictionaries(st.sampled_from(WORDS), st.sampled_from(WORDS))


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree, as the steps that lead to it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(deep for step, item in items for deep in places(item, (*place, step)))]


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    """An example file in which some places hold something else, are gone, or have company."""
    tree = json.loads(json.dumps(draw(st.sampled_from(EXAMPLES))))
    for _ in range(draw(st.integers(1, 4))):
        *way, step = draw(st.sampled_from(places(tree)[1:]))
        parent = tree
        for inner in way:
            parent = parent[inner]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                parent[step] = draw(leaves)
            case "remove":
                del parent[step]
            case "add" if isinstance(parent, dict):
                parent[draw(st.sampled_from(WORDS))] = draw(leaves)
        if not isinstance(tree, dict) or len(places(tree)) < 2:
            break
    return tree


# What YAML 1.1 calls a line break; a separator of Unicode is one, too.
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


@settings(max_examples=300)
@example({"version": "path", "sources": "\u2028", "indexes": {"\u2028": None}})
@given(mutants())
def test_a_mutilated_file_gives_faults_or_definitions_that_work(tree: Any) -> None:
    """Each fault has a line and a way to mend it; without one, everything can be compiled."""
    text = yaml.safe_dump(tree, allow_unicode=True)
    loaded = load(text)
    for finding in (*loaded.faults, *loaded.advice):
        assert 1 <= finding.line <= len(_LINE_BREAK.findall(text)) + 1
        assert finding.what
        assert finding.fix
    if loaded.faults:
        return
    definitions = loaded.definitions
    assert from_compiled(text, compile_definitions(text, definitions)) == definitions
    for index in definitions.indexes.values():
        source = definitions.sources[index.source]
        Projector(index, source)
        assert len(table_name(index, generation_id(index, source))) <= 63


@given(st.text() | texts)
def test_any_text_gives_faults_and_never_an_exception(text: str) -> None:
    """Any text may be saved as indexes.yaml."""
    assert load(text).faults
